//! Recording a review.

use cairn_core::entry::{Entry, EntryKind, ReviewEntry, ReviewVerdict, Salt};

use super::step::Step;
use crate::error::{Error, Result};
use crate::review::{Review, commitment};
use crate::store::{Damage, ReviewRow};
use crate::verify::InLog;

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
        let Some(target) = self.tx.target(target_id)? else {
            return Err(Error::NotFound { what: "thought or brief", id: target_id.clone() });
        };
        // From the log, whatever the row holds today.
        let in_log = self.tx.leaf(target.seq)?.and_then(|leaf| InLog::of(&Entry::parse(&leaf)?));
        if in_log.is_none_or(|in_log| in_log.kind != target.kind || in_log.id != *target_id) {
            return Err(Damage::at(target.seq, format!("it is not {} `{target_id}`", target.kind)).into());
        }
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.leaf.clear();
        ReviewEntry {
            actor: actor.as_str().into(),
            created_at: created_at.as_str().into(),
            review_id: id.as_str().into(),
            seq,
            target_id: target_id.as_str().into(),
            target_kind: target.kind,
            target_seq: target.seq,
            text_commitment: commitment(salt, text),
            text_length: text.len() as u64,
            verdict: *verdict,
        }
        .write(self.leaf);
        self.append(EntryKind::Review)?;
        self.tx.insert_review(&ReviewRow {
            seq,
            id,
            target_kind: target.kind.as_str(),
            target_id,
            target_seq: target.seq,
            verdict: verdict.as_str(),
            actor,
            created_at: created_at.as_str(),
            text: Some(text),
            salt: Some(salt),
        })?;
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
        })
    }
}
