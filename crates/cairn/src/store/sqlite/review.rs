//! Reviews.

use cairn_core::entry::EntryKind;
use rusqlite::Connection;

use super::{SqliteStore, record};
use crate::store::tables;
use crate::store::{Result, ReviewReader, Visit};

/// Where each review is, and where its target is.
pub fn places(connection: &Connection) -> rusqlite::Result<Vec<(u64, u64)>> {
    connection
        .prepare_cached("SELECT seq, target_seq FROM review ORDER BY seq")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

impl ReviewReader for SqliteStore {
    fn reviews(&self, target_id: &str, visit: Visit<'_>) -> Result<()> {
        let select = tables::select(EntryKind::Review, true);
        let sql = format!("{select} WHERE t.target_id = ?1 ORDER BY t.seq");
        self.read(|connection| {
            record::each(connection, EntryKind::Review, &sql, [target_id], visit).map(drop)
        })
    }
}
