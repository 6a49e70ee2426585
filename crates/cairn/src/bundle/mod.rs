//! Bundles: a log, or a part of it, as one file of JSON Lines that anyone can check without the database.
//!
//! The first line says which log and how much of it, then comes one line an entry with its exact bytes and what they
//! stand for, then the checkpoints, the keys (for information), and a manifest. Every line is canonical JSON, and
//! nothing in it depends on when or where it was written: the same state gives the same bytes.
//!
//! [`crate::Cairn::export`] writes one, [`verify`] checks one, [`crate::Options::import`] makes a database of one.
//! [`crate::Cairn::copy`] does the same from database to database, without a file in between.

mod adding;
mod check;
mod copy;
mod entry;
mod export;
mod import;
mod links;
mod members;
mod read;
mod redactions;
mod report;
mod rows;
mod select;
mod statements;
mod stored;
mod target;
mod verify;
mod write;

use serde::{Deserialize, Serialize};

pub use copy::{Copied, CopyError};
pub use import::{ImportError, Imported};
pub use report::{BundleReport, RedactedRecord};
/// Visits the entries of a bundle without checking them.
pub(crate) use verify::each_entry;
pub use verify::{PARTIAL, verify};

/// The name of the format, which stands in the first line.
pub const FORMAT: &str = "cairn-bundle/1";

/// The most bytes of one line, the end of it included. The largest thing recorded, a roadmap of 16 MiB, fits twice.
pub const MAX_LINE: usize = 64 << 20;

/// What a bundle holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// The whole log. Such a bundle proves that nothing is missing, and can be imported.
    #[default]
    All,
    /// One session: its thoughts, events and briefs, and the snapshots they name.
    Session(String),
    /// One task: its thoughts, and the snapshots they name.
    Task(String),
}

/// How to export.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// What.
    pub selection: Selection,
    /// Whether the keys of sealed contents go along. Whoever has the bundle can then read those contents.
    pub with_keys: bool,
}

/// What was exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The name of the log.
    pub origin: String,
    /// The size of the log that the bundle stands on.
    pub size: u64,
    /// The root of the log at that size.
    pub root: cairn_core::Sha,
    /// Entries in the bundle.
    pub entries: u64,
    /// Redactions among them.
    pub redacted: u64,
    /// Keys of sealed contents that were left out.
    pub sealed: u64,
    /// Checkpoints in the bundle.
    pub checkpoints: u64,
    /// Entries of the log that follow the checkpoint it stands on, and are not in it.
    pub following: u64,
    /// Whether the one it stands on is signed.
    pub signed: bool,
    /// The public keys of the log that signed it.
    pub signed_by: Vec<String>,
    /// Bytes written.
    pub bytes: u64,
}
