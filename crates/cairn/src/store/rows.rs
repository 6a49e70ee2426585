//! What a store is given to write, and what it hands back.

use cairn_core::Sha;
use cairn_core::entry::{EntryKind, Salt};
use cairn_core::id::SessionId;
use cairn_core::thought::{Source, ThoughtType};
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

/// A thought as it is written.
pub struct ThoughtRow<'a> {
    /// Position in the log.
    pub seq: u64,
    /// The thought's id.
    pub id: &'a str,
    /// The word for its type.
    pub kind: &'a str,
    /// Number of its task.
    pub task_no: i64,
    /// Position in the task chain.
    pub position: u64,
    /// Number of its session.
    pub session_no: i64,
    /// Position in the session.
    pub step_index: u64,
    /// Position of its parent in the log.
    pub parent_seq: Option<u64>,
    /// Who thought it.
    pub agent_id: &'a str,
    /// The action it led to.
    pub action_id: Option<&'a str>,
    /// The plan snapshot it was based on.
    pub context_id: Option<u64>,
    /// The brief it was based on.
    pub brief_id: Option<&'a str>,
    /// The decisions that it replaces or withdraws, as [`cairn_core::entry::to_column`] writes them.
    pub supersedes: Option<String>,
    /// The thoughts that it turned down, written likewise.
    pub rejects: Option<String>,
    /// What it is about, written likewise.
    pub applies_to: Option<String>,
    /// How it came to be recorded.
    pub source: Source,
    /// When it was recorded.
    pub timestamp: &'a str,
    /// The text; none if it was redacted where it was recorded.
    pub content: Option<&'a str>,
    /// Canonical JSON.
    pub metadata: Option<&'a str>,
    /// The salt of the metadata's commitment.
    pub salt: Option<&'a Salt>,
    /// The caller's key.
    pub idempotency_key: Option<&'a str>,
    /// The `hash` before it in the task chain.
    pub prev_hash: Sha,
    /// The link of the task chain.
    pub hash: Sha,
    /// SHA-256 of the content.
    pub content_hash: Sha,
    /// The link of the session tree.
    pub chain_hash: Sha,
}

/// A snapshot as it is written; its content is kept apart, once.
pub struct ContextRow<'a> {
    /// Its number.
    pub id: u64,
    /// Position in the log.
    pub seq: u64,
    /// Number of its roadmap.
    pub roadmap_no: i64,
    /// Position among the snapshots of its roadmap.
    pub position: u64,
    /// Number of its content.
    pub snapshot_no: i64,
    /// Nodes in it.
    pub node_count: u64,
    /// When it was made.
    pub created_at: &'a str,
    /// Canonical JSON.
    pub metadata: Option<&'a str>,
    /// The salt of the metadata's commitment.
    pub salt: Option<&'a Salt>,
}

/// An event of a session as it is written.
pub struct EventRow<'a> {
    /// Position in the log.
    pub seq: u64,
    /// Number of its session.
    pub session_no: i64,
    /// Position among the events of its session.
    pub position: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// What happened.
    pub kind: &'a str,
    /// Version of the body.
    pub v: u64,
    /// When it was recorded.
    pub created_at: &'a str,
    /// Canonical JSON.
    pub body: &'a str,
    /// The caller's key.
    pub idempotency_key: Option<&'a str>,
}

/// A brief as it is written.
pub struct BriefRow<'a> {
    /// Position in the log.
    pub seq: u64,
    /// Its id.
    pub id: &'a str,
    /// Number of its session.
    pub session_no: i64,
    /// For which node.
    pub node: &'a str,
    /// The turn it is for.
    pub turn: u64,
    /// When it was stored.
    pub created_at: &'a str,
    /// Its own hash.
    pub hash: Sha,
    /// Canonical JSON; none if it was redacted where it was stored.
    pub data: Option<&'a str>,
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
    /// Its session.
    pub session_id: String,
    /// The content of a thought, the data of a brief.
    pub text: Option<String>,
    /// The metadata of a thought.
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
