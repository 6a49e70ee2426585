//! Working memory: events of sessions, the contents they name, stored briefs.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::error::store_error;
use super::record;
use super::redact::redaction_leaf;
use crate::store::tables;
use crate::store::{FoldRow, MemoryAppend, MemoryHead, MemoryReader, ReadBody, Result, Visit};

/// How far a session's memory has come; none if it has none.
fn head(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<MemoryHead>> {
    connection
        .prepare_cached(
            "SELECT m.session_no, m.length, m.newest, coalesce((SELECT max(seq) FROM redaction), 0) FROM memory m JOIN session s ON s.no = m.session_no
             WHERE s.name = ?1",
        )?
        .query_row([session_id], |row| {
            Ok(MemoryHead {
                session_no: row.get(0)?,
                length: row.get(1)?,
                newest: row.get(2)?,
                redaction: row.get(3)?,
            })
        })
        .optional()
}

/// Runs a query for which `condition` follows the selection of records of one kind.
fn each(
    connection: &Connection,
    kind: EntryKind,
    condition: &str,
    values: impl Params,
    visit: Visit<'_>,
) -> rusqlite::Result<()> {
    let select = tables::select(kind, true);
    record::each(connection, kind, &format!("{select} {condition}"), values, visit).map(drop)
}

/// Visits the events of a session after one position of the log and up to another, in order.
pub fn events(
    connection: &Connection,
    session_id: &str,
    after: u64,
    to: u64,
    visit: Visit<'_>,
) -> rusqlite::Result<()> {
    // `after` is nearly always an event of this session: then the index leads there, past all earlier ones.
    let condition =
        "WHERE t.session_no = (SELECT no FROM session WHERE name = ?1) AND t.seq > ?2 AND t.seq <= ?3
           AND t.position >= coalesce((SELECT a.position FROM event a JOIN session n ON n.no = a.session_no
             WHERE a.seq = ?2 AND n.name = ?1), 0)
         ORDER BY t.position";
    let [after, to] = [after, to].map(|seq| i64::try_from(seq).unwrap_or(i64::MAX));
    each(connection, EntryKind::Event, condition, params![session_id, after, to], visit)
}

impl MemoryReader for SqliteStore {
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(|connection| head(connection, session_id))
    }

    fn events(&self, session_id: &str, after: u64, to: u64, visit: Visit<'_>) -> Result<()> {
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

    fn event_by_key(&self, key: &str, visit: Visit<'_>) -> Result<()> {
        self.read(|connection| {
            each(connection, EntryKind::Event, "WHERE t.idempotency_key = ?1", [key], visit)
        })
    }

    fn body(&self, digest: &Sha) -> Result<Option<ReadBody>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT b.data, e.seq, e.leaf, e.leaf_hash FROM body b LEFT JOIN entry e ON e.seq = b.redaction
                     WHERE b.sha256 = ?1",
                )?
                .query_row([&digest.0[..]], |row| {
                    Ok(match row.get(0)? {
                        Some(data) => ReadBody::Data(data),
                        None => ReadBody::Gone(redaction_leaf(row, 1)?),
                    })
                })
                .optional()
        })
    }

    fn brief(&self, id: &str, visit: Visit<'_>) -> Result<()> {
        self.read(|connection| each(connection, EntryKind::Brief, "WHERE t.id = ?1", [id], visit))
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64, visit: Visit<'_>) -> Result<()> {
        let condition = match session_id {
            Some(_) => {
                "WHERE t.session_no = (SELECT no FROM session WHERE name = ?2) ORDER BY t.seq DESC LIMIT ?1"
            }
            None => "WHERE ?2 IS NULL ORDER BY t.seq DESC LIMIT ?1",
        };
        self.read(|connection| {
            each(connection, EntryKind::Brief, condition, params![limit, session_id], visit)
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

    fn body_redaction(&mut self, digest: &Sha) -> Result<Option<u64>> {
        let sql = "SELECT redaction FROM body WHERE sha256 = ?1 AND data IS NULL";
        self.one(sql, [&digest.0[..]], |row| row.get(0)).map(Option::flatten)
    }

    fn naming(&mut self, digest: &Sha) -> Result<Vec<u64>> {
        let naming = || {
            self.transaction
                .prepare_cached("SELECT seq FROM event WHERE instr(body, ?1) > 0 ORDER BY seq")?
                .query_map([format!("\"{digest}\"")], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()
        };
        naming().map_err(store_error)
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        self.one("SELECT session_no FROM brief WHERE id = ?1", [id], |row| row.get(0))
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.execute(
            "INSERT INTO body (sha256, seq, data) VALUES (?1, ?2, ?3)",
            params![&digest.0[..], seq, data],
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
