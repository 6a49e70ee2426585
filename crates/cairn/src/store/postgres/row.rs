//! Values of rows. What has another form than Cairn writes was not written by it, and is said to be damaged.

use cairn_core::Sha;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::Result;
use crate::store::StoreError;

/// Says that a stored value is not what it should be.
pub fn wrong_form() -> StoreError {
    StoreError::Damaged("a stored value has the wrong form".into())
}

/// The value of a column.
pub fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|_| wrong_form())
}

/// A number that is never negative.
pub fn number(row: &Row, column: usize) -> Result<u64> {
    u64::try_from(get::<i64>(row, column)?).map_err(|_| wrong_form())
}

/// The same, if there is one.
pub fn number_or_none(row: &Row, column: usize) -> Result<Option<u64>> {
    get::<Option<i64>>(row, column)?.map(|number| u64::try_from(number).map_err(|_| wrong_form())).transpose()
}

/// A hash.
pub fn sha(row: &Row, column: usize) -> Result<Sha> {
    get::<&[u8]>(row, column)?.try_into().map(Sha).map_err(|_| wrong_form())
}

/// Takes a stored text as one of our types.
pub fn typed<T, E>(text: String, make: impl FnOnce(String) -> std::result::Result<T, E>) -> Result<T> {
    make(text).map_err(|_| wrong_form())
}

/// The same for a text that may be absent.
pub fn typed_or_none<T, E>(
    text: Option<String>,
    make: impl FnOnce(String) -> std::result::Result<T, E>,
) -> Result<Option<T>> {
    text.map(|text| typed(text, make)).transpose()
}

/// A position as PostgreSQL counts. None is so far that this would cut it.
pub fn at(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
