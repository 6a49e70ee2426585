//! Where the database file is, and whether it is still the one that was opened.
//!
//! Whoever moves a database that is open, or puts another in its place, leaves the connections that are open on the old
//! file. What is recorded by them is nowhere to be found by the name of the file, and a connection opened later reads
//! another log: none of that must look as if all were well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::store::StoreError;

/// The path of a file, and which file was there when it was opened.
#[derive(Clone)]
pub struct Place {
    path: PathBuf,
    file: Option<FileId>,
}

impl Place {
    pub fn new(path: PathBuf) -> Place {
        Place { path, file: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on the file that is there now must be there.
    pub fn keep(&mut self) {
        self.file = file_id(&self.path);
    }

    /// Refuses if another file is there, or none.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.file == file_id(&self.path) {
            true => Ok(()),
            false => Err(StoreError::Moved),
        }
    }
}

/// What tells a file from every other that is there at the same time.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Elsewhere the system itself keeps an open file in its place.
#[cfg(not(unix))]
fn file_id(_path: &Path) -> Option<FileId> {
    None
}

/// Returns the path that stands for a file wherever it is named from. The file need not exist.
pub fn canonical(path: &Path) -> PathBuf {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match (fs::canonicalize(path), fs::canonicalize(folder), path.file_name()) {
        (Ok(path), _, _) => path,
        (_, Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}
