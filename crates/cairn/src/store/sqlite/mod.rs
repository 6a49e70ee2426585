//! One SQLite file: every line of SQLite's SQL is in this folder and in `migrations/sqlite`.

mod append;
mod audit;
mod chains;
mod check;
mod context;
mod derived;
mod error;
mod fts5;
mod memory;
mod place;
mod read;
mod record;
mod redact;
mod review;
mod schema;
mod search;
mod sessions;
mod structure;
mod sweep;
mod thoughts;
mod token;
mod unfinished;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::store::{BUSY, Durability, OpenError, Opening, StoreError};

use error::{is_busy, is_interrupted, is_read_only, store_error};
use place::Place;
pub use place::canonical;

/// Readers kept open between calls.
const IDLE_READERS: usize = 4;

/// A database in one SQLite file.
pub struct SqliteStore {
    place: Place,
    durability: Durability,
    /// Nobody can write the file, so nobody has to be waited for: a copy on a read-only disk, say.
    unchanging: bool,
    readers: Mutex<Vec<Connection>>,
    /// Whether something was written through this store.
    wrote: Arc<AtomicBool>,
}

impl SqliteStore {
    /// Opens the file at `path`, and only in this moment follows symbolic links: SQLite keeps its other files beside
    /// the file itself, not beside a link.
    pub fn open(path: PathBuf, durability: Durability, opening: &Opening) -> Result<SqliteStore, OpenError> {
        if !path.exists() {
            if path.is_symlink() {
                return Err(OpenError::Dangling { path });
            }
            if let Some(folder) =
                path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
            {
                return Err(OpenError::NoFolder { folder: folder.to_path_buf() });
            }
            if !matches!(opening, Opening::Create(_)) {
                return Err(OpenError::Missing { path });
            }
            make_private(&path);
        }
        is_plain(&path)?;
        let place = Place::new(canonical(&path));
        let mut store = SqliteStore {
            place,
            durability,
            unchanging: false,
            readers: Mutex::default(),
            wrote: Arc::default(),
        };
        let started = Instant::now();
        // Turning a file into a WAL database, and recovering one, can report "locked" without asking the
        // busy handler: several processes that start at once on a new file meet this.
        loop {
            match store.prepare(opening) {
                Err(schema::PrepareError::Sql(error)) if is_busy(&error) => {
                    if started.elapsed() > BUSY {
                        return Err(OpenError::Busy { path, seconds: BUSY.as_secs() });
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(schema::PrepareError::Sql(error))
                    if is_read_only(&error) && store.can_be_unchanging() =>
                {
                    store.unchanging = true;
                }
                Err(schema::PrepareError::Sql(error))
                    if is_read_only(&error)
                        && matches!(opening, Opening::Read)
                        && !store.is_empty("-wal")
                        && fs::File::open(&path).is_ok() =>
                {
                    return Err(OpenError::Unfolded { path });
                }
                Err(error) => return Err(error.at(&path)),
                Ok(()) => {
                    store.place.keep();
                    return Ok(store);
                }
            }
        }
    }

    /// Folds the write-ahead log into the file in the end, also if only others have written.
    pub fn fold_when_closed(&self) {
        self.wrote.store(true, Ordering::Relaxed);
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    /// Looks whether the file can be used, without writing to it. Only if it must be made or brought up to date, and
    /// may be, it is opened for writing.
    fn prepare(&self, opening: &Opening) -> Result<(), schema::PrepareError> {
        let mut reader = self.connect()?;
        let version = match schema::recognise(&reader) {
            Err(schema::PrepareError::Sql(error)) if is_interrupted(&error) => {
                if let Opening::Read = opening {
                    return Err(match self.was_being_made() {
                        true => schema::PrepareError::Empty,
                        false => schema::PrepareError::Interrupted,
                    });
                }
                // A connection that can write takes the unfinished write back.
                schema::recognise(&self.connect_to_write()?)?
            }
            version => version?,
        };
        if version == 0 && !unfinished::may_get_a_log(self.path()) {
            // Another process may have finished it between the two looks.
            return match schema::recognise(&self.connect()?)? {
                0 => Err(schema::PrepareError::Hollow),
                _ => self.prepare(opening),
            };
        }
        if version != schema::VERSION {
            let birth = match opening {
                Opening::Create(birth) => Some(birth),
                _ if version == 0 => return Err(schema::PrepareError::Empty),
                Opening::Read => return Err(schema::PrepareError::Older(version)),
                Opening::Write => None,
            };
            if self.unchanging {
                return Err(schema::PrepareError::Older(version));
            }
            if version == 0 {
                unfinished::begin(self.path());
            }
            let mut writer = self.connect_to_write()?;
            schema::prepare(&mut writer, birth)?;
            self.wrote.store(true, Ordering::Relaxed);
            // As long as nothing is folded into the file, a lost write-ahead log leaves a file without a log, which is
            // noticed, and not one with an older state.
            writer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            drop(writer);
            reader = self.connect()?;
        }
        if !matches!(opening, Opening::Read) {
            unfinished::end(self.path());
        }
        self.readers.lock().expect("no reader panics while it holds the lock").push(reader);
        Ok(())
    }

    /// Whether the write that was interrupted was the first: its journal says how many pages the file had before.
    fn was_being_made(&self) -> bool {
        let mut journal = self.path().as_os_str().to_os_string();
        journal.push("-journal");
        fs::read(journal).is_ok_and(|journal| journal.get(16..20) == Some(&[0; 4]))
    }

    /// Whether the file could be read as one that never changes. Not if a write-ahead log or the journal of an
    /// interrupted write waits beside it, which would be passed over.
    fn can_be_unchanging(&self) -> bool {
        !self.unchanging && self.path().is_file() && self.is_empty("-wal") && self.is_empty("-journal")
    }

    /// Whether the file of this ending beside the database is empty, or not there.
    fn is_empty(&self, end: &str) -> bool {
        let mut log = self.path().as_os_str().to_os_string();
        log.push(end);
        fs::metadata(log).map_or(true, |log| log.len() == 0)
    }

    /// Makes what was handed to the system last through a power cut: all of it is in the write-ahead log, or was synced
    /// when it was folded in. The database file itself is not opened here, since closing it would end the locks that
    /// this process holds on it.
    fn sync_log(&self) -> Result<(), StoreError> {
        let mut log = self.path().as_os_str().to_os_string();
        log.push("-wal");
        match fs::File::open(log).and_then(|file| file.sync_all()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|error| StoreError::Other(format!("it cannot be synced: {error}"))),
        }
    }

    /// A connection that can only read. Closing it never folds the write-ahead log into the file.
    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self.unchanging {
            true => Connection::open_with_flags(uri(self.path()), flags | OpenFlags::SQLITE_OPEN_URI)?,
            false => Connection::open_with_flags(self.path(), flags)?,
        };
        self.set_up(connection)
    }

    /// A connection that can write.
    fn connect_to_write(&self) -> rusqlite::Result<Connection> {
        if self.unchanging {
            return self.connect();
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = self.set_up(Connection::open_with_flags(self.path(), flags)?)?;
        let synchronous = match self.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        // Fewer, larger checkpoints: 1.1 to 1.4 times the appends per second, for a WAL of up to 32 MB.
        connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
        Ok(connection)
    }

    fn set_up(&self, mut connection: Connection) -> rusqlite::Result<Connection> {
        connection.busy_handler(Some(wait_for_turn))?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }

    /// Another connection, for reading, to the file that was opened.
    fn another(&self) -> Result<Connection, StoreError> {
        let connection = self.connect().map_err(store_error);
        // Looked at afterwards: a file that came between is noticed as well.
        self.place.check().and(connection)
    }

    /// The same, for writing.
    fn another_to_write(&self) -> Result<Connection, StoreError> {
        let connection = self.connect_to_write().map_err(store_error);
        self.place.check().and(connection)
    }

    /// Runs `work` on a connection of its own.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let idle = self.readers.lock().expect("no reader panics while it holds the lock").pop();
        let connection = match idle {
            Some(connection) => {
                self.place.check()?;
                connection
            }
            None => self.another()?,
        };
        let result = work(&connection).map_err(store_error);
        let mut readers = self.readers.lock().expect("no reader panics while it holds the lock");
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        result
    }
}

/// A store that has written folds the write-ahead log into the file, as far as others who have the file open do not read
/// older states of it. One that has only read leaves every byte as it is.
impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.readers.get_mut().expect("no reader panics while it holds the lock").clear();
        if self.wrote.load(Ordering::Relaxed)
            && let Ok(connection) = self.another_to_write()
        {
            unfinished::end(self.path());
            // SQLite folds when the last connection that has looked at the log is closed. The last may be one that has
            // only read, and leaves the log as it is: then the file alone must be whole.
            let _ = schema::recognise(&connection);
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }
}

/// Refuses a pipe or a folder: opening a pipe could wait for ever.
fn is_plain(path: &Path) -> Result<(), OpenError> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(OpenError::NotOurs { path: path.to_path_buf(), found: "it is not a file".to_string() })
        }
        _ => Ok(()),
    }
}

/// Makes the file before SQLite does, which would let others read it; what it keeps beside it has the same rights. If that
/// fails, opening it tells why.
fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// The file as an address that tells SQLite not to lock it or look for a log beside it.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_string();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri + "?immutable=1"
}

/// Waits a moment and tells SQLite to try again, up to [`BUSY`] in all.
///
/// SQLite's own handler sleeps up to 100 ms at a time, which lets one busy process starve the others; short
/// naps of uneven length give everyone a turn.
fn wait_for_turn(tries: i32) -> bool {
    let nap = Duration::from_micros(match tries {
        0..=3 => 100,
        4..=20 => 500,
        _ => 1000 + u64::from(std::process::id() % 7) * 100,
    });
    std::thread::sleep(nap);
    // A nap takes about 60 µs longer than asked for.
    tries < 45_000
}
