//! Cairn records why an agent did what it did, and proves that nobody changed the record afterwards.
//!
//! One handle, [`Cairn`], over one SQLite file. Every thought is on disk before [`Cairn::record`] returns,
//! linked by hashes to the thought before it in its task and to its parent in its session, and entered into
//! one append-only Merkle log.
//!
//! ```
//! use cairn::{Cairn, NewThought, Scope, ThoughtType};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("cairn.db");
//! let cairn = Cairn::open(path)?;
//! let plan = cairn.record(
//!     NewThought::new(ThoughtType::Plan, "Make the import idempotent").session("import").agent("ada"),
//! )?;
//! cairn.record(
//!     NewThought::new(ThoughtType::Decision, "Upsert by natural key: retries are then harmless")
//!         .session("import")
//!         .agent("ada")
//!         .parent(&plan.id)
//!         .action("commit-4f2a91c"),
//! )?;
//!
//! let why = cairn.reasoning_trail("commit-4f2a91c")?;
//! assert_eq!(why[0][0].content, "Make the import idempotent");
//! assert!(cairn.verify(&Scope::All)?.valid());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod backup;
mod branch;
pub mod bundle;
mod check;
mod checked;
mod clock;
mod context;
mod entries;
mod error;
mod gaps;
mod handle;
mod memory;
mod options;
mod proof;
mod read;
mod redact;
mod review;
mod roadmap;
mod seal;
mod search;
mod sessions;
mod shown;
mod store;
mod thoughts;
mod token;
mod tree;
mod verify;
mod writer;

pub use activity::Activity;
pub use branch::{Branch, BranchThought};
pub use cairn_core as core;
pub use cairn_core::Sha;
pub use cairn_core::redaction::Redaction;
pub use cairn_core::thought::{Issue, Limits, NewThought, Source, Thought, ThoughtType};
pub use cairn_core::time::Timestamp;
pub use cairn_core::tree::Summary;
pub use context::{
    Captured, CapturedSnapshot, Comparison, Context, ContextHead, ContextThought, ContextVerdict,
    ContextsPage, CurrentPlan, Drift, DriftedDecision, DriftedNode, FileState, NodeChange, NodeHit,
    NodeQuery, ThoughtsOnContext,
};
pub use entries::{EntryHead, EntryView};
pub use error::{Error, OpenError, Result};
pub use handle::{Cairn, Status};
pub use memory::{
    BriefComparison, BriefInfo, BriefRequest, BriefVerdict, BuiltBrief, EntitiesChanged, EntityView,
    EventAdded, EventView, NewSession, RedactedSource, SectionComparison, SessionInfo, SessionOpened,
    StatePart, StoredBriefView, Summarised, TurnBegun, TurnDone, TurnRange,
};
pub use options::{Durability, Options};
pub use proof::{
    Grown, GrowthProof, HeadFolder, KeyChange, KeyFolder, KeySigner, LostLog, Proof, RecordedKeyChange,
    Relation, Remembered, SeenCopy, SeenHead, SeenPlace, Signer, Standing, Stated, load_key, place_name,
    place_path, random_key,
};
pub use read::{ActionThought, Filter, Listing, Page, PageEnd};
pub use redact::{Redact, Redacted};
pub use review::{NewReview, Review};
pub use roadmap::{FileIssue, Form, ListedRoadmap, NewRoadmap, Registered, Roadmaps, Validation};
pub use search::{MATCH_END, MATCH_START, SearchHit, SearchQuery, SearchResults};
pub use sessions::{ListedSession, SessionsPage, TypeCounts};
pub use store::postgres::Address;
pub use store::{Damage, LogHead, ReplicaState, ReplicaStatus, StoreError};
pub use token::{NewToken, TokenAdded, TokenInfo, TokenScope};
pub use verify::{
    Cause, CopyComparison, CopyDifference, Coverage, Finding, Outside, OutsideHead, OutsideKey, Progress,
    Reason, RedactedRecord, Report, Scope, THIS_MACHINE, Testimony, Watch,
};
