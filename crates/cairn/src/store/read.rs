//! The questions that readers ask a store, and damage as they are told of it.

use cairn_core::Sha;
use cairn_core::id::RoadmapId;
use cairn_core::redaction::Redaction;
use cairn_core::thought::ThoughtType;
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

/// Which snapshots [`super::PlanReader::contexts`] visits.
#[derive(Debug, Clone, Copy)]
pub enum Contexts<'a> {
    /// The one of that number.
    Id(u64),
    /// The newest of a roadmap, newest first.
    History {
        /// The roadmap.
        roadmap_id: &'a str,
        /// Before the one of this number.
        before: Option<u64>,
        /// At most so many.
        limit: u64,
    },
    /// The newest of every roadmap, or of one.
    Current(Option<&'a str>),
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
    /// Who took its content, when and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
    /// Position in the log.
    pub seq: u64,
}

/// Content of an entity as it is read.
#[derive(Debug, Clone)]
pub enum ReadBody {
    /// The content.
    Data(String),
    /// It is gone; with the entry of the redaction that it names.
    Gone(Option<RedactionLeaf>),
}
