//! Tables that are derived from the records: keeping them up to date, and checking them.

use std::hash::{BuildHasher, RandomState};

use super::{Finding, FoldRow, Result};

/// Keeps the derived tables: the search index, the list of actions, the states of sessions.
pub trait DerivedWriter {
    /// Brings the derived tables up to date with at most `rows` more entries; returns how many are left.
    fn catch_up(&mut self, rows: u64) -> Result<u64>;
    /// Keeps the state of a session in place of an older one, if its last event is one of that session. Does not wait
    /// long for other writers. Keeps nothing if an event of the session was redacted after the redaction at
    /// position `redaction`: the state may hold a text that is gone.
    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>, redaction: u64) -> Result<()>;
    /// Empties the derived tables, so that [`DerivedWriter::catch_up`] builds them anew. Kept states come back with time.
    fn clear_derived(&mut self) -> Result<()>;
}

/// How far the derived tables reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// The last entry that the search index, the actions and the documents of nodes cover.
    pub through: i64,
    /// The last entry that the tiles and the tables of chains cover.
    pub chained: i64,
    /// How many actions are listed.
    pub actions: u64,
}

impl Default for Derived {
    fn default() -> Derived {
        Derived { through: -1, chained: -1, actions: 0 }
    }
}

/// Turns rows into numbers that nobody can foresee.
pub type ChainKey = RandomState;

/// Sums over the thoughts of all tasks, and of all sessions. Each thought counts as a number under a key that every
/// verification draws anew, so other rows have the same sum with a chance of one in 2⁶⁴.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ChainSums {
    tasks: u64,
    sessions: u64,
}

impl ChainSums {
    /// Adds the thought at entry `seq` to those of its task.
    pub fn add_to_task(&mut self, key: &ChainKey, task_no: i64, position: i64, seq: i64) {
        self.tasks = self.tasks.wrapping_add(key.hash_one((task_no, position, seq)));
    }

    /// Adds the thought at entry `seq` to those of its session.
    pub fn add_to_session(&mut self, key: &ChainKey, session_no: i64, step_index: i64, seq: i64) {
        self.sessions = self.sessions.wrapping_add(key.hash_one((session_no, step_index, seq)));
    }

    /// Adds what another part of the log adds up to.
    pub fn add(&mut self, other: ChainSums) {
        self.tasks = self.tasks.wrapping_add(other.tasks);
        self.sessions = self.sessions.wrapping_add(other.sessions);
    }
}

/// Checks the tables and indexes that are derived from the records.
pub trait IndexAudit {
    /// How far the derived tables reach, as stored.
    fn derived(&self) -> Result<Derived>;
    /// Sums over the tables of the thoughts of each task and session; none where indexes take their place.
    fn chain_sums(&self, key: &ChainKey) -> Result<Option<ChainSums>>;
    /// Finds each difference between those tables and the thoughts that they cover.
    fn chains(&self, visit: &mut dyn FnMut(Finding)) -> Result<()>;
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
