//! Writing a file so that there is the old one or the new one, whatever happens in between.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::error::{Error, Result};
use crate::store::StoreError;

/// Makes a folder and those above it, for their owner alone.
pub(super) fn make_folder(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Err(Error::Conflict("the folder of roadmaps is a file; nothing was written".into()))
        }
        Err(error) => Err(unwritten("the folder of roadmaps", &error)),
    }
}

/// Writes a file that must not be there yet, or replaces one that is.
pub(super) fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let random = getrandom::u64().map_err(|_| StoreError::Other("there are no random numbers".into()))?;
    let part = path.with_file_name(format!(".{name}.part-{random:016x}"));
    let written = write_part(&part, path, bytes, replace);
    // After a rename there is nothing to remove.
    let _ = fs::remove_file(&part);
    match written {
        Ok(()) => Ok(()),
        Err(error) if !replace && error.kind() == ErrorKind::AlreadyExists => Err(taken(&name)),
        Err(error) => Err(unwritten(&format!("`{name}`"), &error)),
    }
}

fn write_part(part: &Path, path: &Path, bytes: &[u8], replace: bool) -> std::io::Result<()> {
    let mut file = File::create_new(part)?;
    if replace {
        file.set_permissions(fs::metadata(path)?.permissions())?;
    }
    file.write_all(bytes)?;
    file.sync_all()?;
    if replace {
        fs::rename(part, path)?;
    } else {
        link(part, path)?;
    }
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

/// Unlike renaming, linking fails if the name has been taken meanwhile. Not every file system can link.
fn link(part: &Path, path: &Path) -> std::io::Result<()> {
    match fs::hard_link(part, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !path.exists() => fs::rename(part, path),
        other => other,
    }
}

/// There is a roadmap by that name.
pub(super) fn taken(name: &str) -> Error {
    Error::Conflict(format!(
        "`{name}` is there already; pass `overwrite` to replace it, or choose another id"
    ))
}

fn unwritten(what: &str, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::DiskFull.into(),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Error::Conflict(format!(
            "{what} cannot be written ({}); nothing was changed. Check the permissions of the folder of roadmaps",
            error.kind()
        )),
        kind => Error::Conflict(format!("{what} could not be written ({kind}); nothing was changed")),
    }
}
