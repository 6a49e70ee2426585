//! Reviews.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::error::store_error;
use crate::store::{Result, ReviewAppend, ReviewReader, ReviewRow, StoredReview};

/// The columns that [`read`] reads.
const REVIEW: &str =
    "SELECT r.seq, r.id, r.target_kind, r.target_id, r.target_seq, r.verdict, r.actor, r.created_at,
    r.text, r.salt, e.hash
  FROM review r LEFT JOIN entry e ON e.seq = r.seq";

fn read(row: &Row<'_>) -> rusqlite::Result<StoredReview> {
    let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str().ok().map(str::to_string));
    // A value of another type is no salt and no hash, and not the absence of one either.
    let blob = |column| {
        Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
            ValueRef::Null => None,
            value => Some(value.as_blob().unwrap_or_default().to_vec()),
        })
    };
    Ok(StoredReview {
        seq: row.get(0).unwrap_or(-1),
        id: text(1)?.unwrap_or_default(),
        target_kind: text(2)?.unwrap_or_default(),
        target_id: text(3)?.unwrap_or_default(),
        target_seq: row.get(4).unwrap_or(-1),
        verdict: text(5)?.unwrap_or_default(),
        actor: text(6)?.unwrap_or_default(),
        created_at: text(7)?.unwrap_or_default(),
        text: text(8)?,
        salt: blob(9)?,
        entry_hash: blob(10)?,
    })
}

/// The review of a log entry.
pub fn at(connection: &Connection, seq: u64) -> rusqlite::Result<Vec<StoredReview>> {
    connection.prepare_cached(&format!("{REVIEW} WHERE r.seq = ?1"))?.query_map([seq], read)?.collect()
}

/// The reviews of a record, oldest first.
fn of(connection: &Connection, target_id: &str) -> rusqlite::Result<Vec<StoredReview>> {
    connection
        .prepare_cached(&format!("{REVIEW} WHERE r.target_id = ?1 ORDER BY r.seq"))?
        .query_map([target_id], read)?
        .collect()
}

/// Where each review is, and where its target is.
pub fn places(connection: &Connection) -> rusqlite::Result<Vec<(u64, u64)>> {
    connection
        .prepare_cached("SELECT seq, target_seq FROM review ORDER BY seq")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Adds a review.
fn insert(connection: &Connection, row: &ReviewRow<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO review (seq, id, target_kind, target_id, target_seq, verdict, actor, created_at, text, salt)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            row.seq,
            row.id,
            row.target_kind,
            row.target_id,
            row.target_seq,
            row.verdict,
            row.actor,
            row.created_at,
            row.text,
            row.salt,
        ])
        .map(drop)
}

impl ReviewReader for SqliteStore {
    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>> {
        self.read(|connection| of(connection, target_id))
    }
}

impl ReviewAppend for SqliteAppend<'_> {
    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()> {
        insert(self.transaction, row).map_err(store_error)
    }
}
