//! Taking the texts out of an event of a session. Its structure stays, so that the session still folds.

use std::collections::BTreeSet;

use cairn_core::entry::{Entry, EntryKind, Record};
use cairn_core::session::Event;

use super::pieces::texts;
use super::{Erased, MOST_BRIEFS, Redact, Redacted};
use crate::checked;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::memory::{blanked, canonical_text};
use crate::store::{ReadBody, StoreError, Visit};
use crate::writer::{BlankedEvent, RedactEvent};

/// A shorter text would be found in every brief.
const SHORTEST: usize = 6;
/// Texts that are looked for in stored briefs.
const MOST_TEXTS: usize = 64;

impl Cairn {
    pub(super) fn redact_event(&self, redact: &Redact, seq: u64) -> Result<Redacted> {
        let not_found = || Error::NotFound { what: "event", id: seq.to_string() };
        let read = |visit: Visit<'_>| self.inner.store.records(seq, seq.saturating_add(1), visit);
        let read = checked::one(read, |stored, buffer| match &stored.record {
            Ok(Record { entry: Entry::Event(_), .. }) | Err(_) => {
                Ok(Some(checked::event(stored, buffer)?.into_owned()))
            }
            Ok(_) => Ok(None),
        })?;
        let read = read.flatten().ok_or_else(not_found)?;
        let session_id = read.entry.session_id.clone();
        let unread = |error: &dyn std::fmt::Display| StoreError::Damaged(error.to_string());
        let event = Event::parse(&read.entry.event, read.entry.event_v, &read.body)
            .map_err(|error| unread(&error))?;
        let before = self.state_before(&read)?;
        let misfit = |_| unread(&format!("event {seq} does not fit what came before"));
        let remains = canonical_text(&blanked(&before, &event).map_err(misfit)?)?;
        let mut bodies = Vec::new();
        for body in event.bodies() {
            if let Some(found @ ReadBody::Data(_)) = self.inner.store.body(&body.sha256)?
                && let Some(data) = checked::body(&body.sha256, found)?
            {
                bodies.push((body.sha256, data));
            }
        }
        bodies.sort_unstable();
        bodies.dedup();
        // A redacted one is refused by the writer, who knows who did it.
        if read.redaction.is_none() && remains == read.body && bodies.is_empty() {
            let message =
                format!("event {seq} (`{}`) has no text: nothing of it can be redacted", read.entry.event);
            return Err(Error::invalid("id", message));
        }
        let kept: BTreeSet<String> = texts(&remains).into_iter().collect();
        let mut gone: Vec<String> =
            texts(&read.body).into_iter().filter(|text| !kept.contains(text)).collect();
        gone.extend(bodies.iter().flat_map(|(_, data)| texts(data)));
        let Redact { actor, reason, .. } = redact.clone();
        let request = RedactEvent { seq, actor, reason, remains, bodies };
        let blanked = self.writer()?.write_now(move |step| step.redact_event(&request))?;
        let BlankedEvent { seq: place, at, fields, content_hash, shared } = blanked;
        // It is in the log and durable. What is still to do cannot fail the call.
        self.inner.states.note_redaction(place);
        let checkpoint = self.checkpoint().ok().map(|stated| stated.size);
        let mut remnants = Vec::new();
        let mut also_in = Vec::new();
        for text in gone.iter().filter(|text| text.len() >= SHORTEST).take(MOST_TEXTS) {
            match self.briefs_repeating(&session_id, text) {
                Ok(found) => also_in.extend(found),
                Err(error) => {
                    remnants.push(format!("stored briefs could not be searched for the text: {error}"));
                    break;
                }
            }
        }
        also_in.sort_unstable();
        also_in.dedup();
        also_in.truncate(usize::try_from(MOST_BRIEFS).unwrap_or(usize::MAX));
        let (vacuumed, left) = Erased::of_texts(&gone).sweep(&*self.inner.store);
        remnants.extend(left);
        Ok(Redacted {
            id: seq.to_string(),
            kind: EntryKind::Event,
            fields,
            by: redact.actor.clone(),
            at,
            reason: redact.reason.clone(),
            content_hash,
            seq: place,
            target_seq: seq,
            checkpoint,
            shared,
            also_in,
            vacuumed,
            remnants,
        })
    }
}
