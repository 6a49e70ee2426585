//! Heads of logs, remembered outside of their databases.
//!
//! Inside a database nothing tells that its newest part was cut off, or that an old copy was put back: what is
//! left was signed once, and is consistent. So whoever records remembers here, for each log, what it has seen. A
//! file is only ever added to:
//!
//! ```text
//! cairn-head/1
//! origin cairn/0193…
//! database /home/ada/project/.cairn/cairn.db
//! key cairn/0193…+1a2b3c4d+AZ…
//! head 3 0f3a… 2026-04-17T09:30:00.000Z
//! head 12 9b4c… 2026-04-17T09:41:12.201Z
//! ```

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cairn_core::Sha;
use cairn_core::note::VerifyingKey;

use super::file_name;
use super::key_folder::{part_of, private_folder, sync_folder, write_new, write_private};
use crate::store::postgres::Address;

const FORMAT: &str = "cairn-head/1";
/// Beyond this many lines, most of the older heads are dropped.
const MAX_LINES: usize = 4096;
/// So many of the newest stay, and of the older ones every so many.
const NEWEST: usize = 1024;
const OF_OLDER: usize = 16;

/// A head that somebody outside the database has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenHead {
    /// Entries in the log.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
    /// When, as text.
    pub at: String,
}

/// What is remembered of one log.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// Where its database was last.
    pub database: Option<PathBuf>,
    /// Everywhere it was, and the largest size it was seen with there.
    pub places: HashMap<PathBuf, u64>,
    /// The keys its checkpoints were signed with.
    pub keys: Vec<VerifyingKey>,
    /// Its heads, oldest first.
    pub heads: Vec<SeenHead>,
}

impl Remembered {
    /// Whether a log of this size, in this place, is only an older copy: not one that was longer there.
    pub(super) fn is_copy(&self, database: &Path, size: u64) -> bool {
        let database = canonical(database);
        self.database.as_ref().is_some_and(|last| *last != database)
            && self.places.get(&database).is_none_or(|seen| *seen <= size)
    }
}

/// A folder of remembered heads.
#[derive(Debug, Clone)]
pub struct HeadFolder {
    folder: PathBuf,
}

impl HeadFolder {
    /// Heads are kept in this folder, which should be away from the database.
    pub fn new(folder: impl Into<PathBuf>) -> HeadFolder {
        HeadFolder { folder: folder.into() }
    }

    /// Where what is known of a log stands.
    pub fn path(&self, origin: &str) -> PathBuf {
        self.folder.join(file_name(origin, "head"))
    }

    fn place(&self, database: &Path) -> PathBuf {
        let digest = Sha::of(database.as_os_str().as_encoded_bytes()).to_string();
        self.folder.join("places").join(&digest[..32])
    }

    /// What is remembered of a log.
    pub fn read(&self, origin: &str) -> Result<Remembered, String> {
        let path = self.path(origin);
        let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Remembered::default()),
            // Anything else could be waited for, or read, for ever.
            Ok(found) if !found.is_file() => return Err(format!("`{}` is not a file", path.display())),
            _ => {}
        }
        let text = fs::read_to_string(&path).map_err(failed)?;
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some(FORMAT) {
            return Err(format!("`{}` does not begin with `{FORMAT}`", path.display()));
        }
        let mut remembered = Remembered::default();
        for line in lines {
            // A line without an end was being written when the power failed.
            let Some((word, rest)) = line.strip_suffix('\n').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            match word {
                "database" => remembered.database = Some(PathBuf::from(rest)),
                // Two processes may have added the same one.
                "key" => {
                    remembered.keys.extend(rest.parse().ok().filter(|key| !remembered.keys.contains(key)));
                }
                "head" => {
                    let Some(head) = head_of(rest) else { continue };
                    if let Some(database) = &remembered.database {
                        let size = remembered.places.entry(database.clone()).or_default();
                        *size = head.size.max(*size);
                    }
                    remembered.heads.push(head);
                }
                _ => {}
            }
        }
        remembered.heads.sort_by_key(|head| head.size);
        Ok(remembered)
    }

    /// The log whose database was last seen at a place.
    pub fn log_at(&self, database: &Path) -> Option<String> {
        let text = fs::read_to_string(self.place(&canonical(database))).ok()?;
        text.strip_suffix('\n').map(str::to_string)
    }

    /// Remembers a head, where its log's database is, and the keys that signed it. An older one than the newest that
    /// is known is passed over.
    pub fn remember(
        &self,
        origin: &str,
        database: &Path,
        head: &SeenHead,
        keys: &[VerifyingKey],
    ) -> Result<(), String> {
        private_folder(&self.folder)?;
        private_folder(&self.folder.join("places"))?;
        let database = canonical(database);
        self.add(origin, &database, head, keys)?;
        // After the head: a place that leads to a log of which nothing is known would be taken for that of a lost one.
        if self.log_at(&database).as_deref() != Some(origin) {
            let place = self.place(&database);
            self.replace(&place, format!("{origin}\n").as_bytes())?;
        }
        Ok(())
    }

    fn add(
        &self,
        origin: &str,
        database: &Path,
        head: &SeenHead,
        keys: &[VerifyingKey],
    ) -> Result<(), String> {
        let path = self.path(origin);
        let failed = |error| format!("cannot write `{}`: {error}", path.display());
        let known = self.read(origin)?;
        let cut = is_cut_off(&path).map_err(failed)?;
        let mut lines = String::new();
        // What was cut off becomes a line of its own, and may look like another place: it is said again after it.
        if cut || known.database.as_deref() != Some(database) {
            lines.push_str(&format!("database {}\n", database.display()));
        }
        for key in keys.iter().filter(|key| !known.keys.contains(key)) {
            lines.push_str(&format!("key {key}\n"));
        }
        if known.heads.last().is_none_or(|newest| newest.size < head.size) {
            lines.push_str(&format!("head {} {} {}\n", head.size, head.root, head.at));
        }
        if lines.is_empty() {
            return Ok(());
        }
        if known.heads.len() > MAX_LINES {
            return self.replace(&path, thinned(origin, database, &known, head).as_bytes());
        }
        if !path.exists() {
            // Whole or not at all: a file that does not begin as it must could never be read again.
            let whole = format!("{FORMAT}\norigin {origin}\n{lines}");
            match write_new(&path, whole.as_bytes()) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map_err(failed).and_then(|()| sync_folder(&self.folder)),
            }
        }
        if cut {
            lines.insert(0, '\n');
        }
        let added = OpenOptions::new().append(true).open(&path).and_then(|mut file| {
            // In one write, so that lines of two processes do not mix.
            file.write_all(lines.as_bytes())?;
            file.sync_data()
        });
        added.map_err(failed)
    }

    /// Forgets which log was at a place; what is remembered of the log itself stays.
    pub fn forget_place(&self, database: &Path) -> Result<(), String> {
        remove(&self.place(&canonical(database)))
    }

    /// Forgets a log, and that it was at a place.
    pub fn forget(&self, origin: &str, database: &Path) -> Result<(), String> {
        remove(&self.path(origin))?;
        self.forget_place(database)
    }

    /// Whole or not at all.
    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), String> {
        let part = part_of(path);
        let replaced = write_private(&part, bytes).and_then(|()| fs::rename(&part, path));
        if replaced.is_err() {
            let _ = fs::remove_file(&part);
        }
        replaced.map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        path.parent().map_or(Ok(()), sync_folder)
    }
}

/// Whether the last line has no end: whoever wrote it was interrupted.
fn is_cut_off(path: &Path) -> std::io::Result<bool> {
    let mut file = match fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last != [b'\n'])
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("cannot remove `{}`: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

fn head_of(text: &str) -> Option<SeenHead> {
    let mut words = text.splitn(3, ' ');
    let size = words.next()?.parse().ok()?;
    let root = words.next()?.parse().ok()?;
    Some(SeenHead { size, root, at: words.next()?.to_string() })
}

fn thinned(origin: &str, database: &Path, known: &Remembered, head: &SeenHead) -> String {
    let mut text = format!("{FORMAT}\norigin {origin}\ndatabase {}\n", database.display());
    for key in &known.keys {
        text.push_str(&format!("key {key}\n"));
    }
    let older = known.heads.len().saturating_sub(NEWEST);
    let kept = known.heads.iter().enumerate().filter(|(index, _)| *index >= older || index % OF_OLDER == 0);
    for head in kept.map(|(_, head)| head).chain([head]) {
        text.push_str(&format!("head {} {} {}\n", head.size, head.root, head.at));
    }
    text
}

/// The path that stands for a file wherever it is named from.
pub fn canonical(path: &Path) -> PathBuf {
    if path.to_str().is_some_and(Address::is_one) {
        return path.to_path_buf();
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // The file itself may be gone.
    match (fs::canonicalize(path), fs::canonicalize(folder), path.file_name()) {
        (Ok(path), _, _) => path,
        (_, Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// How a log stands to what is remembered of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is remembered.
    Unknown,
    /// It extends the newest head.
    Extends(SeenHead),
    /// It is shorter than the newest head, and agrees with what is remembered of its length, if anything is.
    Behind {
        /// The newest head.
        newest: SeenHead,
        /// Whether it was longer in this very place, so that it is no copy elsewhere.
        same_place: bool,
    },
    /// It has another past than the one that was seen.
    Diverged {
        /// The head that it contradicts.
        head: SeenHead,
        /// The largest remembered size at which it still agrees.
        agrees_at: Option<u64>,
    },
    /// It could not be compared: the database is damaged, or what is remembered cannot be read.
    Unreadable {
        /// Why not.
        why: String,
    },
    /// Another log was seen at this place.
    OtherLog {
        /// Its name.
        origin: String,
        /// Its newest head, if one is remembered.
        newest: Option<SeenHead>,
    },
}

/// Compares a log with what is remembered. `remembered` must have been read before `size`, so that an honest writer
/// in between only makes the log longer than what is remembered.
pub fn standing<E>(
    remembered: &Remembered,
    database: &Path,
    size: u64,
    mut root_at: impl FnMut(u64) -> Result<Sha, E>,
) -> Result<Standing, E> {
    let Some(newest) = remembered.heads.last() else { return Ok(Standing::Unknown) };
    let behind = || Standing::Behind {
        newest: newest.clone(),
        same_place: remembered.database.is_some() && !remembered.is_copy(database, size),
    };
    let mut contradicted: Option<&SeenHead> = None;
    for head in remembered.heads.iter().rev().filter(|head| head.size <= size) {
        if root_at(head.size)? == head.root {
            return Ok(match contradicted {
                Some(first) => Standing::Diverged { head: first.clone(), agrees_at: Some(head.size) },
                None if newest.size > size => behind(),
                None => Standing::Extends(newest.clone()),
            });
        }
        contradicted.get_or_insert(head);
    }
    Ok(match contradicted {
        Some(head) => Standing::Diverged { head: head.clone(), agrees_at: None },
        None => behind(),
    })
}
