//! Records as rows: writing them, and reading them back in the order of the log.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use cairn_core::Sha;
use cairn_core::entry::{Column, Entry, EntryKind, Record};
use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Params, Row, Rows, params};

use super::append::SqliteAppend;
use super::error::store_error;
use super::redact;
use crate::store::tables::{Table, table, tables, union};
use crate::store::{Keys, RecordAppend, Result, Stored, Visit, statement};

/// Entries that have no table of their own.
const STATEMENTS: &str = "SELECT t.seq, t.leaf_hash, t.leaf, t.kind FROM entry t";

/// The leaf hashes in a range of the log, with their positions.
pub static LEAF_HASHES: LazyLock<String> =
    LazyLock::new(|| union("seq, leaf_hash", "WHERE seq >= ?1 AND seq < ?2") + " ORDER BY seq");

fn column<'r>(row: &'r Row<'r>, index: usize) -> Column<'r> {
    match row.get_ref(index) {
        Ok(ValueRef::Null) => Column::Null,
        Ok(ValueRef::Integer(number)) => Column::Number(number),
        Ok(ValueRef::Text(text)) => match std::str::from_utf8(text) {
            Ok(text) => Column::Text(text.into()),
            Err(_) => Column::Bytes(text.into()),
        },
        Ok(ValueRef::Blob(bytes)) => Column::Bytes(bytes.into()),
        // No column of a record holds one.
        Ok(ValueRef::Real(_)) | Err(_) => Column::Bytes((&[]).into()),
    }
}

/// Reads a row of [`Table::select`], or of [`STATEMENTS`] without a table.
pub fn stored<'r>(table: Option<&Table>, row: &'r Row<'r>) -> rusqlite::Result<Stored<'r>> {
    let leaf_hash = match column(row, 1) {
        Column::Bytes(bytes) => (&*bytes).try_into().ok().map(Sha),
        _ => None,
    };
    let (kind, keys, record) = match table {
        Some(table) => {
            let mut index = 1;
            let (keys, record) = table.read(&mut || {
                index += 1;
                column(row, index)
            });
            (Some(table.kind), keys, record)
        }
        None => {
            let word = row.get_ref(3)?.as_str().unwrap_or_default();
            let (kind, record) = statement(word, row.get_ref(2)?.as_bytes().unwrap_or_default());
            (kind, Keys::default(), record)
        }
    };
    Ok(Stored { seq: row.get(0)?, kind, leaf_hash, keys, record, redaction: None })
}

/// Reads a row of [`Table::select`] for readers.
pub fn read<'r>(connection: &Connection, kind: EntryKind, row: &'r Row<'r>) -> rusqlite::Result<Stored<'r>> {
    with_redaction(connection, stored(table(kind), row)?)
}

/// Runs a query of [`Table::select`] for readers, until the visitor breaks off.
pub fn each(
    connection: &Connection,
    kind: EntryKind,
    sql: &str,
    values: impl Params,
    visit: Visit<'_>,
) -> rusqlite::Result<ControlFlow<()>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if visit(read(connection, kind, row)?).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Adds the entry of its redaction to a record that lacks a text or has it sealed.
fn with_redaction<'r>(connection: &Connection, stored: Stored<'r>) -> rusqlite::Result<Stored<'r>> {
    let is_blank = stored.record.as_ref().is_ok_and(Record::is_blank);
    let redaction = if is_blank { redact::redaction(connection, stored.seq)? } else { None };
    Ok(Stored { redaction, ..stored })
}

/// The queries of [`records`]: one for each table, and one for entries without a table.
static LANES: LazyLock<Vec<(Option<&'static Table>, String)>> = LazyLock::new(|| {
    let range = "WHERE t.seq >= ?1 AND t.seq < ?2 ORDER BY t.seq";
    let of_tables = tables().iter().map(|table| (Some(table), format!("{} {range}", table.select(true))));
    of_tables.chain([(None, format!("{STATEMENTS} {range}"))]).collect()
});

/// The next record of one table.
struct Lane<'s> {
    table: Option<&'static Table>,
    rows: Rows<'s>,
    /// Where it stands; none at the end.
    seq: Option<u64>,
}

impl Lane<'_> {
    fn advance(&mut self) -> rusqlite::Result<()> {
        self.rows.advance()?;
        self.seq = self.rows.get().map(|row| row.get(0)).transpose()?;
        Ok(())
    }
}

/// Visits the records in a range of the log, in order: those of all tables, merged by their positions.
pub fn records(connection: &Connection, from: u64, to: u64, visit: Visit<'_>) -> rusqlite::Result<()> {
    let mut statements = Vec::with_capacity(LANES.len());
    for (table, sql) in LANES.iter() {
        statements.push((*table, connection.prepare_cached(sql)?));
    }
    let [from, to] = [from, to].map(|seq| i64::try_from(seq).unwrap_or(i64::MAX));
    let mut lanes = Vec::with_capacity(statements.len());
    for (table, statement) in &mut statements {
        let mut lane = Lane { table: *table, rows: statement.query([from, to])?, seq: None };
        lane.advance()?;
        lanes.push(lane);
    }
    while let Some(lane) = lanes.iter_mut().filter(|lane| lane.seq.is_some()).min_by_key(|lane| lane.seq) {
        if let Some(row) = lane.rows.get()
            && visit(with_redaction(connection, stored(lane.table, row)?)?).is_break()
        {
            break;
        }
        lane.advance()?;
    }
    Ok(())
}

/// The statements that insert into each table.
static INSERTS: LazyLock<Vec<(EntryKind, String)>> = LazyLock::new(|| {
    let insert = |table: &Table| {
        let columns: Vec<&str> = table.written().into_iter().map(|(name, _)| name).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        format!("INSERT INTO {} ({}) VALUES ({})", table.name, columns.join(", "), places.join(", "))
    };
    tables().iter().map(|table| (table.kind, insert(table))).collect()
});

fn insert_sql(kind: EntryKind) -> &'static str {
    INSERTS.iter().find(|(of, _)| *of == kind).map_or("", |(_, sql)| sql)
}

/// Inserts into the table of thoughts, which most records go to.
pub fn insert_thought(connection: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    connection.prepare_cached(insert_sql(EntryKind::Thought))
}

fn insert(
    statement: &mut CachedStatement<'_>,
    table: &Table,
    record: &Record<'_>,
    keys: &Keys,
    leaf_hash: &Sha,
) -> rusqlite::Result<()> {
    let (mut place, mut bound) = (0, Ok(()));
    table.values(record, keys, leaf_hash, &mut |value| {
        place += 1;
        let value = match &value {
            Column::Null => ValueRef::Null,
            Column::Number(number) => ValueRef::Integer(*number),
            Column::Text(text) => ValueRef::Text(text.as_bytes()),
            Column::Bytes(bytes) => ValueRef::Blob(bytes),
        };
        if bound.is_ok() {
            bound = statement.raw_bind_parameter(place, ToSqlOutput::Borrowed(value));
        }
    });
    bound?;
    statement.raw_execute().map(drop)
}

impl RecordAppend for SqliteAppend<'_> {
    fn insert(&mut self, record: &Record<'_>, keys: &Keys, leaf_hash: &Sha) -> Result<()> {
        let kind = record.entry.kind();
        let inserted = match table(kind) {
            Some(table) if kind == EntryKind::Thought => {
                insert(&mut self.thought, table, record, keys, leaf_hash)
            }
            Some(table) => self
                .transaction
                .prepare_cached(insert_sql(kind))
                .and_then(|mut statement| insert(&mut statement, table, record, keys, leaf_hash)),
            None => insert_statement(self.transaction, &record.entry, leaf_hash),
        };
        inserted.map_err(store_error)
    }

    fn record(&mut self, seq: u64, visit: Visit<'_>) -> Result<()> {
        records(self.transaction, seq, seq + 1, visit).map_err(store_error)
    }
}

/// Inserts an entry that has no table of its own.
pub fn insert_statement(connection: &Connection, entry: &Entry<'_>, leaf_hash: &Sha) -> rusqlite::Result<()> {
    let mut leaf = Vec::new();
    entry.write(&mut leaf);
    let leaf = String::from_utf8_lossy(&leaf);
    connection
        .prepare_cached("INSERT INTO entry (seq, kind, leaf, leaf_hash) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![entry.seq(), entry.kind().as_str(), leaf, &leaf_hash.0[..]])?;
    if let Entry::Redaction(redaction) = entry {
        connection
            .prepare_cached("INSERT INTO redaction (seq, target_seq) VALUES (?1, ?2)")?
            .execute([redaction.seq, redaction.target_seq])?;
    }
    Ok(())
}
