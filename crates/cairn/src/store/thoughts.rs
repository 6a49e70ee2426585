//! Thoughts, and the chains of tasks and sessions that they are links of.

use cairn_core::Sha;
use cairn_core::id::ThoughtId;
use cairn_core::thought::ThoughtType;

use super::{ChainOf, ParentLink, Result, SessionCounts, SessionHead, TaskHead, Thoughts, Visit};

/// Reads thoughts.
pub trait ThoughtReader {
    /// Visits thoughts until the visitor breaks off. A sealed content is handed back as it is stored.
    fn thoughts(&self, which: &Thoughts<'_>, visit: Visit<'_>) -> Result<()>;
    /// Up to `limit` ids that begin with `prefix`, in order.
    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>>;
}

/// Reads sessions: their lengths, their order, the shape of their trees.
pub trait SessionReader {
    /// How many thoughts a session or task has, by its head; none if there is no such label.
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>>;
    /// Whether a session or task is found by its label if there is one: no if the index of labels leads elsewhere, or
    /// nowhere.
    fn is_found_by_label(&self, of: ChainOf<'_>) -> Result<bool>;
    /// Where the newest thought of a session up to a position of the log is.
    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>>;
    /// Sessions whose newest record is before a position of the log, newest first.
    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>>;
    /// Visits the thoughts of a session from one step on and before another, in order: type and author.
    fn steps(
        &self,
        session_id: &str,
        from: u64,
        before: u64,
        visit: &mut dyn FnMut(ThoughtType, &str),
    ) -> Result<()>;
    /// Visits the thoughts of a session in order: their position in the log and that of the thought they follow from.
    fn shape(&self, session_id: &str, visit: &mut dyn FnMut(u64, Option<u64>)) -> Result<()>;
}

/// Adds thoughts, and moves the heads of their tasks and sessions.
pub trait ThoughtAppend {
    /// A task's head; none if the task is new.
    fn task(&mut self, name: &str) -> Result<Option<TaskHead>>;
    /// A session's head; none if the session is new.
    fn session(&mut self, name: &str) -> Result<Option<SessionHead>>;
    /// A possible parent.
    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>>;
    /// Whether a thought has that id.
    fn has_thought(&mut self, id: &str) -> Result<bool>;
    /// Visits the thought recorded under a key.
    fn by_key(&mut self, key: &str, visit: Visit<'_>) -> Result<()>;
    /// Adds a task of length 0 and returns its number.
    fn add_task(&mut self, name: &str) -> Result<i64>;
    /// Adds a session of length 0 and returns its number.
    fn add_session(&mut self, name: &str) -> Result<i64>;
    /// Moves a task's head.
    fn set_task(&mut self, head: &TaskHead) -> Result<()>;
    /// Moves a session's head.
    fn set_session(&mut self, head: &SessionHead) -> Result<()>;
}

/// Reads thoughts and their chains as they are stored.
pub trait ThoughtAudit {
    /// Where in the log the thought of that id is.
    fn thought_place(&self, id: &str) -> Result<Option<u64>>;
    /// Visits the thoughts of a session or task, in its order.
    fn chain(&self, of: ChainOf<'_>, visit: Visit<'_>) -> Result<()>;
    /// A thought by its position in the log: id, number of its session, its link in the session tree.
    fn parent(&self, seq: u64) -> Result<Option<(String, i64, Sha)>>;
    /// The `hash` at a position of a task chain.
    fn task_hash(&self, task_no: i64, position: u64) -> Result<Option<Sha>>;
    /// The stored length of a session or task; none if there is no such label.
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>>;
}
