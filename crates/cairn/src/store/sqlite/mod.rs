//! One SQLite file: every line of SQLite's SQL is in this folder and in `migrations/sqlite`.

mod append;
mod audit;
mod check;
mod context;
mod error;
mod fts5;
mod memory;
mod place;
mod read;
mod redact;
mod schema;
mod search;
mod sessions;
mod structure;
mod sweep;
mod thoughts;
mod token;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::error::OpenError;
use crate::options::Durability;
use crate::store::{Birth, StoreError};

use error::{is_busy, is_read_only, store_error};
use place::Place;

/// How long a call waits for other processes before it gives up.
pub const BUSY: Duration = Duration::from_secs(60);

/// Readers kept open between calls.
const IDLE_READERS: usize = 4;

/// A database in one SQLite file.
pub struct SqliteStore {
    place: Place,
    durability: Durability,
    /// Nobody can write the file, so nobody has to be waited for: a copy on a read-only disk, say.
    unchanging: bool,
    readers: Mutex<Vec<Connection>>,
}

impl SqliteStore {
    /// Opens the file at `path`; makes it if `birth` is given and there is none.
    pub fn open(
        path: PathBuf,
        durability: Durability,
        birth: Option<Birth>,
    ) -> Result<SqliteStore, OpenError> {
        if !path.exists() {
            if let Some(folder) =
                path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
            {
                return Err(OpenError::NoFolder { folder: folder.to_path_buf() });
            }
            if birth.is_none() {
                return Err(OpenError::Missing { path });
            }
            make_private(&path);
        }
        let place = Place::new(path);
        let mut store = SqliteStore { place, durability, unchanging: false, readers: Mutex::new(Vec::new()) };
        let started = Instant::now();
        // Turning a file into a WAL database, and recovering one, can report "locked" without asking the
        // busy handler: several processes that start at once on a new file meet this.
        loop {
            match store.prepare(birth.as_ref()) {
                Err(schema::PrepareError::Sql(error)) if is_busy(&error) => {
                    if started.elapsed() > BUSY {
                        let path = store.path().to_path_buf();
                        return Err(OpenError::Busy { path, seconds: BUSY.as_secs() });
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(schema::PrepareError::Sql(error))
                    if is_read_only(&error) && store.can_be_unchanging() =>
                {
                    store.unchanging = true;
                }
                Err(error) => return Err(error.at(store.path())),
                Ok(()) => {
                    store.place.keep();
                    return Ok(store);
                }
            }
        }
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn prepare(&self, birth: Option<&Birth>) -> Result<(), schema::PrepareError> {
        let mut connection = self.connect(birth.is_some())?;
        schema::prepare(&mut connection, birth)?;
        self.readers.lock().expect("no reader panics while it holds the lock").push(connection);
        Ok(())
    }

    /// Whether the file could be read as one that never changes. Not if a log waits beside it: what is in
    /// there would be passed over.
    fn can_be_unchanging(&self) -> bool {
        let mut log = self.path().as_os_str().to_os_string();
        log.push("-wal");
        !self.unchanging && self.path().is_file() && fs::metadata(log).map_or(true, |log| log.len() == 0)
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

    fn connect(&self, create: bool) -> rusqlite::Result<Connection> {
        if self.unchanging {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            return Connection::open_with_flags(uri(self.path()), flags);
        }
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if create {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let mut connection = Connection::open_with_flags(self.path(), flags)?;
        connection.busy_handler(Some(wait_for_turn))?;
        connection.set_prepared_statement_cache_capacity(64);
        let synchronous = match self.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        // Fewer, larger checkpoints: 1.1 to 1.4 times the appends per second, for a WAL of up to 32 MB.
        connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
        Ok(connection)
    }

    /// Another connection to the file that was opened.
    fn another(&self) -> Result<Connection, StoreError> {
        let connection = self.connect(false).map_err(store_error);
        // Looked at afterwards: a file that came between is noticed as well.
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
