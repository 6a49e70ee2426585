//! The state of a store: the head of its log, its size, its replica, and the progress of long work.

use cairn_core::Sha;

/// The state of the log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogHead {
    /// The name of the log.
    pub origin: String,
    /// Entries in it.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
}

/// Counts and sizes of the content of a store.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Version of the schema.
    pub schema: i64,
    /// Thoughts.
    pub thoughts: u64,
    /// Tasks.
    pub tasks: u64,
    /// Sessions.
    pub sessions: u64,
    /// Roadmaps of which there are snapshots.
    pub roadmaps: u64,
    /// Snapshots.
    pub contexts: u64,
    /// Events of sessions.
    pub events: u64,
    /// Stored briefs.
    pub briefs: u64,
    /// Thoughts that the search index covers.
    pub indexed: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Timestamp of the newest thought.
    pub newest: Option<String>,
    /// The engine and its version.
    pub engine: String,
}

/// How a replica does that is read from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReplicaStatus {
    /// Where it is, without a password.
    pub address: String,
    /// How it stood when it was last needed.
    pub state: ReplicaState,
    /// Reads that it answered.
    pub reads: u64,
    /// Reads that went to the database itself because it could not.
    pub passed_over: u64,
}

/// Whether a replica can be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaState {
    /// It is.
    Used,
    /// It lacks entries that this process knows of.
    Behind,
    /// It does not answer.
    Unreachable,
    /// It holds another log.
    AnotherLog,
}

/// How far long work has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// So many are done.
    pub done: u64,
    /// Of so many.
    pub total: u64,
    /// The unit that is counted.
    pub what: &'static str,
}
