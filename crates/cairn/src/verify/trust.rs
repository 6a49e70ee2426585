//! Whose signatures under checkpoints count: those of keys known from outside, and of those that the log itself
//! introduces in a part that such a key has signed.

use std::collections::HashMap;

use cairn_core::log::CheckpointNote;
use cairn_core::note::{Verdict, VerifyingKey};
use serde::Deserialize;

use super::{Finding, Reason};

/// A change of keys, as an entry of the log says.
#[derive(Debug, Clone, Deserialize)]
pub struct KeyChange {
    /// `add`, `retire` or `revoke`.
    pub op: String,
    /// Which key.
    pub vkey: String,
    /// Up to which size of the log its signatures count, if it is retired or revoked.
    pub last_trusted_size: Option<u64>,
    /// Position in the log.
    pub seq: u64,
}

/// A key whose signatures count.
#[derive(Debug, Clone)]
pub struct TrustedKey {
    /// The key.
    pub key: VerifyingKey,
    /// Where it is known from.
    pub source: String,
    /// Up to which size of the log its signatures count.
    pub limit: u64,
}

/// What the signatures under a checkpoint are worth.
#[derive(Debug, Default)]
pub struct Judged<'k> {
    /// The keys that signed it, and count.
    pub signed_by: Vec<&'k TrustedKey>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The keys that count, for checkpoints that were found to state what the log is, in the order of their sizes.
pub struct Trust<'n> {
    notes: &'n [CheckpointNote],
    keys: Vec<TrustedKey>,
    /// A signature takes 50 µs to check: each is checked once.
    verdicts: HashMap<(usize, usize), Verdict>,
}

impl<'n> Trust<'n> {
    /// Starts from keys known from outside, each with where from, and follows what the log says about keys.
    pub fn new(
        given: impl IntoIterator<Item = (VerifyingKey, String)>,
        changes: &[KeyChange],
        notes: &'n [CheckpointNote],
    ) -> Trust<'n> {
        let known = |(key, source)| TrustedKey { key, source, limit: u64::MAX };
        let keys = given.into_iter().map(known).collect();
        let mut trust = Trust { notes, keys, verdicts: HashMap::new() };
        trust.set_limits(changes);
        trust.introduce(changes);
        trust
    }

    /// Adds the keys that the log introduces, in order, as long as a part says so that a trusted key signed while it
    /// counted: whoever stole a key that was revoked cannot have it vouch for another.
    fn introduce(&mut self, changes: &[KeyChange]) {
        let mut vouched = self.reach(|key, size| size <= key.limit);
        for change in changes.iter().filter(|change| change.op == "add") {
            let Ok(key) = change.vkey.parse::<VerifyingKey>() else { continue };
            if change.seq < vouched && self.keys.iter().all(|known| known.key != key) {
                let source = format!("introduced by log entry {}", change.seq);
                self.keys.push(TrustedKey { key, source, limit: u64::MAX });
                // The new one may have something to say about those before it.
                self.set_limits(changes);
                vouched = self.reach(|key, size| size <= key.limit);
            }
        }
    }

    /// Up to which size the signatures of each key count: said by a part that another trusted key signed.
    fn set_limits(&mut self, changes: &[KeyChange]) {
        for number in 0..self.keys.len() {
            let key = self.keys[number].key.clone();
            let (text, said) = (key.to_string(), self.reach(|other, _| other.key != key));
            let ends = |change: &&KeyChange| {
                change.vkey == text && (change.op == "retire" || change.op == "revoke") && change.seq < said
            };
            let limit = changes.iter().filter(ends).filter_map(|change| change.last_trusted_size).min();
            self.keys[number].limit = limit.unwrap_or(u64::MAX);
        }
    }

    /// The largest size of the log that a trusted key has signed which `counts` at that size.
    fn reach(&mut self, counts: impl Fn(&TrustedKey, u64) -> bool) -> u64 {
        let notes = self.notes;
        let size = |note: usize| notes[note].checkpoint().size();
        let signed = |note: &usize| {
            (0..self.keys.len()).any(|key| {
                counts(&self.keys[key], size(*note)) && self.verdict(*note, key) == Verdict::Signed
            })
        };
        (0..notes.len()).rev().find(signed).map_or(0, size)
    }

    fn verdict(&mut self, note: usize, key: usize) -> Verdict {
        let (stated, trusted) = (&self.notes[note], &self.keys[key].key);
        *self.verdicts.entry((note, key)).or_insert_with(|| match stated.verdict(trusted) {
            // A key is for the log of its name alone.
            Verdict::Signed if trusted.name() != stated.checkpoint().origin() => Verdict::NotSigned,
            verdict => verdict,
        })
    }

    /// Judges the signatures under the note of this number.
    pub fn judge(&mut self, note: usize) -> Judged<'_> {
        let size = self.notes[note].checkpoint().size();
        let verdicts: Vec<Verdict> = (0..self.keys.len()).map(|key| self.verdict(note, key)).collect();
        let stated = &self.notes[note];
        let mut judged = Judged::default();
        for (key, verdict) in self.keys.iter().zip(verdicts) {
            match verdict {
                Verdict::Signed if size <= key.limit => judged.signed_by.push(key),
                Verdict::Forged => judged.findings.push(forged(size, &key.key)),
                Verdict::Signed | Verdict::NotSigned => {}
            }
        }
        // A key that nobody has heard of, where the log has one that somebody has.
        if judged.signed_by.is_empty()
            && !self.keys.is_empty()
            && stated.is_signed()
            && !past_its_time(stated, &self.keys)
        {
            judged.findings.push(foreign(size, stated, &self.keys));
        }
        judged
    }
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
