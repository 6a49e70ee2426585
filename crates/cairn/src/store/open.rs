//! Opening a database: how, and why it may fail.

use std::path::PathBuf;

use cairn_core::time::Timestamp;

use super::StoreError;

/// How a database is opened.
pub enum Opening {
    /// Nothing: it must be there, and up to date.
    Read,
    /// It must be there, and is brought up to date.
    Write,
    /// It is made if there is none, and brought up to date.
    Create(Birth),
}

/// The name of a new log, and its beginning.
pub struct Birth {
    /// Its name.
    pub origin: String,
    /// The moment.
    pub timestamp: Timestamp,
}

/// When an acknowledged thought is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On disk before the call returns: it survives a power cut.
    #[default]
    Full,
    /// Handed to the operating system: it survives a crash of the process, and a power cut may take the last
    /// few commits (never leaving a broken file). About twice as fast for a single caller.
    Normal,
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
        /// Its likely content.
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
        /// The failure that it reported.
        source: StoreError,
    },
}
