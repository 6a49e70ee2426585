//! What SQLite reports, in Cairn's words.

use rusqlite::{Error, ErrorCode, ffi};

use crate::store::StoreError;

/// Whether another connection held the lock that was needed.
pub fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the file, or what SQLite wants to put beside it, cannot be written.
pub fn is_read_only(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

/// Whether a writer was interrupted whose unfinished write a reader cannot take back.
pub fn is_interrupted(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_READONLY_ROLLBACK)
}

/// Whether a UNIQUE or PRIMARY KEY was violated.
fn is_taken(error: &Error) -> bool {
    let code = error.sqlite_error().map(|e| e.extended_code);
    matches!(code, Some(ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY))
}

/// Translates for the caller; never passes on SQL or a path.
pub fn store_error(error: Error) -> StoreError {
    if is_taken(&error) {
        return StoreError::Taken("id");
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged("malformed file".into())
        }
        Some(code) => match &error {
            Error::SqliteFailure(_, Some(message)) => StoreError::Other(message.clone()),
            _ => StoreError::Other(format!("{code:?}")),
        },
        // A column that holds another type than it was written with.
        None => StoreError::Damaged("a stored value has the wrong form".into()),
    }
}

/// Translates for verification. Its statements are fixed, so SQLite refuses one only where the file is not what it was:
/// that is a verdict about the file, not a failure to reach one.
pub fn audit_error(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::Unknown | ErrorCode::TooBig | ErrorCode::TypeMismatch) => {
            StoreError::Damaged(error.to_string())
        }
        _ => store_error(error),
    }
}
