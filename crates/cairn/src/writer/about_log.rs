//! Entries that say something about the log itself: its keys, and the log that it continues.

use cairn_core::entry::{CONTINUATION, ContinuationEntry, KEY, KeyEntry, KeyOp};

use cairn_core::note::VerifyingKey;

use super::Step;
use crate::error::Result;
use crate::proof::{KeyChange, LostLog};

impl Step<'_> {
    /// Records the first key of the log, unless another was faster.
    pub fn append_first_key(&mut self, key: &VerifyingKey) -> Result<()> {
        if self.tx.is_keyed()? {
            return Ok(());
        }
        let (op, key) = (KeyOp::Add, key.clone());
        self.append_key(&KeyChange { op, key, last_trusted_size: None, reason: None })?;
        Ok(())
    }

    /// Records a change of keys; returns its position in the log.
    pub fn append_key(&mut self, change: &KeyChange) -> Result<u64> {
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.leaf.clear();
        KeyEntry {
            created_at: created_at.as_str(),
            last_trusted_size: change.last_trusted_size,
            op: change.op,
            reason: change.reason.as_deref(),
            seq,
            vkey: &change.key.to_string(),
        }
        .write(self.leaf);
        self.append(KEY)?;
        Ok(seq)
    }

    /// Records which log this one continues; returns its position in the log.
    pub fn append_continuation(&mut self, lost: &LostLog) -> Result<u64> {
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.leaf.clear();
        ContinuationEntry {
            actor: &lost.actor,
            created_at: created_at.as_str(),
            origin: &lost.origin,
            reason: &lost.reason,
            root: lost.root,
            seq,
            size: lost.size,
        }
        .write(self.leaf);
        self.append(CONTINUATION)?;
        Ok(seq)
    }
}

/// Whether a stored entry about the log is what an entry of that kind looks like at that place. A place of its own that
/// it made up would let it pass for one that a checkpoint covers.
pub(crate) fn is_sound(kind: &str, place: u64, leaf: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(leaf) else { return false };
    let text = |key: &str| value.get(key).and_then(|value| value.as_str());
    let number = |key: &str| value.get(key).and_then(|value| value.as_u64());
    if text("kind") != Some(kind) || number("seq") != Some(place) {
        return false;
    }
    out.clear();
    match text("kind") {
        Some(KEY) => {
            let (Some(created_at), Some(op), Some(seq), Some(vkey)) =
                (text("created_at"), text("op").and_then(KeyOp::from_word), number("seq"), text("vkey"))
            else {
                return false;
            };
            let last_trusted_size = number("last_trusted_size");
            KeyEntry { created_at, last_trusted_size, op, reason: text("reason"), seq, vkey }.write(out);
        }
        Some(CONTINUATION) => {
            let (
                Some(actor),
                Some(created_at),
                Some(origin),
                Some(reason),
                Some(root),
                Some(seq),
                Some(size),
            ) = (
                text("actor"),
                text("created_at"),
                text("origin"),
                text("reason"),
                text("root").and_then(|root| root.parse().ok()),
                number("seq"),
                number("size"),
            )
            else {
                return false;
            };
            ContinuationEntry { actor, created_at, origin, reason, root, seq, size }.write(out);
        }
        _ => return false,
    }
    out == leaf
}
