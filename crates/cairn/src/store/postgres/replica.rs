//! A copy of the database that follows it, to read from.
//!
//! A replica is a little behind. Whoever calls must not notice of their own records, so a read goes there only if the
//! replica has every entry that this process has written or seen; else it goes to the database itself, as it does when the
//! replica does not answer. How far the log is elsewhere is asked once a second, so that what other servers recorded is
//! missed no longer than that. What is not counted by the log's size is never read there: tokens, checkpoints, and what
//! verification is about. The derived tables are, if they cover as much.
//!
//! A replica that holds another log would be asked in vain at best. So of each connection it is found out first whether
//! the log there is the beginning of this one, by the nodes of the tree at its edge.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::address::Address;
use super::connect::{Link, Pool};
use super::row::{get, number, wrong_form};
use super::{Result, read};
use crate::store::{ReplicaState, ReplicaStatus, StoreError};

/// How long a replica that did not answer is left alone.
const REST: Duration = Duration::from_secs(5);
/// How long a read waits for a connection to it.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is asked how far the log is.
const FRESH: Duration = Duration::from_secs(1);

pub struct Replica {
    pool: Pool,
    /// When it was last asked how far the log is.
    asked: Mutex<Option<Instant>>,
    standing: Mutex<Standing>,
    reads: AtomicU64,
    passed: AtomicU64,
}

struct Standing {
    state: ReplicaState,
    /// Until when it is left alone.
    rests: Option<Instant>,
}

/// What a read needs of the replica.
#[derive(Clone, Copy, PartialEq)]
pub enum Needs {
    /// Entries, and what was written with them.
    Entries,
    /// The search index and the list of actions as well.
    Derived,
}

/// How a replica stands to the database.
pub enum Kinship {
    /// Its log is the beginning of this one, so long.
    Copy(u64),
    /// It is another log, or has another past.
    Another(String),
}

impl Replica {
    pub fn new(address: Address) -> Replica {
        Replica {
            pool: Pool::new(address),
            asked: Mutex::default(),
            standing: Mutex::new(Standing { state: ReplicaState::Unreachable, rests: None }),
            reads: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Connects for the first time. One that does not answer may do so later; one that is something else never will be.
    pub async fn greet(&self, primary: &Pool) -> std::result::Result<(), String> {
        let link = match self.pool.open_at_once().await {
            Ok(link) => link,
            Err(error) if error.is_passing() => {
                self.leave_alone();
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        let of = primary.take().await.map_err(|error| error.to_string())?;
        match kinship(&link, &of).await {
            Ok(Kinship::Copy(_)) => {
                self.set(ReplicaState::Used);
                Ok(())
            }
            Ok(Kinship::Another(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A connection to read on, if the replica is far enough for that.
    pub async fn link(&self, primary: &Pool, needs: Needs) -> Option<Link> {
        {
            let mut standing = self.standing.lock().ok()?;
            match standing.rests {
                Some(until) if until > Instant::now() => return None,
                // One finds out whether it is back; the others do not wait for that.
                Some(_) => standing.rests = Some(Instant::now() + REST),
                None => {}
            }
        }
        let Ok(Ok(link)) = timeout(PATIENCE, self.pool.take()).await else {
            self.leave_alone();
            return None;
        };
        self.ask_how_far(primary).await;
        match self.is_far_enough(&link, primary, needs).await {
            Ok(true) => {
                self.set(ReplicaState::Used);
                Some(link)
            }
            Ok(false) => None,
            Err(error) => {
                self.failed(link, &error);
                None
            }
        }
    }

    async fn is_far_enough(&self, link: &Link, primary: &Pool, needs: Needs) -> Result<bool> {
        if link.reached().load(Ordering::Relaxed) == 0 {
            match kinship(link, &primary.take().await?).await? {
                Kinship::Copy(size) => link.reached().store(size, Ordering::Relaxed),
                Kinship::Another(_) => {
                    self.leave_alone();
                    self.set(ReplicaState::AnotherLog);
                    return Ok(false);
                }
            }
        }
        let wanted = primary.seen().load(Ordering::Relaxed);
        // A server's log only grows; its derived tables may be built anew.
        if needs == Needs::Derived || link.reached().load(Ordering::Relaxed) < wanted {
            let row = link.one("SELECT size, (SELECT through FROM derived) FROM log", &[]).await?;
            let row = row.ok_or_else(wrong_form)?;
            let (size, through) = (number(&row, 0)?, number(&row, 1)?);
            link.reached().store(size, Ordering::Relaxed);
            if size < wanted || (needs == Needs::Derived && through + 1 < wanted) {
                self.set(ReplicaState::Behind);
                return Ok(false);
            }
        }
        // What was shown once is there from now on, whichever replica is asked next.
        primary.seen().fetch_max(link.reached().load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(true)
    }

    /// Finds out how far the log is, once in a while. If nobody can say, the replica is all there is to read from.
    async fn ask_how_far(&self, primary: &Pool) {
        let due = {
            let Ok(mut asked) = self.asked.lock() else { return };
            let due = asked.is_none_or(|asked| asked.elapsed() >= FRESH);
            if due {
                *asked = Some(Instant::now());
            }
            due
        };
        if due && let Ok(link) = primary.take().await {
            see(primary, &link).await;
        }
    }

    /// Notes that a read was answered.
    pub fn answered(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a read went to the database itself.
    pub fn passed_over(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that a read failed; the database itself is asked instead. One that is too much for a replica (it ends reads
    /// that stand in the way of what it has to follow) says nothing about the next.
    pub fn failed(&self, link: Link, error: &StoreError) {
        link.give_up();
        if matches!(error, StoreError::Lost | StoreError::Unreachable) {
            self.leave_alone();
        }
    }

    fn leave_alone(&self) {
        if let Ok(mut standing) = self.standing.lock() {
            *standing = Standing { state: ReplicaState::Unreachable, rests: Some(Instant::now() + REST) };
        }
        self.pool.lost();
    }

    fn set(&self, state: ReplicaState) {
        if let Ok(mut standing) = self.standing.lock() {
            standing.state = state;
            if matches!(state, ReplicaState::Used | ReplicaState::Behind) {
                standing.rests = None;
            }
        }
    }

    pub fn status(&self) -> ReplicaStatus {
        ReplicaStatus {
            address: self.pool.address().to_string(),
            state: self.standing.lock().map_or(ReplicaState::Unreachable, |standing| standing.state),
            reads: self.reads.load(Ordering::Relaxed),
            passed_over: self.passed.load(Ordering::Relaxed),
        }
    }
}

/// Notes how far the log is. If that cannot be read, whoever asked finds out.
pub async fn see(primary: &Pool, link: &Link) {
    if let Ok(Some(row)) = link.one("SELECT size FROM log", &[]).await
        && let Ok(size) = number(&row, 0)
    {
        primary.seen().fetch_max(size, Ordering::Relaxed);
    }
}

/// Whether the log on one connection is the beginning of that on another: the same name, and the same nodes over all that
/// the first one has.
async fn kinship(replica: &Link, primary: &Link) -> Result<Kinship> {
    let head = "SELECT size, origin FROM log";
    let missing = || Kinship::Another("there is no log in it".to_string());
    // First the replica: the other one may grow meanwhile.
    let there = match replica.one(head, &[]).await {
        Ok(Some(row)) => row,
        Ok(None) | Err(StoreError::Damaged(_)) => return Ok(missing()),
        Err(error) => return Err(error),
    };
    let here = primary.one(head, &[]).await?.ok_or_else(wrong_form)?;
    let (size, origin): (u64, String) = (number(&there, 0)?, get(&there, 1)?);
    let (longest, own): (u64, String) = (number(&here, 0)?, get(&here, 1)?);
    if origin != own {
        return Ok(Kinship::Another(format!("it holds another log, `{origin}` and not `{own}`")));
    }
    if size > longest || read::root_at(replica, size).await? != read::root_at(primary, size).await? {
        return Ok(Kinship::Another("it holds another past of this log".to_string()));
    }
    Ok(Kinship::Copy(size))
}
