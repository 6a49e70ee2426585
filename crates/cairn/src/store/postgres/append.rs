//! What a transaction reads and writes.

use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::log::Edge;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Result;
use super::batch::Batch;
use super::connect::{Link, Query, answered, in_time};
use super::needs::Found;
use super::transaction::{Head, begin, ready, send};
use super::wait::wait;
use crate::store::{LogAppend, Needs, StoreError};

/// The most bytes of text in one transaction, more or less: others wait for it, and a message has at most a gigabyte.
const MAX_BYTES: usize = 16 << 20;

/// A transaction under way. What is written waits, and is sent at the end.
pub struct PostgresAppend {
    pub link: Link,
    pub runtime: Arc<Runtime>,
    pub head: Head,
    pub found: Found,
    pub batch: Batch,
    /// The first entry of the transaction: where, and its hash.
    pub first: Option<(u64, Sha)>,
    /// Bytes of text that were written.
    pub bytes: usize,
    /// Whether the log's head is locked. If it is not, what is asked for was read before, and nothing is sent to the server
    /// but one statement at the end.
    pub is_locked: bool,
}

impl PostgresAppend {
    /// Locks the log's head, if it is not yet; it must still be where it was.
    pub fn lock(&mut self) -> Result<()> {
        if self.is_locked {
            return Ok(());
        }
        self.is_locked = true;
        let (head, _) = wait(&self.runtime, in_time(begin(&self.link, &Needs::default())))?;
        if head.place() != self.head.place() {
            return Err(StoreError::NotWritten);
        }
        self.head.fence = head.fence;
        Ok(())
    }

    pub fn wait<T>(&mut self, work: impl AsyncFnOnce(&Link) -> Result<T>) -> Result<T> {
        self.lock()?;
        wait(&self.runtime, work(&self.link))
    }

    /// Writes what waits, so that it can be read.
    pub fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.wait(async |link| answered(send(link, ready(link, &batch).await?, false)).await).map(drop)
    }

    pub fn one(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        self.wait(async |link| link.one(sql, values).await)
    }

    /// Sends queries at once, and returns the rows of each.
    pub fn several(&mut self, queries: &[Query<'_>]) -> Result<Vec<Vec<Row>>> {
        self.wait(async |link| link.several(queries).await)
    }

    pub fn execute(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        self.wait(async |link| link.run(sql, values).await).map(drop)
    }
}

impl LogAppend for PostgresAppend {
    fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    fn edge(&mut self) -> Result<Edge> {
        Ok(self.head.edge.clone())
    }

    fn is_keyed(&mut self) -> Result<bool> {
        if self.batch.has_statements() {
            self.flush()?;
        }
        self.one("SELECT 1 FROM entry WHERE kind = 'key' LIMIT 1", &[]).map(|found| found.is_some())
    }

    fn set_log(&mut self, edge: &Edge) -> Result<()> {
        self.batch.log(&self.head, edge);
        Ok(())
    }

    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint (size, note) VALUES ($1, $2)
             ON CONFLICT (size) DO UPDATE SET note = excluded.note
               WHERE length(excluded.note) > length(checkpoint.note) AND starts_with(excluded.note, checkpoint.note)",
            &[&(size as i64), &note],
        )
    }
}
