//! Checking events of sessions and stored briefs.

use cairn_core::entry::{BriefEntry, Entry, EventEntry, Parts};
use cairn_core::session::Event;
use cairn_core::session::event::EventError;
use cairn_core::session::op::Body;
use cairn_core::{Sha, canonical};
use serde_json::{Map, Value};

use super::{Before, Result, Wrong, about, misplaced, wrong};
use crate::store::{Finding, Reason};

/// The first thing wrong with an event.
pub(super) fn check_event(
    before: &mut dyn Before,
    entry: &Entry<'_>,
    event: &EventEntry<'_>,
    parts: &Parts<'_>,
) -> Result<Option<Finding>> {
    if let Some(wrong) = misplaced("event", "position", before.in_memory(event)?, event.position) {
        return Ok(Some(wrong.finding(entry)));
    }
    let Some(body) = &parts.text else {
        let missing = wrong(Reason::MissingRecord, "event", "body", "what happened", "nothing");
        return Ok(Some(missing.finding(entry)));
    };
    match exact_event(event, body) {
        Ok(parsed) => before.bodies(event.seq, &named(&parsed)),
        Err(error) => Ok(Some(about(Finding::new(Reason::LeafMismatch, "event", error.to_string()), entry))),
    }
}

/// Reads the body of an event, and says no unless writing it again gives the same bytes: so there is one way to write it,
/// and every verifier reads the same in it.
fn exact_event(entry: &EventEntry<'_>, body: &str) -> std::result::Result<Event, EventError> {
    let event = Event::parse(&entry.event, entry.event_v, body)?;
    match canonical::to_bytes(&event.body()) {
        Ok(bytes) if bytes == body.as_bytes() => Ok(event),
        _ => Err(EventError::Body {
            kind: entry.event.to_string(),
            message: format!("it is not written as version {} writes it", entry.event_v),
        }),
    }
}

/// The contents that an event names, each once, by their digests.
fn named(event: &Event) -> Vec<Body> {
    let mut bodies = event.bodies();
    bodies.sort_unstable_by_key(|body| body.sha256);
    bodies.dedup();
    bodies
}

/// The contents that the body of an event names; none if it cannot be read.
pub(crate) fn named_bodies(entry: &EventEntry<'_>, body: &str) -> Vec<Body> {
    Event::parse(&entry.event, entry.event_v, body).map(|event| named(&event)).unwrap_or_default()
}

/// The first thing wrong with a brief.
pub(super) fn check_brief(entry: &BriefEntry<'_>, parts: &Parts<'_>) -> Option<Wrong> {
    let actual = own_hash(parts.text.as_deref()?);
    let shown = || actual.map_or("none".to_string(), |hash| hash.to_string());
    (actual != Some(entry.hash)).then(|| wrong(Reason::HashMismatch, "brief", "hash", shown(), entry.hash))
}

/// The hash of a brief, over the parts that identify it.
fn own_hash(data: &str) -> Option<Sha> {
    const PARTS: [&str; 9] =
        ["budget", "counter", "format", "layout", "node", "sections", "seq", "session_id", "turn"];
    let mut data = canonical::parse(data.as_bytes()).ok()?;
    let brief = data.get_mut("brief")?.as_object_mut()?;
    let parts: Option<Map<String, Value>> =
        PARTS.iter().map(|part| Some((part.to_string(), brief.remove(*part)?))).collect();
    Some(Sha::of(&canonical::to_bytes(&Value::Object(parts?)).ok()?))
}
