//! What is said of a record that was blanked.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The most bytes that the reason of a redaction may have.
pub const MAX_REASON: usize = 2000;

/// That a record was blanked: by whom, when and why. Its hashes stay, and the log holds an entry that says this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// Who blanked it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
}

/// As it stands in the place of the text.
impl fmt::Display for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[redacted by {} on {}: {}]", self.by, self.at, self.reason)
    }
}
