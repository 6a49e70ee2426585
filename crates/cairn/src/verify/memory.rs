//! Checking events of sessions, the contents they name, and stored briefs.

use cairn_core::Sha;
use cairn_core::entry::{BriefEntry, EventEntry};
use cairn_core::session::Event;
use cairn_core::session::op::{Body, EntityOp};

use super::chain::check_entry;
use super::record::{first_difference, leaf_number, leaf_text};
use super::redaction::{InLog, Redactions};
use super::{Cause, Finding, Reason};
use crate::store::{Audit, Store, StoreError, StoredBrief, StoredEvent};

type Result<T> = std::result::Result<T, StoreError>;

/// Checks events and briefs one after the other.
#[derive(Default)]
pub struct Memory {
    leaf: Vec<u8>,
    /// Events seen.
    pub events: u64,
    /// Contents seen where they are first named.
    pub bodies: u64,
    /// Briefs seen.
    pub briefs: u64,
}

impl Memory {
    /// Checks the event of an entry; returns the first thing wrong.
    pub fn check_event(&mut self, audit: &dyn Audit, seq: u64, leaf: &[u8]) -> Result<Option<Finding>> {
        let mut wrong = None;
        let mut named = Vec::new();
        let found = audit.event(seq, &mut |stored| {
            wrong = self.event_differs(seq, &stored, leaf);
            if wrong.is_none() {
                match named_bodies(stored.kind, stored.v.unsigned_abs(), stored.body.unwrap_or_default()) {
                    Ok(bodies) => named = bodies,
                    Err(message) => {
                        let finding = Finding::new(Reason::LeafMismatch, "event", message);
                        wrong = Some(finding.at(seq));
                    }
                }
            }
        })?;
        if !found {
            let (session, position) = (leaf_text(leaf, "session_id"), leaf_number(leaf, "position"));
            let message = format!(
                "the event of log entry {seq} is gone: event {} of session `{}`",
                position.map_or("?".to_string(), |position| position.to_string()),
                session.unwrap_or_default()
            );
            return Ok(Some(Finding::new(Reason::MissingRecord, "event", message).at(seq)));
        }
        self.events += 1;
        if wrong.is_some() {
            return Ok(wrong);
        }
        named.sort_unstable_by_key(|body| body.sha256.0);
        named.dedup();
        for body in &named {
            if let Some(finding) = self.check_body(audit, seq, body)? {
                return Ok(Some(finding));
            }
        }
        Ok(None)
    }

    /// Checks that content is there, and, where it is first named, that it is what its digest says.
    fn check_body(&mut self, audit: &dyn Audit, seq: u64, body: &Body) -> Result<Option<Finding>> {
        let digest = body.sha256;
        let mut wrong = None;
        let found = audit.body(&digest, &mut |first, data| {
            let finding = |reason, message: String| Some(Finding::new(reason, "body", message).at(seq));
            if first < 0 || first as u64 > seq {
                wrong = finding(
                    Reason::Order,
                    format!("content {digest} claims to be first named at {first}, and is named at {seq}"),
                );
            } else if first as u64 == seq {
                self.bodies += 1;
                match data {
                    None => wrong = finding(Reason::MissingRecord, format!("content {digest} is gone")),
                    Some(data) => {
                        let actual = Sha::of(data.as_bytes());
                        if actual != digest || data.len() as u64 != body.bytes {
                            let message =
                                format!("the content stored under {digest} does not have that hash");
                            wrong = finding(Reason::ContentHashMismatch, message)
                                .map(|finding| finding.field("data", digest, actual));
                        }
                    }
                }
            }
        })?;
        if !found {
            let message = format!("content {digest}, which the event at log entry {seq} names, is missing");
            let finding = Finding::new(Reason::MissingRecord, "body", message).at(seq);
            return Ok(Some(finding.unless(Cause::Index("body"))));
        }
        Ok(wrong)
    }

    fn event_differs(&mut self, seq: u64, stored: &StoredEvent<'_>, leaf: &[u8]) -> Option<Finding> {
        let finding = |reason, table, field: &str, expected: &str, actual: &str| {
            Some(Finding::differs(reason, table, &format!("event {seq}"), field, expected, actual).at(seq))
        };
        if let Some(column) = stored.malformed {
            let expected = "a value of its type";
            return finding(Reason::LeafMismatch, "event", column, expected, "a value of another type");
        }
        let Some(session_id) = stored.session_id else {
            return finding(
                Reason::MissingRecord,
                "session",
                "session_id",
                "the label of its session",
                "missing",
            );
        };
        let Some(body) = stored.body else {
            return finding(Reason::MissingRecord, "event", "body", "what happened", "nothing");
        };
        self.leaf.clear();
        EventEntry {
            body_hash: Sha::of(body.as_bytes()),
            body_length: body.len() as u64,
            created_at: stored.created_at.into(),
            event: stored.kind.into(),
            event_v: stored.v.unsigned_abs(),
            idempotency_key: stored.idempotency_key.map(Into::into),
            position: stored.position.unsigned_abs(),
            seq,
            session_id: session_id.into(),
            turn: stored.turn.unsigned_abs(),
        }
        .write(&mut self.leaf);
        let negative = [stored.v, stored.position, stored.turn].iter().any(|number| *number < 0);
        if self.leaf == leaf && !negative {
            return None;
        }
        let (field, in_log, in_row) = first_difference(leaf, &self.leaf);
        let (field, reason) = match field.as_str() {
            // The hash is what differs; the body is what was changed.
            "body_hash" | "body_length" => ("body", Reason::ContentHashMismatch),
            other => (other, Reason::LeafMismatch),
        };
        finding(reason, "event", field, &in_log, &in_row)
    }

    /// Checks the brief of an entry; returns the first thing wrong.
    pub fn check_brief(
        &mut self,
        audit: &dyn Audit,
        seq: u64,
        leaf: &[u8],
        redactions: &mut Redactions,
    ) -> Result<Option<Finding>> {
        let (mut wrong, mut blank) = (None, None);
        let found = audit.brief(seq, &mut |stored| {
            if stored.data.is_none() {
                blank = Some(stored.id.to_string());
            }
            wrong = self.brief_differs(seq, &stored, leaf);
        })?;
        if !found {
            let message = format!("the brief of log entry {seq} is gone");
            return Ok(Some(Finding::new(Reason::MissingRecord, "brief", message).at(seq)));
        }
        self.briefs += 1;
        let (Some(id), None) = (blank, &wrong) else { return Ok(wrong) };
        let hash = InLog::read(leaf).map_or(Sha::ZERO, |in_log| in_log.content_hash);
        let Some(said) = redactions.of(audit, seq, "data", &hash)? else {
            let (what, actual) =
                (format!("brief `{id}`"), "nothing: it was erased without a redaction record");
            let finding =
                Finding::differs(Reason::MissingRecord, "brief", &what, "data", "the brief", actual).at(seq);
            return Ok(Some(Finding { id: Some(id), ..finding }));
        };
        redactions.count(seq, said, false);
        Ok(None)
    }

    fn brief_differs(&mut self, seq: u64, stored: &StoredBrief<'_>, leaf: &[u8]) -> Option<Finding> {
        let id = stored.id;
        let finding = |reason, table, field: &str, expected: &str, actual: &str| {
            let finding =
                Finding::differs(reason, table, &format!("brief `{id}`"), field, expected, actual).at(seq);
            Some(Finding { id: Some(id.to_string()), ..finding })
        };
        let Some(session_id) = stored.session_id else {
            return finding(
                Reason::MissingRecord,
                "session",
                "session_id",
                "the label of its session",
                "missing",
            );
        };
        // If it was redacted, the entry alone knows what it was.
        let (data_hash, data_length) = match stored.data {
            Some(data) => (Sha::of(data.as_bytes()), data.len() as u64),
            None => {
                InLog::read(leaf).map_or((Sha::ZERO, 0), |known| (known.content_hash, known.content_length))
            }
        };
        self.leaf.clear();
        BriefEntry {
            brief_id: stored.id.into(),
            created_at: stored.created_at.into(),
            data_hash,
            data_length,
            hash: stored.hash.try_into().map_or(Sha::ZERO, Sha),
            node: stored.node.into(),
            seq,
            session_id: session_id.into(),
            turn: stored.turn.unsigned_abs(),
        }
        .write(&mut self.leaf);
        if self.leaf == leaf && stored.turn >= 0 {
            return None;
        }
        let (field, in_log, in_row) = first_difference(leaf, &self.leaf);
        let (field, reason) = match field.as_str() {
            "data_hash" | "data_length" => ("data", Reason::ContentHashMismatch),
            other => (other, Reason::LeafMismatch),
        };
        finding(reason, "brief", field, &in_log, &in_row)
    }
}

/// The contents that an event names.
pub fn named_bodies(kind: &str, version: u64, body: &str) -> std::result::Result<Vec<Body>, String> {
    Event::parse(kind, version, body).map(bodies_of).map_err(|error| error.to_string())
}

/// The contents that an event names.
pub fn bodies_of(event: Event) -> Vec<Body> {
    let Event::EntitiesApplied(applied) = event else { return Vec::new() };
    let named = applied.ops.into_iter().filter_map(|op| match op {
        EntityOp::Read(stored) | EntityOp::Update(stored) => stored.body,
        EntityOp::Generate { body, .. } => body,
        EntityOp::Edit { body, .. } => Some(body),
        _ => None,
    });
    named.collect()
}

/// Checks the row and the log entry of a brief, and that the entry stands in the log; says what is wrong.
pub fn verify_brief(store: &dyn Store, seq: u64) -> crate::error::Result<Option<String>> {
    let audit = store.audit()?;
    let wrong = check_entry(&*audit, seq, "a brief", |checker| checker.memory.briefs)?;
    Ok(wrong.map(|finding| finding.message))
}
