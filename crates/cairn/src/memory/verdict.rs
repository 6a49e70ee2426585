//! Building a stored brief again, and what keeps it from that.

use cairn_core::Sha;
use cairn_core::brief::{Brief, TraceThought};
use cairn_core::id::BriefId;
use cairn_core::redaction::Redaction;
use serde::Serialize;
use serde_json::{Value, json};

use super::brief::{Kept, kept, options};
use crate::checked;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{ReadBrief, StoreError};
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
    /// Of which thought, or that of the brief itself.
    pub id: String,
    /// By whom, when and why.
    #[serde(flatten)]
    pub redaction: Redaction,
}

impl Cairn {
    /// Builds a stored brief again from the events, and compares; its place in the log is checked as well.
    pub fn brief_verify(&self, brief_id: &str) -> Result<BriefVerdict> {
        let not_found = || Error::NotFound { what: "brief", id: brief_id.to_string() };
        let read = self.inner.store.brief(brief_id)?.ok_or_else(not_found)??;
        let wrong = verify_brief_entry(&*self.inner.store, read.seq)?;
        let mut verdict = BriefVerdict {
            valid: Some(false),
            brief_id: read.id.clone(),
            stored_hash: read.hash,
            rebuilt_hash: None,
            message: String::new(),
            redacted: Vec::new(),
        };
        let redacted = checked::brief(&read, &mut Vec::new()).unwrap_or(None);
        if let (None, Some(redaction)) = (&wrong, redacted) {
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
        verdict.message = match (wrong, rebuilt) {
            (Some(finding), _) => finding,
            (None, Err(error)) => format!("it cannot be built again: {error}"),
            (None, Ok((kept, brief, thoughts))) if brief.hash != read.hash || kept.brief != json!(brief) => {
                let sources = self.redacted_sources(&thoughts)?;
                match sources.first() {
                    // Neither sound nor forged: the words that are missing may be all that differs.
                    Some(first) => {
                        let Redaction { by, at, .. } = &first.redaction;
                        let message = format!(
                            "it cannot be built again, because thought `{}` was redacted by {by} on {at}; its place \
                             in the log is intact",
                            first.id
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
            (None, Ok(_)) => {
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

    fn rebuild_brief(&self, read: &ReadBrief) -> Result<(Kept, Brief, Vec<TraceThought>)> {
        let kept = kept(read)?;
        let options = options(&kept.request)?;
        let seq = kept.brief.get("seq").and_then(Value::as_u64);
        let seq = seq.ok_or_else(|| StoreError::Damaged("a stored brief does not say its place".into()))?;
        let (brief, thoughts) = self.build_at(&read.session_id, &options, kept.request.turn, Some(seq))?;
        Ok((kept, brief, thoughts))
    }
}
