//! What the log says about a redaction.

use cairn_core::Sha;
use cairn_core::redaction::Redaction;
use cairn_core::time::Timestamp;
use serde::Deserialize;

/// An entry that records a redaction, read back.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Said {
    /// Who blanked it.
    pub actor: String,
    /// What stood for the blanked content.
    pub content_hash: Sha,
    /// When.
    pub created_at: Timestamp,
    /// Which fields.
    pub fields: Vec<String>,
    /// Why.
    pub reason: String,
    /// Of what.
    pub target_id: String,
    /// The kind of its entry.
    pub target_kind: String,
    /// The position of its entry.
    pub target_seq: u64,
}

impl Said {
    /// Reads the bytes of an entry; none if they are not those of a redaction.
    pub fn read(leaf: &[u8]) -> Option<Said> {
        serde_json::from_slice(leaf).ok()
    }

    /// Whether a field was blanked.
    pub fn blanked(&self, field: &str) -> bool {
        self.fields.iter().any(|blanked| blanked == field)
    }

    /// As readers are told.
    pub fn redaction(self) -> Redaction {
        Redaction { by: self.actor, at: self.created_at, reason: self.reason }
    }
}
