//! Making a checkpoint: durable first, recomputed from the stored bytes, then signed, then stored, then remembered
//! outside.

use std::sync::{Arc, Mutex};

use cairn_core::Sha;
use cairn_core::log::{Checkpoint, CheckpointNote, Edge, consistency, leaf_hash};
use cairn_core::note::{Verdict, VerifyingKey};

use super::heads::{HeadFolder, SeenHead};
use super::signer::Signer;
use super::{Stated, proof_error};
use crate::error::{Error, Result};
use crate::options::Clock;
use crate::store::{Store, StoreError};
use crate::writer::Writer;

/// What it takes to make checkpoints.
pub(crate) struct Maker {
    pub store: Arc<dyn Store>,
    pub writer: Arc<Writer>,
    pub signer: Option<Arc<dyn Signer>>,
    pub heads: Option<HeadFolder>,
    pub clock: Clock,
    /// Why the last automatic checkpoint was not made.
    pub failure: Arc<Mutex<Option<String>>>,
}

impl Maker {
    /// States the log as it is now. If it was stated at this size before, and is signed as well as it can be, that
    /// checkpoint is returned.
    pub fn make(&self) -> Result<Stated> {
        self.store.sync()?;
        let head = self.store.head()?;
        let before = self.store.checkpoint(head.size)?.map(|(_, note)| parse(&note)).transpose()?;
        if let Some(before) = before.as_ref().filter(|before| before.checkpoint().size() == head.size) {
            if before.checkpoint().root() != head.root || before.checkpoint().origin() != head.origin {
                return Err(not_matching(head.size));
            }
            let stated = Stated::of(before);
            self.remember(&stated, &[])?;
            return Ok(stated);
        }
        let root = self.recompute(before.as_ref().map(CheckpointNote::checkpoint), head.size)?;
        if root != head.root {
            return Err(not_matching(head.size));
        }
        let checkpoint = Checkpoint::new(&head.origin, head.size, root)
            .map_err(|error| StoreError::Other(format!("the log cannot be stated: {error}")))?;
        let (note, keys) = self.sign(&checkpoint)?;
        let stated = Stated::of(&note);
        let (size, text) = (stated.size, stated.note.clone());
        self.writer.write_now(move |step| step.state(size, &text))?;
        self.remember(&stated, &keys)?;
        Ok(stated)
    }

    /// Remembers why an automatic checkpoint was not made, or that one was.
    pub fn note_failure(&self, failure: Option<&Error>) {
        if let Ok(mut noted) = self.failure.lock() {
            *noted = failure.map(ToString::to_string);
        }
    }

    /// How far the log was stated, as far as is known.
    pub fn stated_size(&self) -> u64 {
        self.store.checkpoint(u64::MAX).ok().flatten().map_or(0, |(size, _)| size)
    }

    /// The root of the log at `size`, from the last checkpoint and the bytes of every entry since: never from hashes
    /// that were stored beside them.
    fn recompute(&self, before: Option<&Checkpoint>, size: u64) -> Result<Sha> {
        let mut edge = match before {
            None => Edge::empty(),
            Some(before) => {
                let hashes = Edge::nodes_needed(before.size())
                    .into_iter()
                    .map(|(level, index)| self.store.node(level, index))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                Edge::load(before.size(), hashes)
                    .filter(|edge| edge.root() == before.root())
                    .ok_or_else(|| not_matching(before.size()))?
            }
        };
        let mut sound = true;
        self.store.leaves(edge.size(), size, &mut |leaf, stored| {
            let hash = leaf_hash(leaf);
            sound &= hash.0 == stored;
            edge.push(hash, &mut |_| {});
        })?;
        if !sound || edge.size() != size {
            return Err(not_matching(size));
        }
        Ok(edge.root())
    }

    fn sign(&self, checkpoint: &Checkpoint) -> Result<(CheckpointNote, Vec<VerifyingKey>)> {
        let mut note = CheckpointNote::from(checkpoint.clone());
        let Some(signer) = &self.signer else { return Ok((note, Vec::new())) };
        let not_signed =
            |why: String| Error::Store(StoreError::Other(format!("the log was not signed: {why}")));
        let mut growth = |old: u64| {
            consistency(old, checkpoint.size(), &mut |level, index| self.store.node(level, index))
                .map_err(proof_error)
        };
        let signatures = signer.sign(checkpoint, &mut growth).map_err(not_signed)?;
        for signature in signatures {
            note.add(signature).map_err(|error| not_signed(error.to_string()))?;
        }
        let key = signer.key(checkpoint.origin()).map_err(not_signed)?;
        // What is handed out must hold: a signature that does not verify is worse than none.
        match &key {
            Some(key) if note.verdict(key) == Verdict::Signed => {}
            _ => return Err(not_signed("the signature does not verify with the signer's own key".into())),
        }
        Ok((note, key.into_iter().collect()))
    }

    fn remember(&self, stated: &Stated, keys: &[VerifyingKey]) -> Result<()> {
        let (Some(heads), Some(database)) = (&self.heads, self.store.place()) else { return Ok(()) };
        let head = SeenHead { size: stated.size, root: stated.root, at: (self.clock)().to_string() };
        heads
            .remember(&stated.origin, database, &head, keys)
            .map_err(|error| Error::Store(StoreError::Other(format!("the head was not remembered: {error}"))))
    }
}

/// Reads a stored note.
pub(super) fn parse(note: &str) -> Result<CheckpointNote> {
    let damaged = |error| StoreError::Damaged(format!("a checkpoint cannot be read: {error}"));
    Ok(note.parse().map_err(damaged)?)
}

fn not_matching(size: u64) -> Error {
    let what = format!(
        "the log does not match its own entries or checkpoints up to entry {size}; nothing was signed"
    );
    StoreError::Damaged(what).into()
}
