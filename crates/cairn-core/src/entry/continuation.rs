//! Entries that tie a log to the one it continues.

use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;

entry! {
    /// An entry that records that this log continues another one, whose newest part was lost; borrowed from wherever its
    /// fields live. A log that was seen at a larger size is never continued under its own name: that would look like,
    /// and could be, a rewritten history.
    ContinuationEntry<'a> {
        /// The person or agent that decided it.
        actor: Text<'a>,
        /// When, as text.
        created_at: Text<'a>,
        /// The log that is continued.
        origin: Text<'a>,
        /// Why.
        reason: Text<'a>,
        /// Its root when it was last seen.
        root: Sha,
        /// Position in the log.
        seq: u64,
        /// How many entries it had when it was last seen.
        size: u64,
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
            actor: "ann".into(),
            created_at: "2026-04-17T00:00:00Z".into(),
            origin: "cairn/old".into(),
            reason: "disk lost".into(),
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
