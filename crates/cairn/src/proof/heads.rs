//! Heads of logs, remembered outside of their databases.
//!
//! A database cannot tell that its newest part was cut off, or that an old copy was put back: the rest was signed
//! once and is consistent. So a recorder notes here which heads it has seen, and in which place. A place is the
//! canonical path of a file, or the address of a server without its password. Copies of one log in several places
//! are told apart: a head that was seen in one place is expected in that place only.
//!
//! There is one file for each log, and lines are only ever added to it:
//!
//! ```text
//! cairn-head/2
//! origin cairn/0193…
//! seen 1 4d0e… 2026-04-17T09:29:58.113Z /home/ada/project/.cairn/cairn.db
//! key cairn/0193…+1a2b3c4d+AZ… /home/ada/project/.cairn/cairn.db
//! head 3 0f3a… 2026-04-17T09:30:00.000Z /home/ada/project/.cairn/cairn.db
//! closed 2026-05-02T17:00:00.000Z /home/ada/project/.cairn/cairn-3f2a-12.db
//! ```
//!
//! `head` is a head that a checkpoint states, `seen` one without a checkpoint. `closed` marks a place whose log was
//! replaced by `cairn log new`.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cairn_core::Sha;
use cairn_core::note::VerifyingKey;
use serde::Serialize;

use super::file_name;
use super::key_folder::{part_of, private_folder, sync_folder, write_new, write_private};
use crate::store::postgres::Address;
use crate::store::sqlite;

const FORMAT: &str = "cairn-head/2";
/// Beyond this many heads, most of the older ones are dropped.
const MAX_HEADS: usize = 4096;
/// So many of the newest heads of each place stay, and of the older ones every sixteenth.
const NEWEST: usize = 1024;
const OF_OLDER: usize = 16;
/// Ends a line of which only a part was written. No place has this character in its name.
const CUT_OFF: char = '\r';

/// A head of a log that was seen outside of its database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenHead {
    /// Entries in the log.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
    /// When, as text without spaces.
    pub at: String,
    /// Whether a checkpoint in that database states it.
    #[serde(skip)]
    pub stated: bool,
}

/// The heads and keys of a log that were seen in one place.
#[derive(Debug, Clone, Default)]
pub struct SeenPlace {
    /// The heads seen there, shortest first.
    pub heads: Vec<SeenHead>,
    /// The keys that checkpoints there were signed with.
    pub keys: Vec<VerifyingKey>,
    /// When the log there was replaced by a new one, if it was.
    pub closed: Option<String>,
}

/// What is remembered of one log.
#[derive(Debug, Clone, Default)]
pub struct Remembered {
    /// By place, as [`place_name`] writes it.
    pub places: BTreeMap<String, SeenPlace>,
}

impl Remembered {
    /// Returns the longest head seen anywhere.
    pub fn newest(&self) -> Option<&SeenHead> {
        self.places.values().filter_map(|seen| seen.heads.last()).max_by_key(|head| head.size)
    }

    /// Returns every key, each once.
    pub fn keys(&self) -> Vec<VerifyingKey> {
        let mut keys: Vec<VerifyingKey> = Vec::new();
        for key in self.places.values().flat_map(|seen| &seen.keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Returns every head, with its place.
    pub fn heads(&self) -> impl Iterator<Item = (&str, &SeenHead)> {
        self.places.iter().flat_map(|(place, seen)| seen.heads.iter().map(move |head| (&place[..], head)))
    }

    fn read(text: &str) -> Remembered {
        let mut remembered = Remembered::default();
        for line in text.split_inclusive('\n') {
            // A line without an end was being written when the power failed.
            let Some((word, rest)) = line.strip_suffix('\n').and_then(|line| line.split_once(' ')) else {
                continue;
            };
            if !rest.ends_with(CUT_OFF) {
                remembered.add(word, rest);
            }
        }
        remembered.places.values_mut().for_each(|seen| seen.heads.sort_by_key(|head| head.size));
        remembered
    }

    /// Takes in one line. Anything that is not understood is passed over.
    fn add(&mut self, word: &str, rest: &str) -> Option<()> {
        match word {
            "head" | "seen" => {
                let mut words = rest.splitn(4, ' ');
                let (size, root) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                let (at, place) = (words.next()?.to_string(), words.next()?);
                self.at(place).heads.push(SeenHead { size, root, at, stated: word == "head" });
            }
            "key" => {
                let (key, place) = rest.split_once(' ')?;
                let (key, seen) = (key.parse().ok()?, self.at(place));
                // Two processes may have added the same one.
                if !seen.keys.contains(&key) {
                    seen.keys.push(key);
                }
            }
            "closed" => {
                let (at, place) = rest.split_once(' ')?;
                self.at(place).closed = Some(at.to_string());
            }
            _ => {}
        }
        Some(())
    }

    fn at(&mut self, place: &str) -> &mut SeenPlace {
        self.places.entry(place.to_string()).or_default()
    }

    /// Writes the whole file.
    fn write(&self, origin: &str) -> String {
        let mut text = format!("{FORMAT}\norigin {origin}\n");
        for (place, seen) in &self.places {
            for key in &seen.keys {
                text.push_str(&key_line(key, place));
            }
            for head in &seen.heads {
                text.push_str(&head_line(head, place));
            }
            if let Some(at) = &seen.closed {
                text.push_str(&format!("closed {at} {place}\n"));
            }
        }
        text
    }

    /// Drops most of the older heads.
    fn thin(&mut self) {
        for seen in self.places.values_mut() {
            let older = seen.heads.len().saturating_sub(NEWEST);
            let mut index = 0;
            seen.heads.retain(|_| {
                index += 1;
                index > older || (index - 1) % OF_OLDER == 0
            });
        }
    }
}

fn head_line(head: &SeenHead, place: &str) -> String {
    let word = if head.stated { "head" } else { "seen" };
    format!("{word} {} {} {} {place}\n", head.size, head.root, head.at)
}

fn key_line(key: &VerifyingKey, place: &str) -> String {
    format!("key {key} {place}\n")
}

/// A folder of remembered heads.
#[derive(Debug, Clone)]
pub struct HeadFolder {
    folder: PathBuf,
}

impl HeadFolder {
    /// Keeps heads in this folder, which should be away from the database.
    pub fn new(folder: impl Into<PathBuf>) -> HeadFolder {
        HeadFolder { folder: folder.into() }
    }

    /// Returns the file that holds what is known of a log.
    pub fn path(&self, origin: &str) -> PathBuf {
        self.folder.join(file_name(origin, "head"))
    }

    /// Returns the file that names the log of a place.
    fn place(&self, place: &str) -> PathBuf {
        let digest = Sha::of(place.as_bytes()).to_string();
        self.folder.join("places").join(&digest[..32])
    }

    /// Returns what is remembered of a log.
    pub fn read(&self, origin: &str) -> Result<Remembered, String> {
        let path = self.path(origin);
        let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
        match fs::metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Remembered::default()),
            // Reading anything else might never end.
            Ok(found) if !found.is_file() => return Err(format!("`{}` is not a file", path.display())),
            _ => {}
        }
        let text = fs::read_to_string(&path).map_err(failed)?;
        if text.lines().next() != Some(FORMAT) {
            return Err(format!("`{}` does not begin with `{FORMAT}`", path.display()));
        }
        Ok(Remembered::read(&text))
    }

    /// Returns the log whose database was last seen at a place.
    pub fn log_at(&self, database: &Path) -> Option<String> {
        let file = self.place(&place_name(database));
        // Reading anything but a file might never end.
        if !fs::metadata(&file).ok()?.is_file() {
            return None;
        }
        let text = fs::read_to_string(file).ok()?;
        text.strip_suffix('\n').map(str::to_string)
    }

    /// Remembers heads of a log in a place, shortest first, and the keys that signed them. A head that is not longer
    /// than the newest known one of this place is passed over.
    pub fn remember(
        &self,
        origin: &str,
        database: &Path,
        heads: &[SeenHead],
        keys: &[VerifyingKey],
    ) -> Result<(), String> {
        private_folder(&self.folder)?;
        private_folder(&self.folder.join("places"))?;
        let place = place_name(database);
        self.add(origin, &place, heads, keys)?;
        // After the head: a place without a head would be taken for that of a lost log.
        if self.log_at(database).as_deref() != Some(origin) {
            self.replace(&self.place(&place), format!("{origin}\n").as_bytes())?;
        }
        Ok(())
    }

    fn add(
        &self,
        origin: &str,
        place: &str,
        heads: &[SeenHead],
        keys: &[VerifyingKey],
    ) -> Result<(), String> {
        let path = self.path(origin);
        let failed = |error| format!("cannot write `{}`: {error}", path.display());
        let mut known = self.read(origin)?;
        let cut = is_cut_off(&path).map_err(failed)?;
        let here = known.at(place).clone();
        let newest = here.heads.last();
        let is_new = |head: &&SeenHead| {
            newest.is_none_or(|newest| {
                newest.size < head.size || (newest.size == head.size && head.stated && !newest.stated)
            })
        };
        let new: Vec<&SeenHead> = heads.iter().filter(is_new).collect();
        let mut lines = String::new();
        for key in keys.iter().filter(|key| !here.keys.contains(key)) {
            lines.push_str(&key_line(key, place));
        }
        new.iter().for_each(|head| lines.push_str(&head_line(head, place)));
        if lines.is_empty() {
            return Ok(());
        }
        if known.heads().count() > MAX_HEADS {
            known.thin();
            lines.lines().filter_map(|line| line.split_once(' ')).for_each(|(word, rest)| {
                known.add(word, rest);
            });
            return self.replace(&path, known.write(origin).as_bytes());
        }
        if !path.exists() {
            // Whole or not at all: nobody could read a file without its first line again.
            let whole = format!("{FORMAT}\norigin {origin}\n{lines}");
            match write_new(&path, whole.as_bytes()) {
                // Another process was faster.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map_err(failed).and_then(|()| sync_folder(&self.folder)),
            }
        }
        if cut {
            lines.insert_str(0, &format!("{CUT_OFF}\n"));
        }
        let added = OpenOptions::new().append(true).open(&path).and_then(|mut file| {
            // In one write, so that lines of two processes do not mix.
            file.write_all(lines.as_bytes())?;
            file.sync_data()
        });
        added.map_err(failed)
    }

    /// Notes that the database of a log was moved, and that its log is closed there.
    pub fn close(&self, origin: &str, from: &Path, to: &Path, at: &str) -> Result<(), String> {
        // One of the reasons to begin a new log is that this file cannot be read.
        let Ok(mut known) = self.read(origin) else { return self.forget_place(from) };
        let mut seen = known.places.remove(&place_name(from)).unwrap_or_default();
        seen.closed = Some(at.to_string());
        known.places.insert(place_name(to), seen);
        private_folder(&self.folder)?;
        self.replace(&self.path(origin), known.write(origin).as_bytes())?;
        self.forget_place(from)
    }

    /// Forgets which log was at a place; the heads of the log stay.
    pub fn forget_place(&self, database: &Path) -> Result<(), String> {
        remove(&self.place(&place_name(database)))
    }

    /// Forgets the heads of a log that were seen at a place, and that it was there. A file that cannot be read is
    /// removed.
    pub fn forget(&self, origin: &str, database: &Path) -> Result<(), String> {
        let path = self.path(origin);
        match self.read(origin) {
            Ok(mut known) => {
                let forgotten = known.places.remove(&place_name(database));
                match (forgotten, known.places.is_empty()) {
                    (_, true) => remove(&path)?,
                    (Some(_), false) => self.replace(&path, known.write(origin).as_bytes())?,
                    (None, false) => {}
                }
            }
            Err(_) => remove(&path)?,
        }
        self.forget_place(database)
    }

    /// Writes a file whole or not at all.
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

/// Returns whether the last line has no end, because its writer was interrupted.
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

/// Returns the one name of a place: a canonical path on one line, or the address of a server.
pub fn place_name(database: &Path) -> String {
    let mut name = String::new();
    for chunk in canonical(database).as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '%' | '\n' | '\r' => name.push_str(&format!("%{:02x}", u32::from(c))),
                c => name.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| name.push_str(&format!("%{byte:02x}")));
    }
    name
}

/// Returns the path or address that [`place_name`] gave this name.
pub fn place_path(name: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    path_of(bytes)
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the path that stands for a file wherever it is named from. The file need not exist.
pub fn canonical(path: &Path) -> PathBuf {
    if path.to_str().is_some_and(Address::is_one) {
        return path.to_path_buf();
    }
    sqlite::canonical(path)
}
