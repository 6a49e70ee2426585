//! Sessions in a listing, and what it takes to count and to draw one.

use std::ops::ControlFlow;

use cairn_core::id::SessionId;
use cairn_core::thought::ThoughtType;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::chains::{self, Query};
use super::read::typed;
use crate::store::{ChainOf, Result, SessionCounts, SessionReader};

/// How many thoughts a session or task has, by its head.
pub fn chain_length(connection: &Connection, of: ChainOf<'_>) -> rusqlite::Result<Option<u64>> {
    let (sql, name) = match of {
        ChainOf::Task(name) => ("SELECT length FROM task WHERE name = ?1", name),
        ChainOf::Session(name) => ("SELECT length FROM session WHERE name = ?1", name),
    };
    connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()
}

impl SessionReader for SqliteStore {
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        self.read(|connection| chain_length(connection, of))
    }

    fn is_found_by_label(&self, of: ChainOf<'_>) -> Result<bool> {
        self.read(|connection| {
            let (found, scan, name) = match of {
                ChainOf::Task(name) => (
                    "SELECT name = ?1 FROM task WHERE no = (SELECT no FROM task WHERE name = ?1)",
                    "SELECT NOT EXISTS (SELECT 1 FROM task NOT INDEXED WHERE name = ?1)",
                    name,
                ),
                ChainOf::Session(name) => (
                    "SELECT name = ?1 FROM session WHERE no = (SELECT no FROM session WHERE name = ?1)",
                    "SELECT NOT EXISTS (SELECT 1 FROM session NOT INDEXED WHERE name = ?1)",
                    name,
                ),
            };
            let found = connection.prepare_cached(found)?.query_row([name], |row| row.get(0)).optional()?;
            match found {
                Some(is_it) => Ok(is_it),
                None => connection.prepare_cached(scan)?.query_row([name], |row| row.get(0)),
            }
        })
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(|connection| {
            let to = i64::try_from(to).unwrap_or(i64::MAX);
            connection
                .prepare_cached(
                    "SELECT coalesce(
                       (SELECT max(t.seq) FROM thought t
                        WHERE t.seq > (SELECT chained FROM derived) AND t.session_no = s.no AND t.seq <= ?2),
                       (SELECT c.seq FROM session_thought c WHERE c.session_no = s.no AND c.seq <= ?2
                        ORDER BY c.step_index DESC LIMIT 1))
                     FROM session s WHERE s.name = ?1",
                )?
                .query_row(params![session_id, to], |row| row.get(0))
                .optional()
                .map(Option::flatten)
        })
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(|connection| {
            let before = before.and_then(|seq| i64::try_from(seq).ok()).unwrap_or(i64::MAX);
            // First the few that are shown, by the heads of all and one look into an index for each; then the rest of them.
            connection
                .prepare_cached(
                    "WITH uncovered AS MATERIALIZED (
                       SELECT session_no, min(seq) AS first, max(seq) AS last FROM thought
                       WHERE seq > (SELECT chained FROM derived) GROUP BY session_no),
                     shown AS MATERIALIZED (
                       SELECT s.no, s.name, s.length AS thoughts, coalesce(m.length, 0) AS events, m.newest AS event,
                         coalesce((SELECT seq FROM session_thought WHERE session_no = s.no AND step_index = 0), u.first)
                           AS first,
                         max(coalesce(m.newest, 0), coalesce(u.last, (SELECT seq FROM session_thought
                           WHERE session_no = s.no AND step_index = s.length - 1), 0)) AS last
                       FROM session s LEFT JOIN memory m ON m.session_no = s.no
                         LEFT JOIN uncovered u ON u.session_no = s.no
                       WHERE max(coalesce(m.newest, 0), coalesce(u.last, (SELECT seq FROM session_thought
                           WHERE session_no = s.no AND step_index = s.length - 1), 0)) < ?1
                       ORDER BY 7 DESC LIMIT ?2)
                     SELECT name, thoughts, events, last,
                       coalesce((SELECT created_at FROM event WHERE seq = last),
                         (SELECT timestamp FROM thought WHERE seq = last)),
                       (SELECT at FROM (SELECT seq, timestamp AS at FROM thought WHERE seq = shown.first
                         UNION ALL SELECT seq, created_at FROM event WHERE session_no = no AND position = 0)
                         ORDER BY seq LIMIT 1),
                       (SELECT turn FROM event WHERE seq = shown.event)
                     FROM shown ORDER BY last DESC",
                )?
                .query_map(params![before, limit], |row| {
                    Ok(SessionCounts {
                        session_id: typed(row.get(0)?, SessionId::new)?,
                        thoughts: row.get(1)?,
                        events: row.get(2)?,
                        newest: row.get(3)?,
                        updated_at: typed(row.get(4)?, TryFrom::try_from)?,
                        began_at: typed(row.get(5)?, TryFrom::try_from)?,
                        turn: row.get::<_, Option<u64>>(6)?.unwrap_or(0),
                    })
                })?
                .collect()
        })
    }

    fn steps(
        &self,
        session_id: &str,
        from: u64,
        before: u64,
        visit: &mut dyn FnMut(ThoughtType, &str),
    ) -> Result<()> {
        self.read(|connection| {
            let columns = "t.type, t.agent_id";
            let query = Query { columns, places: Some(from..before), ..Query::default() };
            chains::each(connection, ChainOf::Session(session_id), &query, &mut |row| {
                let kind = typed(row.get(0)?, |word: String| word.parse())?;
                visit(kind, row.get_ref(1)?.as_str()?);
                Ok(ControlFlow::Continue(()))
            })
        })
    }

    fn shape(&self, session_id: &str, visit: &mut dyn FnMut(u64, Option<u64>)) -> Result<()> {
        self.read(|connection| {
            let query = Query { columns: "t.seq, t.parent_seq", ..Query::default() };
            chains::each(connection, ChainOf::Session(session_id), &query, &mut |row| {
                visit(row.get(0)?, row.get(1)?);
                Ok(ControlFlow::Continue(()))
            })
        })
    }
}
