//! The model behind Cairn, and its mathematics.
//!
//! Nothing here reads a file, a clock, the environment or a random number: time and ids are arguments, so
//! every hash can be reproduced.
//!
//! - [`thought`]: one immutable record, its draft, and the hashes that link it to its task and its parent.
//! - [`entry`]: the exact bytes of a log entry, which cover every field of what it records.
//! - [`roadmap`]: plans, their snapshots, and what changed between two of them.
//! - [`session`]: working memory: events, their fold, entities.
//! - [`brief`]: the context for one node of a session.
//! - [`tree`]: the session tree and the path from a root to a thought.
//! - [`log`]: the RFC 9162 Merkle tree over all entries, with its proofs.
//! - [`note`]: signed notes, the keys that sign them, and witnesses.
//! - [`redaction`]: what is said of a record that was blanked.
//! - [`metadata`]: the caller's own JSON, checked.
//! - [`canonical`]: the JSON bytes that every hash is taken over.

pub mod brief;
pub mod canonical;
pub mod entry;
pub mod hash;
pub mod id;
pub mod log;
pub mod metadata;
pub mod note;
pub mod preview;
pub mod redaction;
pub mod roadmap;
pub mod session;
pub mod thought;
pub mod time;
pub mod tree;

pub use hash::Sha;
