//! Records as a store keeps them: a row, and the hash of the log entry that the row gives.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Column, Entry, EntryKind, Malformed, Parts, Record};

use super::{RedactionLeaf, Result};

/// A record as it is stored: nothing in it is believed.
#[derive(Debug, Clone)]
pub struct Stored<'a> {
    /// Position in the log.
    pub seq: u64,
    /// Its kind; none if its bytes do not say one.
    pub kind: Option<EntryKind>,
    /// The hash of its entry that stands beside it; none if that is no hash.
    pub leaf_hash: Option<Sha>,
    /// The rows that it names by number.
    pub keys: Keys,
    /// The record, without the marks of its texts; or the first value that no record has.
    pub record: std::result::Result<Record<'a>, Malformed>,
    /// The entry of the redaction that took its texts. Stores read it for readers where a text is gone or sealed.
    pub redaction: Option<RedactionLeaf>,
}

/// Rows that a record names by their numbers: its task, its session, its parent, its roadmap, its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keys {
    /// Of a thought.
    pub task_no: i64,
    /// Of a thought, an event or a brief.
    pub session_no: i64,
    /// The position in the log of the thought that a thought follows from.
    pub parent_seq: Option<i64>,
    /// Of a snapshot.
    pub roadmap_no: i64,
    /// Of a snapshot.
    pub snapshot_no: i64,
}

/// A column that names a row of another table by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Task,
    Session,
    Parent,
    Roadmap,
    Snapshot,
}

impl Key {
    /// The name of the column.
    pub fn column(self) -> &'static str {
        match self {
            Key::Task => "task_no",
            Key::Session => "session_no",
            Key::Parent => "parent_seq",
            Key::Roadmap => "roadmap_no",
            Key::Snapshot => "snapshot_no",
        }
    }
}

impl Keys {
    /// The value of a column.
    pub fn value(&self, key: Key) -> Column<'static> {
        match key {
            Key::Task => Column::Number(self.task_no),
            Key::Session => Column::Number(self.session_no),
            Key::Parent => self.parent_seq.map_or(Column::Null, Column::Number),
            Key::Roadmap => Column::Number(self.roadmap_no),
            Key::Snapshot => Column::Number(self.snapshot_no),
        }
    }

    /// Takes in the value of a column; an error if it is no number.
    pub fn set(&mut self, key: Key, value: &Column<'_>) -> std::result::Result<(), Malformed> {
        match (key, value) {
            (Key::Task, Column::Number(number)) => self.task_no = *number,
            (Key::Session, Column::Number(number)) => self.session_no = *number,
            (Key::Parent, Column::Number(number)) => self.parent_seq = Some(*number),
            (Key::Parent, Column::Null) => self.parent_seq = None,
            (Key::Roadmap, Column::Number(number)) => self.roadmap_no = *number,
            (Key::Snapshot, Column::Number(number)) => self.snapshot_no = *number,
            _ => return Err(Malformed { field: key.column() }),
        }
        Ok(())
    }
}

/// Reads a record that has no table of its own: its kind as it stands beside its bytes, and the bytes.
pub fn statement<'a>(
    kind: &str,
    leaf: &'a [u8],
) -> (Option<EntryKind>, std::result::Result<Record<'a>, Malformed>) {
    let Some(entry) = Entry::parse(leaf) else { return (None, Err(Malformed { field: "leaf" })) };
    let said = entry.kind();
    match said.as_str() == kind {
        true => (Some(said), Ok(Record { entry, parts: Parts::default() })),
        false => (Some(said), Err(Malformed { field: "kind" })),
    }
}

/// Is handed records one after the other, until it breaks off.
pub type Visit<'v> = &'v mut dyn FnMut(Stored<'_>) -> ControlFlow<()>;

/// Reads records of every kind.
pub trait RecordReader {
    /// Visits the records in a range of the log, in order, without those that are missing.
    fn records(&self, from: u64, to: u64, visit: Visit<'_>) -> Result<()>;
}

/// Adds records of every kind.
pub trait RecordAppend {
    /// Adds a record with the hash of its entry.
    fn insert(&mut self, record: &Record<'_>, keys: &Keys, leaf_hash: &Sha) -> Result<()>;
    /// Visits the record at a position of the log.
    fn record(&mut self, seq: u64, visit: Visit<'_>) -> Result<()>;
}
