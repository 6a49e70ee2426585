//! How a database is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairn_core::thought::Limits;
use cairn_core::time::Timestamp;

use crate::clock::{Clock, new_id};
use crate::error::OpenError;
use crate::handle::Cairn;
use crate::proof::{HeadFolder, Signer};
use crate::store::StoreError;

pub use crate::store::Durability;

pub(crate) type IdSource = Arc<dyn Fn() -> Result<String, StoreError> + Send + Sync>;

/// Settings for [`Cairn`]; the default ones are those of [`Cairn::open`].
///
/// Clock and ids can be brought along, which makes every hash reproducible:
///
/// ```
/// use cairn::{NewThought, Options, ThoughtType, Timestamp};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cairn.db");
/// let cairn = Options::new()
///     .clock(|| Timestamp::parse("2026-04-17T00:00:00Z").expect("a valid timestamp"))
///     .ids(|| "r1".to_string())
///     .open(path)?;
/// let thought = cairn.record(NewThought::new(ThoughtType::Plan, "hello").task("t1").agent("a1"))?;
/// assert_eq!(
///     thought.hash.to_string(),
///     "6a2f9597f563d5515cfa69891a51806d0f93bfbe222997d3ba37c365ceee3f1a",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) limits: Limits,
    pub(crate) create: bool,
    pub(crate) read_only: bool,
    pub(crate) clock: Clock,
    pub(crate) ids: IdSource,
    pub(crate) roadmaps: Option<PathBuf>,
    pub(crate) signer: Option<Arc<dyn Signer>>,
    pub(crate) heads: Option<HeadFolder>,
    pub(crate) automatic: bool,
    pub(crate) keep_states_after: u64,
    pub(crate) replica: Option<String>,
}

impl Options {
    /// Full durability, the default limits, the system's clock, ids of UUID version 7; makes a missing file.
    pub fn new() -> Options {
        Options {
            durability: Durability::Full,
            limits: Limits::default(),
            create: true,
            read_only: false,
            clock: Clock::system(),
            ids: Arc::new(|| Ok(new_id()?.to_string())),
            roadmaps: None,
            signer: None,
            heads: None,
            automatic: true,
            keep_states_after: 4096,
            replica: None,
        }
    }

    /// Sets when an acknowledged thought is safe.
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Sets the sizes beyond which a thought is refused.
    pub fn limits(mut self, limits: Limits) -> Options {
        self.limits = limits;
        self
    }

    /// Whether a missing file is made.
    pub fn create(mut self, create: bool) -> Options {
        self.create = create;
        self
    }

    /// Opens the database for reading: nothing is made, brought up to date, recorded or remembered, and no byte of the
    /// file changes. Only [`Cairn::search`] and look-ups of actions may still bring the indexes they use up to date.
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Takes the time from `clock`. While it says one before 1970, nothing is recorded.
    pub fn clock(mut self, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Options {
        self.clock = Clock::of(clock);
        self
    }

    /// Takes ids from `ids`. They must be unique; one that is taken is refused as a conflict.
    pub fn ids(mut self, ids: impl Fn() -> String + Send + Sync + 'static) -> Options {
        self.ids = Arc::new(move || Ok(ids()));
        self
    }

    /// Reads roadmaps from this folder instead of `roadmaps` beside the database; for one on a server, `roadmaps` in the
    /// current folder.
    pub fn roadmaps(mut self, folder: impl Into<PathBuf>) -> Options {
        self.roadmaps = Some(folder.into());
        self
    }

    /// Has checkpoints signed. Without a signer they are not, and say so.
    pub fn signer(self, signer: impl Signer + 'static) -> Options {
        self.shared_signer(Arc::new(signer))
    }

    /// Like [`Options::signer`], for one that is used elsewhere as well.
    pub fn shared_signer(mut self, signer: Arc<dyn Signer>) -> Options {
        self.signer = Some(signer);
        self
    }

    /// Remembers the heads of logs in this folder, which should be away from the database. A database that does not
    /// extend the heads seen in its place can be read and not written.
    pub fn heads(mut self, folder: impl Into<PathBuf>) -> Options {
        self.heads = Some(HeadFolder::new(folder));
        self
    }

    /// Whether checkpoints are made without being asked for: after 256 entries, a minute after the first entry that
    /// none covers, and at the end. They are by default.
    pub fn automatic_checkpoints(mut self, automatic: bool) -> Options {
        self.automatic = automatic;
        self
    }

    /// Keeps the state of a session in the file whenever it has grown by this many events, and by a third: then whoever
    /// opens the file folds only what is newer. 4,096 unless told otherwise; fewer make the file longer.
    pub fn keep_states_after(mut self, events: u64) -> Options {
        self.keep_states_after = events;
        self
    }

    /// Reads from this replica of a database on a server, `postgres://…`, whenever it has all that this program has
    /// recorded or seen, and no older state than of a second ago; else from the database itself. What must be as it is
    /// now is always read there, and so is everything that is verified.
    pub fn read_from(mut self, address: impl Into<String>) -> Options {
        self.replica = Some(address.into());
        self
    }

    /// Opens the database at `path`: a file, or an address `postgres://USER@HOST/DATABASE?schema=NAME`.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Cairn, OpenError> {
        Cairn::open_with(self, PathBuf::from(path.as_ref()))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}
