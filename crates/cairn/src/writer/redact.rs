//! Blanking a record: an entry that says so, and the texts gone, in one transaction.

use std::collections::BTreeSet;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, RedactionEntry, TextMark};
use cairn_core::time::Timestamp;

use super::step::Step;
use crate::checked;
use crate::error::{Error, Result};
use crate::store::{Damage, RedactionLeaf, Target};

/// A record to be blanked.
pub(crate) struct RedactRequest {
    /// The kinds that it may be of, in the order in which they are looked for.
    pub kinds: &'static [EntryKind],
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
    /// The records that shared its content, with the metadata they had.
    pub shared: Vec<Target>,
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

    /// Blanks a thought, a stored brief, a review or a snapshot. With a snapshot go all others of the same content.
    pub fn redact(&mut self, request: &RedactRequest) -> Result<Blanked> {
        let id = &request.id;
        let Some(target) = self.target(request.kinds, id)? else {
            return Err(self.unredactable(request)?);
        };
        if let Some(entry) = self.tx.redaction(target.seq)? {
            return Err(redacted_already(target.kind, id, &entry, target.seq)?);
        }
        let content_hash = self.text_mark(&target, id)?.0.hash;
        let mut shared = Vec::new();
        if target.kind == EntryKind::Snapshot {
            for (number, seq) in self.tx.sharing(&content_hash)? {
                if seq != target.seq {
                    let number = number.to_string();
                    let other = self.tx.target(EntryKind::Snapshot, &number)?;
                    let other = other.ok_or_else(|| Damage::at(seq, "it is missing"))?;
                    shared.push((number, Target { text: None, ..other }));
                }
            }
        }
        let at = self.clock.now()?;
        let places = shared.iter().map(|(_, other)| other.seq).collect();
        let (seq, fields) = self.append_redaction(request, &target, id, &at, places)?;
        for (id, other) in &shared {
            self.append_redaction(request, other, id, &at, Vec::new())?;
        }
        self.tx.blank(&target)?;
        for (_, other) in &shared {
            self.tx.blank(other)?;
        }
        self.heads.memories.clear();
        let shared = shared.into_iter().map(|(_, other)| other).collect();
        Ok(Blanked { seq, at, fields, content_hash, target, shared })
    }

    /// The record of that id, of the first kind that has one.
    pub(super) fn target(&mut self, kinds: &[EntryKind], id: &str) -> Result<Option<Target>> {
        for kind in kinds {
            let found = self.tx.target(*kind, id)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// How the log entry of a target stands for its text and its metadata.
    fn text_mark(&mut self, target: &Target, id: &str) -> Result<(TextMark, Option<Sha>)> {
        let in_log = self.entry_at(target.seq)?;
        let mark = in_log.text_mark().filter(|_| in_log.kind() == target.kind && in_log.id() == id);
        let mark = mark.ok_or_else(|| Damage::at(target.seq, format!("it is not {} `{id}`", target.kind)))?;
        Ok((mark, in_log.metadata_mark().flatten()))
    }

    /// Appends the entry that says that a record is blanked; returns its position and the blanked fields.
    fn append_redaction(
        &mut self,
        request: &RedactRequest,
        target: &Target,
        id: &str,
        at: &Timestamp,
        shared: Vec<u64>,
    ) -> Result<(u64, Vec<&'static str>)> {
        let (mark, metadata_commitment) = self.text_mark(target, id)?;
        let mut fields = vec![if target.key.is_some() { "seal_key" } else { mark.field }];
        if target.metadata.is_some() {
            fields.push("metadata");
        }
        let seq = self.heads.edge.size();
        self.append_statement(Entry::Redaction(RedactionEntry {
            actor: request.actor.as_str().into(),
            bodies: Vec::new(),
            content_hash: mark.hash,
            content_length: mark.length,
            created_at: at.clone(),
            fields: fields.iter().map(|field| (*field).into()).collect(),
            metadata_commitment,
            reason: request.reason.as_str().into(),
            remains: None,
            seq,
            shared,
            target_id: id.into(),
            target_kind: target.kind,
            target_seq: target.seq,
        }))?;
        Ok((seq, fields))
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
    fn unredactable(&mut self, request: &RedactRequest) -> Result<Error> {
        let id = &request.id;
        if request.kinds == [EntryKind::Snapshot] {
            return Ok(Error::NotFound { what: "context", id: id.to_string() });
        }
        let refuse = |message: String| Ok(Error::invalid("id", message));
        if let Ok(number) = id.parse::<u64>()
            && (1..=self.contexts()?).contains(&number)
        {
            return refuse(format!("`{id}` is the number of a snapshot: name it `context:{id}`"));
        }
        if self.session(id)?.is_some() {
            return refuse(format!(
                "`{id}` is a session: redact its thoughts, its briefs and its events one by one; an event is named \
                 `event:` and its position in the log"
            ));
        }
        Ok(Error::NotFound { what: "thought, brief or review", id: id.to_string() })
    }
}
