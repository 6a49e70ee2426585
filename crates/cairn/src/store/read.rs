//! Records as readers get them from a store: with what it takes to hash their log entries again.

use cairn_core::Sha;
use cairn_core::entry::Salt;
use cairn_core::id::{BriefId, RoadmapId, SessionId};
use cairn_core::thought::{Thought, ThoughtType};
use cairn_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// A stored record that is not shown: it does not match its log entry, or it is not the record that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Damage {
    /// Position in the log, where it is known.
    pub seq: Option<u64>,
    /// The place, and what is wrong there.
    pub message: String,
}

impl Damage {
    /// Damage to the record of one log entry.
    pub(crate) fn at(seq: u64, what: impl std::fmt::Display) -> Damage {
        Damage { seq: Some(seq), message: format!("log entry {seq} is damaged: {what}") }
    }

    /// Damage without a place in the log.
    pub(crate) fn new(message: impl Into<String>) -> Damage {
        Damage { seq: None, message: message.into() }
    }
}

/// A stored record, or why it cannot be read as one.
pub type Read<T> = std::result::Result<T, Damage>;

/// The stored hash and bytes of an entry that records a redaction.
#[derive(Debug, Clone)]
pub struct RedactionLeaf {
    /// Position in the log.
    pub seq: u64,
    /// The bytes.
    pub leaf: Vec<u8>,
    /// The hash stored beside them.
    pub hash: Vec<u8>,
}

/// The entries of a redacted record.
#[derive(Debug, Clone)]
pub struct Leaves {
    /// The bytes of the record's own entry.
    pub own: Vec<u8>,
    /// The entry of its redaction.
    pub redaction: RedactionLeaf,
}

/// A thought with everything its log entry is made of.
#[derive(Debug, Clone)]
pub struct ReadThought {
    /// The thought: its content as it is stored, no metadata, not marked as redacted.
    pub thought: Thought,
    /// Whether there is a content.
    pub has_content: bool,
    /// Position in its task.
    pub position: u64,
    /// Canonical JSON.
    pub metadata: Option<String>,
    /// The salt of the metadata's commitment.
    pub salt: Option<Salt>,
    /// The caller's key.
    pub idempotency_key: Option<String>,
    /// The stored hash of its log entry.
    pub entry_hash: Option<Sha>,
    /// Read where the content is sealed or not there; none without a redaction.
    pub leaves: Option<Leaves>,
}

/// Which thoughts [`super::ThoughtReader::thoughts`] visits.
#[derive(Debug, Clone)]
pub enum Thoughts<'a> {
    /// Those that match a filter, in log order.
    Listed(ListFilter<'a>),
    /// The one of that id.
    Id(&'a str),
    /// Those at these positions of the log, in the order of the list.
    At(&'a [u64]),
    /// The path from a root to the thought of that id.
    PathTo(&'a str),
    /// Those that led to an action, in log order. Only as current as the derived tables.
    Action(&'a str),
    /// The newest that name a snapshot, newest first.
    OnContext {
        /// The snapshot.
        context_id: u64,
        /// At most so many.
        limit: u64,
    },
    /// The newest decisions that name a snapshot whose content is not that of the newest, newest first.
    Drifted {
        /// Of this roadmap only.
        roadmap_id: Option<&'a str>,
        /// At most so many.
        limit: u64,
    },
}

/// Which thoughts to list.
#[derive(Debug, Clone, Default)]
pub struct ListFilter<'a> {
    /// Of this task.
    pub task_id: Option<&'a str>,
    /// Of this session.
    pub session_id: Option<&'a str>,
    /// Of this type.
    pub kind: Option<ThoughtType>,
    /// By this author.
    pub agent_id: Option<&'a str>,
    /// After this position in the log.
    pub after: Option<u64>,
    /// Up to this position in the log.
    pub to: Option<u64>,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextHead {
    /// Its number: 1, 2, 3 … in the order in which they were made.
    pub context_id: u64,
    /// The roadmap it is of.
    pub roadmap_id: RoadmapId,
    /// SHA-256 of its content.
    pub content_hash: Sha,
    /// Nodes in it.
    pub node_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whatever the caller wanted to keep with it.
    pub metadata: Option<Map<String, Value>>,
    /// Position in the log.
    pub seq: u64,
}

/// A snapshot's head with everything its log entry is made of.
#[derive(Debug, Clone)]
pub struct ReadContext {
    /// The head, without metadata.
    pub head: ContextHead,
    /// Position among the snapshots of its roadmap.
    pub position: u64,
    /// Bytes of its content.
    pub content_length: u64,
    /// Canonical JSON.
    pub metadata: Option<String>,
    /// The salt of the metadata's commitment.
    pub salt: Option<Salt>,
    /// The stored hash of its log entry.
    pub entry_hash: Option<Sha>,
}

/// An event of a session as it is read, without a copy of it.
#[derive(Debug, Clone, Copy)]
pub struct EventText<'a> {
    /// Position in the log.
    pub seq: u64,
    /// Its session.
    pub session_id: &'a str,
    /// Position among the events of its session.
    pub position: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// The kind of event.
    pub kind: &'a str,
    /// Version of the body.
    pub v: u64,
    /// When it was recorded.
    pub created_at: &'a str,
    /// Canonical JSON.
    pub body: &'a str,
    /// The caller's key.
    pub idempotency_key: Option<&'a str>,
    /// The stored hash of its log entry; empty if there is none.
    pub entry_hash: &'a [u8],
}

/// An event of a session as it is read.
#[derive(Debug, Clone)]
pub struct ReadEvent {
    /// Position in the log.
    pub seq: u64,
    /// Its session.
    pub session_id: SessionId,
    /// Position among the events of its session.
    pub position: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// The kind of event.
    pub kind: String,
    /// Version of the body.
    pub v: u64,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// Canonical JSON.
    pub body: String,
    /// The caller's key.
    pub idempotency_key: Option<String>,
    /// The stored hash of its log entry; empty if there is none.
    pub entry_hash: Vec<u8>,
}

impl ReadEvent {
    /// The same without a copy.
    pub fn text(&self) -> EventText<'_> {
        EventText {
            seq: self.seq,
            session_id: self.session_id.as_str(),
            position: self.position,
            turn: self.turn,
            kind: &self.kind,
            v: self.v,
            created_at: self.created_at.as_str(),
            body: &self.body,
            idempotency_key: self.idempotency_key.as_deref(),
            entry_hash: &self.entry_hash,
        }
    }
}

/// A stored brief with everything its log entry is made of.
#[derive(Debug, Clone)]
pub struct ReadBrief {
    /// Position in the log.
    pub seq: u64,
    /// Its id.
    pub id: BriefId,
    /// Its session.
    pub session_id: SessionId,
    /// The node it is for.
    pub node: String,
    /// The turn.
    pub turn: u64,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Its own hash.
    pub hash: Sha,
    /// Canonical JSON; none if it was redacted.
    pub data: Option<String>,
    /// The stored hash of its log entry.
    pub entry_hash: Option<Sha>,
    /// Read where there is no data; none without a redaction.
    pub leaves: Option<Leaves>,
}
