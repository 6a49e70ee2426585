//! Making a checkpoint: durable first, recomputed from the stored bytes, then signed, then stored, then remembered
//! outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cairn_core::Sha;
use cairn_core::entry::KeyOp;
use cairn_core::log::{Checkpoint, CheckpointNote, Edge, NodeSource, consistency, leaf_hash};
use cairn_core::note::{Verdict, VerifyingKey};

use super::heads::{HeadFolder, Remembered, SeenHead, place_name};
use super::keys::{RecordedKeyChange, key_changes};
use super::signer::Signer;
use super::strange::strange;
use super::{Stated, proof_error};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::{LogHead, Store, StoreError};
use crate::tree;
use crate::writer::Writer;

/// How an entry about keys can be told from others without reading all of it.
const KEY_ENTRY: &[u8] = b"\"kind\":\"key\"";

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
    /// Up to where it was seen that no stranger's key is introduced since the signer's last checkpoint.
    pub own_keys_to: AtomicU64,
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
        let vouched = self.vouched_to(&ours, head.size)?;
        let stated_before = before.as_ref().map(CheckpointNote::checkpoint);
        let (root, added) = self.recompute(stated_before, vouched, head.size)?;
        if root != head.root {
            return Err(not_matching(head.size));
        }
        let checkpoint = Checkpoint::new(&head.origin, head.size, root)
            .map_err(|error| StoreError::Other(format!("the log cannot be stated: {error}")))?;
        if signer.is_some() {
            self.refuse_strange_keys(&ours, &added, &checkpoint)?;
        }
        let (note, keys) = self.sign(signer, &checkpoint)?;
        let stated = Stated::of(&note);
        let (size, text) = (stated.size, stated.note.clone());
        self.writer.write_now(move |step| step.state(size, &text))?;
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
        let added = key_changes(&*self.store)?.into_iter().filter(|change| change.op == KeyOp::Add);
        Ok(added.map(|change| change.vkey).collect())
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

    /// Up to which size one of these keys has signed the log: for what it introduces up to there they vouch already.
    fn vouched_to(&self, ours: &[VerifyingKey], size: u64) -> Result<u64> {
        let seen = self.own_keys_to.load(Ordering::Relaxed);
        if seen > 0 || ours.is_empty() {
            return Ok(seen);
        }
        let mut at_most = size;
        while let Some((stated, note)) = self.store.checkpoint(at_most)? {
            let note = parse(&note)?;
            if ours.iter().any(|key| note.verdict(key) == Verdict::Signed) {
                return Ok(stated);
            }
            at_most = stated.saturating_sub(1);
        }
        Ok(0)
    }

    /// The root of the log at `size`, from the last checkpoint and the bytes of every entry since: never from hashes
    /// that were stored beside them. With it the keys that entries from `vouched` on introduce, told by their bytes as
    /// well: what else is stored about an entry is not signed.
    fn recompute(
        &self,
        before: Option<&Checkpoint>,
        vouched: u64,
        size: u64,
    ) -> Result<(Sha, Vec<RecordedKeyChange>)> {
        let mut edge = match before {
            None => Edge::empty(),
            Some(before) => {
                let mut nodes = tree::nodes(&*self.store);
                let hashes = Edge::nodes_needed(before.size())
                    .into_iter()
                    .map(|(level, index)| nodes.node(level, index))
                    .collect::<std::result::Result<Vec<_>, _>>()?;
                Edge::load(before.size(), hashes)
                    .filter(|edge| edge.root() == before.root())
                    .ok_or_else(|| not_matching(before.size()))?
            }
        };
        let (mut sound, mut added) = (true, Vec::new());
        let mut seq = vouched.min(edge.size());
        self.store.leaves(seq, size, &mut |leaf, stored| {
            let hash = leaf_hash(leaf);
            sound &= hash.0 == stored;
            if seq == edge.size() {
                edge.push(hash, &mut |_| {});
            }
            if seq >= vouched && memchr::memmem::find(leaf, KEY_ENTRY).is_some() {
                added.extend(RecordedKeyChange::read(seq, leaf).filter(|change| change.op == KeyOp::Add));
            }
            seq += 1;
        })?;
        if !sound || edge.size() != size {
            return Err(not_matching(size));
        }
        Ok((edge.root(), added))
    }

    /// Refuses to sign a part of the log in which somebody else's key is introduced.
    fn refuse_strange_keys(
        &self,
        ours: &[VerifyingKey],
        added: &[RecordedKeyChange],
        checkpoint: &Checkpoint,
    ) -> Result<()> {
        let is_ours = |change: &RecordedKeyChange| ours.iter().any(|key| key.to_string() == change.vkey);
        if !added.iter().all(is_ours) {
            let remembered = self.heads.as_ref().and_then(|heads| heads.read(checkpoint.origin()).ok());
            let remembered = remembered.map(|remembered| remembered.keys()).unwrap_or_default();
            let notes = self.store.checkpoints(u64::MAX)?;
            let notes: Vec<CheckpointNote> = notes.iter().filter_map(|note| note.parse().ok()).collect();
            let mut changes = key_changes(&*self.store)?;
            // Also one that is stored as something else.
            changes.extend(
                added
                    .iter()
                    .filter(|change| !changes.iter().any(|known| known.seq == change.seq))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            changes.sort_by_key(|change| change.seq);
            if let Some(change) = strange(ours, &remembered, &changes, &notes) {
                return Err(not_signed(format!(
                    "log entry {} introduces the key `{}`, which is none of the signer's; whoever wrote that could sign \
                     in this log's name. Find out who did; if nobody should have, begin a new log with `cairn log new`",
                    change.seq, change.vkey
                )));
            }
        }
        self.own_keys_to.store(checkpoint.size(), Ordering::Relaxed);
        Ok(())
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
