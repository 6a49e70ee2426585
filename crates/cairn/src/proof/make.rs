//! Making a checkpoint: durable first, recomputed from the stored bytes, then signed, then stored, then remembered
//! outside.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cairn_core::entry::KeyOp;
use cairn_core::log::{Checkpoint, CheckpointNote, Edge, NodeSource, consistency, leaf_hash};
use cairn_core::note::{Verdict, VerifyingKey};

use super::heads::{HeadFolder, Remembered, SeenHead, place_name};
use super::keys::key_entries;
use super::signer::Signer;
use super::{Stated, proof_error};
use crate::checked::{self, Checked};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::{LogHead, Store, StoreError};
use crate::tree;
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
    /// Whether the log was seen to know a key of the signer's.
    pub introduced: OnceLock<()>,
    /// The edge of the tree at the newest checkpoint of this process: entries before it are not read again.
    pub covered: Mutex<Option<Edge>>,
    /// Why checkpoints are not signed although there is a signer.
    pub unsigned: Mutex<Option<String>>,
}

impl Maker {
    /// States the log as it is now. If it was stated at this size before, that checkpoint is returned; one that nobody
    /// could sign then is signed now.
    pub fn make(&self) -> Result<Stated> {
        let signer = self.signer()?;
        let head = self.store.head()?;
        // After it was read: what came later is not stated, and all that is stated must last.
        self.store.sync()?;
        let before = self.store.checkpoint(head.size)?.map(|(_, note)| parse(&note)).transpose()?;
        if let Some(before) = before.as_ref().filter(|before| before.checkpoint().size() == head.size) {
            if before.checkpoint().root() != head.root || before.checkpoint().origin() != head.origin {
                return Err(not_matching(head.size));
            }
            if before.is_signed() || signer.is_none() {
                let stated = Stated::of(before);
                // It may not have been remembered when it was made.
                let keys = signer.map(|signer| signer.keys(&head.origin)).transpose().map_err(not_signed)?;
                let signed = keys.into_iter().flatten().filter(|key| before.verdict(key) == Verdict::Signed);
                self.remember(&stated, &signed.collect::<Vec<_>>())?;
                return Ok(stated);
            }
        }
        let ours = signer
            .map(|signer| signer.keys(&head.origin))
            .transpose()
            .map_err(not_signed)?
            .unwrap_or_default();
        let edge = self.recompute(before.as_ref(), &ours, head.size)?;
        let root = edge.root();
        if root != head.root {
            return Err(not_matching(head.size));
        }
        let checkpoint = Checkpoint::new(&head.origin, head.size, root)
            .map_err(|error| StoreError::Other(format!("the log cannot be stated: {error}")))?;
        let (note, keys) = self.sign(signer, &checkpoint)?;
        let stated = Stated::of(&note);
        let (size, text) = (stated.size, stated.note.clone());
        self.writer.write_now(move |step| step.state(size, &text))?;
        *self.covered.lock().unwrap_or_else(PoisonError::into_inner) = Some(edge);
        // Whoever remembers the key expects to find a checkpoint that it signed.
        self.store.sync()?;
        self.remember(&stated, &keys)?;
        Ok(stated)
    }

    /// Who signs. The first key of a log is introduced by an entry of its own, and later ones by those who have an
    /// earlier one; a key that the log does not know signs nothing, since nobody could tell it from a forger's.
    fn signer(&self) -> Result<Option<&dyn Signer>> {
        let Some(signer) = self.signer.as_deref() else { return Ok(None) };
        if self.introduced.get().is_some() {
            return Ok(Some(signer));
        }
        let origin = self.store.head()?.origin;
        let mut known = self.known_keys()?;
        if known.is_empty() {
            let key = signer.first_key(&origin).map_err(not_signed)?;
            self.writer.write_now(move |step| step.append_first_key(&key))?;
            known = self.known_keys()?;
        }
        let ours = signer.keys(&origin).map_err(not_signed)?;
        if ours.iter().any(|key| known.contains(&key.to_string())) {
            let _ = self.introduced.set(());
            return Ok(Some(signer));
        }
        let ids: Vec<&str> = known.iter().filter_map(|key| key.split('+').nth(1)).collect();
        *self.unsigned.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!(
            "checkpoints made here are not signed: this log is signed with key {}, which is not here",
            ids.join(", ")
        ));
        Ok(None)
    }

    /// The keys that the log introduces.
    fn known_keys(&self) -> Result<Vec<String>> {
        let added = key_entries(&*self.store)?.into_iter().filter(|change| change.op == KeyOp::Add);
        Ok(added.map(|change| change.vkey.into_owned()).collect())
    }

    /// Remembers why an automatic checkpoint was not made, or that one was.
    pub fn note_failure(&self, failure: Option<&Error>) {
        if let Ok(mut noted) = self.failure.lock() {
            let unsigned = || self.unsigned.lock().ok().and_then(|unsigned| unsigned.clone());
            *noted = failure.map(ToString::to_string).or_else(unsigned);
        }
    }

    /// How far the log was stated, as far as is known.
    pub fn stated_size(&self) -> u64 {
        self.store.checkpoint(u64::MAX).ok().flatten().map_or(0, |(size, _)| size)
    }

    /// The checkpoint from which the log is recomputed where this process has made none. Somebody who signs starts from the
    /// newest one with their own signature: others may have written the later ones.
    fn base(&self, newest: Option<&CheckpointNote>, ours: &[VerifyingKey]) -> Result<Option<Checkpoint>> {
        let mut found = newest.cloned();
        while let Some(note) = &found {
            if ours.is_empty() || ours.iter().any(|key| note.verdict(key) == Verdict::Signed) {
                break;
            }
            let size = note.checkpoint().size();
            let older = if size == 0 { None } else { self.store.checkpoint(size - 1)? };
            found = older.map(|(_, note)| parse(&note)).transpose()?;
        }
        Ok(found.map(|note| note.checkpoint().clone()))
    }

    /// The edge of the log's tree at `size`, from an earlier checkpoint and every record since: never from hashes that are
    /// stored beside them.
    fn recompute(&self, newest: Option<&CheckpointNote>, ours: &[VerifyingKey], size: u64) -> Result<Edge> {
        let covered = self.covered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut edge = match covered {
            Some(edge) => edge,
            None => self.base(newest, ours)?.map_or(Ok(Edge::empty()), |base| self.edge_at(&base))?,
        };
        if edge.size() > size {
            return Err(not_matching(edge.size()));
        }
        let (mut sound, mut leaf) = (true, Vec::new());
        self.store.records(edge.size(), size, &mut |stored| match checked::record(stored, &mut leaf) {
            Ok(Checked { seq, .. }) if seq == edge.size() => {
                edge.push(leaf_hash(&leaf), &mut |_| {});
                ControlFlow::Continue(())
            }
            _ => {
                sound = false;
                ControlFlow::Break(())
            }
        })?;
        if !sound || edge.size() != size {
            return Err(not_matching(size));
        }
        Ok(edge)
    }

    /// The edge of the log's tree at a checkpoint, from stored nodes that give its root.
    fn edge_at(&self, base: &Checkpoint) -> Result<Edge> {
        let mut nodes = tree::nodes(&*self.store);
        let hashes = Edge::nodes_needed(base.size())
            .into_iter()
            .map(|(level, index)| nodes.node(level, index))
            .collect::<std::result::Result<Vec<_>, _>>()?;
        Edge::load(base.size(), hashes)
            .filter(|edge| edge.root() == base.root())
            .ok_or_else(|| not_matching(base.size()))
    }

    fn sign(
        &self,
        signer: Option<&dyn Signer>,
        checkpoint: &Checkpoint,
    ) -> Result<(CheckpointNote, Vec<VerifyingKey>)> {
        let mut note = CheckpointNote::from(checkpoint.clone());
        let Some(signer) = signer else { return Ok((note, Vec::new())) };
        let mut growth = |old: u64| {
            consistency(old, checkpoint.size(), &mut tree::nodes(&*self.store)).map_err(proof_error)
        };
        let signatures = signer.sign(checkpoint, &mut growth).map_err(not_signed)?;
        for signature in signatures {
            note.add(signature).map_err(|error| not_signed(error.to_string()))?;
        }
        let keys = signer.keys(checkpoint.origin()).map_err(not_signed)?;
        // What is handed out must hold: a signature that does not verify is worse than none.
        match keys.iter().all(|key| note.verdict(key) == Verdict::Signed) {
            true if !keys.is_empty() => {}
            _ => return Err(not_signed("the signature does not verify with the signer's own key".into())),
        }
        Ok((note, keys))
    }

    fn remember(&self, stated: &Stated, keys: &[VerifyingKey]) -> Result<()> {
        if self.heads.is_none() {
            return Ok(());
        }
        let head = SeenHead {
            size: stated.size,
            root: stated.root,
            at: self.clock.shown().to_string(),
            stated: true,
        };
        self.remember_head(&stated.origin, head, keys)
    }

    /// Remembers a log that no checkpoint states yet, so that its loss is noticed.
    pub fn remember_unstated(&self) -> Result<()> {
        let LogHead { origin, size, root } = self.store.head()?;
        self.store.sync()?;
        // Not by the clock of the handle: tests count its calls, and this one comes at any moment.
        let at = format!("{:.3}", jiff::Timestamp::now());
        let head = SeenHead { size, root, at, stated: false };
        self.remember_head(&origin, head, &[])
    }

    fn remember_head(&self, origin: &str, head: SeenHead, keys: &[VerifyingKey]) -> Result<()> {
        let (Some(heads), Some(database)) = (&self.heads, self.store.place()) else { return Ok(()) };
        let failed = |error| Error::Store(StoreError::Other(format!("the head was not remembered: {error}")));
        let known = heads.read(origin).map_err(failed)?;
        let mut seen = self.heads_between(&known, &place_name(database), &head)?;
        seen.push(head);
        heads.remember(origin, database, &seen, keys).map_err(failed)
    }

    /// The heads of this log at the sizes at which other copies of it were seen, up to `newest`, shortest first. A file
    /// may have been moved or copied here: then its checkpoints are expected here from now on. And the others can tell
    /// from these heads that this log has grown apart.
    fn heads_between(&self, known: &Remembered, here: &str, newest: &SeenHead) -> Result<Vec<SeenHead>> {
        let after = known.places.get(here).and_then(|own| own.heads.last()).map_or(0, |own| own.size);
        let elsewhere: BTreeMap<u64, &SeenHead> = known
            .heads()
            .filter(|(place, head)| *place != here && head.size > after && head.size < newest.size)
            .map(|(_, head)| (head.size, head))
            .collect();
        let own = |(size, head): (u64, &SeenHead)| {
            let root = cairn_core::log::root(size, &mut tree::nodes(&*self.store))?;
            let stated = self.store.checkpoint(size)?.is_some_and(|(stated, _)| stated == size);
            let at = if root == head.root { &head.at } else { &newest.at };
            Ok(SeenHead { size, root, at: at.clone(), stated })
        };
        elsewhere.into_iter().map(own).collect()
    }
}

fn not_signed(why: String) -> Error {
    Error::Store(StoreError::Other(format!("the log was not signed: {why}")))
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
