//! Checks each record before it is shown.
//!
//! The bytes of a record's log entry are made again from its row, and their hash is compared with the one in the log. A
//! record that passes says what was recorded, as far as the log itself holds; [`crate::Cairn::verify`] checks that.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Blanked, Entry, EventEntry, Record, RedactionEntry, Text};
use cairn_core::id::{BriefId, SessionId};
use cairn_core::log::leaf_hash;
use cairn_core::redaction::Redaction;
use cairn_core::thought::{SEALED, Thought};
use cairn_core::time::Timestamp;
use serde_json::{Map, Value};

use crate::store::{ContextHead, Damage, Read, ReadBody, RedactionLeaf, StoreError, Stored, Visit};

const DIFFERS: &str = "what is stored does not match its hash in the log";
const OTHER_KIND: &str = "it is a record of another kind";

/// A damaged record that was asked for on its own is an error.
impl From<Damage> for crate::Error {
    fn from(damage: Damage) -> crate::Error {
        crate::Error::Damaged(damage)
    }
}

/// A record that matches its log entry.
pub(crate) struct Checked<'a> {
    pub seq: u64,
    /// With everything that its entry says.
    pub record: Record<'a>,
    /// The redaction that took its texts.
    pub redaction: Option<RedactionEntry<'static>>,
}

/// Hands the one record that `visit` visits to `check`; none if it visits none.
pub(crate) fn one<T>(
    visit: impl FnOnce(Visit<'_>) -> Result<(), StoreError>,
    check: impl Fn(Stored<'_>, &mut Vec<u8>) -> Read<T>,
) -> crate::Result<Option<T>> {
    let mut found = None;
    visit(&mut |stored| {
        found = Some(check(stored, &mut Vec::new()));
        ControlFlow::Break(())
    })?;
    Ok(found.transpose()?)
}

/// The bytes of an entry, if they are those of a redaction.
pub(crate) fn read_redaction(leaf: &[u8]) -> Option<RedactionEntry<'static>> {
    match Entry::parse(leaf) {
        Some(Entry::Redaction(entry)) => Some(entry.into_owned()),
        _ => None,
    }
}

/// Checks the entry of a redaction of the record at `target_seq`.
pub(crate) fn redaction(entry: &RedactionLeaf, target_seq: u64) -> Read<RedactionEntry<'static>> {
    let sound = leaf_hash(&entry.leaf).0[..] == entry.hash[..] && entry.seq > target_seq;
    let said = read_redaction(&entry.leaf).filter(|said| sound && said.target_seq == target_seq);
    said.ok_or_else(|| Damage::at(entry.seq, DIFFERS))
}

/// Checks a record. `buffer` holds the bytes of its entry afterwards.
pub(crate) fn record<'a>(stored: Stored<'a>, buffer: &mut Vec<u8>) -> Read<Checked<'a>> {
    let Stored { seq, leaf_hash: expected, record, redaction: taken, .. } = stored;
    let mut record = record.map_err(|malformed| Damage::at(seq, malformed))?;
    let said = taken.map(|entry| redaction(&entry, seq)).transpose()?;
    let blanked = record.complete(said.as_ref()).map_err(|unsound| Damage::at(seq, unsound))?;
    buffer.clear();
    record.entry.write(buffer);
    if expected != Some(leaf_hash(buffer)) || record.entry.seq() != seq {
        return Err(Damage::at(seq, DIFFERS));
    }
    Ok(Checked { seq, record, redaction: said.filter(|_| blanked == Blanked::Yes) })
}

/// Takes a text as one of our types; what does not fit was not written by us.
fn typed<T, E: std::fmt::Display>(
    seq: u64,
    text: Text<'_>,
    make: impl FnOnce(String) -> Result<T, E>,
) -> Read<T> {
    make(text.into_owned()).map_err(|error| Damage::at(seq, error))
}

fn typed_or_none<T, E: std::fmt::Display>(
    seq: u64,
    text: Option<Text<'_>>,
    make: impl FnOnce(String) -> Result<T, E>,
) -> Read<Option<T>> {
    text.map(|text| typed(seq, text, make)).transpose()
}

fn typed_list<T, E: std::fmt::Display>(
    seq: u64,
    texts: Vec<Text<'_>>,
    make: impl Fn(String) -> Result<T, E>,
) -> Read<Vec<T>> {
    texts.into_iter().map(|text| typed(seq, text, &make)).collect()
}

fn parsed(seq: u64, metadata: Option<&str>) -> Read<Option<Map<String, Value>>> {
    let parse = |text| serde_json::from_str(text).map_err(|_| Damage::at(seq, "its metadata is not JSON"));
    metadata.map(parse).transpose()
}

/// Checks a thought. A sealed content stays sealed; a redacted one is marked as such.
pub(crate) fn thought(stored: Stored<'_>, buffer: &mut Vec<u8>) -> Read<Thought> {
    let Checked { seq, record, redaction } = record(stored, buffer)?;
    let Entry::Thought(entry) = record.entry else { return Err(Damage::at(seq, OTHER_KIND)) };
    let text = record.parts.text.unwrap_or_default();
    let sealed = text.starts_with(SEALED);
    // Nobody can open what stays of a sealed content whose key was taken.
    let content = if redaction.is_some() { String::new() } else { text.into_owned() };
    Ok(Thought {
        seq,
        id: typed(seq, entry.id, TryFrom::try_from)?,
        kind: entry.kind,
        task_id: typed(seq, entry.task_id, TryFrom::try_from)?,
        session_id: typed(seq, entry.session_id, TryFrom::try_from)?,
        step_index: entry.step_index,
        parent_id: typed_or_none(seq, entry.parent_id, TryFrom::try_from)?,
        agent_id: typed(seq, entry.agent_id, TryFrom::try_from)?,
        action_id: typed_or_none(seq, entry.action_id, TryFrom::try_from)?,
        context_id: entry.context_id,
        brief_id: typed_or_none(seq, entry.brief_id, TryFrom::try_from)?,
        supersedes: typed_list(seq, entry.supersedes, TryFrom::try_from)?,
        rejects: typed_list(seq, entry.rejects, TryFrom::try_from)?,
        applies_to: typed_list(seq, entry.applies_to, TryFrom::try_from)?,
        source: entry.source,
        timestamp: typed(seq, entry.timestamp, TryFrom::try_from)?,
        sealed,
        content,
        redacted: redaction.map(|said| said.redaction()),
        metadata: parsed(seq, record.parts.metadata.as_deref())?,
        prev_hash: entry.prev_hash,
        hash: entry.hash,
        content_hash: entry.content_hash,
        chain_hash: entry.chain_hash,
    })
}

/// Checks a snapshot's head.
pub(crate) fn context(stored: Stored<'_>, buffer: &mut Vec<u8>) -> Read<ContextHead> {
    let Checked { seq, record, redaction } = record(stored, buffer)?;
    let Entry::Snapshot(entry) = record.entry else { return Err(Damage::at(seq, OTHER_KIND)) };
    Ok(ContextHead {
        context_id: entry.context_id,
        roadmap_id: typed(seq, entry.roadmap_id, TryFrom::try_from)?,
        content_hash: entry.content_hash,
        node_count: entry.node_count,
        created_at: typed(seq, entry.created_at, TryFrom::try_from)?,
        metadata: parsed(seq, record.parts.metadata.as_deref())?,
        redacted: redaction.map(|said| said.redaction()),
        seq,
    })
}

/// An event that matches its log entry.
pub(crate) struct CheckedEvent<'a> {
    pub entry: EventEntry<'a>,
    /// Canonical JSON; of a redacted event, what stays of it.
    pub body: Text<'a>,
    pub redaction: Option<RedactionEntry<'static>>,
}

impl CheckedEvent<'_> {
    /// Borrows from nothing any more.
    pub fn into_owned(self) -> CheckedEvent<'static> {
        let body = Text::from(self.body.into_owned());
        CheckedEvent { entry: self.entry.into_owned(), body, redaction: self.redaction }
    }
}

/// Checks an event.
pub(crate) fn event<'a>(stored: Stored<'a>, buffer: &mut Vec<u8>) -> Read<CheckedEvent<'a>> {
    let Checked { seq, record, redaction } = record(stored, buffer)?;
    let Entry::Event(entry) = record.entry else { return Err(Damage::at(seq, OTHER_KIND)) };
    Ok(CheckedEvent { entry, body: record.parts.text.unwrap_or_default(), redaction })
}

/// Checks an event of a session.
pub(crate) fn event_of<'a>(
    stored: Stored<'a>,
    session_id: &str,
    buffer: &mut Vec<u8>,
) -> Read<CheckedEvent<'a>> {
    let event = event(stored, buffer)?;
    match event.entry.session_id == session_id {
        true => Ok(event),
        false => Err(Damage::at(event.entry.seq, format!("it is not an event of session `{session_id}`"))),
    }
}

/// A stored brief that matches its log entry.
pub(crate) struct CheckedBrief {
    pub seq: u64,
    pub id: BriefId,
    pub session_id: SessionId,
    pub node: String,
    pub turn: u64,
    pub created_at: Timestamp,
    /// Its own hash.
    pub hash: Sha,
    /// Canonical JSON; none if it was redacted.
    pub data: Option<String>,
    pub redacted: Option<Redaction>,
}

/// Checks a stored brief.
pub(crate) fn brief(stored: Stored<'_>, buffer: &mut Vec<u8>) -> Read<CheckedBrief> {
    let Checked { seq, record, redaction } = record(stored, buffer)?;
    let Entry::Brief(entry) = record.entry else { return Err(Damage::at(seq, OTHER_KIND)) };
    Ok(CheckedBrief {
        seq,
        id: typed(seq, entry.brief_id, TryFrom::try_from)?,
        session_id: typed(seq, entry.session_id, TryFrom::try_from)?,
        node: entry.node.into_owned(),
        turn: entry.turn,
        created_at: typed(seq, entry.created_at, TryFrom::try_from)?,
        hash: entry.hash,
        data: record.parts.text.map(Text::into_owned),
        redacted: redaction.map(|said| said.redaction()),
    })
}

/// Checks a content that is stored under its digest; none if it was redacted.
pub(crate) fn body(digest: &Sha, body: ReadBody) -> Result<Option<String>, StoreError> {
    let damaged = |what: &str| StoreError::Damaged(format!("the content with digest {digest} {what}"));
    match body {
        ReadBody::Data(data) if Sha::of(data.as_bytes()) == *digest => Ok(Some(data)),
        ReadBody::Data(_) => Err(damaged("does not match it")),
        ReadBody::Gone(entry) => {
            let sound = entry.filter(|entry| leaf_hash(&entry.leaf).0[..] == entry.hash[..]);
            let said = sound.and_then(|entry| read_redaction(&entry.leaf));
            match said.is_some_and(|said| said.bodies.contains(digest)) {
                true => Ok(None),
                false => Err(damaged("is gone, and no redaction says so")),
            }
        }
    }
}
