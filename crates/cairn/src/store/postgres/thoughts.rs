//! Reading thoughts, and moving the heads of their tasks and sessions.

use std::collections::HashMap;

use cairn_core::entry::EntryKind;
use cairn_core::id::ThoughtId;
use tokio_postgres::types::ToSql;

use super::append::PostgresAppend;
use super::connect::Values;
use super::context::DECISIONS;
use super::needs::parent_link;
use super::record::{self, Ask};
use super::row::{at, get, number, sha, typed};
use super::{PostgresStore, Result};
use crate::store::tables;
use crate::store::{
    ListFilter, ParentLink, SessionHead, TaskHead, ThoughtAppend, ThoughtReader, Thoughts, Visit,
};

/// A query of thoughts.
fn thought(condition: &str) -> String {
    format!("{} {condition}", tables::select(EntryKind::Thought, true))
}

fn listed(store: &PostgresStore, filter: &ListFilter<'_>, visit: Visit<'_>) -> Result<()> {
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
    let after = filter.after.map_or(-1, at);
    record::pages(&mut |queries| store.several(queries), EntryKind::Thought, &sql, after, &names, visit)
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
    fn thoughts(&self, which: &Thoughts<'_>, visit: Visit<'_>) -> Result<()> {
        let ask: Ask<'_> = &mut |queries| self.several(queries);
        let each = |ask: Ask<'_>, condition: &str, values: &Values<'_>, visit: Visit<'_>| {
            record::each(ask, EntryKind::Thought, &thought(condition), values, visit)
        };
        match which {
            Thoughts::Listed(filter) => listed(self, filter, visit),
            Thoughts::Id(id) => each(ask, "WHERE t.id = $1", &[id], visit),
            Thoughts::At(seqs) => {
                let wanted: Vec<i64> = seqs.iter().map(|seq| at(*seq)).collect();
                let rows = ask(&[(&thought("WHERE t.seq = ANY ($1)"), &[&wanted])])?;
                let mut found = HashMap::new();
                for row in rows.iter().flatten() {
                    found.insert(get::<i64>(row, 0)?, row);
                }
                let rows = wanted.iter().filter_map(|seq| found.get(seq).copied());
                record::visit_rows(ask, EntryKind::Thought, rows, 0, visit).map(drop)
            }
            Thoughts::PathTo(id) => {
                // A parent is always older; without that condition, a forged parent could make the path endless.
                let condition = "WHERE t.seq IN (
                    WITH RECURSIVE path AS (
                      SELECT seq, parent_seq FROM thought WHERE id = $1
                      UNION ALL SELECT a.seq, a.parent_seq FROM path JOIN thought a ON a.seq = path.parent_seq
                      WHERE a.seq < path.seq)
                    SELECT seq FROM path) ORDER BY t.seq";
                each(ask, condition, &[id], visit)
            }
            Thoughts::Action(action_id) => {
                let derived: Ask<'_> =
                    &mut |queries| self.read_derived(async |link| link.several(queries).await);
                let condition = "WHERE t.seq IN (SELECT seq FROM action WHERE action_id = $1) ORDER BY t.seq";
                each(derived, condition, &[action_id], visit)
            }
            Thoughts::OnContext { context_id, limit } => {
                let condition = "WHERE t.context_id = $1 ORDER BY t.seq DESC LIMIT $2";
                each(ask, condition, &[&at(*context_id), &at(*limit)], visit)
            }
            Thoughts::Drifted { roadmap_id, limit } => {
                let condition = format!(
                    "WHERE t.seq IN (
                       SELECT t.seq {DECISIONS} AND c.snapshot_no <> l.snapshot_no ORDER BY t.seq DESC LIMIT $2)
                     ORDER BY t.seq DESC"
                );
                each(ask, &condition, &[roadmap_id, &at(*limit)], visit)
            }
        }
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
        if self.batch.has_id(EntryKind::Thought, id) {
            self.flush()?;
        }
        let row =
            self.one("SELECT id, seq, type, session_no, chain_hash FROM thought WHERE id = $1", &[&id])?;
        row.as_ref().map(parent_link).transpose()
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        // That no two ids of random numbers are the same goes without asking; of any others it must be known.
        match is_random(id) {
            true => Ok(self.batch.has_id(EntryKind::Thought, id)),
            false => self.has_id(EntryKind::Thought, id),
        }
    }

    fn by_key(&mut self, key: &str, visit: Visit<'_>) -> Result<()> {
        if self.found.is_free(key) {
            return Ok(());
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        let sql = thought("WHERE t.idempotency_key = $1");
        record::each(&mut |queries| self.several(queries), EntryKind::Thought, &sql, &[&key], visit)
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

    fn set_task(&mut self, head: &TaskHead) -> Result<()> {
        self.batch.task_head(head);
        Ok(())
    }

    fn set_session(&mut self, head: &SessionHead) -> Result<()> {
        self.batch.session_head(head);
        Ok(())
    }
}
