//! Entries that record thoughts.

use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;
use crate::thought::{Source, ThoughtType};

entry! {
    /// An entry that records a thought, borrowed from wherever its fields live.
    ThoughtEntry<'a> {
        /// The action it led to.
        action_id: Option<Text<'a>>,
        /// Who thought it.
        agent_id: Text<'a>,
        /// What it is about.
        applies_to: Vec<Text<'a>>,
        /// The brief it was based on.
        brief_id: Option<Text<'a>>,
        /// The link of the session tree.
        chain_hash: Sha,
        /// Stands for the content.
        content_hash: Sha,
        /// Bytes of content.
        content_length: u64 => derived,
        /// The plan snapshot it was based on.
        context_id: Option<u64>,
        /// The link of the task chain.
        hash: Sha,
        /// The thought's id.
        id: Text<'a>,
        /// The caller's key, if it gave one.
        idempotency_key: Option<Text<'a>>,
        /// Stands for the metadata.
        metadata_commitment: Option<Sha> => derived,
        /// The thought it follows from.
        parent_id: Option<Text<'a>>,
        /// Position in the task chain, from 0.
        position: u64,
        /// The `hash` before it in the task chain.
        prev_hash: Sha,
        /// The thoughts of its session that it turned down.
        rejects: Vec<Text<'a>>,
        /// Position in the log.
        seq: u64,
        /// The session it belongs to.
        session_id: Text<'a>,
        /// How it came to be recorded.
        source: Source,
        /// Position in the session, from 0.
        step_index: u64,
        /// The decisions that it replaces or withdraws.
        supersedes: Vec<Text<'a>>,
        /// The task it belongs to.
        task_id: Text<'a>,
        /// When it was recorded, as text.
        timestamp: Text<'a>,
        /// Which of the four types.
        kind ("type"): ThoughtType,
    }
}
