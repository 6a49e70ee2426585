//! Records as rows: writing them, and reading them back in the order of the log.

use std::collections::HashMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use cairn_core::Sha;
use cairn_core::entry::{Column, Entry, EntryKind, Record};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::append::PostgresAppend;
use super::connect::{Query, Values};
use super::read::{FIRST_PAGE, next_page};
use super::redact::{REDACTIONS, redaction_leaf};
use super::row::{at, get, number};
use super::{PostgresStore, Result};
use crate::store::tables::{Table, table, tables, union};
use crate::store::{Keys, RecordAppend, RecordReader, StoreError, Stored, ThoughtAppend, Visit, statement};

/// Positions of a first window, and of the longest.
const ROWS: (i64, i64) = (64, 1024);
/// Bytes that a window should have. Rows can be as long as contents are.
const WINDOW_BYTES: usize = 1 << 20;
/// One record in so many of a window can be a snapshot, whose content is longer than any other.
const SNAPSHOTS: i64 = 64;

/// Entries that have no table of their own.
const STATEMENTS: &str = "SELECT t.seq, t.leaf_hash, t.kind, t.leaf FROM entry t";

/// Every position of the log that holds a record, and the hash of its entry: a table named `leaf`.
pub static LEAVES: LazyLock<String> = LazyLock::new(|| format!("({}) AS leaf", union("seq, leaf_hash", "")));

/// The positions from `$1` on and before `$2`. An index that was damaged leads to rows of other positions; no index has
/// the sum, so that is looked at in the row.
pub const IN_RANGE: &str = "seq >= $1 AND seq < $2 AND seq + 0 >= $1 AND seq + 0 < $2";

/// The records of one table in a window, and the query for them.
struct Lane {
    table: Option<&'static Table>,
    sql: String,
}

static LANES: LazyLock<Vec<Lane>> = LazyLock::new(|| {
    let lane = |table, select: &str| {
        let range = IN_RANGE.replace("seq", "t.seq");
        let sql = format!("{select} WHERE {range} ORDER BY t.seq LIMIT $3");
        Lane { table, sql }
    };
    let of_tables = tables().iter().map(|table| lane(Some(table), &table.select(true)));
    of_tables.chain([lane(None, STATEMENTS)]).collect()
});

/// Sends queries at once, over the connection that its owner has, and returns the rows of each.
pub type Ask<'a> = &'a mut dyn FnMut(&[Query<'_>]) -> Result<Vec<Vec<Row>>>;

/// A value of a column. One of a type that no record has becomes bytes that no field accepts.
struct Cell<'a>(Column<'a>);

impl Cell<'_> {
    const UNREADABLE: Cell<'static> = Cell(Column::Bytes(std::borrow::Cow::Borrowed(&[])));
}

impl<'a> FromSql<'a> for Cell<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Cell<'a>, Box<dyn Error + Sync + Send>> {
        Ok(Cell(match *kind {
            Type::INT8 => Column::Number(i64::from_sql(kind, raw)?),
            // The type of a length.
            Type::INT4 => Column::Number(i32::from_sql(kind, raw)?.into()),
            Type::TEXT => Column::Text(<&str>::from_sql(kind, raw)?.into()),
            Type::BYTEA => Column::Bytes(raw.into()),
            _ => return Ok(Cell::UNREADABLE),
        }))
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Cell<'a>, Box<dyn Error + Sync + Send>> {
        Ok(Cell(Column::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn column(row: &Row, index: usize) -> Column<'_> {
    row.try_get(index).unwrap_or(Cell::UNREADABLE).0
}

/// Reads a row of [`Table::select`], or of [`STATEMENTS`] without a table; `first` is its first column.
pub fn stored<'r>(table: Option<&Table>, row: &'r Row, first: usize) -> Result<Stored<'r>> {
    let leaf_hash = match column(row, first + 1) {
        Column::Bytes(bytes) => (&*bytes).try_into().ok().map(Sha),
        _ => None,
    };
    let (kind, keys, record) = match table {
        Some(table) => {
            let mut index = first + 1;
            let (keys, record) = table.read(&mut || {
                index += 1;
                column(row, index)
            });
            (Some(table.kind), keys, record)
        }
        None => {
            let text = |column| row.try_get::<_, &str>(column).unwrap_or_default();
            let (kind, record) = statement(text(first + 2), text(first + 3).as_bytes());
            (kind, Keys::default(), record)
        }
    };
    Ok(Stored { seq: number(row, first)?, kind, leaf_hash, keys, record, redaction: None })
}

/// Adds the entries of their redactions to records that lack a text or have it sealed.
fn add_redactions(ask: Ask<'_>, records: &mut [Stored<'_>]) -> Result<()> {
    let is_blank = |stored: &&Stored<'_>| stored.record.as_ref().is_ok_and(Record::is_blank);
    let blank: Vec<i64> = records.iter().filter(is_blank).map(|stored| at(stored.seq)).collect();
    if blank.is_empty() {
        return Ok(());
    }
    let mut found = HashMap::new();
    for row in ask(&[(REDACTIONS, &[&blank])])?.iter().flatten() {
        found.insert(number(row, 0)?, redaction_leaf(row, 1)?);
    }
    for record in records {
        record.redaction = found.remove(&record.seq).flatten();
    }
    Ok(())
}

/// Visits rows of [`Table::select`] that begin at column `first`, until the visitor breaks off.
pub fn visit_rows<'r>(
    ask: Ask<'_>,
    kind: EntryKind,
    rows: impl IntoIterator<Item = &'r Row>,
    first: usize,
    visit: Visit<'_>,
) -> Result<ControlFlow<()>> {
    let table = table(kind);
    let mut records = rows.into_iter().map(|row| stored(table, row, first)).collect::<Result<Vec<_>>>()?;
    add_redactions(ask, &mut records)?;
    Ok(records.into_iter().try_for_each(visit))
}

/// Runs a query of [`Table::select`], until the visitor breaks off.
pub fn each(ask: Ask<'_>, kind: EntryKind, sql: &str, values: &Values<'_>, visit: Visit<'_>) -> Result<()> {
    let rows = ask(&[(sql, values)])?;
    visit_rows(ask, kind, rows.iter().flatten(), 0, visit).map(drop)
}

/// Like [`each`], a page at a time: the query gives `$2` records behind position `$1`, in the order of the log.
pub fn pages(
    ask: Ask<'_>,
    kind: EntryKind,
    sql: &str,
    mut after: i64,
    values: &Values<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    let mut page = FIRST_PAGE;
    loop {
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&after, &page];
        all.extend(values);
        let rows = ask(&[(sql, &all)])?.pop().unwrap_or_default();
        let done = visit_rows(ask, kind, &rows, 0, visit)?.is_break() || (rows.len() as i64) < page;
        let Some(last) = rows.last().filter(|_| !done) else { return Ok(()) };
        after = get(last, 0)?;
        page = next_page(page, rows.iter().map(Row::raw_size_bytes).sum());
    }
}

/// Goes through a range of the log, one window after the other.
pub struct Windows {
    from: i64,
    to: i64,
    /// Positions of the next window.
    rows: i64,
}

/// All records of some positions of the log.
pub struct Window {
    /// The rows of each of [`LANES`].
    lanes: Vec<Vec<Row>>,
    /// Where the next window begins. Rows from there on are not all here.
    end: i64,
}

impl Windows {
    pub fn new(from: u64, to: u64) -> Windows {
        Windows { from: at(from), to: at(to), rows: ROWS.0 }
    }

    /// The next window in which records are; none at the end.
    pub fn next(&mut self, ask: Ask<'_>) -> Result<Option<Window>> {
        while self.from < self.to {
            let window = self.read(ask)?;
            self.from = window.end;
            if window.lanes.iter().any(|rows| !rows.is_empty()) {
                return Ok(Some(window));
            }
            // One step passes over positions without rows: there can be any number of them.
            let sql = format!("SELECT seq FROM {} WHERE {IN_RANGE} ORDER BY seq LIMIT 1", *LEAVES);
            let found = ask(&[(&sql, &[&self.from, &self.to])])?;
            self.from = match found.iter().flatten().next() {
                Some(row) => get(row, 0)?,
                None => self.to,
            };
        }
        Ok(None)
    }

    fn read(&mut self, ask: Ask<'_>) -> Result<Window> {
        let (rows, snapshots) = (self.rows, (self.rows / SNAPSHOTS).max(1));
        let mut end = self.from.saturating_add(rows).min(self.to);
        let limit = |lane: &Lane| match lane.table {
            Some(table) if table.kind == EntryKind::Snapshot => &snapshots,
            _ => &rows,
        };
        let values: Vec<[&(dyn ToSql + Sync); 3]> =
            LANES.iter().map(|lane| [&self.from as _, &end as _, limit(lane) as _]).collect();
        let queries: Vec<Query<'_>> =
            LANES.iter().zip(&values).map(|(lane, values)| (lane.sql.as_str(), &values[..])).collect();
        let lanes = ask(&queries)?;
        for (lane, found) in LANES.iter().zip(&lanes) {
            // Behind the last row of a full page there may be more.
            if let Some(last) = found.last().filter(|_| found.len() as i64 >= *limit(lane)) {
                end = end.min(get::<i64>(last, 0)? + 1);
            }
        }
        let bytes: usize = lanes.iter().flatten().map(Row::raw_size_bytes).sum();
        self.rows = if bytes > WINDOW_BYTES { (rows / 4).max(1) } else { (rows * 2).min(ROWS.1) };
        Ok(Window { lanes, end })
    }
}

impl Window {
    /// Its records, in the order of the log.
    pub fn records(&self, ask: Ask<'_>) -> Result<Vec<Stored<'_>>> {
        let mut records = Vec::with_capacity(self.lanes.iter().map(Vec::len).sum());
        for (lane, rows) in LANES.iter().zip(&self.lanes) {
            for row in rows {
                let stored = stored(lane.table, row, 0)?;
                if at(stored.seq) < self.end {
                    records.push(stored);
                }
            }
        }
        records.sort_by_key(|record| record.seq);
        add_redactions(ask, &mut records)?;
        Ok(records)
    }
}

/// Visits the records in a range of the log, in order.
fn records(ask: Ask<'_>, from: u64, to: u64, visit: Visit<'_>) -> Result<()> {
    let mut windows = Windows::new(from, to);
    while let Some(window) = windows.next(ask)? {
        if window.records(ask)?.into_iter().try_for_each(&mut *visit).is_break() {
            break;
        }
    }
    Ok(())
}

impl RecordReader for PostgresStore {
    fn records(&self, from: u64, to: u64, visit: Visit<'_>) -> Result<()> {
        records(&mut |queries| self.several(queries), from, to, visit)
    }
}

impl PostgresAppend {
    /// Whether a record of that kind has that id.
    pub fn has_id(&mut self, kind: EntryKind, id: &str) -> Result<bool> {
        if self.batch.has_id(kind, id) {
            return Ok(true);
        }
        let Some(table) = table(kind) else { return Ok(false) };
        let sql = format!("SELECT 1 FROM {} WHERE id = $1", table.name);
        Ok(self.one(&sql, &[&id])?.is_some())
    }
}

impl RecordAppend for PostgresAppend {
    fn insert(&mut self, record: &Record<'_>, keys: &Keys, leaf_hash: &Sha) -> Result<()> {
        // Ids are looked up before the rows are written, where a collision would end the transaction. Answers that were
        // read ahead are no longer true once the record is there.
        let entry = &record.entry;
        let is_taken = match entry {
            Entry::Thought(thought) => {
                let is_taken = self.has_thought(&thought.id)?;
                self.found.parent(&thought.id);
                if let Some(key) = &thought.idempotency_key {
                    self.found.is_free(key);
                }
                is_taken
            }
            Entry::Event(event) => {
                if let Some(key) = &event.idempotency_key {
                    self.found.is_free_for_event(key);
                }
                false
            }
            Entry::Brief(brief) => {
                self.found.brief(&brief.brief_id);
                self.has_id(EntryKind::Brief, &brief.brief_id)?
            }
            Entry::Review(review) => self.has_id(EntryKind::Review, &review.review_id)?,
            Entry::Snapshot(snapshot) => {
                self.head.contexts = self.head.contexts.max(snapshot.context_id);
                false
            }
            Entry::Genesis(_) | Entry::Key(_) | Entry::Redaction(_) | Entry::Continuation(_) => false,
        };
        if is_taken {
            return Err(StoreError::Taken("id"));
        }
        self.first.get_or_insert((entry.seq(), *leaf_hash));
        self.bytes += record.parts.len();
        self.batch.record(record, keys, leaf_hash);
        Ok(())
    }

    fn record(&mut self, seq: u64, visit: Visit<'_>) -> Result<()> {
        self.flush()?;
        records(&mut |queries| self.several(queries), seq, seq + 1, visit)
    }
}
