//! Reading for verification: one consistent state, every column as it is stored.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::time::Instant;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::audit_error;
use super::{
    BUSY, SqliteStore, chains, check, context, memory, record, redact, review, sessions, structure, thoughts,
};
use crate::store::tables::union;
use crate::store::{
    ChainKey, ChainOf, ChainSums, Derived, Finding, IndexAudit, LogAudit, LogHead, MemoryAudit, PlanAudit,
    RecordReader, RedactionAudit, Result, ReviewAudit, StoreError, StoredBody, StoredFold, ThoughtAudit,
    Totals, Visit,
};

/// A read transaction that stays open while everything is checked.
pub struct SqliteAudit {
    connection: Connection,
    /// See [`SqliteAudit::uncovered`].
    uncovered: OnceCell<HashMap<(i64, u64), Sha>>,
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
        Ok(SqliteAudit { connection, uncovered: OnceCell::new() })
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

    /// The hashes of the thoughts that the tables of chains do not cover, by task and position. They are few, and one scan
    /// for all of them is cheaper than one for each.
    fn uncovered(&self) -> Result<&HashMap<(i64, u64), Sha>> {
        if let Some(found) = self.uncovered.get() {
            return Ok(found);
        }
        let mut found = HashMap::new();
        let sql = "SELECT task_no, position, hash FROM thought WHERE seq > (SELECT chained FROM derived) ORDER BY seq";
        self.each(sql, [], |row| {
            // A value of another type is found where its row is checked.
            if let (Ok(task), Ok(position)) = (row.get(0), row.get(1)) {
                found.entry((task, position)).or_insert(sha(row, 2)?.unwrap_or(Sha::ZERO));
            }
            Ok(())
        })?;
        Ok(self.uncovered.get_or_init(|| found))
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

impl RecordReader for SqliteAudit {
    fn records(&self, from: u64, to: u64, visit: Visit<'_>) -> Result<()> {
        record::records(&self.connection, from, to, visit).map_err(audit_error)
    }
}

impl LogAudit for SqliteAudit {
    fn head(&self) -> Result<LogHead> {
        self.one("SELECT origin, size, root FROM log", [], |row| {
            // A root of the wrong length cannot be the recomputed one.
            Ok(LogHead { origin: row.get(0)?, size: row.get(1)?, root: sha(row, 2)?.unwrap_or(Sha::ZERO) })
        })?
        .ok_or_else(|| StoreError::Damaged("the log has no head".into()))
    }

    fn edge(&self) -> Result<Vec<u8>> {
        let edge = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        Ok(self.one("SELECT edge FROM log", [], edge)?.unwrap_or_default())
    }

    fn leaf_hashes(&self, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.each(&record::LEAF_HASHES, [from, to], |row| {
            visit(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default());
            Ok(())
        })
    }

    fn tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>> {
        let hashes = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec());
        self.one("SELECT hashes FROM tile WHERE level = ?1 AND idx = ?2", params![level, index], hashes)
    }

    fn newest(&self) -> Result<Option<u64>> {
        let sql = format!("SELECT max(seq) FROM ({})", union("max(seq) AS seq", ""));
        Ok(self.one(&sql, [], |row| row.get(0))?.flatten())
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

    fn statements(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.each("SELECT seq, leaf FROM entry WHERE kind = ?1 ORDER BY seq", [kind.as_str()], |row| {
            visit(row.get(0)?, row.get_ref(1)?.as_bytes().unwrap_or_default());
            Ok(())
        })
    }
}

impl ThoughtAudit for SqliteAudit {
    fn thought_place(&self, id: &str) -> Result<Option<u64>> {
        self.one("SELECT seq FROM thought WHERE id = ?1", [id], |row| row.get(0))
    }

    fn chain(&self, of: ChainOf<'_>, visit: Visit<'_>) -> Result<()> {
        thoughts::chain(&self.connection, of, &chains::Query::default(), visit).map_err(audit_error)
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
        let covered = "SELECT t.hash FROM task_thought c CROSS JOIN thought t ON t.seq = c.seq
                       WHERE c.task_no = ?1 AND c.position = ?2";
        let found = self.one(covered, params![task_no, position], |row| sha(row, 0))?;
        match found {
            Some(hash) => Ok(Some(hash.unwrap_or(Sha::ZERO))),
            None => Ok(self.uncovered()?.get(&(task_no, position)).copied()),
        }
    }

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        sessions::chain_length(&self.connection, of).map_err(audit_error)
    }
}

impl PlanAudit for SqliteAudit {
    fn context_seq(&self, id: u64) -> Result<Option<u64>> {
        self.one("SELECT seq FROM context WHERE id = ?1", [id], |row| row.get(0))
    }

    fn sharing(&self, hash: &Sha) -> Result<Vec<u64>> {
        let mut places = Vec::new();
        self.each(context::SHARING, [&hash.0[..]], |row| {
            places.push(row.get(1)?);
            Ok(())
        })?;
        Ok(places)
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

    fn events(&self, session_id: &str, to: u64, visit: Visit<'_>) -> Result<()> {
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

    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(StoredBody<'_>)) -> Result<bool> {
        let mut found = false;
        self.each("SELECT seq, data, redaction FROM body WHERE sha256 = ?1", [&digest.0[..]], |row| {
            found = true;
            let redaction = match row.get_ref(2)? {
                ValueRef::Null => None,
                _ => Some(row.get(2).unwrap_or(-1)),
            };
            visit(StoredBody {
                first: row.get(0).unwrap_or(-1),
                data: row.get_ref(1)?.as_str().ok(),
                redaction,
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

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        redact::seal_key(&self.connection, seq).map_err(audit_error)
    }
}

impl IndexAudit for SqliteAudit {
    fn derived(&self) -> Result<Derived> {
        let sql = "SELECT (SELECT max(through) FROM derived), (SELECT max(chained) FROM derived),
                     (SELECT count(*) FROM action)";
        self.one(sql, [], |row| {
            let covered = |column| row.get::<_, Option<i64>>(column).map(|covered| covered.unwrap_or(-1));
            Ok(Derived { through: covered(0)?, chained: covered(1)?, actions: row.get(2)? })
        })
        .map(Option::unwrap_or_default)
    }

    fn chain_sums(&self, key: &ChainKey) -> Result<Option<ChainSums>> {
        check::chain_sums(&self.connection, key).map(Some).map_err(audit_error)
    }

    fn chains(&self, visit: &mut dyn FnMut(Finding)) -> Result<()> {
        check::chains(&self.connection, visit).map_err(audit_error)
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
                let seen: Vec<u64> = audits.iter().map(|audit| audit.derived().unwrap().actions).collect();
                assert!(seen.iter().all(|count| *count == seen[0]), "{seen:?}");
                assert!(audits[0].connection.execute("DELETE FROM action", []).is_err());
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
