//! Reading thoughts, and moving the heads of their tasks and sessions.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::ThoughtId;
use rusqlite::{Connection, Params, ToSql, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::chains;
use super::context::DECISIONS;
use super::error::store_error;
use super::read::typed;
use super::record;
use crate::store::tables::{self, table};
use crate::store::{
    ChainOf, ListFilter, ParentLink, Result, SessionHead, TaskHead, ThoughtAppend, ThoughtReader, Thoughts,
    Visit,
};

/// Visits the thoughts of a task or session that a query names, in its order.
pub fn chain(
    connection: &Connection,
    of: ChainOf<'_>,
    query: &chains::Query<'_>,
    visit: Visit<'_>,
) -> rusqlite::Result<()> {
    let Some(table) = table(EntryKind::Thought) else { return Ok(()) };
    let (columns, joins) = (table.columns(true), table.joins());
    chains::each(
        connection,
        of,
        &chains::Query { columns: &columns, joins, places: query.places.clone(), ..*query },
        &mut |row| Ok(visit(record::read(connection, EntryKind::Thought, row)?)),
    )
}

/// Runs a query for which `condition` follows the selection of thoughts, until the visitor breaks off.
fn each(
    connection: &Connection,
    condition: &str,
    values: impl Params,
    visit: Visit<'_>,
) -> rusqlite::Result<ControlFlow<()>> {
    record::each(
        connection,
        EntryKind::Thought,
        &format!("{} {condition}", tables::select(EntryKind::Thought, true)),
        values,
        visit,
    )
}

fn listed(connection: &Connection, filter: &ListFilter<'_>, visit: Visit<'_>) -> rusqlite::Result<()> {
    let kind = filter.kind.map(|kind| kind.as_str());
    let to = filter.to.map(|to| i64::try_from(to).unwrap_or(i64::MAX));
    let mut also = String::new();
    let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
    if let Some(to) = &to {
        also.push_str(" AND t.seq <= :to");
        values.push((":to", to));
    }
    if let Some(kind) = &kind {
        also.push_str(" AND t.type = :type");
        values.push((":type", kind));
    }
    if let Some(agent_id) = &filter.agent_id {
        also.push_str(" AND t.agent_id = :agent");
        values.push((":agent", agent_id));
    }
    if let (Some(_), Some(session_id)) = (filter.task_id, &filter.session_id) {
        also.push_str(" AND t.session_no = (SELECT no FROM session WHERE name = :session)");
        values.push((":session", session_id));
    }
    let of = filter.task_id.map(ChainOf::Task).or(filter.session_id.map(ChainOf::Session));
    let Some(of) = of else {
        let after = filter.after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
        values.push((":after", &after));
        let condition = format!("WHERE t.seq > :after{also} ORDER BY t.seq");
        return each(connection, &condition, &values[..], visit).map(drop);
    };
    let query =
        chains::Query { also: &also, values: &values, after: filter.after, ..chains::Query::default() };
    chain(connection, of, &query, visit)
}

impl ThoughtReader for SqliteStore {
    fn thoughts(&self, which: &Thoughts<'_>, visit: Visit<'_>) -> Result<()> {
        self.read(|connection| {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let done = match which {
                Thoughts::Listed(filter) => return listed(connection, filter, visit),
                Thoughts::Id(id) => each(connection, "WHERE t.id = ?1", [id], visit),
                Thoughts::At(seqs) => {
                    for seq in *seqs {
                        if each(connection, "WHERE t.seq = ?1", [number(*seq)], visit)?.is_break() {
                            break;
                        }
                    }
                    return Ok(());
                }
                Thoughts::PathTo(id) => {
                    // A parent is always older; without that condition, a forged parent could make the path endless.
                    let condition = "WHERE t.seq IN (
                        WITH RECURSIVE path (seq, parent_seq) AS (
                          SELECT seq, parent_seq FROM thought WHERE id = ?1
                          UNION ALL SELECT a.seq, a.parent_seq FROM path JOIN thought a ON a.seq = path.parent_seq
                          WHERE a.seq < path.seq)
                        SELECT seq FROM path) ORDER BY t.seq";
                    each(connection, condition, [id], visit)
                }
                Thoughts::Action(action_id) => {
                    let condition =
                        "WHERE t.seq IN (SELECT seq FROM action WHERE action_id = ?1) ORDER BY t.seq";
                    each(connection, condition, [action_id], visit)
                }
                Thoughts::OnContext { context_id, limit } => {
                    let condition = "WHERE t.context_id = ?1 ORDER BY t.seq DESC LIMIT ?2";
                    each(connection, condition, [number(*context_id), number(*limit)], visit)
                }
                Thoughts::Drifted { roadmap_id, limit } => {
                    let condition = format!(
                        "WHERE t.seq IN (
                           SELECT t.seq {DECISIONS} AND c.snapshot_no <> l.snapshot_no ORDER BY t.seq DESC LIMIT ?2)
                         ORDER BY t.seq DESC"
                    );
                    each(connection, &condition, params![roadmap_id, number(*limit)], visit)
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

    fn by_key(&mut self, key: &str, visit: Visit<'_>) -> Result<()> {
        each(self.transaction, "WHERE t.idempotency_key = ?1", [key], visit).map(drop).map_err(store_error)
    }

    fn add_task(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO task (name, length, head) VALUES (?1, 0, ?2)", params![name, Sha::ZERO.0])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn add_session(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO session (name, length) VALUES (?1, 0)", [name])?;
        Ok(self.transaction.last_insert_rowid())
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
