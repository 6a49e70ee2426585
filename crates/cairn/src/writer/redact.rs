//! Blanking a record: an entry that says so, and the texts gone, in one transaction.

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, RedactionEntry};
use cairn_core::time::Timestamp;

use super::step::Step;
use crate::checked;
use crate::error::{Error, Result};
use crate::store::{Damage, Target};
use crate::verify::InLog;

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

impl Step<'_> {
    /// Blanks a thought or a stored brief.
    pub fn redact(&mut self, request: &RedactRequest) -> Result<Blanked> {
        let Some(target) = self.tx.target(&request.id)? else { return Err(self.unredactable(&request.id)?) };
        if let Some(entry) = self.tx.redaction(target.seq)? {
            let said = checked::redaction(&entry, target.seq)?.redaction();
            return Err(Error::Conflict(format!(
                "{} `{}` was redacted already, by {} on {}: {}",
                target.kind, request.id, said.by, said.at, said.reason
            )));
        }
        // From the log, whatever the row holds today.
        let in_log = self.tx.leaf(target.seq)?.and_then(|leaf| InLog::of(&Entry::parse(&leaf)?));
        let in_log = in_log.filter(|in_log| in_log.kind == target.kind && in_log.id == request.id);
        let other = || Damage::at(target.seq, format!("it is not {} `{}`", target.kind, request.id));
        let content_hash = in_log.ok_or_else(other)?.content_hash;
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
        self.leaf.clear();
        RedactionEntry {
            actor: request.actor.as_str().into(),
            content_hash,
            created_at: at.clone(),
            fields: fields.iter().map(|field| (*field).into()).collect(),
            reason: request.reason.as_str().into(),
            seq,
            target_id: request.id.as_str().into(),
            target_kind: target.kind,
            target_seq: target.seq,
        }
        .write(self.leaf);
        self.append(EntryKind::Redaction)?;
        self.tx.insert_redaction(seq, target.seq)?;
        self.tx.blank(&target)?;
        Ok(Blanked { seq, at, fields, content_hash, target })
    }

    /// Why there is nothing of that id to be blanked.
    fn unredactable(&mut self, id: &str) -> Result<Error> {
        let refuse = |what: String, why: &str| {
            Error::invalid(
                "id",
                format!(
                    "{what}; only thoughts and stored briefs can be redacted. {why} What must not stay can only go \
                     with the database: record what may stay in a new one and delete this one. Seal what may have \
                     to be erased one day when you record it"
                ),
            )
        };
        if let Ok(number) = id.parse::<u64>()
            && (1..=self.contexts()?).contains(&number)
        {
            let why = "Plans are compared, and decisions checked against them, by their whole content.";
            return Ok(refuse(format!("`{id}` is a snapshot of a roadmap"), why));
        }
        if self.session(id)?.is_some() {
            let why = "The state of a session is what all of its events give: without one, no later turn could be \
                       rebuilt. Redact its thoughts and briefs one by one.";
            return Ok(refuse(format!("`{id}` is a session"), why));
        }
        Ok(Error::NotFound { what: "thought or brief", id: id.to_string() })
    }
}
