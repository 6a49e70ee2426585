//! The same call again: the first record, if it asks for the same thing.

use cairn_core::id::IdempotencyKey;
use cairn_core::thought::{CheckedThought, Thought};

use super::step::Step;
use super::{Recorded, Sealing};
use crate::checked;
use crate::error::{Error, Result};
use crate::seal;
use crate::shown::{is_closed, opened};
use crate::store::StoreError;

impl Step<'_> {
    /// The thought that was recorded under a key, and the length of the text in its sealed content.
    pub(super) fn first_of(&mut self, key: &IdempotencyKey) -> Result<Option<(Thought, Option<usize>)>> {
        let tx = &mut *self.tx;
        checked::one(
            |visit| tx.by_key(key.as_str(), visit),
            |stored, buffer| {
                let text = stored.record.as_ref().ok().and_then(|record| record.parts.text.as_deref());
                let sealed_length = text.and_then(seal::length);
                Ok((checked::thought(stored, buffer)?, sealed_length))
            },
        )
    }

    /// Returns the record that was made under the key of `thought`, or refuses if this is about another.
    ///
    /// Of a redacted record the content is compared by its hash, or by its length if it was sealed; of its metadata
    /// only whether there was any: the rest is gone, and a retry must not fail for that.
    pub(super) fn repeated(
        &mut self,
        thought: &CheckedThought,
        sealing: Option<&Sealing>,
        (first, sealed_length): (Thought, Option<usize>),
    ) -> Result<Recorded> {
        let first = match is_closed(&first) {
            true => opened(first.clone(), self.tx.seal_key(first.seq)?)?,
            false => first,
        };
        let metadata = first
            .metadata
            .as_ref()
            .map(|map| cairn_core::canonical::to_bytes(&serde_json::Value::Object(map.clone())))
            .transpose()
            .map_err(|error| StoreError::Damaged(error.to_string()))?
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let other_content = match sealing {
            _ if thought.seal != first.sealed => false,
            None => thought.content_hash != first.content_hash,
            Some(sealing) if first.redacted.is_some() => sealed_length != Some(sealing.content.len()),
            Some(sealing) => sealing.content != first.content,
        };
        let other_metadata = match first.redacted {
            None => thought.metadata != metadata,
            Some(_) => {
                let entry = self.tx.redaction(first.seq)?;
                let said = entry.map(|entry| checked::redaction(&entry, first.seq)).transpose()?;
                thought.metadata.is_some() != said.is_some_and(|said| said.blanks("metadata"))
            }
        };
        let differs = [
            ("type", thought.kind != first.kind),
            ("content", other_content),
            ("seal", thought.seal != first.sealed),
            ("task_id", thought.task_id != first.task_id),
            ("session_id", thought.session_id != first.session_id),
            ("agent_id", thought.agent_id != first.agent_id),
            ("parent_id", thought.parent_id != first.parent_id),
            ("action_id", thought.action_id != first.action_id),
            ("context_id", thought.context_id != first.context_id),
            ("brief_id", thought.brief_id != first.brief_id),
            ("supersedes", thought.supersedes != first.supersedes),
            ("rejects", thought.rejects != first.rejects),
            ("applies_to", thought.applies_to != first.applies_to),
            ("metadata", other_metadata),
        ];
        let fields: Vec<&str> =
            differs.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        if fields.is_empty() {
            return Ok(Recorded { thought: first, metadata });
        }
        Err(Error::Conflict(format!(
            "this idempotency_key was used for thought `{}` with another {}; use a new key for a new thought",
            first.id,
            fields.join(", ")
        )))
    }
}
