//! Values of rows. What has another form than Cairn writes was not written by it, and is said to be damaged.

use cairn_core::Sha;
use cairn_core::entry::{Salt, from_column};
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use super::Result;
use crate::store::{Damage, Read, StoreError};

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

/// The same, if there is one.
pub fn sha_or_none(row: &Row, column: usize) -> Result<Option<Sha>> {
    get::<Option<&[u8]>>(row, column)?.map(|_| sha(row, column)).transpose()
}

/// The salt of a commitment, if there is one.
pub fn salt(row: &Row, column: usize) -> Result<Option<Salt>> {
    get::<Option<&[u8]>>(row, column)?.map(|salt| salt.try_into().map_err(|_| wrong_form())).transpose()
}

/// A row whose values have the wrong form is damage to the record at the position in its first column; anything else is
/// trouble with the server.
pub fn in_row<T>(row: &Row, read: Result<T>) -> Result<Read<T>> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(StoreError::Damaged(what)) => {
            Ok(Err(number(row, 0).map_or_else(|_| Damage::new(&*what), |seq| Damage::at(seq, &what))))
        }
        Err(error) => Err(error),
    }
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

/// The same for a list that stands in one column.
pub fn typed_list<T, E>(
    column: Option<&str>,
    make: impl Fn(String) -> std::result::Result<T, E>,
) -> Result<Vec<T>> {
    let list = from_column(column).ok_or_else(wrong_form)?;
    list.into_iter().map(|text| typed(text.into_owned(), &make)).collect()
}

/// A position as PostgreSQL counts. None is so far that this would cut it.
pub fn at(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}
