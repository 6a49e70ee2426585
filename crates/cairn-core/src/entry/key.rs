//! Entries that record which keys sign the log.

use serde::{Deserialize, Serialize};

use super::declare::entry;
use super::field::{Text, word};
use crate::note::{Signature, Verdict, VerifyingKey, verdict};

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
        /// The change to the key.
        op: KeyOp,
        /// Why.
        reason: Option<Text<'a>>,
        /// Position in the log.
        seq: u64,
        /// A signature line over the [`KeyStatement`] of this change, by another key of the log. The first key of a log
        /// has none.
        signature: Option<Text<'a>>,
        /// The public key.
        vkey: Text<'a>,
    }
}

impl KeyEntry<'_> {
    /// The signature, if there is a readable one.
    pub fn signed(&self) -> Option<Signature> {
        self.signature.as_deref()?.parse().ok()
    }

    /// Tells whether `key` signed this change of the keys of the log `origin`.
    pub fn is_signed_by(&self, key: &VerifyingKey, origin: &str) -> bool {
        let KeyEntry { op, vkey, last_trusted_size, .. } = self;
        let statement = KeyStatement { origin, op: *op, vkey, last_trusted_size: *last_trusted_size };
        self.signed().is_some_and(|signature| statement.is_signed_by(key, &signature))
    }
}

/// The part of a change of keys that a key of the log signs.
///
/// ```text
/// cairn key change v1
/// origin example.org/log
/// add example.org/log+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW
/// ```
///
/// The end of a key adds a space and the last trusted size to the third line. No checkpoint reads like this: its second
/// line is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyStatement<'a> {
    /// The name of the log.
    pub origin: &'a str,
    /// The change to the key.
    pub op: KeyOp,
    /// The public key.
    pub vkey: &'a str,
    /// Up to which size its signatures count.
    pub last_trusted_size: Option<u64>,
}

impl KeyStatement<'_> {
    /// The text that is signed.
    pub fn text(&self) -> String {
        let KeyStatement { origin, op, vkey, last_trusted_size } = self;
        let size = last_trusted_size.map(|size| format!(" {size}")).unwrap_or_default();
        format!("cairn key change v1\norigin {origin}\n{op} {vkey}{size}\n")
    }

    /// Tells whether `signature` is one of `key` over this statement.
    pub fn is_signed_by(&self, key: &VerifyingKey, signature: &Signature) -> bool {
        verdict(&self.text(), std::slice::from_ref(signature), key) == Verdict::Signed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Sha;
    use crate::note::SigningKey;

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
            signature: None,
            vkey: "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".into(),
        };
        add.write(&mut bytes);
        let reason = Some("lost \"laptop\"".into());
        let signature = Some("— PeterNeumann AAAAAQI=".into());
        KeyEntry { last_trusted_size: Some(8), op: KeyOp::Revoke, reason, seq: 10, signature, ..add }
            .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "31ebfcaff8ee8392001acbc7fc6ffc7e0c46bdd264f732bb96b164f585cfdb14"
        );
    }

    /// The expected line comes from Python's `cryptography`, with the example key of Go's `sumdb/note`.
    #[test]
    fn a_change_is_signed_as_format_md_says() {
        let peter = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
        let peter: SigningKey = peter.parse().unwrap();
        let vkey = peter.verifying_key().to_string();
        let (origin, op, last_trusted_size) = ("PeterNeumann", KeyOp::Retire, Some(8));
        let statement = KeyStatement { origin, op, vkey: &vkey, last_trusted_size };
        let signature = peter.sign(&statement.text());
        let line = "— PeterNeumann x08go/oZcBOAfduMrgZhbabZYdEBKY2Jzm46tiw9/3Cl5Ua6A4lTmf+V2yItevRBozM/eAZh2MyPOzno4PWhOx8r0gQ=";
        assert_eq!(signature.to_string(), line);
        assert!(statement.is_signed_by(peter.verifying_key(), &signature));
        // Every part of the statement is signed.
        for other in [
            KeyStatement { origin: "PeterNeuman", ..statement },
            KeyStatement { op: KeyOp::Revoke, ..statement },
            KeyStatement { vkey: &vkey[1..], ..statement },
            KeyStatement { last_trusted_size: Some(9), ..statement },
            KeyStatement { last_trusted_size: None, ..statement },
        ] {
            assert!(!other.is_signed_by(peter.verifying_key(), &signature), "{other:?}");
        }
        assert!(statement.text().parse::<crate::log::Checkpoint>().is_err());
    }

    #[test]
    fn an_op_is_known_by_its_word() {
        for op in [KeyOp::Add, KeyOp::Retire, KeyOp::Revoke] {
            assert_eq!(KeyOp::from_word(op.as_str()), Some(op));
        }
        assert_eq!(KeyOp::from_word("Add"), None);
    }
}
