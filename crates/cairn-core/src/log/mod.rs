//! The Merkle log of RFC 9162 (SHA-256, the tree of RFC 6962): one root commits to every leaf and their order.
//!
//! A node is addressed by `(level, index)`: level 0 holds the leaf hashes, and node `index` of level `level`
//! covers the leaves from `index << level`, `1 << level` of them. Only complete subtrees are nodes; where
//! they are kept is the caller's matter.
//!
//! What leaves the log is text, in the formats that transparency logs share: a [`Checkpoint`] with its signatures,
//! a [`Receipt`] for one entry, a [`Growth`] for those who remember an older checkpoint.

mod checkpoint;
mod growth;
mod keyring;
mod lines;
mod proof;
mod receipt;
mod tiles;
mod tree;

pub use checkpoint::{Checkpoint, CheckpointError, CheckpointNote, MAX_ORIGIN, Untrusted};
pub use growth::{Growth, GrowthError};
pub use keyring::{Keyring, TrustedKey};
pub use lines::{LinesError, MAX_PROOF};
pub use proof::{NodeSource, ProofError, consistency, inclusion, root, verify_consistency, verify_inclusion};
pub use receipt::{Receipt, ReceiptError};
pub use tiles::{TILE_HEIGHT, TILE_WIDTH, TileSource, Tiles, subtree};
pub use tree::{Edge, Node, NotAligned};

use crate::hash::Sha;

/// The largest number of leaves: a size is a JSON number in checkpoints and leaves, so it stays exact.
pub const MAX_SIZE: u64 = crate::canonical::MAX_INTEGER;

/// Returns the hash of a leaf with these bytes.
pub fn leaf_hash(leaf: &[u8]) -> Sha {
    Sha::of_parts(&[&[0], leaf])
}

/// Returns the hash of the node above `left` and `right`.
pub fn node_hash(left: &Sha, right: &Sha) -> Sha {
    let mut bytes = [1; 65];
    bytes[1..33].copy_from_slice(&left.0);
    bytes[33..].copy_from_slice(&right.0);
    Sha::of(&bytes)
}

/// Returns the root of the tree without leaves.
pub fn empty_root() -> Sha {
    Sha::of(b"")
}
