//! The one writer of a process: everything that waits is written in one transaction, and durable before
//! anyone is answered.
//!
//! Order is made here. What the writer remembers between transactions (the edge of the tree, the heads of
//! tasks and sessions) is true as long as the log is the one it left behind; if another process has appended
//! since, what may have moved is read again.

mod about_log;
mod capture;
mod heads;
mod memory;
mod redact;
mod repeated;
mod review;
mod step;
mod token;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use cairn_core::entry::Salt;
use cairn_core::id::{SessionId, ThoughtId};
use cairn_core::session::SessionState;
use cairn_core::thought::{CheckedThought, Thought};
use tokio::sync::oneshot;

use crate::activity::{Activity, Tally};
use crate::clock::Clock;
use crate::context::ContextHead;
use crate::error::{Error, Result};
use crate::memory::keep;
use crate::proof::Message;
use crate::seal::SealKey;
use crate::store::{Append, BUSY, Need, Needs, StoreError, StoreWriter};
pub(crate) use capture::Capture;
use heads::Heads;
pub(crate) use memory::{Appended, EventRequest, StoreBrief};
pub(crate) use redact::{Blanked, BlankedEvent, RedactEvent, RedactRequest};
pub(crate) use review::ReviewRequest;
use step::Outcome;
pub(crate) use step::Step;

/// The most writes in one transaction.
const MAX_BATCH: usize = 512;
/// After this long without work, the derived tables are caught up.
const IDLE: Duration = Duration::from_millis(150);
/// Entries that the derived tables take in at a time, so that a thought never waits long for them.
const CATCH_UP_ROWS: u64 = 512;
/// Beyond this many uncovered entries they are caught up even while thoughts keep coming, lest the next
/// search wait for minutes of work.
const MAX_BEHIND: u64 = 1 << 16;
/// States that wait to be kept, at most: one that is let go costs the next reader some time.
const MAX_FOLDS: usize = 64;
/// For how long a transaction of which nothing was written, because the connection was lost, is run again.
const AGAIN_FOR: Duration = Duration::from_secs(20);
/// And after which pause.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// How long a writer that has just served at least so many callers waits for them to come back.
const GATHER: Duration = Duration::from_micros(200);
const GATHER_FOR: usize = 4;
/// Where a transaction takes long it waits for this share of it, and no longer than that.
const GATHER_SHARE: u32 = 8;
const GATHER_MOST: Duration = Duration::from_millis(2);

/// A thought to be recorded.
pub(crate) struct Recording {
    pub id: ThoughtId,
    pub thought: CheckedThought,
    pub salt: Option<Salt>,
    pub sealing: Option<Sealing>,
}

/// A recorded thought. The metadata is canonical text: parsing it is not the writer's work.
pub(crate) struct Recorded {
    pub thought: Thought,
    pub metadata: Option<String>,
}

/// The key of a sealed thought, and its content in the clear.
pub(crate) struct Sealing {
    pub key: SealKey,
    pub content: String,
}

/// Something to be written in one transaction with whatever else waits.
trait Write: Send {
    /// What it will ask for, as far as that is known; once. If it is run again, it asks by itself.
    fn needs(&mut self) -> Vec<Need>;
    /// Writes it. An error ends the transaction; one that concerns this write alone is kept for the answer. It may be run
    /// again, if nothing was written the last time.
    fn run(&mut self, step: &mut Step<'_>) -> std::result::Result<(), StoreError>;
    /// The transaction is committed: whoever waits is answered. It may have gone; what it asked for is written.
    fn answer(self: Box<Self>);
    /// Nothing of the transaction was written.
    fn fail(self: Box<Self>, error: &StoreError);
}

/// A write, and the one who waits for it.
struct Waiting<W, T> {
    needs: Vec<Need>,
    work: W,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<W, T> Write for Waiting<W, T>
where
    W: FnMut(&mut Step<'_>) -> Result<T> + Send,
    T: Send,
{
    fn needs(&mut self) -> Vec<Need> {
        std::mem::take(&mut self.needs)
    }

    fn run(&mut self, step: &mut Step<'_>) -> std::result::Result<(), StoreError> {
        match (self.work)(step) {
            Err(Error::Store(error)) => Err(error),
            Err(Error::Busy { .. }) => Err(StoreError::Busy),
            result => {
                self.result = Some(result);
                Ok(())
            }
        }
    }

    fn answer(self: Box<Self>) {
        let _ = self.reply.send(self.result.unwrap_or(Err(StoreError::Stopped.into())));
    }

    fn fail(self: Box<Self>, error: &StoreError) {
        let _ = self.reply.send(Err(error.clone().into()));
    }
}

/// A thought, and the one who waits for it. Nothing of the thought is copied: a transaction that is run again finds it here,
/// and the answer takes it.
struct WaitingThought {
    recording: Recording,
    outcome: Option<Result<Outcome>>,
    reply: oneshot::Sender<Result<Recorded>>,
}

impl Write for WaitingThought {
    fn needs(&mut self) -> Vec<Need> {
        Step::needs_of(&self.recording.thought)
    }

    fn run(&mut self, step: &mut Step<'_>) -> std::result::Result<(), StoreError> {
        self.outcome = Some(match step.record(&self.recording) {
            Err(Error::Store(error)) => return Err(error),
            Err(Error::Busy { .. }) => return Err(StoreError::Busy),
            outcome => outcome,
        });
        Ok(())
    }

    fn answer(self: Box<Self>) {
        let WaitingThought { recording, outcome, reply } = *self;
        let answer = outcome.unwrap_or(Err(StoreError::Stopped.into())).map(|outcome| outcome.of(recording));
        let _ = reply.send(answer);
    }

    fn fail(self: Box<Self>, error: &StoreError) {
        let _ = self.reply.send(Err(error.clone().into()));
    }
}

enum Job {
    Write(Box<dyn Write>),
    /// A write after which the derived tables are caught up at once.
    WriteAndIndex(Box<dyn Write>),
    CatchUp(oneshot::Sender<Result<()>>),
    Rebuild(oneshot::Sender<Result<()>>),
    /// A state to be kept when nothing else is to be done.
    KeepFold(SessionId, Arc<SessionState>, u64),
    /// Somebody asks whether something could be written.
    Probe(SyncSender<Result<()>>),
    /// Answered when everything queued before it is written.
    Drain(oneshot::Sender<Result<()>>),
    Stop,
}

/// Where work for the writer thread is left.
pub(crate) struct Writer {
    jobs: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Why nothing is written any more.
    refused: OnceLock<String>,
    tally: Arc<Tally>,
}

impl Writer {
    /// Starts the thread. `grown` is told how long the log is after each transaction that made it longer.
    pub fn start(store: Box<dyn StoreWriter>, clock: Clock, grown: Sender<Message>) -> Writer {
        let (jobs, queue) = channel();
        let tally = Arc::new(Tally::default());
        let work = Work {
            store,
            clock,
            heads: None,
            leaf: Vec::new(),
            link: Vec::new(),
            behind: 0,
            folds: VecDeque::new(),
            grown,
            came: 0,
            tally: tally.clone(),
        };
        let thread = std::thread::Builder::new().name("cairn-writer".into()).spawn(move || work.run(&queue));
        Writer { jobs, thread: Mutex::new(thread.ok()), refused: OnceLock::new(), tally }
    }

    /// From now on nothing is recorded: the log was found to contradict itself.
    pub fn refuse(&self, why: &str) {
        let _ = self.refused.set(why.to_string());
    }

    /// Why nothing is recorded any more.
    pub fn refusal(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// Queues a thought. If the writer has stopped, the reply is dropped, and the waiting side learns that.
    pub fn record(&self, recording: Recording, reply: oneshot::Sender<Result<Recorded>>) {
        self.queue(Job::Write(Box::new(WaitingThought { recording, outcome: None, reply })));
    }

    /// Writes, and waits until that is durable.
    pub fn write_now<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_with(Vec::new(), work)
    }

    /// The same, for what says before what it will ask for.
    pub fn write_with<T: Send + 'static>(
        &self,
        needs: Vec<Need>,
        work: impl FnMut(&mut Step<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ask(|reply| Job::Write(Box::new(Waiting { needs, work, result: None, reply })))
    }

    /// Makes a snapshot; returns it, and whether it was there already.
    pub fn capture(&self, capture: Capture) -> Result<(ContextHead, bool)> {
        let work = move |step: &mut Step<'_>| step.capture(&capture);
        let waiting = |reply| Waiting { needs: Vec::new(), work, result: None, reply };
        self.ask(|reply| Job::WriteAndIndex(Box::new(waiting(reply))))
    }

    /// Brings the derived tables up to date with everything recorded before this call.
    pub fn catch_up(&self) -> Result<()> {
        self.ask(Job::CatchUp)
    }

    /// Builds the derived tables anew.
    pub fn rebuild(&self) -> Result<()> {
        self.ask(Job::Rebuild)
    }

    /// Has the state of a session kept in the file, when there is nothing else to do.
    pub fn keep_fold(&self, session_id: SessionId, state: Arc<SessionState>, redaction: u64) {
        let _ = self.jobs.send(Job::KeepFold(session_id, state, redaction));
    }

    /// What was written so far.
    pub fn activity(&self) -> Activity {
        self.tally.activity()
    }

    /// Whether something was added to the log.
    pub fn has_grown(&self) -> bool {
        self.tally.has_grown()
    }

    /// Whether something could be written now.
    pub fn probe(&self) -> Result<()> {
        let (reply, answer) = sync_channel(1);
        self.queue(Job::Probe(reply));
        answer.recv_timeout(BUSY).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(StoreError::Busy.into()),
            RecvTimeoutError::Disconnected => Err(StoreError::Stopped.into()),
        })
    }

    fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.queue(job(reply));
        wait(answer).unwrap_or(Err(StoreError::Stopped.into()))
    }

    fn queue(&self, job: Job) {
        let is_write = matches!(job, Job::Write(_) | Job::WriteAndIndex(_));
        if is_write {
            self.tally.queued();
        }
        if self.jobs.send(job).is_err() && is_write {
            self.tally.taken(1);
        }
    }

    /// Waits until everything queued before this call is written, or has failed.
    pub fn drain(&self) {
        // A writer that has ended has nothing queued.
        let _ = self.ask(Job::Drain);
    }

    /// Finishes what is queued and ends the thread.
    pub fn stop(&self) {
        let _ = self.jobs.send(Job::Stop);
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Work {
    store: Box<dyn StoreWriter>,
    clock: Clock,
    heads: Option<Heads>,
    /// Scratch space for the bytes of an entry and of a link.
    leaf: Vec<u8>,
    link: Vec<u8>,
    /// How far the derived tables are behind, as far as is known.
    behind: u64,
    /// States that wait to be kept, each session once.
    folds: VecDeque<(SessionId, Arc<SessionState>, u64)>,
    /// Who makes checkpoints.
    grown: Sender<Message>,
    /// Writes that came while it was under way.
    came: usize,
    tally: Arc<Tally>,
}

/// The effects of a transaction.
struct Written {
    writes: usize,
    /// Whether the log is longer than before.
    grew: bool,
}

impl Work {
    fn run(mut self, queue: &Receiver<Job>) {
        let mut idle_known = false;
        // Who was answered last and who came meanwhile, and how long that took.
        let (mut expected, mut last_took) = (0, Duration::ZERO);
        loop {
            let first = match queue.recv_timeout(if idle_known { Duration::MAX } else { IDLE }) {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    expected = 0;
                    // Nobody waits for this, and whoever needs the index next will catch up and see the error.
                    idle_known = matches!(self.catch_up_once(), Ok(0) | Err(_)) && !self.keep_fold();
                    continue;
                }
            };
            idle_known = false;
            let mut batch = Vec::new();
            let mut others = Vec::new();
            let (mut stop, mut index) = (false, false);
            let mut sort = |job: Job| match job {
                Job::Write(write) => batch.push(write),
                Job::WriteAndIndex(write) => {
                    batch.push(write);
                    index = true;
                }
                Job::Stop => stop = true,
                other => others.push(other),
            };
            sort(first);
            gather(queue, expected, last_took, &mut sort);
            let (served, started) = (batch.len(), Instant::now());
            let mut known = (served > 0).then(|| self.write_all(batch));
            (expected, last_took) = match served {
                0 => (0, Duration::ZERO),
                _ => (served + self.came, started.elapsed()),
            };
            if index {
                // Documents of an older plan are pruned now, even if the program is about to end. An error here is
                // met again, and reported, by the next search.
                let _ = self.catch_up_once();
            }
            for job in others {
                match job {
                    Job::CatchUp(reply) => drop(reply.send(self.catch_up_all())),
                    Job::Rebuild(reply) => {
                        self.folds.clear();
                        let rebuilt = self.store.clear_derived().map_err(Error::from);
                        drop(reply.send(rebuilt.and_then(|()| self.catch_up_all())));
                    }
                    Job::KeepFold(session_id, state, redaction) => {
                        self.await_fold(session_id, state, redaction)
                    }
                    Job::Probe(reply) => {
                        // What was just written, or tried for another who asks, is answer enough.
                        let answer = known.get_or_insert_with(|| self.probe()).clone();
                        drop(reply.send(answer.map_err(Error::from)));
                    }
                    Job::Drain(reply) => drop(reply.send(Ok(()))),
                    Job::Write(_) | Job::WriteAndIndex(_) | Job::Stop => {}
                }
            }
            if stop {
                while self.keep_fold() {}
                return;
            }
            if self.behind > MAX_BEHIND {
                // As above: an error here is met again, and reported, by the next search.
                let _ = self.catch_up_once();
            }
        }
    }

    fn await_fold(&mut self, session_id: SessionId, state: Arc<SessionState>, redaction: u64) {
        self.folds.retain(|(known, ..)| *known != session_id);
        self.folds.push_back((session_id, state, redaction));
        if self.folds.len() > MAX_FOLDS {
            self.folds.pop_front();
        }
    }

    /// Keeps one of the states that wait; false if none does. If it does not work, the events are folded next time.
    fn keep_fold(&mut self) -> bool {
        let Some((session_id, state, redaction)) = self.folds.pop_front() else { return false };
        let _ = keep(&mut *self.store, &session_id, &state, redaction);
        true
    }

    fn catch_up_once(&mut self) -> std::result::Result<u64, StoreError> {
        self.behind = self.store.catch_up(CATCH_UP_ROWS)?;
        Ok(self.behind)
    }

    fn catch_up_all(&mut self) -> Result<()> {
        // Somebody waits: larger chunks cost less a row.
        while self.store.catch_up(8 * CATCH_UP_ROWS)? > 0 {}
        self.behind = 0;
        Ok(())
    }

    fn probe(&mut self) -> std::result::Result<(), StoreError> {
        let failing = self.tally.is_failing();
        self.store.probe(failing)?;
        self.tally.works_again();
        Ok(())
    }

    /// Runs the writes in one transaction, or in several if there is more to write than should go into one.
    fn write_all(&mut self, mut batch: Vec<Box<dyn Write>>) -> std::result::Result<(), StoreError> {
        while !batch.is_empty() {
            let started = Instant::now();
            let committed = self.write_some(&mut batch);
            let ended = committed.as_ref().map_or(batch.len(), |written| written.writes);
            self.tally.taken(ended);
            // Before anyone is answered, who may then come back.
            self.came = self.tally.waiting();
            let ended = batch.drain(..ended);
            match committed {
                Ok(written) => {
                    self.tally.committed(ended.len(), started.elapsed());
                    self.behind += ended.len() as u64;
                    if written.grew {
                        self.tally.grew();
                        let size = self.heads.as_ref().map_or(0, |heads| heads.edge.size());
                        // Before anyone is answered, who may then end the program: what was recorded is stated first. If
                        // nobody makes checkpoints any more, it is about to end.
                        let _ = self.grown.send(Message::Grown(size));
                    }
                    ended.for_each(|write| write.answer());
                }
                Err(error) => {
                    // Nothing of these was written, and what is remembered may be ahead of the log.
                    self.heads = None;
                    self.tally.failed(&error);
                    ended.for_each(|write| write.fail(&error));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Runs the first of the writes in one transaction; again, if the connection was lost and nothing was written. Whoever
    /// waits is told of that only when it lasts. Returns how many that were.
    fn write_some(&mut self, batch: &mut [Box<dyn Write>]) -> std::result::Result<Written, StoreError> {
        let started = Instant::now();
        loop {
            match self.write_once(batch) {
                Err(StoreError::Lost | StoreError::NotWritten) if started.elapsed() < AGAIN_FOR => {
                    // What is remembered may be ahead of the log.
                    self.heads = None;
                    std::thread::sleep(AGAIN_AFTER);
                }
                committed => return committed,
            }
        }
    }

    fn write_once(&mut self, batch: &mut [Box<dyn Write>]) -> std::result::Result<Written, StoreError> {
        let Work { store, clock, heads, leaf, link, .. } = self;
        if let Some(heads) = heads {
            heads.forget_most();
        }
        let needs = match store.reads_ahead() {
            true => Heads::needs(heads.as_ref(), batch.iter_mut().flat_map(|write| write.needs())),
            false => Needs::default(),
        };
        let mut written = Written { writes: 0, grew: false };
        let mut write = |tx: &mut dyn Append| {
            let heads = Heads::current(heads, tx)?;
            let mut step = Step::new(tx, heads, clock, leaf, link);
            written.writes = 0;
            for write in &mut *batch {
                write.run(&mut step)?;
                written.writes += 1;
                if step.is_full() {
                    break;
                }
            }
            written.grew = step.flush()?;
            Ok(())
        };
        catch_unwind(AssertUnwindSafe(|| store.transaction(&needs, &mut write)))
            .unwrap_or_else(|_| Err(StoreError::Other("the recorder failed; nothing was written".into())))?;
        Ok(written)
    }
}

/// Waits for an answer. Unlike `blocking_recv` it may be called, as by a handle that is dropped, on a thread that drives
/// asynchronous work.
fn wait<T>(mut answer: oneshot::Receiver<T>) -> Option<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Unpark>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    loop {
        match Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer.ok(),
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Takes what is queued, and waits a moment for the rest of those who are `expected`: who was just answered is about to come
/// back. That makes one large transaction of what would become a tiny one and a large one, or two of half the size for ever.
fn gather(queue: &Receiver<Job>, expected: usize, last_took: Duration, sort: &mut impl FnMut(Job)) {
    let began = Instant::now();
    let mut taken = 1;
    while taken < MAX_BATCH {
        let job = match queue.try_recv() {
            Ok(job) => job,
            Err(_) if taken >= expected || expected < GATHER_FOR => break,
            // They come within microseconds of each other: a thread that sleeps would be woken for each.
            Err(_) if began.elapsed() < GATHER => {
                std::thread::yield_now();
                continue;
            }
            Err(_) => {
                // Where a transaction takes long, a longer wait costs little.
                let pause = (last_took / GATHER_SHARE).min(GATHER_MOST);
                match queue.recv_timeout(pause.saturating_sub(began.elapsed())) {
                    Ok(job) => job,
                    Err(_) => break,
                }
            }
        };
        sort(job);
        taken += 1;
    }
}
