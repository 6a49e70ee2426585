//! Where records are kept.
//!
//! A store keeps rows and hands them back; it computes no hash of a record and decides no policy. The
//! contract that every store must keep:
//!
//! - [`StoreWriter::transaction`] is all or nothing, and durable (by the chosen [`Durability`]) when
//!   it returns. What it saw inside is not changed by any other writer, in this process or another, until
//!   it ends.
//! - Readers see whole transactions only, and never wait for a writer.
//! - An id, an idempotency key, a (task, position) and a (session, step) exist once; a second one is
//!   [`StoreError::Taken`], and the transaction can go on after it.

mod derived;
mod error;
mod finding;
mod log;
mod memory;
mod needs;
mod open;
mod plans;
pub(crate) mod postgres;
mod read;
mod record;
mod redaction;
mod review;
mod rows;
mod search;
pub(crate) mod sqlite;
mod status;
mod stored;
mod tables;
mod thoughts;
mod token;
mod words;

use std::path::Path;

pub use derived::{ChainKey, ChainSums, Derived, DerivedWriter, IndexAudit};
pub use error::{BUSY, StoreError};
pub use finding::{Cause, Finding, MAX_FINDINGS, Reason};
pub use log::{LogAppend, LogAudit, LogReader};
pub use memory::{MemoryAppend, MemoryAudit, MemoryReader};
pub use needs::{Need, Needs};
pub use open::{Birth, Durability, OpenError, Opening};
pub use plans::{PlanAppend, PlanAudit, PlanReader};
pub use read::{ContextHead, Contexts, Damage, ListFilter, Read, ReadBody, RedactionLeaf, Thoughts};
pub use record::{Keys, RecordAppend, RecordReader, Stored, Visit, statement};
pub use redaction::{Pieces, RedactionAppend, RedactionAudit, RedactionReader, Swept};
pub use review::{ReviewAudit, ReviewReader};
pub use rows::{FoldRow, MemoryHead, ParentLink, RoadmapHead, SessionCounts, SessionHead, Target, TaskHead};
pub use search::{
    FoundThought, MATCH_END, MATCH_START, NodeHit, SearchReader, SearchScope, Term, Terms, passage,
};
pub use status::{Counts, LogHead, Progress, ReplicaState, ReplicaStatus};
pub use stored::{ChainOf, StoredBody, StoredFold, Totals};
pub use thoughts::{SessionReader, ThoughtAppend, ThoughtAudit, ThoughtReader};
pub use token::{TokenAppend, TokenInfo, TokenReader, TokenRow, TokenScope};

type Result<T> = std::result::Result<T, StoreError>;

/// A database that can be opened for reading by many and for writing by one at a time.
pub trait Store:
    LogReader
    + RecordReader
    + ThoughtReader
    + SessionReader
    + SearchReader
    + PlanReader
    + MemoryReader
    + RedactionReader
    + ReviewReader
    + TokenReader
    + Send
    + Sync
{
    /// Opens the one writer of this process.
    fn writer(&self) -> Result<Box<dyn StoreWriter>>;
    /// Where it is, if it is a file.
    fn place(&self) -> Option<&Path>;
    /// Returns when everything committed so far would survive a power cut.
    fn sync(&self) -> Result<()>;
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

/// The one writer of a process.
pub trait StoreWriter: DerivedWriter + Send {
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
}

/// One transaction: everything that can be read and written inside it.
pub trait Append:
    LogAppend + RecordAppend + ThoughtAppend + PlanAppend + MemoryAppend + RedactionAppend + TokenAppend
{
}

impl<T: LogAppend + RecordAppend + ThoughtAppend + PlanAppend + MemoryAppend + RedactionAppend + TokenAppend>
    Append for T
{
}

/// One consistent state of a store, read for verification: everything as it is stored, nothing believed.
pub trait Audit:
    LogAudit
    + RecordReader
    + ThoughtAudit
    + PlanAudit
    + MemoryAudit
    + RedactionAudit
    + ReviewAudit
    + IndexAudit
    + Send
{
}

impl<
    T: LogAudit
        + RecordReader
        + ThoughtAudit
        + PlanAudit
        + MemoryAudit
        + RedactionAudit
        + ReviewAudit
        + IndexAudit
        + Send,
> Audit for T
{
}
