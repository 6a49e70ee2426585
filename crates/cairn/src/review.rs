//! Reviews: what people say about thoughts and stored briefs. A review changes nothing that was recorded.

use cairn_core::Sha;
use cairn_core::entry::{EntryKind, ReviewEntry, ReviewVerdict, Salt, metadata_commitment};
use cairn_core::id::AgentId;
use cairn_core::log::leaf_hash;
use cairn_core::time::Timestamp;
use serde::Serialize;

use crate::clock::new_id;
use crate::error::{Error, Result};
use crate::handle::{Cairn, new_salt};
use crate::store::{Damage, Read, StoredReview};
use crate::writer::ReviewRequest;

/// A review to be recorded.
#[derive(Debug, Clone)]
pub struct NewReview {
    /// The id of a thought or of a stored brief.
    pub target: String,
    /// What the reviewer thinks of it.
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
    /// What the reviewer thinks of it.
    pub verdict: ReviewVerdict,
    /// The reviewer's words.
    pub text: String,
    /// The reviewer.
    pub actor: String,
    /// When.
    pub created_at: Timestamp,
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
        let stored = self.inner.store.reviews(target)?;
        stored.iter().map(|stored| Ok(checked(stored, target)?)).collect()
    }
}

/// Checks a review before it is shown.
fn checked(stored: &StoredReview, target: &str) -> Read<Review> {
    let seq = stored.seq.unsigned_abs();
    let wrong = |what: &str| Damage::at(seq, what);
    let differs = || wrong("what is stored does not match its hash in the log");
    let (Some(text), Some(entry)) = (&stored.text, entry_of(stored)) else { return Err(differs()) };
    let mut bytes = Vec::new();
    entry.write(&mut bytes);
    if stored.entry_hash.as_deref() != Some(&leaf_hash(&bytes).0[..]) {
        return Err(differs());
    }
    if entry.target_id != target {
        return Err(wrong(&format!("it is not a review of `{target}`")));
    }
    Ok(Review {
        id: stored.id.clone(),
        seq,
        target_kind: entry.target_kind,
        target_id: stored.target_id.clone(),
        target_seq: entry.target_seq,
        verdict: entry.verdict,
        text: text.clone(),
        actor: stored.actor.clone(),
        created_at: Timestamp::parse(&stored.created_at).map_err(|_| wrong("its time is no time"))?,
    })
}

/// The log entry of a row; none if its values cannot be those of one, or its text is gone.
pub(crate) fn entry_of(stored: &StoredReview) -> Option<ReviewEntry<'_>> {
    let (text, salt) = (stored.text.as_deref()?, stored.salt.as_deref()?);
    Some(ReviewEntry {
        actor: stored.actor.as_str().into(),
        created_at: stored.created_at.as_str().into(),
        review_id: stored.id.as_str().into(),
        seq: stored.seq.try_into().ok()?,
        target_id: stored.target_id.as_str().into(),
        target_kind: stored.target_kind.parse().ok()?,
        target_seq: stored.target_seq.try_into().ok()?,
        text_commitment: commitment(&salt.try_into().ok()?, text),
        text_length: text.len() as u64,
        verdict: ReviewVerdict::from_word(&stored.verdict)?,
    })
}

/// Stands for the text of a review in its entry.
pub(crate) fn commitment(salt: &Salt, text: &str) -> Sha {
    metadata_commitment(salt, text.as_bytes())
}
