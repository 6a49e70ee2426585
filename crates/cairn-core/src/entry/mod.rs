//! Log entries: the exact bytes that stand in the Merkle log for something that was recorded.
//!
//! An entry is one flat canonical JSON object with **every** field of what it records; absent fields are
//! `null`, never left out. Two fields are represented instead of repeated, so that a text can be erased
//! later with every proof intact: `content_hash` stands for the content, `metadata_commitment` (salted, so
//! that short metadata cannot be guessed from it) for the metadata. `v` fixes the meaning of an entry for
//! ever: a change of meaning is a new number.

mod brief;
mod continuation;
mod event;
mod genesis;
mod key;
mod redaction;
mod snapshot;
mod thought;

pub use brief::BriefEntry;
pub use continuation::ContinuationEntry;
pub use event::EventEntry;
pub use genesis::Genesis;
pub use key::{KeyEntry, KeyOp};
pub use redaction::RedactionEntry;
pub use snapshot::SnapshotEntry;
pub use thought::ThoughtEntry;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::hash::Sha;

/// The version of the entry format that is written today.
pub const VERSION: u64 = 1;

/// The `kind` of the first entry of a log.
pub const GENESIS: &str = "genesis";
/// The `kind` of an entry that records a thought.
pub const THOUGHT: &str = "thought";
/// The `kind` of an entry that records a snapshot of a roadmap.
pub const SNAPSHOT: &str = "snapshot";
/// The `kind` of an entry that records an event of a session.
pub const EVENT: &str = "event";
/// The `kind` of an entry that records a stored brief.
pub const BRIEF: &str = "brief";
/// The `kind` of an entry that records a change of the log's keys.
pub const KEY: &str = "key";
/// The `kind` of an entry that records that something was blanked.
pub const REDACTION: &str = "redaction";
/// The `kind` of an entry that ties the log to the one it continues.
pub const CONTINUATION: &str = "continuation";

/// Random bytes that keep a [`metadata_commitment`] from being guessed; they are stored beside the metadata.
pub type Salt = [u8; 32];

/// `HMAC-SHA-256(salt, canonical metadata)`.
pub fn metadata_commitment(salt: &Salt, canonical_metadata: &[u8]) -> Sha {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(salt).expect("HMAC takes a key of any length");
    mac.update(canonical_metadata);
    Sha(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::canonical;

    fn entry() -> ThoughtEntry<'static> {
        ThoughtEntry {
            action_id: Some("commit \"1\""),
            agent_id: "a1",
            brief_id: None,
            chain_hash: Sha::of(b"chain"),
            content_hash: Sha::of(b"content"),
            content_length: 7,
            context_id: Some(12),
            hash: Sha::of(b"hash"),
            id: "r1",
            idempotency_key: None,
            metadata_commitment: Some(metadata_commitment(&[7; 32], b"{}")),
            parent_id: Some("r0"),
            position: 3,
            prev_hash: Sha::ZERO,
            seq: 9,
            session_id: "s1",
            step_index: 4,
            task_id: "t1",
            timestamp: "2026-04-17T00:00:00Z",
            kind: "plan",
        }
    }

    #[test]
    fn an_entry_is_canonical_json() {
        let mut bytes = Vec::new();
        entry().write(&mut bytes);
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(canonical::to_bytes(&value).unwrap(), bytes);
        assert_eq!(value["action_id"], json!("commit \"1\""));
        assert_eq!(value["brief_id"], Value::Null);
        assert_eq!(value["v"], json!(1));
    }

    /// The format is a promise: this digest, computed with Python's `json` and `hashlib`, never changes while
    /// `v` is 1.
    #[test]
    fn the_bytes_of_version_1_are_frozen() {
        let mut bytes = Vec::new();
        entry().write(&mut bytes);
        Genesis { origin: "cairn/test", timestamp: "2026-04-17T00:00:00Z" }.write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "ac9e7140ea663a5f948fc7c844ede7eca2d73af7fbd35ea9f4bcedd5ab5e6532"
        );
    }

    /// As above.
    #[test]
    fn the_bytes_of_a_snapshot_are_frozen_too() {
        let mut bytes = Vec::new();
        SnapshotEntry {
            content_hash: Sha::of(b"content"),
            content_length: 7,
            context_id: 3,
            created_at: "2026-04-17T00:00:00Z",
            metadata_commitment: None,
            node_count: 12,
            position: 1,
            roadmap_id: "import",
            seq: 9,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "74077c796d5afa0aba966d3e358870d9463271abbbfaa61c2026cfe729408669"
        );
    }

    /// As above.
    #[test]
    fn the_bytes_of_events_and_briefs_are_frozen_too() {
        let mut bytes = Vec::new();
        EventEntry {
            body_hash: Sha::of(b"body"),
            body_length: 4,
            created_at: "2026-04-17T00:00:00Z",
            event: "turn_began",
            event_v: 1,
            idempotency_key: None,
            position: 2,
            seq: 9,
            session_id: "s1",
            turn: 1,
        }
        .write(&mut bytes);
        BriefEntry {
            brief_id: "b1",
            created_at: "2026-04-17T00:00:00Z",
            data_hash: Sha::of(b"data"),
            data_length: 4,
            hash: Sha::of(b"brief"),
            node: "think",
            seq: 10,
            session_id: "s1",
            turn: 1,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "2d57cc08b65943d3801385bdba4e42ac41beee2167478a0eb2c708797a23e5b4"
        );
    }

    /// The expected value comes from Python's `hmac` module.
    #[test]
    fn the_commitment_is_hmac_sha_256() {
        assert_eq!(
            metadata_commitment(&[7; 32], b"{}").to_string(),
            "7204813b88da3469d9b37525eab7411cea611dd13401dd13e609fb07d86ac348"
        );
    }
}
