//! Proving that a leaf is in the log and that a log only grew, and checking such proofs.

use super::tree::levels;
use super::{empty_root, node_hash};
use crate::hash::Sha;

/// Where complete nodes are read from. Closures `|level, index| -> Result<Sha, E>` are sources too.
pub trait NodeSource {
    /// Why a node could not be read.
    type Error;

    /// Returns the hash of a complete node; level 0 holds the leaf hashes.
    fn node(&mut self, level: u8, index: u64) -> Result<Sha, Self::Error>;
}

impl<F, E> NodeSource for F
where
    F: FnMut(u8, u64) -> Result<Sha, E>,
{
    type Error = E;

    fn node(&mut self, level: u8, index: u64) -> Result<Sha, E> {
        self(level, index)
    }
}

/// Why there is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError<E> {
    /// The tree has no such leaf.
    #[error("no leaf {index} in a log of {size}")]
    NoSuchLeaf {
        /// The leaf asked for.
        index: u64,
        /// Leaves in the tree.
        size: u64,
    },
    /// The older tree is larger than the newer one.
    #[error("a log of {old} leaves does not grow into one of {new}")]
    Shrinks {
        /// Leaves in the older tree.
        old: u64,
        /// Leaves in the newer tree.
        new: u64,
    },
    /// A node could not be read.
    #[error(transparent)]
    Source(#[from] E),
}

/// Returns the root of the first `size` leaves.
pub fn root<S: NodeSource + ?Sized>(size: u64, source: &mut S) -> Result<Sha, S::Error> {
    range(0, size, source)
}

/// Returns the proof that leaf `index` is in the tree of `size` leaves: the siblings on its way to the root,
/// lowest first.
pub fn inclusion<S: NodeSource + ?Sized>(
    index: u64,
    size: u64,
    source: &mut S,
) -> Result<Vec<Sha>, ProofError<S::Error>> {
    if index >= size {
        return Err(ProofError::NoSuchLeaf { index, size });
    }
    let (mut low, mut high, mut proof) = (0, size, Vec::new());
    while high - low > 1 {
        let middle = low + left_part(high - low);
        if index < middle {
            proof.push(range(middle, high, source).map_err(ProofError::Source)?);
            high = middle;
        } else {
            proof.push(range(low, middle, source).map_err(ProofError::Source)?);
            low = middle;
        }
    }
    proof.reverse();
    Ok(proof)
}

/// Returns the proof that the tree of `new` leaves begins with the tree of `old` leaves. It is empty when they
/// are equal or the older tree has no leaves.
pub fn consistency<S: NodeSource + ?Sized>(
    old: u64,
    new: u64,
    source: &mut S,
) -> Result<Vec<Sha>, ProofError<S::Error>> {
    if old > new {
        return Err(ProofError::Shrinks { old, new });
    }
    let (mut low, mut high, mut proof) = (0, new, Vec::new());
    if old == 0 {
        return Ok(proof);
    }
    while high != old {
        let middle = low + left_part(high - low);
        if old <= middle {
            proof.push(range(middle, high, source).map_err(ProofError::Source)?);
            high = middle;
        } else {
            proof.push(range(low, middle, source).map_err(ProofError::Source)?);
            low = middle;
        }
    }
    // From 0 the remaining subtree is the older tree itself, whose root the verifier has.
    if low != 0 {
        proof.push(range(low, high, source).map_err(ProofError::Source)?);
    }
    proof.reverse();
    Ok(proof)
}

/// Tells whether `proof` shows that the leaf with this hash is leaf `index` of the tree of `size` leaves with
/// this `root`.
///
/// A proof alone does not fix the size: `size` and `root` must come from one trusted statement.
pub fn verify_inclusion(leaf_hash: &Sha, index: u64, size: u64, proof: &[Sha], root: &Sha) -> bool {
    if index >= size {
        return false;
    }
    let mut climb = Climb { node: index, last: size - 1 };
    let mut hash = *leaf_hash;
    for sibling in proof {
        match climb.sibling() {
            Some(Side::Left) => hash = node_hash(sibling, &hash),
            Some(Side::Right) => hash = node_hash(&hash, sibling),
            None => return false,
        }
    }
    climb.is_at_root() && hash == *root
}

/// Tells whether `proof` shows that the tree of `new` leaves with root `new_root` begins with the tree of
/// `old` leaves with root `old_root`.
pub fn verify_consistency(old: u64, new: u64, old_root: &Sha, new_root: &Sha, proof: &[Sha]) -> bool {
    if old > new {
        return false;
    }
    if old == 0 {
        return proof.is_empty() && *old_root == empty_root() && (new > 0 || new_root == old_root);
    }
    if old == new {
        return proof.is_empty() && old_root == new_root;
    }
    // The proof starts from the last complete subtree of the older tree. When that is the whole older tree,
    // its root stands in for the omitted hash.
    let (start, proof) = match proof.split_first() {
        _ if old.is_power_of_two() => (old_root, proof),
        Some((first, rest)) => (first, rest),
        None => return false,
    };
    let level = old.trailing_zeros();
    let mut climb = Climb { node: (old - 1) >> level, last: (new - 1) >> level };
    let (mut old_hash, mut new_hash) = (*start, *start);
    for sibling in proof {
        match climb.sibling() {
            Some(Side::Left) => {
                old_hash = node_hash(sibling, &old_hash);
                new_hash = node_hash(sibling, &new_hash);
            }
            Some(Side::Right) => new_hash = node_hash(&new_hash, sibling),
            None => return false,
        }
    }
    climb.is_at_root() && old_hash == *old_root && new_hash == *new_root
}

enum Side {
    Left,
    Right,
}

/// The way from a node to the root, RFC 9162 sections 2.1.3.2 and 2.1.4.2: `node` and the `last` node of its
/// level.
struct Climb {
    node: u64,
    last: u64,
}

impl Climb {
    /// Returns the side of the next sibling and goes up, or `None` at the root.
    fn sibling(&mut self) -> Option<Side> {
        if self.is_at_root() {
            return None;
        }
        let side = if self.node & 1 == 1 || self.node == self.last { Side::Left } else { Side::Right };
        if self.node == self.last {
            // The right edge has no sibling where the level above is reached unpaired.
            let unpaired = self.node.trailing_zeros();
            self.node >>= unpaired;
            self.last >>= unpaired;
        }
        self.node >>= 1;
        self.last >>= 1;
        Some(side)
    }

    fn is_at_root(&self) -> bool {
        self.last == 0
    }
}

/// Returns the root over the leaves `low..high`, where `low` is a multiple of a power of two not below their
/// number, as it always is in the recursion of the RFC.
pub(super) fn range<S: NodeSource + ?Sized>(low: u64, high: u64, source: &mut S) -> Result<Sha, S::Error> {
    let mut root = None;
    for level in levels(high - low) {
        let left = source.node(level, (high >> level) - 1)?;
        root = Some(root.map_or(left, |right| node_hash(&left, &right)));
    }
    Ok(root.unwrap_or_else(empty_root))
}

/// Returns how many of `leaves` are left of the root: the largest power of two below their number.
fn left_part(leaves: u64) -> u64 {
    1 << (leaves - 1).ilog2()
}
