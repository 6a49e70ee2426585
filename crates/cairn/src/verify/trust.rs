//! The signatures under checkpoints that count: those of keys known from outside, and of those that such keys introduce.

use cairn_core::entry::KeyEntry;
use cairn_core::log::{CheckpointNote, Keyring, TrustedKey};
use cairn_core::note::{Verdict, VerifyingKey};

use super::{Finding, Reason};

/// The worth of the signatures under a checkpoint.
#[derive(Debug, Default)]
pub struct Judged<'k> {
    /// The keys that signed it, and count.
    pub signed_by: Vec<&'k TrustedKey>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The keys that count.
pub struct Trust {
    ring: Keyring,
    /// The changes of keys that no key signed which counts.
    pub findings: Vec<Finding>,
}

impl Trust {
    /// Starts from keys known from outside and follows the changes of keys in the log.
    pub fn new(
        origin: &str,
        given: impl IntoIterator<Item = VerifyingKey>,
        changes: &[KeyEntry<'_>],
    ) -> Trust {
        let ring = Keyring::follow(origin, given, changes);
        let findings = ring.strange().iter().map(|number| strange(&changes[*number])).collect();
        Trust { ring, findings }
    }

    /// Judges the signatures under a checkpoint that was found to state what the log is.
    pub fn judge(&self, stated: &CheckpointNote) -> Judged<'_> {
        let size = stated.checkpoint().size();
        let mut judged = Judged::default();
        for trusted in self.ring.keys() {
            match stated.verdict(&trusted.key) {
                Verdict::Signed if size <= trusted.limit && is_of(&trusted.key, stated) => {
                    judged.signed_by.push(trusted);
                }
                Verdict::Forged => judged.findings.push(forged(size, &trusted.key)),
                Verdict::Signed | Verdict::NotSigned => {}
            }
        }
        // A key that nobody has heard of, where the log has one that somebody has.
        let keys = self.ring.keys();
        if judged.signed_by.is_empty()
            && !keys.is_empty()
            && stated.is_signed()
            && !past_its_time(stated, keys)
        {
            judged.findings.push(foreign(size, stated, keys));
        }
        judged
    }
}

/// A key is for the log of its name alone.
fn is_of(key: &VerifyingKey, note: &CheckpointNote) -> bool {
    key.name() == note.checkpoint().origin()
}

/// Where a key is known from, for people; empty for one that was given.
pub fn source(key: &TrustedKey) -> String {
    let place = key.introduced;
    place
        .map(|seq| format!("introduced by log entry {seq}; compare it with the one you were given"))
        .unwrap_or_default()
}

fn strange(change: &KeyEntry<'_>) -> Finding {
    let KeyEntry { seq, op, vkey, .. } = change;
    let message = format!(
        "log entry {seq} says {op} of the key `{vkey}`, and no key that counts there has signed that"
    );
    let actual = change.signed().map_or("none".to_string(), |by| format!("one of {}+{}", by.name(), by.id()));
    let expected = "one of another key of the log";
    Finding::new(Reason::CheckpointMismatch, "log", message).at(*seq).field("signature", expected, actual)
}

/// Whether a line of a trusted key is there that no longer counts.
fn past_its_time(note: &CheckpointNote, trusted: &[TrustedKey]) -> bool {
    trusted.iter().any(|TrustedKey { key, .. }| {
        note.signatures().iter().any(|line| line.name() == key.name() && line.id() == key.id())
    })
}

fn forged(size: u64, key: &VerifyingKey) -> Finding {
    let message = format!("the signature under the checkpoint at {size} was not made with the key `{key}`");
    Finding::new(Reason::CheckpointMismatch, "checkpoint", message).field(
        "note",
        "a signature of this key",
        "another",
    )
}

fn foreign(size: u64, note: &CheckpointNote, trusted: &[TrustedKey]) -> Finding {
    let by: Vec<String> =
        note.signatures().iter().map(|line| format!("{}+{}", line.name(), line.id())).collect();
    let known: Vec<String> =
        trusted.iter().map(|trusted| format!("{}+{}", trusted.key.name(), trusted.key.id())).collect();
    let message =
        format!("the checkpoint at {size} is signed with a key that is not the log's: {}", by.join(", "));
    Finding::new(Reason::CheckpointMismatch, "checkpoint", message).field(
        "note",
        known.join(" or "),
        by.join(", "),
    )
}
