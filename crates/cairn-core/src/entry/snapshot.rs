//! Entries that record snapshots of roadmaps.

use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;

entry! {
    /// An entry that records a snapshot of a roadmap, borrowed from wherever its fields live.
    SnapshotEntry<'a> {
        /// Stands for the content.
        content_hash: Sha,
        /// Bytes of content.
        content_length: u64,
        /// The snapshot's number.
        context_id: u64,
        /// When it was made, as text.
        created_at: Text<'a>,
        /// Stands for the metadata.
        metadata_commitment: Option<Sha> => derived,
        /// Nodes in it.
        node_count: u64,
        /// Position among the snapshots of its roadmap, from 0.
        position: u64,
        /// The roadmap it is of.
        roadmap_id: Text<'a>,
        /// Position in the log.
        seq: u64,
    }
}
