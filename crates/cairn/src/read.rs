//! Reading what was recorded.

use cairn_core::id::SessionId;
use cairn_core::thought::{Thought, ThoughtType};
use cairn_core::tree::Summary;
use serde::Serialize;

/// Which thoughts to list; everything that is given must match.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this task.
    pub task_id: Option<String>,
    /// Of this session.
    pub session_id: Option<String>,
    /// Of this type.
    pub kind: Option<ThoughtType>,
    /// By this author.
    pub agent_id: Option<String>,
    /// At most so many.
    pub limit: Option<u64>,
    /// After the page that gave this cursor. It is the position in the log of that page's last record, so
    /// any position will do.
    pub cursor: Option<String>,
}

/// A part of a listing, in the order of recording.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// The thoughts.
    pub records: Vec<Thought>,
    /// Where the next page starts, if there is more.
    pub next_cursor: Option<String>,
}

/// A thought that led to an action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionThought {
    /// The thought.
    #[serde(flatten)]
    pub thought: Summary,
    /// The session it belongs to.
    pub session_id: SessionId,
}
