//! Sessions in a listing, and what it takes to count and to draw one.

use cairn_core::id::SessionId;
use cairn_core::thought::ThoughtType;

use super::connect::Link;
use super::read::SHORT_ROWS;
use super::row::{at, get, number, number_or_none, typed, wrong_form};
use super::{PostgresStore, Result};
use crate::store::{ChainOf, SessionCounts, SessionReader};
use tokio_postgres::Row;

impl SessionReader for PostgresStore {
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        self.read(async |link| {
            let (sql, name) = match of {
                ChainOf::Task(name) => ("SELECT length FROM task WHERE name = $1", name),
                ChainOf::Session(name) => ("SELECT length FROM session WHERE name = $1", name),
            };
            link.one(sql, &[&name]).await?.map(|row| number(&row, 0)).transpose()
        })
    }

    fn is_found_by_label(&self, of: ChainOf<'_>) -> Result<bool> {
        self.read(async |link| is_found_by_label(link, of).await)
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(async |link| {
            let row = link
                .one(
                    "SELECT seq FROM thought WHERE session_no = (SELECT no FROM session WHERE name = $1) AND seq <= $2
                     ORDER BY step_index DESC LIMIT 1",
                    &[&session_id, &at(to)],
                )
                .await?;
            row.map(|row| number(&row, 0)).transpose()
        })
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(async |link| {
            let before = before.map_or(i64::MAX, at);
            // First the few that are shown, by the heads of all and one look into an index for each; then the rest of them.
            let rows = link
                .all(
                    "WITH heads AS MATERIALIZED (
                       SELECT s.no, s.name, s.length AS thoughts, coalesce(m.length, 0) AS events, m.newest AS event,
                         greatest(coalesce(m.newest, 0), coalesce(
                           (SELECT seq FROM thought WHERE session_no = s.no AND step_index = s.length - 1), 0)) AS last
                       FROM session s LEFT JOIN memory m ON m.session_no = s.no),
                     shown AS MATERIALIZED (SELECT * FROM heads WHERE last < $1 ORDER BY last DESC LIMIT $2)
                     SELECT name, thoughts, events, last,
                       coalesce((SELECT created_at FROM event WHERE seq = last),
                         (SELECT timestamp FROM thought WHERE seq = last)),
                       (SELECT began FROM (
                           SELECT seq, timestamp AS began FROM thought WHERE session_no = shown.no AND step_index = 0
                           UNION ALL SELECT seq, created_at FROM event WHERE session_no = shown.no AND position = 0) first
                         ORDER BY seq LIMIT 1),
                       (SELECT turn FROM event WHERE seq = shown.event)
                     FROM shown ORDER BY last DESC",
                    &[&before, &at(limit)],
                )
                .await?;
            let counts = |row: &Row| {
                Ok(SessionCounts {
                    session_id: typed(get(row, 0)?, SessionId::new)?,
                    thoughts: number(row, 1)?,
                    events: number(row, 2)?,
                    newest: number(row, 3)?,
                    updated_at: typed(get(row, 4)?, TryFrom::try_from)?,
                    began_at: typed(get(row, 5)?, TryFrom::try_from)?,
                    turn: number_or_none(row, 6)?.unwrap_or(0),
                })
            };
            rows.iter().map(counts).collect()
        })
    }

    fn steps(
        &self,
        session_id: &str,
        from: u64,
        before: u64,
        visit: &mut dyn FnMut(ThoughtType, &str),
    ) -> Result<()> {
        let mut from = from;
        loop {
            let rows = self.read(async |link| {
                link.all(
                    "SELECT step_index, type, agent_id FROM thought
                     WHERE session_no = (SELECT no FROM session WHERE name = $1) AND step_index >= $2 AND step_index < $3
                     ORDER BY step_index LIMIT $4",
                    &[&session_id, &at(from), &at(before), &SHORT_ROWS],
                )
                .await
            })?;
            for row in &rows {
                visit(typed(get(row, 1)?, |word: String| word.parse())?, get(row, 2)?);
                from = number(row, 0)? + 1;
            }
            if (rows.len() as i64) < SHORT_ROWS {
                return Ok(());
            }
        }
    }

    fn shape(&self, session_id: &str, visit: &mut dyn FnMut(u64, Option<u64>)) -> Result<()> {
        let mut from = 0;
        loop {
            let rows = self.read(async |link| {
                link.all(
                    "SELECT step_index, seq, parent_seq FROM thought
                     WHERE session_no = (SELECT no FROM session WHERE name = $1) AND step_index >= $2
                     ORDER BY step_index LIMIT $3",
                    &[&session_id, &at(from), &SHORT_ROWS],
                )
                .await
            })?;
            for row in &rows {
                visit(number(row, 1)?, number_or_none(row, 2)?);
                from = number(row, 0)? + 1;
            }
            if (rows.len() as i64) < SHORT_ROWS {
                return Ok(());
            }
        }
    }
}

/// Whether a session or task is found by its label: by the index where that leads to it, and by none where there is none.
async fn is_found_by_label(link: &Link, of: ChainOf<'_>) -> Result<bool> {
    // An expression cannot be looked up in the index of names, so it looks at every row.
    let (found, scan, name) = match of {
        ChainOf::Task(name) => (
            "SELECT name || '' = $1 FROM task WHERE no = (SELECT no FROM task WHERE name = $1)",
            "SELECT NOT EXISTS (SELECT 1 FROM task WHERE name || '' = $1)",
            name,
        ),
        ChainOf::Session(name) => (
            "SELECT name || '' = $1 FROM session WHERE no = (SELECT no FROM session WHERE name = $1)",
            "SELECT NOT EXISTS (SELECT 1 FROM session WHERE name || '' = $1)",
            name,
        ),
    };
    if let Some(row) = link.one(found, &[&name]).await? {
        return get(&row, 0);
    }
    let row = link.one(scan, &[&name]).await?.ok_or_else(wrong_form)?;
    get(&row, 0)
}
