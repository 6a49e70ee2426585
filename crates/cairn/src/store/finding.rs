//! Disagreements that checks report: what kind, where, and what would explain them.

use std::fmt;

use serde::{Serialize, Serializer};

/// In which way something stored disagrees with what was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The content is not what its hash says.
    ContentHashMismatch,
    /// The link of the session tree does not follow from content and parent.
    ChainHashMismatch,
    /// The link of the task chain does not follow from the record.
    HashMismatch,
    /// The record does not name its predecessor's hash.
    PrevHashMismatch,
    /// Row, log entry and Merkle tree do not agree.
    LeafMismatch,
    /// Something that was recorded is gone.
    MissingRecord,
    /// Positions are not what the order of recording makes them.
    Order,
    /// An index or a derived table does not agree with the rows.
    IndexMismatch,
    /// The log does not match a head that was noted.
    CheckpointMismatch,
    /// It cannot be read as what it should be.
    Malformed,
}

impl Reason {
    /// The word that clients see.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::ContentHashMismatch => "content_hash_mismatch",
            Reason::ChainHashMismatch => "chain_hash_mismatch",
            Reason::HashMismatch => "hash_mismatch",
            Reason::PrevHashMismatch => "prev_hash_mismatch",
            Reason::LeafMismatch => "leaf_mismatch",
            Reason::MissingRecord => "missing_record",
            Reason::Order => "order",
            Reason::IndexMismatch => "index_mismatch",
            Reason::CheckpointMismatch => "checkpoint_mismatch",
            Reason::Malformed => "malformed",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One disagreement, and where.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// In which way.
    pub reason: Reason,
    /// In which table.
    pub table: &'static str,
    /// At which position in the log, where it has one.
    pub seq: Option<u64>,
    /// In which thought.
    pub id: Option<String>,
    /// At which step of its session.
    pub step_index: Option<u64>,
    /// In which field.
    pub field: Option<String>,
    /// The value that the log says.
    pub expected: Option<String>,
    /// The stored value.
    pub actual: Option<String>,
    /// All of it in one sentence.
    pub message: String,
    /// Damage that explains this one: where there is some of it, it is not reported a second time.
    #[serde(skip)]
    pub follows_from: Vec<Cause>,
}

/// Damage that can explain other findings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cause {
    /// In what stands at a position of the log.
    Entry(u64),
    /// In the text at a position of the log, which an index covers with many others.
    Text(u64),
    /// In a record of the task, session or roadmap of this name.
    Of(&'static str, String),
    /// In a table.
    Table(&'static str),
    /// Entries are missing, and nobody knows whose they were.
    MissingEntries,
    /// In an index of a table, or in the b-tree that holds it.
    Index(&'static str),
    /// In any of those.
    Structures,
}

impl Finding {
    /// Names a disagreement.
    pub(crate) fn new(reason: Reason, table: &'static str, message: impl Into<String>) -> Finding {
        Finding {
            reason,
            table,
            seq: None,
            id: None,
            step_index: None,
            field: None,
            expected: None,
            actual: None,
            message: message.into(),
            follows_from: Vec::new(),
        }
    }

    /// Adds the damage that would explain it.
    pub(crate) fn unless(mut self, cause: Cause) -> Finding {
        self.follows_from.push(cause);
        self
    }

    /// Names a field that is not what it should be; `what` says of which record.
    pub(crate) fn differs(
        reason: Reason,
        table: &'static str,
        what: &str,
        field: &str,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) -> Finding {
        let message = format!("`{field}` of {what} is wrong: expected {expected}, found {actual}");
        let message = cairn_core::preview::preview(&message, 400).into_owned();
        Finding::new(reason, table, message).field(field, expected, actual)
    }

    /// Adds where in the log it is.
    pub(crate) fn at(mut self, seq: u64) -> Finding {
        self.seq = Some(seq);
        self
    }

    /// Adds which field it is, what it should hold and what it holds.
    pub(crate) fn field(
        mut self,
        name: &str,
        expected: impl fmt::Display,
        actual: impl fmt::Display,
    ) -> Finding {
        self.field = Some(name.to_string());
        self.expected = Some(cairn_core::preview::preview(&expected.to_string(), 200).into_owned());
        self.actual = Some(cairn_core::preview::preview(&actual.to_string(), 200).into_owned());
        self
    }
}

/// How many findings a report names; it counts the rest.
pub const MAX_FINDINGS: usize = 100;
