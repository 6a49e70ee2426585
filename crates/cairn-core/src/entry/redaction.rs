//! Entries that record that something was blanked.

use super::EntryKind;
use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;
use crate::redaction::Redaction;
use crate::time::Timestamp;

entry! {
    /// An entry that records a redaction, borrowed from wherever its fields live. The target keeps its hashes, so every
    /// proof stays intact, and everybody sees that, when, by whom and why it was blanked.
    RedactionEntry<'a> {
        /// The person or agent that blanked it.
        actor: Text<'a>,
        /// What stood for the blanked content, and still does.
        content_hash: Sha,
        /// When.
        created_at: Timestamp,
        /// The blanked fields, such as `content` and `metadata`, or `seal_key`.
        fields: Vec<Text<'a>>,
        /// Why.
        reason: Text<'a>,
        /// Position in the log.
        seq: u64,
        /// The id of what was blanked.
        target_id: Text<'a>,
        /// The kind of its entry.
        target_kind: EntryKind,
        /// The position of its entry.
        target_seq: u64,
    }
}

impl RedactionEntry<'_> {
    /// Whether a field was blanked.
    pub fn blanks(&self, field: &str) -> bool {
        self.fields.iter().any(|blanked| blanked == field)
    }

    /// As readers are told.
    pub fn redaction(&self) -> Redaction {
        Redaction { by: self.actor.to_string(), at: self.created_at.clone(), reason: self.reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format is a promise: this digest, computed with Python's `json` and `hashlib`, never changes while
    /// `v` is 1.
    #[test]
    fn the_bytes_of_version_1_are_frozen() {
        let mut bytes = Vec::new();
        RedactionEntry {
            actor: "ann".into(),
            content_hash: Sha::of(b"content"),
            created_at: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
            fields: vec!["content".into(), "metadata".into()],
            reason: "a name".into(),
            seq: 11,
            target_id: "r1".into(),
            target_kind: EntryKind::Thought,
            target_seq: 3,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "99233d18fc9f257a88c21f40b3762b1380b3a52ae2991bc165b8e691387346e1"
        );
    }
}
