//! Recomputing everything from what is stored.
//!
//! Nothing that is stored is believed: content is hashed again, links are made again, the bytes of each log
//! entry are derived again from the rows, and the tree is built again from those bytes.

mod chain;
mod checkpoints;
mod context;
mod fold;
mod memory;
mod record;
mod redaction;
mod review;
mod time;
mod trust;
mod whole;

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;

use cairn_core::Sha;
use serde::{Serialize, Serializer};

use crate::error::{Error, Result};
use crate::store::{ChainOf, Store, StoreError};

/// What to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// The thoughts of one session.
    Session(String),
    /// The thoughts of one task.
    Task(String),
}

/// How far long work has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// So many are done.
    pub done: u64,
    /// Of so many.
    pub total: u64,
    /// What is being done.
    pub what: &'static str,
}

/// Is told how far long work has come, and says whether to go on.
pub type Watch<'w> = &'w (dyn Fn(Progress) -> ControlFlow<()> + Sync);

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
pub(crate) const MAX_FINDINGS: usize = 100;

/// What verification found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Thoughts checked.
    pub records: u64,
    /// Snapshots of roadmaps checked.
    pub contexts: u64,
    /// Events of sessions checked.
    pub events: u64,
    /// Stored briefs checked.
    pub briefs: u64,
    /// Records that were blanked by a redaction, in the order of the log: at most 100.
    pub redacted: Vec<RedactedRecord>,
    /// How many in all.
    pub redacted_total: u64,
    /// Length of what was checked: thoughts of a session or task, or entries of the whole log.
    pub chain_length: u64,
    /// Entries in the log.
    pub log_size: u64,
    /// The recomputed root of the log, if the whole log was checked and could be.
    pub root: Option<Sha>,
    /// What is wrong, in the order of the log: at most 100.
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub findings_total: u64,
    /// What checkpoints and heads seen outside say; of the whole log only.
    pub coverage: Option<Coverage>,
    /// What was not verified, in words.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn valid(&self) -> bool {
        self.findings_total == 0
    }

    /// For a database that cannot be read to the end.
    fn damaged(what: &str) -> Report {
        let message = format!("the database is damaged and could not be read to the end: {what}");
        Report {
            records: 0,
            contexts: 0,
            events: 0,
            briefs: 0,
            redacted: Vec::new(),
            redacted_total: 0,
            chain_length: 0,
            log_size: 0,
            root: None,
            findings: vec![Finding::new(Reason::MissingRecord, "database", message)],
            findings_total: 1,
            coverage: None,
            notes: vec!["verification stopped there: everything else is unverified".to_string()],
        }
    }

    /// The verdict in one sentence.
    pub fn message(&self) -> String {
        let some = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let parts: Vec<String> = [
            (self.records, "thought"),
            (self.contexts, "snapshot"),
            (self.events, "event"),
            (self.briefs, "brief"),
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| some(*count, what))
        .collect();
        let checked = match &parts[..] {
            [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
            parts => parts.join(""),
        };
        match (&self.findings[..], self.findings_total) {
            ([], _) if checked.is_empty() => "nothing is recorded here, and nothing is wrong".to_string(),
            ([], _) => format!("{checked} recomputed, nothing was changed"),
            ([first, ..], 1) => first.message.clone(),
            ([first, ..], 2) => format!("{} (and 1 more finding)", first.message),
            ([first, ..], total) => format!("{} (and {} more findings)", first.message, total - 1),
        }
    }
}

/// How much damage is remembered to explain other findings, and how many of those wait to be explained.
const MOST_CAUSES: usize = 1 << 16;

/// Findings as they come in, from several threads at once.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    /// How many there are, those that are not in the list included.
    pub(crate) total: u64,
    causes: HashSet<Cause>,
    /// Those that other damage may explain.
    following: Vec<Finding>,
}

impl Findings {
    /// Adds one.
    pub(crate) fn add(&mut self, finding: Finding) {
        if !finding.follows_from.is_empty() {
            if self.following.len() < MOST_CAUSES {
                self.following.push(finding);
            }
            return;
        }
        if let Some(seq) = finding.seq {
            self.explain(Cause::Entry(seq));
        }
        self.explain(Cause::Table(finding.table));
        self.count(finding);
    }

    /// Notes damage, so that what follows from it is not reported.
    pub(crate) fn explain(&mut self, cause: Cause) {
        if self.causes.len() < MOST_CAUSES {
            self.causes.insert(cause);
        }
    }

    /// Whether there is one at this position of the log.
    fn is_at(&self, seq: u64) -> bool {
        self.causes.contains(&Cause::Entry(seq))
    }

    fn count(&mut self, finding: Finding) {
        self.total += 1;
        // A little more than is reported, since those of another thread may belong before these.
        if self.list.len() < 2 * MAX_FINDINGS {
            self.list.push(finding);
        }
    }

    fn append(&mut self, other: Findings) {
        self.total += other.total;
        self.list.extend(other.list);
        self.causes.extend(other.causes);
        self.following.extend(other.following);
    }

    fn is_explained(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Text(seq) => self.causes.contains(&Cause::Entry(*seq)),
            Cause::Of(..) => self.causes.contains(cause) || self.causes.contains(&Cause::MissingEntries),
            other => self.causes.contains(other),
        }
    }

    /// In log order, those without a place in it last. What other damage explains is left out.
    pub(crate) fn sorted(mut self) -> (Vec<Finding>, u64) {
        // Texts that an index does not match have one cause, that index.
        let mut texts: Vec<(Finding, u64)> = Vec::new();
        let mut following = std::mem::take(&mut self.following);
        let mut seen = HashSet::new();
        following.retain(|finding| match finding.follows_from[..] {
            [Cause::Text(seq), ..] => seen.insert((finding.table, seq)),
            _ => true,
        });
        // Those that another of them may explain come after it.
        following
            .sort_by_key(|finding| finding.follows_from.iter().any(|cause| matches!(cause, Cause::Table(_))));
        let mut left_out = None;
        for finding in following {
            match &finding.follows_from[..] {
                causes if causes.iter().any(|cause| self.is_explained(cause)) => {
                    left_out.get_or_insert(finding);
                }
                [Cause::Text(_), ..] => {
                    match texts.iter_mut().find(|(first, _)| first.table == finding.table) {
                        Some((_, more)) => *more += 1,
                        None => texts.push((finding, 0)),
                    }
                }
                _ => {
                    self.explain(Cause::Table(finding.table));
                    self.count(finding);
                }
            }
        }
        for (mut finding, more) in texts {
            if more > 0 {
                finding.message.push_str(&format!(" ({more} more like this)"));
            }
            self.count(finding);
        }
        // Damage is never passed over in silence, whatever was taken to explain it.
        if self.total == 0
            && let Some(finding) = left_out
        {
            self.count(finding);
        }
        self.list.sort_by_key(|finding| finding.seq.unwrap_or(u64::MAX));
        self.list.truncate(MAX_FINDINGS);
        (self.list, self.total)
    }
}

/// Nodes of the tree as stored.
pub(crate) use chain::Nodes;
pub use checkpoints::{Coverage, Outside, OutsideHead, OutsideKey, THIS_MACHINE};
/// Checks entries one after the other.
pub(crate) use record::Checker;
pub use redaction::RedactedRecord;
/// Whether a redaction can name these fields.
pub(crate) use redaction::{InLog, possible_fields, read_redaction};

/// Verifies one snapshot.
pub(crate) use context::verify as verify_context;
/// Verifies the log entry of one brief; says what is wrong with it.
pub(crate) use memory::verify_brief as verify_brief_entry;
/// The contents that an event names.
pub(crate) use memory::{bodies_of, named_bodies};
/// Whose signatures count.
pub(crate) use trust::{Trust, source};
/// Names entries that are not there.
pub(crate) use whole::missing as missing_entries;

/// Verifies what `scope` names.
pub(crate) fn verify(
    store: &dyn Store,
    scope: &Scope,
    outside: &Outside,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report> {
    verify_while(store, scope, outside, &|far| {
        progress(far);
        ControlFlow::Continue(())
    })
}

/// Verifies what `scope` names, as long as `watch` says to go on.
pub(crate) fn verify_while(
    store: &dyn Store,
    scope: &Scope,
    outside: &Outside,
    watch: Watch<'_>,
) -> Result<Report> {
    let verified = match scope {
        Scope::All => whole::verify(store, outside, watch),
        Scope::Session(name) => chain::verify(store, ChainOf::Session(name), watch),
        Scope::Task(name) => chain::verify(store, ChainOf::Task(name), watch),
    };
    match verified {
        // A file too damaged to be read to the end is a verdict, not a failure to reach one.
        Err(Error::Store(StoreError::Damaged(what))) => Ok(Report::damaged(&what)),
        other => other,
    }
}
