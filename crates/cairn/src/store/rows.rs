//! What a store is given to write, and what it hands back.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::SessionId;
use cairn_core::thought::ThoughtType;
use cairn_core::time::Timestamp;

/// The newest link of a task chain.
#[derive(Debug, Clone, Copy)]
pub struct TaskHead {
    /// The task's number in this store.
    pub no: i64,
    /// Thoughts in the chain.
    pub length: u64,
    /// `hash` of the newest one.
    pub head: Sha,
}

/// How far a session has come.
#[derive(Debug, Clone, Copy)]
pub struct SessionHead {
    /// The session's number in this store.
    pub no: i64,
    /// Thoughts in the session.
    pub length: u64,
}

/// How many snapshots a roadmap has.
#[derive(Debug, Clone, Copy)]
pub struct RoadmapHead {
    /// The roadmap's number in this store.
    pub no: i64,
    /// Snapshots of it.
    pub length: u64,
}

/// How far the memory of a session has come.
#[derive(Debug, Clone, Copy)]
pub struct MemoryHead {
    /// The session's number in this store.
    pub session_no: i64,
    /// Events of it.
    pub length: u64,
    /// Position of the newest in the log; 0 if there is none.
    pub newest: u64,
    /// Position of the newest redaction in the log; 0 if there is none. States that were folded before it may hold texts
    /// that are gone.
    pub redaction: u64,
}

/// What a thought needs to know of another that it names: its parent, or one that it supersedes or rejects.
#[derive(Debug, Clone, Copy)]
pub struct ParentLink {
    /// Its position in the log.
    pub seq: u64,
    /// Its type.
    pub kind: ThoughtType,
    /// The number of its session.
    pub session_no: i64,
    /// Its link in the session tree.
    pub chain_hash: Sha,
}

/// The state of a session as it is kept beside the events it comes from.
#[derive(Debug, Clone, Copy)]
pub struct FoldRow<'a> {
    /// Position in the log of the last event that is part of it.
    pub seq: u64,
    /// The form of the state.
    pub v: u64,
    /// SHA-256 of all of this.
    pub sha256: &'a [u8],
    /// The state.
    pub state: &'a str,
}

/// What a redaction is about, with the texts it would erase.
#[derive(Debug, Clone)]
pub struct Target {
    /// The kind of its entry.
    pub kind: EntryKind,
    /// Position in the log.
    pub seq: u64,
    /// Its session; empty if it belongs to none.
    pub session_id: String,
    /// The content of a thought, the data of a brief or a snapshot, the text of a review.
    pub text: Option<String>,
    /// The metadata of a thought or a snapshot.
    pub metadata: Option<String>,
    /// The key of its content. What has one keeps its text, and loses the key.
    pub key: Option<Vec<u8>>,
}

/// A session in a listing.
#[derive(Debug, Clone)]
pub struct SessionCounts {
    /// Its label.
    pub session_id: SessionId,
    /// Thoughts.
    pub thoughts: u64,
    /// Events of its memory.
    pub events: u64,
    /// Position of its newest record in the log.
    pub newest: u64,
    /// When that was recorded.
    pub updated_at: Timestamp,
    /// When its oldest record was.
    pub began_at: Timestamp,
    /// The turn it is in.
    pub turn: u64,
}
