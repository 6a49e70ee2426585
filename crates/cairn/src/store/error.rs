//! Failures of a database, in words a user can act on.

use std::time::Duration;

/// How long a call waits for other processes before it gives up.
pub const BUSY: Duration = Duration::from_secs(60);

/// A failure of a database, in words a user can act on: no paths, no SQL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Other processes held the database for too long.
    #[error("the database is busy: another process is writing; try again")]
    Busy,
    /// No space left.
    #[error("the disk is full: nothing was written; free some space and try again")]
    DiskFull,
    /// The file or its folder cannot be written.
    #[error(
        "the database is read-only: nothing was written; check the permissions of the file and its folder"
    )]
    ReadOnly,
    /// The server is not one that can keep a log.
    #[error("the database server cannot be used: {0}")]
    Unsuitable(String),
    /// Another file is where the database was when it was opened, or none.
    #[error(
        "the database file was moved, removed or replaced while it was open, so it is neither read nor written any \
         more; start the program again"
    )]
    Moved,
    /// The clock of this machine cannot be right.
    #[error(
        "the clock of this machine says {0}, and a record must have a time from 1970 to 9999; nothing was written; set \
         the clock and try again"
    )]
    Clock(String),
    /// The caller gave up the work.
    #[error("given up: nobody waits for the answer any more")]
    GivenUp,
    /// Something that must be unique is there already.
    #[error("`{0}` is taken")]
    Taken(&'static str),
    /// The file is not sound.
    #[error("the database is damaged ({0}); run `cairn verify` to see where, and restore a backup")]
    Damaged(String),
    /// The server does not answer.
    #[error("the database server cannot be reached; nothing was written; check that it runs, then try again")]
    Unreachable,
    /// The connection ended before anything was written.
    #[error("the connection to the database was lost; nothing was written; try again")]
    Lost,
    /// The connection ended in the middle, and nothing was written.
    #[error("the connection to the database was lost and nothing was written; try again")]
    NotWritten,
    /// The connection ended in the middle, and the server did not come back to say what became of it.
    #[error(
        "the connection to the database was lost, and it is not known whether this was written; look before trying \
         again, or send an idempotency_key, which makes that safe"
    )]
    Unknown,
    /// A server had too much to do, or others were before us, for as long as a call waits.
    #[error("{what} for {seconds} s; nothing was written; try again after a pause")]
    Overloaded {
        /// The server or the writers that the call waited for.
        what: &'static str,
        /// How long.
        seconds: u64,
    },
    /// Of the servers that answer none takes writes.
    #[error(
        "no database server takes writes now; nothing was written; try again after a pause, or have a standby promoted"
    )]
    NoPrimary,
    /// The server does not let this user in.
    #[error(
        "the database server does not admit this user; check the user and the server's pg_hba.conf, which may ask for an \
         encrypted connection (sslmode=require)"
    )]
    NotAdmitted,
    /// The server wants a password, and there is none.
    #[error("the database server asks for a password, and none was given")]
    NoPassword,
    /// The server does not take this password of this user.
    #[error("the database server does not take this user with this password; check both")]
    WrongPassword,
    /// The connection could not be encrypted as it must be.
    #[error("no encrypted connection to the database server: {0}")]
    NotEncrypted(String),
    /// The role may not do this.
    #[error(
        "the database refuses this to the role that is used; see docs/storage.md for what it must be allowed"
    )]
    NotAllowed,
    /// The writer has ended, by an earlier failure or because the handle was closed.
    #[error("the recorder has stopped; open the database again")]
    Stopped,
    /// Anything else.
    #[error("the database reported: {0}")]
    Other(String),
}

impl StoreError {
    /// Whether nothing was written, and the same call may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            StoreError::Busy
                | StoreError::Overloaded { .. }
                | StoreError::Unreachable
                | StoreError::NoPrimary
                | StoreError::Lost
                | StoreError::NotWritten
        )
    }
}
