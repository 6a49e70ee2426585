//! Where records are kept.
//!
//! A store keeps rows and hands them back; it computes no hash of a record and decides no policy. The
//! contract that every store must keep:
//!
//! - [`StoreWriter::transaction`] is all or nothing, and durable (by the chosen [`crate::Durability`]) when
//!   it returns. What it saw inside is not changed by any other writer, in this process or another, until
//!   it ends.
//! - Readers see whole transactions only, and never wait for a writer.
//! - An id, an idempotency key, a (task, position) and a (session, step) exist once; a second one is
//!   [`StoreError::Taken`], and the transaction can go on after it.

mod needs;
pub(crate) mod postgres;
mod read;
mod review;
mod rows;
pub(crate) mod sqlite;
mod stored;
mod words;

use std::ops::ControlFlow;
use std::path::Path;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::{BriefId, ThoughtId};
use cairn_core::log::Node;
use cairn_core::thought::ThoughtType;

use crate::context::NodeHit;
use crate::redact::Pieces;
use crate::search::Terms;
use crate::token::TokenInfo;
use crate::verify::{Finding, Progress};

pub use needs::{Need, Needs};
pub use read::{
    Damage, EventText, FoundThought, Leaves, ListFilter, Read, ReadBrief, ReadContext, ReadEvent,
    ReadThought, RedactionLeaf, Thoughts,
};
pub use review::{ReviewRow, StoredReview};
pub use rows::{
    Birth, BriefRow, ContextRow, EventRow, FoldRow, MemoryHead, ParentLink, RoadmapHead, SessionCounts,
    SessionHead, Swept, Target, TaskHead, ThoughtRow, TokenRow,
};
pub use stored::{
    ChainOf, Scanned, StoredBrief, StoredContext, StoredEntry, StoredEvent, StoredFold, StoredThought, Totals,
};

/// What a database could not do, in words a user can act on: no paths, no SQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Other processes held the database for too long.
    #[error("the database is busy: another process is writing; try again")]
    Busy,
    /// No space left.
    #[error("the disk is full: nothing was written; free some space and try again")]
    DiskFull,
    /// The file or its folder cannot be written.
    #[error(
        "the database is read-only: nothing was written; check the permissions of the file and its folder"
    )]
    ReadOnly,
    /// The server is not one that can keep a log.
    #[error("the database server cannot be used: {0}")]
    Unsuitable(String),
    /// Another file is where the database was when it was opened, or none.
    #[error(
        "the database file was moved, removed or replaced while it was open, so it is neither read nor written any \
         more; start the program again"
    )]
    Moved,
    /// The clock of this machine cannot be right.
    #[error(
        "the clock of this machine says {0}, and a record must have a time from 1970 to 9999; nothing was written; set \
         the clock and try again"
    )]
    Clock(String),
    /// The caller gave up the work.
    #[error("given up: nobody waits for the answer any more")]
    GivenUp,
    /// Something that must be unique is there already.
    #[error("`{0}` is taken")]
    Taken(&'static str),
    /// The file is not sound.
    #[error("the database is damaged ({0}); run `cairn verify` to see where, and restore a backup")]
    Damaged(String),
    /// The server does not answer.
    #[error("the database server cannot be reached; nothing was written; check that it runs, then try again")]
    Unreachable,
    /// The connection ended before anything was written.
    #[error("the connection to the database was lost; nothing was written; try again")]
    Lost,
    /// The connection ended in the middle, and nothing was written.
    #[error("the connection to the database was lost and nothing was written; try again")]
    NotWritten,
    /// The connection ended in the middle, and the server did not come back to say what became of it.
    #[error(
        "the connection to the database was lost, and it is not known whether this was written; look before trying \
         again, or send an idempotency_key, which makes that safe"
    )]
    Unknown,
    /// A server had too much to do, or others were before us, for as long as a call waits.
    #[error("{what} for {seconds} s; nothing was written; try again after a pause")]
    Overloaded {
        /// Who or what was waited for.
        what: &'static str,
        /// How long.
        seconds: u64,
    },
    /// Of the servers that answer none takes writes.
    #[error(
        "no database server takes writes now; nothing was written; try again after a pause, or have a standby promoted"
    )]
    NoPrimary,
    /// The server does not let this user in.
    #[error(
        "the database server does not admit this user; check the user and the server's pg_hba.conf, which may ask for an \
         encrypted connection (sslmode=require)"
    )]
    NotAdmitted,
    /// The server wants a password, and there is none.
    #[error("the database server asks for a password, and none was given")]
    NoPassword,
    /// The server does not take this password of this user.
    #[error("the database server does not take this user with this password; check both")]
    WrongPassword,
    /// The connection could not be encrypted as it must be.
    #[error("no encrypted connection to the database server: {0}")]
    NotEncrypted(String),
    /// The role may not do this.
    #[error(
        "the database refuses this to the role that is used; see docs/storage.md for what it must be allowed"
    )]
    NotAllowed,
    /// The writer has ended, by an earlier failure or because the handle was closed.
    #[error("the recorder has stopped; open the database again")]
    Stopped,
    /// Anything else.
    #[error("the database reported: {0}")]
    Other(String),
}

impl StoreError {
    /// Whether nothing was written, and the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            StoreError::Busy
                | StoreError::Overloaded { .. }
                | StoreError::Unreachable
                | StoreError::NoPrimary
                | StoreError::Lost
                | StoreError::NotWritten
        )
    }
}

type Result<T> = std::result::Result<T, StoreError>;

/// The state of the log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogHead {
    /// The name of the log.
    pub origin: String,
    /// Entries in it.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
}

/// How a database is opened.
pub enum Opening {
    /// Nothing: it must be there, and up to date.
    Read,
    /// It must be there, and is brought up to date.
    Write,
    /// It is made if there is none, and brought up to date.
    Create(Birth),
}

/// A database that can be opened for reading by many and for writing by one at a time.
pub trait Store: Send + Sync {
    /// Opens the one writer of this process.
    fn writer(&self) -> Result<Box<dyn StoreWriter>>;
    /// The log's head.
    fn head(&self) -> Result<LogHead>;
    /// Visits thoughts until the visitor breaks off. A sealed content is handed back as it is stored.
    fn thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
    ) -> Result<()>;
    /// How many thoughts a session or task has, by its head; none if there is no such label.
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>>;
    /// The key of a sealed content, by the thought's position in the log.
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// The entry that records the redaction of the record at a position of the log.
    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>>;
    /// Up to `limit` stored briefs of a session whose data contains `text`, oldest first.
    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>>;
    /// Empties what waits beside the database, looks for pieces of an erased text, and makes the file anew if they
    /// still stand where no record is.
    fn sweep(&self, pieces: &Pieces) -> Result<Swept>;
    /// Up to `limit` ids that begin with `prefix`, in order.
    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>>;
    /// The last entry that the derived tables cover.
    fn derived_through(&self) -> Result<u64>;
    /// The best `limit` matches among the newest `newest`, and whether there were more. Only as current as
    /// the derived tables.
    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<FoundThought>, bool)>;
    /// A snapshot's head.
    fn context(&self, id: u64) -> Result<Option<Read<ReadContext>>>;
    /// The newest `limit` snapshots of a roadmap, of all or of those before one, newest first.
    fn context_history(
        &self,
        roadmap_id: &str,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Vec<Read<ReadContext>>>;
    /// How many snapshots of a roadmap there are.
    fn context_count(&self, roadmap_id: &str) -> Result<u64>;
    /// How many thoughts name a snapshot.
    fn count_on(&self, context_id: u64) -> Result<u64>;
    /// The newest snapshot of every roadmap, or of one.
    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<Read<ReadContext>>>;
    /// The content of a snapshot.
    fn snapshot(&self, context_id: u64) -> Result<Option<String>>;
    /// The best `limit` matches among the nodes of current snapshots. Only as current as the derived tables.
    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>>;
    /// How many decisions name a snapshot of any roadmap or of one, and how many of those one whose content is
    /// not that of the newest.
    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)>;
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
    /// Where the newest thought of a session up to a position of the log is.
    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>>;
    /// A stored brief.
    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>>;
    /// Stored briefs, of one session or of all, newest first.
    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>>;
    /// The reviews of a record, oldest first.
    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>>;
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
    /// The access token of that id.
    fn token(&self, id: &str) -> Result<Option<TokenRow>>;
    /// All access tokens, in the order in which they were made.
    fn tokens(&self) -> Result<Vec<TokenInfo>>;
    /// Where it is, if it is a file.
    fn place(&self) -> Option<&Path>;
    /// Returns when everything committed so far would survive a power cut.
    fn sync(&self) -> Result<()>;
    /// One node of the tree; level 0 is the hash of an entry.
    fn node(&self, level: u8, index: u64) -> Result<Sha>;
    /// Visits the bytes of entries in a range of the log, in order, with the hashes stored beside them.
    fn leaves(&self, from: u64, to: u64, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<()>;
    /// The note of the newest checkpoint of at most that size.
    fn checkpoint(&self, at_most: u64) -> Result<Option<(u64, String)>>;
    /// The notes of the newest `limit` checkpoints, newest first.
    fn checkpoints(&self, limit: u64) -> Result<Vec<String>>;
    /// Counts and sizes.
    fn counts(&self) -> Result<Counts>;
    /// Copies a consistent state to a new file at `to`.
    fn backup(&self, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()>;
    /// Opens one consistent state for verification; never that of a replica.
    fn audit(&self) -> Result<Box<dyn Audit>>;
    /// Opens `count` views of one and the same state, for as many threads.
    fn audits(&self, count: usize) -> Result<Vec<Box<dyn Audit>>>;
    /// How the replica does that is read from, if there is one.
    fn replica(&self) -> Option<ReplicaStatus> {
        None
    }
}

/// How a replica does that is read from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ReplicaStatus {
    /// Where it is, without a password.
    pub address: String,
    /// How it stood when it was last needed.
    pub state: ReplicaState,
    /// Reads that it answered.
    pub reads: u64,
    /// Reads that went to the database itself because it could not.
    pub passed_over: u64,
}

/// Whether a replica can be read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaState {
    /// It is.
    Used,
    /// It lacks entries that this process knows of.
    Behind,
    /// It does not answer.
    Unreachable,
    /// It holds another log.
    AnotherLog,
}

/// Where [`Store::search`] looks.
#[derive(Debug, Clone, Default)]
pub struct SearchScope<'a> {
    /// In this session.
    pub session_id: Option<&'a str>,
    /// In this task.
    pub task_id: Option<&'a str>,
    /// For this type.
    pub kind: Option<ThoughtType>,
}

/// What a store holds.
#[derive(Debug, Clone)]
pub struct Counts {
    /// Version of the schema.
    pub schema: i64,
    /// Thoughts.
    pub thoughts: u64,
    /// Tasks.
    pub tasks: u64,
    /// Sessions.
    pub sessions: u64,
    /// Roadmaps of which there are snapshots.
    pub roadmaps: u64,
    /// Snapshots.
    pub contexts: u64,
    /// Events of sessions.
    pub events: u64,
    /// Stored briefs.
    pub briefs: u64,
    /// Thoughts that the search index covers.
    pub indexed: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Timestamp of the newest thought.
    pub newest: Option<String>,
    /// The engine and its version.
    pub engine: String,
}

/// The one writer of a process.
pub trait StoreWriter: Send {
    /// Whether it has a use for being told what a transaction will ask for.
    fn reads_ahead(&self) -> bool {
        false
    }
    /// Runs `work` in one transaction that no other writer can come between. It may ask for more than `needs`, or less. Where
    /// `needs` says what is known of the log, `work` may be run twice, the first time for nothing.
    fn transaction(
        &mut self,
        needs: &Needs,
        work: &mut dyn FnMut(&mut dyn Append) -> Result<()>,
    ) -> Result<()>;
    /// Whether a transaction could begin: begins one and takes it back, without waiting as long for other writers as one
    /// that has something to write. With `commit` one that leaves every value as it was is committed.
    fn probe(&mut self, commit: bool) -> Result<()>;
    /// Brings the derived tables up to date with at most `rows` more entries; returns how many are left.
    fn catch_up(&mut self, rows: u64) -> Result<u64>;
    /// Keeps the state of a session in place of an older one, if its last event is one of that session. Does not wait
    /// long for other writers.
    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>) -> Result<()>;
    /// Empties the derived tables, so that [`StoreWriter::catch_up`] builds them anew. Kept states come back with time.
    fn clear_derived(&mut self) -> Result<()>;
}

/// What can be read and written inside one transaction.
pub trait Append {
    /// Whether so much was written that what follows had better be another transaction.
    fn is_full(&self) -> bool {
        false
    }
    /// Entries in the log, and the root of the tree over them.
    fn head(&mut self) -> Result<(u64, Sha)>;
    /// Nodes of the tree, by level and index, in the order in which they are asked for; level 0 is the hash of an entry.
    fn nodes(&mut self, places: &[(u8, u64)]) -> Result<Vec<Sha>>;
    /// A task's head; none if the task is new.
    fn task(&mut self, name: &str) -> Result<Option<TaskHead>>;
    /// A session's head; none if the session is new.
    fn session(&mut self, name: &str) -> Result<Option<SessionHead>>;
    /// A possible parent.
    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>>;
    /// Whether a thought has that id.
    fn has_thought(&mut self, id: &str) -> Result<bool>;
    /// The thought recorded under a key.
    fn by_key(&mut self, key: &str) -> Result<Option<Read<ReadThought>>>;
    /// How many snapshots there are: their numbers run from 1 to this.
    fn contexts(&mut self) -> Result<u64>;
    /// A roadmap's head; none if there is no snapshot of it.
    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>>;
    /// The newest snapshot of a roadmap.
    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<Read<ReadContext>>>;
    /// The number of the content stored under this hash, and whether it is `data`.
    fn snapshot(&mut self, hash: &Sha, data: &str) -> Result<Option<(i64, bool)>>;
    /// Adds a roadmap without snapshots and returns its number.
    fn add_roadmap(&mut self, name: &str) -> Result<i64>;
    /// Adds content and returns its number.
    fn add_snapshot(&mut self, hash: &Sha, data: &str) -> Result<i64>;
    /// Adds a snapshot.
    fn insert_context(&mut self, row: &ContextRow<'_>) -> Result<()>;
    /// Moves a roadmap's head.
    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()>;
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
    /// Adds a review.
    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()>;
    /// Moves the head of a session's memory.
    fn set_memory(&mut self, head: &MemoryHead) -> Result<()>;
    /// Adds a task of length 0 and returns its number.
    fn add_task(&mut self, name: &str) -> Result<i64>;
    /// Adds a session of length 0 and returns its number.
    fn add_session(&mut self, name: &str) -> Result<i64>;
    /// Adds a thought.
    fn insert_thought(&mut self, row: &ThoughtRow<'_>) -> Result<()>;
    /// Adds an entry of the log.
    fn insert_entry(&mut self, seq: u64, kind: EntryKind, leaf: &[u8], hash: &Sha) -> Result<()>;
    /// Adds an interior node of the tree.
    fn insert_node(&mut self, node: &Node) -> Result<()>;
    /// Moves a task's head.
    fn set_task(&mut self, head: &TaskHead) -> Result<()>;
    /// Moves a session's head.
    fn set_session(&mut self, head: &SessionHead) -> Result<()>;
    /// Moves the log's head.
    fn set_log(&mut self, size: u64, root: &Sha) -> Result<()>;
    /// Whether any entry of the log is about keys.
    fn is_keyed(&mut self) -> Result<bool>;
    /// The thought or the brief of that id, with the texts that a redaction would erase.
    fn target(&mut self, id: &str) -> Result<Option<Target>>;
    /// The bytes of an entry.
    fn leaf(&mut self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// See [`Store::redaction`].
    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>>;
    /// Notes that the entry at `seq` records the redaction of the one at `target_seq`.
    fn insert_redaction(&mut self, seq: u64, target_seq: u64) -> Result<()>;
    /// Erases the texts of what a redaction was noted for, and every word of them in the search index. Of a sealed
    /// content the key instead of the text.
    fn blank(&mut self, target: &Target) -> Result<()>;
    /// See [`Store::seal_key`].
    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// Adds the key of the sealed content of the thought at `seq`.
    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()>;
    /// Adds a checkpoint, or signatures to the one of that size.
    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()>;
    /// See [`Store::token`].
    fn token(&mut self, id: &str) -> Result<Option<TokenRow>>;
    /// Adds an access token.
    fn insert_token(&mut self, row: &TokenRow) -> Result<()>;
    /// Sets when an access token was revoked and last used.
    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()>;
}

/// One consistent state of a store, read for verification: everything as it is stored, nothing believed.
pub trait Audit: Send {
    /// The log's head, as stored.
    fn head(&self) -> Result<LogHead>;
    /// Entries and thoughts in the range, as stored, in order.
    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()>;
    /// The thoughts of a session or task, in its order.
    fn scan_chain(&self, of: ChainOf<'_>, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()>;
    /// Interior nodes of a level in the range of indexes, in order.
    fn nodes(&self, level: u8, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()>;
    /// One node of the tree; level 0 is the hash of an entry.
    fn node(&self, level: u8, index: u64) -> Result<Option<Sha>>;
    /// The sizes and notes of checkpoints, as stored, in order.
    fn checkpoints(&self, visit: &mut dyn FnMut(i64, &str)) -> Result<()>;
    /// The entries of one kind among those that say something about the log itself, in order: where, and their bytes.
    fn about_log(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()>;
    /// The positions of the events and briefs of a session, in order.
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()>;
    /// The position of the newest entry that is there.
    fn newest(&self) -> Result<Option<u64>>;
    /// How many rows there are.
    fn totals(&self) -> Result<Totals>;
    /// The snapshot of an entry, as stored; false if there is none.
    fn context(&self, seq: u64, visit: &mut dyn FnMut(StoredContext<'_>)) -> Result<bool>;
    /// Where in the log the snapshot of that number is.
    fn context_seq(&self, id: u64) -> Result<Option<u64>>;
    /// The event of an entry, as stored; false if there is none.
    fn event(&self, seq: u64, visit: &mut dyn FnMut(StoredEvent<'_>)) -> Result<bool>;
    /// Visits the kept states of sessions, as stored.
    fn folds(&self, visit: &mut dyn FnMut(StoredFold<'_>) -> Result<()>) -> Result<()>;
    /// Visits the events of a session up to a position of the log, in order, until the visitor says no.
    fn events(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(EventText<'_>) -> bool) -> Result<()>;
    /// The content of a digest: the first event that names it, and the content, as stored.
    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(i64, Option<&str>)) -> Result<bool>;
    /// The brief of an entry, as stored; false if there is none.
    fn brief(&self, seq: u64, visit: &mut dyn FnMut(StoredBrief<'_>)) -> Result<bool>;
    /// The review of an entry, as stored.
    fn review(&self, seq: u64) -> Result<Option<StoredReview>>;
    /// Where each review is, and where its target is, in order.
    fn review_places(&self) -> Result<Vec<(u64, u64)>>;
    /// The bytes of an entry.
    fn leaf(&self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// What the redaction of an entry says it is about, as stored; none if there is no such row.
    fn redaction_target(&self, seq: u64) -> Result<Option<i64>>;
    /// Whether the text of the thought or brief at a position is there, and its metadata or salt; false for both if
    /// there is no such row.
    fn has_text(&self, seq: u64) -> Result<(bool, bool)>;
    /// The key of the sealed content of the thought at a position, as stored.
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// Where in the log the brief of that id is, and the number of its session.
    fn brief_place(&self, id: &str) -> Result<Option<(u64, i64)>>;
    /// A thought by its position in the log: id, number of its session, its link in the session tree.
    fn parent(&self, seq: u64) -> Result<Option<(String, i64, Sha)>>;
    /// The `hash` at a position of a task chain.
    fn task_hash(&self, task_no: i64, position: u64) -> Result<Option<Sha>>;
    /// The label of a task.
    fn task_name(&self, no: i64) -> Result<Option<String>>;
    /// The label of a session.
    fn session_name(&self, no: i64) -> Result<Option<String>>;
    /// The stored length of a session or task; none if there is no such label.
    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>>;
    /// Whether the derived list of actions names this thought.
    fn action_is_listed(&self, action_id: &str, seq: u64) -> Result<bool>;
    /// The last entry that the derived tables cover, as stored, and how many actions they list.
    fn derived(&self) -> Result<(i64, u64)>;
    /// Whether the heads of tasks, sessions and roadmaps agree with the rows, the schema with this program's, and
    /// the documents of nodes with the snapshots.
    fn heads_schema_and_documents(&self, visit: &mut dyn FnMut(Finding)) -> Result<()>;
    /// Whether the database's own structures are sound: every b-tree, and every index beside the table it covers.
    /// Returns notes on those that could not be checked.
    fn structures(&self, visit: &mut dyn FnMut(Finding)) -> Result<Vec<String>>;
    /// Whether the search indexes agree with the rows they cover.
    fn search_index(&self, visit: &mut dyn FnMut(Finding)) -> Result<()>;
}
