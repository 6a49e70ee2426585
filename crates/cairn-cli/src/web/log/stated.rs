//! What was stated about the log, as far as this machine knows: checkpoints, heads that were seen, witnesses.

use std::collections::HashMap;

use cairn::{Cairn, HeadFolder, SeenHead, Sha, Stated};
use serde::Serialize;

use crate::error::CliError;
use crate::state::StateFolder;
use crate::witness::{Config, Files, Status};

/// A checkpoint in the list.
#[derive(Serialize)]
pub(super) struct Checkpoint {
    pub(super) size: u64,
    pub(super) root: Sha,
    /// When this machine remembered it, if it did: a checkpoint itself has no time.
    pub(super) at: Option<String>,
    /// The ids of the log's own keys whose signatures it bears.
    pub(super) keys: Vec<String>,
    /// Others who signed it.
    pub(super) cosigned_by: Vec<String>,
}

/// What is known of a witness. Where it is and why it failed stay with whoever runs the server.
#[derive(Serialize)]
pub(super) struct WitnessState {
    pub(super) name: String,
    pub(super) kind: &'static str,
    /// Entries in the last head that it took, and when.
    pub(super) size: Option<u64>,
    pub(super) at: Option<String>,
    /// How often in a row it has failed.
    pub(super) failures: u32,
    /// Whether it has seen another past of this log.
    pub(super) contradicts: bool,
}

/// The newest checkpoints, newest first.
pub(super) fn checkpoints(cairn: &Cairn, origin: &str, limit: u64) -> Result<Vec<Checkpoint>, CliError> {
    let heads = StateFolder::find().and_then(|state| HeadFolder::new(state.heads()).read(origin).ok());
    let seen: HashMap<u64, SeenHead> =
        heads.iter().flat_map(|known| known.heads()).map(|(_, head)| (head.size, head.clone())).collect();
    let one = |stated: Stated| {
        let at = seen.get(&stated.size).filter(|head| head.root == stated.root).map(|head| head.at.clone());
        let (mut keys, mut cosigned_by) = (Vec::new(), Vec::new());
        for signer in stated.signed_by {
            match signer.rsplit_once('+') {
                Some((name, id)) if name == origin => keys.push(id.to_string()),
                _ => cosigned_by.push(signer),
            }
        }
        Checkpoint { size: stated.size, root: stated.root, at, keys, cosigned_by }
    };
    Ok(cairn.checkpoints(limit)?.into_iter().map(one).collect())
}

/// The witnesses of a log; none if they cannot be told.
pub(super) fn witnesses(origin: &str) -> Vec<WitnessState> {
    let Some(state) = StateFolder::find() else { return Vec::new() };
    let Ok(config) = Config::load(&state, origin) else { return Vec::new() };
    let files = Files::new(&state, origin);
    let one = |witness: crate::witness::Witness| {
        let status = Status::load(&files, &witness.name);
        WitnessState {
            kind: witness.place.kind(),
            name: witness.name,
            size: status.size,
            at: status.at,
            failures: status.failures,
            contradicts: status.contradicts,
        }
    };
    config.witnesses.into_iter().map(one).collect()
}
