//! Writing: one connection, immediate transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairn_core::Sha;
use cairn_core::log::Edge;
use rusqlite::config::DbConfig;
use rusqlite::{
    CachedStatement, Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};

use super::error::store_error;
use super::place::Place;
use super::{SqliteStore, chains, derived, record, redact, wait_for_turn};
use crate::store::{Append, LogAppend, Needs, Result, StoreError, StoreWriter};

/// How long others are waited for before it is said that nothing can be written now.
const PROBE_PATIENCE: Duration = Duration::from_secs(2);

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

pub struct SqliteWriter {
    pub connection: Connection,
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
}

/// A transaction under way.
pub struct SqliteAppend<'a> {
    pub transaction: &'a Transaction<'a>,
    /// What runs for every thought is looked up once a transaction.
    pub thought: CachedStatement<'a>,
    /// The last entry that the tables of chains cover, once it was read.
    chained: Option<u64>,
    /// Whether something was erased.
    pub erased: bool,
}

impl<'a> SqliteAppend<'a> {
    fn new(transaction: &'a Transaction<'a>) -> rusqlite::Result<SqliteAppend<'a>> {
        let thought = record::insert_thought(transaction)?;
        Ok(SqliteAppend { transaction, thought, chained: None, erased: false })
    }

    pub fn execute(&self, sql: &str, values: impl rusqlite::Params) -> Result<()> {
        self.transaction
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map(|_| ())
            .map_err(store_error)
    }

    pub fn one<T>(
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
}

impl LogAppend for SqliteAppend<'_> {
    fn edge(&mut self) -> Result<Edge> {
        let edge = |row: &Row<'_>| {
            let edge = Edge::from_bytes(row.get(0)?, row.get_ref(1)?.as_blob()?);
            let root = Sha(row.get(2)?);
            let chained: Option<i64> = row.get(3)?;
            Ok(edge.filter(|edge| edge.root() == root).map(|edge| (edge, chained)))
        };
        let (edge, chained) = self
            .one("SELECT size, edge, root, (SELECT chained FROM derived) FROM log", [], edge)?
            .flatten()
            .ok_or_else(|| StoreError::Damaged("the head of the log cannot be read".into()))?;
        self.chained = chained.and_then(|chained| u64::try_from(chained).ok());
        Ok(edge)
    }

    fn is_keyed(&mut self) -> Result<bool> {
        self.one("SELECT 1 FROM entry WHERE kind = 'key' LIMIT 1", [], |_| Ok(()))
            .map(|found| found.is_some())
    }

    fn set_log(&mut self, edge: &Edge) -> Result<()> {
        self.execute(
            "UPDATE log SET size = ?1, root = ?2, edge = ?3",
            params![edge.size(), &edge.root().0[..], edge.to_bytes()],
        )?;
        let newest = edge.size().saturating_sub(1);
        match self.chained {
            Some(chained) if newest > chained.saturating_add(chains::MOST_UNCOVERED) => {
                derived::cover_chains(self.transaction, chained, newest, chains::AT_A_TIME)
                    .map_err(store_error)?;
                self.chained = None;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint (size, note) VALUES (?1, ?2)
             ON CONFLICT (size) DO UPDATE SET note = excluded.note
               WHERE length(excluded.note) > length(note) AND substr(excluded.note, 1, length(note)) = note",
            params![size, note],
        )
    }
}

#[cfg(test)]
mod tests {
    use cairn_core::entry::{Entry, Genesis, Parts, Record};
    use cairn_core::time::Timestamp;

    use super::*;
    use crate::store::{Birth, Durability, Keys, Opening};

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
            (0..1000).try_for_each(|i| {
                let entry = Entry::Genesis(Genesis {
                    seq: 100 + i,
                    origin: "x".repeat(1000).into(),
                    timestamp: "".into(),
                });
                let record = Record { entry, parts: Parts::default() };
                tx.insert(&record, &Keys::default(), &Sha::ZERO)
            })
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
