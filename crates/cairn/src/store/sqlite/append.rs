//! Writing: one connection, immediate transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::log::Node;
use rusqlite::config::DbConfig;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::error::store_error;
use super::place::Place;
use super::{SqliteStore, context, fts5, memory, redact, review, thoughts, token, wait_for_turn};
use crate::store::{
    Append, BriefRow, ContextRow, EventRow, FoldRow, MemoryHead, Needs, ParentLink, Read, ReadContext,
    ReadThought, RedactionLeaf, ReviewRow, RoadmapHead, SessionHead, StoreError, StoreWriter, Target,
    TaskHead, ThoughtRow, TokenRow,
};

/// How long others are waited for before something is kept that can be done without.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long others are waited for before it is said that nothing can be written now.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

type Result<T> = std::result::Result<T, StoreError>;

impl SqliteStore {
    /// Opens the connection that writes.
    pub(super) fn open_writer(&self) -> Result<Box<dyn StoreWriter>> {
        let (connection, place) = (self.another_to_write()?, self.place.clone());
        // A backup is one file without a write-ahead log. Where somebody records in it, readers need one: they cannot take
        // back what an interrupted write leaves in the other kind of journal. While others read it, that has to wait.
        let _ = connection.pragma_update(None, "journal_mode", "WAL");
        Ok(Box::new(SqliteWriter { connection, place, wrote: self.wrote.clone() }))
    }
}

struct SqliteWriter {
    connection: Connection,
    place: Place,
    wrote: Arc<AtomicBool>,
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        let wrote = self.connection.total_changes() > 0;
        self.wrote.fetch_or(wrote, Ordering::Relaxed);
        // Nothing was written, so closing it must not fold what others have written.
        let _ = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wrote);
    }
}

impl StoreWriter for SqliteWriter {
    fn transaction(
        &mut self,
        _needs: &Needs,
        work: &mut dyn FnMut(&mut dyn Append) -> Result<()>,
    ) -> Result<()> {
        // Immediate: what is read inside must still be true when it is written.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store_error)?;
        // Dropped before the commit, which a statement still open would stop.
        let mut erased = false;
        let done = SqliteAppend::new(&transaction).map_err(store_error).and_then(|mut append| {
            let done = work(&mut append);
            erased = append.erased;
            done
        });
        // What is written where nobody finds it must not be acknowledged.
        let done = done.and_then(|()| self.place.check());
        let done = done.and_then(|()| transaction.commit().map_err(store_error));
        if erased {
            // Only what is erased on purpose is overwritten; for all else that would be work for nothing. If this does
            // not work, no more than that happens.
            let _ = redact::secure_delete(&self.connection, false);
        }
        done
    }

    fn probe(&mut self, commit: bool) -> Result<()> {
        self.place.check()?;
        let probed = self.connection.busy_timeout(PROBE_PATIENCE).and_then(|()| {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            if !commit {
                return transaction.rollback();
            }
            // There and back: a page is written only if something on it was changed.
            for by in [1, -1] {
                transaction.execute("UPDATE derived SET through = through + ?1", [by])?;
            }
            transaction.commit()
        });
        self.connection.busy_handler(Some(wait_for_turn)).and(probed).map_err(store_error)
    }

    fn catch_up(&mut self, rows: u64) -> Result<u64> {
        catch_up(&mut self.connection, rows).map_err(store_error)
    }

    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>) -> Result<()> {
        // Nobody needs it so much that a program should wait for others before it can end.
        let kept = self
            .connection
            .busy_timeout(PATIENCE)
            .and_then(|()| memory::keep_fold(&self.connection, session_id, fold));
        self.connection.busy_handler(Some(wait_for_turn)).and(kept).map_err(store_error)
    }

    fn clear_derived(&mut self) -> Result<()> {
        let clear = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // The index may be the damaged part, so it is made anew rather than asked to empty itself.
            transaction.execute("INSERT INTO search (search) VALUES ('delete-all')", [])?;
            transaction.execute("DELETE FROM action", [])?;
            transaction.execute("DELETE FROM fold", [])?;
            context::clear_nodes(&transaction)?;
            transaction.execute("UPDATE derived SET through = 0", [])?;
            fts5::note_parts(&transaction, &fts5::SEARCH)?;
            transaction.commit()
        };
        clear(&mut self.connection).map_err(store_error)
    }
}

/// Covers up to `rows` more entries; returns how many are left.
fn catch_up(connection: &mut Connection, rows: u64) -> rusqlite::Result<u64> {
    let behind = |connection: &Connection| -> rusqlite::Result<(u64, u64)> {
        connection
            .prepare_cached("SELECT through, (SELECT size FROM log) - 1 FROM derived")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let (through, newest) = behind(connection)?;
    if through >= newest {
        return Ok(0);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let (through, newest) = behind(&transaction)?;
    let to = newest.min(through + rows);
    // First the watermark: the search index reads its source through a view that stops there.
    transaction.prepare_cached("UPDATE derived SET through = ?1")?.execute([to])?;
    transaction
        .prepare_cached(
            "INSERT INTO search (rowid, content, metadata, scope)
             SELECT seq, content, metadata, scope FROM search_source WHERE seq > ?1",
        )?
        .execute([through])?;
    transaction
        .prepare_cached(
            "INSERT INTO action (action_id, seq)
             SELECT action_id, seq FROM thought WHERE seq > ?1 AND seq <= ?2 AND action_id IS NOT NULL",
        )?
        .execute([through, to])?;
    context::index_nodes(&transaction, through, to)?;
    fts5::note_parts(&transaction, &fts5::SEARCH)?;
    transaction.commit()?;
    Ok(newest - to)
}

struct SqliteAppend<'a> {
    transaction: &'a Transaction<'a>,
    /// What runs for every thought is looked up once a transaction.
    thought: CachedStatement<'a>,
    entry: CachedStatement<'a>,
    node: CachedStatement<'a>,
    /// Whether something was erased.
    erased: bool,
}

impl<'a> SqliteAppend<'a> {
    fn new(transaction: &'a Transaction<'a>) -> rusqlite::Result<SqliteAppend<'a>> {
        Ok(SqliteAppend {
            transaction,
            thought: transaction.prepare_cached(
                "INSERT INTO thought (seq, id, type, task_no, position, session_no, step_index, parent_seq, agent_id,
                   action_id, context_id, brief_id, timestamp, content, metadata, salt, idempotency_key, prev_hash,
                   hash, content_hash, chain_hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
                   ?21)",
            )?,
            entry: transaction.prepare_cached("INSERT INTO entry (seq, kind, leaf, hash) VALUES (?1, ?2, ?3, ?4)")?,
            node: transaction.prepare_cached("INSERT INTO node (level, idx, hash) VALUES (?1, ?2, ?3)")?,
            erased: false,
        })
    }

    fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map(|_| ())
            .map_err(store_error)
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, read).optional())
            .map_err(store_error)
    }

    fn node(&self, level: u8, index: u64) -> Result<Sha> {
        let hash = if level == 0 {
            self.one("SELECT hash FROM entry WHERE seq = ?1", [index], |row| row.get(0).map(Sha))?
        } else {
            self.one("SELECT hash FROM node WHERE level = ?1 AND idx = ?2", params![level, index], |row| {
                row.get(0).map(Sha)
            })?
        };
        hash.ok_or_else(|| StoreError::Damaged(format!("node {index} of level {level} is missing")))
    }
}

impl Append for SqliteAppend<'_> {
    fn head(&mut self) -> Result<(u64, Sha)> {
        self.one("SELECT size, root FROM log", [], |row| Ok((row.get(0)?, Sha(row.get(1)?))))?
            .ok_or_else(|| StoreError::Damaged("the log has no head".into()))
    }

    fn nodes(&mut self, places: &[(u8, u64)]) -> Result<Vec<Sha>> {
        places.iter().map(|(level, index)| self.node(*level, *index)).collect()
    }

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
        self.one("SELECT seq, session_no, chain_hash FROM thought WHERE id = ?1", [id], |row| {
            Ok(ParentLink { seq: row.get(0)?, session_no: row.get(1)?, chain_hash: Sha(row.get(2)?) })
        })
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        self.one("SELECT 1 FROM thought WHERE id = ?1", [id], |_| Ok(())).map(|found| found.is_some())
    }

    fn by_key(&mut self, key: &str) -> Result<Option<Read<ReadThought>>> {
        thoughts::one(self.transaction, "t.idempotency_key = ?1", key).map_err(store_error)
    }

    fn contexts(&mut self) -> Result<u64> {
        self.one("SELECT coalesce(max(id), 0) FROM context", [], |row| row.get(0))
            .map(Option::unwrap_or_default)
    }

    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>> {
        context::roadmap(self.transaction, name).map_err(store_error)
    }

    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<Read<ReadContext>>> {
        let newest = context::history(self.transaction, roadmap_id, None, 1).map_err(store_error)?;
        Ok(newest.into_iter().next())
    }

    fn snapshot(&mut self, hash: &Sha, data: &str) -> Result<Option<(i64, bool)>> {
        context::snapshot(self.transaction, hash, data).map_err(store_error)
    }

    fn add_roadmap(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO roadmap (name, length) VALUES (?1, 0)", [name])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn add_snapshot(&mut self, hash: &Sha, data: &str) -> Result<i64> {
        self.execute(
            "INSERT INTO snapshot (content_hash, data) VALUES (?1, ?2)",
            params![&hash.0[..], data],
        )?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn insert_context(&mut self, row: &ContextRow<'_>) -> Result<()> {
        context::insert(self.transaction, row).map_err(store_error)
    }

    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()> {
        self.execute("UPDATE roadmap SET length = ?2 WHERE no = ?1", params![head.no, head.length])
    }

    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        memory::head(self.transaction, session_id).map_err(store_error)
    }

    fn has_event_key(&mut self, key: &str) -> Result<bool> {
        memory::has_key(self.transaction, key).map_err(store_error)
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        memory::has_body(self.transaction, digest, data).map_err(store_error)
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        memory::brief_session(self.transaction, id).map_err(store_error)
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        memory::insert_event(self.transaction, row).map_err(store_error)
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        memory::insert_body(self.transaction, digest, seq, data).map_err(store_error)
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        memory::insert_brief(self.transaction, row).map_err(store_error)
    }

    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()> {
        review::insert(self.transaction, row).map_err(store_error)
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        memory::set_head(self.transaction, head).map_err(store_error)
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

    fn insert_entry(&mut self, seq: u64, kind: EntryKind, leaf: &[u8], hash: &Sha) -> Result<()> {
        self.entry.execute(params![seq, kind.as_str(), leaf, &hash.0[..]]).map(drop).map_err(store_error)
    }

    fn insert_node(&mut self, node: &Node) -> Result<()> {
        self.node.execute(params![node.level, node.index, &node.hash.0[..]]).map(drop).map_err(store_error)
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

    fn set_log(&mut self, size: u64, root: &Sha) -> Result<()> {
        self.execute("UPDATE log SET size = ?1, root = ?2", params![size, &root.0[..]])
    }

    fn is_keyed(&mut self) -> Result<bool> {
        // The second condition lets the small index be used.
        let sql =
            "SELECT 1 FROM entry WHERE kind = 'key' AND kind IN ('continuation', 'key', 'redaction') LIMIT 1";
        self.one(sql, [], |_| Ok(())).map(|found| found.is_some())
    }

    fn target(&mut self, id: &str) -> Result<Option<Target>> {
        redact::target(self.transaction, id).map_err(store_error)
    }

    fn leaf(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.one("SELECT leaf FROM entry WHERE seq = ?1", [seq], |row| row.get(0))
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        redact::redaction(self.transaction, target_seq).map_err(store_error)
    }

    fn insert_redaction(&mut self, seq: u64, target_seq: u64) -> Result<()> {
        self.execute("INSERT INTO redaction (seq, target_seq) VALUES (?1, ?2)", [seq, target_seq])
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.erased = true;
        redact::blank(self.transaction, target).map_err(store_error)
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        redact::seal_key(self.transaction, seq).map_err(store_error)
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES (?1, ?2)", params![seq, key])
    }

    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint (size, note) VALUES (?1, ?2)
             ON CONFLICT (size) DO UPDATE SET note = excluded.note
               WHERE length(excluded.note) > length(note) AND substr(excluded.note, 1, length(note)) = note",
            params![size, note],
        )
    }

    fn token(&mut self, id: &str) -> Result<Option<TokenRow>> {
        token::token(self.transaction, id).map_err(store_error)
    }

    fn insert_token(&mut self, row: &TokenRow) -> Result<()> {
        token::insert(self.transaction, row).map_err(store_error)
    }

    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()> {
        token::set_times(self.transaction, id, revoked_at, last_used_at).map_err(store_error)
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::time::Timestamp;

    use super::*;
    use crate::options::Durability;
    use crate::store::{Birth, Opening};

    /// A limit on pages makes SQLite report exactly what it reports when the disk is full.
    #[test]
    fn a_full_disk_is_said_in_words_and_undoes_the_whole_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let birth = Birth {
            origin: "cairn/test".into(),
            timestamp: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
        };
        let store =
            SqliteStore::open(folder.path().join("cairn.db"), Durability::Full, &Opening::Create(birth))
                .unwrap();
        let connection = store.connect_to_write().unwrap();
        let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
        let mut writer = SqliteWriter { connection, place: store.place.clone(), wrote: store.wrote.clone() };
        let mut fill = |tx: &mut dyn Append| {
            (0..1000).try_for_each(|i| tx.insert_entry(100 + i, EntryKind::Key, &[7; 1000], &Sha::ZERO))
        };
        assert_eq!(writer.transaction(&Needs::default(), &mut fill), Err(StoreError::DiskFull));
        let left: i64 =
            writer.connection.query_row("SELECT count(*) FROM entry", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 1, "only the first entry of the log");
        writer.connection.pragma_update(None, "max_page_count", pages + 1000).unwrap();
        assert_eq!(
            writer.transaction(&Needs::default(), &mut fill),
            Ok(()),
            "and with space again it goes on"
        );
    }
}
