//! The tables of records: which column holds which field. Both stores have the same.

use std::sync::LazyLock;

use cairn_core::entry::{Column, ColumnType, Entry, EntryKind, Malformed, Parts, Record};

use super::record::{Key, Keys};

/// The table of one kind of record.
pub struct Table {
    /// The kind.
    pub kind: EntryKind,
    /// Its name.
    pub name: &'static str,
    /// The fields of the entry, in order.
    fields: Vec<FieldColumn>,
    /// Columns that name rows of other tables by number.
    keys: &'static [Key],
    /// The text, the metadata and the salt: where each is read, and whether this table holds it.
    parts: [(&'static str, bool); 3],
    joins: &'static str,
}

struct FieldColumn {
    field: &'static str,
    column_type: ColumnType,
    /// Where it is read.
    read: String,
    /// The column that holds it; none if a key or another table does.
    column: Option<&'static str>,
}

/// Where a field is read, and the column that holds it, where that is not a column of its name.
fn place(kind: EntryKind, field: &'static str) -> (String, Option<&'static str>) {
    let (read, column) = match (kind, field) {
        (EntryKind::Thought, "task_id") => ("k.name", None),
        (EntryKind::Thought | EntryKind::Event | EntryKind::Brief, "session_id") => ("s.name", None),
        (EntryKind::Thought, "parent_id") => ("p.id", None),
        (EntryKind::Snapshot, "roadmap_id") => ("r.name", None),
        (EntryKind::Snapshot, "context_id") => ("t.id", Some("id")),
        (EntryKind::Snapshot, "content_hash") => ("c.content_hash", None),
        // A blanked content has none.
        (EntryKind::Snapshot, "content_length") => ("coalesce(octet_length(c.data), 0)", None),
        (EntryKind::Event, "event") => ("t.kind", Some("kind")),
        (EntryKind::Event, "event_v") => ("t.v", Some("v")),
        (EntryKind::Brief, "brief_id") | (EntryKind::Review, "review_id") => ("t.id", Some("id")),
        _ => return (format!("t.{field}"), Some(field)),
    };
    (read.to_string(), column)
}

impl Table {
    fn new(kind: EntryKind) -> Option<Table> {
        let session = "LEFT JOIN session s ON s.no = t.session_no";
        let (name, keys, parts, joins): (_, &[Key], _, _) = match kind {
            EntryKind::Thought => (
                "thought",
                &[Key::Task, Key::Session, Key::Parent],
                [("t.content", true), ("t.metadata", true), ("t.salt", true)],
                "LEFT JOIN task k ON k.no = t.task_no LEFT JOIN session s ON s.no = t.session_no
                 LEFT JOIN thought p ON p.seq = t.parent_seq",
            ),
            EntryKind::Snapshot => (
                "context",
                &[Key::Roadmap, Key::Snapshot],
                [("c.data", false), ("t.metadata", true), ("t.salt", true)],
                "LEFT JOIN roadmap r ON r.no = t.roadmap_no LEFT JOIN snapshot c ON c.no = t.snapshot_no",
            ),
            EntryKind::Event => {
                ("event", &[Key::Session], [("t.body", true), ("NULL", false), ("t.salt", true)], session)
            }
            EntryKind::Brief => {
                ("brief", &[Key::Session], [("t.data", true), ("NULL", false), ("NULL", false)], session)
            }
            EntryKind::Review => ("review", &[], [("t.text", true), ("NULL", false), ("t.salt", true)], ""),
            // They have no texts to blank, and are stored as their bytes.
            EntryKind::Genesis | EntryKind::Key | EntryKind::Redaction | EntryKind::Continuation => {
                return None;
            }
        };
        let fields = Entry::row(kind).into_iter().map(|(field, column_type)| {
            let (read, column) = place(kind, field);
            FieldColumn { field, column_type, read, column }
        });
        Some(Table { kind, name, fields: fields.collect(), keys, parts, joins })
    }

    /// The columns that [`Table::read`] reads, with the table as `t`. Without `texts`, the texts are not read.
    pub fn columns(&self, texts: bool) -> String {
        let keys = self.keys.iter().map(|key| format!("t.{}", key.column()));
        let fields = self.fields.iter().map(|place| place.read.clone());
        let [text, metadata, salt] = self.parts.map(|(read, _)| read);
        let text = if texts { text } else { "NULL" };
        let parts = [text, metadata, salt].map(str::to_string);
        let columns: Vec<String> = keys.chain(fields).chain(parts).collect();
        format!("t.seq, t.leaf_hash, {}", columns.join(", "))
    }

    /// The tables that these columns are read from beside its own.
    pub fn joins(&self) -> &'static str {
        self.joins
    }

    /// Selects these columns; a condition can follow.
    pub fn select(&self, texts: bool) -> String {
        format!("SELECT {} FROM {} t {}", self.columns(texts), self.name, self.joins)
    }

    /// Reads a row of [`Table::select`] from its third column on.
    pub fn read<'a>(
        &self,
        next: &mut dyn FnMut() -> Column<'a>,
    ) -> (Keys, std::result::Result<Record<'a>, Malformed>) {
        let mut keys = Keys::default();
        let mut wrong = None;
        for key in self.keys {
            if let Err(malformed) = keys.set(*key, &next()) {
                wrong = wrong.or(Some(malformed));
            }
        }
        (keys, wrong.map_or_else(|| self.record(next), Err))
    }

    fn record<'a>(&self, next: &mut dyn FnMut() -> Column<'a>) -> std::result::Result<Record<'a>, Malformed> {
        let entry = Entry::from_columns(self.kind, &mut |_| next())?;
        let mut text = |part: usize| match next() {
            Column::Null => Ok(None),
            Column::Text(text) => Ok(Some(text)),
            _ => Err(Malformed { field: self.part_name(part) }),
        };
        let (text, metadata) = (text(0)?, text(1)?);
        let salt = match next() {
            Column::Null => None,
            Column::Bytes(salt) => Some((&*salt).try_into().map_err(|_| Malformed { field: "salt" })?),
            _ => return Err(Malformed { field: "salt" }),
        };
        Ok(Record { entry, parts: Parts { text, metadata, salt } })
    }

    fn part_name(&self, part: usize) -> &'static str {
        let read = self.parts[part].0;
        read.split_once('.').map_or(read, |(_, name)| name)
    }

    /// The columns that a row is written with, in the order of [`Table::values`].
    pub fn written(&self) -> Vec<(&'static str, ColumnType)> {
        let keys = self.keys.iter().map(|key| (key.column(), ColumnType::Number));
        let fields = self.fields.iter().filter_map(|place| Some((place.column?, place.column_type)));
        let types = [ColumnType::Text, ColumnType::Text, ColumnType::Bytes];
        let parts = (0..3).filter(|part| self.parts[*part].1).map(|part| (self.part_name(part), types[part]));
        keys.chain(fields).chain(parts).chain([("leaf_hash", ColumnType::Bytes)]).collect()
    }

    /// Visits the values of a row, in the order of [`Table::written`].
    pub fn values(
        &self,
        record: &Record<'_>,
        keys: &Keys,
        leaf_hash: &cairn_core::Sha,
        visit: &mut dyn FnMut(Column<'_>),
    ) {
        for key in self.keys {
            visit(keys.value(*key));
        }
        let mut places = self.fields.iter();
        record.entry.columns(&mut |field, value| {
            if places.find(|place| place.field == field).is_some_and(|place| place.column.is_some()) {
                visit(value);
            }
        });
        let Parts { text, metadata, salt } = &record.parts;
        for (text, (_, held)) in [text, metadata].into_iter().zip(self.parts) {
            if held {
                visit(text.as_deref().map_or(Column::Null, |text| Column::Text(text.into())));
            }
        }
        if self.parts[2].1 {
            visit(salt.as_ref().map_or(Column::Null, |salt| Column::Bytes(salt[..].into())));
        }
        visit(Column::Bytes(leaf_hash.0[..].into()));
    }
}

/// The selects of a kind that has a table: with the texts, and without them.
static SELECTS: LazyLock<Vec<(EntryKind, [String; 2])>> = LazyLock::new(|| {
    TABLES.iter().map(|table| (table.kind, [true, false].map(|texts| table.select(texts)))).collect()
});

/// The text of [`Table::select`] for a kind; empty if it has no table.
pub fn select(kind: EntryKind, texts: bool) -> &'static str {
    let of_kind = SELECTS.iter().find(|(of, _)| *of == kind);
    of_kind.map_or("", |(_, [with, without])| if texts { with } else { without })
}

/// One select over every table that holds records, the one of entries without a table included. A condition may follow the
/// name of each.
pub fn union(columns: &str, condition: &str) -> String {
    let names = TABLES.iter().map(|table| table.name).chain(["entry"]);
    let selects: Vec<String> =
        names.map(|name| format!("SELECT {columns} FROM {name} {condition}")).collect();
    selects.join(" UNION ALL ")
}

static TABLES: LazyLock<Vec<Table>> =
    LazyLock::new(|| EntryKind::ALL.iter().filter_map(|kind| Table::new(*kind)).collect());

/// All tables of records.
pub fn tables() -> &'static [Table] {
    &TABLES
}

/// The table of a kind; none if records of that kind are stored as their bytes.
pub fn table(kind: EntryKind) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.kind == kind)
}
