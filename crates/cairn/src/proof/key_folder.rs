//! Signing keys in files, one for each log, that nobody but their owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cairn_core::entry::KeyStatement;
use cairn_core::log::Checkpoint;
use cairn_core::note::{Signature, SigningKey, VerifyingKey};

use super::file_name;
use super::signer::{GrowthProof, Signer};

/// No key string is longer.
const MAX_BYTES: u64 = 4096;
/// Nobody takes that long to write a small file.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A folder of signing keys. The key of a log is made when the log is signed for the first time.
pub struct KeyFolder {
    folder: PathBuf,
}

impl KeyFolder {
    /// Keys are kept in this folder, which should be away from the database.
    pub fn new(folder: impl Into<PathBuf>) -> KeyFolder {
        KeyFolder { folder: folder.into() }
    }

    /// Where the key of a log is.
    pub fn path(&self, origin: &str) -> PathBuf {
        self.folder.join(file_name(origin, "key"))
    }

    /// Where the key is that will replace it, while both sign.
    pub fn next_path(&self, origin: &str) -> PathBuf {
        self.folder.join(file_name(origin, "next.key"))
    }

    /// Makes the key that will replace the present one; until [`KeyFolder::replace`] both sign.
    pub fn make_next(&self, origin: &str) -> Result<VerifyingKey, String> {
        let path = self.next_path(origin);
        match load(&path)? {
            Some(key) => Ok(key.verifying_key().clone()),
            None => Ok(self.make(&path, origin)?.verifying_key().clone()),
        }
    }

    /// Puts the next key in the place of the present one, which is gone afterwards.
    pub fn replace(&self, origin: &str) -> Result<(), String> {
        let (next, path) = (self.next_path(origin), self.path(origin));
        fs::rename(&next, &path).map_err(|error| failed("replace the key at", &path, &error))?;
        sync_folder(&self.folder)
    }

    /// The present key, if there is one, and the one that will replace it.
    fn load_both(&self, origin: &str) -> Result<Vec<SigningKey>, String> {
        let next = || load(&self.next_path(origin)).map(Option::into_iter);
        match load(&self.path(origin))? {
            Some(key) => Ok([key].into_iter().chain(next()?).collect()),
            None => Ok(Vec::new()),
        }
    }

    fn make(&self, path: &Path, origin: &str) -> Result<SigningKey, String> {
        private_folder(&self.folder)?;
        let key = random_key(origin)?;
        match write_new(path, format!("{}\n", key.to_secret_string()).as_bytes()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                load(path)?.ok_or_else(|| format!("the key at `{}` came and went", path.display()))
            }
            Err(error) => Err(failed("make a key at", path, &error)),
            Ok(()) => {
                sync_folder(&self.folder)?;
                Ok(key)
            }
        }
    }
}

impl Signer for KeyFolder {
    // Read anew each time: another process may have put another key in its place.
    fn sign(&self, checkpoint: &Checkpoint, _: &mut GrowthProof<'_>) -> Result<Vec<Signature>, String> {
        let (origin, body) = (checkpoint.origin(), checkpoint.body());
        let keys = self.load_both(origin)?;
        if keys.is_empty() {
            return Err(format!("there is no key of `{origin}` here"));
        }
        Ok(keys.iter().map(|key| key.sign(&body)).collect())
    }

    fn keys(&self, origin: &str) -> Result<Vec<VerifyingKey>, String> {
        Ok(self.load_both(origin)?.iter().map(|key| key.verifying_key().clone()).collect())
    }

    fn first_key(&self, origin: &str) -> Result<VerifyingKey, String> {
        let path = self.path(origin);
        let key = match load(&path)? {
            Some(key) => key,
            None => self.make(&path, origin)?,
        };
        Ok(key.verifying_key().clone())
    }

    fn sign_change(&self, statement: &KeyStatement<'_>) -> Result<Vec<Signature>, String> {
        let text = statement.text();
        Ok(self.load_both(statement.origin)?.iter().map(|key| key.sign(&text)).collect())
    }
}

/// A new key for a log.
pub fn random_key(origin: &str) -> Result<SigningKey, String> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| format!("the system gave no random numbers: {error}"))?;
    SigningKey::from_seed(origin, seed).map_err(|error| error.to_string())
}

/// Reads a key, if there is one, and nobody else can.
pub fn load(path: &Path) -> Result<Option<SigningKey>, String> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(|error| failed("read the key at", path, &error))?,
    };
    if !found.is_file() {
        return Err(format!(
            "the key at `{}` is not a plain file: put the file itself there",
            path.display()
        ));
    }
    if let Some(folder) = path.parent() {
        private("the folder of keys", folder, "700")?;
    }
    private("the key", path, "600")?;
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .map_err(|error| failed("read the key at", path, &error))?;
    let key = text.trim().parse().map_err(|error| {
        format!("the key at `{}` cannot be used: {error}; restore it from your backup of it", path.display())
    })?;
    Ok(Some(key))
}

/// Refuses what others can read, what belongs to others, and links.
#[cfg(unix)]
fn private(what: &str, path: &Path, mode: &str) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(path).map_err(|error| failed("look at", path, &error))?;
    let shown = path.display();
    if found.is_symlink() {
        return Err(format!("{what} `{shown}` is a link: name the place itself"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!(
            "{what} `{shown}` belongs to another user: make it your own, or use another key"
        ));
    }
    if found.mode() & 0o077 != 0 {
        return Err(format!(
            "{what} `{shown}` can be used by others: `chmod {mode} '{shown}'`, and change the key if someone may have read it"
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &str, _: &Path, _: &str) -> Result<(), String> {
    Ok(())
}

/// Makes a folder that only its owner can look into, or makes sure that it is one.
pub fn private_folder(folder: &Path) -> Result<(), String> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| failed("make the folder", folder, &error))?;
    // What is put into it lasts only if it does itself.
    for parent in missing.iter().filter_map(|made| made.parent()) {
        sync_folder(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
    }
    private("the folder", folder, "700")
}

/// Writes a new file that only its owner can read, to the disk.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Likewise, whole or not at all, and never over one that another process has made meanwhile. Its folder is to be
/// synced.
pub fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = part_of(path);
    let written = write_private(&part, bytes).and_then(|()| fs::hard_link(&part, path));
    let _ = fs::remove_file(&part);
    written
}

/// A name beside a file for what is to take its place. What programs that were killed have left under such names is
/// removed.
pub fn part_of(path: &Path) -> PathBuf {
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let others = path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    for other in others.filter(|other| other.path().extension().is_some_and(|ending| ending == "part")) {
        let age = other.metadata().and_then(|found| found.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(other.path());
        }
    }
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    path.with_extension(format!("{}-{number}.part", std::process::id()))
}

/// Makes new names in a folder last.
pub fn sync_folder(folder: &Path) -> Result<(), String> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| failed("write to", folder, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {what} `{}`: {error}", path.display())
}
