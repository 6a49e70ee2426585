//! Reading for verification: one consistent state, every column as it is stored.
//!
//! Whoever is visited may ask for something else meanwhile, on the same connection; so rows come in pages, each read to its
//! end before it is shown. A page is short enough to be held, and the next one begins behind the last row of it.

use std::cell::RefCell;
use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use futures::future::try_join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::ahead::{Ahead, OF_EVENT};
use super::connect::Link;
use super::error::store_error;
use super::stored::{COLUMNS, Values, get, is_null, number, scanned, sha, unsigned, value};
use super::wait::wait;
use super::{PostgresStore, Result, check, review, structures};
use crate::store::{
    Audit, ChainOf, EventText, Finding, IndexAudit, LogAudit, LogHead, MemoryAudit, PlanAudit,
    RedactionAudit, ReviewAudit, Scanned, StoreError, StoredBrief, StoredContext, StoredEvent, StoredFold,
    StoredReview, ThoughtAudit, Totals,
};

/// Rows of a page: at first, and at most.
const ROWS: (i64, i64) = (64, 1024);
/// So many bytes should a page have; rows can be as long as contents are.
const PAGE_BYTES: usize = 1 << 20;

/// Begins a verifying transaction. Verification takes as long as it takes, and so may the visitor between two queries.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0";

/// The state to which a verifying transaction returns after a query that failed.
const BEGUN: &str = "SAVEPOINT begun";

impl PostgresStore {
    /// Opens `count` views of one and the same state: the first connection exports its snapshot, the others take it over.
    pub(super) fn open_audits(&self, count: usize) -> Result<Vec<Box<dyn Audit>>> {
        let links = self.wait(async {
            let first = self.pool.open().await?.unhurried();
            let (snapshot, state) = export(&first).await?;
            let others = (1..count).map(async |_| {
                let link = self.pool.open().await?.unhurried();
                import(&link, &snapshot, &state).await?;
                Ok::<_, StoreError>(link)
            });
            let mut links = try_join_all(others).await?;
            links.push(first);
            Ok::<_, StoreError>(links)
        })?;
        let audit = |link| PostgresAudit { link, runtime: self.runtime().clone(), ahead: RefCell::default() };
        Ok(links.into_iter().map(|link| Box::new(audit(link)) as Box<dyn Audit>).collect())
    }
}

/// Begins a transaction, and returns the name under which others find its snapshot, and the snapshot itself.
async fn export(link: &Link) -> Result<(String, String)> {
    link.client().batch_execute(BEGIN).await.map_err(store_error)?;
    let sql = "SELECT pg_export_snapshot(), pg_current_snapshot()::text";
    let row = link.client().query_one(sql, &[]).await.map_err(not_shared)?;
    link.client().batch_execute(BEGUN).await.map_err(store_error)?;
    Ok((get(&row, 0)?, get(&row, 1)?))
}

/// Begins a transaction that sees what the exporting one sees, and nothing else.
async fn import(link: &Link, snapshot: &str, state: &str) -> Result<()> {
    // The name comes from the server; a quotation mark in it would end the statement with an error at most.
    let begin = format!("{BEGIN}; SET TRANSACTION SNAPSHOT '{snapshot}'");
    link.client().batch_execute(&begin).await.map_err(not_shared)?;
    let row = link.client().query_one("SELECT pg_current_snapshot()::text", &[]).await.map_err(not_shared)?;
    if get::<&str>(&row, 0)? != state {
        return Err(StoreError::Unsuitable(NOT_SHARED.into()));
    }
    link.client().batch_execute(BEGUN).await.map_err(store_error)
}

const NOT_SHARED: &str = "`verify` reads over several connections, and they did not get one and the same state; \
  give it the address of the primary server itself, not one that leads to several servers";

/// Verifying a state that is put together from several would raise false alarms, or hide something.
fn not_shared(error: tokio_postgres::Error) -> StoreError {
    match store_error(error) {
        StoreError::Other(told) => StoreError::Unsuitable(format!("{NOT_SHARED} (it says: {told})")),
        other => other,
    }
}

/// A read transaction that stays open while everything is checked.
struct PostgresAudit {
    link: Link,
    runtime: Arc<Runtime>,
    /// What belongs to the page of entries that is being visited.
    ahead: RefCell<Ahead>,
}

impl PostgresAudit {
    /// Waits for work on this connection. A query that fails, as on a table of another form, does not end the transaction:
    /// there is more to check.
    fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        wait(&self.runtime, async {
            let done = work.await;
            if done.is_err() {
                // On a connection that is lost this fails, and so does the next query, which says so.
                let _ = self.link.client().batch_execute("ROLLBACK TO begun").await;
            }
            done
        })
    }

    fn rows(&self, sql: &str, values: &Values<'_>) -> Result<Vec<Row>> {
        self.wait(self.link.all(sql, values))
    }

    fn one(&self, sql: &str, values: &Values<'_>) -> Result<Option<Row>> {
        // Where a row should be alone, somebody may have added another.
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Visits the rows of a query in its order, until the visitor says no. The query's first two columns are its order;
    /// it begins behind `$1` and `$2`, and gives `$3` rows.
    fn pages(
        &self,
        sql: &str,
        behind: (i64, i64),
        values: &Values<'_>,
        visit: &mut dyn FnMut(&Row) -> Result<bool>,
    ) -> Result<()> {
        self.pages_with(sql, behind, values, &|_| Ok(()), visit)
    }

    /// Like [`PostgresAudit::pages`]; `prepare` sees each page before its rows are visited.
    fn pages_with(
        &self,
        sql: &str,
        mut behind: (i64, i64),
        values: &Values<'_>,
        prepare: &dyn Fn(&[Row]) -> Result<()>,
        visit: &mut dyn FnMut(&Row) -> Result<bool>,
    ) -> Result<()> {
        let (mut limit, most) = ROWS;
        loop {
            let mut all: Vec<&(dyn ToSql + Sync)> = vec![&behind.0, &behind.1, &limit];
            all.extend(values);
            let rows = self.rows(sql, &all)?;
            prepare(&rows)?;
            let mut bytes = 0;
            for row in &rows {
                bytes += row.raw_size_bytes();
                if !visit(row)? {
                    return Ok(());
                }
            }
            match rows.last() {
                Some(last) if rows.len() as i64 == limit => behind = (get(last, 0)?, get(last, 1)?),
                _ => return Ok(()),
            }
            limit = if bytes > PAGE_BYTES { (limit / 4).max(1) } else { (limit * 2).min(most) };
        }
    }
}

impl LogAudit for PostgresAudit {
    fn head(&self) -> Result<LogHead> {
        let row = self.one("SELECT origin, size, root FROM log", &[])?;
        let row = row.ok_or_else(|| StoreError::Damaged("the log has no head".into()))?;
        // A root of the wrong length cannot be the recomputed one.
        Ok(LogHead {
            origin: get(&row, 0)?,
            size: unsigned(&row, 1)?,
            root: sha(&row, 2).unwrap_or(Sha::ZERO),
        })
    }

    fn scan(&self, from: u64, to: u64, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()> {
        let sql = format!(
            "SELECT e.seq, 0::BIGINT, {COLUMNS} FROM entry e LEFT JOIN thought t ON t.seq = e.seq
             WHERE e.seq > $1 AND e.seq < $4 AND $2 = 0::BIGINT ORDER BY e.seq LIMIT $3"
        );
        // The kind of the entry, and the action of the thought.
        let prepare = |page: &[Row]| {
            let ahead = Ahead::of(page, [3, 15], |sql, values| self.rows(sql, values))?;
            *self.ahead.borrow_mut() = ahead;
            Ok(())
        };
        self.pages_with(&sql, (number(from) - 1, 0), &[&number(to)], &prepare, &mut |row| {
            visit(scanned(row, unsigned(row, 0)?, 2));
            Ok(true)
        })
    }

    fn edge(&self) -> Result<Vec<u8>> {
        let found = self.one("SELECT edge FROM log", &[])?;
        Ok(found.and_then(|row| value(&row, 0)).unwrap_or_default())
    }

    fn leaf_hashes(&self, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let sql = "SELECT seq, 0::BIGINT, hash FROM entry
                   WHERE seq > $1 AND seq < $4 AND $2 = 0::BIGINT ORDER BY seq LIMIT $3";
        self.pages(sql, (number(from) - 1, 0), &[&number(to)], &mut |row| {
            visit(unsigned(row, 0)?, value(row, 2).unwrap_or_default());
            Ok(true)
        })
    }

    fn tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT hashes FROM tile WHERE level = $1 AND idx = $2";
        let found = self.one(sql, &[&i32::from(level), &number(index)])?;
        Ok(found.map(|row| value(&row, 0).unwrap_or_default()))
    }

    fn leaf(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        let found = self.one("SELECT leaf FROM entry WHERE seq = $1", &[&number(seq)])?;
        Ok(found.map(|row| value(&row, 0).unwrap_or_default()))
    }

    fn newest(&self) -> Result<Option<u64>> {
        let found = self.one("SELECT max(seq) FROM entry", &[])?;
        Ok(found.and_then(|row| value::<i64>(&row, 0)).and_then(|seq| seq.try_into().ok()))
    }

    fn totals(&self) -> Result<Totals> {
        let sql = "SELECT (SELECT count(*) FROM entry), (SELECT count(*) FROM tile), (SELECT count(*) FROM thought),
                     (SELECT count(*) FROM context), (SELECT count(*) FROM event), (SELECT count(*) FROM body),
                     (SELECT count(*) FROM brief), (SELECT count(*) FROM redaction), (SELECT count(*) FROM seal),
                     (SELECT count(*) FROM review)";
        let Some(row) = self.one(sql, &[])? else { return Ok(Totals::default()) };
        Ok(Totals {
            entries: unsigned(&row, 0)?,
            tiles: unsigned(&row, 1)?,
            thoughts: unsigned(&row, 2)?,
            contexts: unsigned(&row, 3)?,
            events: unsigned(&row, 4)?,
            bodies: unsigned(&row, 5)?,
            briefs: unsigned(&row, 6)?,
            redactions: unsigned(&row, 7)?,
            seals: unsigned(&row, 8)?,
            reviews: unsigned(&row, 9)?,
        })
    }

    fn checkpoints(&self, visit: &mut dyn FnMut(i64, &str)) -> Result<()> {
        let sql = "SELECT size, 0::BIGINT, note FROM checkpoint WHERE size > $1 AND $2 = 0::BIGINT ORDER BY size LIMIT $3";
        self.pages(sql, (i64::MIN, 0), &[], &mut |row| {
            visit(get(row, 0)?, value(row, 2).unwrap_or_default());
            Ok(true)
        })
    }

    fn about_log(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        // The second condition lets the small index be used.
        let sql = "SELECT seq, 0::BIGINT, leaf FROM entry
                   WHERE kind = $4 AND kind IN ('continuation', 'key', 'redaction') AND seq > $1 AND $2 = 0::BIGINT
                   ORDER BY seq LIMIT $3";
        self.pages(sql, (-1, 0), &[&kind.as_str()], &mut |row| {
            visit(unsigned(row, 0)?, value(row, 2).unwrap_or_default());
            Ok(true)
        })
    }
}

impl ThoughtAudit for PostgresAudit {
    fn thought_place(&self, id: &str) -> Result<Option<u64>> {
        let found = self.one("SELECT seq FROM thought WHERE id = $1", &[&id])?;
        found.map(|row| unsigned(&row, 0)).transpose()
    }

    fn scan_chain(&self, of: ChainOf<'_>, visit: &mut dyn FnMut(Scanned<'_>)) -> Result<()> {
        let (table, place, name) = match of {
            ChainOf::Task(name) => ("task", "position", name),
            ChainOf::Session(name) => ("session", "step_index", name),
        };
        let sql = format!(
            "SELECT t.{place}, t.seq, {COLUMNS} FROM thought t LEFT JOIN entry e ON e.seq = t.seq
             WHERE t.{table}_no = (SELECT no FROM {table} WHERE name = $4 LIMIT 1) AND (t.{place}, t.seq) > ($1, $2)
             ORDER BY t.{place}, t.seq LIMIT $3"
        );
        self.pages(&sql, (i64::MIN, i64::MIN), &[&name], &mut |row| {
            visit(scanned(row, unsigned(row, 1)?, 2));
            Ok(true)
        })
    }

    fn parent(&self, seq: u64) -> Result<Option<(String, i64, Sha)>> {
        let found =
            self.one("SELECT id, session_no, chain_hash FROM thought WHERE seq = $1", &[&number(seq)])?;
        found.map(|row| Ok((get(&row, 0)?, get(&row, 1)?, sha(&row, 2).unwrap_or(Sha::ZERO)))).transpose()
    }

    fn task_hash(&self, task_no: i64, position: u64) -> Result<Option<Sha>> {
        let sql = "SELECT hash FROM thought WHERE task_no = $1 AND position = $2";
        let found = self.one(sql, &[&task_no, &number(position)])?;
        Ok(found.map(|row| sha(&row, 0).unwrap_or(Sha::ZERO)))
    }

    fn task_name(&self, no: i64) -> Result<Option<String>> {
        self.one("SELECT name FROM task WHERE no = $1", &[&no])?.map(|row| get(&row, 0)).transpose()
    }

    fn session_name(&self, no: i64) -> Result<Option<String>> {
        self.one("SELECT name FROM session WHERE no = $1", &[&no])?.map(|row| get(&row, 0)).transpose()
    }

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        let found = match of {
            ChainOf::Task(name) => self.one("SELECT length FROM task WHERE name = $1", &[&name])?,
            ChainOf::Session(name) => self.one("SELECT length FROM session WHERE name = $1", &[&name])?,
        };
        found.map(|row| unsigned(&row, 0)).transpose()
    }
}

impl PlanAudit for PostgresAudit {
    fn context(&self, seq: u64, visit: &mut dyn FnMut(StoredContext<'_>)) -> Result<bool> {
        let sql = "SELECT c.id, r.name, c.position, c.snapshot_no, s.content_hash, s.data, c.node_count, c.created_at,
                     c.metadata, c.salt
                   FROM context c LEFT JOIN roadmap r ON r.no = c.roadmap_no
                     LEFT JOIN snapshot s ON s.no = c.snapshot_no
                   WHERE c.seq = $1";
        let rows = self.rows(sql, &[&number(seq)])?;
        for row in &rows {
            // No row was written with a negative number, so that one is found to be wrong like any other.
            let number = |column| value(row, column).unwrap_or(-1);
            let (metadata, salt) = (value(row, 8), value(row, 9));
            let malformed = [(8, "metadata", metadata.is_some()), (9, "salt", salt.is_some())]
                .into_iter()
                .find(|(column, _, read)| !read && !is_null(row, *column));
            visit(StoredContext {
                id: number(0),
                roadmap_id: value(row, 1),
                position: number(2),
                snapshot_no: number(3),
                content_hash: value(row, 4),
                data: value(row, 5),
                node_count: number(6),
                created_at: value(row, 7).unwrap_or_default(),
                metadata,
                salt,
                malformed: malformed.map(|(_, name, _)| name),
            });
        }
        Ok(!rows.is_empty())
    }

    fn context_seq(&self, id: u64) -> Result<Option<u64>> {
        let found = self.one("SELECT seq FROM context WHERE id = $1", &[&number(id)])?;
        found.map(|row| unsigned(&row, 0)).transpose()
    }
}

impl MemoryAudit for PostgresAudit {
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()> {
        let sql = "WITH of AS (SELECT no FROM session WHERE name = $4 LIMIT 1)
                   SELECT seq, kind FROM (
                     SELECT seq, 0::BIGINT AS kind FROM event WHERE session_no = (SELECT no FROM of)
                     UNION ALL SELECT seq, 1 FROM brief WHERE session_no = (SELECT no FROM of)) AS both_kinds
                   WHERE (seq, kind) > ($1, $2) ORDER BY seq, kind LIMIT $3";
        self.pages(sql, (-1, i64::MAX), &[&session_id], &mut |row| {
            visit(unsigned(row, 0)?);
            Ok(true)
        })
    }

    fn event(&self, seq: u64, visit: &mut dyn FnMut(StoredEvent<'_>)) -> Result<bool> {
        let ahead = self.ahead.borrow_mut().event(number(seq));
        let rows = match ahead {
            Some(rows) => rows,
            None => self.rows(&format!("SELECT e.seq, {OF_EVENT} WHERE e.seq = $1"), &[&number(seq)])?,
        };
        for row in &rows {
            let number = |column| value(row, column).unwrap_or(-1);
            let key = value(row, 8);
            visit(StoredEvent {
                session_id: value(row, 1),
                position: number(2),
                turn: number(3),
                kind: value(row, 4).unwrap_or_default(),
                v: number(5),
                created_at: value(row, 6).unwrap_or_default(),
                body: value(row, 7),
                idempotency_key: key,
                malformed: (key.is_none() && !is_null(row, 8)).then_some("idempotency_key"),
            });
        }
        Ok(!rows.is_empty())
    }

    fn events(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(EventText<'_>) -> bool) -> Result<()> {
        let sql = "SELECT position, seq, turn, kind, v, created_at, body FROM event
                   WHERE session_no = (SELECT no FROM session WHERE name = $4 LIMIT 1) AND seq > 0 AND seq <= $5
                     AND (position, seq) > ($1, $2)
                   ORDER BY position, seq LIMIT $3";
        self.pages(sql, (-1, i64::MAX), &[&session_id, &number(to)], &mut |row| {
            // The entries of events are checked apart, so nothing here is held against the log.
            Ok(visit(EventText {
                seq: unsigned(row, 1)?,
                session_id,
                position: unsigned(row, 0)?,
                idempotency_key: None,
                entry_hash: &[],
                turn: unsigned(row, 2)?,
                kind: value(row, 3).unwrap_or_default(),
                v: unsigned(row, 4)?,
                created_at: value(row, 5).unwrap_or_default(),
                body: value(row, 6).unwrap_or_default(),
            }))
        })
    }

    fn folds(&self, visit: &mut dyn FnMut(StoredFold<'_>) -> Result<()>) -> Result<()> {
        // A state can be as long as a session is: one at a time.
        let sql = "SELECT f.session_no, s.name, f.seq, f.v, f.sha256, f.state
                   FROM fold f LEFT JOIN session s ON s.no = f.session_no WHERE f.session_no > $1
                   ORDER BY f.session_no LIMIT 1";
        let mut behind = i64::MIN;
        while let Some(row) = self.one(sql, &[&behind])? {
            behind = get(&row, 0)?;
            visit(StoredFold {
                session_no: behind,
                session_id: value(&row, 1),
                seq: value(&row, 2),
                v: value(&row, 3),
                sha256: value(&row, 4).unwrap_or_default(),
                state: value(&row, 5),
            })?;
        }
        Ok(())
    }

    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(i64, Option<&str>)) -> Result<bool> {
        let rows = self.rows("SELECT seq, data FROM body WHERE sha256 = $1", &[&&digest.0[..]])?;
        for row in &rows {
            visit(get(row, 0)?, value(row, 1));
        }
        Ok(!rows.is_empty())
    }

    fn brief(&self, seq: u64, visit: &mut dyn FnMut(StoredBrief<'_>)) -> Result<bool> {
        let sql = "SELECT b.id, s.name, b.node, b.turn, b.created_at, b.hash, b.data
                   FROM brief b LEFT JOIN session s ON s.no = b.session_no WHERE b.seq = $1";
        let rows = self.rows(sql, &[&number(seq)])?;
        for row in &rows {
            visit(StoredBrief {
                id: value(row, 0).unwrap_or_default(),
                session_id: value(row, 1),
                node: value(row, 2).unwrap_or_default(),
                turn: value(row, 3).unwrap_or(-1),
                created_at: value(row, 4).unwrap_or_default(),
                hash: value(row, 5).unwrap_or_default(),
                data: value(row, 6),
            });
        }
        Ok(!rows.is_empty())
    }

    fn brief_place(&self, id: &str) -> Result<Option<(u64, i64)>> {
        let found = self.one("SELECT seq, session_no FROM brief WHERE id = $1", &[&id])?;
        found.map(|row| Ok((unsigned(&row, 0)?, get(&row, 1)?))).transpose()
    }
}

impl RedactionAudit for PostgresAudit {
    fn redaction_target(&self, seq: u64) -> Result<Option<i64>> {
        let found = self.one("SELECT target_seq FROM redaction WHERE seq = $1", &[&number(seq)])?;
        found.map(|row| get(&row, 0)).transpose()
    }

    fn has_text(&self, seq: u64) -> Result<(bool, bool)> {
        let sql =
            "SELECT content IS NOT NULL, metadata IS NOT NULL OR salt IS NOT NULL FROM thought WHERE seq = $1
                   UNION ALL SELECT data IS NOT NULL, false FROM brief WHERE seq = $1";
        let found = self.one(sql, &[&number(seq)])?;
        found.map_or(Ok((false, false)), |row| Ok((get(&row, 0)?, get(&row, 1)?)))
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        let found = self.one("SELECT key FROM seal WHERE seq = $1", &[&number(seq)])?;
        found.map(|row| get(&row, 0)).transpose()
    }
}

impl IndexAudit for PostgresAudit {
    fn derived(&self) -> Result<(i64, u64)> {
        let sql = "SELECT (SELECT max(through) FROM derived), (SELECT count(*) FROM action)";
        let found = self.one(sql, &[])?;
        found.map_or(Ok((-1, 0)), |row| Ok((value(&row, 0).unwrap_or(-1), unsigned(&row, 1)?)))
    }

    fn action_is_listed(&self, action_id: &str, seq: u64) -> Result<bool> {
        if let Some(listed) = self.ahead.borrow().action_is_listed(number(seq)) {
            return Ok(listed);
        }
        let sql = "SELECT 1 FROM action WHERE action_id = $1 AND seq = $2";
        Ok(self.one(sql, &[&action_id, &number(seq)])?.is_some())
    }

    fn heads_schema_and_documents(&self, visit: &mut dyn FnMut(Finding)) -> Result<()> {
        // Where the schema was changed, the others may fail for that reason.
        let schema = self.wait(check::schema(&self.link, visit));
        let heads = self.wait(check::heads(&self.link, visit));
        let documents = self.wait(check::documents(&self.link, visit));
        schema.and(heads).and(documents)
    }

    fn structures(&self, visit: &mut dyn FnMut(Finding)) -> Result<Vec<String>> {
        self.wait(structures::check(&self.link, visit))
    }

    fn search_index(&self, visit: &mut dyn FnMut(Finding)) -> Result<()> {
        self.wait(check::search_indexes(&self.link, visit))
    }
}

impl ReviewAudit for PostgresAudit {
    fn review(&self, seq: u64) -> Result<Option<StoredReview>> {
        let sql = format!("{} WHERE r.seq = $1", review::REVIEW);
        self.one(&sql, &[&number(seq)])?.as_ref().map(review::read).transpose()
    }

    fn review_places(&self) -> Result<Vec<(u64, u64)>> {
        let rows = self.rows("SELECT seq, target_seq FROM review ORDER BY seq", &[])?;
        rows.iter().map(review::places).collect()
    }
}
