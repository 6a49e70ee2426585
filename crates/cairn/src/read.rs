//! Reading what was recorded.

use cairn_core::id::SessionId;
use cairn_core::thought::{Thought, ThoughtType};
use cairn_core::tree::Summary;
use serde::Serialize;

use crate::store::{Damage, Read};

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
    /// Thoughts that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// Where the next page starts, if there is more.
    pub next_cursor: Option<String>,
}

/// The end of a page, after its thoughts.
#[derive(Debug, Clone, Serialize)]
pub struct PageEnd {
    /// Thoughts that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
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

/// Records in order, and those that belong here and cannot be shown, because they do not match the log.
///
/// It can be read like a slice of the sound records.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listing<T> {
    /// The sound records.
    pub records: Vec<T>,
    /// The others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
}

impl<T> Default for Listing<T> {
    fn default() -> Listing<T> {
        Listing { records: Vec::new(), damaged: Vec::new() }
    }
}

impl<T> std::ops::Deref for Listing<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.records
    }
}

impl<T> Listing<T> {
    pub(crate) fn add(&mut self, read: Read<T>) {
        match read {
            Ok(record) => self.records.push(record),
            Err(damage) => self.damaged.push(damage),
        }
    }

    /// The same with other records made of these.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Listing<U> {
        Listing { records: self.records.into_iter().map(make).collect(), damaged: self.damaged }
    }
}
