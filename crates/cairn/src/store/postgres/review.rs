//! Reviews.

use cairn_core::entry::EntryKind;

use super::{PostgresStore, Result, record};
use crate::store::tables;
use crate::store::{ReviewReader, Visit};

impl ReviewReader for PostgresStore {
    fn reviews(&self, target_id: &str, visit: Visit<'_>) -> Result<()> {
        let sql =
            format!("{} WHERE t.target_id = $1 ORDER BY t.seq", tables::select(EntryKind::Review, true));
        record::each(&mut |queries| self.several(queries), EntryKind::Review, &sql, &[&target_id], visit)
    }
}
