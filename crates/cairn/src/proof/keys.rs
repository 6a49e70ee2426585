//! Changing the keys of a log, and beginning a log that continues a lost one.

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, KeyEntry, KeyOp};
use cairn_core::note::VerifyingKey;
use serde::Serialize;

use super::endorse::endorse;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::Store;

/// The most bytes of a reason or a name.
const MAX_WORDS: usize = 2000;

/// A change of keys, to be recorded.
#[derive(Debug, Clone)]
pub struct KeyChange {
    /// What happens to the key.
    pub op: KeyOp,
    /// Which key.
    pub key: VerifyingKey,
    /// Up to which size of the log its signatures count, if it is retired or revoked.
    pub last_trusted_size: Option<u64>,
    /// Why.
    pub reason: Option<String>,
}

/// A change of keys as it stands in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedKeyChange {
    /// Position in the log.
    pub seq: u64,
    /// What happened to the key.
    pub op: KeyOp,
    /// The public key.
    pub vkey: String,
    /// Up to which size its signatures count.
    pub last_trusted_size: Option<u64>,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub created_at: String,
    /// The signature line of the key that vouches for it.
    pub signature: Option<String>,
}

/// A log whose newest part was lost, and which another one continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostLog {
    /// Its name.
    pub origin: String,
    /// How many entries it was last seen with.
    pub size: u64,
    /// Its root then.
    pub root: Sha,
    /// Why it is continued elsewhere.
    pub reason: String,
    /// Who decided that.
    pub actor: String,
}

impl Cairn {
    /// Records a change of the log's keys, signed by a key of this handle's signer; returns its position in the log.
    ///
    /// An `add` is signed by a key that the log trusts, unless it is the first. The end of a key is signed by another one.
    /// Where the signer has no such key, the change is refused.
    pub fn change_key(&self, change: KeyChange) -> Result<u64> {
        if let Some(reason) = &change.reason {
            words("reason", reason)?;
        }
        let head = self.inner.store.head()?;
        match (change.op, change.last_trusted_size) {
            (KeyOp::Add, Some(_)) => {
                return Err(Error::invalid("last_trusted_size", "a key that is added has none"));
            }
            (KeyOp::Retire | KeyOp::Revoke, None) => {
                return Err(Error::invalid("last_trusted_size", "must be given for the end of a key"));
            }
            (_, Some(last)) if last > head.size => {
                let message = format!("must be at most {}, the size of the log", head.size);
                return Err(Error::invalid("last_trusted_size", message));
            }
            _ => {}
        }
        let origin = &head.origin;
        if change.key.name() != origin {
            let message = format!("the key is for the log `{}`, and this is `{origin}`", change.key.name());
            return Err(Error::invalid("key", message));
        }
        let signer = self.inner.signer.as_deref();
        let endorsement = endorse(&change, origin, signer, &key_entries(&*self.inner.store)?)?;
        self.writer()?.write_now(move |step| step.append_key(&change, &endorsement))
    }

    /// The changes of keys that the log records, oldest first.
    pub fn key_changes(&self) -> Result<Vec<RecordedKeyChange>> {
        Ok(key_entries(&*self.inner.store)?.into_iter().map(Into::into).collect())
    }

    /// The log that this one continues, as its second entry says.
    pub fn continues(&self) -> Result<Option<LostLog>> {
        let second = self.entry(1)?;
        Ok(second.and_then(|entry| match Entry::parse(entry.leaf.as_bytes()) {
            Some(Entry::Continuation(entry)) => Some(LostLog {
                origin: entry.origin.into_owned(),
                size: entry.size,
                root: entry.root,
                reason: entry.reason.into_owned(),
                actor: entry.actor.into_owned(),
            }),
            _ => None,
        }))
    }

    /// Records, as the first thing in a new log, which one it continues; returns its position in the log.
    pub fn continue_log(&self, lost: LostLog) -> Result<u64> {
        words("reason", &lost.reason)?;
        words("actor", &lost.actor)?;
        let size = self.inner.store.head()?.size;
        if size > 1 {
            let message = format!("this log has {size} entries already: only a new one can continue another");
            return Err(Error::Conflict(message));
        }
        self.writer()?.write_now(move |step| step.append_continuation(&lost))
    }
}

/// The changes of keys in the log, each at the place where it stands, whatever it says of that itself.
pub(super) fn key_entries(store: &dyn Store) -> Result<Vec<KeyEntry<'static>>> {
    let mut changes = Vec::new();
    store.audit()?.statements(EntryKind::Key, &mut |seq, leaf| {
        if let Some(Entry::Key(change)) = Entry::parse(leaf) {
            changes.push(KeyEntry { seq, ..change.into_owned() });
        }
    })?;
    Ok(changes)
}

impl From<KeyEntry<'static>> for RecordedKeyChange {
    fn from(entry: KeyEntry<'static>) -> RecordedKeyChange {
        let KeyEntry { created_at, last_trusted_size, op, reason, seq, signature, vkey } = entry;
        RecordedKeyChange {
            seq,
            op,
            vkey: vkey.into_owned(),
            last_trusted_size,
            reason: reason.map(Into::into),
            created_at: created_at.into_owned(),
            signature: signature.map(Into::into),
        }
    }
}

/// Words that people read later: there must be some, and not too many.
fn words(field: &'static str, text: &str) -> Result<()> {
    match text.len() {
        0 => Err(Error::invalid(field, "must not be empty")),
        actual if actual > MAX_WORDS => Err(Error::TooLarge { field, actual, limit: MAX_WORDS }),
        _ if text.contains('\0') => Err(Error::invalid(field, "must not contain a NUL character")),
        _ => Ok(()),
    }
}
