//! Entries as rows of a table: one column for each field that is not derived from a text.

use std::borrow::Cow;

use super::field::Text;

/// A value of a column, in the types that every store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column<'a> {
    /// No value.
    Null,
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Text<'a>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Holds [`Column::Number`].
    Number,
    /// Holds [`Column::Text`].
    Text,
    /// Holds [`Column::Bytes`].
    Bytes,
}

/// A stored value that no field of its name can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` holds a value that was never written there")]
pub struct Malformed {
    /// The field.
    pub field: &'static str,
}
