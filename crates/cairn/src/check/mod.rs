//! One checker of entries, for databases, bundles, imports and copies.
//!
//! It checks an entry and its texts against the entries before it in the log, which it asks for through [`Before`]: a
//! database looks them up, a bundle remembers them.

mod memory;
mod redaction;
mod thought;

use std::fmt::Display;

use cairn_core::Sha;
use cairn_core::entry::{
    Entry, EntryKind, Parts, RedactionEntry, ReviewEntry, SnapshotEntry, TextMark, ThoughtEntry, Unsound,
};
use cairn_core::session::op::Body;
use cairn_core::thought::ThoughtType;

use crate::store::{Cause, Finding, Reason, StoreError};

pub(crate) use memory::named_bodies;
pub(crate) use redaction::{RedactionTarget, Sharing, check_redaction};

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// A field with a wrong value.
#[derive(Debug, Clone)]
pub(crate) struct Wrong {
    pub reason: Reason,
    pub table: &'static str,
    pub field: &'static str,
    pub expected: String,
    pub actual: String,
    /// Damage elsewhere that would explain it.
    pub causes: Vec<Cause>,
}

/// Names a field with a wrong value.
pub(crate) fn wrong(
    reason: Reason,
    table: &'static str,
    field: &'static str,
    expected: impl Display,
    actual: impl Display,
) -> Wrong {
    let (expected, actual) = (expected.to_string(), actual.to_string());
    Wrong { reason, table, field, expected, actual, causes: Vec::new() }
}

impl Wrong {
    /// Other damage that would explain it.
    pub fn unless(mut self, causes: impl IntoIterator<Item = Cause>) -> Wrong {
        self.causes.extend(causes);
        self
    }

    /// A finding about the record of an entry.
    pub fn finding(self, entry: &Entry<'_>) -> Finding {
        let Wrong { reason, table, field, expected, actual, causes } = self;
        let finding = Finding::differs(reason, table, &what(entry), field, expected, actual);
        causes.into_iter().fold(about(finding, entry), Finding::unless)
    }
}

/// Adds the record of an entry to a finding.
pub(crate) fn about(finding: Finding, entry: &Entry<'_>) -> Finding {
    let step_index = match entry {
        Entry::Thought(entry) => Some(entry.step_index),
        _ => None,
    };
    let has_id = matches!(entry, Entry::Thought(_) | Entry::Snapshot(_) | Entry::Brief(_) | Entry::Review(_));
    Finding { id: has_id.then(|| entry.id()), step_index, ..finding.at(entry.seq()) }
}

/// The record of an entry, in words.
pub(crate) fn what(entry: &Entry<'_>) -> String {
    let (kind, id) = (entry.kind(), entry.id());
    match kind {
        EntryKind::Thought | EntryKind::Brief | EntryKind::Review => format!("{kind} `{id}`"),
        EntryKind::Snapshot => format!("context {id}"),
        EntryKind::Event | EntryKind::Redaction => format!("{kind} {id}"),
        EntryKind::Genesis | EntryKind::Key | EntryKind::Continuation => format!("log entry {id}"),
    }
}

/// The table of a kind, as findings name it.
pub(crate) fn table(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Snapshot => "context",
        EntryKind::Genesis | EntryKind::Key | EntryKind::Continuation => "entry",
        EntryKind::Thought
        | EntryKind::Event
        | EntryKind::Brief
        | EntryKind::Review
        | EntryKind::Redaction => kind.as_str(),
    }
}

/// An answer about an earlier entry.
pub(crate) enum Known<T> {
    /// It is there.
    Is(T),
    /// It should be there, and is not.
    Missing,
    /// It belongs to a part of the log that is not at hand.
    Outside,
}

/// Another thought, as a thought that names it needs it.
#[derive(Clone, Copy)]
pub(crate) struct Other {
    pub chain_hash: Sha,
    pub kind: ThoughtType,
    pub same_session: bool,
}

/// How a position follows from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// It is the next.
    Next,
    /// Those between are not being checked.
    Outside,
    /// Those between should be there.
    Missing,
    /// It was there before.
    Back,
}

/// The log before an entry.
pub(crate) trait Before {
    /// How a thought follows in its task, and the position expected.
    fn in_task(&mut self, entry: &ThoughtEntry<'_>) -> Result<(Follows, u64)>;
    /// How it follows in its session, and the step expected.
    fn in_session(&mut self, entry: &ThoughtEntry<'_>) -> Result<(Follows, u64)>;
    /// The `hash` of the thought before it in its task.
    fn task_hash(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Sha>>;
    /// The thought that it follows from.
    fn parent(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Other>>;
    /// An earlier thought that it names in a field.
    fn named(&mut self, entry: &ThoughtEntry<'_>, field: &str, id: &str) -> Result<Known<Other>>;
    /// Whether a snapshot of this number stands before it.
    fn context(&mut self, entry: &ThoughtEntry<'_>, id: u64) -> Result<Known<()>>;
    /// Whether a brief of its session stands before it.
    fn brief(&mut self, entry: &ThoughtEntry<'_>, id: &str) -> Result<Known<()>>;
    /// The key of a sealed content.
    fn seal_key(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Vec<u8>>>;
    /// How a snapshot follows by its number and in its roadmap, with the numbers expected.
    fn in_roadmap(&mut self, entry: &SnapshotEntry<'_>) -> Result<[(Follows, u64); 2]>;
    /// How an event follows in its session, and the position expected.
    fn in_memory(&mut self, entry: &cairn_core::entry::EventEntry<'_>) -> Result<(Follows, u64)>;
    /// The first thing wrong with the contents that an event names.
    fn bodies(&mut self, seq: u64, named: &[Body]) -> Result<Option<Finding>>;
    /// Whether a review's target stands where it says.
    fn review_target(&mut self, entry: &ReviewEntry<'_>) -> Result<Known<()>>;
    /// The first thing wrong with a redaction, given its target.
    fn redaction(&mut self, entry: &RedactionEntry<'_>) -> Result<Option<Finding>>;
}

/// The first thing wrong with an entry that stands for these texts.
pub(crate) fn check(
    before: &mut dyn Before,
    entry: &Entry<'_>,
    parts: &Parts<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Finding>> {
    let found = match entry {
        Entry::Thought(thought) => thought::check(before, thought, parts, buffer)?,
        Entry::Snapshot(snapshot) => {
            let [number, position] = before.in_roadmap(snapshot)?;
            misplaced("context", "context_id", number, snapshot.context_id)
                .or_else(|| misplaced("context", "position", position, snapshot.position))
        }
        Entry::Event(event) => return memory::check_event(before, entry, event, parts),
        Entry::Brief(brief) => memory::check_brief(brief, parts),
        Entry::Review(review) => {
            let expected = "that of the earlier thought or brief it names";
            match before.review_target(review)? {
                Known::Is(()) | Known::Outside => None,
                Known::Missing => {
                    let missing =
                        wrong(Reason::MissingRecord, "review", "target_seq", expected, review.target_seq);
                    Some(missing.unless([Cause::MissingEntries, Cause::Entry(review.target_seq)]))
                }
            }
        }
        Entry::Redaction(redaction) => return before.redaction(redaction),
        Entry::Genesis(_) | Entry::Key(_) | Entry::Continuation(_) => None,
    };
    Ok(found.map(|wrong| wrong.finding(entry)))
}

/// A position that does not follow from the last one.
pub(crate) fn misplaced(
    table: &'static str,
    field: &'static str,
    (step, expected): (Follows, u64),
    found: u64,
) -> Option<Wrong> {
    let reason = match step {
        Follows::Next | Follows::Outside => return None,
        Follows::Missing => Reason::MissingRecord,
        Follows::Back => Reason::Order,
    };
    Some(wrong(reason, table, field, expected, found))
}

/// Texts that are not those that an entry stands for. One that is gone is not compared.
pub(crate) fn other_texts(entry: &Entry<'_>, parts: &Parts<'_>) -> Option<Wrong> {
    let (Some(mark), kind) = (entry.text_mark(), entry.kind()) else { return None };
    let metadata = entry.metadata_mark();
    if kind == EntryKind::Review && parts.text.is_some() && parts.salt.is_none() {
        return Some(wrong(Reason::LeafMismatch, "review", "salt", "the salt of its text", "nothing"));
    }
    let text_table = if kind == EntryKind::Snapshot { "snapshot" } else { table(kind) };
    let there = TextMark { hash: Sha::ZERO, length: 0, stored: false, ..mark };
    let (text, committed) = match parts.marks(there, metadata.is_some(), None) {
        Ok((text, committed, _)) => (Some(text), committed),
        // A redaction has to explain a missing text.
        Err(Unsound::Gone(_)) => (None, committed(parts)),
        Err(Unsound::Salt) => {
            let expected = "there exactly if there is metadata";
            return Some(wrong(Reason::LeafMismatch, table(kind), "salt", expected, "otherwise"));
        }
        Err(_) => return None,
    };
    if let Some(text) = text {
        if text.hash != mark.hash {
            return Some(wrong(Reason::ContentHashMismatch, text_table, mark.field, mark.hash, text.hash));
        }
        if text.length != mark.length {
            let expected = format!("{} bytes", mark.length);
            return Some(wrong(Reason::LeafMismatch, text_table, mark.field, expected, text.length));
        }
    }
    let (expected, gone) = (metadata?, parts.metadata.is_none() && parts.salt.is_none());
    if gone || expected == committed {
        return None;
    }
    let shown = |hash: Option<Sha>| hash.map_or("nothing".to_string(), |hash| hash.to_string());
    Some(wrong(Reason::LeafMismatch, table(kind), "metadata", shown(expected), shown(committed)))
}

fn committed(parts: &Parts<'_>) -> Option<Sha> {
    let (metadata, salt) = (parts.metadata.as_deref()?, parts.salt.as_ref()?);
    Some(cairn_core::entry::commitment(salt, metadata.as_bytes()))
}
