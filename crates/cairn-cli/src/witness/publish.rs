//! Giving a head to witnesses: all at once, for a bounded time, and never to the harm of who records.

use std::sync::mpsc::channel;

use cairn::{Cairn, Stated};

use super::config::{Config, Place, Witness};
use super::files::Files;
use super::status::Status;
use super::{
    Deadline, Failure, Head, PATIENCE, PATIENCE_WHEN_ASKED, command, file, git, http, in_background, now,
    timestamp,
};
use crate::state::StateFolder;

/// Whether somebody waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Nobody: a witness gets the head if it is its time.
    WhenDue,
    /// Somebody asked: each witness gets it.
    Now,
}

/// What became of it with one witness.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    pub(crate) witness: Witness,
    pub(crate) outcome: Result<Head, Failure>,
}

/// Gives a checkpoint to the witnesses of its log, and notes with each what became of it. Those that are not due are
/// not in the answer, nor are those that only have what others put there.
pub(crate) fn publish(
    cairn: &Cairn,
    state: &StateFolder,
    stated: &Stated,
    urgency: Urgency,
) -> Result<Vec<Published>, String> {
    let config = Config::load(state, &stated.origin)?;
    publish_to(cairn, state, stated, config.witnesses, urgency)
}

/// Gives a checkpoint to these witnesses.
pub(super) fn publish_to(
    cairn: &Cairn,
    state: &StateFolder,
    stated: &Stated,
    mut witnesses: Vec<Witness>,
    urgency: Urgency,
) -> Result<Vec<Published>, String> {
    let files = Files::new(state, &stated.origin);
    let head = Head { size: stated.size, root: stated.root, at: now() };
    witnesses.retain(|witness| !matches!(witness.place, Place::Git { reference: None, .. }));
    if urgency == Urgency::WhenDue {
        witnesses.retain(|witness| Status::load(&files, &witness.name).is_due(witness, &head));
    }
    let patience = if urgency == Urgency::Now { PATIENCE_WHEN_ASKED } else { PATIENCE };
    let deadline = Deadline::after(patience);
    let mut attempts = Vec::new();
    for witness in witnesses {
        let mut status = Status::load(&files, &witness.name);
        let known = status.size.unwrap_or(0);
        status.trying(now());
        status.save(&files, &witness.name)?;
        let (sender, receiver) = channel();
        let (cairn, stated, files, one) = (cairn.clone(), stated.clone(), files.clone(), witness.clone());
        // Not waited for at the end: a share that hangs must hold up nobody.
        in_background(move || {
            drop(sender.send(attempt(&cairn, &stated, &one, &files, known, deadline)));
        });
        attempts.push((witness, status, receiver));
    }
    let mut published = Vec::new();
    for (witness, mut status, receiver) in attempts {
        let late = |_| Err(Failure::Outage("it did not answer in time".into()));
        let outcome = receiver.recv_timeout(deadline.left()).unwrap_or_else(late);
        match &outcome {
            Ok(head) => status.took(head),
            Err(failure) => {
                status.error = Some(failure.words().chars().take(500).collect());
                status.contradicts = matches!(failure, Failure::Contradiction(_));
            }
        }
        status.save(&files, &witness.name)?;
        published.push(Published { witness, outcome });
    }
    Ok(published)
}

fn attempt(
    cairn: &Cairn,
    stated: &Stated,
    witness: &Witness,
    files: &Files,
    known: u64,
    deadline: Deadline,
) -> Result<Head, Failure> {
    let seen = Head { size: stated.size, root: stated.root, at: now() };
    match &witness.place {
        Place::File { path } => file::append(path, &stated.note, &seen.at)?,
        Place::Git { repository, reference: Some(reference) } => {
            git::commit(repository, reference, stated, deadline)?;
        }
        Place::Git { reference: None, .. } => {}
        Place::Command { store, .. } => command::store(store, &stated.note, deadline)?,
        Place::Http { url, key } => {
            let note = http::publish(cairn, url, key, known, deadline)?;
            return Ok(http::keep(files, &witness.name, key, &note)?);
        }
        Place::Timestamp { url, .. } => {
            return timestamp::publish(url, stated, files, &witness.name, deadline);
        }
    }
    Ok(seen)
}

/// Gives the newest checkpoint to the witnesses whose time it is: for the end of a command or a server, after what it
/// recorded is on disk. Takes [`PATIENCE`] at most and fails nothing: what went wrong is shown by `cairn witness list`
/// and `cairn verify`.
pub(crate) fn publish_newest(cairn: &Cairn, state: Option<&StateFolder>) {
    let Some(state) = state else { return };
    // Most logs have no witness: then nothing is read but one missing file.
    let any = std::fs::read_dir(state.witnesses()).is_ok_and(|mut files| files.next().is_some());
    if any && let Ok(Some(stated)) = cairn.newest_checkpoint() {
        let _ = publish(cairn, state, &stated, Urgency::WhenDue);
    }
}
