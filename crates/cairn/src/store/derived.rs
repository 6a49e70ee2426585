//! Tables that are derived from the records: keeping them up to date, and checking them.

use super::{Finding, FoldRow, Result};

/// Keeps the derived tables: the search index, the list of actions, the states of sessions.
pub trait DerivedWriter {
    /// Brings the derived tables up to date with at most `rows` more entries; returns how many are left.
    fn catch_up(&mut self, rows: u64) -> Result<u64>;
    /// Keeps the state of a session in place of an older one, if its last event is one of that session. Does not wait
    /// long for other writers.
    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>) -> Result<()>;
    /// Empties the derived tables, so that [`DerivedWriter::catch_up`] builds them anew. Kept states come back with time.
    fn clear_derived(&mut self) -> Result<()>;
}

/// Checks the tables and indexes that are derived from the records.
pub trait IndexAudit {
    /// The last entry that the derived tables cover, as stored, and how many actions they list.
    fn derived(&self) -> Result<(i64, u64)>;
    /// Whether the derived list of actions names this thought.
    fn action_is_listed(&self, action_id: &str, seq: u64) -> Result<bool>;
    /// Whether the heads of tasks, sessions and roadmaps agree with the rows, the schema with this program's, and
    /// the documents of nodes with the snapshots.
    fn heads_schema_and_documents(&self, visit: &mut dyn FnMut(Finding)) -> Result<()>;
    /// Whether the database's own structures are sound: every b-tree, and every index beside the table it covers.
    /// Returns notes on those that could not be checked.
    fn structures(&self, visit: &mut dyn FnMut(Finding)) -> Result<Vec<String>>;
    /// Whether the search indexes agree with the rows they cover.
    fn search_index(&self, visit: &mut dyn FnMut(Finding)) -> Result<()>;
}
