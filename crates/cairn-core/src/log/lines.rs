//! What receipts and reports of growth share: the hashes of a proof, one a line, a blank line, a checkpoint.

use std::fmt;

use super::checkpoint::{CheckpointError, CheckpointNote};
use crate::hash::Sha;
use crate::note::encoding::{base64, hash_from_base64};

/// The most hashes in a proof; witnesses take no more, and no tree of [`MAX_SIZE`](super::MAX_SIZE) leaves needs
/// more.
pub const MAX_PROOF: usize = 63;

/// Why the lines from the proof on cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinesError {
    /// Something else than a hash in the proof.
    #[error("hash {number} of the proof is not the base64 of 32 bytes")]
    Hash {
        /// Which one, from 1.
        number: usize,
    },
    /// More than [`MAX_PROOF`].
    #[error("a proof has at most {MAX_PROOF} hashes")]
    TooManyHashes,
    /// Nothing separates the proof from a checkpoint.
    #[error("there is no blank line followed by a checkpoint")]
    NoCheckpoint,
    /// The checkpoint cannot be read.
    #[error("the checkpoint cannot be read: {0}")]
    Checkpoint(#[from] CheckpointError),
}

pub(super) fn parse(text: &str) -> Result<(Vec<Sha>, CheckpointNote), LinesError> {
    let (hashes, checkpoint) = match text.strip_prefix('\n') {
        Some(checkpoint) => ("", checkpoint),
        None => text.split_once("\n\n").ok_or(LinesError::NoCheckpoint)?,
    };
    let mut proof = Vec::new();
    // Not `lines`, which would let carriage returns pass; an empty text is no line, though it splits into one.
    for line in hashes.split('\n').take(MAX_PROOF + 1).filter(|_| !hashes.is_empty()) {
        let number = proof.len() + 1;
        proof.push(hash_from_base64(line).ok_or(LinesError::Hash { number })?);
    }
    check(&proof)?;
    Ok((proof, checkpoint.parse()?))
}

pub(super) fn check(proof: &[Sha]) -> Result<(), LinesError> {
    if proof.len() > MAX_PROOF { Err(LinesError::TooManyHashes) } else { Ok(()) }
}

pub(super) fn write(f: &mut fmt::Formatter<'_>, proof: &[Sha], checkpoint: &CheckpointNote) -> fmt::Result {
    proof.iter().try_for_each(|hash| writeln!(f, "{}", base64(&hash.0)))?;
    write!(f, "\n{checkpoint}")
}
