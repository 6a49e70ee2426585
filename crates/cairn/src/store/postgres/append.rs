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
use cairn_core::log::Node;
use cairn_core::thought::Thought;
use futures::future::{join, join_all, join4};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::batch::Batch;
use super::connect::{AGAIN, ANSWER, Link, PATIENCE, Pool, answered, in_time};
use super::error::{is_fatal, is_lost, store_error};
use super::needs::{Found, Question};
use super::row::{get, number, sha};
use super::wait::wait;
use super::{PostgresStore, Result, context, derived, memory, read, redact, token};
use crate::context::ContextHead;
use crate::store::{
    Append, BriefRow, ContextRow, EventRow, FoldRow, MemoryHead, Needs, ParentLink, ReadEvent, RoadmapHead,
    SessionHead, StoreError, StoreWriter, Target, TaskHead, ThoughtRow, TokenRow,
};

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
struct Head {
    size: i64,
    root: Sha,
    tasks: i64,
    sessions: i64,
    contexts: u64,
    found: Found,
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
async fn send(link: &Link, batch: &Batch, commit: bool) -> std::result::Result<(), tokio_postgres::Error> {
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

struct PostgresAppend {
    link: Link,
    runtime: Arc<Runtime>,
    head: Head,
    batch: Batch,
    /// The first entry of the transaction: where, and its hash.
    first: Option<(u64, Sha)>,
}

impl PostgresAppend {
    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        wait(&self.runtime, work)
    }

    /// Writes what waits, so that it can be read.
    fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.wait(answered(send(&self.link, &batch, false)))
    }

    fn one(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        self.wait(self.link.one(sql, values))
    }

    fn execute(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        self.wait(self.link.run(sql, values)).map(drop)
    }
}

/// Whether an id is a UUID of version 7, 74 bits of which are random.
fn is_random(id: &str) -> bool {
    uuid::Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 7)
}

impl Append for PostgresAppend {
    fn head(&mut self) -> Result<(u64, Sha)> {
        Ok((self.head.size as u64, self.head.root))
    }

    fn nodes(&mut self, places: &[(u8, u64)]) -> Result<Vec<Sha>> {
        let found: Option<Vec<Sha>> = places.iter().map(|place| self.head.found.node(place)).collect();
        match found {
            Some(found) => Ok(found),
            None => self.wait(read::nodes(&self.link, places)),
        }
    }

    fn task(&mut self, name: &str) -> Result<Option<TaskHead>> {
        if let Some(found) = self.head.found.task(name) {
            return Ok(found);
        }
        if self.batch.has_task(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length, head FROM task WHERE name = $1", &[&name])?;
        row.map(|row| Ok(TaskHead { no: get(&row, 0)?, length: number(&row, 1)?, head: sha(&row, 2)? }))
            .transpose()
    }

    fn session(&mut self, name: &str) -> Result<Option<SessionHead>> {
        if let Some(found) = self.head.found.session(name) {
            return Ok(found);
        }
        if self.batch.has_session(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length FROM session WHERE name = $1", &[&name])?;
        row.map(|row| Ok(SessionHead { no: get(&row, 0)?, length: number(&row, 1)? })).transpose()
    }

    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>> {
        if let Some(found) = self.head.found.parent(id) {
            return Ok(found);
        }
        if self.batch.has_id(id) {
            self.flush()?;
        }
        let row = self.one("SELECT seq, session_no, chain_hash FROM thought WHERE id = $1", &[&id])?;
        row.map(|row| {
            Ok(ParentLink { seq: number(&row, 0)?, session_no: get(&row, 1)?, chain_hash: sha(&row, 2)? })
        })
        .transpose()
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        // That no two ids of random numbers are the same goes without asking; of any others it must be known.
        let is_there = "SELECT 1 FROM thought WHERE id = $1";
        Ok(self.batch.has_id(id) || (!is_random(id) && self.one(is_there, &[&id])?.is_some()))
    }

    fn by_key(&mut self, key: &str) -> Result<Option<Thought>> {
        if self.head.found.is_free(key) {
            return Ok(None);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        self.wait(read::thought_where(&self.link, "t.idempotency_key = $1", &key))
    }

    fn contexts(&mut self) -> Result<u64> {
        Ok(self.head.contexts)
    }

    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>> {
        self.wait(context::roadmap(&self.link, name))
    }

    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<ContextHead>> {
        let newest = self.wait(context::history(&self.link, roadmap_id, None, 1))?;
        Ok(newest.into_iter().next())
    }

    fn snapshot(&mut self, hash: &Sha, data: &str) -> Result<Option<(i64, bool)>> {
        self.wait(context::snapshot(&self.link, hash, data))
    }

    fn add_roadmap(&mut self, name: &str) -> Result<i64> {
        let row = self.one(
            "INSERT INTO roadmap (no, name, length) SELECT coalesce(max(no), 0) + 1, $1, 0 FROM roadmap RETURNING no",
            &[&name],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn add_snapshot(&mut self, hash: &Sha, data: &str) -> Result<i64> {
        let row = self.one(
            "INSERT INTO snapshot (no, content_hash, data) SELECT coalesce(max(no), 0) + 1, $1, $2 FROM snapshot
             RETURNING no",
            &[&&hash.0[..], &data],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn insert_context(&mut self, row: &ContextRow<'_>) -> Result<()> {
        self.head.contexts = self.head.contexts.max(row.id);
        self.wait(context::insert(&self.link, row))
    }

    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()> {
        self.execute("UPDATE roadmap SET length = $2 WHERE no = $1", &[&head.no, &(head.length as i64)])
    }

    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        if let Some(found) = self.head.found.memory(session_id) {
            return Ok(found);
        }
        if self.batch.has_session(session_id) || self.batch.has_memories() {
            self.flush()?;
        }
        self.wait(memory::head(&self.link, session_id))
    }

    fn event_by_key(&mut self, key: &str) -> Result<Option<ReadEvent>> {
        if self.head.found.is_free_for_event(key) {
            return Ok(None);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        self.wait(memory::event_by_key(&self.link, key))
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        if let Some(found) = self.head.found.body(digest) {
            return Ok(found);
        }
        if self.batch.has_body(digest) {
            self.flush()?;
        }
        self.wait(memory::has_body(&self.link, digest, data))
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        if let Some(found) = self.head.found.brief(id) {
            return Ok(found);
        }
        self.wait(memory::brief_session(&self.link, id))
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        if let Some(key) = row.idempotency_key {
            self.head.found.is_free_for_event(key);
        }
        self.batch.event(row);
        Ok(())
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.head.found.body(digest);
        self.batch.body(digest, seq, data);
        Ok(())
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        self.head.found.brief(row.id);
        self.wait(memory::insert_brief(&self.link, row))
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        self.batch.memory(head);
        Ok(())
    }

    fn add_task(&mut self, name: &str) -> Result<i64> {
        self.head.found.task(name);
        self.head.tasks += 1;
        self.batch.task(self.head.tasks, name);
        Ok(self.head.tasks)
    }

    fn add_session(&mut self, name: &str) -> Result<i64> {
        self.head.found.session(name);
        self.head.sessions += 1;
        self.batch.session(self.head.sessions, name);
        Ok(self.head.sessions)
    }

    fn insert_thought(&mut self, row: &ThoughtRow<'_>) -> Result<()> {
        // Before the rows are written, where a collision would end the transaction.
        if self.has_thought(row.id)? {
            return Err(StoreError::Taken("id"));
        }
        self.head.found.parent(row.id);
        if let Some(key) = row.idempotency_key {
            self.head.found.is_free(key);
        }
        self.batch.thought(row);
        Ok(())
    }

    fn insert_entry(&mut self, seq: u64, kind: &str, leaf: &[u8], hash: &Sha) -> Result<()> {
        self.first.get_or_insert((seq, *hash));
        self.batch.entry(seq, kind, leaf, hash);
        Ok(())
    }

    fn insert_node(&mut self, node: &Node) -> Result<()> {
        self.batch.node(node);
        Ok(())
    }

    fn set_task(&mut self, head: &TaskHead) -> Result<()> {
        self.batch.task_head(head);
        Ok(())
    }

    fn set_session(&mut self, head: &SessionHead) -> Result<()> {
        self.batch.session_head(head);
        Ok(())
    }

    fn set_log(&mut self, size: u64, root: &Sha) -> Result<()> {
        self.batch.log(size, root);
        Ok(())
    }

    fn is_keyed(&mut self) -> Result<bool> {
        // The second condition lets the small index be used.
        let sql =
            "SELECT 1 FROM entry WHERE kind = 'key' AND kind IN ('continuation', 'key', 'redaction') LIMIT 1";
        self.one(sql, &[]).map(|found| found.is_some())
    }

    fn target(&mut self, id: &str) -> Result<Option<Target>> {
        self.flush()?;
        self.wait(redact::target(&self.link, id))
    }

    fn leaf(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.flush()?;
        let row = self.one("SELECT leaf FROM entry WHERE seq = $1", &[&(seq as i64)])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<Vec<u8>>> {
        self.flush()?;
        self.wait(redact::redaction(&self.link, target_seq))
    }

    fn insert_redaction(&mut self, seq: u64, target_seq: u64) -> Result<()> {
        self.execute(
            "INSERT INTO redaction (seq, target_seq) VALUES ($1, $2)",
            &[&(seq as i64), &(target_seq as i64)],
        )
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.flush()?;
        self.wait(redact::blank(&self.link, target))
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.wait(redact::seal_key(&self.link, seq))
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES ($1, $2)", &[&(seq as i64), &key])
    }

    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint (size, note) VALUES ($1, $2)
             ON CONFLICT (size) DO UPDATE SET note = excluded.note
               WHERE length(excluded.note) > length(checkpoint.note) AND starts_with(excluded.note, checkpoint.note)",
            &[&(size as i64), &note],
        )
    }

    fn token(&mut self, id: &str) -> Result<Option<TokenRow>> {
        self.wait(token::token(&self.link, id))
    }

    fn insert_token(&mut self, row: &TokenRow) -> Result<()> {
        self.wait(token::insert(&self.link, row))
    }

    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()> {
        self.wait(token::set_times(&self.link, id, revoked_at, last_used_at))
    }
}
