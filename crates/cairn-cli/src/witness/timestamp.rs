//! Heads with a time that a time-stamping authority has signed (RFC 3161).
//!
//! The authority keeps nothing: note and stamp are kept here, and prove together that the log had this head then.

use std::path::{Path, PathBuf};
use std::process::Command;

use cairn::core::log::CheckpointNote;
use cairn::{Sha, Stated};

use super::files::{self, Files};
use super::post::post;
use super::{Deadline, Failure, Head, run, stamp};
use crate::term::quoted;

/// A stamp with its certificates has a few thousand bytes.
const MAX_ANSWER: u64 = 256 << 10;

/// Has a checkpoint stamped, and keeps note and stamp.
pub(super) fn publish(
    url: &str,
    stated: &Stated,
    files: &Files,
    name: &str,
    deadline: Deadline,
) -> Result<Head, Failure> {
    let digest = Sha::of(stated.note.as_bytes());
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(|error| format!("the system gave no random numbers: {error}"))?;
    let nonce = u64::from_be_bytes(nonce);
    let request = stamp::request(&digest, nonce);
    let answer = post(url, "application/timestamp-query", &request, MAX_ANSWER, deadline)?;
    if answer.status != 200 {
        return Err(format!("it answered with status {}: {}", answer.status, answer.words()).into());
    }
    let read = stamp::read(&answer.body).map_err(|error| format!("its answer is no time stamp: {error}"))?;
    read.answers(&digest, nonce)?;
    // The stamp first: a note beside it means that both are there.
    let folder = files.kept(name);
    files::replace(&folder.join(format!("{}.tsr", stated.size)), &answer.body)?;
    files::replace(&folder.join(format!("{}.note", stated.size)), stated.note.as_bytes())?;
    Ok(Head { size: stated.size, root: stated.root, at: read.at })
}

/// The heads that were stamped, from what was kept. That each stamp is over its note is checked, not who made it.
pub(super) fn heads(files: &Files, name: &str, origin: &str) -> Result<Vec<Head>, String> {
    let mut heads = Vec::new();
    for size in files.kept_sizes(name)? {
        let (note, tsr) = paths(files, name, size);
        let text = files::read_text(&note)?.unwrap_or_default();
        let answer = files::read(&tsr)?.ok_or_else(|| format!("`{}` is not there", tsr.display()))?;
        let read =
            stamp::read(&answer).map_err(|error| format!("`{}` is no time stamp: {error}", tsr.display()))?;
        if read.digest != Sha::of(text.as_bytes()) {
            return Err(format!("`{}` is not over `{}`", tsr.display(), note.display()));
        }
        let parsed: CheckpointNote =
            text.parse().map_err(|error| format!("`{}` is no checkpoint: {error}", note.display()))?;
        heads.extend(Head::of_note(&parsed, origin, read.at));
    }
    Ok(heads)
}

fn paths(files: &Files, name: &str, size: u64) -> (PathBuf, PathBuf) {
    let folder = files.kept(name);
    (folder.join(format!("{size}.note")), folder.join(format!("{size}.tsr")))
}

/// What to type to find out who made a stamp.
pub(crate) fn openssl_command(files: &Files, name: &str, size: u64, ca: Option<&Path>) -> String {
    let (note, tsr) = paths(files, name, size);
    let ca = ca.map_or_else(|| "CA.pem".to_string(), quoted);
    format!("openssl ts -verify -data {} -in {} -CAfile {ca}", quoted(&note), quoted(&tsr))
}

/// Has `openssl` verify the newest stamp, if there is such a program. `None` if there is not.
pub(super) fn verify(
    files: &Files,
    name: &str,
    size: u64,
    ca: &Path,
    deadline: Deadline,
) -> Option<Result<(), String>> {
    let (note, tsr) = paths(files, name, size);
    let mut command = Command::new("openssl");
    command.args(["ts", "-verify"]).arg("-data").arg(note).arg("-in").arg(tsr).arg("-CAfile").arg(ca);
    match run::run(&mut command, b"", 64 << 10, deadline) {
        Ok(_) => Some(Ok(())),
        Err(error) if error.starts_with("cannot run") => None,
        Err(error) => Some(Err(error)),
    }
}
