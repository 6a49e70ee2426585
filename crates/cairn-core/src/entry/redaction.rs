//! Entries that record that something was blanked.

use super::{REDACTION, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

/// An entry that records a redaction, borrowed from wherever its fields live. The target keeps its hashes, so every
/// proof stays intact, and everybody sees that, when, by whom and why it was blanked.
#[derive(Debug, Clone, Copy)]
pub struct RedactionEntry<'a> {
    /// Who blanked it.
    pub actor: &'a str,
    /// What stood for the blanked content, and still does.
    pub content_hash: Sha,
    /// When, as text.
    pub created_at: &'a str,
    /// The blanked fields, such as `content` and `metadata`, or `seal_key`.
    pub fields: &'a [&'a str],
    /// Why.
    pub reason: &'a str,
    /// Position in the log.
    pub seq: u64,
    /// The id of what was blanked.
    pub target_id: &'a str,
    /// The kind of its entry.
    pub target_kind: &'a str,
    /// The position of its entry.
    pub target_seq: u64,
}

impl RedactionEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text("actor", self.actor)
            .sha("content_hash", &self.content_hash)
            .text("created_at", self.created_at)
            .texts("fields", self.fields)
            .text("kind", REDACTION)
            .text("reason", self.reason)
            .number("seq", self.seq)
            .text("target_id", self.target_id)
            .text("target_kind", self.target_kind)
            .number("target_seq", self.target_seq)
            .number("v", VERSION);
        object.end();
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
            actor: "ann",
            content_hash: Sha::of(b"content"),
            created_at: "2026-04-17T00:00:00Z",
            fields: &["content", "metadata"],
            reason: "a name",
            seq: 11,
            target_id: "r1",
            target_kind: super::super::THOUGHT,
            target_seq: 3,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "99233d18fc9f257a88c21f40b3762b1380b3a52ae2991bc165b8e691387346e1"
        );
    }
}
