//! Our two full-text indexes, and the tables that FTS5 keeps them in, read without FTS5.
//!
//! FTS5's own check compares a checksum that two different indexes can share, and walks the index from end to end, while
//! a lookup takes short cuts: the list of segments, the first term of each page (`…_idx`), the skip lists. So the pages
//! are read here, every short cut is held against them, and the words are compared with those of the texts. The layout
//! is documented at the head of SQLite's `fts5_index.c` and is stable as part of its file format.

mod compare;
mod merge;
mod segment;

use cairn_core::Sha;
use rusqlite::Connection;

pub use compare::{Difference, compare};

/// A full-text index.
pub struct Index {
    /// The virtual table.
    pub table: &'static str,
    /// What it indexes.
    pub source: &'static str,
    /// The row id of that.
    pub rowid: &'static str,
    /// The columns of both.
    pub columns: &'static str,
    /// The column of `derived` that holds the hash of its list of segments.
    pub noted: &'static str,
    /// What it holds, in words.
    pub what: &'static str,
}

/// Thoughts.
pub const SEARCH: Index = Index {
    table: "search",
    source: "search_source",
    rowid: "seq",
    columns: "content, metadata, scope",
    noted: "segments",
    what: "thoughts",
};

/// Nodes of the current plans.
pub const RAG_SEARCH: Index = Index {
    table: "rag_search",
    source: "rag_source",
    rowid: "no",
    columns: "id, label, scope, phase",
    noted: "rag_segments",
    what: "nodes",
};

/// Notes what an index says of its own parts, so that a change of it is seen.
pub fn note_parts(connection: &Connection, index: &Index) -> rusqlite::Result<()> {
    let Index { table, noted, .. } = index;
    // FTS5 holds its newest words in memory until it has to write them; reading makes it.
    connection.prepare_cached(&format!("INSERT INTO {table} ({table}) VALUES ('flush')"))?.execute([])?;
    let parts = Sha::of(&structure(connection, index)?);
    connection.prepare_cached(&format!("UPDATE derived SET {noted} = ?1"))?.execute([parts.0]).map(drop)
}

/// Why an index cannot be compared with the texts.
#[derive(Debug)]
pub enum Flaw {
    /// SQLite reported something.
    Sql(rusqlite::Error),
    /// A page or a short cut is not what FTS5 writes; says which.
    Unsound(String),
}

impl From<rusqlite::Error> for Flaw {
    fn from(error: rusqlite::Error) -> Flaw {
        Flaw::Sql(error)
    }
}

fn unsound<T>(message: impl Into<String>) -> Result<T, Flaw> {
    Err(Flaw::Unsound(message.into()))
}

/// The version of the layout that FTS5 notes in `…_config`, where nothing else stands.
pub const FORMAT: i64 = 4;
/// Row ids of the two records of `…_data` that are not pages: totals, and the list of segments.
const TOTALS: i64 = 1;
const SEGMENTS: i64 = 10;

/// The record that lists the segments.
pub fn structure(connection: &Connection, index: &Index) -> rusqlite::Result<Vec<u8>> {
    record(connection, index, SEGMENTS)
}

fn record(connection: &Connection, index: &Index, id: i64) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached(&format!("SELECT block FROM {}_data WHERE id = ?1", index.table))?
        .query_row([id], |row| row.get(0))
}

/// SQLite's variable-length integers: seven bits a byte, the ninth byte whole.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value: u64 = 0;
    for (index, byte) in bytes.iter().enumerate().take(9) {
        if index == 8 {
            return Some((value << 8 | u64::from(*byte), &bytes[9..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

/// Appends a number of up to 56 bits as SQLite writes it.
fn put_varint(value: u64, to: &mut Vec<u8>) {
    let groups = (u64::BITS - value.leading_zeros()).div_ceil(7).max(1);
    for group in (0..groups).rev() {
        let more = if group > 0 { 0x80 } else { 0 };
        to.push((value >> (7 * group)) as u8 & 0x7f | more);
    }
}

#[cfg(test)]
mod tests;
