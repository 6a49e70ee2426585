//! What PostgreSQL reports, in Cairn's words.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::{WasNull, WrongType};

use super::connect::PATIENCE;
use super::tls::refused_by_tls;
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

/// Whether the server ended the connection with this error, or itself. Of a commit that met it nobody knows: a server whose
/// disk for the write-ahead log is full may have written the commit before it broke down, and bring it back.
pub fn is_fatal(error: &Error) -> bool {
    let severity = error.as_db_error().and_then(|told| told.parsed_severity());
    matches!(severity, Some(Severity::Fatal | Severity::Panic))
}

/// Whether what came back, or a column that was asked about, is not what it should be. That is the driver's word and no
/// server's. Of types it gives the cause; that a row is missing or one too many it says in words alone, and should those
/// change, it is taken for a lost connection, after which nothing is believed to be written that is not found.
fn is_about_rows(error: &Error) -> bool {
    match error.source() {
        Some(cause) => cause.is::<WrongType>() || cause.is::<WasNull>(),
        None => {
            let words = error.to_string();
            ["invalid column", "query returned an unexpected number of rows"]
                .iter()
                .any(|about| words.starts_with(about))
        }
    }
}

/// That something took longer than a call waits for.
pub fn overloaded(what: &'static str) -> StoreError {
    StoreError::Overloaded { what, seconds: PATIENCE.as_secs() }
}

/// Why a connection was not made. A server that refuses says why; one that is not there is not reachable.
pub fn connect_error(error: Error) -> StoreError {
    match error.as_db_error() {
        Some(_) if is_lost(&error) => overloaded("the database server was starting up or shutting down"),
        Some(told) if *told.code() == SqlState::INVALID_CATALOG_NAME => StoreError::Unsuitable(format!(
            "{}; make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, or name another in the address",
            told.message()
        )),
        Some(_) => store_error(error),
        None => match refused_by_tls(&error) {
            Some(why) => StoreError::NotEncrypted(why),
            None if takes_no_writes(&error) => StoreError::NoPrimary,
            // The driver's words: it was asked for a password and has none, or did not come to terms with the server.
            None if error.source().is_some_and(|why| why.to_string() == "password missing") => {
                StoreError::NoPassword
            }
            None if ["invalid configuration", "authentication error"]
                .iter()
                .any(|about| error.to_string().starts_with(about)) =>
            {
                StoreError::NotAdmitted
            }
            None => StoreError::Unreachable,
        },
    }
}

/// Whether a server of several was passed over because it is not the one that takes writes.
fn takes_no_writes(error: &Error) -> bool {
    let io = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    error.to_string().starts_with("error connecting to server")
        && io.is_some_and(|io| {
            io.kind() == std::io::ErrorKind::PermissionDenied && io.raw_os_error().is_none()
        })
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
    let is_one_of = |states: &[SqlState]| states.contains(code);
    match () {
        () if is_one_of(&[SqlState::UNIQUE_VIOLATION]) => StoreError::Taken("id"),
        () if is_one_of(&[SqlState::DISK_FULL]) => StoreError::DiskFull,
        () if is_one_of(&[SqlState::READ_ONLY_SQL_TRANSACTION]) => StoreError::NoPrimary,
        () if is_one_of(&[SqlState::LOCK_NOT_AVAILABLE]) => overloaded("others kept the database locked"),
        () if is_one_of(&[SqlState::QUERY_CANCELED]) => {
            overloaded("the database server was busy with one statement, or was told to leave it,")
        }
        () if is_one_of(&[SqlState::TOO_MANY_CONNECTIONS]) => {
            overloaded("the database server took no more connections (max_connections)")
        }
        () if is_one_of(&[SqlState::T_R_DEADLOCK_DETECTED, SqlState::OUT_OF_MEMORY]) => {
            overloaded("the database server had too much to do")
        }
        () if is_one_of(&[SqlState::INVALID_PASSWORD]) => StoreError::WrongPassword,
        () if is_one_of(&[SqlState::INVALID_AUTHORIZATION_SPECIFICATION]) => StoreError::NotAdmitted,
        () if is_one_of(&[SqlState::INSUFFICIENT_PRIVILEGE]) => StoreError::NotAllowed,
        // Somebody gave a table another form.
        () if is_one_of(&[
            SqlState::UNDEFINED_TABLE,
            SqlState::UNDEFINED_COLUMN,
            SqlState::UNDEFINED_FUNCTION,
            SqlState::DATATYPE_MISMATCH,
        ]) =>
        {
            StoreError::Damaged("its tables are not those that Cairn makes".into())
        }
        () if is_one_of(&[SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED]) => {
            StoreError::Damaged("PostgreSQL reports damaged data".into())
        }
        () => match error.as_db_error() {
            Some(told) => StoreError::Other(told.message().to_string()),
            None => StoreError::Lost,
        },
    }
}
