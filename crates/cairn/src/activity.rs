//! How the writing of this program goes: for people who watch it, and for those who decide whether to send it work.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use crate::error::Result;
use crate::handle::Cairn;
use crate::store::StoreError;

/// What the writer of one handle has done since it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Writes that wait to be committed.
    pub queued: u64,
    /// Committed transactions.
    pub commits: u64,
    /// Writes in them.
    pub committed_writes: u64,
    /// Transactions of which nothing was written.
    pub failed_commits: u64,
    /// Microseconds spent in committed transactions, all together.
    pub commit_micros: u64,
    /// The most writes in one committed transaction.
    pub largest_batch: u64,
    /// Why the last transaction that failed did.
    pub last_failure: Option<String>,
}

/// Where the writer keeps count. Everything that a successful write touches is an atomic: nobody ever waits here.
#[derive(Default)]
pub(crate) struct Tally {
    queued: AtomicU64,
    commits: AtomicU64,
    writes: AtomicU64,
    failed: AtomicU64,
    micros: AtomicU64,
    largest: AtomicU64,
    /// Whether something was added to the log.
    grown: AtomicBool,
    /// Whether the last transaction failed.
    failing: AtomicBool,
    failure: Mutex<Option<StoreError>>,
}

impl Tally {
    /// Something was added to the log.
    pub fn grew(&self) {
        self.grown.store(true, Ordering::Relaxed);
    }

    /// Whether something was added to the log.
    pub fn has_grown(&self) -> bool {
        self.grown.load(Ordering::Relaxed)
    }

    /// One more write waits.
    pub fn queued(&self) {
        self.queued.fetch_add(1, Ordering::Relaxed);
    }

    /// So many writes wait no longer.
    pub fn taken(&self, writes: usize) {
        self.queued.fetch_sub(writes as u64, Ordering::Relaxed);
    }

    /// Writes that wait.
    pub fn waiting(&self) -> usize {
        self.queued.load(Ordering::Relaxed) as usize
    }

    /// A transaction was committed.
    pub fn committed(&self, writes: usize, took: Duration) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(writes as u64, Ordering::Relaxed);
        self.micros.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
        self.largest.fetch_max(writes as u64, Ordering::Relaxed);
        self.works_again();
    }

    /// A transaction failed.
    pub fn failed(&self, error: &StoreError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut failure) = self.failure.lock() {
            *failure = Some(error.clone());
        }
        self.failing.store(true, Ordering::Relaxed);
    }

    /// Something was written after all.
    pub fn works_again(&self) {
        self.failing.store(false, Ordering::Relaxed);
    }

    /// Whether the last transaction failed.
    pub fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// The counts as they are now.
    pub fn activity(&self) -> Activity {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let failure = self.failure.lock().ok().and_then(|failure| failure.clone());
        Activity {
            queued: read(&self.queued),
            commits: read(&self.commits),
            committed_writes: read(&self.writes),
            failed_commits: read(&self.failed),
            commit_micros: read(&self.micros),
            largest_batch: read(&self.largest),
            last_failure: failure.map(|error| error.to_string()),
        }
    }
}

impl Cairn {
    /// What this handle's writer has done since it was opened; zeros if nothing was written yet.
    pub fn activity(&self) -> Activity {
        match self.inner.running.get() {
            Some(Ok(running)) => running.writer.activity(),
            _ => Activity::default(),
        }
    }

    /// Whether something could be recorded now: the writer begins a transaction and takes it back. If the last one
    /// failed, it commits one that leaves every value as it was, since a full disk is noticed no earlier.
    ///
    /// Takes no longer than a write waits for other processes, one minute; then it is busy.
    pub fn ready_to_write(&self) -> Result<()> {
        self.writer()?.probe()
    }
}
