//! Heads that somebody else signs: a client of C2SP tlog-witness.

use cairn::core::log::{CheckpointNote, Growth};
use cairn::core::note::{Cosigned, Signature, WitnessKey};
use cairn::{Cairn, Stated};

use super::config::{Config, Place};
use super::files::{self, Files};
use super::post::post;
use super::{Deadline, Failure, Head};
use crate::state::StateFolder;

/// An answer has a line or two.
const MAX_ANSWER: u64 = 64 << 10;
/// The size it remembers is told in the first answer; more are needed only if others publish at the same time.
const ROUNDS: usize = 4;

/// Has the newest checkpoint signed by the witness. `known` is the size it is thought to remember.
pub(super) fn publish(
    cairn: &Cairn,
    url: &str,
    key: &str,
    known: u64,
    deadline: Deadline,
) -> Result<CheckpointNote, Failure> {
    let key: WitnessKey = key.parse().map_err(|error| format!("its key cannot be used: {error}"))?;
    let address = format!("{}/add-checkpoint", url.trim_end_matches('/'));
    let mut old = known;
    for _ in 0..ROUNDS {
        let growth = grown(cairn, old)?;
        let sent = growth.old_size();
        let size = growth.checkpoint().checkpoint().size();
        let body = growth.to_string();
        let answer = post(&address, "text/plain; charset=utf-8", body.as_bytes(), MAX_ANSWER, deadline)?;
        let said = answer.words();
        match answer.status {
            200 => return cosigned(growth.checkpoint(), &key, &answer.body),
            409 => {
                let remembers = said.parse::<u64>().map_err(|_| {
                    format!("it has another head than of {sent} entries, and does not say which: `{said}`")
                })?;
                if remembers == sent {
                    return Err(Failure::Contradiction(format!(
                        "it has seen another log of {sent} entries: this one was rewritten, or is another branch"
                    )));
                }
                // Somebody may have published a newer head meanwhile: then the next checkpoint is newer, too.
                old = remembers.min(MAX_OLD);
                if old > newest_size(cairn)?.max(size) {
                    return Err(Failure::Contradiction(format!(
                        "it has seen {old} entries, and there are checkpoints of {size} at most: the newest part of \
                         the log is gone, or an older copy of it was put back"
                    )));
                }
            }
            422 => {
                return Err(Failure::Contradiction(format!(
                    "it has seen other entries among the first {sent}: this log was rewritten, or is another branch"
                )));
            }
            400 => return Err(Failure::Outage(format!("it could not read the request: {said}"))),
            403 => {
                return Err(Failure::Outage(
                    "it does not know the key that the log is signed with: give it what `cairn key show` prints"
                        .into(),
                ));
            }
            404 => {
                return Err(Failure::Outage(format!(
                    "it does not know this log, or {address} is no witness: give it the log's key"
                )));
            }
            503 => return Err(Failure::Outage(format!("it is not available now: {said}"))),
            status => return Err(Failure::Outage(format!("it answered with status {status}: {said}"))),
        }
    }
    Err(Failure::Outage("others kept publishing; it will be tried again".into()))
}

/// No log is larger.
const MAX_OLD: u64 = cairn::core::log::MAX_SIZE;

fn newest_size(cairn: &Cairn) -> Result<u64, String> {
    Ok(cairn.newest_checkpoint().map_err(|error| error.to_string())?.map_or(0, |newest| newest.size))
}

/// The newest checkpoint with the proof that it extends the log of `old` entries; from nothing if there are fewer.
fn grown(cairn: &Cairn, old: u64) -> Result<Growth, String> {
    let words = |error: cairn::Error| error.to_string();
    let newest = newest_size(cairn)?;
    let old = if old > newest { 0 } else { old };
    let grown = cairn.prove_growth(old).map_err(words)?;
    let note: CheckpointNote =
        grown.checkpoint.note.parse().map_err(|error| format!("the checkpoint cannot be read: {error}"))?;
    if !note.is_signed() {
        return Err("the checkpoint is not signed, and a witness takes none without a signature".into());
    }
    let growth = Growth::new(old, grown.proof, note).map_err(|error| error.to_string())?;
    if !growth.extends(&grown.old_root) {
        return Err("the log does not match its own checkpoint: run `cairn verify`".into());
    }
    Ok(growth)
}

/// The checkpoint with the line of the witness.
fn cosigned(note: &CheckpointNote, key: &WitnessKey, body: &[u8]) -> Result<CheckpointNote, Failure> {
    let text = std::str::from_utf8(body).map_err(|_| "its answer is not UTF-8".to_string())?;
    let lines =
        Signature::parse_lines(text).map_err(|error| format!("its answer is no signature: {error}"))?;
    let mut note = note.clone();
    for line in lines.into_iter().filter(|line| line.name() == key.name() && line.id() == key.id()) {
        note.add(line).map_err(|error| error.to_string())?;
    }
    match note.cosigned(key) {
        Cosigned::At(_) => Ok(note),
        Cosigned::NotSigned => {
            Err(Failure::Outage(format!("it did not sign with {}+{}", key.name(), key.id())))
        }
        Cosigned::Forged => {
            Err(Failure::Outage("its signature does not verify with the key that is known here".into()))
        }
    }
}

/// Keeps a signed note, for `verify` without the network and for bundles.
pub(super) fn keep(files: &Files, name: &str, key: &str, note: &CheckpointNote) -> Result<Head, String> {
    let size = note.checkpoint().size();
    files::replace(&files.kept(name).join(format!("{size}.note")), note.to_string().as_bytes())?;
    head_of(note, key).ok_or_else(|| "the kept note is not signed".to_string())
}

/// The head that a note states, and when the witness signed it; none if it did not.
fn head_of(note: &CheckpointNote, key: &str) -> Option<Head> {
    match note.cosigned(&key.parse().ok()?) {
        Cosigned::At(seconds) => {
            let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
            Head::of_note(note, note.checkpoint().origin(), time.to_string())
        }
        _ => None,
    }
}

/// A checkpoint with the lines that witnesses have signed it with, as far as they were kept.
pub(crate) fn with_cosignatures(state: &StateFolder, stated: &Stated) -> Result<CheckpointNote, String> {
    let unreadable = |error| format!("the checkpoint cannot be read: {error}");
    let mut note: CheckpointNote = stated.note.parse().map_err(unreadable)?;
    let files = Files::new(state, &stated.origin);
    for witness in Config::load(state, &stated.origin)?.witnesses {
        let Place::Http { key, .. } = &witness.place else { continue };
        let Ok(key) = key.parse::<WitnessKey>() else { continue };
        let path = files.kept(&witness.name).join(format!("{}.note", stated.size));
        let kept = files::read_text(&path)?.and_then(|text| text.parse::<CheckpointNote>().ok());
        let Some(kept) = kept.filter(|kept| kept.checkpoint() == note.checkpoint()) else { continue };
        let lines = kept.signatures().iter();
        for line in lines.filter(|line| line.name() == key.name() && line.id() == key.id()) {
            note.add(line.clone()).map_err(|error| error.to_string())?;
        }
    }
    Ok(note)
}

/// The heads that the witness has signed, from the notes that were kept.
pub(super) fn heads(files: &Files, name: &str, key: &str, origin: &str) -> Result<Vec<Head>, String> {
    let mut heads = Vec::new();
    for size in files.kept_sizes(name)? {
        let path = files.kept(name).join(format!("{size}.note"));
        let note = files::read_text(&path)?.and_then(|text| text.parse::<CheckpointNote>().ok());
        match note.filter(|note| note.checkpoint().origin() == origin).and_then(|note| head_of(&note, key)) {
            Some(head) => heads.push(head),
            None => return Err(format!("`{}` is not a note that it has signed", path.display())),
        }
    }
    Ok(heads)
}
