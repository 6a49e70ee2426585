//! Keys that somebody else brought into the log.
//!
//! A signature vouches for every key that the log introduces before it. Whoever can write to the database could add such
//! an entry, and have the next checkpoint vouch for their key: so that part is not signed.

use cairn_core::entry::KeyOp;
use cairn_core::log::CheckpointNote;
use cairn_core::note::{Verdict, VerifyingKey};

use super::RecordedKeyChange;

/// The first change that introduces a key which none of ours and none of the earlier ones vouches for. Every end of a key
/// counts here, whoever said so: when in doubt, nothing is signed.
pub fn strange<'c>(
    ours: &[VerifyingKey],
    remembered: &[VerifyingKey],
    changes: &'c [RecordedKeyChange],
    notes: &[CheckpointNote],
) -> Option<&'c RecordedKeyChange> {
    let ends = |key: &VerifyingKey| {
        let text = key.to_string();
        let of_it = changes.iter().filter(|change| change.vkey == text && change.op != KeyOp::Add);
        of_it.filter_map(|change| change.last_trusted_size).min().unwrap_or(u64::MAX)
    };
    let mut known: Vec<(VerifyingKey, u64)> =
        ours.iter().chain(remembered).map(|key| (key.clone(), ends(key))).collect();
    for (number, change) in changes.iter().filter(|change| change.op == KeyOp::Add).enumerate() {
        if known.iter().any(|(key, _)| key.to_string() == change.vkey) {
            continue;
        }
        let covering = notes.iter().filter(|note| note.checkpoint().size() > change.seq);
        let vouched = covering.into_iter().any(|note| {
            known
                .iter()
                .any(|(key, end)| note.checkpoint().size() <= *end && note.verdict(key) == Verdict::Signed)
        });
        match change.vkey.parse::<VerifyingKey>() {
            // The first key of a log is what everything begins with.
            Ok(key) if number == 0 || vouched => {
                let end = ends(&key);
                known.push((key, end));
            }
            _ => return Some(change),
        }
    }
    None
}
