//! Where a copy of a log is made: a file that gets its name when it is finished, or a server.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copy::{Result, refused, writing};
use crate::backup::put_in_place;
use crate::error::OpenError;
use crate::handle::open_existing;
use crate::options::Durability;
use crate::store::postgres::{Address, PostgresStore};
use crate::store::sqlite::SqliteStore;
use crate::store::{Birth, Opening, Store, StoreError};

/// What the name of a file ends with while a copy is made in it.
const UNFINISHED: &str = ".copying";

/// Where the copy is made.
pub struct Target {
    /// Where it is to be.
    to: PathBuf,
    /// The file that gets this name when it is finished.
    part: Option<PathBuf>,
    /// What is there already.
    pub store: Option<Arc<dyn Store>>,
}

impl Target {
    /// Opens what is there already, if anything is.
    pub fn find(to: &Path, durability: Durability) -> Result<Target> {
        let on_server = Address::in_path(to)?.is_some();
        let mut unfinished = to.as_os_str().to_os_string();
        unfinished.push(UNFINISHED);
        let unfinished = PathBuf::from(unfinished);
        let (part, durability) = match on_server || to.symlink_metadata().is_ok() {
            true => (None, durability),
            // It is synced before it gets its name.
            false => (Some(unfinished.clone()), Durability::Normal),
        };
        if part.is_none() && !on_server && are_one_file(to, &unfinished) {
            // It was given its name, and the other could not be taken away.
            fs::remove_file(&unfinished).map_err(|error| {
                writing(StoreError::Other(format!("`{}` cannot be removed ({error})", unfinished.display())))
            })?;
        }
        if let Some(folder) = to.parent().filter(|folder| !on_server && !folder.as_os_str().is_empty())
            && !folder.is_dir()
        {
            return Err(OpenError::NoFolder { folder: folder.to_path_buf() }.into());
        }
        let store = match open_existing(part.as_deref().unwrap_or(to), durability) {
            Err(OpenError::Missing { .. }) => None,
            opened => Some(opened?),
        };
        Ok(Target { to: to.to_path_buf(), part, store })
    }

    /// What is there, or a new database with the first entry of the log.
    pub fn open(&mut self, birth: Birth, durability: Durability) -> Result<Arc<dyn Store>> {
        if let Some(store) = self.store.take() {
            return Ok(store);
        }
        let address = self.to.to_str().filter(|text| Address::is_one(text));
        Ok(match (address, &self.part) {
            (Some(text), _) => {
                let address = Address::parse(text).map_err(|why| OpenError::Address { why })?;
                Arc::new(PostgresStore::open(address, &Opening::Create(birth))?)
            }
            (None, Some(part)) => {
                Arc::new(SqliteStore::open(part.clone(), Durability::Normal, &Opening::Create(birth))?)
            }
            (None, None) => {
                Arc::new(SqliteStore::open(self.to.clone(), durability, &Opening::Create(birth))?)
            }
        })
    }

    /// Gives a file the name it is to have, when nothing of it is open any more.
    pub fn finish(self) -> Result<()> {
        let Target { to, part: Some(part), .. } = self else { return Ok(()) };
        let beside = |end: &str| {
            let mut name = part.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        if beside("-wal").metadata().is_ok_and(|wal| wal.len() > 0) {
            // What another process has written there would be lost with the name.
            return refused(format!(
                "`{}` is whole and verified, and another process has it open; run the same command again when that has \
                 ended",
                part.display()
            ));
        }
        let placed =
            fs::File::open(&part).and_then(|file| file.sync_all()).and_then(|()| put_in_place(&part, &to));
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(beside(end));
        }
        match placed {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => refused(format!(
                "`{}` has come into being meanwhile and stays as it is; the copy is whole, in `{}`",
                to.display(),
                part.display()
            )),
            placed => placed.map_err(|error| {
                writing(match error.kind() {
                    ErrorKind::StorageFull => StoreError::DiskFull,
                    kind => StoreError::Other(format!("the file could not be given its name ({kind})")),
                })
            }),
        }
    }
}

/// Whether two names are those of one file.
#[cfg(unix)]
fn are_one_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| path.symlink_metadata().ok().map(|file| (file.dev(), file.ino()));
    id(one).is_some_and(|file| id(other) == Some(file))
}

/// Elsewhere it is not told; the other name is left over.
#[cfg(not(unix))]
fn are_one_file(_one: &Path, _other: &Path) -> bool {
    false
}
