//! What PostgreSQL reports, in Cairn's words.

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store::StoreError;

/// Whether the connection is gone, or the server is on its way out: another connection may do better.
pub fn is_lost(error: &Error) -> bool {
    let states = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::CONNECTION_EXCEPTION,
        SqlState::CONNECTION_FAILURE,
        SqlState::CONNECTION_DOES_NOT_EXIST,
        SqlState::IDLE_SESSION_TIMEOUT,
    ];
    match error.code() {
        Some(code) => states.contains(code),
        None => !is_about_rows(error),
    }
}

/// Whether what came back, or a column that was asked about, is not what it should be. That is the driver's word and no
/// server's, and the driver does not say so but in words.
fn is_about_rows(error: &Error) -> bool {
    let words = error.to_string();
    [
        "error deserializing column",
        "error serializing parameter",
        "invalid column",
        "query returned an unexpected number of rows",
    ]
    .iter()
    .any(|about| words.starts_with(about))
}

/// Translates for the caller; never passes on SQL, a host or a password.
pub fn store_error(error: Error) -> StoreError {
    let Some(code) = error.code() else {
        return match is_about_rows(&error) {
            true => StoreError::Damaged("a stored value has the wrong form".into()),
            false => StoreError::Lost,
        };
    };
    if is_lost(&error) {
        return StoreError::Lost;
    }
    match code {
        code if *code == SqlState::UNIQUE_VIOLATION => StoreError::Taken("id"),
        code if *code == SqlState::DISK_FULL => StoreError::DiskFull,
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly,
        code if [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::QUERY_CANCELED,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(code) =>
        {
            StoreError::Busy
        }
        code if *code == SqlState::INSUFFICIENT_PRIVILEGE => StoreError::NotAllowed,
        // Somebody gave a table another form.
        code if [
            SqlState::UNDEFINED_TABLE,
            SqlState::UNDEFINED_COLUMN,
            SqlState::UNDEFINED_FUNCTION,
            SqlState::DATATYPE_MISMATCH,
        ]
        .contains(code) =>
        {
            StoreError::Damaged("its tables are not those that Cairn makes".into())
        }
        code if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) => {
            StoreError::Damaged("PostgreSQL reports damaged data".into())
        }
        _ => match error.as_db_error() {
            Some(told) => StoreError::Other(told.message().to_string()),
            None => StoreError::Lost,
        },
    }
}
