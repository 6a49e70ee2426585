//! Log entries: the exact bytes that stand in the Merkle log for something that was recorded.
//!
//! An entry is one flat canonical JSON object with **every** field of what it records; absent fields are
//! `null`, never left out. Two fields are represented instead of repeated, so that a text can be erased
//! later with every proof intact: `content_hash` stands for the content, `metadata_commitment` (salted, so
//! that short metadata cannot be guessed from it) for the metadata. `v` fixes the meaning of an entry for
//! ever: a change of meaning is a new number.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::canonical::ObjectWriter;
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

/// Random bytes that keep a [`metadata_commitment`] from being guessed; they are stored beside the metadata.
pub type Salt = [u8; 32];

/// `HMAC-SHA-256(salt, canonical metadata)`.
pub fn metadata_commitment(salt: &Salt, canonical_metadata: &[u8]) -> Sha {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(salt).expect("HMAC takes a key of any length");
    mac.update(canonical_metadata);
    Sha(mac.finalize().into_bytes().into())
}

/// The first entry: which log this is.
pub struct Genesis<'a> {
    /// The name of the log, unique to it.
    pub origin: &'a str,
    /// When it was begun.
    pub timestamp: &'a str,
}

impl Genesis<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text("kind", GENESIS)
            .text("origin", self.origin)
            .number("seq", 0)
            .text("timestamp", self.timestamp)
            .number("v", VERSION);
        object.end();
    }
}

/// An entry that records a thought, borrowed from wherever its fields live.
#[derive(Debug, Clone, Copy)]
pub struct ThoughtEntry<'a> {
    /// The action it led to.
    pub action_id: Option<&'a str>,
    /// Who thought it.
    pub agent_id: &'a str,
    /// The brief it was based on.
    pub brief_id: Option<&'a str>,
    /// The link of the session tree.
    pub chain_hash: Sha,
    /// Stands for the content.
    pub content_hash: Sha,
    /// Bytes of content.
    pub content_length: u64,
    /// The plan snapshot it was based on.
    pub context_id: Option<u64>,
    /// The link of the task chain.
    pub hash: Sha,
    /// The thought's id.
    pub id: &'a str,
    /// The caller's key, if it gave one.
    pub idempotency_key: Option<&'a str>,
    /// Stands for the metadata.
    pub metadata_commitment: Option<Sha>,
    /// The thought it follows from.
    pub parent_id: Option<&'a str>,
    /// Position in the task chain, from 0.
    pub position: u64,
    /// The `hash` before it in the task chain.
    pub prev_hash: Sha,
    /// Position in the log.
    pub seq: u64,
    /// The session it belongs to.
    pub session_id: &'a str,
    /// Position in the session, from 0.
    pub step_index: u64,
    /// The task it belongs to.
    pub task_id: &'a str,
    /// When it was recorded, as text.
    pub timestamp: &'a str,
    /// The word for its type.
    pub kind: &'a str,
}

impl ThoughtEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text_or_null("action_id", self.action_id)
            .text("agent_id", self.agent_id)
            .text_or_null("brief_id", self.brief_id)
            .sha("chain_hash", &self.chain_hash)
            .sha("content_hash", &self.content_hash)
            .number("content_length", self.content_length)
            .number_or_null("context_id", self.context_id)
            .sha("hash", &self.hash)
            .text("id", self.id)
            .text_or_null("idempotency_key", self.idempotency_key)
            .text("kind", THOUGHT)
            .sha_or_null("metadata_commitment", self.metadata_commitment.as_ref())
            .text_or_null("parent_id", self.parent_id)
            .number("position", self.position)
            .sha("prev_hash", &self.prev_hash)
            .number("seq", self.seq)
            .text("session_id", self.session_id)
            .number("step_index", self.step_index)
            .text("task_id", self.task_id)
            .text("timestamp", self.timestamp)
            .text("type", self.kind)
            .number("v", VERSION);
        object.end();
    }
}

/// An entry that records a snapshot of a roadmap, borrowed from wherever its fields live.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotEntry<'a> {
    /// Stands for the content.
    pub content_hash: Sha,
    /// Bytes of content.
    pub content_length: u64,
    /// The snapshot's number.
    pub context_id: u64,
    /// When it was made, as text.
    pub created_at: &'a str,
    /// Stands for the metadata.
    pub metadata_commitment: Option<Sha>,
    /// Nodes in it.
    pub node_count: u64,
    /// Position among the snapshots of its roadmap, from 0.
    pub position: u64,
    /// The roadmap it is of.
    pub roadmap_id: &'a str,
    /// Position in the log.
    pub seq: u64,
}

impl SnapshotEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .sha("content_hash", &self.content_hash)
            .number("content_length", self.content_length)
            .number("context_id", self.context_id)
            .text("created_at", self.created_at)
            .text("kind", SNAPSHOT)
            .sha_or_null("metadata_commitment", self.metadata_commitment.as_ref())
            .number("node_count", self.node_count)
            .number("position", self.position)
            .text("roadmap_id", self.roadmap_id)
            .number("seq", self.seq)
            .number("v", VERSION);
        object.end();
    }
}

/// An entry that records an event of a session, borrowed from wherever its fields live.
#[derive(Debug, Clone, Copy)]
pub struct EventEntry<'a> {
    /// Stands for the body.
    pub body_hash: Sha,
    /// Bytes of body.
    pub body_length: u64,
    /// When it was recorded, as text.
    pub created_at: &'a str,
    /// What happened.
    pub event: &'a str,
    /// The version of the body.
    pub event_v: u64,
    /// The caller's key, if it gave one.
    pub idempotency_key: Option<&'a str>,
    /// Position among the events of its session, from 0.
    pub position: u64,
    /// Position in the log.
    pub seq: u64,
    /// The session it belongs to.
    pub session_id: &'a str,
    /// The turn it belongs to.
    pub turn: u64,
}

impl EventEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .sha("body_hash", &self.body_hash)
            .number("body_length", self.body_length)
            .text("created_at", self.created_at)
            .text("event", self.event)
            .number("event_v", self.event_v)
            .text_or_null("idempotency_key", self.idempotency_key)
            .text("kind", EVENT)
            .number("position", self.position)
            .number("seq", self.seq)
            .text("session_id", self.session_id)
            .number("turn", self.turn)
            .number("v", VERSION);
        object.end();
    }
}

/// An entry that records a stored brief, borrowed from wherever its fields live.
#[derive(Debug, Clone, Copy)]
pub struct BriefEntry<'a> {
    /// Its id.
    pub brief_id: &'a str,
    /// When it was stored, as text.
    pub created_at: &'a str,
    /// Stands for the whole brief.
    pub data_hash: Sha,
    /// Bytes of it.
    pub data_length: u64,
    /// The brief's own hash.
    pub hash: Sha,
    /// For which node.
    pub node: &'a str,
    /// Position in the log.
    pub seq: u64,
    /// The session it is of.
    pub session_id: &'a str,
    /// The turn it is for.
    pub turn: u64,
}

impl BriefEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text("brief_id", self.brief_id)
            .text("created_at", self.created_at)
            .sha("data_hash", &self.data_hash)
            .number("data_length", self.data_length)
            .sha("hash", &self.hash)
            .text("kind", BRIEF)
            .text("node", self.node)
            .number("seq", self.seq)
            .text("session_id", self.session_id)
            .number("turn", self.turn)
            .number("v", VERSION);
        object.end();
    }
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
