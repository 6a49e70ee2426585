//! Reading for verification: one consistent state, every column as it is stored.
//!
//! Whoever is visited may ask for something else meanwhile, on the same connection; so rows come in pages, each read to its
//! end before it is shown. A page is short enough to be held, and the next one begins behind the last row of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Record};
use futures::future::try_join_all;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connect::{Link, Query, Values};
use super::error::store_error;
use super::read::SHORT_ROWS;
use super::record::{self, Ask, IN_RANGE, LEAVES, Windows};
use super::stored::{get, number, sha, unsigned, value};
use super::wait::wait;
use super::{PostgresStore, Result, check, context, structures};
use crate::store::tables;
use crate::store::{
    Audit, ChainKey, ChainOf, ChainSums, Derived, Finding, IndexAudit, LogAudit, LogHead, MemoryAudit,
    PlanAudit, RecordReader, RedactionAudit, ReviewAudit, StoreError, Stored, StoredBody, StoredFold,
    ThoughtAudit, Totals, Visit,
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
        let audit =
            |link| PostgresAudit { link, runtime: self.runtime().clone(), listed: RefCell::default() };
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
    /// Whether the actions of the thoughts that are being visited are listed, by position.
    listed: RefCell<HashMap<u64, bool>>,
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

    /// Visits the rows of a query in its order. The query's first two columns are its order; it begins behind `$1` and
    /// `$2`, and gives `$3` rows.
    fn each(
        &self,
        sql: &str,
        behind: (i64, i64),
        values: &Values<'_>,
        visit: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.pages(sql, behind, values, &mut |rows| {
            rows.iter().try_for_each(&mut *visit).map(|()| ControlFlow::Continue(()))
        })
    }

    /// Like [`PostgresAudit::each`], a page at a time, until the visitor breaks off.
    fn pages(
        &self,
        sql: &str,
        mut behind: (i64, i64),
        values: &Values<'_>,
        visit: &mut dyn FnMut(&[Row]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let (mut limit, most) = ROWS;
        loop {
            let mut all: Vec<&(dyn ToSql + Sync)> = vec![&behind.0, &behind.1, &limit];
            all.extend(values);
            let rows = self.rows(sql, &all)?;
            let done = visit(&rows)?.is_break() || (rows.len() as i64) < limit;
            let Some(last) = rows.last().filter(|_| !done) else { return Ok(()) };
            behind = (get(last, 0)?, get(last, 1)?);
            let bytes: usize = rows.iter().map(Row::raw_size_bytes).sum();
            limit = if bytes > PAGE_BYTES { (limit / 4).max(1) } else { (limit * 2).min(most) };
        }
    }

    /// Visits records of one kind, in the order of a column and of the log: `condition` follows their selection.
    fn ordered(
        &self,
        kind: EntryKind,
        order: &str,
        condition: &str,
        values: &Values<'_>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let select = tables::select(kind, true);
        let columns = select.strip_prefix("SELECT ").unwrap_or_default();
        let sql = format!(
            "SELECT {order}, t.seq, {columns} WHERE {condition} AND ({order}, t.seq) > ($1, $2)
             ORDER BY {order}, t.seq LIMIT $3"
        );
        self.pages(&sql, (i64::MIN, i64::MIN), values, &mut |rows| {
            record::visit_rows(&mut |queries| self.several(queries), kind, rows, 2, &mut *visit)
        })
    }

    fn several(&self, queries: &[Query<'_>]) -> Result<Vec<Vec<Row>>> {
        self.wait(self.link.several(queries))
    }

    /// Whether the action of each thought among these is listed, by the thought's position.
    fn listed(&self, records: &[Stored<'_>]) -> Result<HashMap<u64, bool>> {
        let acted = |stored: &Stored<'_>| match &stored.record {
            Ok(Record { entry: Entry::Thought(thought), .. }) => {
                Some((thought.action_id.as_ref()?.to_string(), number(stored.seq)))
            }
            _ => None,
        };
        let (actions, seqs): (Vec<String>, Vec<i64>) = records.iter().filter_map(acted).unzip();
        if seqs.is_empty() {
            return Ok(HashMap::new());
        }
        let sql =
            "SELECT seq, EXISTS (SELECT 1 FROM action a WHERE a.action_id = t.action_id AND a.seq = t.seq)
                   FROM unnest($1::text[], $2::bigint[]) AS t (action_id, seq)";
        let rows = self.rows(sql, &[&actions, &seqs])?;
        rows.iter().map(|row| Ok((unsigned(row, 0)?, get(row, 1)?))).collect()
    }
}

impl RecordReader for PostgresAudit {
    fn records(&self, from: u64, to: u64, visit: Visit<'_>) -> Result<()> {
        let ask: Ask<'_> = &mut |queries| self.several(queries);
        let mut windows = Windows::new(from, to);
        while let Some(window) = windows.next(ask)? {
            let records = window.records(ask)?;
            *self.listed.borrow_mut() = self.listed(&records)?;
            if records.into_iter().try_for_each(&mut *visit).is_break() {
                break;
            }
        }
        Ok(())
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

    fn edge(&self) -> Result<Vec<u8>> {
        let found = self.one("SELECT edge FROM log", &[])?;
        Ok(found.and_then(|row| value(&row, 0)).unwrap_or_default())
    }

    fn leaf_hashes(&self, from: u64, to: u64, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let sql = format!("SELECT seq, leaf_hash FROM {} WHERE {IN_RANGE} ORDER BY seq LIMIT $3", *LEAVES);
        let mut from = number(from);
        loop {
            let rows = self.rows(&sql, &[&from, &number(to), &SHORT_ROWS])?;
            for row in &rows {
                visit(unsigned(row, 0)?, value(row, 1).unwrap_or_default());
            }
            match rows.last() {
                Some(last) if rows.len() as i64 == SHORT_ROWS => from = get::<i64>(last, 0)? + 1,
                _ => return Ok(()),
            }
        }
    }

    fn tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT hashes FROM tile WHERE level = $1 AND idx = $2";
        let found = self.one(sql, &[&i32::from(level), &number(index)])?;
        Ok(found.map(|row| value(&row, 0).unwrap_or_default()))
    }

    fn newest(&self) -> Result<Option<u64>> {
        let found = self.one(&format!("SELECT max(seq) FROM {}", *LEAVES), &[])?;
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
        self.each(sql, (i64::MIN, 0), &[], &mut |row| {
            visit(get(row, 0)?, value(row, 2).unwrap_or_default());
            Ok(())
        })
    }

    fn statements(&self, kind: EntryKind, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let sql = "SELECT seq, 0::BIGINT, leaf FROM entry WHERE kind = $4 AND seq > $1 AND $2 = 0::BIGINT
                   ORDER BY seq LIMIT $3";
        self.each(sql, (-1, 0), &[&kind.as_str()], &mut |row| {
            visit(unsigned(row, 0)?, value::<&str>(row, 2).unwrap_or_default().as_bytes());
            Ok(())
        })
    }
}

impl ThoughtAudit for PostgresAudit {
    fn thought_place(&self, id: &str) -> Result<Option<u64>> {
        let found = self.one("SELECT seq FROM thought WHERE id = $1", &[&id])?;
        found.map(|row| unsigned(&row, 0)).transpose()
    }

    fn chain(&self, of: ChainOf<'_>, visit: Visit<'_>) -> Result<()> {
        let (order, condition, name) = match of {
            ChainOf::Task(name) => {
                ("t.position", "t.task_no = (SELECT no FROM task WHERE name = $4 LIMIT 1)", name)
            }
            ChainOf::Session(name) => {
                ("t.step_index", "t.session_no = (SELECT no FROM session WHERE name = $4 LIMIT 1)", name)
            }
        };
        self.ordered(EntryKind::Thought, order, condition, &[&name], visit)
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

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        let found = match of {
            ChainOf::Task(name) => self.one("SELECT length FROM task WHERE name = $1", &[&name])?,
            ChainOf::Session(name) => self.one("SELECT length FROM session WHERE name = $1", &[&name])?,
        };
        found.map(|row| unsigned(&row, 0)).transpose()
    }
}

impl PlanAudit for PostgresAudit {
    fn context_seq(&self, id: u64) -> Result<Option<u64>> {
        let found = self.one("SELECT seq FROM context WHERE id = $1", &[&number(id)])?;
        found.map(|row| unsigned(&row, 0)).transpose()
    }

    fn sharing(&self, hash: &Sha) -> Result<Vec<u64>> {
        let rows = self.wait(self.link.all(context::SHARING, &[&&hash.0[..]]))?;
        rows.iter().map(|row| unsigned(row, 1)).collect()
    }
}

impl MemoryAudit for PostgresAudit {
    fn memory_of(&self, session_id: &str, visit: &mut dyn FnMut(u64)) -> Result<()> {
        let sql = "WITH of AS (SELECT no FROM session WHERE name = $4 LIMIT 1)
                   SELECT seq, kind FROM (
                     SELECT seq, 0::BIGINT AS kind FROM event WHERE session_no = (SELECT no FROM of)
                     UNION ALL SELECT seq, 1 FROM brief WHERE session_no = (SELECT no FROM of)) AS both_kinds
                   WHERE (seq, kind) > ($1, $2) ORDER BY seq, kind LIMIT $3";
        self.each(sql, (-1, i64::MAX), &[&session_id], &mut |row| {
            visit(unsigned(row, 0)?);
            Ok(())
        })
    }

    fn events(&self, session_id: &str, to: u64, visit: Visit<'_>) -> Result<()> {
        let condition =
            "t.session_no = (SELECT no FROM session WHERE name = $4 LIMIT 1) AND t.seq > 0 AND t.seq <= $5";
        self.ordered(EntryKind::Event, "t.position", condition, &[&session_id, &number(to)], visit)
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

    fn body(&self, digest: &Sha, visit: &mut dyn FnMut(StoredBody<'_>)) -> Result<bool> {
        let rows = self.rows("SELECT seq, data, redaction FROM body WHERE sha256 = $1", &[&&digest.0[..]])?;
        for row in &rows {
            visit(StoredBody { first: get(row, 0)?, data: value(row, 1), redaction: value(row, 2) });
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

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        let found = self.one("SELECT key FROM seal WHERE seq = $1", &[&number(seq)])?;
        found.map(|row| get(&row, 0)).transpose()
    }
}

impl IndexAudit for PostgresAudit {
    fn derived(&self) -> Result<Derived> {
        let sql = "SELECT (SELECT max(through) FROM derived), (SELECT count(*) FROM action)";
        self.one(sql, &[])?.map_or(Ok(Derived::default()), |row| {
            let through = value(&row, 0).unwrap_or(-1);
            Ok(Derived { through, chained: through, actions: unsigned(&row, 1)? })
        })
    }

    /// Unique indexes take the place of these tables: a page of an index that a batch touches is written to PostgreSQL's log
    /// as a small change, and in whole only once after each of its checkpoints.
    fn chain_sums(&self, _: &ChainKey) -> Result<Option<ChainSums>> {
        Ok(None)
    }

    fn chains(&self, _: &mut dyn FnMut(Finding)) -> Result<()> {
        Ok(())
    }

    fn action_is_listed(&self, action_id: &str, seq: u64) -> Result<bool> {
        if let Some(listed) = self.listed.borrow().get(&seq).copied() {
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
    fn review_places(&self) -> Result<Vec<(u64, u64)>> {
        let rows = self.rows("SELECT seq, target_seq FROM review ORDER BY seq", &[])?;
        rows.iter().map(|row| Ok((unsigned(row, 0)?, unsigned(row, 1)?))).collect()
    }
}
