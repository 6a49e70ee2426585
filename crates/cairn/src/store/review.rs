//! Reviews as a store has them.

use super::{Result, Visit};

/// Reads reviews.
pub trait ReviewReader {
    /// Visits the reviews of a record, oldest first.
    fn reviews(&self, target_id: &str, visit: Visit<'_>) -> Result<()>;
}

/// Reads reviews as they are stored.
pub trait ReviewAudit {
    /// Where each review is, and where its target is, in order.
    fn review_places(&self) -> Result<Vec<(u64, u64)>>;
}
