//! The declaration of an entry: its fields, once, in the order of their keys.

use super::field::Field;
use super::{EntryKind, VERSION};
use crate::canonical::write_string;

/// Declares one kind of entry. The declaration gives the type, the writer, the strict reader, and the columns of a row.
///
/// Fields stand in the order of their keys, which is that of canonical JSON. `kind` and `v` belong to every entry and
/// are not declared. A field marked `=> derived` stands for a text that is stored beside the entry
/// ([`Parts`](crate::entry::Parts)), and has no column.
macro_rules! entry {
    (
        $(#[$doc:meta])*
        $name:ident<$life:lifetime> {
            $( $(#[$field_doc:meta])* $field:ident $(($key:literal))?: $type:ty $(=> $derived:ident)?, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name<$life> {
            $( $(#[$field_doc])* pub $field: $type, )*
        }

        impl<$life> $name<$life> {
            /// The keys of its fields, in order.
            pub const FIELDS: &'static [&'static str] = &[$( $crate::entry::declare::key!($field $($key)?) ),*];

            /// The columns of its row, in order: name and type.
            pub fn row() -> Vec<(&'static str, $crate::entry::ColumnType)> {
                let columns = [$(
                    $crate::entry::declare::column!(
                        ($crate::entry::declare::key!($field $($key)?), <$type as $crate::entry::Field<'_>>::COLUMN)
                        $($derived)?
                    )
                ),*];
                columns.into_iter().flatten().collect()
            }

            /// Visits the values of its columns, in order.
            pub fn columns(&self, visit: &mut dyn FnMut(&'static str, $crate::entry::Column<'_>)) {
                $( $crate::entry::declare::visit_column!(
                    visit, $crate::entry::declare::key!($field $($key)?), &self.$field, $($derived)?
                ); )*
            }

            /// Reads a row, whose columns `next` gives in order. Fields without a column are left empty.
            pub fn from_columns(
                next: &mut dyn FnMut(&'static str) -> $crate::entry::Column<$life>,
            ) -> Result<Self, $crate::entry::Malformed> {
                $( let $field = $crate::entry::declare::read_column!(
                    next, $crate::entry::declare::key!($field $($key)?), $($derived)?
                ); )*
                Ok($name { $($field),* })
            }

            pub(super) fn members(&self, out: &mut $crate::entry::declare::EntryWriter<'_>) {
                $(
                    let place = const {
                        $crate::entry::declare::Place::of(
                            $crate::entry::declare::key!($field $($key)?),
                            concat!("\"", $crate::entry::declare::key!($field $($key)?), "\":"),
                        )
                    };
                    out.member(&place, &self.$field);
                )*
            }

            pub(super) fn read(reader: &mut $crate::entry::EntryReader<$life>) -> Option<Self> {
                $( let $field = reader.member($crate::entry::declare::key!($field $($key)?))?; )*
                Some($name { $($field),* })
            }

            /// Borrows from nothing any more.
            pub fn into_owned(self) -> $name<'static> {
                $name { $($field: $crate::entry::Field::into_owned(self.$field)),* }
            }

            /// The first field in which two entries differ, with both values as text.
            pub fn difference(&self, other: &Self) -> Option<$crate::entry::Difference> {
                $(
                    if self.$field != other.$field {
                        return Some($crate::entry::Difference::of(
                            $crate::entry::declare::key!($field $($key)?), &self.$field, &other.$field,
                        ));
                    }
                )*
                None
            }
        }
    };
}
pub(super) use entry;

/// The key of a field: its name, unless another is given.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}
pub(super) use key;

/// A column, unless the field has none.
macro_rules! column {
    ($column:tt) => {
        Some($column)
    };
    ($column:tt derived) => {
        None
    };
}
pub(super) use column;

macro_rules! visit_column {
    ($visit:ident, $key:expr, $value:expr,) => {
        $visit($key, $crate::entry::Field::to_column($value))
    };
    ($visit:ident, $key:expr, $value:expr, derived) => {};
}
pub(super) use visit_column;

macro_rules! read_column {
    ($next:ident, $key:expr,) => {
        $crate::entry::Field::from_column($next($key)).ok_or($crate::entry::Malformed { field: $key })?
    };
    ($next:ident, $key:expr, derived) => {
        Default::default()
    };
}
pub(super) use read_column;

/// A field's key and its place beside `kind` and `v`, known when the program is compiled.
#[derive(Clone, Copy)]
pub(super) struct Place {
    key: &'static str,
    /// The key as JSON, with the colon.
    json: &'static str,
    after_kind: bool,
    after_v: bool,
}

impl Place {
    pub const fn of(key: &'static str, json: &'static str) -> Place {
        Place { key, json, after_kind: follows(key, "kind"), after_v: follows(key, "v") }
    }
}

/// Whether `key` sorts behind `other`.
const fn follows(key: &str, other: &str) -> bool {
    let (key, other) = (key.as_bytes(), other.as_bytes());
    let mut index = 0;
    while index < key.len() && index < other.len() {
        if key[index] != other[index] {
            return key[index] > other[index];
        }
        index += 1;
    }
    key.len() > other.len()
}

/// Writes the members of an entry, with `kind` and `v` at their places.
pub(super) struct EntryWriter<'o> {
    out: &'o mut Vec<u8>,
    kind: EntryKind,
    last: &'static str,
    has_kind: bool,
    has_v: bool,
}

impl<'o> EntryWriter<'o> {
    pub fn new(kind: EntryKind, out: &'o mut Vec<u8>) -> EntryWriter<'o> {
        out.push(b'{');
        EntryWriter { out, kind, last: "", has_kind: false, has_v: false }
    }

    #[inline]
    pub fn member<'a>(&mut self, place: &Place, value: &impl Field<'a>) {
        debug_assert!(self.last < place.key, "key {} after {}", place.key, self.last);
        self.last = place.key;
        self.common(place.after_kind, place.after_v);
        self.key(place.json);
        value.write(self.out);
    }

    pub fn end(mut self) {
        self.common(true, true);
        self.out.push(b'}');
    }

    #[inline]
    fn common(&mut self, after_kind: bool, after_v: bool) {
        if after_kind && !self.has_kind {
            self.has_kind = true;
            self.key("\"kind\":");
            write_string(self.kind.as_str(), self.out);
        }
        if after_v && !self.has_v {
            self.has_v = true;
            self.key("\"v\":");
            VERSION.write(self.out);
        }
    }

    #[inline]
    fn key(&mut self, json: &'static str) {
        if self.out.last() != Some(&b'{') {
            self.out.push(b',');
        }
        self.out.extend_from_slice(json.as_bytes());
    }
}

/// A field in which two entries of one kind differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Its key.
    pub field: &'static str,
    /// The value in the first.
    pub expected: String,
    /// The value in the second.
    pub actual: String,
}

impl Difference {
    pub(super) fn of<'a>(
        field: &'static str,
        expected: &impl Field<'a>,
        actual: &impl Field<'a>,
    ) -> Difference {
        Difference { field, expected: shown(expected), actual: shown(actual) }
    }
}

/// A value as findings show it.
fn shown<'a>(value: &impl Field<'a>) -> String {
    let mut json = Vec::new();
    value.write(&mut json);
    match serde_json::from_slice(&json) {
        Ok(serde_json::Value::Null) => "nothing".to_string(),
        Ok(serde_json::Value::String(text)) => text,
        _ => String::from_utf8_lossy(&json).into_owned(),
    }
}
