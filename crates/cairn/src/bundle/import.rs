//! Making a database of a bundle, and completing one that is behind it.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, Seek};
use std::path::{Path, PathBuf};

use cairn_core::entry::{Entry, Record};
use cairn_core::log::leaf_hash;
use cairn_core::note::VerifyingKey;
use cairn_core::time::Timestamp;

use super::adding::{Adding, Load};
use super::report::BundleReport;
use super::verify::{Walked, walk};
use crate::backup::put_in_place;
use crate::error::{Error, OpenError};
use crate::handle::open_existing;
use crate::options::{Durability, Options};
use crate::store::postgres::{Address, PostgresStore};
use crate::store::sqlite::SqliteStore;
use crate::store::{Birth, Opening, Store, StoreError};
use crate::verify::{self, Outside, OutsideKey, Progress, Report, Scope};

/// What was taken in.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Entries that were added.
    pub added: u64,
    /// Records that were there before, and whose texts the bundle says were redacted: they were erased here as well.
    pub erased: u64,
    /// What of those texts is still in the files, in words; empty if nothing was found.
    pub remnants: Vec<String>,
    /// What was found in the bundle.
    pub bundle: BundleReport,
    /// What was found in the database afterwards.
    pub report: Report,
}

/// Why a bundle was not taken in. Nothing of it is left behind, unless it says so.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It will not be done.
    #[error("{0}")]
    Refused(String),
    /// Something is wrong with the bundle.
    #[error("the bundle is not what was recorded: {}", .0.message())]
    Bundle(Box<BundleReport>),
    /// Something is wrong with the database afterwards.
    #[error("the database does not verify after the import: {}", .0.message())]
    Database(Box<Report>),
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something failed.
    #[error(transparent)]
    Failed(Error),
}

impl From<Error> for ImportError {
    fn from(error: Error) -> ImportError {
        match error {
            Error::Store(StoreError::Taken(what)) => ImportError::Refused(format!(
                "the bundle has one `{what}` twice, which no database of ours can hold"
            )),
            other => ImportError::Failed(other),
        }
    }
}

impl From<StoreError> for ImportError {
    fn from(error: StoreError) -> ImportError {
        Error::from(error).into()
    }
}

type Result<T> = std::result::Result<T, ImportError>;

impl Options {
    /// Makes a database at `path`, a file or an address, where there is none, of a bundle of a whole log: with its origin,
    /// its ids, its hashes, its checkpoints and its redactions.
    ///
    /// The bundle is read twice, first to verify it with `keys`. A file is verified before it gets its name. On a server
    /// what was committed stays, even if a later part fails; [`Options::extend`] goes on from there.
    pub fn import(
        self,
        path: impl AsRef<Path>,
        bundle: &mut (impl BufRead + Seek),
        keys: &[VerifyingKey],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Imported> {
        let path = path.as_ref();
        if let Some(address) = Address::in_path(path)? {
            return import_to_server(address, bundle, keys, progress);
        }
        let taken = || {
            let shown = path.display();
            ImportError::Refused(format!(
                "`{shown}` exists already; a bundle is imported into a file of its own"
            ))
        };
        if path.symlink_metadata().is_ok() {
            return Err(taken());
        }
        let Some(name) = path.file_name() else {
            return Err(ImportError::Refused("a file must be named".to_string()));
        };
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
        {
            return Err(OpenError::NoFolder { folder: folder.to_path_buf() }.into());
        }
        let checked = check(bundle, keys, progress)?;
        let part = Part(
            path.with_file_name(with_suffix(name.to_os_string(), &format!(".part-{}", std::process::id()))),
        );
        if part.0.symlink_metadata().is_ok() {
            return Err(ImportError::Refused(format!("`{}` is in the way", part.0.display())));
        }
        let imported = {
            let birth =
                Birth { origin: checked.walked.report.origin.clone(), timestamp: checked.begun.clone() };
            let store = SqliteStore::open(part.0.clone(), Durability::Normal, &Opening::Create(birth))?;
            take_in(&store, bundle, checked, keys, progress)?
        };
        let place = || {
            fs::File::open(&part.0)?.sync_all()?;
            put_in_place(&part.0, path)
        };
        match place() {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken()),
            Err(error) => Err(io_error(&error)),
            Ok(()) => Ok(Imported { added: imported.bundle.size, ..imported }),
        }
    }

    /// Adds to the database at `path` what a bundle of the same log has beyond it: the way out after an old backup was
    /// put back. Every entry that both have must be the same. What was redacted since is erased here as
    /// [`crate::Cairn::redact`] erases it.
    ///
    /// What was added stays, even if a later part fails; doing it again goes on from there.
    pub fn extend(
        self,
        path: impl AsRef<Path>,
        bundle: &mut (impl BufRead + Seek),
        keys: &[VerifyingKey],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Imported> {
        let store = open_existing(path.as_ref(), self.durability)?;
        let checked = check(bundle, keys, progress)?;
        is_prefix(&*store, &checked.walked)?;
        take_in(&*store, bundle, checked, keys, progress)
    }
}

fn import_to_server(
    address: &str,
    bundle: &mut (impl BufRead + Seek),
    keys: &[VerifyingKey],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Imported> {
    let address = Address::parse(address).map_err(|why| OpenError::Address { why })?;
    let taken = || {
        ImportError::Refused(format!(
            "`{address}` holds a log already; a bundle is imported where there is none, or added to it with `--extend`"
        ))
    };
    match PostgresStore::open(address.clone(), &Opening::Write) {
        Err(OpenError::Missing { .. }) => {}
        opened => return Err(opened.map_or_else(ImportError::from, |_| taken())),
    }
    let checked = check(bundle, keys, progress)?;
    openable(&checked.walked, 0)?;
    let birth = Birth { origin: checked.walked.report.origin.clone(), timestamp: checked.begun.clone() };
    let store = PostgresStore::open(address.clone(), &Opening::Create(birth))?;
    // Somebody else may have been faster.
    is_prefix(&store, &checked.walked).map_err(|_| taken())?;
    let imported = take_in(&store, bundle, checked, keys, progress)?;
    Ok(Imported { added: imported.bundle.size, ..imported })
}

/// A bundle that was verified.
struct Checked {
    walked: Walked,
    /// When the log was begun.
    begun: Timestamp,
}

fn check(
    bundle: &mut (impl BufRead + Seek),
    keys: &[VerifyingKey],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Checked> {
    let mut begun = None;
    let walked = walk(&mut *bundle, keys, &mut |done| progress(done), &mut |_, entry| {
        if let Some(Record { entry: Entry::Genesis(genesis), .. }) = entry.record {
            begun = Some(genesis.timestamp);
        }
        Ok(())
    })?;
    if !walked.report.valid() {
        return Err(ImportError::Bundle(Box::new(walked.report)));
    }
    if !walked.report.full {
        let message = "the bundle holds a part of a log only; export the whole log to import it";
        return Err(ImportError::Refused(message.to_string()));
    }
    let begun = begun.and_then(|text| Timestamp::parse(text).ok());
    let begun =
        begun.ok_or_else(|| ImportError::Refused("the log does not say when it was begun".to_string()))?;
    bundle.rewind().map_err(|error| io_error(&error))?;
    Ok(Checked { walked, begun })
}

/// Whether what is stored is what the bundle begins with.
fn is_prefix(store: &dyn Store, walked: &Walked) -> Result<()> {
    let audit = store.audit()?;
    let head = audit.head()?;
    let refused = |message: String| Err(ImportError::Refused(message));
    if head.origin != walked.report.origin {
        return refused(format!(
            "the database holds the log `{}`, the bundle the log `{}`",
            head.origin, walked.report.origin
        ));
    }
    if head.size > walked.report.size {
        return refused(format!(
            "the database has {} entries, more than the bundle with {}",
            head.size, walked.report.size
        ));
    }
    let (mut next, mut differs) = (0, None);
    // An interrupted import leaves blank records whose redactions are still to come, so this compares stored hashes; the
    // verification at the end recomputes them.
    audit.leaf_hashes(0, head.size, &mut |seq, hash| {
        let same = seq == next && walked.leaves.get(next as usize).is_some_and(|leaf| leaf.0 == hash);
        if !same && differs.is_none() {
            differs = Some(next);
        }
        next += 1;
    })?;
    match differs.or_else(|| (next != head.size).then_some(next)) {
        None => Ok(()),
        Some(seq) => refused(format!(
            "log entry {seq} of the database is not that of the bundle: they have grown apart, and neither continues \
             the other"
        )),
    }
}

/// Adds what the store does not have yet, brings everything up to date, and verifies it.
fn take_in(
    store: &dyn Store,
    bundle: &mut impl BufRead,
    checked: Checked,
    keys: &[VerifyingKey],
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Imported> {
    let mut adding = Adding::to(store)?;
    let prefix = adding.prefix();
    openable(&checked.walked, prefix)?;
    let leaves = checked.walked.leaves;
    let mut load = Load::default();
    let again = walk(bundle, keys, &mut |done| progress(done), &mut |seq, entry| {
        if leaves.get(seq as usize) != Some(&leaf_hash(entry.bytes.as_bytes())) {
            return Err(changed());
        }
        if seq >= prefix && load.push(entry) {
            adding.write(&std::mem::take(&mut load))?;
        }
        Ok(())
    })?;
    if !again.report.valid() {
        return Err(changed().into());
    }
    adding.write(&load)?;
    adding.state(&again.checkpoints)?;
    adding.catch_up(&|_| {})?;
    let (erased, remnants) = adding.end(store);
    // Whose signatures count was decided with the bundle; without a key, the log's own word has to do.
    let known = if keys.is_empty() { &again.named[..] } else { keys };
    let known = known.iter().map(|key| OutsideKey {
        key: key.clone(),
        source: "as the bundle was verified".to_string(),
        must_have_signed: false,
    });
    let outside = Outside { keys: known.collect(), ..Outside::default() };
    let report = verify::verify(store, &Scope::All, &outside, progress)?;
    if !report.valid() || report.root != Some(again.report.root) {
        return Err(ImportError::Database(Box::new(report)));
    }
    let added = again.report.size - prefix;
    Ok(Imported { added, erased, remnants, bundle: again.report, report })
}

/// Whether every sealed content that would be added comes with its key. A database that cannot open what nobody
/// redacted does not verify, and must not: there a missing key is an erasure that nobody owned up to.
fn openable(walked: &Walked, prefix: u64) -> Result<()> {
    let closed = match walked.closed.iter().filter(|seq| **seq >= prefix).count() {
        0 => return Ok(()),
        1 => "1 sealed content without its key".to_string(),
        count => format!("{count} sealed contents without their keys"),
    };
    Err(ImportError::Refused(format!(
        "the bundle holds {closed}, and a database has to open what was not redacted; export the log with \
         `--with-keys` to import it. The bundle as it is can be verified and kept"
    )))
}

/// A file under a name of its own, which is gone with what SQLite keeps beside it unless it gets another.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(with_suffix(self.0.clone().into_os_string(), suffix));
        }
    }
}

fn with_suffix(mut name: OsString, suffix: &str) -> OsString {
    name.push(suffix);
    name
}

fn changed() -> Error {
    Error::Conflict("the bundle was changed while it was read".to_string())
}

fn io_error(error: &std::io::Error) -> ImportError {
    match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::DiskFull.into(),
        kind => StoreError::Other(format!("the bundle could not be imported ({kind})")).into(),
    }
}
