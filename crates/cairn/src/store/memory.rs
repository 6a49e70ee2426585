//! Working memory: events of sessions, the contents they name, briefs.

use cairn_core::Sha;

use super::{FoldRow, MemoryHead, ReadBody, Result, StoredBody, StoredFold, Visit};

/// Reads the working memory of sessions: events, the contents they name, briefs.
pub trait MemoryReader {
    /// How far a session's memory has come; none if it has none.
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>>;
    /// Visits the events of a session after one position of the log and up to another, in order.
    fn events(&self, session_id: &str, after: u64, to: u64, visit: Visit<'_>) -> Result<()>;
    /// The kept state of a session, if there is one up to a position of the log at most; false if there is none.
    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool>;
    /// Visits the event recorded under a key.
    fn event_by_key(&self, key: &str, visit: Visit<'_>) -> Result<()>;
    /// The content of a body.
    fn body(&self, digest: &Sha) -> Result<Option<ReadBody>>;
    /// Visits a stored brief.
    fn brief(&self, id: &str, visit: Visit<'_>) -> Result<()>;
    /// Visits stored briefs, of one session or of all, newest first.
    fn briefs(&self, session_id: Option<&str>, limit: u64, visit: Visit<'_>) -> Result<()>;
}

/// Adds events and briefs.
pub trait MemoryAppend {
    /// How far a session's memory has come; none if it has none.
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>>;
    /// Whether an event is recorded under a key.
    fn has_event_key(&mut self, key: &str) -> Result<bool>;
    /// Whether a body is stored, and still is `data`.
    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>>;
    /// The position of the redaction that took a body, if one did.
    fn body_redaction(&mut self, digest: &Sha) -> Result<Option<u64>>;
    /// The positions of the events whose bodies name a digest, in order.
    fn naming(&mut self, digest: &Sha) -> Result<Vec<u64>>;
    /// The number of a brief's session.
    fn brief_session(&mut self, id: &str) -> Result<Option<i64>>;
    /// Adds content that the event at `seq` is the first to name.
    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()>;
    /// Moves the head of a session's memory.
    fn set_memory(&mut self, head: &MemoryHead) -> Result<()>;
}

/// Reads events, contents and briefs as they are stored.
pub trait MemoryAudit {
    /// The positions of the events and briefs of a session, in order.
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()>;
    /// Visits the events of a session up to a position of the log, in order.
    fn events(&self, session_id: &str, to: u64, visit: Visit<'_>) -> Result<()>;
    /// Visits the kept states of sessions, as stored.
    fn folds(&self, visit: &mut dyn FnMut(StoredFold<'_>) -> Result<()>) -> Result<()>;
    /// The content of a digest, as stored; false if there is none.
    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(StoredBody<'_>)) -> Result<bool>;
    /// Where in the log the brief of that id is, and the number of its session.
    fn brief_place(&self, id: &str) -> Result<Option<(u64, i64)>>;
}
