//! Growing the tree.

use std::convert::Infallible;

use super::{MAX_SIZE, node_hash, proof};
use crate::hash::Sha;

/// A complete subtree: `1 << level` leaves, the first of them leaf `index << level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Height above the leaves.
    pub level: u8,
    /// Place within the level, from the left.
    pub index: u64,
    /// Root hash of the subtree.
    pub hash: Sha,
}

/// A subtree that does not fit at the right edge of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a subtree of level {level} does not fit after {size} leaves")]
pub struct NotAligned {
    /// Leaves in the tree.
    pub size: u64,
    /// Level of the refused subtree.
    pub level: u8,
}

/// What a writer keeps in memory to append: the complete subtrees along the right edge of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    /// The subtree of each level, present where `size` has that bit set and zero elsewhere.
    subtrees: [Sha; 64],
}

impl Edge {
    /// Returns the edge of the tree without leaves.
    pub fn empty() -> Edge {
        Edge { size: 0, subtrees: [Sha::ZERO; 64] }
    }

    /// Returns the number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the root hash of the tree.
    pub fn root(&self) -> Sha {
        let mut subtree = |level: u8, _index| Ok::<_, Infallible>(self.subtrees[usize::from(level)]);
        let Ok(root) = proof::range(0, self.size, &mut subtree);
        root
    }

    /// Appends a leaf hash and reports the nodes above the leaves that it completes, lowest first.
    pub fn push(&mut self, leaf: Sha, completed: &mut impl FnMut(Node)) {
        self.carry(0, leaf, completed);
    }

    /// Appends a complete subtree of `1 << level` leaves, and reports the nodes above it that this completes,
    /// lowest first; the subtree and its inside are known to whoever computed its root.
    pub fn push_subtree(
        &mut self,
        level: u8,
        root: Sha,
        completed: &mut impl FnMut(Node),
    ) -> Result<(), NotAligned> {
        let fits = 1u64.checked_shl(level.into()).is_some_and(|leaves| {
            self.size.is_multiple_of(leaves) && leaves <= MAX_SIZE.saturating_sub(self.size)
        });
        if !fits {
            return Err(NotAligned { size: self.size, level });
        }
        self.carry(level, root, completed);
        Ok(())
    }

    /// Adds one at bit `level` of the size; each carry merges two subtrees into the one above.
    fn carry(&mut self, mut level: u8, mut hash: Sha, completed: &mut impl FnMut(Node)) {
        let leaves = 1 << level;
        while self.size >> level & 1 == 1 {
            // Cleared so that edges of equal trees compare equal.
            let left = std::mem::replace(&mut self.subtrees[usize::from(level)], Sha::ZERO);
            hash = node_hash(&left, &hash);
            level += 1;
            completed(Node { level, index: self.size >> level, hash });
        }
        self.subtrees[usize::from(level)] = hash;
        self.size += leaves;
    }

    /// Returns the `(level, index)` of the nodes that [`load`](Edge::load) wants, from left to right.
    pub fn nodes_needed(size: u64) -> Vec<(u8, u64)> {
        levels(size).rev().map(|level| (level, (size >> level) - 1)).collect()
    }

    /// Restores the edge of a tree of `size` leaves from the hashes of the nodes that
    /// [`nodes_needed`](Edge::nodes_needed) names, in that order. Returns `None` when their number is wrong
    /// or `size` is beyond [`MAX_SIZE`].
    pub fn load(size: u64, hashes: Vec<Sha>) -> Option<Edge> {
        if size > MAX_SIZE || hashes.len() != size.count_ones() as usize {
            return None;
        }
        let mut edge = Edge { size, ..Edge::empty() };
        for (level, hash) in levels(size).rev().zip(hashes) {
            edge.subtrees[usize::from(level)] = hash;
        }
        Some(edge)
    }

    /// Returns the hashes of its subtrees from left to right, 32 bytes each, for [`from_bytes`](Edge::from_bytes).
    pub fn to_bytes(&self) -> Vec<u8> {
        levels(self.size).rev().flat_map(|level| self.subtrees[usize::from(level)].0).collect()
    }

    /// Restores the edge of a tree of `size` leaves. Returns `None` when the bytes are not those of one.
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Option<Edge> {
        let (hashes, rest) = bytes.as_chunks::<32>();
        if !rest.is_empty() {
            return None;
        }
        Edge::load(size, hashes.iter().map(|hash| Sha(*hash)).collect())
    }
}

/// The levels of the complete subtrees that `size` leaves fall into, lowest (and rightmost) first.
pub(super) fn levels(size: u64) -> impl DoubleEndedIterator<Item = u8> {
    (0..64).filter(move |level| size >> level & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{empty_root, leaf_hash};

    fn leaf(index: u64) -> Sha {
        leaf_hash(&index.to_be_bytes())
    }

    fn grown(size: u64) -> (Edge, Vec<Node>) {
        let (mut edge, mut nodes) = (Edge::empty(), Vec::new());
        for index in 0..size {
            edge.push(leaf(index), &mut |node| nodes.push(node));
        }
        (edge, nodes)
    }

    #[test]
    fn a_push_reports_exactly_the_nodes_it_completes() {
        assert_eq!(Edge::empty().root(), empty_root());
        for index in 0..300u64 {
            let (mut edge, _) = grown(index);
            let mut levels = Vec::new();
            edge.push(leaf(index), &mut |node| {
                assert_eq!(
                    (node.index + 1) << node.level,
                    index + 1,
                    "the leaf is the last one below {node:?}"
                );
                levels.push(node.level);
            });
            assert_eq!(levels, (1..=(index + 1).trailing_zeros() as u8).collect::<Vec<_>>());
            assert_eq!(edge.size(), index + 1);
        }
    }

    #[test]
    fn an_edge_is_restored_from_the_nodes_it_names() {
        let (_, nodes) = grown(300);
        for size in 0..300 {
            let find = |&(level, index): &(u8, u64)| match level {
                0 => leaf(index),
                _ => nodes.iter().find(|node| (node.level, node.index) == (level, index)).unwrap().hash,
            };
            let hashes: Vec<Sha> = Edge::nodes_needed(size).iter().map(find).collect();
            assert_eq!(Edge::load(size, hashes.clone()), Some(grown(size).0));
            let bytes = grown(size).0.to_bytes();
            assert_eq!(Edge::from_bytes(size, &bytes), Some(grown(size).0));
            assert_eq!(Edge::from_bytes(size, &[&bytes[..], &[0]].concat()), None);
            assert_eq!(Edge::load(size, [hashes, vec![Sha::ZERO]].concat()), None);
        }
        assert_eq!(Edge::nodes_needed(0b1011), [(3, 0), (1, 4), (0, 10)]);
    }

    #[test]
    fn hostile_sizes_do_not_load() {
        assert_eq!(Edge::load(1, vec![]), None);
        assert_eq!(Edge::load(1 << 63, vec![Sha::ZERO]), None);
        assert_eq!(Edge::load(u64::MAX, vec![Sha::ZERO; 64]), None);
        assert_eq!(Edge::nodes_needed(u64::MAX).len(), 64);
        let mut full = Edge::load(MAX_SIZE, vec![Sha::ZERO; 53]).unwrap();
        assert!(full.push_subtree(0, Sha::ZERO, &mut |_| ()).is_err());
        full.push(Sha::ZERO, &mut |_| ());
        full.root();
    }

    #[test]
    fn subtrees_make_the_same_tree_as_their_leaves() {
        for level in 0..5u8 {
            for size in 0..130u64 {
                let (chunk, leaves) = (1 << level, size);
                let (mut edge, mut nodes) = (Edge::empty(), Vec::new());
                for first in (0..leaves / chunk * chunk).step_by(1 << level) {
                    let mut part = Edge::empty();
                    (first..first + chunk).for_each(|index| {
                        part.push(leaf(index), &mut |node| {
                            nodes.push(Node { index: node.index + (first >> node.level), ..node })
                        })
                    });
                    edge.push_subtree(level, part.root(), &mut |node| nodes.push(node)).unwrap();
                }
                (edge.size()..size).for_each(|index| edge.push(leaf(index), &mut |node| nodes.push(node)));
                assert_eq!((edge, nodes), grown(size));
            }
        }
    }

    #[test]
    fn a_subtree_that_does_not_fit_is_refused_and_changes_nothing() {
        for (size, level) in [(1, 1), (3, 1), (2, 2), (6, 2), (0, 53), (0, 63), (0, 64), (0, 255)] {
            let (mut edge, _) = grown(size);
            let before = edge.clone();
            let refused = edge.push_subtree(level, Sha::ZERO, &mut |_| ());
            assert_eq!(refused, Err(NotAligned { size, level }));
            assert_eq!(edge, before);
        }
    }
}
