//! Reading thoughts, each with what it takes to hash its log entry again.

use std::collections::HashMap;
use std::ops::ControlFlow;

use cairn_core::id::{ActionId, BriefId, Subject, ThoughtId};
use cairn_core::thought::{SEALED, Thought};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::append::PostgresAppend;
use super::connect::Link;
use super::context::DECISIONS;
use super::needs::parent_link;
use super::read::{FIRST_PAGE, next_page};
use super::redact::{LEAVES, leaves};
use super::row::{
    at, get, in_row, number, number_or_none, salt, sha, sha_or_none, typed, typed_list, typed_or_none,
};
use super::{PostgresStore, Result};
use crate::store::{
    ListFilter, ParentLink, Read, ReadThought, SessionHead, StoreError, TaskHead, ThoughtAppend,
    ThoughtReader, ThoughtRow, Thoughts,
};

/// A query of the columns that [`read`] reads.
fn thought(condition: &str) -> String {
    format!(
        "SELECT t.seq, t.id, t.type, k.name, s.name, t.step_index, p.id, t.agent_id, t.action_id,
           t.context_id, t.brief_id, t.timestamp, t.content, t.metadata, t.prev_hash, t.hash, t.content_hash,
           t.chain_hash, t.salt, t.idempotency_key, t.position, e.hash, t.supersedes, t.rejects, t.applies_to, t.source,
           {LEAVES}
         FROM thought t LEFT JOIN task k ON k.no = t.task_no LEFT JOIN session s ON s.no = t.session_no
           LEFT JOIN thought p ON p.seq = t.parent_seq LEFT JOIN entry e ON e.seq = t.seq
           LEFT JOIN redaction r ON r.target_seq = t.seq
             AND (t.content IS NULL OR starts_with(t.content, '{SEALED}'))
           LEFT JOIN entry l ON l.seq = r.seq
         {condition}"
    )
}

fn read(row: &Row) -> Result<Read<ReadThought>> {
    let values = || {
        let content: Option<String> = get(row, 12)?;
        let has_content = content.is_some();
        let content = content.unwrap_or_default();
        let sealed = content.starts_with(SEALED);
        Ok(ReadThought {
            thought: Thought {
                seq: number(row, 0)?,
                id: typed(get(row, 1)?, ThoughtId::new)?,
                kind: typed(get(row, 2)?, |word: String| word.parse())?,
                task_id: typed(get(row, 3)?, TryFrom::try_from)?,
                session_id: typed(get(row, 4)?, TryFrom::try_from)?,
                step_index: number(row, 5)?,
                parent_id: typed_or_none(get(row, 6)?, ThoughtId::new)?,
                agent_id: typed(get(row, 7)?, TryFrom::try_from)?,
                action_id: typed_or_none(get(row, 8)?, ActionId::new)?,
                context_id: number_or_none(row, 9)?,
                brief_id: typed_or_none(get(row, 10)?, BriefId::new)?,
                supersedes: typed_list(get(row, 22)?, ThoughtId::new)?,
                rejects: typed_list(get(row, 23)?, ThoughtId::new)?,
                applies_to: typed_list(get(row, 24)?, Subject::new)?,
                source: typed(get(row, 25)?, |word: String| word.parse())?,
                timestamp: typed(get(row, 11)?, TryFrom::try_from)?,
                sealed,
                content,
                redacted: None,
                metadata: None,
                prev_hash: sha(row, 14)?,
                hash: sha(row, 15)?,
                content_hash: sha(row, 16)?,
                chain_hash: sha(row, 17)?,
            },
            has_content,
            position: number(row, 20)?,
            metadata: get(row, 13)?,
            salt: salt(row, 18)?,
            idempotency_key: get(row, 19)?,
            entry_hash: sha_or_none(row, 21)?,
            leaves: if sealed || !has_content { leaves(row, 26)? } else { None },
        })
    };
    in_row(row, values())
}

/// The one thought for which `condition` holds.
pub async fn one(
    link: &Link,
    condition: &str,
    value: &(dyn ToSql + Sync),
) -> Result<Option<Read<ReadThought>>> {
    link.one(&thought(&format!("WHERE {condition}")), &[value]).await?.as_ref().map(read).transpose()
}

/// Thoughts by their positions in the log.
pub async fn at_places(link: &Link, seqs: &[i64]) -> Result<HashMap<i64, Read<ReadThought>>> {
    let rows = link.all(&thought("WHERE t.seq = ANY ($1)"), &[&seqs]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, read(row)?))).collect()
}

fn listed(
    store: &PostgresStore,
    filter: &ListFilter<'_>,
    visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
) -> Result<()> {
    let kind = filter.kind.map(|kind| kind.as_str());
    let to = filter.to.map(at);
    let mut condition = "WHERE t.seq > $1".to_string();
    let mut names: Vec<&(dyn ToSql + Sync)> = Vec::new();
    if let Some(to) = &to {
        names.push(to);
        condition.push_str(&format!(" AND t.seq <= ${}", names.len() + 2));
    }
    if let Some(task_id) = &filter.task_id {
        names.push(task_id);
        condition.push_str(&starts_behind("task", "task_no", "position", names.len() + 2));
    }
    if let Some(session_id) = &filter.session_id {
        names.push(session_id);
        condition.push_str(&starts_behind("session", "session_no", "step_index", names.len() + 2));
    }
    if let Some(kind) = &kind {
        names.push(kind);
        condition.push_str(&format!(" AND t.type = ${}", names.len() + 2));
    }
    if let Some(agent_id) = &filter.agent_id {
        names.push(agent_id);
        condition.push_str(&format!(" AND t.agent_id = ${}", names.len() + 2));
    }
    // Both chains grow in log order, so their index gives that order without sorting.
    condition.push_str(match (filter.task_id, filter.session_id) {
        (Some(_), _) => " ORDER BY t.position LIMIT $2",
        (None, Some(_)) => " ORDER BY t.step_index LIMIT $2",
        (None, None) => " ORDER BY t.seq LIMIT $2",
    });
    let sql = thought(&condition);
    let mut after = filter.after.map_or(-1, at);
    let mut page = FIRST_PAGE;
    loop {
        let rows = store.read(async |link| {
            let mut values: Vec<&(dyn ToSql + Sync)> = vec![&after, &page];
            values.extend(&names);
            link.all(&sql, &values).await
        })?;
        let mut bytes = 0;
        for row in &rows {
            let read = read(row)?;
            after = get(row, 0)?;
            bytes += read.as_ref().map_or(0, |read| read.thought.content.len());
            if visit(read).is_break() {
                return Ok(());
            }
        }
        if (rows.len() as i64) < page {
            return Ok(());
        }
        page = next_page(page, bytes);
    }
}

/// Lets a later page of a chain start at its place in the chain's index: the cursor is nearly always a record of it.
fn starts_behind(of: &str, chain: &str, place: &str, name: usize) -> String {
    format!(
        " AND t.{chain} = (SELECT no FROM {of} WHERE name = ${name}) AND t.{place} > coalesce(
            (SELECT a.{place} FROM thought a JOIN {of} n ON n.no = a.{chain} WHERE a.seq = $1 AND n.name = ${name}), -1)"
    )
}

/// Whether an id is a UUID of version 7, 74 bits of which are random.
fn is_random(id: &str) -> bool {
    uuid::Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 7)
}

impl ThoughtReader for PostgresStore {
    fn thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
    ) -> Result<()> {
        let rows = match which {
            Thoughts::Listed(filter) => return listed(self, filter, visit),
            Thoughts::At(seqs) => {
                let wanted: Vec<i64> = seqs.iter().map(|seq| at(*seq)).collect();
                let mut found = self.read(async |link| at_places(link, &wanted).await)?;
                for seq in wanted {
                    if found.remove(&seq).is_some_and(|read| visit(read).is_break()) {
                        break;
                    }
                }
                return Ok(());
            }
            Thoughts::Id(id) => self.read(async |link| link.all(&thought("WHERE t.id = $1"), &[id]).await)?,
            Thoughts::PathTo(id) => {
                // A parent is always older; without that condition, a forged parent could make the path endless.
                let path = "WITH RECURSIVE path AS (
                    SELECT seq, parent_seq FROM thought WHERE id = $1
                    UNION ALL SELECT a.seq, a.parent_seq FROM path JOIN thought a ON a.seq = path.parent_seq
                    WHERE a.seq < path.seq)";
                let of_path = thought("WHERE t.seq IN (SELECT seq FROM path) ORDER BY t.seq");
                let sql = format!("{path} {of_path}");
                self.read(async |link| link.all(&sql, &[id]).await)?
            }
            Thoughts::Action(action_id) => {
                let sql =
                    thought("WHERE t.seq IN (SELECT seq FROM action WHERE action_id = $1) ORDER BY t.seq");
                self.read_derived(async |link| link.all(&sql, &[action_id]).await)?
            }
            Thoughts::OnContext { context_id, limit } => {
                let sql = thought("WHERE t.context_id = $1 ORDER BY t.seq DESC LIMIT $2");
                self.read(async |link| link.all(&sql, &[&at(*context_id), &at(*limit)]).await)?
            }
            Thoughts::Drifted { roadmap_id, limit } => {
                let sql = thought(&format!(
                    "WHERE t.seq IN (
                       SELECT t.seq {DECISIONS} AND c.snapshot_no <> l.snapshot_no ORDER BY t.seq DESC LIMIT $2)
                     ORDER BY t.seq DESC"
                ));
                self.read(async |link| link.all(&sql, &[roadmap_id, &at(*limit)]).await)?
            }
        };
        for row in &rows {
            if visit(read(row)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>> {
        self.read(async |link| {
            // Ids are compared byte by byte, so all that begin so stand behind one another.
            let sql =
                "SELECT id FROM thought WHERE id >= $1 AND starts_with(id, $1) AND id < $1 || chr(1114111)
                       ORDER BY id LIMIT $2";
            let rows = link.all(sql, &[&prefix, &(limit as i64)]).await?;
            rows.iter().map(|row| typed(get(row, 0)?, ThoughtId::new)).collect()
        })
    }
}

impl ThoughtAppend for PostgresAppend {
    fn task(&mut self, name: &str) -> Result<Option<TaskHead>> {
        if let Some(found) = self.found.task(name) {
            return Ok(found);
        }
        if self.batch.has_task(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length, head FROM task WHERE name = $1", &[&name])?;
        row.map(|row| Ok(TaskHead { no: get(&row, 0)?, length: number(&row, 1)?, head: sha(&row, 2)? }))
            .transpose()
    }

    fn session(&mut self, name: &str) -> Result<Option<SessionHead>> {
        if let Some(found) = self.found.session(name) {
            return Ok(found);
        }
        if self.batch.has_session(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length FROM session WHERE name = $1", &[&name])?;
        row.map(|row| Ok(SessionHead { no: get(&row, 0)?, length: number(&row, 1)? })).transpose()
    }

    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>> {
        if let Some(found) = self.found.parent(id) {
            return Ok(found);
        }
        if self.batch.has_id(id) {
            self.flush()?;
        }
        let row =
            self.one("SELECT id, seq, type, session_no, chain_hash FROM thought WHERE id = $1", &[&id])?;
        row.as_ref().map(parent_link).transpose()
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        // That no two ids of random numbers are the same goes without asking; of any others it must be known.
        let is_there = "SELECT 1 FROM thought WHERE id = $1";
        Ok(self.batch.has_id(id) || (!is_random(id) && self.one(is_there, &[&id])?.is_some()))
    }

    fn by_key(&mut self, key: &str) -> Result<Option<Read<ReadThought>>> {
        if self.found.is_free(key) {
            return Ok(None);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        self.wait(async |link| one(link, "t.idempotency_key = $1", &key).await)
    }

    fn add_task(&mut self, name: &str) -> Result<i64> {
        self.found.task(name);
        self.head.tasks += 1;
        self.batch.task(self.head.tasks, name);
        Ok(self.head.tasks)
    }

    fn add_session(&mut self, name: &str) -> Result<i64> {
        self.found.session(name);
        self.head.sessions += 1;
        self.batch.session(self.head.sessions, name);
        Ok(self.head.sessions)
    }

    fn insert_thought(&mut self, row: &ThoughtRow<'_>) -> Result<()> {
        // Before the rows are written, where a collision would end the transaction.
        if self.has_thought(row.id)? {
            return Err(StoreError::Taken("id"));
        }
        self.found.parent(row.id);
        if let Some(key) = row.idempotency_key {
            self.found.is_free(key);
        }
        self.bytes += row.content.map_or(0, str::len) + row.metadata.map_or(0, str::len);
        self.batch.thought(row);
        Ok(())
    }

    fn set_task(&mut self, head: &TaskHead) -> Result<()> {
        self.batch.task_head(head);
        Ok(())
    }

    fn set_session(&mut self, head: &SessionHead) -> Result<()> {
        self.batch.session_head(head);
        Ok(())
    }
}
