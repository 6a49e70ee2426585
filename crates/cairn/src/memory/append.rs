//! Appending events to a session, and its newest state.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use cairn_core::Sha;
use cairn_core::canonical;
use cairn_core::id::{IdempotencyKey, SessionId};
use cairn_core::session::SessionState;
use cairn_core::session::entity::OpResult;
use cairn_core::session::event::{self, Event};
use cairn_core::session::state::{Misfit, RecordedEvent};
use cairn_core::time::Timestamp;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{EventText, ReadEvent, StoreError};
use crate::writer::{Appended, EventRequest};

/// How many sessions' states are kept.
const REMEMBERED: usize = 256;
/// How often a call that another one overtook is tried again.
pub(super) const ROUNDS: usize = 100;

/// Sessions of which older states are kept.
const LOOKED_BACK: usize = 4;
/// Every so many events one is kept.
const MILESTONE: u64 = 512;

/// States of sessions, so that a call folds only what is new. Verification never asks here.
#[derive(Default)]
pub(crate) struct States {
    newest: Mutex<HashMap<SessionId, Arc<SessionState>>>,
    /// States of the past, oldest first, of the sessions that were last looked back on.
    past: Mutex<VecDeque<(SessionId, Vec<Arc<SessionState>>)>>,
}

impl States {
    fn get(&self, session_id: &SessionId) -> Option<Arc<SessionState>> {
        self.newest.lock().ok()?.get(session_id).cloned()
    }

    /// The latest of the kept states that is not after a position of the log.
    fn milestone(&self, session_id: &SessionId, to: u64) -> Option<Arc<SessionState>> {
        let past = self.past.lock().ok()?;
        let (_, states) = past.iter().find(|(known, _)| known == session_id)?;
        states[..states.partition_point(|state| state.seq <= to)].last().cloned()
    }

    /// Keeps states that were met on the way, each later than those that are kept.
    fn keep(&self, session_id: &SessionId, met: Vec<Arc<SessionState>>) {
        let (Ok(mut past), false) = (self.past.lock(), met.is_empty()) else { return };
        let mut states = match past.iter().position(|(known, _)| known == session_id) {
            Some(place) => past.remove(place).map(|(_, states)| states).unwrap_or_default(),
            None => Vec::new(),
        };
        let last = states.last().map_or(0, |state| state.seq);
        states.extend(met.into_iter().filter(|state| state.seq > last));
        past.push_front((session_id.clone(), states));
        past.truncate(LOOKED_BACK);
    }

    fn put(&self, session_id: &SessionId, state: Arc<SessionState>) {
        if let Ok(mut states) = self.newest.lock() {
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
        for round in 0..ROUNDS {
            // First what is kept, without asking the database: if it is outdated, the writer says so.
            let kept =
                self.inner.states.get(&session_id).filter(|kept| {
                    round == 0 && terms.expected_seq.is_none_or(|expected| expected == kept.seq)
                });
            let before = match kept.map_or_else(|| self.state(&session_id), |kept| Ok(Some(kept)))? {
                Some(state) => state,
                None if terms.may_open => Arc::default(),
                None => return Err(Error::NotFound { what: "session", id: session_id.to_string() }),
            };
            if let Some(key) = &key
                && let Some(first) = self.inner.store.event_by_key(key.as_str())?
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
            if let Err(misfit) = fits(&before, &event) {
                // Before anything is refused, it is made sure that it is about the newest state.
                match self.state(&session_id)? {
                    Some(newest) if newest.seq != before.seq => continue,
                    _ => return Err(refusal(&session_id, &before, misfit)),
                }
            }
            let body = canonical_text(&event)?;
            // Whoever folds later has only the text.
            debug_assert_eq!(Event::parse(event.kind(), event::VERSION, &body).as_ref(), Ok(&event));
            let request = EventRequest {
                session_id: session_id.clone(),
                after: before.seq,
                turn: before.turn + u64::from(matches!(event, Event::TurnBegan(_))),
                kind: event.kind(),
                v: event::VERSION,
                body,
                bodies,
                idempotency_key: key.clone(),
            };
            match self.writer()?.write_now(move |step| step.append_event(&request))? {
                Appended::Outdated | Appended::Repeated => continue,
                Appended::Done { seq, at } => {
                    let recorded = RecordedEvent { seq, at, event };
                    let mut after = (*before).clone();
                    let results =
                        after.take(recorded).map_err(|misfit| refusal(&session_id, &before, misfit))?;
                    let after = Arc::new(after);
                    self.inner.states.put(&session_id, after.clone());
                    return Ok(Done { after, results, seq });
                }
            }
        }
        Err(overtaken(&session_id))
    }

    /// The answer to a call that was made before, if this one asks for the same.
    fn repeated(&self, session_id: &SessionId, first: &ReadEvent, draft: &Draft) -> Result<Done> {
        let same = first.session_id == *session_id
            && first.kind == draft.event.kind()
            && first.body == canonical_text(&draft.event)?;
        if !same {
            return Err(Error::Conflict(format!(
                "this idempotency_key was used for another call (log entry {}); use a new key",
                first.seq
            )));
        }
        let before = self.state_before(first)?;
        let mut after = (*before).clone();
        let ReadEvent { seq, turn, kind, v, created_at, body, .. } = first;
        let text = EventText { seq: *seq, turn: *turn, kind, v: *v, created_at: created_at.as_str(), body };
        let results = after.take(read(text)?).map_err(|misfit| refusal(session_id, &before, misfit))?;
        Ok(Done { after: Arc::new(after), results, seq: first.seq })
    }

    fn state_before(&self, event: &ReadEvent) -> Result<Arc<SessionState>> {
        self.fold_to(&event.session_id, event.seq - 1)
    }

    /// The newest state of a session; none if it has no memory.
    pub(super) fn state(&self, session_id: &SessionId) -> Result<Option<Arc<SessionState>>> {
        let Some(head) = self.inner.store.memory(session_id.as_str())? else { return Ok(None) };
        let known = self.inner.states.get(session_id);
        if let Some(state) = known.as_ref().filter(|state| state.seq == head.newest) {
            return Ok(Some(state.clone()));
        }
        let from = known.filter(|state| state.seq < head.newest).unwrap_or_default();
        let state = Arc::new(self.fold(session_id, (*from).clone(), head.newest, &mut |_| {})?);
        self.inner.states.put(session_id, state.clone());
        Ok(Some(state))
    }

    /// The state of a session as it was up to a position of the log.
    pub(super) fn fold_to(&self, session_id: &SessionId, to: u64) -> Result<Arc<SessionState>> {
        let from = self.inner.states.milestone(session_id, to).unwrap_or_default();
        let mut met = Vec::new();
        let state =
            self.fold(session_id, (*from).clone(), to, &mut |state| met.push(Arc::new(state.clone())))?;
        self.inner.states.keep(session_id, met);
        Ok(Arc::new(state))
    }

    /// The same from the events alone, for whoever must not believe what is kept.
    pub(super) fn fold_anew(&self, session_id: &SessionId, to: u64) -> Result<Arc<SessionState>> {
        Ok(Arc::new(self.fold(session_id, SessionState::default(), to, &mut |_| {})?))
    }

    /// Applies the events up to a position of the log; shows `milestone` every so many of them.
    ///
    /// In one thread: parsing in another was tried and is slower, for the memory that changes hands.
    fn fold(
        &self,
        session_id: &SessionId,
        mut state: SessionState,
        to: u64,
        milestone: &mut dyn FnMut(&SessionState),
    ) -> Result<SessionState> {
        let mut failed = Ok(());
        let mut count = 0;
        self.inner.store.events(session_id.as_str(), state.seq, to, &mut |event| {
            let unfit = |_| damaged(&format!("event {} does not fit what came before", event.seq));
            failed = read(event).and_then(|recorded| state.take(recorded).map(drop).map_err(unfit));
            count += 1;
            if failed.is_ok() && count % MILESTONE == 0 {
                milestone(&state);
            }
            failed.is_ok()
        })?;
        failed.map(|()| state)
    }
}

/// What is said to a call that gave up.
pub(super) fn overtaken(session_id: &SessionId) -> Error {
    Error::Conflict(format!("other writers kept overtaking this call on session `{session_id}`; try again"))
}

/// Whether an event can be applied, before its place and time are known, which only the writer knows.
fn fits(state: &SessionState, event: &Event) -> std::result::Result<(), Misfit> {
    match event {
        Event::Opened(_) | Event::TurnBegan(_) => Ok(()),
        Event::StepTaken(_) | Event::TurnNoted(_) | Event::TurnEnded(_) if state.open => Ok(()),
        Event::StepTaken(_) | Event::TurnNoted(_) | Event::TurnEnded(_) => Err(Misfit::TurnNotOpen),
        Event::EntitiesApplied(_) | Event::SummaryApplied(_) => {
            let at = Timestamp::parse("1970-01-01T00:00:00Z").expect("a valid timestamp");
            let trial = RecordedEvent { seq: state.seq + 1, at, event: event.clone() };
            state.clone().apply(&trial).map(drop)
        }
    }
}

fn read(event: EventText<'_>) -> Result<RecordedEvent> {
    let parsed =
        Event::parse(event.kind, event.v, event.body).map_err(|error| damaged(&error.to_string()))?;
    let at = Timestamp::parse(event.created_at).map_err(|error| damaged(&error.to_string()))?;
    Ok(RecordedEvent { seq: event.seq, at, event: parsed })
}

fn damaged(what: &str) -> Error {
    StoreError::Damaged(what.to_string()).into()
}

fn canonical_text(event: &Event) -> Result<String> {
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
