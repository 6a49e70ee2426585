//! Entries that tie a log to the one it continues.

use super::{CONTINUATION, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

/// An entry that records that this log continues another one, whose newest part was lost; borrowed from wherever its
/// fields live. A log that was seen at a larger size is never continued under its own name: that would look like,
/// and could be, a rewritten history.
#[derive(Debug, Clone, Copy)]
pub struct ContinuationEntry<'a> {
    /// Who decided it.
    pub actor: &'a str,
    /// When, as text.
    pub created_at: &'a str,
    /// The log that is continued.
    pub origin: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Its root when it was last seen.
    pub root: Sha,
    /// Position in the log.
    pub seq: u64,
    /// How many entries it had when it was last seen.
    pub size: u64,
}

impl ContinuationEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text("actor", self.actor)
            .text("created_at", self.created_at)
            .text("kind", CONTINUATION)
            .text("origin", self.origin)
            .text("reason", self.reason)
            .sha("root", &self.root)
            .number("seq", self.seq)
            .number("size", self.size)
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
        ContinuationEntry {
            actor: "ann",
            created_at: "2026-04-17T00:00:00Z",
            origin: "cairn/old",
            reason: "disk lost",
            root: Sha::of(b"root"),
            seq: 1,
            size: 12,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "f1843a2a734401e01b0baaea27a997142e461e601e5c0faced8f8be83f6ef29a"
        );
    }
}
