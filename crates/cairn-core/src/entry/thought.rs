//! Entries that record thoughts.

use super::{THOUGHT, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

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
