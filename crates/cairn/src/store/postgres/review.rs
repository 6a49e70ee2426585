//! Reviews.

use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::Link;
use super::row::{at as place, get, number};
use super::{PostgresStore, Result};
use crate::store::{ReviewAppend, ReviewReader, ReviewRow, StoreError, StoredReview};

/// The columns that [`read`] reads.
pub const REVIEW: &str = "SELECT r.seq, r.id, r.target_kind, r.target_id, r.target_seq, r.verdict, r.actor,
    r.created_at, r.text, r.salt, e.hash
  FROM review r LEFT JOIN entry e ON e.seq = r.seq";

/// Reads a row of [`REVIEW`].
pub fn read(row: &Row) -> Result<StoredReview> {
    Ok(StoredReview {
        seq: get(row, 0)?,
        id: get(row, 1)?,
        target_kind: get(row, 2)?,
        target_id: get(row, 3)?,
        target_seq: get(row, 4)?,
        verdict: get(row, 5)?,
        actor: get(row, 6)?,
        created_at: get(row, 7)?,
        text: get(row, 8)?,
        salt: get(row, 9)?,
        entry_hash: get(row, 10)?,
    })
}

/// The reviews of a record, oldest first.
async fn of(link: &Link, target_id: &str) -> Result<Vec<StoredReview>> {
    let sql = format!("{REVIEW} WHERE r.target_id = $1 ORDER BY r.seq");
    link.all(&sql, &[&target_id]).await?.iter().map(read).collect()
}

/// Reads where a review is, and where its target is.
pub fn places(row: &Row) -> Result<(u64, u64)> {
    Ok((number(row, 0)?, number(row, 1)?))
}

/// Adds a review.
async fn insert(link: &Link, row: &ReviewRow<'_>) -> Result<()> {
    let added = link
        .run(
            "INSERT INTO review (seq, id, target_kind, target_id, target_seq, verdict, actor, created_at, text, salt)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING",
            &[
                &place(row.seq),
                &row.id,
                &row.target_kind,
                &row.target_id,
                &place(row.target_seq),
                &row.verdict,
                &row.actor,
                &row.created_at,
                &row.text,
                &row.salt,
            ],
        )
        .await?;
    if added == 0 { Err(StoreError::Taken("id")) } else { Ok(()) }
}

impl ReviewReader for PostgresStore {
    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>> {
        self.read(async |link| of(link, target_id).await)
    }
}

impl ReviewAppend for PostgresAppend {
    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()> {
        self.bytes += row.text.map_or(0, str::len);
        self.wait(async |link| insert(link, row).await)
    }
}
