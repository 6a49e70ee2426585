//! Files of the state folder: whole or not at all, and nobody else's to read.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use cairn::HeadFolder;

use crate::database::private_folder;
use crate::state::StateFolder;

/// Nothing that is kept here is longer.
const MAX_BYTES: u64 = 4 << 20;

/// Where things of one log are in the state folder.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    witnesses: PathBuf,
    witnessed: PathBuf,
    stem: String,
}

impl Files {
    pub(crate) fn new(state: &StateFolder, origin: &str) -> Files {
        // The name that remembered heads of this log have, so that one recognises what belongs together.
        let named = HeadFolder::new("").path(origin);
        let stem = named.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Files { witnesses: state.witnesses(), witnessed: state.path.join("witnessed"), stem }
    }

    /// Which witnesses the log has.
    pub(crate) fn config(&self) -> PathBuf {
        self.witnesses.join(format!("{}.json", self.stem))
    }

    /// What is known of one of them.
    pub(crate) fn status(&self, witness: &str) -> PathBuf {
        self.witnesses.join(&self.stem).join(format!("{witness}.json"))
    }

    /// The notes that it has signed or stamped.
    pub(crate) fn kept(&self, witness: &str) -> PathBuf {
        self.witnessed.join(&self.stem).join(witness)
    }

    /// The kept notes, by size.
    pub(crate) fn kept_sizes(&self, witness: &str) -> Result<Vec<u64>, String> {
        let folder = self.kept(witness);
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|error| format!("cannot read `{}`: {error}", folder.display()))?,
        };
        let size = |name: &str| name.strip_suffix(".note")?.parse::<u64>().ok();
        let mut sizes: Vec<u64> =
            entries.flatten().filter_map(|entry| size(&entry.file_name().to_string_lossy())).collect();
        sizes.sort_unstable();
        Ok(sizes)
    }
}

/// Writes a file that only its owner can read: whole or not at all, and on the disk.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write `{}`: {error}", path.display());
    let folder = path.parent().unwrap_or(Path::new("."));
    private_folder(folder).map_err(|error| error.sentence())?;
    let mut part = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    part.write_all(bytes).and_then(|()| part.as_file().sync_all()).map_err(failed)?;
    part.persist(path).map_err(|error| failed(error.error))?;
    #[cfg(unix)]
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(())
}

/// Reads a file, if there is one.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, String> {
    // Opening anything else, a pipe say, might never end.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(format!("`{}` is not a file", path.display()));
    }
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot read `{}`: {error}", path.display())),
    }
}

/// Reads a text, if there is one.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, String> {
    let not_text = |_| format!("`{}` is not UTF-8", path.display());
    read(path)?.map(|bytes| String::from_utf8(bytes).map_err(not_text)).transpose()
}
