//! Entries that say something about the log itself: its keys, and the log that it continues.

use cairn_core::entry::{ContinuationEntry, Entry, KeyEntry, KeyOp};
use cairn_core::note::VerifyingKey;

use super::Step;
use crate::error::{Error, Result};
use crate::proof::{Endorsement, KeyChange, LostLog};

impl Step<'_> {
    /// Records the first key of the log, unless another was faster.
    pub fn append_first_key(&mut self, key: &VerifyingKey) -> Result<()> {
        if self.tx.is_keyed()? {
            return Ok(());
        }
        let (op, key) = (KeyOp::Add, key.clone());
        self.append_key(&KeyChange { op, key, last_trusted_size: None, reason: None }, &Endorsement::First)?;
        Ok(())
    }

    /// Records a change of keys; returns its position in the log.
    pub fn append_key(&mut self, change: &KeyChange, endorsement: &Endorsement) -> Result<u64> {
        let signature = match endorsement {
            Endorsement::First if self.tx.is_keyed()? => {
                let message = "another process has given the log its first key meanwhile";
                return Err(Error::Conflict(message.to_string()));
            }
            Endorsement::First | Endorsement::Alone => None,
            Endorsement::Signed(signature) => Some(signature.to_string().into()),
        };
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.append_statement(Entry::Key(KeyEntry {
            created_at: created_at.as_str().into(),
            last_trusted_size: change.last_trusted_size,
            op: change.op,
            reason: change.reason.as_deref().map(Into::into),
            seq,
            signature,
            vkey: change.key.to_string().into(),
        }))?;
        Ok(seq)
    }

    /// Records which log this one continues; returns its position in the log.
    pub fn append_continuation(&mut self, lost: &LostLog) -> Result<u64> {
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.append_statement(Entry::Continuation(ContinuationEntry {
            actor: lost.actor.as_str().into(),
            created_at: created_at.as_str().into(),
            origin: lost.origin.as_str().into(),
            reason: lost.reason.as_str().into(),
            root: lost.root,
            seq,
            size: lost.size,
        }))?;
        Ok(seq)
    }
}
