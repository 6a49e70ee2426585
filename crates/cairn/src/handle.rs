//! The handle that everything goes through.

use std::future::Future;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};

use cairn_core::Sha;
use cairn_core::entry::Salt;
use cairn_core::id::ThoughtId;
use cairn_core::thought::{Limits, NewThought, Source, Thought};
use cairn_core::time::Timestamp;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::clock::{Clock, new_id};
use crate::context::Readings;
use crate::error::{Error, OpenError, Result};
use crate::memory::States;
use crate::options::{Durability, IdSource, Options};
use crate::proof::{
    Checkpoints, Comparison, HeadFolder, Maker, SeenHead, Signer, Standing, canonical, comparison_of, gone,
    refine, refusal,
};
use crate::roadmap::Roadmaps;
use crate::seal::{Sealed, seal};
use crate::sessions::SessionTallies;
use crate::store::postgres::{Address, PostgresStore};
use crate::store::sqlite::SqliteStore;
use crate::store::{Birth, Opening, ReplicaStatus, Store, StoreError};
use crate::verify::{self, Outside, Progress, Report, Scope, Watch};
use crate::writer::{Recorded, Recording, Sealing, Writer};

/// An open database. Clones share it, and any number of threads may use it at once.
#[derive(Clone)]
pub struct Cairn {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    ids: IdSource,
    roadmaps: Roadmaps,
    pub(crate) readings: Readings,
    pub(crate) states: States,
    pub(crate) tallies: SessionTallies,
    pub(crate) signer: Option<Arc<dyn Signer>>,
    pub(crate) heads: Option<HeadFolder>,
    automatic: bool,
    checkpoint_failure: Arc<Mutex<Option<String>>>,
    /// How the log stood to what is remembered of it when it was opened.
    pub(crate) comparison: Comparison,
    read_only: bool,
    /// Started by the first write: a program that only reads has no writer.
    pub(crate) running: OnceLock<Result<Running>>,
}

/// The threads that run while something is recorded.
pub(crate) struct Running {
    pub(crate) checkpoints: Checkpoints,
    pub(crate) writer: Arc<Writer>,
}

/// What a database holds.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The name of its log.
    pub origin: String,
    /// Version of its schema.
    pub schema: i64,
    /// Entries in its log.
    pub entries: u64,
    /// Thoughts.
    pub thoughts: u64,
    /// Tasks.
    pub tasks: u64,
    /// Sessions.
    pub sessions: u64,
    /// Roadmaps of which there are snapshots.
    pub roadmaps: u64,
    /// Snapshots of them.
    pub contexts: u64,
    /// Events of sessions.
    pub events: u64,
    /// Stored briefs.
    pub briefs: u64,
    /// Thoughts that the search index covers; a search covers the rest before it answers.
    pub indexed: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// When the newest thought was recorded.
    pub newest: Option<Timestamp>,
    /// The database engine and its version.
    pub engine: String,
}

impl Cairn {
    /// Opens the database at `path`, or at an address `postgres://…`, and makes it if there is none.
    pub fn open(path: impl AsRef<Path>) -> std::result::Result<Cairn, OpenError> {
        Options::new().open(path)
    }

    pub(crate) fn open_with(options: Options, path: PathBuf) -> std::result::Result<Cairn, OpenError> {
        let opening = match (options.read_only, birth(&options, &path)?) {
            (true, _) => Opening::Read,
            (false, None) => Opening::Write,
            (false, Some(birth)) => Opening::Create(birth),
        };
        let heads = options.heads.as_ref();
        let (store, beside): (Arc<dyn Store>, PathBuf) = match Address::in_path(&path)? {
            Some(text) => {
                let store = open_server(text, &opening, heads)?;
                let store = match &options.replica {
                    Some(replica) => read_from(store, replica)?,
                    None => store,
                };
                (Arc::new(store), PathBuf::new())
            }
            None if options.replica.is_some() => {
                let why = "the database itself is a file, of which there are no replicas".to_string();
                return Err(OpenError::Replica { why });
            }
            None => {
                let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
                (Arc::new(open_file(path, options.durability, &opening, heads)?), folder)
            }
        };
        let roadmaps = Roadmaps::new(options.roadmaps.unwrap_or_else(|| beside.join("roadmaps")));
        let not_remembered = remember_new(heads, &*store, &opening).err();
        let comparison = match store.place() {
            Some(place) => comparison_of(heads, &*store, place),
            None => Standing::Unknown.into(),
        };
        Ok(Cairn {
            inner: Arc::new(Inner {
                signer: options.signer,
                heads: options.heads,
                automatic: options.automatic,
                checkpoint_failure: Arc::new(Mutex::new(not_remembered)),
                comparison,
                read_only: options.read_only,
                store,
                limits: options.limits,
                clock: options.clock,
                ids: options.ids,
                roadmaps,
                readings: Readings::default(),
                states: States::new(options.keep_states_after),
                tallies: SessionTallies::default(),
                running: OnceLock::new(),
            }),
        })
    }

    /// Records a thought of an agent. When this returns, it is on disk.
    pub fn record(&self, thought: NewThought) -> Result<Thought> {
        self.record_as(Source::Agent, thought)
    }

    /// Records a thought and how it came here. When this returns, it is on disk.
    pub fn record_as(&self, source: Source, thought: NewThought) -> Result<Thought> {
        let (reply, answer) = oneshot::channel();
        self.submit(source, thought, reply)?;
        finish(answer.blocking_recv().unwrap_or(Err(StoreError::Stopped.into())))
    }

    /// Records a thought of an agent without blocking the thread; works on any async runtime.
    ///
    /// The thought is queued at once, in the order of the calls, whether or not the future is awaited.
    pub fn record_async(
        &self,
        thought: NewThought,
    ) -> impl Future<Output = Result<Thought>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let submitted = self.submit(Source::Agent, thought, reply);
        async move {
            submitted?;
            finish(answer.await.unwrap_or(Err(StoreError::Stopped.into())))
        }
    }

    fn submit(
        &self,
        source: Source,
        thought: NewThought,
        reply: oneshot::Sender<Result<Recorded>>,
    ) -> Result<()> {
        let mut thought = thought.check(&self.inner.limits)?.from_source(source);
        let salt = salt_for(thought.metadata.as_deref())?;
        let id = ThoughtId::new((self.inner.ids)()?)
            .map_err(|error| StoreError::Other(format!("the id source gave an unusable id: it {error}")))?;
        let sealing = match thought.seal {
            false => None,
            true => {
                let Sealed { text, key } = seal(id.as_str(), &thought.content)?;
                thought.content_hash = Sha::of(text.as_bytes());
                Some(Sealing { key, content: std::mem::replace(&mut thought.content, text) })
            }
        };
        self.writer()?.record(Recording { id, thought, salt, sealing }, reply);
        Ok(())
    }

    pub(crate) fn writer(&self) -> Result<&Writer> {
        let writer = &*self.running()?.writer;
        match writer.refusal() {
            None => Ok(writer),
            Some(why) => Err(Error::Forbidden(format!(
                "nothing is recorded any more: {why}. Run `cairn verify` to see what was changed, and restore a backup"
            ))),
        }
    }

    /// What writes and what makes checkpoints, started now if they are not running.
    pub(crate) fn running(&self) -> Result<&Running> {
        if self.inner.read_only {
            return Err(Error::Forbidden("the database was opened for reading only".to_string()));
        }
        self.start()
    }

    /// The writer, if this handle has added something to the log.
    pub(crate) fn writer_that_recorded(&self) -> Option<&Writer> {
        let writer = &self.inner.running.get()?.as_ref().ok()?.writer;
        (writer.has_grown() && writer.refusal().is_none()).then_some(writer)
    }

    fn start(&self) -> Result<&Running> {
        let inner = &self.inner;
        if let Some(why) = refusal(&inner.comparison.standing) {
            return Err(Error::Forbidden(why));
        }
        let start = || {
            let (messages, queue) = channel();
            let writer =
                Arc::new(Writer::start(inner.store.writer()?, inner.clock.clone(), messages.clone()));
            let maker = Maker {
                store: inner.store.clone(),
                writer: writer.clone(),
                signer: inner.signer.clone(),
                heads: inner.heads.clone(),
                clock: inner.clock.clone(),
                failure: inner.checkpoint_failure.clone(),
                introduced: OnceLock::new(),
                covered: Mutex::new(None),
                unsigned: Mutex::new(None),
            };
            Ok(Running { checkpoints: Checkpoints::start(maker, messages, queue, inner.automatic), writer })
        };
        inner.running.get_or_init(start).as_ref().map_err(Clone::clone)
    }

    /// Brings the search index and the list of actions up to date, also if the database was opened for reading: they
    /// are derived from the records. A search does this itself.
    pub fn catch_up(&self) -> Result<()> {
        match self.behind()? {
            0 => Ok(()),
            _ => self.start()?.writer.catch_up(),
        }
    }

    /// How many entries the search index and the list of actions do not cover.
    fn behind(&self) -> Result<u64> {
        let newest = self.inner.store.head()?.size.saturating_sub(1);
        Ok(newest.saturating_sub(self.inner.store.derived_through()?))
    }

    /// Brings the indexes up to date where that can be; returns how many entries they do not cover.
    pub(crate) fn catch_up_if_possible(&self) -> Result<u64> {
        match self.catch_up() {
            Ok(()) => Ok(0),
            Err(Error::Forbidden(_) | Error::Store(StoreError::ReadOnly | StoreError::NotAllowed)) => {
                self.behind()
            }
            Err(error) => Err(error),
        }
    }

    /// The folder of roadmaps.
    pub fn roadmaps(&self) -> &Roadmaps {
        &self.inner.roadmaps
    }

    /// Recomputes everything from what is stored, and reports every disagreement.
    pub fn verify(&self, scope: &Scope) -> Result<Report> {
        self.verify_with(scope, &|_| {})
    }

    /// Like [`Cairn::verify`], telling how far it has come.
    pub fn verify_with(&self, scope: &Scope, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report> {
        self.verify_against(scope, Outside::default(), progress)
    }

    /// Like [`Cairn::verify_with`], with keys and heads that the caller brings along, besides those that are
    /// remembered where [`Options::heads`] says.
    pub fn verify_against(
        &self,
        scope: &Scope,
        outside: Outside,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Report> {
        self.verify_while(scope, outside, &|far| {
            progress(far);
            ControlFlow::Continue(())
        })
    }

    /// Like [`Cairn::verify_against`], as long as `watch` says to go on; otherwise it fails with
    /// [`StoreError::GivenUp`].
    pub fn verify_while(&self, scope: &Scope, mut outside: Outside, watch: Watch<'_>) -> Result<Report> {
        let unread = match self.add_remembered(&mut outside) {
            // A log whose name cannot be read: that is for the report to say.
            Err(Error::Store(StoreError::Damaged(_))) => None,
            other => other?,
        };
        let mut report = verify::verify_while(&*self.inner.store, scope, &outside, watch)?;
        if self.inner.store.replica().is_some() {
            report.notes.push(
                "the replica that is read from: what was verified is the database that takes the records"
                    .into(),
            );
        }
        if let Some(coverage) = &mut report.coverage {
            refine(&*self.inner.store, &mut coverage.copies);
        }
        if *scope == Scope::All {
            self.add_place(unread, &mut report);
        }
        Ok(report)
    }

    /// Why the last automatic checkpoint of this handle was not made or not signed, if so.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.inner.checkpoint_failure.lock().ok()?.clone()
    }

    /// Copies a consistent state to a new file at `to`, while others go on writing.
    ///
    /// The copy is there whole or not at all.
    pub fn backup(&self, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        crate::backup::backup(&*self.inner.store, to, progress)
    }

    /// Returns counts and sizes.
    pub fn status(&self) -> Result<Status> {
        let head = self.inner.store.head()?;
        let counts = self.inner.store.counts()?;
        Ok(Status {
            origin: head.origin,
            schema: counts.schema,
            entries: head.size,
            thoughts: counts.thoughts,
            tasks: counts.tasks,
            sessions: counts.sessions,
            roadmaps: counts.roadmaps,
            contexts: counts.contexts,
            events: counts.events,
            briefs: counts.briefs,
            indexed: counts.indexed,
            bytes: counts.bytes,
            newest: counts.newest.and_then(|text| Timestamp::parse(text).ok()),
            engine: counts.engine,
        })
    }

    /// Builds everything that is derived from the records anew: the search index and the list of actions. Kept states of
    /// sessions are forgotten.
    pub fn rebuild(&self) -> Result<()> {
        self.writer()?.rebuild()?;
        self.inner.states.clear();
        Ok(())
    }

    /// How the replica does that is read from, if there is one.
    pub fn replica(&self) -> Option<ReplicaStatus> {
        self.inner.store.replica()
    }

    /// The time, by the clock that this handle was opened with. Of a clock that is before 1970 or after 9999, the nearer
    /// end of that range.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.shown()
    }

    /// Waits until everything accepted is on disk. Dropping the last clone does the same.
    pub fn close(self) {
        if let Some(Ok(running)) = self.inner.running.get() {
            running.stop();
        }
    }
}

impl Running {
    /// Writes what is queued, then makes the last checkpoint, which needs the writer, and ends both threads.
    fn stop(&self) {
        self.writer.drain();
        self.checkpoints.stop();
        self.writer.stop();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The name and time of a new log. A log that is there can be opened even if the clock cannot be used.
fn birth(options: &Options, path: &Path) -> std::result::Result<Option<Birth>, OpenError> {
    if !options.create {
        return Ok(None);
    }
    let made = new_id().and_then(|id| {
        Ok(Birth { origin: format!("cairn/{}", id.simple()), timestamp: options.clock.now()? })
    });
    match made {
        Ok(birth) => Ok(Some(birth)),
        Err(_) if path.exists() || Address::in_path(path)?.is_some() => Ok(None),
        Err(source) => Err(OpenError::Store { path: path.to_path_buf(), source }),
    }
}

fn open_file(
    path: PathBuf,
    durability: Durability,
    opening: &Opening,
    heads: Option<&HeadFolder>,
) -> std::result::Result<SqliteStore, OpenError> {
    let Opening::Create(_) = opening else {
        let place = path.clone();
        return match SqliteStore::open(path, durability, opening) {
            Err(error @ (OpenError::Missing { .. } | OpenError::Hollow { .. })) => {
                Err(gone(heads, &canonical(&place)).unwrap_or(error))
            }
            opened => opened,
        };
    };
    open_or_create(
        || SqliteStore::open(path.clone(), durability, &Opening::Write),
        || gone(heads, &canonical(&path)),
        || SqliteStore::open(path.clone(), durability, opening),
    )
}

/// Opens a database that is there, in a file or on a server, to add to it. A file is whole afterwards, without a
/// write-ahead log, unless others have it open.
pub(crate) fn open_existing(
    path: &Path,
    durability: Durability,
) -> std::result::Result<Arc<dyn Store>, OpenError> {
    match Address::in_path(path)? {
        Some(text) => Ok(Arc::new(open_server(text, &Opening::Write, None)?)),
        None => {
            let store = SqliteStore::open(path.to_path_buf(), durability, &Opening::Write)?;
            store.fold_when_closed();
            Ok(Arc::new(store))
        }
    }
}

fn open_server(
    address: &str,
    opening: &Opening,
    heads: Option<&HeadFolder>,
) -> std::result::Result<PostgresStore, OpenError> {
    let address = Address::parse(address).map_err(|why| OpenError::Address { why })?;
    let Opening::Create(_) = opening else { return PostgresStore::open(address, opening) };
    let place = PathBuf::from(address.to_string());
    open_or_create(
        || PostgresStore::open(address.clone(), &Opening::Write),
        || gone(heads, &place),
        || PostgresStore::open(address.clone(), opening),
    )
}

/// Opens a database, or makes it where none is, unless a log was seen there.
fn open_or_create<S>(
    open: impl Fn() -> std::result::Result<S, OpenError>,
    gone: impl Fn() -> Option<OpenError>,
    create: impl Fn() -> std::result::Result<S, OpenError>,
) -> std::result::Result<S, OpenError> {
    match open() {
        Err(OpenError::Missing { .. }) => {}
        Err(hollow @ OpenError::Hollow { .. }) => return Err(gone().unwrap_or(hollow)),
        opened => return opened,
    }
    match gone() {
        None => create(),
        // Another process may have made it between the two looks.
        Some(gone) => match open() {
            Err(OpenError::Missing { .. }) => Err(gone),
            opened => opened,
        },
    }
}

/// Remembers a log that was made just now, so that its loss is noticed even before its first checkpoint.
fn remember_new(
    heads: Option<&HeadFolder>,
    store: &dyn Store,
    opening: &Opening,
) -> std::result::Result<(), String> {
    let (Some(heads), Some(place), Opening::Create(birth)) = (heads, store.place(), opening) else {
        return Ok(());
    };
    let is_new = store.head().is_ok_and(|head| head.origin == birth.origin);
    if !is_new {
        return Ok(());
    }
    // First the log must last: one that a power cut takes would look as if it had been deleted.
    store.sync().map_err(|error| error.to_string())?;
    let first = store.leaf_hashes(0, 1).map_err(|error| error.to_string())?;
    let root = *first.first().ok_or("the new log has no first entry")?;
    let head = SeenHead { size: 1, root, at: birth.timestamp.to_string(), stated: false };
    heads
        .remember(&birth.origin, place, &[head], &[])
        .map_err(|error| format!("the new log was not remembered: {error}"))
}

fn read_from(store: PostgresStore, replica: &str) -> std::result::Result<PostgresStore, OpenError> {
    if !Address::is_one(replica) {
        return Err(OpenError::Replica { why: "it is no address of a server, `postgres://…`".to_string() });
    }
    let address = store.address().of_replica(replica).map_err(|why| OpenError::Replica { why })?;
    store.reading_from(address).map_err(|why| OpenError::Replica { why })
}

/// Metadata is committed to with a salt; without metadata there is nothing to salt.
pub(crate) fn salt_for(metadata: Option<&str>) -> Result<Option<Salt>> {
    if metadata.is_none() {
        return Ok(None);
    }
    new_salt().map(Some)
}

/// Random bytes that keep a commitment from being guessed.
pub(crate) fn new_salt() -> Result<Salt> {
    let mut salt = Salt::default();
    getrandom::fill(&mut salt)
        .map_err(|error| StoreError::Other(format!("the system gave no random numbers: {error}")))?;
    Ok(salt)
}

fn finish(recorded: Result<Recorded>) -> Result<Thought> {
    let Recorded { mut thought, metadata } = recorded?;
    if let Some(text) = metadata {
        let map = serde_json::from_str(&text).map_err(|error| StoreError::Damaged(error.to_string()))?;
        thought.metadata = Some(map);
    }
    Ok(thought)
}
