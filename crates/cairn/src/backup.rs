//! Copies of a whole database.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::{Store, StoreError};
use crate::verify::Progress;

/// Copies to a name of its own first, makes that durable, and only then gives it the name asked for.
pub fn backup(store: &dyn Store, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let Some(name) = to.file_name() else {
        return Err(Error::invalid("to", "must name a file"));
    };
    if to.exists() {
        return Err(taken());
    }
    let mut part = name.to_os_string();
    part.push(format!(".part-{}", std::process::id()));
    let part = to.with_file_name(part);
    let copied = copy(store, &part, to, progress);
    // If the copy is whole, one that cannot be removed does no harm. SQLite may have left its own files beside it.
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut name = part.clone().into_os_string();
        name.push(ending);
        let _ = fs::remove_file(name);
    }
    copied
}

fn copy(store: &dyn Store, part: &Path, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    match fs::File::create_new(part) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::invalid("to", "the folder does not exist"));
        }
        Err(error) => return Err(io_error(error)),
    }
    store.backup(part, progress)?;
    fs::File::open(part).and_then(|file| file.sync_all()).map_err(io_error)?;
    match put_in_place(part, to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken()),
        placed => placed.map_err(io_error),
    }
}

/// Gives a finished file the name it is to have, if nothing has that name, and makes that durable.
pub(crate) fn put_in_place(part: &Path, to: &Path) -> std::io::Result<()> {
    // Unlike renaming, linking fails if the name has been taken meanwhile. Not every file system can link.
    let named = match fs::hard_link(part, to) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        Err(_) => fs::rename(part, to),
        named => named,
    };
    let folder = match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let is_ours = named.is_ok() || !part.exists();
    let lasting = named.and_then(|()| fs::File::open(folder)?.sync_all());
    if lasting.is_err() && is_ours {
        // What is not known to last must not pass for a finished file.
        let _ = fs::remove_file(to);
    }
    let _ = fs::remove_file(part);
    lasting
}

fn taken() -> Error {
    Error::invalid("to", "there is a file of that name already; a backup never replaces one")
}

fn io_error(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull => StoreError::DiskFull.into(),
        kind => StoreError::Other(format!("the copy could not be written ({kind})")).into(),
    }
}
