//! What a transaction will ask for, told before it begins.

use cairn_core::Sha;
use cairn_core::id::ThoughtId;

/// One thing that will be asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Need {
    /// The head of a task.
    Task(String),
    /// The head of a session.
    Session(String),
    /// How far a session's memory has come.
    Memory(String),
    /// A possible parent.
    Parent(ThoughtId),
    /// Whether a thought was recorded under a key.
    Key(String),
    /// Whether an event was.
    EventKey(String),
    /// Whether a content is stored.
    Body(Sha),
    /// The session of a brief.
    Brief(String),
}

/// All that will be asked for. A store that is far away reads it in one go, when the end of the log is its own; another one
/// has no use for it.
#[derive(Debug, Default)]
pub struct Needs {
    /// The log as whoever asks remembers it: its size and root.
    pub known: Option<(u64, Sha)>,
    /// What is not remembered.
    pub unknown: Vec<Need>,
    /// What is remembered, and is asked for only if the log is another by now.
    pub remembered: Vec<Need>,
}
