//! Nodes of the tree, from leaf hashes and stored tiles.
//!
//! A tile of level `t` holds up to 256 hashes of the nodes of level `8 t`, from the left. Level 0 would be the leaf
//! hashes, which stand with their entries; tiles begin at level 1. The last tile of each level may be incomplete, and tiles
//! may lag behind the leaves: whatever they do not hold is computed from what is below.

use std::collections::HashMap;

use super::{NodeSource, node_hash};
use crate::hash::Sha;

/// Levels of the tree that one level of tiles spans.
pub const TILE_HEIGHT: u8 = 8;
/// Hashes in a complete tile.
pub const TILE_WIDTH: u64 = 1 << TILE_HEIGHT;
/// Blocks of hashes that are remembered.
const REMEMBERED: usize = 1 << 9;

/// Where leaf hashes and tiles are read from.
pub trait TileSource {
    /// Why they could not be read.
    type Error;

    /// Returns the hashes of the leaves from `from` to `to`, without those that are not there.
    fn leaves(&mut self, from: u64, to: u64) -> Result<Vec<Sha>, Self::Error>;
    /// Returns the hashes of a tile; none if it is not stored.
    fn tile(&mut self, level: u8, index: u64) -> Result<Vec<Sha>, Self::Error>;
    /// Says that a hash is in no tile and cannot be computed.
    fn missing(&self, level: u8, index: u64) -> Self::Error;
}

/// Computes nodes; remembers what it read.
pub struct Tiles<S> {
    source: S,
    /// By level of tiles and index, as far as they are stored.
    blocks: HashMap<(u8, u64), Vec<Sha>>,
}

impl<S: TileSource> Tiles<S> {
    /// Starts with nothing remembered.
    pub fn new(source: S) -> Tiles<S> {
        Tiles { source, blocks: HashMap::new() }
    }

    /// Hash `index` of those that the tiles of `level` hold.
    fn hash(&mut self, level: u8, index: u64) -> Result<Sha, S::Error> {
        let (tile, at) = (index / TILE_WIDTH, (index % TILE_WIDTH) as usize);
        if let Some(hash) = self.blocks.get(&(level, tile)).and_then(|block| block.get(at)) {
            return Ok(*hash);
        }
        let mut block = match (level, self.blocks.remove(&(level, tile))) {
            (_, Some(block)) => block,
            (0, None) => self.source.leaves(tile * TILE_WIDTH, (tile + 1) * TILE_WIDTH)?,
            (_, None) => self.source.tile(level, tile)?,
        };
        if level > 0 {
            while block.len() <= at {
                let below = tile * TILE_WIDTH + block.len() as u64;
                let hashes = (0..TILE_WIDTH).map(|at| self.hash(level - 1, below * TILE_WIDTH + at));
                block.push(subtree(hashes.collect::<Result<_, _>>()?));
            }
        }
        if self.blocks.len() >= REMEMBERED {
            self.blocks.clear();
        }
        let hash = block.get(at).copied();
        self.blocks.insert((level, tile), block);
        hash.ok_or_else(|| self.source.missing(level * TILE_HEIGHT, index))
    }
}

impl<S: TileSource> NodeSource for Tiles<S> {
    type Error = S::Error;

    fn node(&mut self, level: u8, index: u64) -> Result<Sha, S::Error> {
        let (tiles, above) = (level / TILE_HEIGHT, level % TILE_HEIGHT);
        let first = index << above;
        let hashes = (first..first + (1 << above)).map(|index| self.hash(tiles, index));
        Ok(subtree(hashes.collect::<Result<_, _>>()?))
    }
}

/// The root over hashes of one level, whose number is a power of two.
pub fn subtree(mut hashes: Vec<Sha>) -> Sha {
    debug_assert!(hashes.len().is_power_of_two());
    while hashes.len() > 1 {
        hashes = hashes.chunks_exact(2).map(|pair| node_hash(&pair[0], &pair[1])).collect();
    }
    hashes[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Edge, inclusion, leaf_hash, root, verify_inclusion};

    /// Leaves, with as many tiles as cover the first `through` of them.
    struct Kept {
        leaves: Vec<Sha>,
        through: usize,
        reads: usize,
    }

    impl TileSource for &mut Kept {
        type Error = String;

        fn leaves(&mut self, from: u64, to: u64) -> Result<Vec<Sha>, String> {
            let all = &self.leaves;
            let found = all[all.len().min(from as usize)..all.len().min(to as usize)].to_vec();
            self.reads += found.len();
            Ok(found)
        }

        fn tile(&mut self, level: u8, index: u64) -> Result<Vec<Sha>, String> {
            self.reads += 1;
            if level > 1 {
                return Ok(Vec::new());
            }
            let covered = &self.leaves[..self.through];
            let all: Vec<Sha> = covered.chunks_exact(256).map(|chunk| subtree(chunk.to_vec())).collect();
            let (from, to) = (index as usize * 256, (index as usize + 1) * 256);
            Ok(all[all.len().min(from)..all.len().min(to)].to_vec())
        }

        fn missing(&self, level: u8, index: u64) -> String {
            format!("{level} {index}")
        }
    }

    #[test]
    fn every_root_and_proof_is_that_of_the_leaves_wherever_the_tiles_end() {
        let leaves: Vec<Sha> = (0..70_000u64).map(|index| leaf_hash(&index.to_be_bytes())).collect();
        let mut edge = Edge::empty();
        let mut roots = vec![edge.root()];
        for leaf in &leaves {
            edge.push(*leaf, &mut |_| {});
            roots.push(edge.root());
        }
        for through in [0, 255, 256, 1000, 65_535, 65_536, 70_000] {
            let mut kept = Kept { leaves: leaves.clone(), through, reads: 0 };
            let mut tiles = Tiles::new(&mut kept);
            for size in [0, 1, 2, 255, 256, 257, 511, 4096, 65_535, 65_536, 65_537, 69_999, 70_000] {
                assert_eq!(
                    root(size, &mut tiles),
                    Ok(roots[size as usize]),
                    "{size} with tiles to {through}"
                );
                for index in [0, size / 3, size.saturating_sub(1)] {
                    if index < size {
                        let proof = inclusion(index, size, &mut tiles).unwrap();
                        let leaf = &leaves[index as usize];
                        assert!(verify_inclusion(leaf, index, size, &proof, &roots[size as usize]));
                    }
                }
            }
        }
    }

    #[test]
    fn with_tiles_a_root_takes_few_reads() {
        let leaves: Vec<Sha> = (0..70_000u64).map(|index| leaf_hash(&index.to_be_bytes())).collect();
        let mut kept = Kept { leaves, through: 70_000, reads: 0 };
        root(70_000, &mut Tiles::new(&mut kept)).unwrap();
        assert!(kept.reads <= 256 + 3, "{} reads", kept.reads);
    }

    #[test]
    fn a_leaf_that_is_not_there_is_named() {
        let mut kept = Kept { leaves: vec![Sha::ZERO; 300], through: 300, reads: 0 };
        assert_eq!(root(301, &mut Tiles::new(&mut kept)), Err("0 300".to_string()));
    }
}
