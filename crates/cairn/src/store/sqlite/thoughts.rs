//! Reading thoughts, each with what it takes to hash its log entry again.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::id::{ActionId, BriefId, Subject, ThoughtId};
use cairn_core::thought::{SEALED, Thought};
use rusqlite::{Connection, Params, Row, ToSql, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::context::DECISIONS;
use super::error::{in_row, store_error};
use super::read::{typed, typed_list, typed_or_none};
use super::redact;
use crate::store::{
    ListFilter, ParentLink, Read, ReadThought, Result, SessionHead, TaskHead, ThoughtAppend, ThoughtReader,
    ThoughtRow, Thoughts,
};

/// The columns that [`read`] reads.
const THOUGHT: &str =
    "SELECT t.seq, t.id, t.type, k.name, s.name, t.step_index, p.id, t.agent_id, t.action_id,
    t.context_id, t.brief_id, t.timestamp, t.content, t.metadata, t.prev_hash, t.hash, t.content_hash,
    t.chain_hash, t.salt, t.idempotency_key, t.position, e.hash, t.supersedes, t.rejects, t.applies_to, t.source
  FROM thought t LEFT JOIN task k ON k.no = t.task_no LEFT JOIN session s ON s.no = t.session_no
    LEFT JOIN thought p ON p.seq = t.parent_seq LEFT JOIN entry e ON e.seq = t.seq";

fn read(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<ReadThought> {
    let seq = row.get(0)?;
    let content: Option<String> = row.get(12)?;
    let has_content = content.is_some();
    let content = content.unwrap_or_default();
    let sealed = content.starts_with(SEALED);
    let leaves = if sealed || !has_content { redact::leaves(connection, seq)? } else { None };
    Ok(ReadThought {
        thought: Thought {
            seq,
            id: typed(row.get(1)?, ThoughtId::new)?,
            kind: typed(row.get(2)?, |word| word.parse())?,
            task_id: typed(row.get(3)?, TryFrom::try_from)?,
            session_id: typed(row.get(4)?, TryFrom::try_from)?,
            step_index: row.get(5)?,
            parent_id: typed_or_none(row.get(6)?, ThoughtId::new)?,
            agent_id: typed(row.get(7)?, TryFrom::try_from)?,
            action_id: typed_or_none(row.get(8)?, ActionId::new)?,
            context_id: row.get(9)?,
            brief_id: typed_or_none(row.get(10)?, BriefId::new)?,
            supersedes: typed_list(row.get(22)?, ThoughtId::new)?,
            rejects: typed_list(row.get(23)?, ThoughtId::new)?,
            applies_to: typed_list(row.get(24)?, Subject::new)?,
            source: typed(row.get(25)?, |word| word.parse())?,
            timestamp: typed(row.get(11)?, TryFrom::try_from)?,
            sealed,
            content,
            redacted: None,
            metadata: None,
            prev_hash: Sha(row.get(14)?),
            hash: Sha(row.get(15)?),
            content_hash: Sha(row.get(16)?),
            chain_hash: Sha(row.get(17)?),
        },
        has_content,
        position: row.get(20)?,
        metadata: row.get(13)?,
        salt: row.get(18)?,
        idempotency_key: row.get(19)?,
        entry_hash: row.get::<_, Option<[u8; 32]>>(21)?.map(Sha),
        leaves,
    })
}

/// The one thought for which `condition` holds.
pub fn one(
    connection: &Connection,
    condition: &str,
    value: impl ToSql,
) -> rusqlite::Result<Option<Read<ReadThought>>> {
    let mut found = None;
    each(connection, &format!("{THOUGHT} WHERE {condition}"), [value], &mut |read| {
        found = Some(read);
        ControlFlow::Break(())
    })
    .map(|_| found)
}

/// Runs a query of [`THOUGHT`] until the visitor breaks off.
fn each(
    connection: &Connection,
    sql: &str,
    values: impl Params,
    visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
) -> rusqlite::Result<ControlFlow<()>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if visit(in_row(row, read(connection, row))?).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn listed(
    connection: &Connection,
    filter: &ListFilter<'_>,
    visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut sql = THOUGHT.to_string();
    let kind = filter.kind.map(|kind| kind.as_str());
    let after = filter.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
    let to = filter.to.map(|to| i64::try_from(to).unwrap_or(i64::MAX));
    let mut values: Vec<(&str, &dyn ToSql)> = vec![(":after", &after)];
    sql.push_str(" WHERE t.seq > :after");
    if let Some(to) = &to {
        sql.push_str(" AND t.seq <= :to");
        values.push((":to", to));
    }
    if let Some(task_id) = &filter.task_id {
        sql.push_str(" AND t.task_no = (SELECT no FROM task WHERE name = :task)");
        sql.push_str(&starts_behind(filter.after, "task_no", "position"));
        values.push((":task", task_id));
    }
    if let Some(session_id) = &filter.session_id {
        sql.push_str(" AND t.session_no = (SELECT no FROM session WHERE name = :session)");
        sql.push_str(&starts_behind(filter.after, "session_no", "step_index"));
        values.push((":session", session_id));
    }
    if let Some(kind) = &kind {
        sql.push_str(" AND t.type = :type");
        values.push((":type", kind));
    }
    if let Some(agent_id) = &filter.agent_id {
        sql.push_str(" AND t.agent_id = :agent");
        values.push((":agent", agent_id));
    }
    // Both chains grow in log order, so their index gives that order without sorting.
    sql.push_str(match (filter.task_id, filter.session_id) {
        (Some(_), _) => " ORDER BY t.task_no, t.position",
        (None, Some(_)) => " ORDER BY t.session_no, t.step_index",
        (None, None) => " ORDER BY t.seq",
    });
    each(connection, &sql, &values[..], visit).map(drop)
}

/// Lets a later page of a chain start at its place in the chain's index, instead of passing over all before it.
///
/// The plus sign keeps SQLite from that index inside: going back through the log from the cursor finds the
/// place at once, since the cursor is the last record of the page before.
fn starts_behind(after: Option<u64>, chain: &str, place: &str) -> String {
    match after {
        None => String::new(),
        Some(_) => format!(
            " AND t.{place} > coalesce((SELECT {place} FROM thought WHERE seq <= :after AND +{chain} = t.{chain}
                ORDER BY seq DESC LIMIT 1), -1)"
        ),
    }
}

impl ThoughtReader for SqliteStore {
    fn thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let done = match which {
                Thoughts::Listed(filter) => return listed(connection, filter, visit),
                Thoughts::Id(id) => each(connection, &format!("{THOUGHT} WHERE t.id = ?1"), [id], visit),
                Thoughts::At(seqs) => {
                    let sql = format!("{THOUGHT} WHERE t.seq = ?1");
                    for seq in *seqs {
                        if each(connection, &sql, [number(*seq)], visit)?.is_break() {
                            break;
                        }
                    }
                    return Ok(());
                }
                Thoughts::PathTo(id) => {
                    // A parent is always older; without that condition, a forged parent could make the path endless.
                    let sql = format!(
                        "WITH RECURSIVE path (seq, parent_seq) AS (
                           SELECT seq, parent_seq FROM thought WHERE id = ?1
                           UNION ALL SELECT a.seq, a.parent_seq FROM path JOIN thought a ON a.seq = path.parent_seq
                           WHERE a.seq < path.seq)
                         {THOUGHT} WHERE t.seq IN (SELECT seq FROM path) ORDER BY t.seq"
                    );
                    each(connection, &sql, [id], visit)
                }
                Thoughts::Action(action_id) => {
                    let sql = format!(
                        "{THOUGHT} WHERE t.seq IN (SELECT seq FROM action WHERE action_id = ?1) ORDER BY t.seq"
                    );
                    each(connection, &sql, [action_id], visit)
                }
                Thoughts::OnContext { context_id, limit } => {
                    let sql = format!("{THOUGHT} WHERE t.context_id = ?1 ORDER BY t.seq DESC LIMIT ?2");
                    each(connection, &sql, [number(*context_id), number(*limit)], visit)
                }
                Thoughts::Drifted { roadmap_id, limit } => {
                    let sql = format!(
                        "{THOUGHT} WHERE t.seq IN (
                           SELECT t.seq {DECISIONS} AND c.snapshot_no <> l.snapshot_no ORDER BY t.seq DESC LIMIT ?2)
                         ORDER BY t.seq DESC"
                    );
                    each(connection, &sql, params![roadmap_id, number(*limit)], visit)
                }
            };
            done.map(drop)
        })
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM thought WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1
                       AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2",
                )?
                .query_map(params![prefix, limit as i64], |row| typed(row.get(0)?, ThoughtId::new))?
                .collect()
        })
    }
}

impl ThoughtAppend for SqliteAppend<'_> {
    fn task(&mut self, name: &str) -> Result<Option<TaskHead>> {
        self.one("SELECT no, length, head FROM task WHERE name = ?1", [name], |row| {
            Ok(TaskHead { no: row.get(0)?, length: row.get(1)?, head: Sha(row.get(2)?) })
        })
    }

    fn session(&mut self, name: &str) -> Result<Option<SessionHead>> {
        self.one("SELECT no, length FROM session WHERE name = ?1", [name], |row| {
            Ok(SessionHead { no: row.get(0)?, length: row.get(1)? })
        })
    }

    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>> {
        self.one("SELECT seq, type, session_no, chain_hash FROM thought WHERE id = ?1", [id], |row| {
            Ok(ParentLink {
                seq: row.get(0)?,
                kind: typed(row.get(1)?, |word| word.parse())?,
                session_no: row.get(2)?,
                chain_hash: Sha(row.get(3)?),
            })
        })
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        self.one("SELECT 1 FROM thought WHERE id = ?1", [id], |_| Ok(())).map(|found| found.is_some())
    }

    fn by_key(&mut self, key: &str) -> Result<Option<Read<ReadThought>>> {
        one(self.transaction, "t.idempotency_key = ?1", key).map_err(store_error)
    }

    fn add_task(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO task (name, length, head) VALUES (?1, 0, ?2)", params![name, Sha::ZERO.0])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn add_session(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO session (name, length) VALUES (?1, 0)", [name])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn insert_thought(&mut self, row: &ThoughtRow<'_>) -> Result<()> {
        let values = params![
            row.seq,
            row.id,
            row.kind,
            row.task_no,
            row.position,
            row.session_no,
            row.step_index,
            row.parent_seq,
            row.agent_id,
            row.action_id,
            row.context_id,
            row.brief_id,
            row.supersedes,
            row.rejects,
            row.applies_to,
            row.source.as_str(),
            row.timestamp,
            row.content,
            row.metadata,
            row.salt.map(|salt| &salt[..]),
            row.idempotency_key,
            &row.prev_hash.0[..],
            &row.hash.0[..],
            &row.content_hash.0[..],
            &row.chain_hash.0[..],
        ];
        self.thought.execute(values).map(drop).map_err(store_error)
    }

    fn set_task(&mut self, head: &TaskHead) -> Result<()> {
        self.execute(
            "UPDATE task SET length = ?2, head = ?3 WHERE no = ?1",
            params![head.no, head.length, &head.head.0[..]],
        )
    }

    fn set_session(&mut self, head: &SessionHead) -> Result<()> {
        self.execute("UPDATE session SET length = ?2 WHERE no = ?1", params![head.no, head.length])
    }
}
