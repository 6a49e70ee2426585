//! The signer's own memory: the last head of each log that it has signed, as the body of the checkpoint.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cairn::HeadFolder;
use cairn::core::log::Checkpoint;

use crate::term::quoted;

/// The memory, held by one signer at a time.
pub(super) struct Heads {
    folder: PathBuf,
    /// Nobody else may sign with what is in these folders while this is held.
    _locks: Vec<File>,
}

impl Heads {
    /// Opens the folder of heads and makes sure that no other signer uses it or these keys.
    pub(super) fn open(folder: &Path, keys: &Path) -> Result<Heads, String> {
        let _locks = vec![lock(folder)?, lock(keys)?];
        Ok(Heads { folder: folder.to_path_buf(), _locks })
    }

    fn path(&self, origin: &str) -> PathBuf {
        self.folder.join(HeadFolder::new("").path(origin))
    }

    /// The last head of a log. One that cannot be read is an error: it must not pass for a log that is new.
    pub(super) fn read(&self, origin: &str) -> Result<Option<Checkpoint>, String> {
        let path = self.path(origin);
        // Opening anything else, a pipe say, might never end.
        if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
            return Err(format!("`{}` is not a file", path.display()));
        }
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(4096).read_to_string(&mut text)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read `{}`: {error}", path.display())),
            Ok(_) => {}
        }
        match text.parse::<Checkpoint>() {
            Ok(head) if head.origin() == origin => Ok(Some(head)),
            Ok(_) => Err(format!("`{}` is of another log", path.display())),
            Err(error) => Err(format!("`{}` cannot be read: {error}", path.display())),
        }
    }

    /// Remembers a head. When this returns, it survives a power cut.
    pub(super) fn remember(&self, head: &Checkpoint) -> Result<(), String> {
        let path = self.path(head.origin());
        let part = path.with_extension("part");
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| {
                file.write_all(head.body().as_bytes())?;
                file.sync_all()
            })
            .and_then(|()| fs::rename(&part, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        written.map_err(|error| format!("cannot write `{}`: {error}", path.display()))
    }
}

/// Makes a folder that only its owner can look into, and takes it for this process.
fn lock(folder: &Path) -> Result<File, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("cannot use the folder `{}`: {error}", folder.display());
    let shown = folder.display();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(&error))?;
    let found = fs::symlink_metadata(folder).map_err(|error| failed(&error))?;
    if found.is_symlink() {
        return Err(failed(&"it is a link: name the place itself"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(failed(&"it belongs to another user"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(failed(&format!("others can look into it: `chmod 700 {}`", quoted(folder))));
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join("signer.lock"))
        .map_err(|error| failed(&error))?;
    rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| format!("another signer uses the folder `{shown}`"))?;
    Ok(file)
}
