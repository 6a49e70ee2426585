//! The connections to the database: how many there are, who gets one, and what becomes of one that was lost.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::Result;
use super::address::{Address, Opened};
use super::error::{overloaded, store_error};
use crate::store::StoreError;

/// Values of a query.
pub type Values<'a> = [&'a (dyn ToSql + Sync)];

/// A query and its values.
pub type Query<'a> = (&'a str, &'a Values<'a>);

/// Connections of one process. More would not be faster, and a server has only so many.
const MOST_LINKS: usize = 16;
/// How long a call waits for a connection, for others' locks and for a server that is away, before it gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long a statement may take; longer than it may wait for a lock, so that a lock is named as what it waited for.
pub const STATEMENT: Duration = Duration::from_secs(22);
/// How long an answer is waited for. The server gives up first, unless it is frozen or the way to it is cut.
pub const ANSWER: Duration = Duration::from_secs(25);
/// Between two attempts to reach a server that does not answer.
pub const AGAIN: Duration = Duration::from_millis(200);

/// Connections, lent out in the order in which they are asked for.
pub struct Pool {
    address: Address,
    idle: Arc<Mutex<Idle>>,
    turns: Arc<Semaphore>,
    away: Mutex<Option<Away>>,
    /// The most entries that this process knows the log to have.
    seen: AtomicU64,
}

/// Connections that wait to be lent out.
#[derive(Default)]
struct Idle {
    sessions: VecDeque<Session>,
    /// Grows when a connection was lost: those that were opened before may lead to a server that is no longer the one.
    generation: u64,
}

/// Since when no connection could be made, and when that was last tried.
#[derive(Clone, Copy)]
struct Away {
    since: Instant,
    last: Instant,
}

/// A connection and the statements that were prepared on it.
struct Session {
    client: Client,
    warned: Arc<AtomicBool>,
    statements: Mutex<HashMap<String, Statement>>,
    generation: u64,
    /// Entries that the log on a replica is known to have; 0 until it is known to be the same log.
    reached: AtomicU64,
}

impl Pool {
    pub fn new(address: Address) -> Pool {
        Pool {
            address,
            idle: Arc::default(),
            turns: Arc::new(Semaphore::new(MOST_LINKS)),
            away: Mutex::default(),
            seen: AtomicU64::new(0),
        }
    }

    /// The most entries that this process has written to the log, or seen in it.
    pub fn seen(&self) -> &AtomicU64 {
        &self.seen
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Runs what may run twice: once more on a new connection, if the first was lost meanwhile.
    pub async fn run<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        let link = self.take().await?;
        match work(&link).await {
            Err(StoreError::Lost) => link.give_up(),
            Err(error) => {
                // A transaction may be open on it, or an answer still be on its way.
                link.give_up();
                return Err(error);
            }
            done => return done,
        }
        self.lost();
        let link = self.take().await?;
        let done = work(&link).await;
        if done.is_err() {
            link.give_up();
        }
        done
    }

    /// Lends a connection out; waits its turn if all are lent, and for a server that is away.
    pub async fn take(&self) -> Result<Link> {
        let turn = timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| overloaded("every connection to the database was in use"))?;
        let turn = turn.map_err(|_| StoreError::Stopped)?;
        loop {
            let waiting = self.idle().sessions.pop_front();
            let session = match waiting {
                Some(session) if session.client.is_closed() => continue,
                Some(session) => session,
                None => self.reach().await?,
            };
            return Ok(Link::new(session, self.idle.clone(), Some(turn)));
        }
    }

    /// Opens a connection that is not shared; waits for a server that is away.
    pub async fn open(&self) -> Result<Link> {
        Ok(Link::new(self.reach().await?, Arc::default(), None))
    }

    /// The same, without waiting for a server where none answers. One that answers, and has no time yet, is waited for.
    pub async fn open_now(&self) -> Result<Link> {
        let session = match self.connect().await {
            Err(error) if is_passing(&error) && error != StoreError::Unreachable => self.reach().await?,
            connected => connected?,
        };
        Ok(Link::new(session, Arc::default(), None))
    }

    /// The same, tried once.
    pub async fn open_at_once(&self) -> Result<Link> {
        Ok(Link::new(self.connect().await?, Arc::default(), None))
    }

    /// A connection was lost: those that wait here may be as well, and another server may have taken over.
    pub fn lost(&self) {
        let mut idle = self.idle();
        idle.sessions.clear();
        idle.generation += 1;
        self.address.pass_on();
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        lock(&self.idle)
    }

    async fn connect(&self) -> Result<Session> {
        let generation = self.idle().generation;
        match self.address.connect().await {
            Ok(Opened { client, warned }) => {
                *lock(&self.away) = None;
                let reached = AtomicU64::new(0);
                Ok(Session { client, warned, statements: Mutex::default(), generation, reached })
            }
            Err(error) => {
                let (now, mut away) = (Instant::now(), lock(&self.away));
                let known = away.filter(|known| now - known.last < PATIENCE);
                *away = Some(Away { since: known.map_or(now, |known| known.since), last: now });
                Err(error)
            }
        }
    }

    /// Connects, and waits for a server that is away or has no place left: while one takes over from another, that passes.
    /// Whoever comes when it has been waited for in vain is told at once, until it is back.
    async fn reach(&self) -> Result<Session> {
        loop {
            match self.connect().await {
                Err(error) if is_passing(&error) => {
                    let since = lock(&self.away).map(|away| away.since.elapsed());
                    if since.is_some_and(|since| since >= PATIENCE) {
                        return Err(error);
                    }
                }
                connected => return connected,
            }
            sleep(AGAIN).await;
        }
    }
}

/// Whether a connection that was not made now may be made soon.
fn is_passing(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Unreachable | StoreError::Lost | StoreError::NoPrimary | StoreError::Overloaded { .. }
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits for an answer, for as long as a call can wait. Whoever is told that it took too long must give the connection up:
/// the answer may still come.
pub async fn in_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(ANSWER, work).await.unwrap_or_else(|_| Err(overloaded("the database server did not answer")))
}

/// The same, for what the driver answers.
pub async fn answered<T>(
    work: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
) -> Result<T> {
    in_time(async { work.await.map_err(store_error) }).await
}

/// A connection that is lent out. Dropped, it goes back.
pub struct Link {
    session: Option<Session>,
    idle: Arc<Mutex<Idle>>,
    /// What it does now takes as long as it takes.
    unhurried: AtomicBool,
    _turn: Option<OwnedSemaphorePermit>,
}

impl Link {
    fn new(session: Session, idle: Arc<Mutex<Idle>>, turn: Option<OwnedSemaphorePermit>) -> Link {
        Link { session: Some(session), idle, unhurried: AtomicBool::new(false), _turn: turn }
    }

    /// From now on its answers are waited for however long they take.
    pub fn unhurried(self) -> Link {
        self.unhurried.store(true, Ordering::Relaxed);
        self
    }

    async fn answer<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        match self.unhurried.load(Ordering::Relaxed) {
            true => work.await.map_err(store_error),
            false => answered(work).await,
        }
    }

    /// Whether the server has warned of something since this was last asked. A commit that was told not to wait for a
    /// standby any more ends with a warning alone.
    pub fn take_warning(&self) -> bool {
        self.session().warned.swap(false, Ordering::Acquire)
    }

    fn session(&self) -> &Session {
        self.session.as_ref().expect("taken only when the link is dropped")
    }

    /// See [`Session::reached`].
    pub fn reached(&self) -> &AtomicU64 {
        &self.session().reached
    }

    pub fn client(&self) -> &Client {
        &self.session().client
    }

    /// The connection, for a transaction that has it alone.
    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.session.as_mut().expect("taken only when the link is dropped").client
    }

    /// A statement, prepared once for this connection.
    pub async fn prepared(&self, sql: &str) -> std::result::Result<Statement, tokio_postgres::Error> {
        let known = self.session().statements.lock().ok().and_then(|known| known.get(sql).cloned());
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client().prepare(sql).await?;
        if let Ok(mut known) = self.session().statements.lock() {
            known.insert(sql.to_string(), statement.clone());
        }
        Ok(statement)
    }

    /// The same, for those who speak of stores.
    pub async fn statement(&self, sql: &str) -> Result<Statement> {
        self.answer(self.prepared(sql)).await
    }

    /// The one row that there is at most. Where somebody has added another, those who verify find it.
    pub async fn one(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        Ok(self.all(sql, values).await?.into_iter().next())
    }

    /// All rows.
    pub async fn all(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let statement = self.statement(sql).await?;
        self.answer(self.client().query(&statement, values)).await
    }

    /// All rows of each query. The queries are sent at once.
    pub async fn several(&self, queries: &[Query<'_>]) -> Result<Vec<Vec<Row>>> {
        // Prepared one after the other: when one fails in a transaction, all behind it fail because of that, and what is
        // told must be the first error.
        let mut statements = Vec::with_capacity(queries.len());
        for (sql, _) in queries {
            statements.push(self.statement(sql).await?);
        }
        let sent = statements.iter().zip(queries);
        try_join_all(sent.map(|(statement, (_, values))| self.answer(self.client().query(statement, values))))
            .await
    }

    /// Writes; returns how many rows that were.
    pub async fn run(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.statement(sql).await?;
        self.answer(self.client().execute(&statement, values)).await
    }

    /// Begins a transaction of what goes on behind calls, and takes as long as it takes. If it does not come to its end, the
    /// connection must be given up.
    pub async fn begin(&self) -> Result<()> {
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0";
        self.answer(self.client().batch_execute(begin)).await?;
        self.unhurried.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends it. That is not waited for without end, even here: it may wait for a standby that is away.
    pub async fn commit(&self) -> Result<()> {
        answered(self.client().batch_execute("COMMIT")).await?;
        self.unhurried.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Does not hand the connection back: something is wrong with it.
    pub fn give_up(mut self) {
        self.session = None;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(session) = self.session.take().filter(|session| !session.client.is_closed()) {
            let mut idle = lock(&self.idle);
            if session.generation == idle.generation {
                idle.sessions.push_front(session);
            }
        }
    }
}
