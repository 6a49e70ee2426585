//! Asking witnesses what they have seen, without the network: for `verify`.

use std::sync::mpsc::channel;

use cairn::core::note::VerifyingKey;
use cairn::{Cairn, HeadFolder, OutsideHead};

use super::config::{Config, Place, Witness};
use super::files::Files;
use super::status::{Status, age, seconds_since};
use super::{Deadline, Head, PATIENCE, command, file, git, http, in_background, thinned, timestamp};
use crate::state::StateFolder;

/// A head older than this many intervals is worth a word,
const INTERVALS: u64 = 3;
/// if it is older than this many seconds as well.
const OLD: u64 = 24 * 60 * 60;

/// What the witnesses of a log have seen, and what is to be said about those that could not be asked. Takes
/// [`PATIENCE`] at most, and does not use the network: what HTTP witnesses have signed was kept.
fn outside_heads(state: &StateFolder, origin: &str) -> (Vec<OutsideHead>, Vec<String>) {
    let config = match Config::load(state, origin) {
        Ok(config) => config,
        Err(error) => return (Vec::new(), vec![format!("no witness was asked: {error}")]),
    };
    let files = Files::new(state, origin);
    let (mut outside, mut notes) = (Vec::new(), Vec::new());
    for (witness, asked) in ask(config.witnesses, state, origin, Deadline::after(PATIENCE)) {
        let status = Status::load(&files, &witness.name);
        match asked {
            Ok(heads) => {
                notes.extend(remark(&witness, &status, heads.last()));
                outside.extend(heads.into_iter().map(|head| outside_head(&witness, head)));
            }
            Err(error) => notes.push(format!("{} could not be asked: {error}", witness.title())),
        }
    }
    (outside, notes)
}

/// The same for the log of an open database, as verification takes it.
pub(crate) fn seen_by_witnesses(cairn: &Cairn) -> (Vec<OutsideHead>, Vec<String>) {
    // A log whose name cannot be read is damaged, and that is for the report to say.
    let (Some(state), Ok(status)) = (StateFolder::find(), cairn.status()) else { return Default::default() };
    outside_heads(&state, &status.origin)
}

/// As `verify` takes it.
pub(super) fn outside_head(witness: &Witness, head: Head) -> OutsideHead {
    let Head { size, root, at } = head;
    OutsideHead { witness: witness.title(), size, root, at }
}

/// What is to be said about a witness that was asked: whether it is out of date, and why.
fn remark(witness: &Witness, status: &Status, newest: Option<&Head>) -> Option<String> {
    let title = witness.title();
    let error = status.error.as_deref().unwrap_or("it was interrupted");
    if status.contradicts {
        return Some(format!("{title} contradicts this log: {error}; `cairn witness check` says more"));
    }
    let seen = match newest {
        Some(head) => format!("the last head it has seen is from {}", age(&head.at)),
        None => "it has seen no head yet".to_string(),
    };
    if status.failures > 0 {
        return Some(format!("{title} failed the last time: {error}; {seen}"));
    }
    let passed = newest.and_then(|head| seconds_since(Some(&head.at)));
    let old = passed.is_none_or(|passed| passed > OLD.max(witness.every.saturating_mul(INTERVALS)));
    old.then(|| format!("{title}: {seen}"))
}

/// Asks witnesses for their heads, all at once, oldest head first. A share that hangs holds up nobody.
pub(super) fn ask(
    witnesses: Vec<Witness>,
    state: &StateFolder,
    origin: &str,
    deadline: Deadline,
) -> Vec<(Witness, Result<Vec<Head>, String>)> {
    let files = Files::new(state, origin);
    let keys = HeadFolder::new(state.heads()).read(origin).map(|known| known.keys()).unwrap_or_default();
    let asked: Vec<_> = witnesses
        .into_iter()
        .map(|witness| {
            let (sender, receiver) = channel();
            let (one, files, keys, origin) =
                (witness.clone(), files.clone(), keys.clone(), origin.to_string());
            in_background(move || drop(sender.send(heads_of(&one, &files, &keys, &origin, deadline))));
            (witness, receiver)
        })
        .collect();
    let answer = |receiver: std::sync::mpsc::Receiver<Result<Vec<Head>, String>>| {
        let late = |_| Err("it did not answer in time".to_string());
        receiver.recv_timeout(deadline.left()).unwrap_or_else(late).map(thinned)
    };
    asked.into_iter().map(|(witness, receiver)| (witness, answer(receiver))).collect()
}

fn heads_of(
    witness: &Witness,
    files: &Files,
    keys: &[VerifyingKey],
    origin: &str,
    deadline: Deadline,
) -> Result<Vec<Head>, String> {
    let status = || Status::load(files, &witness.name);
    match &witness.place {
        // Nothing was put there yet.
        Place::File { path } if !path.exists() && status().size.is_none() => Ok(Vec::new()),
        Place::File { path } => file::heads(path, origin),
        Place::Git { repository, reference: Some(reference) } => {
            match git::heads_on(repository, reference, origin, deadline)? {
                None if status().size.is_some() => {
                    Err(format!("there is no ref {reference} in `{}`", repository.display()))
                }
                heads => Ok(heads.unwrap_or_default()),
            }
        }
        Place::Git { repository, reference: None } => {
            git::heads_in_messages(repository, origin, keys, deadline)
        }
        Place::Http { key, .. } => http::heads(files, &witness.name, key, origin),
        Place::Timestamp { .. } => timestamp::heads(files, &witness.name, origin),
        Place::Command { read: Some(script), .. } => {
            command::heads(script, origin, status().head().as_ref(), deadline)
        }
        // It cannot be asked: what is left is what was noted when it took a head.
        Place::Command { read: None, .. } => Ok(status().head().into_iter().collect()),
    }
}
