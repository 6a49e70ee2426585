//! Writing: one connection, and transactions that have the end of the log to themselves.
//!
//! A log has one end, so those who append to it come one after the other, whichever server they are. A server that was the
//! last to append sends what follows as one statement, which moves the log's head on if it still is where this server left
//! it, and writes nothing otherwise: one round trip, as a bare insert is. Where others append as well, that would be in vain
//! every other time, and whoever is slower would never have a turn; so the row of the head is locked first, in the order of
//! arrival, what is asked for is read behind the lock without waiting for it, and rows are gathered and sent with the commit.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cairn_core::Sha;
use cairn_core::log::Edge;
use futures::future::{join, join4};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use super::append::PostgresAppend;
use super::batch::Batch;
use super::connect::{AGAIN, ANSWER, Link, PATIENCE, Pool, answered, in_time};
use super::error::{is_fatal, is_lost, store_error};
use super::needs::{Found, Question};
use super::record::LEAVES;
use super::row::{get, number, sha};
use super::wait::wait;
use super::{PostgresStore, Result};
use crate::store::{Append, Need, Needs, StoreError, StoreWriter};

/// How the writer's statements are planned: each finds its rows by an index, whatever the tables were like when it was
/// planned, and is planned once. A plan made for empty tables would read them whole when they have grown.
const PLANS: &str =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
    SET enable_mergejoin = off; SET jit = off; SET default_transaction_isolation = 'read committed'";
/// For how long after an answer a connection is believed to lead to a server that answers. What is sent to one that does not
/// must not be a commit, of which nobody would know what became.
const FRESH: Duration = Duration::from_secs(5);
/// How long others are waited for before it is said that nothing can be written now.
const PROBE_PATIENCE: &str = "2s";

impl PostgresStore {
    /// Opens the connection that writes.
    pub(super) fn open_writer(&self) -> Result<Box<dyn StoreWriter>> {
        Ok(Box::new(PostgresWriter {
            pool: self.pool.clone(),
            runtime: self.runtime().clone(),
            link: None,
            left: None,
        }))
    }
}

pub struct PostgresWriter {
    pool: Arc<Pool>,
    runtime: Arc<Runtime>,
    /// None until it is first needed, and after it was lost.
    link: Option<Link>,
    /// The log's head as the last transaction left it, and when; none if it was not where it had been left before that, since
    /// then it probably is not again.
    left: Option<(Head, Instant)>,
}

impl PostgresWriter {
    /// Runs `work` on a connection of the pool.
    pub fn run<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        wait(&self.runtime, self.pool.run(work))
    }

    /// Begins a transaction that has the end of the log to itself. A connection that was lost before is no reason to
    /// fail: nothing was written, so another one is tried, for as long as a caller can be expected to wait.
    async fn begin(&mut self, needs: &Needs) -> Result<(Head, Found)> {
        let started = Instant::now();
        loop {
            let link = match self.link.take().filter(|link| !link.client().is_closed()) {
                Some(link) => link,
                None => planned(self.pool.open().await?).await?,
            };
            match in_time(begin(&link, needs)).await {
                Ok(begun) => {
                    self.link = Some(link);
                    return Ok(begun);
                }
                // A server that was the primary may answer still, and take nothing any more.
                Err(StoreError::Lost | StoreError::NoPrimary) if started.elapsed() < PATIENCE => {
                    self.pool.lost();
                    sleep(AGAIN).await;
                }
                Err(error) => {
                    self.link = Some(link);
                    self.end().await;
                    return Err(error);
                }
            }
        }
    }

    /// Takes back what was begun. If even that does not work, the connection is let go.
    async fn end(&mut self) {
        if let Some(link) = &self.link
            && !matches!(timeout(AGAIN * 10, link.client().batch_execute("ROLLBACK")).await, Ok(Ok(())))
        {
            self.link = None;
        }
    }

    /// Reads what will be asked for without locking anything, if the log is where this server left it, as far as it knows.
    fn foresee(&mut self, needs: &Needs) -> Option<(Head, Found)> {
        let (head, _) = self
            .left
            .clone()
            .filter(|(head, at)| needs.known == Some(head.place()) && at.elapsed() < FRESH)?;
        let link = self.link.as_ref().filter(|link| !link.client().is_closed())?;
        match wait(&self.runtime, in_time(ask(link, &needs.unknown))) {
            Ok(found) => Some((head, found)),
            Err(_) => {
                // Nothing was begun, so what is wrong is met again on another connection.
                self.link = None;
                None
            }
        }
    }

    /// Runs `work` and writes what it leaves. `NotWritten` where the head was not locked, and has moved.
    fn write(
        &mut self,
        (head, found): (Head, Found),
        is_locked: bool,
        work: &mut dyn FnMut(&mut dyn Append) -> Result<()>,
    ) -> Result<()> {
        let runtime = self.runtime.clone();
        self.left = None;
        let Some(link) = self.link.take() else { return Err(StoreError::Lost) };
        let batch = Batch::default();
        let mut append = PostgresAppend {
            link,
            runtime: runtime.clone(),
            head,
            found,
            batch,
            first: None,
            bytes: 0,
            is_locked,
        };
        let mut done = work(&mut append);
        if done.is_ok() && append.batch.grown().is_none() {
            // Nothing would tell whether the log is where it was.
            done = append.lock();
        }
        let PostgresAppend { link, head, batch, first, is_locked, .. } = append;
        self.link = Some(link);
        match done {
            Ok(()) => {
                wait(&runtime, self.commit(&batch, first, is_locked))?;
                let left = batch.grown().unwrap_or(head);
                self.pool.seen().fetch_max(left.size as u64, Ordering::Relaxed);
                self.left = Some((left, Instant::now()));
                Ok(())
            }
            Err(error) => {
                if is_locked {
                    wait(&runtime, self.end());
                }
                Err(error)
            }
        }
    }

    /// Writes what waits, and commits.
    ///
    /// A commit is never told to stop. Where it waits for a standby, it is done already but for that, and PostgreSQL would
    /// answer that it was done, with a warning that the standby may not have it; so a warning counts as no answer.
    async fn commit(&mut self, batch: &Batch, first: Option<(u64, Sha)>, is_locked: bool) -> Result<()> {
        let Some(link) = &self.link else { return Err(StoreError::Lost) };
        let ready = match ready(link, batch).await {
            Ok(ready) => ready,
            Err(error) => {
                // Nothing was sent to be written.
                self.link = None;
                return Err(error);
            }
        };
        link.take_warning();
        match timeout(ANSWER, send(link, ready, is_locked)).await {
            Ok(Ok(is_written)) if !link.take_warning() => {
                is_written.then_some(()).ok_or(StoreError::NotWritten)
            }
            Ok(Err(error)) if !is_lost(&error) && !is_fatal(&error) => {
                if is_locked {
                    self.end().await;
                }
                Err(store_error(error))
            }
            // Lost, warned of, or not answered: a primary that was cut off may wait for ever for a standby that has taken over.
            _ => {
                self.link = None;
                self.pool.lost();
                self.was_committed(first).await
            }
        }
    }

    /// After a connection that was lost while it committed: the log says whether it did. An entry's hash covers all of it,
    /// so what stands at its place is it, or something else.
    async fn was_committed(&mut self, first: Option<(u64, Sha)>) -> Result<()> {
        let Some((seq, hash)) = first.map(|(seq, hash)| (seq as i64, hash.0.to_vec())) else {
            return Err(StoreError::Unknown);
        };
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            sleep(AGAIN).await;
            let Ok((link, size, found)) = look_up(&self.pool, seq).await else { continue };
            self.link = Some(link);
            return match found {
                Some(found) if found == hash => Ok(()),
                // Nothing of it is there: whoever asked can ask again.
                _ if size >= seq => Err(StoreError::NotWritten),
                _ => Err(StoreError::Damaged("the log is shorter than it was".into())),
            };
        }
        Err(StoreError::Unknown)
    }
}

/// Makes a connection one to write on.
async fn planned(link: Link) -> Result<Link> {
    answered(link.client().batch_execute(PLANS)).await?;
    Ok(link)
}

/// How long the log is, and the hash of the entry at a position: as the servers agree on it that a commit waits for.
///
/// The head is locked, so a transaction that is still going on somewhere holds this up until it has ended; and one that
/// has yet to begin finds another fence than it was sent with, and writes nothing. The commit waits for the standbys behind
/// everything that was seen, so a primary that lost its standbys, or was replaced without knowing it, does not vouch for
/// what it alone has.
async fn look_up(pool: &Pool, seq: i64) -> Result<(Link, i64, Option<Vec<u8>>)> {
    let link = planned(pool.open_at_once().await?).await?;
    let (head, _) = in_time(begin(&link, &Needs::default())).await?;
    let sql = format!("SELECT leaf_hash FROM {} WHERE seq = $1", *LEAVES);
    let found = link.one(&sql, &[&seq]).await?;
    link.run("UPDATE log SET fence = fence + 1", &[]).await?;
    link.take_warning();
    answered(link.client().batch_execute("COMMIT")).await?;
    if link.take_warning() {
        return Err(StoreError::Lost);
    }
    Ok((link, head.size, found.map(|row| get(&row, 0)).transpose()?))
}

/// The log's head, and what is numbered along with it.
#[derive(Debug, Clone)]
pub struct Head {
    pub size: i64,
    pub root: Sha,
    pub edge: Edge,
    /// Grows when somebody had to look up what became of a commit: what was sent before that writes nothing any more.
    pub fence: i64,
    pub tasks: i64,
    pub sessions: i64,
    pub contexts: u64,
}

impl Head {
    /// What tells one log from another.
    pub fn place(&self) -> (u64, Sha) {
        (self.size as u64, self.root)
    }
}

/// Locks the log's head, and reads it and what will be asked for.
pub async fn begin(link: &Link, needs: &Needs) -> Result<(Head, Found)> {
    // Two statements: one that waits for a lock still sees what was there when it began to wait, and those after it do not.
    // Prepared before, so that all go out together.
    let lock = link.statement("SELECT 1 FROM log FOR UPDATE").await?;
    let head = link
        .statement(
            "SELECT size, root, edge, fence, (SELECT coalesce(max(no), 0) FROM task),
               (SELECT coalesce(max(no), 0) FROM session), (SELECT coalesce(max(id), 0) FROM context) FROM log",
        )
        .await?;
    let question = Question::new(needs.unknown.iter().chain(&needs.remembered));
    let prepared = question.prepare(link).await.map_err(store_error)?;
    let client = link.client();
    let (begun, locked, row, answers) = join4(
        client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"),
        client.query(&lock, &[]),
        client.query_one(&head, &[]),
        question.ask(link, &prepared),
    )
    .await;
    begun.map_err(store_error)?;
    locked.map_err(store_error)?;
    let row = row.map_err(store_error)?;
    let head = Head {
        size: get(&row, 0)?,
        root: sha(&row, 1)?,
        edge: Edge::from_bytes(number(&row, 0)?, get(&row, 2)?)
            .filter(|edge| sha(&row, 1).is_ok_and(|root| edge.root() == root))
            .ok_or_else(|| StoreError::Damaged("the head of the log cannot be read".into()))?,
        fence: get(&row, 3)?,
        tasks: get(&row, 4)?,
        sessions: get(&row, 5)?,
        contexts: number(&row, 6)?,
    };
    Ok((head, Found::new(question, answers.map_err(store_error)?)?))
}

/// Reads what will be asked for.
async fn ask(link: &Link, needs: &[Need]) -> Result<Found> {
    let question = Question::new(needs.iter());
    let prepared = question.prepare(link).await.map_err(store_error)?;
    let answers = question.ask(link, &prepared).await.map_err(store_error)?;
    Found::new(question, answers)
}

/// A statement that is prepared, and its values.
pub type Ready<'b> = Option<(Statement, Vec<&'b (dyn ToSql + Sync)>)>;

/// Prepares what waits to be sent; none if nothing does.
pub async fn ready<'b>(link: &Link, batch: &'b Batch) -> Result<Ready<'b>> {
    let Some(statement) = batch.statement() else { return Ok(None) };
    Ok(Some((link.statement(&statement.sql).await?, statement.values)))
}

/// Sends it, and the commit behind it if there is to be one, which does nothing if the rest failed. Without a transaction
/// around it, it is one by itself. False if the log was another than it was made for: then nothing was written.
pub async fn send(
    link: &Link,
    ready: Ready<'_>,
    commit: bool,
) -> std::result::Result<bool, tokio_postgres::Error> {
    let client = link.client();
    let committed = async { if commit { client.batch_execute("COMMIT").await } else { Ok(()) } };
    let Some((statement, values)) = ready else { return committed.await.map(|()| true) };
    let written = client.execute_raw(&statement, values);
    // Both are polled in this order, so that is the order in which they are sent.
    let (written, committed) = join(written, committed).await;
    let rows = written?;
    committed.map(|()| rows == 1)
}

impl StoreWriter for PostgresWriter {
    fn reads_ahead(&self) -> bool {
        true
    }

    fn transaction(
        &mut self,
        needs: &Needs,
        work: &mut dyn FnMut(&mut dyn Append) -> Result<()>,
    ) -> Result<()> {
        if let Some(foreseen) = self.foresee(needs) {
            match self.write(foreseen, false, work) {
                // Others have appended meanwhile, and whoever is slower than they are must have a turn as well; or the
                // connection was lost before anything was sent, or the server takes nothing now.
                Err(StoreError::NotWritten | StoreError::Lost | StoreError::NoPrimary) => {}
                done => return done,
            }
        }
        let runtime = self.runtime.clone();
        let (head, found) = wait(&runtime, self.begin(needs))?;
        self.pool.seen().fetch_max(head.size as u64, Ordering::Relaxed);
        let is_another = needs.known.is_some_and(|known| known != head.place());
        self.write((head, found), true, work)?;
        self.left = self.left.take().filter(|_| !is_another);
        Ok(())
    }

    fn probe(&mut self, commit: bool) -> Result<()> {
        let runtime = self.runtime.clone();
        wait(&runtime, async {
            let link = match self.link.take().filter(|link| !link.client().is_closed()) {
                Some(link) => link,
                None => planned(self.pool.open_at_once().await?).await?,
            };
            let end = if commit { "UPDATE derived SET through = through; COMMIT" } else { "ROLLBACK" };
            // To explain a change takes the right to make it, and changes nothing.
            let probe = format!(
                "BEGIN; SET LOCAL lock_timeout = '{PROBE_PATIENCE}'; SELECT 1 FROM log FOR UPDATE;
                 EXPLAIN UPDATE log SET size = size, root = root, fence = fence; {end}"
            );
            let probed = answered(link.client().batch_execute(&probe)).await;
            self.link = Some(link);
            if probed.is_err() {
                self.end().await;
            }
            probed
        })
    }
}
