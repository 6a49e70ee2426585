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
    ///
    /// The redaction repeats the marks of the blanked fields in the target's entry: with them and with the rest of
    /// the target, the bytes of that entry can be made again.
    RedactionEntry<'a> {
        /// The person or agent that blanked it.
        actor: Text<'a>,
        /// The digests of the contents of entities that were blanked with an event, in order.
        bodies: Vec<Sha>,
        /// Stood for the blanked content in the target's entry, and still does.
        content_hash: Sha,
        /// The bytes of that content.
        content_length: u64,
        /// When.
        created_at: Timestamp,
        /// The blanked fields, such as `content` and `metadata`, or `seal_key`.
        fields: Vec<Text<'a>>,
        /// Stood for the blanked metadata.
        metadata_commitment: Option<Sha>,
        /// Why.
        reason: Text<'a>,
        /// The hash of what stays of an event: its body with the texts blanked.
        remains: Option<Sha>,
        /// Position in the log.
        seq: u64,
        /// The positions of the other records that shared a blanked content, in order.
        shared: Vec<u64>,
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
            bodies: vec![Sha::of(b"body")],
            content_hash: Sha::of(b"content"),
            content_length: 7,
            created_at: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
            fields: vec!["content".into(), "metadata".into()],
            metadata_commitment: Some(Sha::of(b"metadata")),
            reason: "a name".into(),
            remains: None,
            seq: 11,
            shared: vec![4, 10],
            target_id: "r1".into(),
            target_kind: EntryKind::Thought,
            target_seq: 3,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "79fd5219ad4a5100fd4b69e8a1409197d67a713108b100f5cb8687d3c9bfc5f8"
        );
    }
}
