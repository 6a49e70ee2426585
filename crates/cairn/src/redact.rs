//! Redaction: taking the text out of a record, for a person's data or a leaked secret.
//!
//! The record stays, with its place, its links and its hashes; an entry of the log says by whom, when and why its text
//! was taken. Every chain and every proof still holds, since they are made of hashes.

mod erased;
mod event;
mod pieces;

use cairn_core::Sha;
use cairn_core::canonical;
use cairn_core::entry::EntryKind;
use cairn_core::id::{AgentId, BriefId};
use cairn_core::redaction::MAX_REASON;
use cairn_core::thought::Issue;
use cairn_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::Target;
use crate::writer::{Blanked, RedactRequest};

pub(crate) use erased::Erased;

/// How many briefs that repeat a text are named.
const MOST_BRIEFS: u64 = 100;
/// Characters of a thought that a brief looks at for its first line.
const FIRST_LINE: usize = 400;
/// What ends a line of a brief.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// A record whose text is to be taken out.
#[derive(Debug, Clone)]
pub struct Redact {
    /// The id of a thought, a stored brief or a review; `context:` and the number of a snapshot; or `event:` and the
    /// position of an event in the log.
    pub target: String,
    /// Who answers for it.
    pub actor: String,
    /// Why, with the legal basis if there is one: 1 to 2,000 bytes that stay for ever.
    pub reason: String,
}

/// What was taken out, and what is left of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Redacted {
    /// The id of the record.
    pub id: String,
    /// Its kind.
    pub kind: EntryKind,
    /// The blanked fields: `content` or, of a sealed thought, `seal_key`; `metadata`; of a brief or a snapshot, `data`; of a
    /// review, `text`; of an event, `body` and the contents of entities that it names, `bodies`.
    pub fields: Vec<&'static str>,
    /// Who did it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// What still stands for the text.
    pub content_hash: Sha,
    /// Where in the log that is said.
    pub seq: u64,
    /// Where in the log the record is.
    pub target_seq: u64,
    /// The size of the log at the checkpoint that covers it; none if that could not be made now.
    pub checkpoint: Option<u64>,
    /// The positions of the events that showed a content which went with this one, or of the snapshots that shared it.
    pub shared: Vec<u64>,
    /// Stored briefs that repeat its first line, which can be redacted as well.
    pub also_in: Vec<BriefId>,
    /// Whether the file had to be made anew to be rid of it.
    pub vacuumed: bool,
    /// What of the text is still in the files, in words; empty if nothing was found.
    pub remnants: Vec<String>,
}

impl Cairn {
    /// Takes the text out of a record, for ever. Snapshots of the same content lose it together.
    ///
    /// When this returns, it is gone from the record, from the search index and from the files, or
    /// [`Redacted::remnants`] says what is left where. Copies elsewhere (backups, exports) are not touched.
    pub fn redact(&self, redact: &Redact) -> Result<Redacted> {
        check(redact)?;
        if let Some(place) = redact.target.strip_prefix("event:") {
            let wrong = |_| Error::invalid("id", "an event is named `event:` and its position in the log");
            return self.redact_event(redact, place.parse().map_err(wrong)?);
        }
        let Redact { target: id, actor, reason } = redact.clone();
        let request = match id.strip_prefix("context:") {
            Some(number) => {
                let wrong = |_| Error::invalid("id", "a snapshot is named `context:` and its number");
                let id = number.parse::<u64>().map_err(wrong)?.to_string();
                RedactRequest { kinds: &[EntryKind::Snapshot], id, actor, reason }
            }
            None => {
                let kinds = &[EntryKind::Thought, EntryKind::Brief, EntryKind::Review];
                RedactRequest { kinds, id, actor, reason }
            }
        };
        let id = request.id.clone();
        let blanked = self.writer()?.write_now(move |step| step.redact(&request))?;
        // It is in the log and durable. What is still to do cannot fail the call.
        let checkpoint = self.checkpoint().ok().map(|stated| stated.size);
        let Blanked { seq, at, fields, content_hash, target, shared } = blanked;
        let mut remnants = Vec::new();
        let also_in = self.repeated_in(&target).unwrap_or_else(|error| {
            remnants.push(format!("stored briefs could not be searched for the text: {error}"));
            Vec::new()
        });
        let erased = Erased::of(std::iter::once(&target).chain(&shared));
        let (vacuumed, left) = erased.sweep(&*self.inner.store);
        remnants.extend(left);
        Ok(Redacted {
            id,
            kind: target.kind,
            fields,
            by: redact.actor.clone(),
            at,
            reason: redact.reason.clone(),
            content_hash,
            seq,
            target_seq: target.seq,
            checkpoint,
            shared: shared.iter().map(|other| other.seq).collect(),
            also_in,
            vacuumed,
            remnants,
        })
    }

    /// Stored briefs that show the first line of a thought.
    fn repeated_in(&self, target: &Target) -> Result<Vec<BriefId>> {
        let text = match &target.text {
            Some(text) if target.kind == EntryKind::Thought && target.key.is_none() => text,
            _ => return Ok(Vec::new()),
        };
        self.briefs_repeating(&target.session_id, text)
    }

    /// Stored briefs of a session that show the first line of a text.
    fn briefs_repeating(&self, session_id: &str, text: &str) -> Result<Vec<BriefId>> {
        let seen: String = text.chars().take(FIRST_LINE).collect();
        let Some(line) = seen.split(BREAKS).map(str::trim).find(|line| !line.is_empty()) else {
            return Ok(Vec::new());
        };
        // As it stands in the data of a brief, which is canonical JSON.
        let Some(quoted) =
            canonical::to_bytes(&Value::from(line)).ok().and_then(|text| String::from_utf8(text).ok())
        else {
            return Ok(Vec::new());
        };
        let line = &quoted[1..quoted.len() - 1];
        Ok(self.inner.store.briefs_with(session_id, line, MOST_BRIEFS)?)
    }
}

fn check(redact: &Redact) -> Result<()> {
    let mut issues = Vec::new();
    if redact.target.is_empty() {
        issues.push(Issue::new("id", "must not be empty"));
    }
    if let Err(error) = AgentId::new(redact.actor.trim()) {
        issues.push(Issue::new("by", format!("who redacts it? It {error}")));
    }
    if redact.reason.trim().is_empty() {
        issues.push(Issue::new("reason", "why is it redacted? It must not be empty, and stays for ever"));
    }
    if redact.reason.contains('\0') {
        issues.push(Issue::new("reason", "must not contain a NUL character"));
    }
    if !issues.is_empty() {
        return Err(Error::Invalid(issues));
    }
    if redact.reason.len() > MAX_REASON {
        return Err(Error::TooLarge { field: "reason", actual: redact.reason.len(), limit: MAX_REASON });
    }
    Ok(())
}
