//! Entries that record which keys sign the log.

use serde::{Deserialize, Serialize};

use super::declare::entry;
use super::field::{Text, word};

/// What happens to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyOp {
    /// From here on it signs the log.
    Add,
    /// From here on it no longer signs; what it signed stays valid.
    Retire,
    /// Somebody else may have it: what it signed beyond the last trusted size counts as unsigned.
    Revoke,
}

impl KeyOp {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            KeyOp::Add => "add",
            KeyOp::Retire => "retire",
            KeyOp::Revoke => "revoke",
        }
    }

    /// The op with this word.
    pub fn from_word(word: &str) -> Option<KeyOp> {
        [KeyOp::Add, KeyOp::Retire, KeyOp::Revoke].into_iter().find(|op| op.as_str() == word)
    }
}

impl std::fmt::Display for KeyOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

word!(KeyOp, KeyOp::from_word);

entry! {
    /// An entry that records a change of the log's keys, borrowed from wherever its fields live.
    KeyEntry<'a> {
        /// When it was recorded, as text.
        created_at: Text<'a>,
        /// Up to which size the signatures of a revoked key count.
        last_trusted_size: Option<u64>,
        /// What happens to the key.
        op: KeyOp,
        /// Why.
        reason: Option<Text<'a>>,
        /// Position in the log.
        seq: u64,
        /// The public key.
        vkey: Text<'a>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Sha;

    /// The format is a promise: this digest, computed with Python's `json` and `hashlib`, never changes while
    /// `v` is 1.
    #[test]
    fn the_bytes_of_version_1_are_frozen() {
        let mut bytes = Vec::new();
        let add = KeyEntry {
            created_at: "2026-04-17T00:00:00Z".into(),
            last_trusted_size: None,
            op: KeyOp::Add,
            reason: None,
            seq: 9,
            vkey: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".into(),
        };
        add.write(&mut bytes);
        let reason = Some("lost \"laptop\"".into());
        KeyEntry { last_trusted_size: Some(8), op: KeyOp::Revoke, reason, seq: 10, ..add }.write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "9cb508c5a2724888ce9b25361a7ab324a873fb971979c05a164a8b452990e31a"
        );
    }

    #[test]
    fn an_op_is_known_by_its_word() {
        for op in [KeyOp::Add, KeyOp::Retire, KeyOp::Revoke] {
            assert_eq!(KeyOp::from_word(op.as_str()), Some(op));
        }
        assert_eq!(KeyOp::from_word("Add"), None);
    }
}
