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
    ReadEvent, Result, StoredFold,
};

/// How far a session's memory has come; none if it has none.
pub fn head(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<MemoryHead>> {
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

/// The kept state of a session, if there is one up to a position of the log at most.
pub fn fold(
    connection: &Connection,
    session_id: &str,
    to: u64,
    visit: &mut dyn FnMut(FoldRow<'_>),
) -> rusqlite::Result<bool> {
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
}

/// Keeps the state of a session in place of an older one, if its last event is one of that session.
pub fn keep_fold(connection: &Connection, session_id: &str, fold: FoldRow<'_>) -> rusqlite::Result<()> {
    let FoldRow { seq, v, sha256, state } = fold;
    connection
        .prepare_cached(
            "INSERT INTO fold (session_no, seq, v, sha256, state)
             SELECT e.session_no, e.seq, ?3, ?4, ?5 FROM event e JOIN session s ON s.no = e.session_no
             WHERE s.name = ?1 AND e.seq = ?2
             ON CONFLICT (session_no) DO UPDATE
             SET seq = excluded.seq, v = excluded.v, sha256 = excluded.sha256, state = excluded.state
             WHERE excluded.seq > fold.seq OR excluded.v IS NOT fold.v",
        )?
        .execute(params![session_id, seq, v, sha256, state])
        .map(drop)
}

/// Visits the kept states of sessions, as stored, until the visitor says no.
pub fn folds(connection: &Connection, visit: &mut dyn FnMut(StoredFold<'_>) -> bool) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT f.session_no, s.name, f.seq, f.v, f.sha256, f.state
         FROM fold f LEFT JOIN session s ON s.no = f.session_no ORDER BY f.session_no",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
        let fold = StoredFold {
            session_no: row.get(0)?,
            session_id: text(1),
            seq: row.get(2).ok(),
            v: row.get(3).ok(),
            sha256: row.get_ref(4)?.as_blob().unwrap_or_default(),
            state: text(5),
        };
        if !visit(fold) {
            break;
        }
    }
    Ok(())
}

/// The event recorded under a key.
pub fn event_by_key(connection: &Connection, key: &str) -> rusqlite::Result<Option<Read<ReadEvent>>> {
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
}

/// Whether an event is recorded under a key.
pub fn has_key(connection: &Connection, key: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM event WHERE idempotency_key = ?1")?.exists([key])
}

/// The content of a body.
pub fn body(connection: &Connection, digest: &Sha) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT data FROM body WHERE sha256 = ?1")?
        .query_row([&digest.0[..]], |row| row.get(0))
        .optional()
        .map(Option::flatten)
}

/// Whether a body is stored, and still is `data`.
pub fn has_body(connection: &Connection, digest: &Sha, data: &str) -> rusqlite::Result<Option<bool>> {
    connection
        .prepare_cached("SELECT data IS ?2 FROM body WHERE sha256 = ?1")?
        .query_row(params![&digest.0[..], data], |row| row.get(0))
        .optional()
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

/// A stored brief.
pub fn brief(connection: &Connection, id: &str) -> rusqlite::Result<Option<Read<ReadBrief>>> {
    connection
        .prepare_cached(&format!("{BRIEF} WHERE b.id = ?1"))?
        .query_row([id], |row| read_brief(connection, row))
        .optional()
}

/// Stored briefs, of one session or of all, newest first.
pub fn briefs(
    connection: &Connection,
    session_id: Option<&str>,
    limit: u64,
) -> rusqlite::Result<Vec<Read<ReadBrief>>> {
    let of_session = match session_id {
        Some(_) => "WHERE b.session_no = (SELECT no FROM session WHERE name = ?2)",
        None => "WHERE ?2 IS NULL",
    };
    connection
        .prepare_cached(&format!("{BRIEF} {of_session} ORDER BY b.seq DESC LIMIT ?1"))?
        .query_map(params![limit, session_id], |row| read_brief(connection, row))?
        .collect()
}

/// The number of a brief's session.
pub fn brief_session(connection: &Connection, id: &str) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT session_no FROM brief WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()
}

/// Adds an event.
pub fn insert_event(connection: &Connection, row: &EventRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO event (seq, session_no, position, turn, kind, v, created_at, body, idempotency_key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            row.seq,
            row.session_no,
            row.position,
            row.turn,
            row.kind,
            row.v,
            row.created_at,
            row.body,
            row.idempotency_key,
        ])
        .map(drop)
}

/// Adds content that the event at `seq` is the first to name.
pub fn insert_body(connection: &Connection, digest: &Sha, seq: u64, data: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO body (sha256, seq, data) VALUES (?1, ?2, ?3)")?
        .execute(params![&digest.0[..], seq, data])
        .map(drop)
}

/// Moves a session's memory to a new head.
pub fn set_head(connection: &Connection, head: &MemoryHead) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO memory (session_no, length, newest) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_no) DO UPDATE SET length = excluded.length, newest = excluded.newest",
        )?
        .execute(params![head.session_no, head.length, head.newest])
        .map(drop)
}

/// Adds a brief.
pub fn insert_brief(connection: &Connection, row: &BriefRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO brief (seq, id, session_no, node, turn, created_at, hash, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            row.seq,
            row.id,
            row.session_no,
            row.node,
            row.turn,
            row.created_at,
            &row.hash.0[..],
            row.data,
        ])
        .map(drop)
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
        self.read(|connection| fold(connection, session_id, to, visit))
    }

    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>> {
        self.read(|connection| event_by_key(connection, key))
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(|connection| body(connection, digest))
    }

    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>> {
        self.read(|connection| brief(connection, id))
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>> {
        self.read(|connection| briefs(connection, session_id, limit))
    }
}

impl MemoryAppend for SqliteAppend<'_> {
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        head(self.transaction, session_id).map_err(store_error)
    }

    fn has_event_key(&mut self, key: &str) -> Result<bool> {
        has_key(self.transaction, key).map_err(store_error)
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        has_body(self.transaction, digest, data).map_err(store_error)
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        brief_session(self.transaction, id).map_err(store_error)
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        insert_event(self.transaction, row).map_err(store_error)
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        insert_body(self.transaction, digest, seq, data).map_err(store_error)
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        insert_brief(self.transaction, row).map_err(store_error)
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        set_head(self.transaction, head).map_err(store_error)
    }
}
