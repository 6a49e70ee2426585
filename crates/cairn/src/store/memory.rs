//! Working memory: events of sessions, the contents they name, briefs.

use cairn_core::Sha;

use super::{
    BriefRow, EventRow, EventText, FoldRow, MemoryHead, Read, ReadBrief, ReadEvent, Result, StoredBrief,
    StoredEvent, StoredFold,
};

/// Reads the working memory of sessions: events, the contents they name, briefs.
pub trait MemoryReader {
    /// How far a session's memory has come; none if it has none.
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>>;
    /// Visits the events of a session after one position of the log and up to another, in order, until the
    /// visitor says no.
    fn events(
        &self,
        session_id: &str,
        after: u64,
        to: u64,
        visit: &mut dyn FnMut(EventText<'_>) -> bool,
    ) -> Result<()>;
    /// The kept state of a session, if there is one up to a position of the log at most; false if there is none.
    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool>;
    /// The event recorded under a key.
    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>>;
    /// The content of a body.
    fn body(&self, digest: &Sha) -> Result<Option<String>>;
    /// A stored brief.
    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>>;
    /// Stored briefs, of one session or of all, newest first.
    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>>;
}

/// Adds events and briefs.
pub trait MemoryAppend {
    /// How far a session's memory has come; none if it has none.
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>>;
    /// Whether an event is recorded under a key.
    fn has_event_key(&mut self, key: &str) -> Result<bool>;
    /// Whether a body is stored, and still is `data`.
    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>>;
    /// The number of a brief's session.
    fn brief_session(&mut self, id: &str) -> Result<Option<i64>>;
    /// Adds an event.
    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()>;
    /// Adds content that the event at `seq` is the first to name.
    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()>;
    /// Adds a brief.
    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()>;
    /// Moves the head of a session's memory.
    fn set_memory(&mut self, head: &MemoryHead) -> Result<()>;
}

/// Reads events, contents and briefs as they are stored.
pub trait MemoryAudit {
    /// The positions of the events and briefs of a session, in order.
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()>;
    /// The event of an entry, as stored; false if there is none.
    fn event(&self, seq: u64, visit: &mut dyn FnMut(StoredEvent<'_>)) -> Result<bool>;
    /// Visits the events of a session up to a position of the log, in order, until the visitor says no.
    fn events(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(EventText<'_>) -> bool) -> Result<()>;
    /// Visits the kept states of sessions, as stored.
    fn folds(&self, visit: &mut dyn FnMut(StoredFold<'_>) -> Result<()>) -> Result<()>;
    /// The content of a digest: the first event that names it, and the content, as stored.
    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(i64, Option<&str>)) -> Result<bool>;
    /// The brief of an entry, as stored; false if there is none.
    fn brief(&self, seq: u64, visit: &mut dyn FnMut(StoredBrief<'_>)) -> Result<bool>;
    /// Where in the log the brief of that id is, and the number of its session.
    fn brief_place(&self, id: &str) -> Result<Option<(u64, i64)>>;
}
