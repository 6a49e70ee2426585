//! Values as they are stored, for verification: nothing in them is believed.

use cairn_core::Sha;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::Result;
use crate::store::StoreError;

/// A value that has to be there in order to go on.
pub fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|_| StoreError::Damaged("a stored value has the wrong form".into()))
}

/// A number that cannot be negative.
pub fn unsigned(row: &Row, column: usize) -> Result<u64> {
    let wrong = |_| StoreError::Damaged("a stored value has the wrong form".into());
    get::<i64>(row, column)?.try_into().map_err(wrong)
}

/// A value, if it is there and has the form that it should have.
pub fn value<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Option<T> {
    row.try_get::<_, Option<T>>(column).ok().flatten()
}

/// A hash as stored; none if it does not even have the length of one.
pub fn sha(row: &Row, column: usize) -> Option<Sha> {
    value::<&[u8]>(row, column).and_then(|bytes| bytes.try_into().ok()).map(Sha)
}

/// A position, as PostgreSQL has numbers: beyond the greatest there is nothing.
pub fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}
