//! Recording a review.

use cairn_core::entry::{Entry, EntryKind, Parts, Record, ReviewEntry, ReviewVerdict, Salt, commitment};

use super::step::Step;
use crate::error::{Error, Result};
use crate::review::Review;
use crate::store::{Damage, Keys};

/// A review to be recorded.
pub(crate) struct ReviewRequest {
    pub id: String,
    pub target: String,
    pub verdict: ReviewVerdict,
    pub text: String,
    pub actor: String,
    pub salt: Salt,
}

impl Step<'_> {
    /// Records a review of a thought or a stored brief.
    pub fn review(&mut self, request: &ReviewRequest) -> Result<Review> {
        let ReviewRequest { id, target: target_id, verdict, text, actor, salt } = request;
        let Some(target) = self.target(&[EntryKind::Thought, EntryKind::Brief], target_id)? else {
            return Err(Error::NotFound { what: "thought or brief", id: target_id.clone() });
        };
        let in_log = self.entry_at(target.seq)?;
        if in_log.kind() != target.kind || in_log.id() != *target_id {
            return Err(Damage::at(target.seq, format!("it is not {} `{target_id}`", target.kind)).into());
        }
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let entry = Entry::Review(ReviewEntry {
            actor: actor.as_str().into(),
            created_at: created_at.as_str().into(),
            review_id: id.as_str().into(),
            seq,
            target_id: target_id.as_str().into(),
            target_kind: target.kind,
            target_seq: target.seq,
            text_commitment: commitment(salt, text.as_bytes()),
            text_length: text.len() as u64,
            verdict: *verdict,
        });
        let parts = Parts { text: Some(text.as_str().into()), salt: Some(*salt), ..Parts::default() };
        self.append(Record { entry, parts }, &Keys::default())?;
        Ok(Review {
            id: id.clone(),
            seq,
            target_kind: target.kind,
            target_id: target_id.clone(),
            target_seq: target.seq,
            verdict: *verdict,
            text: text.clone(),
            actor: actor.clone(),
            created_at,
            redacted: None,
        })
    }
}
