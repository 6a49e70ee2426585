//! Building a stored brief again, and what keeps it from that.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::brief::{Brief, TraceThought};
use cairn_core::entry::{Entry, Record};
use cairn_core::id::{BriefId, SessionId};
use cairn_core::redaction::Redaction;
use cairn_core::session::Event;
use serde::Serialize;
use serde_json::{Value, json};

use super::brief::{Kept, kept, options};
use crate::checked::{self, CheckedBrief, CheckedEvent};
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{ReadBody, StoreError};
use crate::verify::verify_brief_entry;

/// Whether a stored brief is what was built.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BriefVerdict {
    /// Whether nothing is wrong; none if that cannot be told any more, because of a redaction.
    pub valid: Option<bool>,
    /// Which brief.
    pub brief_id: BriefId,
    /// The hash that is stored.
    pub stored_hash: Sha,
    /// The hash of the brief built again from the events.
    pub rebuilt_hash: Option<Sha>,
    /// What is wrong, or that nothing is.
    pub message: String,
    /// The redactions that keep it from being built again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<RedactedSource>,
}

/// A redaction that keeps a brief from being built again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RedactedSource {
    /// The id of the thought or brief, or `event:` and the position of the event.
    pub id: String,
    /// By whom, when and why.
    #[serde(flatten)]
    pub redaction: Redaction,
}

impl Cairn {
    /// Builds a stored brief again from the events, and compares; its place in the log is checked as well.
    pub fn brief_verify(&self, brief_id: &str) -> Result<BriefVerdict> {
        let not_found = || Error::NotFound { what: "brief", id: brief_id.to_string() };
        let mut found = None;
        self.inner.store.brief(brief_id, &mut |stored| {
            let hash = match &stored.record {
                Ok(Record { entry: Entry::Brief(entry), .. }) => entry.hash,
                _ => Sha::ZERO,
            };
            found = Some((stored.seq, hash, checked::brief(stored, &mut Vec::new())));
            ControlFlow::Break(())
        })?;
        let (seq, stored_hash, read) = found.ok_or_else(not_found)?;
        let wrong = verify_brief_entry(&*self.inner.store, seq)?;
        let mut verdict = BriefVerdict {
            valid: Some(false),
            brief_id: BriefId::new(brief_id).map_err(|error| Error::invalid("brief_id", error))?,
            stored_hash,
            rebuilt_hash: None,
            message: String::new(),
            redacted: Vec::new(),
        };
        let read = match (&wrong, read) {
            (Some(finding), _) => {
                verdict.message.clone_from(finding);
                return Ok(verdict);
            }
            (None, read) => read?,
        };
        if let Some(redaction) = read.redacted.clone() {
            verdict.valid = None;
            verdict.message = format!(
                "it cannot be compared: it was redacted by {} on {}; its place in the log is intact",
                redaction.by, redaction.at
            );
            verdict.redacted = vec![RedactedSource { id: read.id.to_string(), redaction }];
            return Ok(verdict);
        }
        let rebuilt = self.rebuild_brief(&read);
        if let Ok((_, brief, _)) = &rebuilt {
            verdict.rebuilt_hash = Some(brief.hash);
        }
        verdict.message = match rebuilt {
            Err(error) => format!("it cannot be built again: {error}"),
            Ok((kept, brief, thoughts)) if brief.hash != read.hash || kept.brief != json!(brief) => {
                let mut sources = self.redacted_sources(&thoughts)?;
                sources.extend(self.redacted_events(&read.session_id, brief.seq)?);
                match sources.first() {
                    // Neither sound nor forged: the words that are missing may be all that differs.
                    Some(first) => {
                        let Redaction { by, at, .. } = &first.redaction;
                        let message = format!(
                            "it cannot be built again, because {} was redacted by {by} on {at}; its place in the \
                             log is intact",
                            match first.id.strip_prefix("event:") {
                                Some(seq) => format!("event {seq}"),
                                None => format!("thought `{}`", first.id),
                            }
                        );
                        (verdict.valid, verdict.redacted) = (None, sources);
                        message
                    }
                    None if brief.hash != read.hash => {
                        "built again from the events it has another hash: what it was built from was changed"
                            .to_string()
                    }
                    None => "built again from the events it says something else".to_string(),
                }
            }
            Ok(_) => {
                verdict.valid = Some(true);
                "built again from the events it is the same, byte for byte".to_string()
            }
        };
        Ok(verdict)
    }

    /// Those of the thoughts that were redacted.
    fn redacted_sources(&self, thoughts: &[TraceThought]) -> Result<Vec<RedactedSource>> {
        let mut sources = Vec::new();
        for thought in thoughts {
            let entry = self.inner.store.redaction(thought.seq)?;
            let said = entry.map(|entry| checked::redaction(&entry, thought.seq)).transpose()?;
            // A sealed thought is shown as sealed before and after.
            if let Some(said) = said.filter(|said| said.blanks("content")) {
                sources.push(RedactedSource { id: said.target_id.to_string(), redaction: said.redaction() });
            }
        }
        Ok(sources)
    }

    /// The redactions that took a text of a session's events up to a position, or a content that they name.
    fn redacted_events(&self, session_id: &SessionId, to: u64) -> Result<Vec<RedactedSource>> {
        let mut taken = BTreeMap::new();
        let mut digests = BTreeSet::new();
        let mut buffer = Vec::new();
        self.inner.store.events(session_id.as_str(), 0, to, &mut |stored| {
            let Ok(CheckedEvent { entry, body, redaction }) = checked::event(stored, &mut buffer) else {
                return ControlFlow::Continue(());
            };
            taken.extend(redaction.map(|said| (said.seq, said)));
            let named = Event::parse(&entry.event, entry.event_v, &body).map(|event| event.bodies());
            digests.extend(named.unwrap_or_default().into_iter().map(|body| body.sha256));
            ControlFlow::Continue(())
        })?;
        for digest in digests {
            if let Some(ReadBody::Gone(Some(entry))) = self.inner.store.body(&digest)? {
                taken.extend(checked::read_redaction(&entry.leaf).map(|said| (said.seq, said)));
            }
        }
        Ok(taken
            .values()
            .map(|said| RedactedSource {
                id: format!("event:{}", said.target_id),
                redaction: said.redaction(),
            })
            .collect())
    }

    fn rebuild_brief(&self, read: &CheckedBrief) -> Result<(Kept, Brief, Vec<TraceThought>)> {
        let kept = kept(read)?;
        let options = options(&kept.request)?;
        let seq = kept.brief.get("seq").and_then(Value::as_u64);
        let seq = seq.ok_or_else(|| StoreError::Damaged("a stored brief does not say its place".into()))?;
        let (brief, thoughts) = self.build_at(&read.session_id, &options, kept.request.turn, Some(seq))?;
        Ok((kept, brief, thoughts))
    }
}
