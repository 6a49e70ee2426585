//! The values that fields of entries hold: how each is written, and how it is read back.

use std::borrow::Cow;

use super::EntryKind;
use super::column::{Column, ColumnType};
use super::reader::EntryReader;
use crate::canonical::{MAX_INTEGER, write_integer, write_string};
use crate::hash::Sha;

/// A text of an entry, borrowed where that is possible.
pub type Text<'a> = Cow<'a, str>;

/// A value in canonical JSON.
pub trait Field<'a>: Sized {
    /// The same value, borrowed from nothing.
    type Owned;

    /// Appends its canonical bytes.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads exactly the bytes that [`write`](Field::write) gives.
    fn read(reader: &mut EntryReader<'a>) -> Option<Self>;
    /// Borrows from nothing any more.
    fn into_owned(self) -> Self::Owned;

    /// The type of the column that holds it.
    const COLUMN: ColumnType;
    /// The value of that column.
    fn to_column(&self) -> Column<'_>;
    /// Reads exactly the values that [`to_column`](Field::to_column) gives.
    fn from_column(column: Column<'a>) -> Option<Self>;
}

impl<'a> Field<'a> for Text<'a> {
    type Owned = Text<'static>;

    fn write(&self, out: &mut Vec<u8>) {
        write_string(self, out);
    }

    fn read(reader: &mut EntryReader<'a>) -> Option<Text<'a>> {
        reader.text()
    }

    fn into_owned(self) -> Text<'static> {
        Cow::Owned(Cow::into_owned(self))
    }

    const COLUMN: ColumnType = ColumnType::Text;

    fn to_column(&self) -> Column<'_> {
        Column::Text(Cow::Borrowed(self))
    }

    fn from_column(column: Column<'a>) -> Option<Text<'a>> {
        match column {
            Column::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Field<'_> for u64 {
    type Owned = u64;

    fn write(&self, out: &mut Vec<u8>) {
        write_integer(*self, out);
    }

    fn read(reader: &mut EntryReader<'_>) -> Option<u64> {
        reader.number()
    }

    fn into_owned(self) -> u64 {
        self
    }

    const COLUMN: ColumnType = ColumnType::Number;

    fn to_column(&self) -> Column<'_> {
        Column::Number(i64::try_from(*self).unwrap_or(i64::MAX))
    }

    fn from_column(column: Column<'_>) -> Option<u64> {
        match column {
            Column::Number(number) => u64::try_from(number).ok().filter(|number| *number <= MAX_INTEGER),
            _ => None,
        }
    }
}

impl Field<'_> for Sha {
    type Owned = Sha;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'"');
        out.extend_from_slice(self.hex().as_bytes());
        out.push(b'"');
    }

    fn read(reader: &mut EntryReader<'_>) -> Option<Sha> {
        reader.text()?.parse().ok()
    }

    fn into_owned(self) -> Sha {
        self
    }

    const COLUMN: ColumnType = ColumnType::Bytes;

    fn to_column(&self) -> Column<'_> {
        Column::Bytes(Cow::Borrowed(&self.0))
    }

    fn from_column(column: Column<'_>) -> Option<Sha> {
        match column {
            Column::Bytes(bytes) => (&*bytes).try_into().ok().map(Sha),
            _ => None,
        }
    }
}

impl<'a, T: Field<'a>> Field<'a> for Option<T> {
    type Owned = Option<T::Owned>;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(out),
            None => out.extend_from_slice(b"null"),
        }
    }

    fn read(reader: &mut EntryReader<'a>) -> Option<Option<T>> {
        if reader.take(b"null") { Some(None) } else { T::read(reader).map(Some) }
    }

    fn into_owned(self) -> Option<T::Owned> {
        self.map(T::into_owned)
    }

    const COLUMN: ColumnType = T::COLUMN;

    fn to_column(&self) -> Column<'_> {
        self.as_ref().map_or(Column::Null, T::to_column)
    }

    fn from_column(column: Column<'a>) -> Option<Option<T>> {
        match column {
            Column::Null => Some(None),
            value => T::from_column(value).map(Some),
        }
    }
}

/// A list stands in one column: canonical JSON, and NULL if it is empty.
impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (index, value) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            value.write(out);
        }
        out.push(b']');
    }

    fn read(reader: &mut EntryReader<'a>) -> Option<Vec<T>> {
        let mut values = Vec::new();
        if !reader.take(b"[") {
            return None;
        }
        if reader.take(b"]") {
            return Some(values);
        }
        loop {
            values.push(T::read(reader)?);
            if reader.take(b"]") {
                return Some(values);
            }
            if !reader.take(b",") {
                return None;
            }
        }
    }

    fn into_owned(self) -> Vec<T::Owned> {
        self.into_iter().map(T::into_owned).collect()
    }

    const COLUMN: ColumnType = ColumnType::Text;

    fn to_column(&self) -> Column<'_> {
        if self.is_empty() {
            return Column::Null;
        }
        let mut json = Vec::new();
        self.write(&mut json);
        String::from_utf8(json).map_or(Column::Null, |json| Column::Text(json.into()))
    }

    fn from_column(column: Column<'a>) -> Option<Vec<T>> {
        let list: Vec<T> = match column {
            Column::Null => return Some(Vec::new()),
            Column::Text(Cow::Borrowed(json)) => EntryReader::only(json)?,
            _ => return None,
        };
        Some(list).filter(|list| !list.is_empty())
    }
}

/// Makes an enum that is written as a word a [`Field`].
macro_rules! word {
    ($type:ty, $parse:expr) => {
        impl $crate::entry::Field<'_> for $type {
            type Owned = $type;

            fn write(&self, out: &mut Vec<u8>) {
                $crate::canonical::write_string(self.as_str(), out);
            }

            fn read(reader: &mut $crate::entry::EntryReader<'_>) -> Option<$type> {
                let parse: fn(&str) -> Option<$type> = $parse;
                parse(&reader.text()?)
            }

            fn into_owned(self) -> $type {
                self
            }

            const COLUMN: $crate::entry::ColumnType = $crate::entry::ColumnType::Text;

            fn to_column(&self) -> $crate::entry::Column<'_> {
                $crate::entry::Column::Text(self.as_str().into())
            }

            fn from_column(column: $crate::entry::Column<'_>) -> Option<$type> {
                let parse: fn(&str) -> Option<$type> = $parse;
                match column {
                    $crate::entry::Column::Text(word) => parse(&word),
                    _ => None,
                }
            }
        }
    };
}
pub(super) use word;

word!(crate::time::Timestamp, |text| crate::time::Timestamp::parse(text).ok());
word!(EntryKind, |text| text.parse().ok());
word!(crate::thought::ThoughtType, |text| text.parse().ok());
word!(crate::thought::Source, |text| text.parse().ok());

/// The texts of a list, borrowed.
pub fn texts<T: AsRef<str>>(list: &[T]) -> Vec<Text<'_>> {
    list.iter().map(|text| Text::from(text.as_ref())).collect()
}
