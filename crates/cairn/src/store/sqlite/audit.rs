//! Reading for verification: one consistent state, every column as it is stored.

use std::time::Instant;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::audit_error;
use super::{BUSY, SqliteStore, check, memory, redact, review, sessions, structure};
use crate::store::{
    ChainOf, EventText, Finding, IndexAudit, LogAudit, LogHead, MemoryAudit, PlanAudit, RedactionAudit,
    Result, ReviewAudit, Scanned, StoreError, StoredBrief, StoredContext, StoredEntry, StoredEvent,
    StoredFold, StoredReview, StoredThought, ThoughtAudit, Totals,
};

/// The columns that [`scanned`] reads.
const COLUMNS: &str = "e.kind, e.leaf, e.hash, t.id, t.type, t.task_no, t.position, t.session_no, t.step_index,
    t.parent_seq, t.agent_id, t.action_id, t.context_id, t.brief_id, t.supersedes, t.rejects, t.applies_to, t.source,
    t.timestamp, t.content, t.metadata, t.salt, t.idempotency_key, t.prev_hash, t.hash, t.content_hash, t.chain_hash";

/// A read transaction that stays open while everything is checked.
pub struct SqliteAudit {
    connection: Connection,
}

/// Opens `count` read transactions on one committed state.
///
/// A connection of its own tells whether anybody committed while they began; if so, all begin again. Nobody is locked
/// out meanwhile.
pub fn begin_all(store: &SqliteStore, count: usize) -> Result<Vec<SqliteAudit>> {
    let open = || {
        let connection = store.another()?;
        // The first query reads the schema, which takes longer than to begin.
        connection
            .execute_batch("PRAGMA query_only = ON; SELECT count(*) FROM sqlite_schema;")
            .map_err(audit_error)?;
        Ok(SqliteAudit { connection })
    };
    let sentinel = store.another()?;
    let version =
        || sentinel.pragma_query_value(None, "data_version", |row| row.get::<_, i64>(0)).map_err(audit_error);
    let audits = (0..count).map(|_| open()).collect::<Result<Vec<_>>>()?;
    let started = Instant::now();
    loop {
        let before = version()?;
        for audit in &audits {
            // `BEGIN` alone fixes no state: the first read does.
            audit
                .connection
                .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")
                .map_err(audit_error)?;
        }
        if version()? == before {
            return Ok(audits);
        }
        if started.elapsed() > BUSY {
            return Err(StoreError::Busy);
        }
        for audit in &audits {
            audit.connection.execute_batch("ROLLBACK").map_err(audit_error)?;
        }
    }
}

impl SqliteAudit {
    fn one<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, read).optional())
            .map_err(audit_error)
    }

    /// A label, unless there is none or it is no text.
    fn label(&self, sql: &str, no: i64) -> Result<Option<String>> {
        let text = |row: &Row<'_>| Ok(row.get_ref(0)?.as_str().ok().map(str::to_string));
        Ok(self.one(sql, [no], text)?.flatten())
    }

    fn each(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let run = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                visit(row)?;
            }
            Ok(())
        };
        run().map_err(audit_error)
    }
}

/// A hash as stored; none if it does not even have the length of one.
fn sha(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Sha>> {
    Ok(row.get_ref(column)?.as_blob().ok().and_then(|bytes| bytes.try_into().ok()).map(Sha))
}

/// Reads columns one after the other and remembers the first that does not hold the type it should.
struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
    malformed: Option<(&'static str, &'static str)>,
}

impl<'r> Columns<'r> {
    fn value(&mut self) -> ValueRef<'r> {
        self.next += 1;
        self.row.get_ref(self.next - 1).unwrap_or(ValueRef::Null)
    }

    fn required<T: Default>(&mut self, table: &'static str, name: &'static str, value: Option<T>) -> T {
        if value.is_none() {
            self.malformed = self.malformed.or(Some((table, name)));
        }
        value.unwrap_or_default()
    }

    fn text(&mut self, table: &'static str, name: &'static str) -> &'r str {
        let value = self.value().as_str().ok();
        self.required(table, name, value)
    }

    fn blob(&mut self, table: &'static str, name: &'static str) -> &'r [u8] {
        let value = self.value().as_blob().ok();
        self.required(table, name, value)
    }

    fn number(&mut self, name: &'static str) -> i64 {
        let value = i64::column_result(self.value()).ok();
        self.required("thought", name, value)
    }

    /// Like the others, for a column that may be NULL.
    fn optional<T>(&mut self, name: &'static str, read: impl Fn(ValueRef<'r>) -> Option<T>) -> Option<T> {
        match self.value() {
            ValueRef::Null => None,
            value => {
                let read = read(value);
                if read.is_none() {
                    self.malformed = self.malformed.or(Some(("thought", name)));
                }
                read
            }
        }
    }
}

fn scanned<'r>(row: &'r Row<'r>, seq: u64) -> Scanned<'r> {
    let mut columns = Columns { row, next: 1, malformed: None };
    let has = |column: usize| !matches!(row.get_ref(column), Ok(ValueRef::Null) | Err(_));
    let entry = has(1).then(|| StoredEntry {
        kind: columns.text("entry", "kind"),
        leaf: columns.blob("entry", "leaf"),
        hash: columns.blob("entry", "hash"),
    });
    columns.next = 4;
    let text = |value: ValueRef<'r>| value.as_str().ok();
    let number = |value: ValueRef<'r>| i64::column_result(value).ok();
    let thought = has(4).then(|| StoredThought {
        id: columns.text("thought", "id"),
        kind: columns.text("thought", "type"),
        task_no: columns.number("task_no"),
        position: columns.number("position"),
        session_no: columns.number("session_no"),
        step_index: columns.number("step_index"),
        parent_seq: columns.optional("parent_seq", number),
        agent_id: columns.text("thought", "agent_id"),
        action_id: columns.optional("action_id", text),
        context_id: columns.optional("context_id", number),
        brief_id: columns.optional("brief_id", text),
        supersedes: columns.optional("supersedes", text),
        rejects: columns.optional("rejects", text),
        applies_to: columns.optional("applies_to", text),
        source: columns.text("thought", "source"),
        timestamp: columns.text("thought", "timestamp"),
        content: columns.optional("content", text),
        metadata: columns.optional("metadata", text),
        salt: columns.optional("salt", |value| value.as_blob().ok()),
        idempotency_key: columns.optional("idempotency_key", text),
        prev_hash: columns.blob("thought", "prev_hash"),
        hash: columns.blob("thought", "hash"),
        content_hash: columns.blob("thought", "content_hash"),
        chain_hash: columns.blob("thought", "chain_hash"),
    });
    Scanned { seq, entry, thought, malformed: columns.malformed }
}

impl LogAudit for SqliteAudit {
    fn head(&self) -> Result<LogHead> {
        self.one("SELECT origin, size, root FROM log", [], |row| {
            // A root of the wrong length cannot be the recomputed one.
            Ok(LogHead { origin: row.get(0)?, size: row.get(1)?, root: sha(row, 2)?.unwrap_or(Sha::ZERO) })
        })?
        .ok_or_else(|| StoreError::Damaged("the log has no head".into()))
    }

    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()> {
        let sql = format!(
            "SELECT e.seq, {COLUMNS} FROM entry e LEFT JOIN thought t ON t.seq = e.seq
             WHERE e.seq >= ?1 AND e.seq < ?2 ORDER BY e.seq"
        );
        self.each(&sql, [from, to], |row| {
            visit(scanned(row, row.get(0)?));
            Ok(())
        })
    }

    fn edge(&self) -> Result<Vec<u8>> {
        let edge = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        Ok(self.one("SELECT edge FROM log", [], edge)?.unwrap_or_default())
    }

    fn leaf_hashes(&self, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.each(
            "SELECT seq, hash FROM entry WHERE seq >= ?1 AND seq < ?2 ORDER BY seq",
            [from, to],
            |row| {
                visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
                Ok(())
            },
        )
    }

    fn tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>> {
        let hashes = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        self.one("SELECT hashes FROM tile WHERE level = ?1 AND idx = ?2", params![level, index], hashes)
    }

    fn leaf(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        let leaf = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        self.one("SELECT leaf FROM entry WHERE seq = ?1", [seq], leaf)
    }

    fn newest(&self) -> Result<Option<u64>> {
        Ok(self.one("SELECT max(seq) FROM entry", [], |row| row.get(0))?.flatten())
    }

    fn totals(&self) -> Result<Totals> {
        self.one(
            "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM tile), (SELECT count(*) FROM thought),
               (SELECT count(*) FROM context), (SELECT count(*) FROM event), (SELECT count(*) FROM body),
               (SELECT count(*) FROM brief), (SELECT count(*) FROM redaction), (SELECT count(*) FROM seal),
               (SELECT count(*) FROM review)",
            [],
            |row| {
                Ok(Totals {
                    entries: row.get(0)?,
                    tiles: row.get(1)?,
                    thoughts: row.get(2)?,
                    contexts: row.get(3)?,
                    events: row.get(4)?,
                    bodies: row.get(5)?,
                    briefs: row.get(6)?,
                    redactions: row.get(7)?,
                    seals: row.get(8)?,
                    reviews: row.get(9)?,
                })
            },
        )
        .map(Option::unwrap_or_default)
    }

    fn checkpoints(&self, visit: &mut dyn FnMut(i64, &str)) -> Result<()> {
        self.each("SELECT size, note FROM checkpoint ORDER BY size", [], |row| {
            visit(row.get(0)?, row.get_ref(1)?.as_str().unwrap_or_default());
            Ok(())
        })
    }

    fn about_log(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        // The last condition lets the small index be used. It may be what is damaged: redactions are looked for in
        // their table as well, so that none is called missing for that.
        let sql = "SELECT seq, leaf FROM entry WHERE kind = ?1 AND seq IN (
                     SELECT seq FROM entry WHERE kind = ?1 AND kind IN ('continuation', 'key', 'redaction')
                     UNION SELECT seq FROM redaction WHERE ?1 = 'redaction') ORDER BY seq";
        self.each(sql, [kind.as_str()], |row| {
            visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
            Ok(())
        })
    }
}

impl ThoughtAudit for SqliteAudit {
    fn thought_place(&self, id: &str) -> Result<Option<u64>> {
        self.one("SELECT seq FROM thought WHERE id = ?1", [id], |row| row.get(0))
    }

    fn scan_chain(&self, of: ChainOf<'_>, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()> {
        let (condition, name) = match of {
            ChainOf::Task(name) => {
                ("t.task_no = (SELECT no FROM task WHERE name = ?1) ORDER BY t.position", name)
            }
            ChainOf::Session(name) => {
                ("t.session_no = (SELECT no FROM session WHERE name = ?1) ORDER BY t.step_index", name)
            }
        };
        let sql = format!(
            "SELECT t.seq, {COLUMNS} FROM thought t LEFT JOIN entry e ON e.seq = t.seq WHERE {condition}"
        );
        self.each(&sql, [name], |row| {
            visit(scanned(row, row.get(0)?));
            Ok(())
        })
    }

    fn parent(&self, seq: u64) -> Result<Option<(String, i64, Sha)>> {
        let found =
            self.one("SELECT id, session_no, chain_hash FROM thought WHERE seq = ?1", [seq], |row| {
                // A value that cannot be read is found where that thought is checked.
                let id = row.get_ref(0)?.as_str().unwrap_or_default().to_string();
                Ok((id, row.get(1).unwrap_or(-1), sha(row, 2)?.unwrap_or(Sha::ZERO)))
            })?;
        Ok(found)
    }

    fn task_hash(&self, task_no: i64, position: u64) -> Result<Option<Sha>> {
        let found = self.one(
            "SELECT hash FROM thought WHERE task_no = ?1 AND position = ?2",
            params![task_no, position],
            |row| sha(row, 0),
        )?;
        Ok(found.map(|hash| hash.unwrap_or(Sha::ZERO)))
    }

    fn task_name(&self, no: i64) -> Result<Option<String>> {
        self.label("SELECT name FROM task WHERE no = ?1", no)
    }

    fn session_name(&self, no: i64) -> Result<Option<String>> {
        self.label("SELECT name FROM session WHERE no = ?1", no)
    }

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        sessions::chain_length(&self.connection, of).map_err(audit_error)
    }
}

impl PlanAudit for SqliteAudit {
    fn context(&self, seq: u64, visit: &mut dyn FnMut(StoredContext<'_>)) -> Result<bool> {
        let sql = "SELECT c.id, r.name, c.position, c.snapshot_no, s.content_hash, s.data, c.node_count, c.created_at,
                     c.metadata, c.salt
                   FROM context c LEFT JOIN roadmap r ON r.no = c.roadmap_no
                     LEFT JOIN snapshot s ON s.no = c.snapshot_no
                   WHERE c.seq = ?1";
        let mut found = false;
        self.each(sql, [seq], |row| {
            found = true;
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            let blob = |column| row.get_ref(column).ok().and_then(|value| value.as_blob().ok());
            // No row was written with a negative number, so that one is found to be wrong like any other.
            let number = |column| row.get(column).unwrap_or(-1);
            let (metadata, salt) = (text(8), blob(9));
            // Where nothing was written, what cannot be read must not pass for nothing.
            let malformed = [(8, "metadata", metadata.is_some()), (9, "salt", salt.is_some())]
                .into_iter()
                .find(|(column, _, read)| !read && !matches!(row.get_ref(*column), Ok(ValueRef::Null)));
            visit(StoredContext {
                id: number(0),
                roadmap_id: text(1),
                position: number(2),
                snapshot_no: number(3),
                content_hash: blob(4),
                data: text(5),
                node_count: number(6),
                created_at: text(7).unwrap_or_default(),
                metadata,
                salt,
                malformed: malformed.map(|(_, name, _)| name),
            });
            Ok(())
        })?;
        Ok(found)
    }

    fn context_seq(&self, id: u64) -> Result<Option<u64>> {
        self.one("SELECT seq FROM context WHERE id = ?1", [id], |row| row.get(0))
    }
}

impl MemoryAudit for SqliteAudit {
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()> {
        let sql = "WITH of AS (SELECT no FROM session WHERE name = ?1)
                   SELECT seq FROM event WHERE session_no = (SELECT no FROM of)
                   UNION ALL SELECT seq FROM brief WHERE session_no = (SELECT no FROM of) ORDER BY seq";
        self.each(sql, [session_id], |row| {
            visit(row.get(0)?);
            Ok(())
        })
    }

    fn event(&self, seq: u64, visit: &mut dyn FnMut(StoredEvent<'_>)) -> Result<bool> {
        let sql = "SELECT s.name, e.position, e.turn, e.kind, e.v, e.created_at, e.body, e.idempotency_key,
                     e.session_no
                   FROM event e LEFT JOIN session s ON s.no = e.session_no WHERE e.seq = ?1";
        let mut found = false;
        self.each(sql, [seq], |row| {
            found = true;
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            let number = |column| row.get(column).unwrap_or(-1);
            let key = text(7);
            // As above: what cannot be read must not pass for nothing. And what a join takes for a number must be one.
            let malformed = match (row.get_ref(7), row.get_ref(8)) {
                (_, Ok(value)) if !matches!(value, ValueRef::Integer(_)) => Some("session_no"),
                (Ok(value), _) if key.is_none() && !matches!(value, ValueRef::Null) => {
                    Some("idempotency_key")
                }
                _ => None,
            };
            visit(StoredEvent {
                session_id: text(0),
                position: number(1),
                turn: number(2),
                kind: text(3).unwrap_or_default(),
                v: number(4),
                created_at: text(5).unwrap_or_default(),
                body: text(6),
                idempotency_key: key,
                malformed,
            });
            Ok(())
        })?;
        Ok(found)
    }

    fn events(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(EventText<'_>) -> bool) -> Result<()> {
        memory::events(&self.connection, session_id, 0, to, visit).map_err(audit_error)
    }

    fn folds(&self, visit: &mut dyn FnMut(StoredFold<'_>) -> Result<()>) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT f.session_no, s.name, f.seq, f.v, f.sha256, f.state
                 FROM fold f LEFT JOIN session s ON s.no = f.session_no ORDER BY f.session_no",
            )
            .map_err(audit_error)?;
        let mut rows = statement.query([]).map_err(audit_error)?;
        while let Some(row) = rows.next().map_err(audit_error)? {
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            visit(StoredFold {
                session_no: row.get(0).map_err(audit_error)?,
                session_id: text(1),
                seq: row.get(2).ok(),
                v: row.get(3).ok(),
                sha256: row.get_ref(4).map_err(audit_error)?.as_blob().unwrap_or_default(),
                state: text(5),
            })?;
        }
        Ok(())
    }

    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(i64, Option<&str>)) -> Result<bool> {
        let mut found = false;
        self.each("SELECT seq, data FROM body WHERE sha256 = ?1", [&digest.0[..]], |row| {
            found = true;
            visit(row.get(0).unwrap_or(-1), row.get_ref(1)?.as_str().ok());
            Ok(())
        })?;
        Ok(found)
    }

    fn brief(&self, seq: u64, visit: &mut dyn FnMut(StoredBrief<'_>)) -> Result<bool> {
        let sql = "SELECT b.id, s.name, b.node, b.turn, b.created_at, b.hash, b.data, b.session_no
                   FROM brief b LEFT JOIN session s ON s.no = b.session_no WHERE b.seq = ?1";
        let mut found = false;
        self.each(sql, [seq], |row| {
            found = true;
            let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str().ok());
            visit(StoredBrief {
                id: text(0).unwrap_or_default(),
                // Of a session that only looks like a number to a join, nobody finds it by its index.
                session_id: text(1).filter(|_| matches!(row.get_ref(7), Ok(ValueRef::Integer(_)))),
                node: text(2).unwrap_or_default(),
                turn: row.get(3).unwrap_or(-1),
                created_at: text(4).unwrap_or_default(),
                hash: row.get_ref(5)?.as_blob().unwrap_or_default(),
                data: text(6),
            });
            Ok(())
        })?;
        Ok(found)
    }

    fn brief_place(&self, id: &str) -> Result<Option<(u64, i64)>> {
        self.one("SELECT seq, session_no FROM brief WHERE id = ?1", [id], |row| {
            Ok((row.get(0)?, row.get(1).unwrap_or(-1)))
        })
    }
}

impl RedactionAudit for SqliteAudit {
    fn redaction_target(&self, seq: u64) -> Result<Option<i64>> {
        self.one("SELECT target_seq FROM redaction WHERE seq = ?1", [seq], |row| Ok(row.get(0).unwrap_or(-1)))
    }

    fn has_text(&self, seq: u64) -> Result<(bool, bool)> {
        self.one(
            "SELECT content IS NOT NULL, metadata IS NOT NULL OR salt IS NOT NULL FROM thought WHERE seq = ?1
             UNION ALL SELECT data IS NOT NULL, 0 FROM brief WHERE seq = ?1",
            [seq],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map(Option::unwrap_or_default)
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        redact::seal_key(&self.connection, seq).map_err(audit_error)
    }
}

impl IndexAudit for SqliteAudit {
    fn derived(&self) -> Result<(i64, u64)> {
        self.one("SELECT (SELECT max(through) FROM derived), (SELECT count(*) FROM action)", [], |row| {
            Ok((row.get::<_, Option<i64>>(0)?.unwrap_or(-1), row.get(1)?))
        })
        .map(Option::unwrap_or_default)
    }

    fn action_is_listed(&self, action_id: &str, seq: u64) -> Result<bool> {
        self.one(
            "SELECT 1 FROM action WHERE action_id = ?1 AND seq = ?2",
            params![action_id, seq],
            |_| Ok(()),
        )
        .map(|found| found.is_some())
    }

    fn heads_schema_and_documents(&self, visit: &mut dyn FnMut(Finding)) -> Result<()> {
        // Where the schema was changed, the others may fail for that reason.
        let schema = structure::schema(&self.connection, visit);
        let heads = check::heads(&self.connection, visit);
        let documents = check::documents(&self.connection, visit);
        schema.and(heads).and(documents).map_err(audit_error)
    }

    fn structures(&self, visit: &mut dyn FnMut(Finding)) -> Result<Vec<String>> {
        structure::check(&self.connection, visit).map(|()| Vec::new()).map_err(audit_error)
    }

    fn search_index(&self, visit: &mut dyn FnMut(Finding)) -> Result<()> {
        check::search_indexes(&self.connection, visit).map_err(audit_error)
    }
}

impl ReviewAudit for SqliteAudit {
    fn review(&self, seq: u64) -> Result<Option<StoredReview>> {
        Ok(review::at(&self.connection, seq).map_err(audit_error)?.pop())
    }

    fn review_places(&self) -> Result<Vec<(u64, u64)>> {
        review::places(&self.connection).map_err(audit_error)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use cairn_core::time::Timestamp;

    use super::*;
    use crate::store::{Birth, Durability, Opening};

    /// All views of one verification see the same state while others commit, and none can write.
    #[test]
    fn all_views_are_of_one_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let birth =
            Birth { origin: "o".into(), timestamp: Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap() };
        let store = SqliteStore::open(path.clone(), Durability::Normal, &Opening::Create(birth)).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let writer = Connection::open(&path).unwrap();
                writer.busy_timeout(BUSY).unwrap();
                let mut written = 0;
                while !done.load(Ordering::Relaxed) || written == 0 {
                    writer.execute("INSERT INTO action VALUES ('a', ?1)", [written]).unwrap();
                    written += 1;
                }
            });
            for _ in 0..20 {
                let audits = begin_all(&store, 6).unwrap();
                let seen: Vec<u64> = audits.iter().map(|audit| audit.derived().unwrap().1).collect();
                assert!(seen.iter().all(|count| *count == seen[0]), "{seen:?}");
                assert!(audits[0].connection.execute("DELETE FROM action", []).is_err());
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
