//! What can go wrong, each with the stable code that clients see.

use cairn_core::thought::{Issue, Refusal};

use crate::store::{BUSY, Damage, StoreError};

pub use crate::store::OpenError;

/// The result of a call on [`crate::Cairn`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call was refused or failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// What the caller sent is wrong; every problem is named.
    #[error("{}", join(.0))]
    Invalid(Vec<Issue>),
    /// There is no such thing.
    #[error("no {what} `{id}`")]
    NotFound {
        /// What kind of thing was asked for.
        what: &'static str,
        /// By which name.
        id: String,
    },
    /// It contradicts something already recorded.
    #[error("{0}")]
    Conflict(String),
    /// No checkpoint covers it yet.
    #[error("no checkpoint covers {what} yet: make one, then try again")]
    Uncovered {
        /// The entry, session or task.
        what: String,
    },
    /// It may not be done, whoever asks; the message says what to do instead.
    #[error("{0}")]
    Forbidden(String),
    /// Well-formed, and too much of it.
    #[error("{field} has {actual} bytes; the limit is {limit}")]
    TooLarge {
        /// Which argument.
        field: &'static str,
        /// Its size in bytes.
        actual: usize,
        /// The most it may have.
        limit: usize,
    },
    /// A label could mean several drafts.
    #[error("{path}: the label {label:?} could mean any of {}; name the draft with `from`", candidates.join(", "))]
    AmbiguousLabel {
        /// Which operation.
        path: String,
        /// The label.
        label: String,
        /// The drafts that have it.
        candidates: Vec<String>,
    },
    /// What must be in a brief does not fit into its budget.
    #[error("a budget of {budget} tokens is too small for {item}; what must be shown needs {needed}")]
    BudgetTooSmall {
        /// The budget.
        budget: u64,
        /// What did not fit.
        item: String,
        /// A budget that would do.
        needed: u64,
    },
    /// Other processes kept the database busy for too long; nothing was written.
    #[error("other processes kept the database busy for {seconds} s; nothing was written. Try again")]
    Busy {
        /// How long the call waited.
        seconds: u64,
    },
    /// A stored record does not match the log, so it is not shown.
    #[error(transparent)]
    Damaged(Damage),
    /// The database could not do it.
    #[error(transparent)]
    Store(StoreError),
}

impl Error {
    /// One problem at one path.
    pub fn invalid(path: impl Into<String>, message: impl std::fmt::Display) -> Error {
        Error::Invalid(vec![Issue::new(path, message)])
    }

    /// The code that clients can rely on.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid(_) => "INVALID_PARAMS",
            Error::NotFound { .. } => "NOT_FOUND",
            Error::Conflict(_) | Error::Uncovered { .. } => "CONFLICT",
            Error::Forbidden(_) => "FORBIDDEN",
            Error::TooLarge { .. } => "TOO_LARGE",
            Error::AmbiguousLabel { .. } => "AMBIGUOUS_LABEL",
            Error::BudgetTooSmall { .. } => "BUDGET_TOO_SMALL",
            Error::Busy { .. } => "BUSY",
            Error::Damaged(_) | Error::Store(StoreError::Damaged(_)) => "DAMAGED",
            Error::Store(error) if error.is_passing() => "BUSY",
            Error::Store(_) => "HANDLER_ERROR",
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        match error {
            StoreError::Busy => Error::Busy { seconds: BUSY.as_secs() },
            other => Error::Store(other),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Invalid(issues) => Error::Invalid(issues),
            Refusal::TooLarge { field, actual, limit } => Error::TooLarge { field, actual, limit },
        }
    }
}

fn join(issues: &[Issue]) -> String {
    let parts: Vec<String> =
        issues.iter().map(|issue| format!("{}: {}", issue.path, issue.message)).collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_database_is_busy_whoever_met_it() {
        assert_eq!(Error::from(StoreError::Busy).code(), "BUSY");
        assert_eq!(Error::from(StoreError::Unreachable).code(), "BUSY");
        assert_eq!(Error::from(StoreError::DiskFull).code(), "HANDLER_ERROR");
        // It may have been written: trying again is not harmless.
        assert_eq!(Error::from(StoreError::Unknown).code(), "HANDLER_ERROR");
    }
}
