//! The tree over the log, as far as it is stored.

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::log::{TILE_WIDTH, TileSource, Tiles};

use crate::store::{Audit, Store, StoreError};

/// Nodes of the tree of a store.
pub(crate) fn nodes(store: &dyn Store) -> Tiles<Stored<'_>> {
    Tiles::new(Stored(store))
}

/// Nodes of the tree of one state of a store.
pub(crate) type Nodes<'a> = Tiles<Audited<'a>>;

/// Nodes of the tree of one state of a store, which has `size` entries. A missing hash is zeros: no proof holds with it.
pub(crate) fn audited(audit: &dyn Audit, size: u64) -> Nodes<'_> {
    Tiles::new(Audited { audit, size, computed: None, corrected: HashMap::new() })
}

/// The same without any belief in stored tiles: `computed` holds all of those of level 1, one after the other.
/// `corrected` holds the entries whose stored hash is wrong.
pub(crate) fn recomputed(
    audit: &dyn Audit,
    size: u64,
    computed: Vec<Sha>,
    corrected: HashMap<u64, Sha>,
) -> Nodes<'_> {
    Tiles::new(Audited { audit, size, computed: Some(computed), corrected })
}

fn missing(level: u8, index: u64) -> StoreError {
    StoreError::Damaged(format!("node {index} of level {level} of the tree is missing"))
}

pub(crate) struct Stored<'s>(&'s dyn Store);

impl TileSource for Stored<'_> {
    type Error = StoreError;

    fn leaves(&mut self, from: u64, to: u64) -> Result<Vec<Sha>, StoreError> {
        self.0.leaf_hashes(from, to)
    }

    fn tile(&mut self, level: u8, index: u64) -> Result<Vec<Sha>, StoreError> {
        self.0.tile(level, index)
    }

    fn missing(&self, level: u8, index: u64) -> StoreError {
        missing(level, index)
    }
}

pub(crate) struct Audited<'a> {
    audit: &'a dyn Audit,
    size: u64,
    computed: Option<Vec<Sha>>,
    corrected: HashMap<u64, Sha>,
}

impl TileSource for Audited<'_> {
    type Error = StoreError;

    fn leaves(&mut self, from: u64, to: u64) -> Result<Vec<Sha>, StoreError> {
        let to = to.min(self.size);
        let mut hashes = Vec::with_capacity(to.saturating_sub(from) as usize);
        let (mut next, corrected) = (from, &self.corrected);
        self.audit.leaf_hashes(from, to, &mut |seq, hash| {
            if seq == next {
                let stored = hash.try_into().map_or(Sha::ZERO, Sha);
                hashes.push(corrected.get(&seq).copied().unwrap_or(stored));
                next += 1;
            }
        })?;
        match next < to {
            true => Err(StoreError::Damaged(format!("log entry {next} is missing"))),
            false => Ok(hashes),
        }
    }

    fn tile(&mut self, level: u8, index: u64) -> Result<Vec<Sha>, StoreError> {
        if let Some(computed) = &self.computed {
            // Those above are computed from these.
            let first = if level == 1 { index.saturating_mul(TILE_WIDTH) } else { u64::MAX };
            let from = computed.len().min(usize::try_from(first).unwrap_or(usize::MAX));
            let to = computed.len().min(from + TILE_WIDTH as usize);
            return Ok(computed[from..to].to_vec());
        }
        let bytes = self.audit.tile(level, index)?.unwrap_or_default();
        Ok(bytes.as_chunks::<32>().0.iter().map(|hash| Sha(*hash)).collect())
    }

    fn missing(&self, level: u8, index: u64) -> StoreError {
        missing(level, index)
    }
}
