//! Making sure that an erased text is gone from the files, and saying so if it is not.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::memmem::Finder;
use rusqlite::Connection;

use super::SqliteStore;
use super::error::store_error;
use crate::store::{Pieces, StoreError, Swept};

/// How long those who read an older state are waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a file that are looked through at a time.
const AT_A_TIME: usize = 1 << 20;

/// Looks for the pieces in the database and in what waits beside it, and makes the file anew where that helps.
pub fn sweep(store: &SqliteStore, pieces: &Pieces) -> Result<Swept, StoreError> {
    let connection = store.another_to_write()?;
    let mut swept = Swept { blocked: !empty_log(&connection).map_err(store_error)?, ..Swept::default() };
    let words = forgotten(&connection, &pieces.words).map_err(store_error)?;
    let search = Search::new(store, pieces, &words);
    let found = search.run().map_err(unreadable)?;
    // What other records hold as well is there by right; a second copy of it tells nobody anything.
    let mut stray = 0;
    for piece in found.in_file {
        if !held(&connection, piece).map_err(store_error)? {
            stray += 1;
        } else if pieces.texts.iter().any(|text| text == piece) {
            swept.elsewhere += 1;
        }
    }
    swept.beside = count_stray(&connection, &found.beside)?;
    // A text too short to be looked for: then the file is made anew to be sure.
    let unsure = pieces.texts.is_empty() && pieces.words.is_empty();
    if swept.blocked || (stray == 0 && !unsure) {
        swept.in_file = stray;
        return Ok(swept);
    }
    let vacuum = |connection: Connection| connection.execute_batch("VACUUM").map_err(store_error);
    if let Err(error) = store.another_to_write().and_then(vacuum) {
        swept.vacuum_failed = Some(error.to_string());
        swept.in_file = stray;
        return Ok(swept);
    }
    // Every byte of the file is now part of a record, once the log is emptied into it.
    swept.vacuumed = true;
    swept.blocked = !empty_log(&connection).map_err(store_error)?;
    if swept.blocked {
        let found = search.run().map_err(unreadable)?;
        swept.beside = count_stray(&connection, &found.beside)?;
        swept.in_file = stray;
    }
    Ok(swept)
}

/// How many of the pieces no record holds.
fn count_stray(connection: &Connection, pieces: &[&[u8]]) -> Result<usize, StoreError> {
    let mut stray = 0;
    for piece in pieces {
        stray += usize::from(!held(connection, piece).map_err(store_error)?);
    }
    Ok(stray)
}

fn unreadable(error: io::Error) -> StoreError {
    StoreError::Other(format!("the file cannot be read: {}", error.kind()))
}

/// Brings everything into the file itself and empties the write-ahead log; false if somebody kept it from that.
fn empty_log(connection: &Connection) -> rusqlite::Result<bool> {
    let started = Instant::now();
    connection.busy_timeout(Duration::from_millis(200))?;
    loop {
        let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        match busy {
            Ok(false) => return Ok(true),
            Err(error) if !super::is_busy(&error) => return Err(error),
            _ if started.elapsed() > PATIENCE => return Ok(false),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Those of the words that no thought holds any more: the index must not hold them either.
fn forgotten<'w>(connection: &Connection, words: &'w [String]) -> rusqlite::Result<Vec<&'w str>> {
    let mut found = connection.prepare("SELECT 1 FROM search WHERE search MATCH ?1 LIMIT 1")?;
    let mut kept = Vec::new();
    for word in words {
        if !found.exists([format!("\"{word}\"*")])? {
            kept.push(word.as_str());
        }
    }
    Ok(kept)
}

/// Whether any record holds these bytes.
fn held(connection: &Connection, piece: &[u8]) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM thought WHERE instr(CAST(content AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM thought WHERE instr(CAST(metadata AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM brief WHERE instr(CAST(data AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM event WHERE instr(CAST(body AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM body WHERE instr(CAST(data AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM snapshot WHERE instr(CAST(data AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM context WHERE instr(CAST(metadata AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM entry WHERE instr(CAST(leaf AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM review WHERE instr(CAST(text AS BLOB), ?1) > 0)
               OR EXISTS (SELECT 1 FROM sqlite_schema WHERE instr(CAST(sql AS BLOB), ?1) > 0)",
        )?
        .query_row([piece], |row| row.get(0))
}

/// What was found where.
struct Found<'p> {
    in_file: Vec<&'p [u8]>,
    beside: Vec<&'p [u8]>,
}

struct Search<'p> {
    database: &'p Path,
    finders: Vec<Finder<'p>>,
    longest: usize,
}

impl<'p> Search<'p> {
    fn new(store: &'p SqliteStore, pieces: &'p Pieces, words: &[&'p str]) -> Search<'p> {
        let texts = pieces.texts.iter().map(Vec::as_slice);
        let needles: Vec<&[u8]> = texts.chain(words.iter().map(|word| word.as_bytes())).collect();
        Search {
            database: store.path(),
            longest: needles.iter().map(|needle| needle.len()).max().unwrap_or(1),
            finders: needles.into_iter().map(Finder::new).collect(),
        }
    }

    fn run(&self) -> io::Result<Found<'_>> {
        let in_file = self.look(&*raw(self.database)?)?;
        let mut log = self.database.as_os_str().to_os_string();
        log.push("-wal");
        // No lock is ever taken on this one, so it can be opened and closed.
        let beside = match File::open(log) {
            Ok(file) => self.look(&file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let pieces =
            |found: Vec<usize>| found.into_iter().map(|index| self.finders[index].needle()).collect();
        Ok(Found { in_file: pieces(in_file), beside: pieces(beside) })
    }

    /// Which of them stand in the file.
    fn look(&self, mut file: &File) -> io::Result<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.finders.len()).collect();
        let mut found = Vec::new();
        let mut buffer = vec![0; AT_A_TIME + self.longest];
        let mut kept = 0;
        file.rewind()?;
        while !left.is_empty() {
            let read = file.read(&mut buffer[kept..])?;
            if read == 0 {
                break;
            }
            let seen = &buffer[..kept + read];
            left.retain(|index| {
                let stands = self.finders[*index].find(seen).is_some();
                if stands {
                    found.push(*index);
                }
                !stands
            });
            // A piece may begin in this part and end in the next.
            let tail = seen.len().min(self.longest - 1);
            buffer.copy_within(kept + read - tail..kept + read, 0);
            kept = tail;
        }
        Ok(found)
    }
}

/// The bytes of the database file.
///
/// Where POSIX locks are used, closing any handle of a file lets go of all locks that the process holds on it, those
/// of SQLite among them, and another process could then delete the log that this one writes to. So on such a system
/// a file is opened once and stays open.
#[cfg(unix)]
fn raw(path: &Path) -> io::Result<Arc<File>> {
    use std::os::unix::fs::MetadataExt;
    use std::sync::{Mutex, PoisonError};

    struct Open {
        device: u64,
        inode: u64,
        file: Arc<File>,
    }
    static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

    let metadata = std::fs::metadata(path)?;
    let (device, inode) = (metadata.dev(), metadata.ino());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = open.iter().find(|known| (known.device, known.inode) == (device, inode)) {
        return Ok(known.file.clone());
    }
    let file = Arc::new(File::open(path)?);
    open.push(Open { device, inode, file: file.clone() });
    Ok(file)
}

/// The bytes of the database file.
#[cfg(not(unix))]
fn raw(path: &Path) -> io::Result<Arc<File>> {
    File::open(path).map(Arc::new)
}
