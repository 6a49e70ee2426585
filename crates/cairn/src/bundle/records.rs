//! Checking what an entry of a bundle records: contents against their hashes, and every link that can be followed.

use std::collections::BTreeMap;
use std::fmt::Display;

use cairn_core::entry::{
    BriefEntry, EntryKind, EventEntry, ReviewEntry, Salt, SnapshotEntry, ThoughtEntry, metadata_commitment,
};
use cairn_core::session::Event;
use cairn_core::session::event::EventError;
use cairn_core::thought::{TaskLink, ThoughtType, WrongLink, chain_hash, task_hash, wrong_links};
use cairn_core::{Sha, canonical};
use serde_json::{Map, Value};

use super::entry::{SnapshotParts, ThoughtParts};
use super::links::{Links, Step};
use crate::review::commitment;
use crate::seal;
use crate::verify::{Finding, Reason, bodies_of};

/// A field that is not what it should be.
struct Wrong {
    reason: Reason,
    table: &'static str,
    field: &'static str,
    expected: String,
    actual: String,
}

fn wrong(
    reason: Reason,
    table: &'static str,
    field: &'static str,
    expected: impl Display,
    actual: impl Display,
) -> Option<Wrong> {
    Some(Wrong { reason, table, field, expected: expected.to_string(), actual: actual.to_string() })
}

impl Wrong {
    fn finding(self, what: &str, seq: u64) -> Finding {
        Finding::differs(self.reason, self.table, what, self.field, self.expected, self.actual).at(seq)
    }
}

/// A position that does not follow from the last one.
fn misplaced(
    table: &'static str,
    field: &'static str,
    (step, expected): (Step, u64),
    found: u64,
) -> Option<Wrong> {
    let reason = match step {
        Step::Next | Step::Outside => return None,
        Step::Missing => Reason::MissingRecord,
        Step::Back => Reason::Order,
    };
    wrong(reason, table, field, expected, found)
}

/// A text that is not the one its entry stands for.
fn other_text(
    table: &'static str,
    field: &'static str,
    text: &str,
    hash: &Sha,
    length: u64,
) -> Option<Wrong> {
    let actual = Sha::of(text.as_bytes());
    if actual != *hash {
        return wrong(Reason::ContentHashMismatch, table, field, hash, actual);
    }
    if text.len() as u64 != length {
        return wrong(Reason::LeafMismatch, table, field, format!("{} bytes", length), text.len());
    }
    None
}

/// Metadata that is not what its entry commits to. Where it is gone, there is nothing to compare.
fn other_metadata(
    table: &'static str,
    metadata: Option<&str>,
    salt: Option<&Salt>,
    commitment: Option<&Sha>,
) -> Option<Wrong> {
    let (metadata, salt) = match (metadata, salt) {
        (None, None) => return None,
        (Some(metadata), Some(salt)) => (metadata, salt),
        _ => {
            return wrong(
                Reason::LeafMismatch,
                table,
                "salt",
                "there exactly if there is metadata",
                "otherwise",
            );
        }
    };
    let actual = metadata_commitment(salt, metadata.as_bytes());
    let expected = commitment.map_or("nothing".to_string(), Sha::to_string);
    if commitment == Some(&actual) {
        None
    } else {
        wrong(Reason::LeafMismatch, table, "metadata", expected, actual)
    }
}

/// A record of another session or task than the one that the bundle is of.
fn outside(links: &Links, table: &'static str, session_id: &str, task_id: Option<&str>) -> Option<Wrong> {
    let (field, expected) = links.outside_selection(session_id, task_id)?;
    let actual = if field == "session_id" { Some(session_id) } else { task_id };
    wrong(Reason::LeafMismatch, table, field, expected, actual.unwrap_or("none"))
}

/// The first thing wrong with a thought. It is remembered either way, so that one change is one finding.
pub fn thought(links: &mut Links, leaf: &ThoughtEntry<'_>, parts: &ThoughtParts) -> Option<Finding> {
    let found = wrong_thought(links, leaf, parts);
    links.add_thought(leaf);
    found.map(|wrong| Finding {
        id: Some(leaf.id.to_string()),
        step_index: Some(leaf.step_index),
        ..wrong.finding(&format!("thought `{}`", leaf.id), leaf.seq)
    })
}

fn wrong_thought(links: &mut Links, leaf: &ThoughtEntry<'_>, parts: &ThoughtParts) -> Option<Wrong> {
    const T: &str = "thought";
    let outside = outside(links, T, &leaf.session_id, Some(&leaf.task_id));
    if outside.is_some() {
        return outside;
    }
    let session = links.session(&leaf.session_id);
    let (in_task, position, prev_hash) = links.task(leaf);
    let in_session = match leaf.step_index {
        found if found == session.steps => Step::Next,
        found if found < session.steps => Step::Back,
        _ if links.has_session(&leaf.session_id) => Step::Missing,
        _ => Step::Outside,
    };
    if links.thought(&leaf.id).is_some() {
        return wrong(Reason::LeafMismatch, T, "id", "an id of its own", "one that was there before");
    }
    let places = misplaced(T, "position", (in_task, position), leaf.position)
        .or_else(|| misplaced(T, "step_index", (in_session, session.steps), leaf.step_index));
    if places.is_some() {
        return places;
    }
    if let Some(content) = &parts.content {
        let other = other_text(T, "content", content, &leaf.content_hash, leaf.content_length);
        if other.is_some() {
            return other;
        }
        if let Some(key) = &parts.seal_key
            && seal::open(&leaf.id, content, key).is_none()
        {
            let expected = "the key that opens its content";
            return wrong(Reason::ContentHashMismatch, "seal", "key", expected, "another");
        }
    }
    let parent = match &leaf.parent_id {
        None => Some(None),
        Some(id) => match links.thought(id) {
            Some(parent) if parent.session != session.no => {
                let expected = "a thought of the same session";
                return wrong(Reason::ChainHashMismatch, T, "parent_id", expected, "one of another");
            }
            Some(parent) => Some(Some(parent.chain_hash)),
            None if links.has_session(&leaf.session_id) => {
                return wrong(Reason::MissingRecord, T, "parent_id", "an earlier thought", "missing");
            }
            None => {
                links.outside += 1;
                None
            }
        },
    };
    if let Some(parent) = parent {
        let link = chain_hash(&leaf.content_hash, parent.as_ref());
        if link != leaf.chain_hash {
            return wrong(Reason::ChainHashMismatch, T, "chain_hash", link, leaf.chain_hash);
        }
    }
    if in_task == Step::Outside {
        links.outside += 1;
    } else if prev_hash != leaf.prev_hash {
        return wrong(Reason::PrevHashMismatch, T, "prev_hash", prev_hash, leaf.prev_hash);
    }
    if let Some(content) = &parts.content {
        let link = TaskLink {
            content,
            id: &leaf.id,
            prev_hash: leaf.prev_hash,
            task_id: &leaf.task_id,
            timestamp: &leaf.timestamp,
            kind: leaf.kind.as_str(),
        };
        let hash = task_hash(&link, &mut Vec::new());
        if hash != leaf.hash {
            return wrong(Reason::HashMismatch, T, "hash", hash, leaf.hash);
        }
    }
    other_metadata(T, parts.metadata.as_deref(), parts.salt.as_ref(), leaf.metadata_commitment.as_ref())
        .or_else(|| names_nothing(links, leaf, session.no))
        .or_else(|| wrong_link(links, leaf, session.no))
}

/// A link that leads elsewhere than it may: not to an earlier decision, or to a thought of another session.
fn wrong_link(links: &mut Links, leaf: &ThoughtEntry<'_>, session: u32) -> Option<Wrong> {
    const T: &str = "thought";
    let found = wrong_links(leaf.kind, &leaf.supersedes, &leaf.rejects, &leaf.applies_to);
    if let Some(WrongLink { field, why, .. }) = found.into_iter().next() {
        return wrong(Reason::LeafMismatch, T, field, "what can be recorded there", why);
    }
    let supersedes = leaf.supersedes.iter().map(|id| ("supersedes", id, links.has_all()));
    let whole = links.has_session(&leaf.session_id);
    let rejects = leaf.rejects.iter().map(|id| ("rejects", id, whole));
    let mut outside = 0;
    for (field, id, must_be_here) in supersedes.chain(rejects) {
        match links.thought(id) {
            None if must_be_here => {
                let expected = format!("an earlier thought `{id}`");
                return wrong(Reason::MissingRecord, T, field, expected, "none");
            }
            None => outside += 1,
            Some(target) if field == "supersedes" && target.kind != ThoughtType::Decision => {
                let actual = format!("`{id}` of type {}", target.kind);
                return wrong(Reason::LeafMismatch, T, field, "decisions", actual);
            }
            Some(target) if field == "rejects" && target.session != session => {
                let actual = format!("`{id}` of another");
                return wrong(Reason::LeafMismatch, T, field, "thoughts of the same session", actual);
            }
            Some(_) => {}
        }
    }
    links.outside += outside;
    None
}

/// A snapshot or a brief that a thought names and that was not there before it.
fn names_nothing(links: &mut Links, leaf: &ThoughtEntry<'_>, session: u32) -> Option<Wrong> {
    if let Some(id) = leaf.context_id
        && !links.has_context(id)
    {
        let expected = format!("an earlier snapshot of the number {id}");
        return wrong(Reason::MissingRecord, "thought", "context_id", expected, "none");
    }
    let id = leaf.brief_id.as_deref()?;
    match links.brief(id) {
        Some(of) if of == session => None,
        None if !links.has_session(&leaf.session_id) => {
            links.outside += 1;
            None
        }
        _ => wrong(
            Reason::MissingRecord,
            "thought",
            "brief_id",
            "an earlier brief of the same session",
            "none",
        ),
    }
}

/// The first thing wrong with a snapshot.
pub fn snapshot(links: &mut Links, leaf: &SnapshotEntry<'_>, parts: &SnapshotParts) -> Option<Finding> {
    let by_number = links.add_context(leaf.context_id, leaf.seq);
    let in_roadmap = links.roadmap(&leaf.roadmap_id, leaf.position);
    let found = misplaced("context", "context_id", by_number, leaf.context_id)
        .or_else(|| misplaced("context", "position", in_roadmap, leaf.position))
        .or_else(|| match &parts.data {
            Some(data) => other_text("snapshot", "data", data, &leaf.content_hash, leaf.content_length),
            None => wrong(Reason::MissingRecord, "snapshot", "data", "its content", "nothing"),
        })
        .or_else(|| match (&parts.metadata, leaf.metadata_commitment) {
            (None, Some(_)) => wrong(Reason::MissingRecord, "context", "metadata", "its metadata", "nothing"),
            (metadata, commitment) => {
                other_metadata("context", metadata.as_deref(), parts.salt.as_ref(), commitment.as_ref())
            }
        });
    found.map(|wrong| Finding {
        id: Some(leaf.context_id.to_string()),
        ..wrong.finding(&format!("context {}", leaf.context_id), leaf.seq)
    })
}

/// The first thing wrong with an event.
pub fn event(
    links: &mut Links,
    leaf: &EventEntry<'_>,
    body: Option<&str>,
    bodies: &BTreeMap<Sha, String>,
) -> Option<Finding> {
    let seq = leaf.seq;
    let placed = links.event(&leaf.session_id, leaf.position);
    let found = outside(links, "event", &leaf.session_id, None)
        .or_else(|| misplaced("event", "position", placed, leaf.position))
        .or_else(|| match body {
            Some(body) => other_text("event", "body", body, &leaf.body_hash, leaf.body_length),
            None => wrong(Reason::MissingRecord, "event", "body", "what happened", "nothing"),
        });
    if let Some(wrong) = found {
        return Some(wrong.finding(&format!("event {seq}"), seq));
    }
    let named = match exact_event(leaf, body.unwrap_or_default()).map(bodies_of) {
        Ok(named) => named,
        Err(error) => return Some(Finding::new(Reason::LeafMismatch, "event", error.to_string()).at(seq)),
    };
    let finding = |reason, message: String| Some(Finding::new(reason, "body", message).at(seq));
    let mut first = 0;
    for body in &named {
        let digest = body.sha256;
        if !links.is_new_body(digest) {
            continue;
        }
        first += 1;
        match bodies.get(&digest) {
            None => {
                return finding(
                    Reason::MissingRecord,
                    format!("content {digest}, which an event names, is missing"),
                );
            }
            Some(data) if Sha::of(data.as_bytes()) != digest || data.len() as u64 != body.bytes => {
                return finding(
                    Reason::ContentHashMismatch,
                    format!("the content under {digest} is another"),
                );
            }
            Some(_) => {}
        }
    }
    if bodies.len() > first {
        return finding(
            Reason::LeafMismatch,
            "there are contents that the event is not the first to name".into(),
        );
    }
    None
}

/// Reads the body of an event, and says no unless writing it again gives the same bytes: so there is one way to write it,
/// and every verifier reads the same in it.
fn exact_event(leaf: &EventEntry<'_>, body: &str) -> Result<Event, EventError> {
    let event = Event::parse(&leaf.event, leaf.event_v, body)?;
    match canonical::to_bytes(&event.body()) {
        Ok(bytes) if bytes == body.as_bytes() => Ok(event),
        _ => Err(EventError::Body {
            kind: leaf.event.to_string(),
            message: format!("it is not written as version {} writes it", leaf.event_v),
        }),
    }
}

/// The first thing wrong with a brief that is there.
pub fn brief(links: &mut Links, leaf: &BriefEntry<'_>, data: Option<&str>) -> Option<Finding> {
    links.add_brief(&leaf.brief_id, &leaf.session_id, leaf.seq);
    let found = outside(links, "brief", &leaf.session_id, None).or_else(|| {
        let data = data?;
        other_text("brief", "data", data, &leaf.data_hash, leaf.data_length).or_else(|| {
            let actual = own_hash(data).map_or("none".to_string(), |hash| hash.to_string());
            let same = actual == leaf.hash.to_string();
            if same { None } else { wrong(Reason::HashMismatch, "brief", "hash", actual, leaf.hash) }
        })
    });
    found.map(|wrong| Finding {
        id: Some(leaf.brief_id.to_string()),
        ..wrong.finding(&format!("brief `{}`", leaf.brief_id), leaf.seq)
    })
}

/// The first thing wrong with a review.
pub fn review(
    links: &Links,
    leaf: &ReviewEntry<'_>,
    text: Option<&str>,
    salt: Option<&Salt>,
) -> Option<Finding> {
    const T: &str = "review";
    let targets = [EntryKind::Thought, EntryKind::Brief];
    let is_target = targets.contains(&leaf.target_kind)
        && links.place(leaf.target_kind, &leaf.target_id) == Some(leaf.target_seq);
    let found = match (text, salt) {
        _ if !is_target => {
            let expected = "that of the earlier thought or brief it names";
            wrong(Reason::MissingRecord, T, "target_seq", expected, leaf.target_seq)
        }
        (None, _) => wrong(Reason::MissingRecord, T, "text", "its text", "nothing"),
        (Some(_), None) => wrong(Reason::LeafMismatch, T, "salt", "the salt of its text", "nothing"),
        (Some(text), Some(salt)) => {
            let actual = commitment(salt, text);
            if actual != leaf.text_commitment {
                wrong(Reason::ContentHashMismatch, T, "text", leaf.text_commitment, actual)
            } else if text.len() as u64 != leaf.text_length {
                wrong(Reason::LeafMismatch, T, "text", format!("{} bytes", leaf.text_length), text.len())
            } else {
                None
            }
        }
    };
    found.map(|wrong| Finding {
        id: Some(leaf.review_id.to_string()),
        ..wrong.finding(&format!("review `{}`", leaf.review_id), leaf.seq)
    })
}

/// The hash of a brief, over the parts of it that make it what it is.
fn own_hash(data: &str) -> Option<Sha> {
    const PARTS: [&str; 9] =
        ["budget", "counter", "format", "layout", "node", "sections", "seq", "session_id", "turn"];
    let mut data = canonical::parse(data.as_bytes()).ok()?;
    let brief = data.get_mut("brief")?.as_object_mut()?;
    let parts: Option<Map<String, Value>> =
        PARTS.iter().map(|part| Some((part.to_string(), brief.remove(*part)?))).collect();
    Some(Sha::of(&canonical::to_bytes(&Value::Object(parts?)).ok()?))
}
