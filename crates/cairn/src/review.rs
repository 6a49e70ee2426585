//! Reviews: what people say about thoughts and stored briefs. A review changes nothing that was recorded.

use std::ops::ControlFlow;

use cairn_core::entry::{Entry, EntryKind, ReviewVerdict};
use cairn_core::id::AgentId;
use cairn_core::redaction::Redaction;
use cairn_core::time::Timestamp;
use serde::Serialize;

use crate::checked::{self, Checked};
use crate::clock::new_id;
use crate::error::{Error, Result};
use crate::handle::{Cairn, new_salt};
use crate::store::{Damage, Read, Stored};
use crate::writer::ReviewRequest;

/// A review to be recorded.
#[derive(Debug, Clone)]
pub struct NewReview {
    /// The id of a thought or of a stored brief.
    pub target: String,
    /// The reviewer's opinion.
    pub verdict: ReviewVerdict,
    /// The reviewer's words; may be empty.
    pub text: String,
    /// The reviewer.
    pub actor: String,
}

/// A review as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// Its id.
    pub id: String,
    /// Position in the log.
    pub seq: u64,
    /// The kind of the record it is about.
    pub target_kind: EntryKind,
    /// The id of that record.
    pub target_id: String,
    /// Where in the log that record is.
    pub target_seq: u64,
    /// The reviewer's opinion.
    pub verdict: ReviewVerdict,
    /// The reviewer's words; empty if they were redacted.
    pub text: String,
    /// The reviewer.
    pub actor: String,
    /// When.
    pub created_at: Timestamp,
    /// Who took its text, when and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
}

impl Cairn {
    /// Records a review of a thought or of a stored brief. When this returns, it is on disk.
    pub fn add_review(&self, review: NewReview) -> Result<Review> {
        self.check_text("text", &review.text)?;
        AgentId::new(review.actor.clone()).map_err(|error| Error::invalid("actor", error))?;
        let NewReview { target, verdict, text, actor } = review;
        let request =
            ReviewRequest { id: new_id()?.to_string(), target, verdict, text, actor, salt: new_salt()? };
        self.writer()?.write_now(move |step| step.review(&request))
    }

    /// The reviews of a thought or of a stored brief, oldest first, each checked against the log.
    pub fn reviews(&self, target: &str) -> Result<Vec<Review>> {
        let (mut reviews, mut buffer) = (Vec::new(), Vec::new());
        self.inner.store.reviews(target, &mut |stored| {
            reviews.push(checked(stored, target, &mut buffer));
            ControlFlow::Continue(())
        })?;
        Ok(reviews.into_iter().collect::<Read<_>>()?)
    }
}

fn checked(stored: Stored<'_>, target: &str, buffer: &mut Vec<u8>) -> Read<Review> {
    let Checked { seq, record, redaction } = checked::record(stored, buffer)?;
    let Entry::Review(entry) = record.entry else { return Err(Damage::at(seq, "it is not a review")) };
    if entry.target_id != target {
        return Err(Damage::at(seq, format!("it is not a review of `{target}`")));
    }
    Ok(Review {
        id: entry.review_id.into_owned(),
        seq,
        target_kind: entry.target_kind,
        target_id: entry.target_id.into_owned(),
        target_seq: entry.target_seq,
        verdict: entry.verdict,
        text: record.parts.text.unwrap_or_default().into_owned(),
        actor: entry.actor.into_owned(),
        created_at: Timestamp::parse(&*entry.created_at)
            .map_err(|_| Damage::at(seq, "its time is no time"))?,
        redacted: redaction.map(|said| said.redaction()),
    })
}
