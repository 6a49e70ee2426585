//! Entries that record what people say about thoughts and briefs.

use serde::{Deserialize, Serialize};

use super::EntryKind;
use super::declare::entry;
use super::field::{Text, word};
use crate::hash::Sha;

/// A reviewer's opinion of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewVerdict {
    /// It is right.
    Approved,
    /// It is wrong.
    Objected,
    /// A remark, neither for nor against.
    Noted,
}

impl ReviewVerdict {
    /// All of them.
    pub const ALL: [ReviewVerdict; 3] =
        [ReviewVerdict::Approved, ReviewVerdict::Objected, ReviewVerdict::Noted];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewVerdict::Approved => "approved",
            ReviewVerdict::Objected => "objected",
            ReviewVerdict::Noted => "noted",
        }
    }

    /// The verdict with this word.
    pub fn from_word(word: &str) -> Option<ReviewVerdict> {
        ReviewVerdict::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

impl std::fmt::Display for ReviewVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

word!(ReviewVerdict, ReviewVerdict::from_word);

entry! {
    /// An entry that records a person's statement about a thought or a stored brief, borrowed from wherever its fields live.
    /// It changes nothing in its target.
    ReviewEntry<'a> {
        /// The person.
        actor: Text<'a>,
        /// When, as text.
        created_at: Text<'a>,
        /// Its id.
        review_id: Text<'a>,
        /// Position in the log.
        seq: u64,
        /// The id of the record it is about.
        target_id: Text<'a>,
        /// The kind of that record's entry.
        target_kind: EntryKind,
        /// The position of that entry.
        target_seq: u64,
        /// Stands for the text: `HMAC-SHA-256(salt, text)`.
        text_commitment: Sha => derived,
        /// Bytes of text.
        text_length: u64 => derived,
        /// The verdict.
        verdict: ReviewVerdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::commitment;

    /// The format is a promise: this digest, computed with Python's `json`, `hmac` and `hashlib`, never changes while
    /// `v` is 1.
    #[test]
    fn the_bytes_of_version_1_are_frozen() {
        let mut bytes = Vec::new();
        ReviewEntry {
            actor: "ann".into(),
            created_at: "2026-04-17T00:00:00Z".into(),
            review_id: "v1".into(),
            seq: 12,
            target_id: "r1".into(),
            target_kind: EntryKind::Thought,
            target_seq: 3,
            text_commitment: commitment(&[7; 32], "it's wrong".as_bytes()),
            text_length: 10,
            verdict: ReviewVerdict::Objected,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "d664f784f7d3dfa623094538442884de12cc457eb8034afa85be27e68d469d11"
        );
    }

    #[test]
    fn a_verdict_is_known_by_its_word() {
        for verdict in ReviewVerdict::ALL {
            assert_eq!(ReviewVerdict::from_word(verdict.as_str()), Some(verdict));
        }
        assert_eq!(ReviewVerdict::from_word("Approved"), None);
    }
}
