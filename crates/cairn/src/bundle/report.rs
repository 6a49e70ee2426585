//! What the verification of a bundle found.

use cairn_core::Sha;
use serde::Serialize;

use super::Selection;
use crate::verify::Finding;

/// A record whose text was blanked, and what the log says about that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactedRecord {
    /// The id of the record.
    pub id: String,
    /// `thought` or `brief`.
    pub kind: String,
    /// Its position in the log.
    pub seq: u64,
    /// Who blanked it.
    pub actor: String,
    /// When.
    pub created_at: String,
    /// Why.
    pub reason: String,
}

/// What was found in a bundle.
#[derive(Debug, Clone, Serialize)]
pub struct BundleReport {
    /// The name of the log.
    pub origin: String,
    /// The size of the log that the bundle stands on.
    pub size: u64,
    /// The root at that size, as the bundle states it.
    pub root: Sha,
    /// Whether it holds the whole log.
    pub full: bool,
    /// What it holds.
    pub selection: Selection,
    /// Entries checked.
    pub entries: u64,
    /// Thoughts among them.
    pub records: u64,
    /// Snapshots among them.
    pub contexts: u64,
    /// Events among them.
    pub events: u64,
    /// Briefs among them.
    pub briefs: u64,
    /// Checkpoints checked.
    pub checkpoints: u64,
    /// The keys that signed the checkpoint it stands on, and count: `name+id` each, and what introduced it unless it was
    /// given.
    pub signed_by: Vec<String>,
    /// How many keys were given.
    pub keys_given: u64,
    /// What was redacted, in the order of the log: at most 100.
    pub redacted: Vec<RedactedRecord>,
    /// How much was redacted in all.
    pub redacted_total: u64,
    /// Sealed contents whose key is not in the bundle.
    pub sealed: u64,
    /// Links that lead to records outside the bundle, and could not be followed.
    pub links_outside: u64,
    /// What is wrong, in the order of the log: at most 100.
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub findings_total: u64,
    /// What was not verified, in words.
    pub notes: Vec<String>,
}

impl BundleReport {
    /// Whether nothing is wrong. Who says so is another matter: see [`BundleReport::signed_by`].
    pub fn valid(&self) -> bool {
        self.findings_total == 0
    }

    /// The verdict in one sentence.
    pub fn message(&self) -> String {
        match (&self.findings[..], self.findings_total) {
            ([], _) => {}
            ([first, ..], 1) => return first.message.clone(),
            ([first, ..], 2) => return format!("{} (and 1 more finding)", first.message),
            ([first, ..], total) => return format!("{} (and {} more findings)", first.message, total - 1),
        }
        let entries = match self.entries {
            1 => "1 entry".to_string(),
            count => format!("{count} entries"),
        };
        let what = match &self.selection {
            Selection::All => "the whole log".to_string(),
            Selection::Session(name) => format!("from session `{name}`"),
            Selection::Task(name) => format!("from task `{name}`"),
        };
        let who = match &self.signed_by[..] {
            [] => "nobody's signature was checked".to_string(),
            keys => format!("signed by {}", keys.join(" and ")),
        };
        let recomputed = format!("{entries} recomputed, {what}: nothing was changed");
        format!("{recomputed}; log {} at size {}, {who}", self.origin, self.size)
    }
}
