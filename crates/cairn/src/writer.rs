//! The one writer of a process: everything that waits is written in one transaction, and durable before
//! anyone is answered.
//!
//! Order is made here. What the writer remembers between transactions (the edge of the tree, the heads of
//! tasks and sessions) is true as long as the log has the size it left behind; if another process has
//! appended since, all of it is read again.

mod capture;
mod step;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cairn_core::entry::Salt;
use cairn_core::id::ThoughtId;
use cairn_core::thought::{CheckedThought, Thought};
use tokio::sync::oneshot;

use crate::context::ContextHead;
use crate::error::{Error, Result};
use crate::options::Clock;
use crate::store::{Append, StoreError, StoreWriter};
pub(crate) use capture::Capture;
use step::{Heads, Step};

/// The most thoughts and snapshots in one transaction.
const MAX_BATCH: usize = 512;
/// After this long without work, the derived tables are caught up.
const IDLE: Duration = Duration::from_millis(150);
/// Entries that the derived tables take in at a time, so that a thought never waits long for them.
const CATCH_UP_ROWS: u64 = 512;
/// Beyond this many uncovered entries they are caught up even while thoughts keep coming, lest the next
/// search wait for minutes of work.
const MAX_BEHIND: u64 = 1 << 16;
/// How long a writer that has just served many callers waits for them to come back.
const GATHER: Duration = Duration::from_micros(200);

/// A thought that is fit to record, with its salt and the one who waits for it.
pub(crate) struct Request {
    pub id: ThoughtId,
    pub thought: CheckedThought,
    pub salt: Option<Salt>,
    pub reply: oneshot::Sender<Result<Recorded>>,
}

/// What was recorded; the metadata as canonical text, since parsing it is not the writer's work.
pub(crate) struct Recorded {
    pub thought: Thought,
    pub metadata: Option<String>,
}

/// A snapshot to be made, and the one who waits for it.
struct CaptureRequest {
    capture: Capture,
    reply: oneshot::Sender<Result<(ContextHead, bool)>>,
}

/// What is written in one transaction with whatever else waits.
enum Write {
    Thought(Box<Request>),
    Snapshot(Box<CaptureRequest>),
}

/// Who waits for the commit, and the answer.
#[expect(
    clippy::large_enum_variant,
    reason = "almost all are thoughts, and boxing them would cost each a malloc"
)]
enum Done {
    Thought(oneshot::Sender<Result<Recorded>>, Result<Recorded>),
    Snapshot(oneshot::Sender<Result<(ContextHead, bool)>>, Result<(ContextHead, bool)>),
}

impl Done {
    /// The caller may have gone; what it asked for is recorded all the same.
    fn send(self) {
        match self {
            Done::Thought(reply, result) => drop(reply.send(result)),
            Done::Snapshot(reply, result) => drop(reply.send(result)),
        }
    }

    /// Nothing of the transaction was written.
    fn fail(self, error: &StoreError) {
        match self {
            Done::Thought(reply, _) => drop(reply.send(Err(error.clone().into()))),
            Done::Snapshot(reply, _) => drop(reply.send(Err(error.clone().into()))),
        }
    }
}

enum Job {
    Write(Write),
    CatchUp(oneshot::Sender<Result<()>>),
    Rebuild(oneshot::Sender<Result<()>>),
    Stop,
}

/// Where work for the writer thread is left.
pub(crate) struct Writer {
    jobs: Sender<Job>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(store: Box<dyn StoreWriter>, clock: Clock) -> Writer {
        let (jobs, queue) = channel();
        let work = move || {
            Work { store, clock, heads: None, leaf: Vec::new(), link: Vec::new(), behind: 0 }.run(&queue)
        };
        let thread = std::thread::Builder::new().name("cairn-writer".into()).spawn(work);
        Writer { jobs, thread: Mutex::new(thread.ok()) }
    }

    /// Queues a thought. If the writer has stopped, the reply is dropped, and the waiting side learns that.
    pub fn record(&self, request: Box<Request>) {
        let _ = self.jobs.send(Job::Write(Write::Thought(request)));
    }

    /// Makes a snapshot; returns it, and whether it was there already.
    pub fn capture(&self, capture: Capture) -> Result<(ContextHead, bool)> {
        self.ask(|reply| Job::Write(Write::Snapshot(Box::new(CaptureRequest { capture, reply }))))
    }

    /// Brings the derived tables up to date with everything recorded before this call.
    pub fn catch_up(&self) -> Result<()> {
        self.ask(Job::CatchUp)
    }

    /// Builds the derived tables anew.
    pub fn rebuild(&self) -> Result<()> {
        self.ask(Job::Rebuild)
    }

    fn ask<T>(&self, job: impl FnOnce(oneshot::Sender<Result<T>>) -> Job) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let _ = self.jobs.send(job(reply));
        answer.blocking_recv().unwrap_or(Err(StoreError::Stopped.into()))
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
}

impl Work {
    fn run(mut self, queue: &Receiver<Job>) {
        let mut idle_known = false;
        let mut last_batch = 0;
        loop {
            let first = match queue.recv_timeout(if idle_known { Duration::MAX } else { IDLE }) {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    // Nobody waits for this, and whoever needs the index next will catch up and see the error.
                    idle_known = matches!(self.catch_up_once(), Ok(0) | Err(_));
                    continue;
                }
            };
            idle_known = false;
            let mut batch = Vec::new();
            let mut others = Vec::new();
            let mut stop = false;
            let mut sort = |job: Job| match job {
                Job::Write(write) => batch.push(write),
                Job::Stop => stop = true,
                other => others.push(other),
            };
            sort(first);
            gather(queue, last_batch, &mut sort);
            last_batch = batch.len();
            let snapshots = batch.iter().any(|write| matches!(write, Write::Snapshot(_)));
            if !batch.is_empty() {
                self.write_all(batch);
            }
            if snapshots {
                // Documents of an older plan are pruned now, even if the program is about to end. An error here is
                // met again, and reported, by the next search.
                let _ = self.catch_up_once();
            }
            for job in others {
                match job {
                    Job::CatchUp(reply) => drop(reply.send(self.catch_up_all())),
                    Job::Rebuild(reply) => {
                        let rebuilt = self.store.clear_derived().map_err(Error::from);
                        drop(reply.send(rebuilt.and_then(|()| self.catch_up_all())));
                    }
                    Job::Write(_) | Job::Stop => {}
                }
            }
            if stop {
                return;
            }
            if self.behind > MAX_BEHIND {
                // As above: an error here is met again, and reported, by the next search.
                let _ = self.catch_up_once();
            }
        }
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

    fn write_all(&mut self, batch: Vec<Write>) {
        let count = batch.len() as u64;
        let mut done: Vec<Done> = Vec::with_capacity(batch.len());
        let mut batch = batch.into_iter();
        let Work { store, clock, heads, leaf, link, .. } = self;
        let mut write = |tx: &mut dyn Append| {
            let heads = Heads::current(heads, tx)?;
            let mut step = Step::new(tx, heads, clock, leaf, link);
            for write in batch.by_ref() {
                match write {
                    // Whoever waits is noted first, so that even a panic leaves nobody without an answer.
                    Write::Thought(request) => {
                        let Request { id, thought, salt, reply } = *request;
                        done.push(Done::Thought(reply, Err(StoreError::Stopped.into())));
                        let result = step.record(id, thought, salt);
                        fatal(&result)?;
                        if let Some(Done::Thought(_, answer)) = done.last_mut() {
                            *answer = result;
                        }
                    }
                    Write::Snapshot(request) => {
                        let CaptureRequest { capture, reply } = *request;
                        done.push(Done::Snapshot(reply, Err(StoreError::Stopped.into())));
                        let result = step.capture(&capture);
                        fatal(&result)?;
                        if let Some(Done::Snapshot(_, answer)) = done.last_mut() {
                            *answer = result;
                        }
                    }
                }
            }
            step.flush()
        };
        let committed = catch_unwind(AssertUnwindSafe(|| store.transaction(&mut write)))
            .unwrap_or_else(|_| Err(StoreError::Other("the recorder failed; nothing was written".into())));
        match committed {
            Ok(()) => {
                self.behind += count;
                done.into_iter().for_each(Done::send);
            }
            Err(error) => {
                // Nothing of this batch was written, and what is remembered may be ahead of the log.
                self.heads = None;
                done.into_iter().for_each(|done| done.fail(&error));
                for write in batch {
                    match write {
                        Write::Thought(request) => drop(request.reply.send(Err(error.clone().into()))),
                        Write::Snapshot(request) => drop(request.reply.send(Err(error.clone().into()))),
                    }
                }
            }
        }
    }
}

/// An error that ends the transaction, not only the call that met it.
fn fatal<T>(result: &Result<T>) -> std::result::Result<(), StoreError> {
    match result {
        Err(Error::Store(error)) => Err(error.clone()),
        Err(Error::Busy { .. }) => Err(StoreError::Busy),
        _ => Ok(()),
    }
}

/// Takes what is queued. After a large batch most callers are about to come back: waiting a moment for them
/// makes one large transaction of what would become a tiny one and a large one.
fn gather(queue: &Receiver<Job>, last_batch: usize, sort: &mut impl FnMut(Job)) {
    let mut taken = 1;
    let deadline = Instant::now() + GATHER;
    while taken < MAX_BATCH {
        match queue.try_recv() {
            Ok(job) => sort(job),
            Err(_) if taken * 2 < last_batch && Instant::now() < deadline => {
                std::thread::yield_now();
                continue;
            }
            Err(_) => return,
        }
        taken += 1;
    }
}
