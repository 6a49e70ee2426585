//! Reviews as a store has them.

use super::Result;

/// A review as it is written.
pub struct ReviewRow<'a> {
    /// Position in the log.
    pub seq: u64,
    /// Its id.
    pub id: &'a str,
    /// The kind of the record it is about.
    pub target_kind: &'a str,
    /// The id of that record.
    pub target_id: &'a str,
    /// Where in the log that record is.
    pub target_seq: u64,
    /// The verdict.
    pub verdict: &'a str,
    /// The reviewer.
    pub actor: &'a str,
    /// When.
    pub created_at: &'a str,
    /// The text; none if it was redacted where it was stored.
    pub text: Option<&'a str>,
    /// The salt of the text's commitment.
    pub salt: Option<&'a [u8]>,
}

/// A row as it is stored: nothing in it is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredReview {
    /// See [`ReviewRow::seq`].
    pub seq: i64,
    /// See [`ReviewRow::id`].
    pub id: String,
    /// See [`ReviewRow::target_kind`].
    pub target_kind: String,
    /// See [`ReviewRow::target_id`].
    pub target_id: String,
    /// See [`ReviewRow::target_seq`].
    pub target_seq: i64,
    /// See [`ReviewRow::verdict`].
    pub verdict: String,
    /// See [`ReviewRow::actor`].
    pub actor: String,
    /// See [`ReviewRow::created_at`].
    pub created_at: String,
    /// See [`ReviewRow::text`].
    pub text: Option<String>,
    /// See [`ReviewRow::salt`].
    pub salt: Option<Vec<u8>>,
    /// The stored hash of its log entry.
    pub entry_hash: Option<Vec<u8>>,
}

/// Reads reviews.
pub trait ReviewReader {
    /// The reviews of a record, oldest first.
    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>>;
}

/// Records reviews.
pub trait ReviewAppend {
    /// Adds a review.
    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()>;
}

/// Reads reviews as they are stored.
pub trait ReviewAudit {
    /// The review of an entry, as stored.
    fn review(&self, seq: u64) -> Result<Option<StoredReview>>;
    /// Where each review is, and where its target is, in order.
    fn review_places(&self) -> Result<Vec<(u64, u64)>>;
}
