//! Writing: one connection, and transactions that begin with the log's head locked.
//!
//! A log has one end, so those who append to it come one after the other, whichever server they are: the row of its head
//! is locked first, and what else is read is then true until the transaction ends. What will be asked for is read behind
//! the lock without waiting for it, and rows are gathered and sent with the commit, so that an append is two round trips,
//! and the lock is held for one of them and a sync.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cairn_core::Sha;
use futures::future::{join, join_all, join4};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::append::PostgresAppend;
use super::batch::Batch;
use super::connect::{AGAIN, ANSWER, Link, PATIENCE, Pool, answered, in_time};
use super::error::{is_fatal, is_lost, store_error};
use super::needs::{Found, Question};
use super::row::{get, number, sha};
use super::wait::wait;
use super::{PostgresStore, Result, derived, memory};
use crate::store::{Append, FoldRow, Needs, StoreError, StoreWriter};

/// How the writer's statements are planned: each finds its rows by an index, whatever the tables were like when it was
/// planned, and is planned once. A plan made for empty tables would read them whole when they have grown.
const PLANS: &str =
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
    SET enable_mergejoin = off; SET jit = off";
/// How long others are waited for before it is said that nothing can be written now.
const PROBE_PATIENCE: &str = "2s";

impl PostgresStore {
    /// Opens the connection that writes.
    pub(super) fn open_writer(&self) -> Result<Box<dyn StoreWriter>> {
        Ok(Box::new(PostgresWriter {
            pool: self.pool.clone(),
            runtime: self.runtime().clone(),
            link: None,
            expects_others: true,
        }))
    }
}

struct PostgresWriter {
    pool: Arc<Pool>,
    runtime: Arc<Runtime>,
    /// None until it is first needed, and after it was lost.
    link: Option<Link>,
    /// Whether the log was another than remembered when the last transaction began: then it probably is again.
    expects_others: bool,
}

impl PostgresWriter {
    /// Begins a transaction that has the end of the log to itself. A connection that was lost before is no reason to
    /// fail: nothing was written, so another one is tried, for as long as a caller can be expected to wait.
    async fn begin(&mut self, needs: &Needs) -> Result<Head> {
        let started = Instant::now();
        loop {
            let link = match self.link.take().filter(|link| !link.client().is_closed()) {
                Some(link) => link,
                None => planned(self.pool.open().await?).await?,
            };
            match in_time(begin(&link, needs, self.expects_others)).await {
                Ok(head) => {
                    self.link = Some(link);
                    self.expects_others = head.is_another(needs);
                    return Ok(head);
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

    /// Writes what waits, and commits.
    ///
    /// A commit is never told to stop. Where it waits for a standby, it is done already but for that, and PostgreSQL would
    /// answer that it was done, with a warning that the standby may not have it; so a warning counts as no answer.
    async fn commit(&mut self, batch: &Batch, first: Option<(u64, Sha)>) -> Result<()> {
        let Some(link) = &self.link else { return Err(StoreError::Lost) };
        link.take_warning();
        match timeout(ANSWER, send(link, batch, true)).await {
            Ok(Ok(())) if !link.take_warning() => Ok(()),
            Ok(Err(error)) if !is_lost(&error) && !is_fatal(&error) => {
                self.end().await;
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
/// The head is locked, so a transaction that is still going on somewhere holds this up until it has ended. The commit of
/// the lock waits for the standbys behind everything that was seen, so a primary that lost its standbys, or was replaced
/// without knowing it, does not vouch for what it alone has.
async fn look_up(pool: &Pool, seq: i64) -> Result<(Link, i64, Option<Vec<u8>>)> {
    let link = planned(pool.open_at_once().await?).await?;
    let head = in_time(begin(&link, &Needs::default(), false)).await?;
    let found = link.one("SELECT hash FROM entry WHERE seq = $1", &[&seq]).await?;
    link.take_warning();
    answered(link.client().batch_execute("COMMIT")).await?;
    if link.take_warning() {
        return Err(StoreError::Lost);
    }
    Ok((link, head.size, found.map(|row| get(&row, 0)).transpose()?))
}

/// What is known once the log's head is locked.
pub struct Head {
    pub size: i64,
    pub root: Sha,
    pub tasks: i64,
    pub sessions: i64,
    pub contexts: u64,
    pub found: Found,
}

impl Head {
    /// Whether the log is another than is remembered.
    fn is_another(&self, needs: &Needs) -> bool {
        needs.known.is_some_and(|(size, root)| size as i64 != self.size || root != self.root)
    }
}

async fn begin(link: &Link, needs: &Needs, expects_others: bool) -> Result<Head> {
    // Two statements: one that waits for a lock still sees what was there when it began to wait, and those after it do not.
    // Prepared before, so that all go out together.
    let lock = link.statement("SELECT 1 FROM log FOR UPDATE").await?;
    let head = link
        .statement(
            "SELECT size, root, (SELECT coalesce(max(no), 0) FROM task), (SELECT coalesce(max(no), 0) FROM session),
               (SELECT coalesce(max(id), 0) FROM context) FROM log",
        )
        .await?;
    let known = needs.known.map(|(size, _)| size);
    let (remembered, edge) = if expects_others { (&needs.remembered[..], known) } else { (&[][..], None) };
    let question = Question::new(needs.unknown.iter().chain(remembered), edge);
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
    let mut head = Head {
        size: get(&row, 0)?,
        root: sha(&row, 1)?,
        tasks: get(&row, 2)?,
        sessions: get(&row, 3)?,
        contexts: number(&row, 4)?,
        found: Found::default(),
    };
    head.found.take_in(question, answers.map_err(store_error)?)?;
    if head.is_another(needs) && !expects_others {
        let question = Question::new(needs.remembered.iter(), known);
        let prepared = question.prepare(link).await.map_err(store_error)?;
        let answers = question.ask(link, &prepared).await.map_err(store_error)?;
        head.found.take_in(question, answers)?;
    }
    Ok(head)
}

/// Sends every statement at once, and the commit behind them: it does nothing if one of them failed.
pub async fn send(
    link: &Link,
    batch: &Batch,
    commit: bool,
) -> std::result::Result<(), tokio_postgres::Error> {
    let statements = batch.statements();
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in &statements {
        prepared.push(link.prepared(statement.sql).await?);
    }
    let sent = prepared
        .iter()
        .zip(&statements)
        .map(|(prepared, statement)| link.client().execute_raw(prepared, statement.values.iter().copied()));
    let committed = async { if commit { link.client().batch_execute("COMMIT").await } else { Ok(()) } };
    // Both are polled in this order, so that is the order in which they are sent.
    let (written, committed) = join(join_all(sent), committed).await;
    for written in written {
        written?;
    }
    committed
}

impl StoreWriter for PostgresWriter {
    fn transaction(
        &mut self,
        needs: &Needs,
        work: &mut dyn FnMut(&mut dyn Append) -> Result<()>,
    ) -> Result<()> {
        let runtime = self.runtime.clone();
        let head = wait(&runtime, self.begin(needs))?;
        self.pool.seen().fetch_max(head.size as u64, Ordering::Relaxed);
        let Some(link) = self.link.take() else { return Err(StoreError::Lost) };
        let batch = Batch::default();
        let mut append = PostgresAppend { link, runtime: runtime.clone(), head, batch, first: None };
        let done = work(&mut append);
        let PostgresAppend { link, batch, first, .. } = append;
        self.link = Some(link);
        match done {
            Ok(()) => {
                wait(&runtime, self.commit(&batch, first))?;
                self.pool.seen().fetch_max(batch.size(), Ordering::Relaxed);
                Ok(())
            }
            Err(error) => {
                wait(&runtime, self.end());
                Err(error)
            }
        }
    }

    fn probe(&mut self, commit: bool) -> Result<()> {
        let runtime = self.runtime.clone();
        wait(&runtime, async {
            let link = match self.link.take().filter(|link| !link.client().is_closed()) {
                Some(link) => link,
                None => planned(self.pool.open_at_once().await?).await?,
            };
            let end = if commit { "UPDATE derived SET through = through; COMMIT" } else { "ROLLBACK" };
            let probe = format!(
                "BEGIN; SET LOCAL lock_timeout = '{PROBE_PATIENCE}'; SELECT 1 FROM log FOR UPDATE; {end}"
            );
            let probed = answered(link.client().batch_execute(&probe)).await;
            self.link = Some(link);
            if probed.is_err() {
                self.end().await;
            }
            probed
        })
    }

    fn catch_up(&mut self, rows: u64) -> Result<u64> {
        wait(&self.runtime, self.pool.run(async |link| derived::catch_up(link, rows).await))
    }

    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>) -> Result<()> {
        wait(&self.runtime, self.pool.run(async |link| memory::keep_fold(link, session_id, fold).await))
    }

    fn clear_derived(&mut self) -> Result<()> {
        wait(&self.runtime, self.pool.run(async |link| derived::clear(link).await))
    }
}
