//! Erasing texts, and what is known of those that were erased or sealed.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::BriefId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::append::SqliteAppend;
use super::context;
use super::error::store_error;
use super::fts5;
use super::read::typed;
use super::{SqliteStore, sweep};
use crate::store::{Pieces, RedactionAppend, RedactionLeaf, RedactionReader, Result, Swept, Target};

/// Pages that are overwritten at a time.
const AT_A_TIME: i64 = 4096;

/// Reads position, bytes and hash of an entry that records a redaction; none if there is none.
pub fn redaction_leaf(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<RedactionLeaf>> {
    let Some(seq) = row.get(first)? else { return Ok(None) };
    let leaf: String = row.get(first + 1)?;
    Ok(Some(RedactionLeaf { seq, leaf: leaf.into_bytes(), hash: row.get(first + 2)? }))
}

/// The entry that records the redaction of the record at a position.
pub fn redaction(connection: &Connection, target_seq: u64) -> rusqlite::Result<Option<RedactionLeaf>> {
    connection
        .prepare_cached(
            "SELECT e.seq, e.leaf, e.leaf_hash FROM redaction r JOIN entry e ON e.seq = r.seq WHERE r.target_seq = ?1",
        )?
        .query_row([target_seq], |row| redaction_leaf(row, 0))
        .optional()
        .map(Option::flatten)
}

/// The key of a sealed content.
pub fn seal_key(connection: &Connection, seq: u64) -> rusqlite::Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT key FROM seal WHERE seq = ?1")?
        .query_row([seq], |row| row.get(0))
        .optional()
}

/// Selects a record by its id: position, session, text, metadata and the key of a sealed content.
fn target_sql(kind: EntryKind) -> Option<&'static str> {
    Some(match kind {
        EntryKind::Thought => {
            "SELECT t.seq, s.name, t.content, t.metadata, k.key FROM thought t JOIN session s ON s.no = t.session_no
               LEFT JOIN seal k ON k.seq = t.seq WHERE t.id = ?1"
        }
        EntryKind::Brief => {
            "SELECT b.seq, s.name, b.data, NULL, NULL FROM brief b JOIN session s ON s.no = b.session_no WHERE b.id = ?1"
        }
        EntryKind::Snapshot => {
            "SELECT c.seq, '', s.data, c.metadata, NULL FROM context c JOIN snapshot s ON s.no = c.snapshot_no
               WHERE c.id = CAST(?1 AS INTEGER)"
        }
        EntryKind::Review => "SELECT seq, '', text, NULL, NULL FROM review WHERE id = ?1",
        EntryKind::Event
        | EntryKind::Genesis
        | EntryKind::Key
        | EntryKind::Redaction
        | EntryKind::Continuation => return None,
    })
}

/// Whether what is deleted is overwritten as well.
pub fn secure_delete(connection: &Connection, on: bool) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA secure_delete = {on}"), [], |_| Ok(()))
}

/// Erases the texts of a target for which a redaction was noted.
///
/// The search index reads its source through a view, and must be told the old texts to forget them. Forgetting is
/// not erasing: it only marks them. What erases them is writing the whole index anew, without what is marked.
fn blank(connection: &Connection, target: &Target) -> rusqlite::Result<()> {
    secure_delete(connection, true)?;
    // Before anything new is put there: pages that are in use no longer keep what they held.
    overwrite_unused(connection)?;
    match target.kind {
        EntryKind::Brief => {
            return connection.execute("UPDATE brief SET data = NULL WHERE seq = ?1", [target.seq]).map(drop);
        }
        EntryKind::Review => {
            return connection
                .execute("UPDATE review SET text = NULL, salt = NULL WHERE seq = ?1", [target.seq])
                .map(drop);
        }
        EntryKind::Snapshot => return blank_snapshot(connection, target.seq),
        _ => {}
    }
    // Of a sealed content the index holds nothing, and it may not have come so far yet.
    let source = "FROM search_source WHERE seq = ?1";
    let indexed = (target.key.is_none() || target.metadata.is_some())
        && connection.prepare(&format!("SELECT 1 {source}"))?.exists([target.seq])?;
    if indexed {
        connection.execute(
            &format!(
                "INSERT INTO search (search, rowid, content, metadata, scope)
                 SELECT 'delete', seq, content, metadata, scope {source}"
            ),
            [target.seq],
        )?;
    }
    if target.key.is_some() {
        connection.execute("DELETE FROM seal WHERE seq = ?1", [target.seq])?;
        connection.execute("UPDATE thought SET metadata = NULL, salt = NULL WHERE seq = ?1", [target.seq])?;
    } else {
        connection.execute(
            "UPDATE thought SET content = NULL, metadata = NULL, salt = NULL WHERE seq = ?1",
            [target.seq],
        )?;
    }
    if !indexed {
        return Ok(());
    }
    connection.execute(
        &format!(
            "INSERT INTO search (rowid, content, metadata, scope) SELECT seq, content, metadata, scope {source}"
        ),
        [target.seq],
    )?;
    connection.execute("INSERT INTO search (search) VALUES ('optimize')", [])?;
    fts5::note_parts(connection, &fts5::SEARCH)
}

/// Erases the metadata of a snapshot, its content, and the nodes of it that are searched.
fn blank_snapshot(connection: &Connection, seq: u64) -> rusqlite::Result<()> {
    connection.execute("UPDATE context SET metadata = NULL, salt = NULL WHERE seq = ?1", [seq])?;
    let no: i64 =
        connection.query_row("SELECT snapshot_no FROM context WHERE seq = ?1", [seq], |row| row.get(0))?;
    context::forget_nodes(connection, no)?;
    connection.execute("UPDATE snapshot SET data = NULL WHERE no = ?1 AND data IS NOT NULL", [no]).map(drop)
}

/// Erases the texts of an event for which a redaction was noted. See [`RedactionAppend::blank_event`].
fn blank_event(connection: &Connection, seq: u64, remains: &str) -> rusqlite::Result<()> {
    secure_delete(connection, true)?;
    overwrite_unused(connection)?;
    connection.execute("UPDATE event SET body = ?2, salt = NULL WHERE seq = ?1", params![seq, remains])?;
    let of_session = "DELETE FROM fold WHERE session_no = (SELECT session_no FROM event WHERE seq = ?1)";
    connection.execute(of_session, [seq]).map(drop)
}

/// Erases a content that events name. See [`RedactionAppend::take_body`].
fn take_body(connection: &Connection, digest: &Sha, redaction: u64) -> rusqlite::Result<()> {
    secure_delete(connection, true)?;
    let sql = "UPDATE body SET data = NULL, redaction = ?2 WHERE sha256 = ?1 AND redaction IS NULL";
    if connection.execute(sql, params![&digest.0[..], redaction])? == 0 {
        let sql = "INSERT INTO body (sha256, seq, redaction)
                   SELECT ?1, min(seq), ?2 FROM event WHERE instr(body, ?3) > 0 HAVING count(*) > 0
                   ON CONFLICT (sha256) DO NOTHING";
        connection.execute(sql, params![&digest.0[..], redaction, format!("\"{digest}\"")])?;
    }
    Ok(())
}

/// Overwrites the pages that are not in use: parts of the search index that were merged into others, say. They are
/// filled with zeros and given back.
fn overwrite_unused(connection: &Connection) -> rusqlite::Result<()> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    if number("freelist_count")? == 0 {
        return Ok(());
    }
    let page = number("page_size")?;
    connection.execute_batch("CREATE TABLE overwritten (zeros BLOB)")?;
    loop {
        let unused = number("freelist_count")?;
        if unused == 0 {
            break;
        }
        let zeros = unused.min(AT_A_TIME) * page;
        connection.execute("INSERT INTO overwritten VALUES (zeroblob(?1))", [zeros])?;
    }
    connection.execute_batch("DROP TABLE overwritten")
}

impl RedactionReader for SqliteStore {
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(|connection| seal_key(connection, seq))
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.read(|connection| redaction(connection, target_seq))
    }

    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM brief WHERE session_no = (SELECT no FROM session WHERE name = ?1)
                       AND instr(data, ?2) > 0 ORDER BY seq LIMIT ?3",
                )?
                .query_map(params![session_id, text, limit], |row| typed(row.get(0)?, BriefId::new))?
                .collect()
        })
    }

    fn sweep(&self, pieces: &Pieces) -> Result<Swept> {
        sweep::sweep(self, pieces)
    }
}

impl RedactionAppend for SqliteAppend<'_> {
    fn target(&mut self, kind: EntryKind, id: &str) -> Result<Option<Target>> {
        let Some(sql) = target_sql(kind) else { return Ok(None) };
        self.one(sql, [id], |row| {
            Ok(Target {
                kind,
                seq: row.get(0)?,
                session_id: row.get(1)?,
                text: row.get(2)?,
                metadata: row.get(3)?,
                key: row.get(4)?,
            })
        })
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        redaction(self.transaction, target_seq).map_err(store_error)
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.erased = true;
        blank(self.transaction, target).map_err(store_error)
    }

    fn blank_event(&mut self, seq: u64, remains: &str) -> Result<()> {
        self.erased = true;
        blank_event(self.transaction, seq, remains).map_err(store_error)
    }

    fn take_body(&mut self, digest: &Sha, redaction: u64) -> Result<()> {
        self.erased = true;
        take_body(self.transaction, digest, redaction).map_err(store_error)
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        seal_key(self.transaction, seq).map_err(store_error)
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES (?1, ?2)", params![seq, key])
    }
}
