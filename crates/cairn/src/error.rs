//! What can go wrong, each with the stable code that clients see.

use std::path::PathBuf;

use cairn_core::thought::{Issue, Refusal};

use crate::store::sqlite::BUSY;
use crate::store::{Damage, StoreError};

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

/// Why a database cannot be opened.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OpenError {
    /// The folder the file should be in does not exist.
    #[error("the folder `{}` does not exist", folder.display())]
    NoFolder {
        /// The missing folder.
        folder: PathBuf,
    },
    /// There is no file, and it was not asked to be made.
    #[error("there is no database at `{}`", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The path is a symbolic link to something that does not exist.
    #[error("`{}` is a symbolic link that leads nowhere", path.display())]
    Dangling {
        /// The link.
        path: PathBuf,
    },
    /// There is no file where a log was seen before.
    #[error(
        "the log `{origin}` was in `{}`, with {entries} entries on {seen}, and is gone", path.display()
    )]
    Gone {
        /// Where it was.
        path: PathBuf,
        /// The name of the log.
        origin: String,
        /// How many entries it had when it was last seen.
        entries: u64,
        /// When that was.
        seen: String,
    },
    /// There is no log on the server, and the role that is used may not make one.
    #[error("there is no log in schema `{schema}` of `{}`, and this role may not make one", path.display())]
    Barred {
        /// Where it was looked for.
        path: PathBuf,
        /// In which schema.
        schema: String,
    },
    /// The file is something else.
    #[error("`{}` is not a Cairn database: {found}", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What it seems to be.
        found: String,
    },
    /// The file is a database without any content: it was copied without its write-ahead log, or lost it.
    #[error("`{}` is a database file without content: there is no log in it", path.display())]
    Hollow {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a later version of Cairn.
    #[error("`{}` was written by a newer Cairn: it has schema {found}, this program knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// It was written by an earlier version of Cairn. A reader does not bring it up to date, and neither does a writer
    /// who may not.
    #[error(
        "`{}` was written by an older Cairn: it has schema {found}, this program reads {known}", path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The schema it would be brought to.
        known: i64,
    },
    /// A write was interrupted, and a reader cannot take it back.
    #[error("a write to `{}` was interrupted, and its journal waits beside the file", path.display())]
    Interrupted {
        /// The file.
        path: PathBuf,
    },
    /// The file or its folder cannot be written, and must be.
    #[error("`{}` is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Its write-ahead log is not folded in, and cannot be read where nothing can be written.
    #[error(
        "`{}` cannot be read where it is: a part of it is in its `-wal` file, and to read that, SQLite must write a `-shm` \
         file into the folder, which is read-only", path.display()
    )]
    Unfolded {
        /// The file.
        path: PathBuf,
    },
    /// Other processes kept the file locked for too long.
    #[error("`{}` was locked by other processes for {seconds} s", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long the call waited.
        seconds: u64,
    },
    /// The address of a server cannot be used. Nothing of it is repeated, since it may hold a password.
    #[error("the address of the database cannot be used: {why}")]
    Address {
        /// Why not.
        why: String,
    },
    /// The replica that is to be read from cannot be used.
    #[error("the database to read from cannot be used: {why}")]
    Replica {
        /// Why not.
        why: String,
    },
    /// Anything else that the database reported.
    #[error("cannot open `{}`", path.display())]
    Store {
        /// The file.
        path: PathBuf,
        /// What it reported.
        source: StoreError,
    },
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
