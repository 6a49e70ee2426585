//! The handle that everything goes through.

use std::future::Future;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};

use cairn_core::Sha;
use cairn_core::entry::Salt;
use cairn_core::id::ThoughtId;
use cairn_core::preview::{ACTION_CHARS, TRAIL_CHARS, TREE_CHARS};
use cairn_core::thought::{Issue, Limits, NewThought, Thought};
use cairn_core::time::Timestamp;
use cairn_core::tree::Summary;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::checked;
use crate::context::Readings;
use crate::error::{Error, OpenError, Result};
use crate::memory::States;
use crate::options::{Clock, Durability, IdSource, Options};
use crate::proof::{
    Checkpoints, Comparison, HeadFolder, Maker, SeenHead, Signer, Standing, canonical, comparison_of, gone,
    refine, refusal,
};
use crate::read::{ActionThought, Filter, Listing, Page};
use crate::roadmap::Roadmaps;
use crate::seal::{Sealed, seal};
use crate::search::{RANKED, SearchHit, SearchQuery, SearchResults, Terms};
use crate::sessions::SessionTallies;
use crate::store::postgres::{Address, PostgresStore};
use crate::store::sqlite::SqliteStore;
use crate::store::{
    Birth, Damage, FoundThought, ListFilter, Opening, Read, ReplicaStatus, SearchScope, Store, StoreError,
    Thoughts,
};
use crate::verify::{self, Outside, Progress, Report, Scope};
use crate::writer::{Recorded, Sealing, Step, Writer};

/// The most records in one page of a listing.
pub(crate) const MAX_PAGE_RECORDS: u64 = 10_000;
/// The most bytes of content and metadata in one page of a listing.
const MAX_PAGE_BYTES: usize = 8 << 20;

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

/// What runs while something is recorded; dropped in this order.
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
        let opening = match (options.read_only, options.create) {
            (true, _) => Opening::Read,
            (false, false) => Opening::Write,
            (false, true) => Opening::Create(Birth {
                origin: format!("cairn/{}", uuid::Uuid::now_v7().simple()),
                timestamp: (options.clock)(),
            }),
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

    /// Records a thought. When this returns, it is on disk.
    pub fn record(&self, thought: NewThought) -> Result<Thought> {
        let (reply, answer) = oneshot::channel();
        self.submit(thought, reply)?;
        finish(answer.blocking_recv().unwrap_or(Err(StoreError::Stopped.into())))
    }

    /// Records a thought without blocking the thread; works on any async runtime.
    ///
    /// The thought is queued at once, in the order of the calls, whether or not the future is awaited.
    pub fn record_async(
        &self,
        thought: NewThought,
    ) -> impl Future<Output = Result<Thought>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let submitted = self.submit(thought, reply);
        async move {
            submitted?;
            finish(answer.await.unwrap_or(Err(StoreError::Stopped.into())))
        }
    }

    fn submit(&self, thought: NewThought, reply: oneshot::Sender<Result<Recorded>>) -> Result<()> {
        let mut thought = thought.check(&self.inner.limits)?;
        let salt = salt_for(thought.metadata.as_deref())?;
        let id = ThoughtId::new((self.inner.ids)())
            .map_err(|error| StoreError::Other(format!("the id source gave an unusable id: it {error}")))?;
        let sealing = match thought.seal {
            false => None,
            true => {
                let Sealed { text, key } = seal(id.as_str(), &thought.content)?;
                thought.content_hash = Sha::of(text.as_bytes());
                Some(Sealing { key, content: std::mem::replace(&mut thought.content, text) })
            }
        };
        let needs = Step::needs_of(&thought);
        // Copies, since a transaction may have to be run again.
        let record =
            move |step: &mut Step<'_>| step.record(id.clone(), thought.clone(), salt, sealing.clone());
        self.writer()?.write(reply, needs, record);
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
                own_keys_to: AtomicU64::new(0),
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

    /// Returns one thought, or none.
    pub fn get(&self, id: &str) -> Result<Option<Thought>> {
        let mut found = None;
        self.visit_thoughts(&Thoughts::Id(id), &mut |read| {
            found = Some(read);
            ControlFlow::Break(())
        })?;
        match found.transpose()? {
            Some(thought) if thought.id.as_str() != id => {
                Err(Damage::at(thought.seq, format!("it is not thought `{id}`")).into())
            }
            found => Ok(found),
        }
    }

    /// Returns the id that begins with `prefix`, if there is exactly one.
    pub fn resolve(&self, prefix: &str) -> Result<ThoughtId> {
        let not_found = || Error::NotFound { what: "thought", id: prefix.to_string() };
        if prefix.is_empty() {
            return Err(not_found());
        }
        let mut found = self.inner.store.ids_with_prefix(prefix, 6)?;
        if let Some(exact) = found.iter().position(|id| id.as_str() == prefix) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            0 => Err(not_found()),
            1 => Ok(found.swap_remove(0)),
            _ => {
                let more = if found.len() > 5 { ", …" } else { "" };
                let ids: Vec<String> = found.iter().take(5).map(|id| id.to_string()).collect();
                let message = format!("`{prefix}` could be any of {}{more}; give more of it", ids.join(", "));
                Err(Error::Invalid(vec![Issue::new("id", message)]))
            }
        }
    }

    /// Lists thoughts in the order in which they were recorded.
    ///
    /// Without a limit everything that matches is returned, up to 10,000 records or 8 MiB; then the page has
    /// a cursor for the next.
    pub fn list(&self, filter: &Filter) -> Result<Page> {
        let after = match &filter.cursor {
            None => None,
            Some(cursor) => Some(
                cursor
                    .parse::<u64>()
                    .map_err(|_| Error::invalid("cursor", "must be the next_cursor of an earlier page"))?,
            ),
        };
        if filter.limit == Some(0) {
            return Err(Error::invalid("limit", "must be at least 1, found 0"));
        }
        let limit = filter.limit.unwrap_or(MAX_PAGE_RECORDS).min(MAX_PAGE_RECORDS) as usize;
        let which = ListFilter {
            task_id: filter.task_id.as_deref(),
            session_id: filter.session_id.as_deref(),
            kind: filter.kind,
            agent_id: filter.agent_id.as_deref(),
            after,
            to: None,
        };
        let mut listing = Listing::default();
        let mut gaps = self.gaps(&which)?;
        let (mut seen, mut bytes, mut last) = (0, 0, None);
        let mut more = false;
        self.visit_thoughts(&Thoughts::Listed(which.clone()), &mut |read| {
            if seen == limit || (bytes > MAX_PAGE_BYTES && seen > 0) {
                more = true;
                return ControlFlow::Break(());
            }
            seen += 1;
            // Hashes, ids and labels come to about 700 bytes in JSON.
            bytes += read.as_ref().map_or(0, |thought| thought.content.len()) + 700;
            let read = read.and_then(|thought| asked_for(&which, thought));
            last = read.as_ref().map_or_else(|damage| damage.seq, |thought| Some(thought.seq)).or(last);
            gaps.see(read.as_ref().ok(), &mut listing.damaged);
            listing.add(read);
            ControlFlow::Continue(())
        })?;
        if !more {
            gaps.end(&mut listing.damaged);
        }
        let next_cursor = last.filter(|_| more).map(|last| last.to_string());
        Ok(Page { records: listing.records, damaged: listing.damaged, next_cursor })
    }

    /// Returns the thoughts of a session in order; [`cairn_core::tree::nest`] makes a tree of them.
    ///
    /// Content is cut to 100 characters unless `include_content` is set.
    pub fn tree(&self, session_id: &str, include_content: bool) -> Result<Listing<Summary>> {
        let chars = if include_content { usize::MAX } else { TREE_CHARS };
        let which = ListFilter { session_id: Some(session_id), ..ListFilter::default() };
        let mut listing = Listing::default();
        let mut gaps = self.gaps(&which)?;
        self.visit_thoughts(&Thoughts::Listed(which.clone()), &mut |read| {
            let read = read.and_then(|thought| asked_for(&which, thought));
            gaps.see(read.as_ref().ok(), &mut listing.damaged);
            listing.add(read.map(|thought| Summary::of(thought, chars)));
            ControlFlow::Continue(())
        })?;
        gaps.end(&mut listing.damaged);
        Ok(listing)
    }

    /// Returns the path from the root of a session to one of its thoughts.
    pub fn trail(&self, id: &str, session_id: Option<&str>) -> Result<Listing<Summary>> {
        let thought = self.get(id)?.ok_or_else(|| Error::NotFound { what: "thought", id: id.to_string() })?;
        if let Some(session_id) = session_id.filter(|given| *given != thought.session_id.as_str()) {
            let message =
                format!("thought `{id}` belongs to session `{}`, not to `{session_id}`", thought.session_id);
            return Err(Error::invalid("session_id", message));
        }
        self.path(&thought)
    }

    /// The path from the root to a thought: each follows from the one before it.
    fn path(&self, to: &Thought) -> Result<Listing<Summary>> {
        let wanted = || format!("a thought of session `{}`", to.session_id);
        let asked = |thought: &Thought| thought.session_id == to.session_id;
        let path = self.thoughts(&Thoughts::PathTo(to.id.as_str()), wanted, asked)?;
        let mut listing = Listing { records: Vec::with_capacity(path.records.len()), damaged: path.damaged };
        let mut before: Option<ThoughtId> = None;
        for thought in path.records {
            // After a damaged thought nobody knows its id.
            if thought.parent_id != before && listing.damaged.is_empty() {
                let what = "the thought it follows from is not the one before it on its path";
                listing.damaged.push(Damage::at(thought.seq, what));
            }
            before = Some(thought.id.clone());
            listing.records.push(Summary::of(thought, TRAIL_CHARS));
        }
        Ok(listing)
    }

    /// Returns the thoughts that led to an action.
    pub fn for_action(&self, action_id: &str) -> Result<Listing<ActionThought>> {
        let short = |thought: Thought| ActionThought {
            session_id: thought.session_id.clone(),
            thought: Summary::of(thought, ACTION_CHARS),
        };
        Ok(self.led_to(action_id)?.map(short))
    }

    /// Returns, for each thought that led to an action, the path from its root to it.
    pub fn reasoning_trail(&self, action_id: &str) -> Result<Listing<Vec<Summary>>> {
        let led_to = self.led_to(action_id)?;
        let mut trails = Listing { records: Vec::new(), damaged: led_to.damaged };
        for thought in &led_to.records {
            let Listing { records, damaged } = self.path(thought)?;
            trails.records.push(records);
            trails.damaged.extend(damaged);
        }
        Ok(trails)
    }

    fn led_to(&self, action_id: &str) -> Result<Listing<Thought>> {
        let behind = self.catch_up_if_possible()?;
        let wanted = || format!("a thought that led to action `{action_id}`");
        let asked = |thought: &Thought| thought.action_id.as_ref().is_some_and(|id| id.as_str() == action_id);
        let mut found = self.thoughts(&Thoughts::Action(action_id), wanted, asked)?;
        if behind > 0 {
            // The list of actions does not cover the newest thoughts, so those are looked at one by one.
            let after = Some(self.inner.store.derived_through()?);
            let newer = Thoughts::Listed(ListFilter { after, ..ListFilter::default() });
            self.visit_thoughts(&newer, &mut |read| {
                if read.as_ref().map_or(true, asked) {
                    found.add(read);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(found)
    }

    /// Searches content and metadata, best match first.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResults> {
        let terms = Terms::parse(&query.query)?;
        let limit = query.limit.unwrap_or(20);
        if !(1..=100).contains(&limit) {
            return Err(Error::invalid("limit", format!("must be between 1 and 100, found {limit}")));
        }
        let not_covered = self.catch_up_if_possible()?;
        let scope = SearchScope {
            session_id: query.session_id.as_deref(),
            task_id: query.task_id.as_deref(),
            kind: query.kind,
        };
        let (found, more) = self.inner.store.search(&terms, &scope, limit as usize, RANKED)?;
        let which = ListFilter {
            session_id: scope.session_id,
            task_id: scope.task_id,
            kind: scope.kind,
            ..ListFilter::default()
        };
        let (mut results, mut damaged, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        for FoundThought { read, rank, snippet } in found {
            let read = read.and_then(|read| asked_for(&which, checked::thought(read, &mut buffer)?));
            match read.map(|thought| self.opened(thought)) {
                Ok(opened) => match opened? {
                    Ok(thought) => results.push(SearchHit { thought, rank, snippet }),
                    Err(damage) => damaged.push(damage),
                },
                Err(damage) => damaged.push(damage),
            }
        }
        Ok(SearchResults { results, damaged, ranked_newest: more.then_some(RANKED as u64), not_covered })
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
        mut outside: Outside,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Report> {
        let unread = match self.add_remembered(&mut outside) {
            // A log whose name cannot be read: that is for the report to say.
            Err(Error::Store(StoreError::Damaged(_))) => None,
            other => other?,
        };
        let mut report = verify::verify(&*self.inner.store, scope, &outside, progress)?;
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

    /// The time, by the clock that this handle was opened with.
    pub fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    /// Waits until everything accepted is on disk. Dropping the last clone does the same.
    pub fn close(self) {
        if let Some(Ok(running)) = self.inner.running.get() {
            running.checkpoints.stop();
            running.writer.stop();
        }
    }
}

/// Whether a thought is one that a filter asks for.
fn asked_for(which: &ListFilter<'_>, thought: Thought) -> Read<Thought> {
    let other =
        |what: &str, name: &str| Err(Damage::at(thought.seq, format!("it is not of {what} `{name}`")));
    match which {
        ListFilter { session_id: Some(session), .. } if *session != thought.session_id.as_str() => {
            other("session", session)
        }
        ListFilter { task_id: Some(task), .. } if *task != thought.task_id.as_str() => other("task", task),
        ListFilter { kind: Some(kind), .. } if *kind != thought.kind => other("type", kind.as_str()),
        ListFilter { agent_id: Some(agent), .. } if *agent != thought.agent_id.as_str() => {
            other("agent", agent)
        }
        _ => Ok(thought),
    }
}

fn open_file(
    path: PathBuf,
    durability: Durability,
    opening: &Opening,
    heads: Option<&HeadFolder>,
) -> std::result::Result<SqliteStore, OpenError> {
    let Opening::Create(_) = opening else { return SqliteStore::open(path, durability, opening) };
    open_or_create(
        || SqliteStore::open(path.clone(), durability, &Opening::Write),
        || gone(heads, &canonical(&path)),
        || SqliteStore::open(path.clone(), durability, opening),
    )
}

/// Opens a database that is there, in a file or on a server.
pub(crate) fn open_existing(
    path: &Path,
    durability: Durability,
) -> std::result::Result<Arc<dyn Store>, OpenError> {
    match Address::in_path(path)? {
        Some(text) => Ok(Arc::new(open_server(text, &Opening::Write, None)?)),
        None => Ok(Arc::new(SqliteStore::open(path.to_path_buf(), durability, &Opening::Write)?)),
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
    let root = store.node(0, 0).map_err(|error| error.to_string())?;
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
    let mut salt = Salt::default();
    getrandom::fill(&mut salt)
        .map_err(|error| StoreError::Other(format!("the system gave no random numbers: {error}")))?;
    Ok(Some(salt))
}

fn finish(recorded: Result<Recorded>) -> Result<Thought> {
    let Recorded { mut thought, metadata } = recorded?;
    if let Some(text) = metadata {
        let map = serde_json::from_str(&text).map_err(|error| StoreError::Damaged(error.to_string()))?;
        thought.metadata = Some(map);
    }
    Ok(thought)
}
