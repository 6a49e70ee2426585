//! Whose signatures under checkpoints count: those of keys known from outside, and of those that the log itself
//! introduces in a part that such a key has signed.

use std::collections::HashMap;

use cairn_core::entry::{KeyEntry, KeyOp};
use cairn_core::log::CheckpointNote;
use cairn_core::note::{Verdict, VerifyingKey};

use super::{Finding, Reason};

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
    /// Every key that was ever looked at, and what it says of each note: a signature takes 50 µs to check, and each is
    /// checked once.
    seen: Vec<VerifyingKey>,
    verdicts: HashMap<(usize, usize), Verdict>,
}

impl<'n> Trust<'n> {
    /// Starts from keys known from outside, each with where from, and follows what the log says about keys.
    ///
    /// A change of keys counts if it stands in a part that a trusted key has signed at a size at which it counted; the
    /// end of a key, in a part that another one has signed. So whoever has a key that was revoked can neither have it
    /// vouch for another key nor end the one that replaced it. What is learnt about the end of a key holds from the
    /// beginning: everything is followed again with it, until there is nothing new.
    pub fn new(
        given: impl IntoIterator<Item = (VerifyingKey, String)>,
        changes: &[KeyEntry<'_>],
        notes: &'n [CheckpointNote],
    ) -> Trust<'n> {
        let known = |(key, source)| TrustedKey { key, source, limit: u64::MAX };
        let given: Vec<TrustedKey> = given.into_iter().map(known).collect();
        let mut trust = Trust { notes, keys: Vec::new(), seen: Vec::new(), verdicts: HashMap::new() };
        let mut ends: HashMap<String, u64> = HashMap::new();
        loop {
            let before = ends.clone();
            trust.keys = given.clone();
            for key in &mut trust.keys {
                key.limit = ends.get(&key.key.to_string()).copied().unwrap_or(u64::MAX);
            }
            trust.follow(changes, &mut ends);
            if ends == before {
                return trust;
            }
        }
    }

    /// Follows the changes in the order of the log.
    fn follow(&mut self, changes: &[KeyEntry<'_>], ends: &mut HashMap<String, u64>) {
        // Looked for again only when the keys have changed: a forger may add many changes that nobody vouches for.
        let mut vouched = self.reach(None);
        let mut without: HashMap<&str, u64> = HashMap::new();
        for change in changes {
            let known = self.keys.iter().position(|known| known.key.to_string() == change.vkey);
            match (change.op, known, change.last_trusted_size) {
                (KeyOp::Add, None, _) if change.seq < vouched => {
                    let Ok(key) = change.vkey.parse::<VerifyingKey>() else { continue };
                    let limit = ends.get(&*change.vkey).copied().unwrap_or(u64::MAX);
                    let source = format!(
                        "introduced by log entry {}; compare it with the one you were given",
                        change.seq
                    );
                    self.keys.push(TrustedKey { key, source, limit });
                }
                (KeyOp::Retire | KeyOp::Revoke, Some(known), Some(last)) if last < self.keys[known].limit => {
                    let reach = match without.get(&change.vkey[..]) {
                        Some(reach) => *reach,
                        None => self.reach(Some(known)),
                    };
                    without.insert(&change.vkey, reach);
                    if change.seq >= reach {
                        continue;
                    }
                    self.keys[known].limit = last;
                    ends.insert(change.vkey.to_string(), last);
                }
                _ => continue,
            }
            vouched = self.reach(None);
            without.clear();
        }
    }

    /// The largest size of the log that a trusted key has signed which counts at that size, but for one of them.
    fn reach(&mut self, but_for: Option<usize>) -> u64 {
        let notes = self.notes;
        let size = |note: usize| notes[note].checkpoint().size();
        let signed = |note: &usize| {
            (0..self.keys.len()).any(|key| {
                but_for != Some(key)
                    && size(*note) <= self.keys[key].limit
                    && self.verdict(*note, key) == Verdict::Signed
            })
        };
        (0..notes.len()).rev().find(signed).map_or(0, size)
    }

    fn verdict(&mut self, note: usize, key: usize) -> Verdict {
        let (stated, trusted) = (&self.notes[note], &self.keys[key].key);
        let number = self.seen.iter().position(|seen| seen == trusted).unwrap_or_else(|| {
            self.seen.push(trusted.clone());
            self.seen.len() - 1
        });
        *self.verdicts.entry((note, number)).or_insert_with(|| match stated.verdict(trusted) {
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
