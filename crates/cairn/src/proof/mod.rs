//! What the log can prove to people who do not trust this database: checkpoints, proofs, heads remembered outside.

mod endorse;
mod heads;
mod key_folder;
mod keys;
mod make;
mod opening;
mod signer;
mod standing;
mod thread;

use cairn_core::Sha;
use cairn_core::log::{CheckpointNote, ProofError, Receipt, consistency, inclusion};
use cairn_core::note::{Verdict, VerifyingKey};
use serde::Serialize;

use crate::checked;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{Damage, StoreError};
use crate::tree;

pub(crate) use endorse::Endorsement;
pub(crate) use heads::canonical;
pub use heads::{HeadFolder, Remembered, SeenHead, SeenPlace, place_name, place_path};
pub use key_folder::{KeyFolder, load as load_key, random_key};
pub use keys::{KeyChange, LostLog, RecordedKeyChange};
pub(crate) use make::Maker;
pub(crate) use opening::{comparison_of, gone, refine, refusal};
pub use signer::{GrowthProof, KeySigner, Signer};
pub(crate) use standing::{Comparison, compare};
pub use standing::{Relation, SeenCopy, Standing};
pub(crate) use thread::{Checkpoints, Message};

/// A checkpoint: the log had this size and this root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stated {
    /// The name of the log.
    pub origin: String,
    /// Entries in it.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
    /// The names and ids of the log's keys that it is signed with; whether the signatures hold, `verify` tells. Those of
    /// witnesses stand in the note.
    pub signed_by: Vec<String>,
    /// All of it as a C2SP signed note; without a signature only its text.
    pub note: String,
}

impl Stated {
    /// Whether a key has signed it.
    pub fn is_signed_by(&self, key: &VerifyingKey) -> bool {
        self.note.parse::<CheckpointNote>().is_ok_and(|note| note.verdict(key) == Verdict::Signed)
    }

    fn of(note: &CheckpointNote) -> Stated {
        let own = note.signatures().iter().filter(|line| line.name() == note.checkpoint().origin());
        let signed_by = own.map(|line| format!("{}+{}", line.name(), line.id()));
        Stated {
            origin: note.checkpoint().origin().to_string(),
            size: note.checkpoint().size(),
            root: note.checkpoint().root(),
            signed_by: signed_by.collect(),
            note: note.to_string(),
        }
    }
}

/// That an entry is in the log.
#[derive(Debug, Clone, Serialize)]
pub struct Proof {
    /// Position of the entry in the log.
    pub seq: u64,
    /// Its exact bytes.
    pub leaf: String,
    /// Their hash.
    pub leaf_hash: Sha,
    /// The hashes beside its way to the root, lowest first.
    pub proof: Vec<Sha>,
    /// The checkpoint it leads to.
    pub checkpoint: Stated,
    /// All of it as a C2SP tlog-proof, if the checkpoint is signed.
    pub receipt: Option<String>,
}

/// That the log at a checkpoint extends the log as it was.
#[derive(Debug, Clone, Serialize)]
pub struct Grown {
    /// Entries it had.
    pub old_size: u64,
    /// Its root then.
    pub old_root: Sha,
    /// The hashes that connect the two.
    pub proof: Vec<Sha>,
    /// The checkpoint now.
    pub checkpoint: Stated,
    /// All of it as a witness is told of it (C2SP tlog-witness).
    pub report: String,
}

impl Cairn {
    /// States the log as it is now: signed, if the handle was opened with a signer.
    pub fn checkpoint(&self) -> Result<Stated> {
        self.running()?.checkpoints.now()
    }

    /// The newest checkpoint, if one was made.
    pub fn newest_checkpoint(&self) -> Result<Option<Stated>> {
        let newest = self.inner.store.checkpoint(u64::MAX)?;
        newest.map(|(_, note)| Ok(Stated::of(&make::parse(&note)?))).transpose()
    }

    /// The newest checkpoint of at most a size.
    pub fn checkpoint_at(&self, size: u64) -> Result<Option<Stated>> {
        let found = self.inner.store.checkpoint(size)?;
        found.map(|(_, note)| Ok(Stated::of(&make::parse(&note)?))).transpose()
    }

    /// The newest `limit` checkpoints, newest first.
    pub fn checkpoints(&self, limit: u64) -> Result<Vec<Stated>> {
        let notes = self.inner.store.checkpoints(limit)?;
        notes.iter().map(|note| Ok(Stated::of(&make::parse(note)?))).collect()
    }

    /// Proves that the entry at a position of the log is in it, by the newest checkpoint.
    pub fn prove(&self, seq: u64) -> Result<Proof> {
        let head = self.inner.store.head()?;
        if seq >= head.size {
            return Err(Error::NotFound { what: "log entry", id: seq.to_string() });
        }
        let checkpoint = self.newest_checkpoint()?.filter(|newest| newest.size > seq);
        let checkpoint = checkpoint.ok_or_else(|| uncovered(&format!("log entry {seq}")))?;
        let store = &self.inner.store;
        let proof = inclusion(seq, checkpoint.size, &mut tree::nodes(&**store)).map_err(proof_error)?;
        let leaf = checked::one(
            |visit| store.records(seq, seq + 1, visit),
            |stored, leaf| {
                checked::record(stored, leaf)?;
                Ok(String::from_utf8_lossy(leaf).into_owned())
            },
        )?;
        let leaf = leaf.ok_or_else(|| Damage::at(seq, "it is missing"))?;
        // There is no such form for a checkpoint that nobody signed.
        let receipt = Receipt::new(seq, proof.clone(), make::parse(&checkpoint.note)?, None).ok();
        Ok(Proof {
            seq,
            leaf_hash: cairn_core::log::leaf_hash(leaf.as_bytes()),
            leaf,
            receipt: receipt.map(|receipt| receipt.to_string()),
            proof,
            checkpoint,
        })
    }

    /// Proves that the log of the newest checkpoint extends the log of `old_size` entries.
    pub fn prove_growth(&self, old_size: u64) -> Result<Grown> {
        let head = self.inner.store.head()?;
        if old_size > head.size {
            let message = format!("must be at most {}, the size of the log; found {old_size}", head.size);
            return Err(Error::invalid("size", message));
        }
        let checkpoint = self.newest_checkpoint()?.filter(|newest| newest.size >= old_size);
        let checkpoint = checkpoint.ok_or_else(|| uncovered(&format!("the first {old_size} entries")))?;
        let store = &self.inner.store;
        let mut node = tree::nodes(&**store);
        let proof = consistency(old_size, checkpoint.size, &mut node).map_err(proof_error)?;
        let old_root = cairn_core::log::root(old_size, &mut node)?;
        let report = cairn_core::log::Growth::new(old_size, proof.clone(), make::parse(&checkpoint.note)?)
            .map_err(|error| Error::invalid("size", error))?;
        Ok(Grown { old_size, old_root, proof, checkpoint, report: report.to_string() })
    }
}

pub(crate) fn uncovered(what: &str) -> Error {
    Error::Uncovered { what: what.to_string() }
}

fn proof_error(error: ProofError<StoreError>) -> Error {
    match error {
        ProofError::Source(error) => error.into(),
        other => Error::invalid("size", other),
    }
}

/// The name of the file that holds something of a log: readable, and different for different logs.
fn file_name(origin: &str, extension: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let readable: String = origin.chars().map(plain).take(60).collect();
    let digest = Sha::of(origin.as_bytes()).to_string();
    format!("{}-{}.{extension}", readable.trim_start_matches('.'), &digest[..8])
}
