//! Whether a server is one that a log can be kept on.

use tokio_postgres::SimpleQueryMessage;

use super::Result;
use crate::store::StoreError;

/// The oldest major version of PostgreSQL that is used.
const OLDEST: u32 = 13;

/// What a server is asked about itself.
pub const ASK: &str = "SELECT current_setting('server_version_num'), current_setting('server_version'), \
  current_setting('server_encoding'), current_setting('session_replication_role')";

/// Whether what refuses changes is in force on a connection.
#[derive(PartialEq)]
pub enum Triggers {
    On,
    Off,
}

/// Looks at what it answered.
pub fn suitable(told: &[SimpleQueryMessage]) -> Result<Triggers> {
    let row = told.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let value = |column| row.and_then(|row| row.get(column)).unwrap_or_default();
    let number: u32 = value(0).parse().unwrap_or_default();
    if number < OLDEST * 10_000 {
        let found = value(1);
        return Err(StoreError::Unsuitable(format!("PostgreSQL {OLDEST} or newer is needed, found {found}")));
    }
    if value(2) != "UTF8" {
        return Err(StoreError::Unsuitable(format!(
            "the database's encoding must be UTF8, found {}; make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE \
             template0",
            value(2)
        )));
    }
    Ok(if value(3) == "origin" { Triggers::On } else { Triggers::Off })
}

/// That the triggers are off, and cannot be switched on from here.
pub fn without_triggers() -> StoreError {
    StoreError::Unsuitable(
        "session_replication_role is set for this role or database, which switches off the triggers that refuse \
         changes; an administrator can undo that with ALTER ROLE or ALTER DATABASE … RESET session_replication_role"
            .into(),
    )
}
