//! Entries that record snapshots of roadmaps.

use super::{SNAPSHOT, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

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
