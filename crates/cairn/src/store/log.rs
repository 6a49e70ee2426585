//! The log: entries, the tree over them, checkpoints.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::log::Edge;

use super::{LogHead, Result, Totals};

/// Reads the log itself.
pub trait LogReader {
    /// The log's head.
    fn head(&self) -> Result<LogHead>;
    /// The stored hashes of the entries in a range of the log, in order, without those that are missing.
    fn leaf_hashes(&self, from: u64, to: u64) -> Result<Vec<Sha>>;
    /// The hashes of a tile of the tree, as far as there are.
    fn tile(&self, level: u8, index: u64) -> Result<Vec<Sha>>;
    /// The note of the newest checkpoint of at most that size.
    fn checkpoint(&self, at_most: u64) -> Result<Option<(u64, String)>>;
    /// The notes of the newest `limit` checkpoints, newest first.
    fn checkpoints(&self, limit: u64) -> Result<Vec<String>>;
}

/// Extends the log.
pub trait LogAppend {
    /// Whether so much was written that what follows had better be another transaction.
    fn is_full(&self) -> bool {
        false
    }
    /// The right edge of the tree over the log.
    fn edge(&mut self) -> Result<Edge>;
    /// Whether any entry of the log is about keys.
    fn is_keyed(&mut self) -> Result<bool>;
    /// Moves the log's head.
    fn set_log(&mut self, edge: &Edge) -> Result<()>;
    /// Adds a checkpoint, or signatures to the one of that size.
    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()>;
}

/// Reads the log as it is stored.
pub trait LogAudit {
    /// The log's head, as stored.
    fn head(&self) -> Result<LogHead>;
    /// The edge of the tree, as stored.
    fn edge(&self) -> Result<Vec<u8>>;
    /// The stored hashes of the entries in a range of the log, in order: where, and the hash.
    fn leaf_hashes(&self, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()>;
    /// The hashes of a tile of the tree, as stored; none if there is no such row.
    fn tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>>;
    /// The position of the newest entry that is there.
    fn newest(&self) -> Result<Option<u64>>;
    /// How many rows there are.
    fn totals(&self) -> Result<Totals>;
    /// The sizes and notes of checkpoints, as stored, in order.
    fn checkpoints(&self, visit: &mut dyn FnMut(i64, &str)) -> Result<()>;
    /// The entries of one kind among those that are stored as their bytes, in order: where, and the bytes.
    fn statements(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()>;
}
