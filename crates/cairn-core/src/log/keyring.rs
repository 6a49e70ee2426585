//! The keys of a log that count: keys known from outside, and those that such keys introduce.

use std::collections::HashMap;

use crate::entry::{KeyEntry, KeyOp};
use crate::note::VerifyingKey;

/// A key whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// The key.
    pub key: VerifyingKey,
    /// The entry that introduced it; none for a key known from outside.
    pub introduced: Option<u64>,
    /// Up to which size of the log its signatures count.
    pub limit: u64,
}

/// The keys of a log that count, as its changes of keys tell.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    keys: Vec<TrustedKey>,
    strange: Vec<usize>,
}

impl Keyring {
    /// Starts from keys known from outside and follows the changes of keys, which stand in the order of the log.
    ///
    /// A change counts if another key signed it that counts at that place. An `add` introduces a key. An end says how far a
    /// key counts, so it introduces that key up to there: a reader who knows only the newest key learns of the older ones. An
    /// end holds from the beginning of the log, so everything is followed again with it, until nothing new is learnt.
    pub fn follow(
        origin: &str,
        given: impl IntoIterator<Item = VerifyingKey>,
        changes: &[KeyEntry<'_>],
    ) -> Keyring {
        let given: Vec<VerifyingKey> = given.into_iter().collect();
        let mut signatures = Signatures { origin, checked: HashMap::new() };
        let mut ends: HashMap<&str, u64> = HashMap::new();
        let mut keys: Vec<TrustedKey>;
        loop {
            let known_ends = ends.clone();
            let limit = |key: &VerifyingKey, ends: &HashMap<&str, u64>| {
                ends.get(&*key.to_string()).copied().unwrap_or(u64::MAX)
            };
            keys = Vec::new();
            for key in &given {
                let limit = limit(key, &ends);
                keys.push(TrustedKey { key: key.clone(), introduced: None, limit });
            }
            loop {
                let known_keys = keys.len();
                for (number, change) in changes.iter().enumerate() {
                    if signatures.signer(number, change, &keys).is_none() {
                        continue;
                    }
                    if let (KeyOp::Retire | KeyOp::Revoke, Some(last)) = (change.op, change.last_trusted_size)
                    {
                        let end = ends.entry(&change.vkey).or_insert(u64::MAX);
                        *end = last.min(*end);
                    } else if change.op != KeyOp::Add {
                        continue;
                    }
                    let Ok(key) = change.vkey.parse::<VerifyingKey>() else { continue };
                    let limit = limit(&key, &ends);
                    match keys.iter_mut().find(|known| known.key == key) {
                        Some(known) => known.limit = limit,
                        None => keys.push(TrustedKey { key, introduced: Some(change.seq), limit }),
                    }
                }
                if keys.len() == known_keys {
                    break;
                }
            }
            if ends == known_ends {
                break;
            }
        }
        let first = changes.iter().position(|change| change.op == KeyOp::Add);
        let is_known = |change: &KeyEntry<'_>| keys.iter().any(|known| known.key.to_string() == change.vkey);
        let explained = |number: usize, change: &KeyEntry<'_>| {
            change.op == KeyOp::Add && (Some(number) == first || is_known(change))
        };
        let mut strange = Vec::new();
        for (number, change) in changes.iter().enumerate() {
            if !explained(number, change) && signatures.signer(number, change, &keys).is_none() {
                strange.push(number);
            }
        }
        Keyring { keys, strange }
    }

    /// The keys that count: those from outside first, then in the order in which they were learnt of.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// The numbers of the changes that no key signed which counts there. The first key of a log needs no signature, and
    /// neither does one that is known anyway.
    pub fn strange(&self) -> &[usize] {
        &self.strange
    }
}

/// Checks signatures under changes, each once: a check takes 50 µs.
struct Signatures<'o> {
    origin: &'o str,
    checked: HashMap<(usize, String), bool>,
}

impl Signatures<'_> {
    /// The key that signed a change, if one of `keys` did that counts at its place and is not the one that changes.
    fn signer(&mut self, number: usize, change: &KeyEntry<'_>, keys: &[TrustedKey]) -> Option<usize> {
        let signature = change.signed()?;
        keys.iter().position(|TrustedKey { key, limit, .. }| {
            key.name() == self.origin
                && (signature.name(), signature.id()) == (key.name(), key.id())
                && change.seq < *limit
                && key.to_string() != change.vkey
                && *self
                    .checked
                    .entry((number, key.to_string()))
                    .or_insert_with(|| change.is_signed_by(key, self.origin))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::KeyStatement;
    use crate::note::SigningKey;

    const ORIGIN: &str = "cairn/test";

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(ORIGIN, [seed; 32]).unwrap()
    }

    /// A change of the key of `of`, signed by the key of `by`.
    fn change(seq: u64, op: KeyOp, of: u8, last: Option<u64>, by: Option<u8>) -> KeyEntry<'static> {
        signed(seq, op, of, last, by.map(|by| (key(by), ORIGIN)))
    }

    fn signed(
        seq: u64,
        op: KeyOp,
        of: u8,
        last: Option<u64>,
        by: Option<(SigningKey, &str)>,
    ) -> KeyEntry<'static> {
        let vkey = key(of).verifying_key().to_string();
        let signature = by.map(|(by, origin)| {
            let statement = KeyStatement { origin, op, vkey: &vkey, last_trusted_size: last };
            by.sign(&statement.text()).to_string().into()
        });
        KeyEntry {
            created_at: "2026-04-17T00:00:00Z".into(),
            last_trusted_size: last,
            op,
            reason: None,
            seq,
            signature,
            vkey: vkey.into(),
        }
    }

    /// The seeds of the keys that count with their limits, and the changes that are strange.
    fn followed(given: &[u8], changes: &[KeyEntry<'_>]) -> (Vec<(u8, u64)>, Vec<usize>) {
        let given = given.iter().map(|seed| key(*seed).verifying_key().clone());
        let ring = Keyring::follow(ORIGIN, given, changes);
        let seed =
            |trusted: &TrustedKey| (0..=9).find(|seed| *key(*seed).verifying_key() == trusted.key).unwrap();
        let mut keys: Vec<_> = ring.keys().iter().map(|trusted| (seed(trusted), trusted.limit)).collect();
        keys.sort_unstable();
        (keys, ring.strange().to_vec())
    }

    /// Key 1, then 2, then 3, each introduced by the one before and retired by the one after.
    fn rotated() -> Vec<KeyEntry<'static>> {
        vec![
            change(1, KeyOp::Add, 1, None, None),
            change(5, KeyOp::Add, 2, None, Some(1)),
            change(7, KeyOp::Retire, 1, Some(6), Some(2)),
            change(10, KeyOp::Add, 3, None, Some(2)),
            change(12, KeyOp::Retire, 2, Some(11), Some(3)),
        ]
    }

    #[test]
    fn any_key_of_a_log_leads_to_the_others() {
        let all = vec![(1, 6), (2, 11), (3, u64::MAX)];
        for given in [1, 2, 3] {
            assert_eq!(followed(&[given], &rotated()), (all.clone(), vec![]), "{given}");
        }
        assert_eq!(followed(&[9], &rotated()), (vec![(9, u64::MAX)], vec![1, 2, 3, 4]));
    }

    #[test]
    fn a_key_that_no_trusted_key_introduced_is_strange() {
        let foreign = SigningKey::from_seed("cairn/other", [1; 32]).unwrap();
        let strangers = [
            // By nobody, by itself, by a retired key, by a key that nobody knows, in the name of another log.
            change(13, KeyOp::Add, 9, None, None),
            change(13, KeyOp::Add, 9, None, Some(9)),
            change(13, KeyOp::Add, 9, None, Some(1)),
            change(13, KeyOp::Add, 9, None, Some(8)),
            signed(13, KeyOp::Add, 9, None, Some((key(3), "cairn/other"))),
            signed(13, KeyOp::Add, 9, None, Some((foreign, ORIGIN))),
            // The signature of another change.
            KeyEntry { signature: rotated()[3].signature.clone(), ..change(13, KeyOp::Add, 9, None, None) },
            // Ends that nobody may say: the key itself, one that is retired, nobody.
            change(13, KeyOp::Revoke, 3, Some(0), None),
            change(13, KeyOp::Revoke, 3, Some(0), Some(3)),
            change(13, KeyOp::Revoke, 3, Some(0), Some(2)),
        ];
        for stranger in strangers {
            let changes: Vec<_> = rotated().into_iter().chain([stranger]).collect();
            for given in [1, 2, 3] {
                let (keys, strange) = followed(&[given], &changes);
                assert_eq!(keys, [(1, 6), (2, 11), (3, u64::MAX)], "{:?}", changes[5]);
                assert_eq!(strange, [5], "{:?}", changes[5]);
            }
        }
    }

    #[test]
    fn a_revoked_key_introduces_nothing_beyond_its_limit() {
        let changes = [
            change(1, KeyOp::Add, 1, None, None),
            // Somebody who stole the key, before that is noticed.
            change(5, KeyOp::Add, 9, None, Some(1)),
            change(6, KeyOp::Revoke, 1, Some(4), Some(2)),
            change(7, KeyOp::Add, 2, None, None),
            change(8, KeyOp::Revoke, 2, Some(0), Some(1)),
            change(9, KeyOp::Add, 3, None, Some(2)),
        ];
        let all = vec![(1, 4), (2, u64::MAX), (3, u64::MAX)];
        assert_eq!(followed(&[2], &changes), (all.clone(), vec![1, 4]));
        assert_eq!(followed(&[1, 2], &changes), (all, vec![1, 4]));
        // The old key alone cannot tell the new one from the thief's: it says that nothing of the new one counts.
        assert_eq!(followed(&[1], &changes), (vec![(1, u64::MAX), (2, 0), (9, u64::MAX)], vec![2, 5]));
    }

    #[test]
    fn nobody_is_kept_waiting_by_many_changes_that_nobody_signed() {
        let mut changes = rotated();
        changes.extend((13..2000).map(|seq| change(seq, KeyOp::Add, 9, None, None)));
        assert_eq!(followed(&[1], &changes).1.len(), 1987);
    }
}
