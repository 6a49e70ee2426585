//! Checking reviews.

use cairn_core::entry::{Entry, ReviewEntry};
use cairn_core::log::leaf_hash;

use super::record::first_difference;
use super::redaction::InLog;
use super::{Finding, Reason};
use crate::review::entry_of;
use crate::store::{Audit, StoreError, StoredReview};

/// Checks the review of an entry: its row, its bytes, and that what it is about stands where it says.
pub fn check_review(audit: &dyn Audit, seq: u64, leaf: &[u8]) -> Result<Option<Finding>, StoreError> {
    let Some(Entry::Review(said)) = Entry::parse(leaf) else {
        let message = format!("log entry {seq} should record a review, and cannot be read");
        return Ok(Some(Finding::new(Reason::LeafMismatch, "entry", message).at(seq)));
    };
    let Some(stored) = audit.review(seq)? else {
        let message = format!("the review of log entry {seq} is gone");
        return Ok(Some(Finding::new(Reason::MissingRecord, "review", message).at(seq)));
    };
    let finding = |reason, field: &str, expected: &str, actual: &str| {
        let what = format!("review `{}`", said.review_id);
        let finding = Finding::differs(reason, "review", &what, field, expected, actual).at(seq);
        Some(Finding { id: Some(said.review_id.to_string()), ..finding })
    };
    if let Some((reason, field, expected, actual)) = row_differs(&stored, &said, leaf) {
        return Ok(finding(reason, &field, &expected, &actual));
    }
    let mut target = None;
    if said.target_seq < seq
        && let Some(leaf) = audit.leaf(said.target_seq)?
    {
        let mut kept = true;
        audit.leaf_hashes(said.target_seq, said.target_seq + 1, &mut |_, hash| {
            kept = leaf_hash(&leaf).0 == hash;
        })?;
        if !kept {
            // What it is about has a finding of its own.
            return Ok(None);
        }
        target = InLog::read(&leaf);
    }
    let sound = target.is_some_and(|target| target.kind == said.target_kind && target.id == said.target_id);
    let expected = "that of the earlier thought or brief it names";
    Ok((!sound)
        .then(|| finding(Reason::MissingRecord, "target_seq", expected, &said.target_seq.to_string()))
        .flatten())
}

type Difference = (Reason, String, String, String);

fn row_differs(stored: &StoredReview, said: &ReviewEntry<'_>, leaf: &[u8]) -> Option<Difference> {
    if stored.text.is_none() {
        let nothing = "nothing: it was erased without a redaction record".to_string();
        return Some((Reason::MissingRecord, "text".into(), "the text".into(), nothing));
    }
    let Some(entry) = entry_of(stored) else {
        // A value that no entry can have: the first that differs is named.
        let pairs = [
            ("salt", "32 bytes", stored.salt.as_ref().is_some_and(|salt| salt.len() == 32)),
            ("target_kind", said.target_kind.as_str(), stored.target_kind == said.target_kind.as_str()),
            ("verdict", said.verdict.as_str(), stored.verdict == said.verdict.as_str()),
        ];
        let (field, expected, _) =
            pairs.into_iter().find(|(.., same)| !same).unwrap_or(("target_seq", "a place", false));
        return Some((Reason::LeafMismatch, field.into(), expected.into(), "something else".into()));
    };
    let mut bytes = Vec::new();
    entry.write(&mut bytes);
    if bytes == leaf {
        return None;
    }
    let (field, in_log, in_row) = first_difference(leaf, &bytes);
    Some(match field.as_str() {
        "text_commitment" | "text_length" => (Reason::ContentHashMismatch, "text".into(), in_log, in_row),
        "review_id" => (Reason::LeafMismatch, "id".into(), in_log, in_row),
        _ => (Reason::LeafMismatch, field, in_log, in_row),
    })
}
