//! The values that fields of entries hold: how each is written, and how it is read back.

use std::borrow::Cow;

use super::EntryKind;
use super::reader::EntryReader;
use crate::canonical::{write_integer, write_string};
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
}

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

/// A list as a column of a table holds it: canonical JSON, and nothing for an empty list.
pub fn to_column<T: AsRef<str>>(list: &[T]) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    let mut json = Vec::new();
    texts(list).write(&mut json);
    String::from_utf8(json).ok()
}

/// Reads a list from a column; none unless [`to_column`] writes it so.
pub fn from_column(column: Option<&str>) -> Option<Vec<Text<'_>>> {
    match column {
        None => Some(Vec::new()),
        Some(json) => EntryReader::only(json).filter(|list: &Vec<Text<'_>>| !list.is_empty()),
    }
}
