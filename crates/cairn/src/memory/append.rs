//! Appending events to a session, and its newest state.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cairn_core::Sha;
use cairn_core::canonical;
use cairn_core::id::{IdempotencyKey, SessionId};
use cairn_core::session::SessionState;
use cairn_core::session::entity::OpResult;
use cairn_core::session::event::{self, Event};
use cairn_core::session::op::EntityOp;
use cairn_core::session::state::{Misfit, RecordedEvent};
use cairn_core::time::Timestamp;

use super::fold::read;
use crate::checked::{self, CheckedEvent};
use crate::error::{Error, Result};
use crate::handle::{Cairn, new_salt};
use crate::store::{Damage, StoreError, Visit};
use crate::writer::{Appended, EventRequest};

/// How many sessions' states are kept.
const REMEMBERED: usize = 256;
/// How often a call that another one overtook is tried again.
pub(super) const ROUNDS: usize = 100;

/// Sessions of which older states are kept.
const LOOKED_BACK: usize = 4;

/// States of sessions, so that a call folds only what is new. Verification never asks here.
pub(crate) struct States {
    /// Events that a session must have grown by before its state is kept in the file again.
    keep_after: u64,
    /// Of how many events the state is that the file keeps.
    kept: Mutex<HashMap<SessionId, u64>>,
    newest: Mutex<HashMap<SessionId, Arc<SessionState>>>,
    /// States of the past, oldest first, of the sessions that were last looked back on.
    past: Mutex<VecDeque<(SessionId, Vec<Arc<SessionState>>)>>,
    /// The newest redaction of an event that is known of. No state from before it is kept: it may hold a text that is gone.
    redaction: AtomicU64,
    /// Who appends to which session at the moment.
    turns: Mutex<HashMap<SessionId, Arc<Mutex<()>>>>,
}

impl States {
    pub(crate) fn new(keep_after: u64) -> States {
        States {
            keep_after,
            kept: Mutex::default(),
            newest: Mutex::default(),
            past: Mutex::default(),
            redaction: AtomicU64::new(0),
            turns: Mutex::default(),
        }
    }

    /// Whoever appends to a session holds this meanwhile. Of several events made for the same state one is taken, so those
    /// of one process come one after the other, and only other processes can overtake them.
    fn turn(&self, session_id: &SessionId) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(session_id.clone()).or_default().clone()
    }

    /// Forgets everything, for whoever no longer believes it.
    pub(crate) fn clear(&self) {
        let locked = (self.kept.lock(), self.newest.lock(), self.past.lock());
        if let (Ok(mut kept), Ok(mut newest), Ok(mut past)) = locked {
            kept.clear();
            newest.clear();
            past.clear();
        }
    }

    /// Notes the newest redaction of an event; forgets everything if it is a new one.
    pub(crate) fn note_redaction(&self, seq: u64) {
        if self.redaction.fetch_max(seq, Ordering::SeqCst) < seq {
            self.clear();
        }
    }

    /// The newest redaction that is known of.
    fn redaction(&self) -> u64 {
        self.redaction.load(Ordering::SeqCst)
    }

    /// Notes that the file keeps a state of that many events.
    pub(super) fn note_kept(&self, session_id: &SessionId, length: u64) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.insert(session_id.clone(), length);
        }
    }

    /// Whether the state of so many events should be kept in the file; if so, that is noted. A session must have grown by
    /// a third since the last time, so that all states ever written are together a few times as long as the last.
    pub(super) fn is_due(&self, session_id: &SessionId, length: u64) -> bool {
        let Ok(mut kept) = self.kept.lock() else { return false };
        let last = kept.get(session_id).copied().unwrap_or(0);
        let grown = length.saturating_sub(last);
        let due = grown >= self.keep_after.max(last / 3).max(1);
        if due {
            kept.insert(session_id.clone(), length);
        }
        due
    }

    pub(super) fn get(&self, session_id: &SessionId) -> Option<Arc<SessionState>> {
        self.newest.lock().ok()?.get(session_id).cloned()
    }

    /// The latest of the kept states that is not after a position of the log.
    pub(super) fn milestone(&self, session_id: &SessionId, to: u64) -> Option<Arc<SessionState>> {
        let past = self.past.lock().ok()?;
        let (_, states) = past.iter().find(|(known, _)| known == session_id)?;
        states[..states.partition_point(|state| state.seq <= to)].last().cloned()
    }

    /// Keeps states that were met on the way, each later than those that are kept.
    pub(super) fn keep(&self, session_id: &SessionId, met: Vec<Arc<SessionState>>, redaction: u64) {
        let (Ok(mut past), false) = (self.past.lock(), met.is_empty()) else { return };
        if redaction != self.redaction() {
            return;
        }
        let mut states = match past.iter().position(|(known, _)| known == session_id) {
            Some(place) => past.remove(place).map(|(_, states)| states).unwrap_or_default(),
            None => Vec::new(),
        };
        let last = states.last().map_or(0, |state| state.seq);
        states.extend(met.into_iter().filter(|state| state.seq > last));
        past.push_front((session_id.clone(), states));
        past.truncate(LOOKED_BACK);
    }

    pub(super) fn put(&self, session_id: &SessionId, state: Arc<SessionState>, redaction: u64) {
        // Read under the lock: noting a redaction clears the states afterwards.
        if let Ok(mut states) = self.newest.lock()
            && redaction == self.redaction()
        {
            if states.len() >= REMEMBERED && !states.contains_key(session_id) {
                states.clear();
            }
            // A slower caller must not put back what a quicker one has overtaken.
            match states.get(session_id) {
                Some(known) if known.seq > state.seq => {}
                _ => drop(states.insert(session_id.clone(), state)),
            }
        }
    }
}

/// What was appended.
pub(super) struct Done {
    /// The state after.
    pub after: Arc<SessionState>,
    /// What each operation did.
    pub results: Vec<OpResult>,
    /// Position of the event in the log.
    pub seq: u64,
}

/// What is to be appended, given the state it is about.
pub(super) struct Draft {
    pub event: Event,
    pub bodies: Vec<(Sha, String)>,
}

impl From<Event> for Draft {
    fn from(event: Event) -> Draft {
        Draft { event, bodies: Vec::new() }
    }
}

/// What a caller wants of an append besides the event.
#[derive(Default)]
pub(super) struct Terms {
    /// The newest event must be at this position.
    pub expected_seq: Option<u64>,
    pub idempotency_key: Option<String>,
    /// Whether a session without memory gets one.
    pub may_open: bool,
}

impl Cairn {
    /// Appends the event that `draft` makes of the newest state.
    pub(super) fn append(
        &self,
        session_id: &str,
        terms: Terms,
        draft: impl Fn(&SessionState) -> Result<Draft>,
    ) -> Result<Done> {
        let session_id = session_id_of(session_id)?;
        let key = terms.idempotency_key.map(IdempotencyKey::new).transpose();
        let key = key.map_err(|error| Error::invalid("idempotency_key", error))?;
        let turn = self.inner.states.turn(&session_id);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        for round in 0..ROUNDS {
            let redaction = self.inner.states.redaction();
            // First what is kept, without asking the database: if it is outdated, the writer says so.
            let kept =
                self.inner.states.get(&session_id).filter(|kept| {
                    round == 0 && terms.expected_seq.is_none_or(|expected| expected == kept.seq)
                });
            let (before, redaction) = match kept {
                Some(kept) => (kept, redaction),
                None => match self.state(&session_id)? {
                    Some(state) => (state, self.inner.states.redaction()),
                    None if terms.may_open => (Arc::default(), redaction),
                    None => return Err(Error::NotFound { what: "session", id: session_id.to_string() }),
                },
            };
            if let Some(key) = &key
                && let Some(first) = self.event_by_key(key)?
            {
                let before = self.state_before(&first)?;
                return self.repeated(&session_id, &first, &draft(&before)?);
            }
            if let Some(expected) = terms.expected_seq.filter(|expected| *expected != before.seq) {
                return Err(Error::Conflict(format!(
                    "the newest event of session `{session_id}` is {}, not {expected}: read it again and decide anew",
                    before.seq
                )));
            }
            let Draft { event, bodies } = draft(&before)?;
            let event = match resolved(&before, event) {
                Ok(event) => event,
                // Before anything is refused, it is made sure that it is about the newest state.
                Err(misfit) => match self.state(&session_id)? {
                    Some(newest) if newest.seq != before.seq => continue,
                    _ => return Err(refusal(&session_id, &before, misfit)),
                },
            };
            let body = canonical_text(&event)?;
            // Whoever folds later has only the text.
            debug_assert_eq!(Event::parse(event.kind(), event::VERSION, &body).as_ref(), Ok(&event));
            let request = EventRequest {
                session_id: session_id.clone(),
                after: before.seq,
                redaction,
                turn: before.turn + u64::from(matches!(event, Event::TurnBegan(_))),
                kind: event.kind(),
                v: event::VERSION,
                body,
                salt: new_salt()?,
                bodies,
                idempotency_key: key.clone(),
            };
            match self.writer()?.write_with(request.needs(), move |step| step.append_event(&request))? {
                Appended::Outdated | Appended::Repeated => continue,
                Appended::Done { seq, at } => {
                    let recorded = RecordedEvent { seq, at, event };
                    let mut after = (*before).clone();
                    let results =
                        after.take(recorded).map_err(|misfit| refusal(&session_id, &before, misfit))?;
                    let after = Arc::new(after);
                    self.remember(&session_id, &after, redaction);
                    return Ok(Done { after, results, seq });
                }
            }
        }
        Err(overtaken(&session_id))
    }

    /// The answer to a call that was made before, if this one asks for the same.
    fn repeated(&self, session_id: &SessionId, first: &CheckedEvent<'_>, draft: &Draft) -> Result<Done> {
        let before = self.state_before(first)?;
        let event = resolved(&before, draft.event.clone());
        let event = event.map_err(|misfit| refusal(session_id, &before, misfit))?;
        // What stays of a redacted event is compared with what would stay of this one.
        let event = match first.redaction {
            None => event,
            Some(_) => blanked(&before, &event).map_err(|misfit| refusal(session_id, &before, misfit))?,
        };
        let same = first.entry.session_id == session_id.as_str()
            && first.entry.event == event.kind()
            && first.body == canonical_text(&event)?;
        if !same {
            return Err(Error::Conflict(format!(
                "this idempotency_key was used for another call (log entry {}); use a new key",
                first.entry.seq
            )));
        }
        let mut after = (*before).clone();
        let results = after
            .take(read(&first.entry, &first.body)?)
            .map_err(|misfit| refusal(session_id, &before, misfit))?;
        Ok(Done { after: Arc::new(after), results, seq: first.entry.seq })
    }

    pub(crate) fn state_before(&self, event: &CheckedEvent<'_>) -> Result<Arc<SessionState>> {
        let session_id = SessionId::new(&*event.entry.session_id);
        let session_id = session_id.map_err(|error| Damage::at(event.entry.seq, error))?;
        self.fold_to(&session_id, event.entry.seq - 1)
    }

    /// The event that was recorded under a key.
    fn event_by_key(&self, key: &IdempotencyKey) -> Result<Option<CheckedEvent<'static>>> {
        let read = |visit: Visit<'_>| self.inner.store.event_by_key(key.as_str(), visit);
        checked::one(read, |stored, buffer| Ok(checked::event(stored, buffer)?.into_owned()))
    }
}

/// What is said to a call that gave up.
pub(super) fn overtaken(session_id: &SessionId) -> Error {
    Error::Conflict(format!("other writers kept overtaking this call on session `{session_id}`; try again"))
}

/// The event as it is recorded, if it can be applied: a draft that was found by its label is named by its ref, so that
/// nothing depends on the label when it is redacted.
fn resolved(state: &SessionState, mut event: Event) -> std::result::Result<Event, Misfit> {
    match &mut event {
        Event::Opened(_) | Event::TurnBegan(_) => {}
        Event::StepTaken(_) | Event::TurnNoted(_) | Event::TurnEnded(_) if state.open => {}
        Event::StepTaken(_) | Event::TurnNoted(_) | Event::TurnEnded(_) => return Err(Misfit::TurnNotOpen),
        Event::SummaryApplied(_) => drop(tried(state, &event)?),
        Event::EntitiesApplied(_) => {
            let results = tried(state, &event)?;
            if let Event::EntitiesApplied(applied) = &mut event {
                for (op, result) in applied.ops.iter_mut().zip(results) {
                    if let EntityOp::Create { from: from @ None, .. } = op
                        && result.promoted
                    {
                        *from = result.entity_ref;
                    }
                }
            }
        }
    }
    Ok(event)
}

/// What stays of an event that is redacted, by the state before it.
pub(crate) fn blanked(state: &SessionState, event: &Event) -> std::result::Result<Event, Misfit> {
    let results = tried(state, event)?;
    Ok(event.blanked(&results, &|text| state.entities.get(text).is_some()))
}

/// Applies an event to a copy, before its place and time are known, which only the writer knows.
fn tried(state: &SessionState, event: &Event) -> std::result::Result<Vec<OpResult>, Misfit> {
    let at = Timestamp::parse("1970-01-01T00:00:00Z").expect("a valid timestamp");
    state.clone().apply(&RecordedEvent { seq: state.seq + 1, at, event: event.clone() })
}

pub(crate) fn canonical_text(event: &Event) -> Result<String> {
    let bytes = canonical::to_bytes(&event.body()).map_err(|error| Error::invalid(event.kind(), error))?;
    String::from_utf8(bytes).map_err(|error| StoreError::Other(error.to_string()).into())
}

pub(super) fn session_id_of(text: &str) -> Result<SessionId> {
    SessionId::new(text).map_err(|error| Error::invalid("session_id", error))
}

fn refusal(session_id: &SessionId, state: &SessionState, misfit: Misfit) -> Error {
    match misfit {
        Misfit::TurnNotOpen => {
            Error::Conflict(format!("no turn of session `{session_id}` is open; call turn_begin first"))
        }
        Misfit::Ambiguous { index, ambiguous } => Error::AmbiguousLabel {
            path: format!("ops[{index}]"),
            label: ambiguous.label,
            candidates: ambiguous.candidates,
        },
        Misfit::UnknownType { index, kind } => {
            let known = state.types.as_deref().unwrap_or_default().join(", ");
            let message = format!("`{kind}` is not a type of this session; those are {known}");
            Error::invalid(format!("ops[{index}].type"), message)
        }
        Misfit::Range(message) => Error::invalid("to_turn", message),
    }
}
