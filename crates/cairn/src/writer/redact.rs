//! Blanking a record: an entry that says so, and the texts gone, in one transaction.

use std::collections::BTreeSet;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, RedactionEntry};
use cairn_core::time::Timestamp;

use super::step::Step;
use crate::checked;
use crate::error::{Error, Result};
use crate::store::{Damage, RedactionLeaf, Target};

/// A record to be blanked.
pub(crate) struct RedactRequest {
    pub id: String,
    pub actor: String,
    pub reason: String,
}

/// What was blanked.
pub(crate) struct Blanked {
    /// Position of the redaction in the log.
    pub seq: u64,
    pub at: Timestamp,
    pub fields: Vec<&'static str>,
    pub content_hash: Sha,
    /// With the texts it had.
    pub target: Target,
}

/// An event to be blanked.
pub(crate) struct RedactEvent {
    pub seq: u64,
    pub actor: String,
    pub reason: String,
    /// What stays of its body.
    pub remains: String,
    /// The contents that it names: digest and canonical JSON.
    pub bodies: Vec<(Sha, String)>,
}

/// A blanked event.
pub(crate) struct BlankedEvent {
    /// Position of the redaction in the log.
    pub seq: u64,
    pub at: Timestamp,
    pub fields: Vec<&'static str>,
    pub content_hash: Sha,
    /// The other events that named one of its contents.
    pub shared: Vec<u64>,
}

fn redacted_already(kind: EntryKind, id: &str, entry: &RedactionLeaf, seq: u64) -> Result<Error> {
    let said = checked::redaction(entry, seq)?.redaction();
    Ok(Error::Conflict(format!(
        "{kind} `{id}` was redacted already, by {} on {}: {}",
        said.by, said.at, said.reason
    )))
}

impl Step<'_> {
    /// The entry at a position of the log; fails if the row there does not match it.
    pub(super) fn entry_at(&mut self, seq: u64) -> Result<Entry<'static>> {
        let tx = &mut *self.tx;
        let entry = checked::one(
            |visit| tx.record(seq, visit),
            |stored, buffer| Ok(checked::record(stored, buffer)?.record.entry.into_owned()),
        )?;
        Ok(entry.ok_or_else(|| Damage::at(seq, "it is missing"))?)
    }

    /// Blanks a thought or a stored brief.
    pub fn redact(&mut self, request: &RedactRequest) -> Result<Blanked> {
        let Some(target) = self.tx.target(&request.id)? else { return Err(self.unredactable(&request.id)?) };
        if let Some(entry) = self.tx.redaction(target.seq)? {
            return Err(redacted_already(target.kind, &request.id, &entry, target.seq)?);
        }
        let in_log = self.entry_at(target.seq)?;
        let mark = in_log.text_mark().filter(|_| in_log.kind() == target.kind && in_log.id() == request.id);
        let other = || Damage::at(target.seq, format!("it is not {} `{}`", target.kind, request.id));
        let mark = mark.ok_or_else(other)?;
        let content_hash = mark.hash;
        let mut fields = match (target.kind, &target.key) {
            (EntryKind::Thought, Some(_)) => vec!["seal_key"],
            (EntryKind::Thought, None) => vec!["content"],
            _ => vec!["data"],
        };
        if target.metadata.is_some() {
            fields.push("metadata");
        }
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.append_statement(Entry::Redaction(RedactionEntry {
            actor: request.actor.as_str().into(),
            bodies: Vec::new(),
            content_hash,
            content_length: mark.length,
            created_at: at.clone(),
            fields: fields.iter().map(|field| (*field).into()).collect(),
            metadata_commitment: in_log.metadata_mark().flatten(),
            reason: request.reason.as_str().into(),
            remains: None,
            seq,
            shared: Vec::new(),
            target_id: request.id.as_str().into(),
            target_kind: target.kind,
            target_seq: target.seq,
        }))?;
        self.tx.blank(&target)?;
        self.heads.memories.clear();
        Ok(Blanked { seq, at, fields, content_hash, target })
    }

    /// Blanks an event and the contents that it names.
    pub fn redact_event(&mut self, request: &RedactEvent) -> Result<BlankedEvent> {
        let target_seq = request.seq;
        if let Some(entry) = self.tx.redaction(target_seq)? {
            return Err(redacted_already(EntryKind::Event, &target_seq.to_string(), &entry, target_seq)?);
        }
        let Entry::Event(in_log) = self.entry_at(target_seq)? else {
            return Err(Damage::at(target_seq, "it is not an event").into());
        };
        let (mut bodies, mut shared) = (Vec::new(), BTreeSet::new());
        for (digest, data) in &request.bodies {
            if self.tx.body(digest, data)? == Some(true) {
                bodies.push(*digest);
                shared.extend(self.tx.naming(digest)?);
            }
        }
        bodies.sort_unstable();
        shared.remove(&target_seq);
        let shared: Vec<u64> = shared.into_iter().collect();
        let mut fields = vec!["body"];
        if !bodies.is_empty() {
            fields.push("bodies");
        }
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let (content_hash, id) = (in_log.body_commitment, target_seq.to_string());
        self.append_statement(Entry::Redaction(RedactionEntry {
            actor: request.actor.as_str().into(),
            bodies: bodies.clone(),
            content_hash,
            content_length: in_log.body_length,
            created_at: at.clone(),
            fields: fields.iter().map(|field| (*field).into()).collect(),
            metadata_commitment: None,
            reason: request.reason.as_str().into(),
            remains: Some(Sha::of(request.remains.as_bytes())),
            seq,
            shared: shared.clone(),
            target_id: id.as_str().into(),
            target_kind: EntryKind::Event,
            target_seq,
        }))?;
        self.tx.blank_event(target_seq, &request.remains)?;
        for digest in &bodies {
            self.tx.take_body(digest, seq)?;
        }
        self.heads.memories.clear();
        Ok(BlankedEvent { seq, at, fields, content_hash, shared })
    }

    /// Why there is nothing of that id to be blanked.
    fn unredactable(&mut self, id: &str) -> Result<Error> {
        let refuse = |what: String, why: &str| {
            Error::invalid(
                "id",
                format!("{what}; only thoughts, stored briefs and events of sessions can be redacted. {why}"),
            )
        };
        if let Ok(number) = id.parse::<u64>()
            && (1..=self.contexts()?).contains(&number)
        {
            let why = "Plans are compared, and decisions checked against them, by their whole content.";
            return Ok(refuse(format!("`{id}` is a snapshot of a roadmap"), why));
        }
        if self.session(id)?.is_some() {
            let why = "Redact its thoughts, its briefs and its events one by one: an event is named `event:` and its \
                       position in the log.";
            return Ok(refuse(format!("`{id}` is a session"), why));
        }
        Ok(Error::NotFound { what: "thought or brief", id: id.to_string() })
    }
}
