//! Reading: each call on a connection of its own, beside the writer.

use std::path::Path;

use cairn_core::Sha;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, params};

use super::{SqliteStore, record};
use crate::store::{
    Audit, Counts, Durability, LogHead, LogReader, Progress, RecordReader, Result, Store, StoreError,
    StoreWriter, Visit,
};

/// Takes a stored text as one of our types; what does not fit was not written by us.
pub fn typed<T, E: std::error::Error + Send + Sync + 'static>(
    text: String,
    make: impl FnOnce(String) -> std::result::Result<T, E>,
) -> rusqlite::Result<T> {
    make(text).map_err(|error| FromSqlError::Other(Box::new(error)).into())
}

/// The same for a text that may be absent.
pub fn typed_or_none<T, E: std::error::Error + Send + Sync + 'static>(
    text: Option<String>,
    make: impl FnOnce(String) -> std::result::Result<T, E>,
) -> rusqlite::Result<Option<T>> {
    text.map(|text| typed(text, make)).transpose()
}

/// The stored hashes of the entries in a range of the log.
pub fn leaf_hashes(connection: &Connection, from: u64, to: u64) -> rusqlite::Result<Vec<Sha>> {
    connection
        .prepare_cached(&record::LEAF_HASHES)?
        .query_map([from, to], |row| row.get(1).map(Sha))?
        .collect()
}

/// The hashes of a tile, as far as there are.
pub fn tile(connection: &Connection, level: u8, index: u64) -> rusqlite::Result<Vec<Sha>> {
    let hashes: Option<Vec<u8>> = connection
        .prepare_cached("SELECT hashes FROM tile WHERE level = ?1 AND idx = ?2")?
        .query_row(params![level, index], |row| row.get(0))
        .optional()?;
    Ok(hashes.unwrap_or_default().as_chunks::<32>().0.iter().map(|hash| Sha(*hash)).collect())
}

impl LogReader for SqliteStore {
    fn head(&self) -> Result<LogHead> {
        self.read(|connection| {
            connection.prepare_cached("SELECT origin, size, root FROM log")?.query_row([], |row| {
                Ok(LogHead { origin: row.get(0)?, size: row.get(1)?, root: Sha(row.get(2)?) })
            })
        })
    }

    fn leaf_hashes(&self, from: u64, to: u64) -> Result<Vec<Sha>> {
        self.read(|connection| leaf_hashes(connection, from, to))
    }

    fn tile(&self, level: u8, index: u64) -> Result<Vec<Sha>> {
        self.read(|connection| tile(connection, level, index))
    }

    fn checkpoint(&self, at_most: u64) -> Result<Option<(u64, String)>> {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT size, note FROM checkpoint WHERE size <= ?1 ORDER BY size DESC LIMIT 1",
                )?
                .query_row([at_most], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
    }

    fn checkpoints(&self, limit: u64) -> Result<Vec<String>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            connection
                .prepare_cached("SELECT note FROM checkpoint ORDER BY size DESC LIMIT ?1")?
                .query_map([limit], |row| row.get(0))?
                .collect()
        })
    }
}

impl RecordReader for SqliteStore {
    fn records(&self, from: u64, to: u64, visit: Visit<'_>) -> Result<()> {
        self.read(|connection| record::records(connection, from, to, visit))
    }
}

impl Store for SqliteStore {
    fn writer(&self) -> Result<Box<dyn StoreWriter>> {
        self.open_writer()
    }

    fn place(&self) -> Option<&Path> {
        Some(self.path())
    }

    fn sync(&self) -> Result<()> {
        match self.durability {
            Durability::Full => Ok(()),
            Durability::Normal => self.sync_log(),
        }
    }

    fn counts(&self) -> Result<Counts> {
        self.read(|connection| {
            let schema = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            connection.query_row(
                // Lengths instead of rows: a page of the viewer asks for this, however many there are.
                "SELECT (SELECT coalesce(sum(length), 0) FROM session), (SELECT count(*) FROM task),
                   (SELECT count(*) FROM session),
                   (SELECT max(0, coalesce(sum(length), 0) - (SELECT count(*) FROM thought
                     WHERE seq > (SELECT through FROM derived))) FROM session),
                   (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),
                   (SELECT timestamp FROM thought ORDER BY seq DESC LIMIT 1), sqlite_version(),
                   (SELECT count(*) FROM roadmap), (SELECT count(*) FROM context),
                   (SELECT coalesce(sum(length), 0) FROM memory), (SELECT count(*) FROM brief)",
                [],
                |row| {
                    Ok(Counts {
                        schema,
                        thoughts: row.get(0)?,
                        tasks: row.get(1)?,
                        sessions: row.get(2)?,
                        indexed: row.get(3)?,
                        bytes: row.get(4)?,
                        newest: row.get(5)?,
                        engine: row.get::<_, String>(6).map(|version| format!("SQLite {version}"))?,
                        roadmaps: row.get(7)?,
                        contexts: row.get(8)?,
                        events: row.get(9)?,
                        briefs: row.get(10)?,
                    })
                },
            )
        })
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        self.read(|connection| {
            let mut target = Connection::open(to)?;
            let backup = Backup::new(connection, &mut target)?;
            loop {
                // One step of all pages would be the quickest, and show no progress.
                let step = backup.step(4096)?;
                let state = backup.progress();
                let done = state.pagecount - state.remaining;
                progress(Progress { done: done as u64, total: state.pagecount as u64, what: "pages" });
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    _ => std::thread::sleep(std::time::Duration::from_millis(5)),
                }
            }
            drop(backup);
            // A copy is one file: nothing of it may wait in a log beside it.
            target.pragma_update(None, "journal_mode", "DELETE")?;
            target.close().map_err(|(_, error)| error)
        })
    }

    fn audit(&self) -> Result<Box<dyn Audit>> {
        self.audits(1)?.pop().ok_or_else(|| StoreError::Other("no state was opened".into()))
    }

    fn audits(&self, count: usize) -> Result<Vec<Box<dyn Audit>>> {
        let audits = super::audit::begin_all(self, count)?;
        Ok(audits.into_iter().map(|audit| Box::new(audit) as Box<dyn Audit>).collect())
    }
}
