//! Entries that record stored briefs.

use super::{BRIEF, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

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
