//! Working memory: events of sessions, the contents they name, stored briefs.

use cairn_core::Sha;
use cairn_core::id::{BriefId, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::error::{in_row, store_error};
use super::read::typed;
use super::redact;
use crate::store::{
    BriefRow, EventRow, EventText, FoldRow, MemoryAppend, MemoryHead, MemoryReader, Read, ReadBrief,
    ReadEvent, Result,
};

/// How far a session's memory has come; none if it has none.
fn head(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<MemoryHead>> {
    connection
        .prepare_cached(
            "SELECT m.session_no, m.length, m.newest FROM memory m JOIN session s ON s.no = m.session_no
             WHERE s.name = ?1",
        )?
        .query_row([session_id], |row| {
            Ok(MemoryHead { session_no: row.get(0)?, length: row.get(1)?, newest: row.get(2)? })
        })
        .optional()
}

/// The columns of an event that readers get.
const EVENT: &str =
    "SELECT e.seq, s.name, e.position, e.turn, e.kind, e.v, e.created_at, e.body, e.idempotency_key,
    l.hash
  FROM event e LEFT JOIN session s ON s.no = e.session_no LEFT JOIN entry l ON l.seq = e.seq";

/// Visits the events of a session after one position of the log and up to another, in order.
pub fn events(
    connection: &Connection,
    session_id: &str,
    after: u64,
    to: u64,
    visit: &mut dyn FnMut(EventText<'_>) -> bool,
) -> rusqlite::Result<()> {
    // `after` is nearly always an event of this session: then the index leads there, past all earlier ones.
    let mut statement = connection.prepare_cached(&format!(
        "{EVENT} WHERE e.session_no = (SELECT no FROM session WHERE name = ?1) AND e.seq > ?2 AND e.seq <= ?3
           AND e.position >= coalesce((SELECT a.position FROM event a JOIN session n ON n.no = a.session_no
             WHERE a.seq = ?2 AND n.name = ?1), 0)
         ORDER BY e.position"
    ))?;
    let [after, to] = [after, to].map(|seq| i64::try_from(seq).unwrap_or(i64::MAX));
    let mut rows = statement.query(params![session_id, after, to])?;
    while let Some(row) = rows.next()? {
        // A value of another type becomes an empty one, which no hash of an entry matches.
        let text = |column| row.get_ref(column).map(|value| value.as_str().unwrap_or_default());
        let event = EventText {
            seq: row.get(0)?,
            session_id: text(1)?,
            position: row.get(2)?,
            turn: row.get(3)?,
            kind: text(4)?,
            v: row.get(5)?,
            created_at: text(6)?,
            body: text(7)?,
            idempotency_key: match row.get_ref(8)? {
                ValueRef::Null => None,
                value => Some(value.as_str().unwrap_or_default()),
            },
            entry_hash: row.get_ref(9)?.as_blob().unwrap_or_default(),
        };
        if !visit(event) {
            break;
        }
    }
    Ok(())
}

/// The columns that [`read_brief`] reads.
const BRIEF: &str = "SELECT b.seq, b.id, s.name, b.node, b.turn, b.created_at, b.hash, b.data, e.hash
  FROM brief b LEFT JOIN session s ON s.no = b.session_no LEFT JOIN entry e ON e.seq = b.seq";

fn read_brief(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Read<ReadBrief>> {
    let values = || {
        let (seq, data): (u64, Option<String>) = (row.get(0)?, row.get(7)?);
        let leaves = if data.is_none() { redact::leaves(connection, seq)? } else { None };
        Ok(ReadBrief {
            seq,
            id: typed(row.get(1)?, BriefId::new)?,
            session_id: typed(row.get(2)?, SessionId::new)?,
            node: row.get(3)?,
            turn: row.get(4)?,
            created_at: typed(row.get(5)?, TryFrom::try_from)?,
            hash: Sha(row.get(6)?),
            data,
            entry_hash: row.get::<_, Option<[u8; 32]>>(8)?.map(Sha),
            leaves,
        })
    };
    in_row(row, values())
}

impl MemoryReader for SqliteStore {
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(|connection| head(connection, session_id))
    }

    fn events(
        &self,
        session_id: &str,
        after: u64,
        to: u64,
        visit: &mut dyn FnMut(EventText<'_>) -> bool,
    ) -> Result<()> {
        self.read(|connection| events(connection, session_id, after, to, visit))
    }

    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool> {
        self.read(|connection| {
            let to = i64::try_from(to).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(
                "SELECT seq, v, sha256, state FROM fold
                 WHERE session_no = (SELECT no FROM session WHERE name = ?1) AND seq <= ?2",
            )?;
            let mut rows = statement.query(params![session_id, to])?;
            let Some(row) = rows.next()? else { return Ok(false) };
            // What cannot be read is no state; the events are there.
            let (Ok(seq), Ok(v)) = (row.get(0), row.get(1)) else { return Ok(false) };
            let (Ok(sha256), Ok(state)) = (row.get_ref(2)?.as_blob(), row.get_ref(3)?.as_str()) else {
                return Ok(false);
            };
            visit(FoldRow { seq, v, sha256, state });
            Ok(true)
        })
    }

    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>> {
        self.read(|connection| {
            let read = |row: &Row<'_>| {
                Ok(ReadEvent {
                    seq: row.get(0)?,
                    session_id: typed(row.get(1)?, SessionId::new)?,
                    position: row.get(2)?,
                    turn: row.get(3)?,
                    kind: row.get(4)?,
                    v: row.get(5)?,
                    created_at: typed(row.get(6)?, TryFrom::try_from)?,
                    body: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
                    idempotency_key: row.get(8)?,
                    entry_hash: row.get::<_, Option<Vec<u8>>>(9)?.unwrap_or_default(),
                })
            };
            connection
                .prepare_cached(&format!("{EVENT} WHERE e.idempotency_key = ?1"))?
                .query_row([key], |row| in_row(row, read(row)))
                .optional()
        })
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT data FROM body WHERE sha256 = ?1")?
                .query_row([&digest.0[..]], |row| row.get(0))
                .optional()
                .map(Option::flatten)
        })
    }

    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!("{BRIEF} WHERE b.id = ?1"))?
                .query_row([id], |row| read_brief(connection, row))
                .optional()
        })
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>> {
        self.read(|connection| {
            let of_session = match session_id {
                Some(_) => "WHERE b.session_no = (SELECT no FROM session WHERE name = ?2)",
                None => "WHERE ?2 IS NULL",
            };
            connection
                .prepare_cached(&format!("{BRIEF} {of_session} ORDER BY b.seq DESC LIMIT ?1"))?
                .query_map(params![limit, session_id], |row| read_brief(connection, row))?
                .collect()
        })
    }
}

impl MemoryAppend for SqliteAppend<'_> {
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        head(self.transaction, session_id).map_err(store_error)
    }

    fn has_event_key(&mut self, key: &str) -> Result<bool> {
        self.one("SELECT 1 FROM event WHERE idempotency_key = ?1", [key], |_| Ok(()))
            .map(|found| found.is_some())
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        self.one("SELECT data IS ?2 FROM body WHERE sha256 = ?1", params![&digest.0[..], data], |row| {
            row.get(0)
        })
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        self.one("SELECT session_no FROM brief WHERE id = ?1", [id], |row| row.get(0))
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        self.execute(
            "INSERT INTO event (seq, session_no, position, turn, kind, v, created_at, body, idempotency_key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                row.seq,
                row.session_no,
                row.position,
                row.turn,
                row.kind,
                row.v,
                row.created_at,
                row.body,
                row.idempotency_key,
            ],
        )
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.execute(
            "INSERT INTO body (sha256, seq, data) VALUES (?1, ?2, ?3)",
            params![&digest.0[..], seq, data],
        )
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        self.execute(
            "INSERT INTO brief (seq, id, session_no, node, turn, created_at, hash, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                row.seq,
                row.id,
                row.session_no,
                row.node,
                row.turn,
                row.created_at,
                &row.hash.0[..],
                row.data,
            ],
        )
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        self.execute(
            "INSERT INTO memory (session_no, length, newest) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_no) DO UPDATE SET length = excluded.length, newest = excluded.newest",
            params![head.session_no, head.length, head.newest],
        )
    }
}
