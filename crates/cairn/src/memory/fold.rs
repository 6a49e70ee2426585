//! Folding events, and states that are kept in the file, so that a long session is not folded from its beginning by every
//! program that opens it.
//!
//! A kept state is a convenience for whoever reads or appends. `verify` and `brief_verify` never start from one; `verify`
//! folds the events anew and compares. The digest beside it is no proof, since whoever changes the one can change the
//! other; it keeps damage from being taken for a state.

use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::entry::EventEntry;
use cairn_core::id::SessionId;
use cairn_core::session::state::RecordedEvent;
use cairn_core::session::{Event, SessionState, kept};
use cairn_core::time::Timestamp;

use crate::checked::{self, CheckedEvent};
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{Damage, FoldRow, Read, StoreError, StoreWriter};

/// Every so many events a state of the past is kept in memory.
const MILESTONE: u64 = 512;

impl Cairn {
    /// The newest state of a session; none if it has no memory.
    pub(super) fn state(&self, session_id: &SessionId) -> Result<Option<Arc<SessionState>>> {
        let Some(head) = self.inner.store.memory(session_id.as_str())? else { return Ok(None) };
        self.inner.states.note_redaction(head.redaction);
        let known = self.inner.states.get(session_id);
        if let Some(state) = known.as_ref().filter(|state| state.seq == head.newest) {
            return Ok(Some(state.clone()));
        }
        let from = match known.filter(|state| state.seq < head.newest) {
            Some(state) => (*state).clone(),
            None => self.kept_state(session_id, head.newest)?.unwrap_or_default(),
        };
        let state = Arc::new(self.fold(session_id, from, head.newest, &mut |_| {})?);
        self.remember(session_id, &state, head.redaction);
        Ok(Some(state))
    }

    /// The state of a session as it was up to a position of the log.
    pub(super) fn fold_to(&self, session_id: &SessionId, to: u64) -> Result<Arc<SessionState>> {
        let redaction = self.inner.store.memory(session_id.as_str())?.map_or(0, |head| head.redaction);
        self.inner.states.note_redaction(redaction);
        let from = self.inner.states.milestone(session_id, to).unwrap_or_default();
        let mut met = Vec::new();
        let state =
            self.fold(session_id, (*from).clone(), to, &mut |state| met.push(Arc::new(state.clone())))?;
        self.inner.states.keep(session_id, met, redaction);
        Ok(Arc::new(state))
    }

    /// The same from the events alone, for whoever must not believe what is kept.
    pub(super) fn fold_anew(&self, session_id: &SessionId, to: u64) -> Result<Arc<SessionState>> {
        Ok(Arc::new(self.fold(session_id, SessionState::default(), to, &mut |_| {})?))
    }

    /// Remembers the newest state of a session, as of a redaction, and now and then has it kept in the file.
    pub(super) fn remember(&self, session_id: &SessionId, state: &Arc<SessionState>, redaction: u64) {
        self.inner.states.put(session_id, state.clone(), redaction);
        // A handle that has recorded nothing writes nothing.
        if self.inner.states.is_due(session_id, state.length)
            && let Some(writer) = self.writer_that_recorded()
        {
            writer.keep_fold(session_id.clone(), state.clone(), redaction);
        }
    }

    /// The state that the file keeps, if it is sound and not after a position of the log.
    fn kept_state(&self, session_id: &SessionId, to: u64) -> Result<Option<SessionState>> {
        let mut found = None;
        self.inner.store.fold(session_id.as_str(), to, &mut |row| {
            let sound = row.v == kept::VERSION && digest(session_id.as_str(), row).0 == row.sha256;
            found = sound.then(|| kept::read(row.state).ok()).flatten().filter(|state| state.seq == row.seq);
        })?;
        if let Some(state) = &found {
            self.inner.states.note_kept(session_id, state.length);
        }
        Ok(found)
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
        let mut failed: Result<()> = Ok(());
        let (mut count, mut buffer) = (0, Vec::new());
        self.inner.store.events(session_id.as_str(), state.seq, to, &mut |stored| {
            failed = checked::event_of(stored, session_id.as_str(), &mut buffer)
                .and_then(|event| follows(&state, event))
                .map_err(Error::from)
                .and_then(|event| Ok(advance(&mut state, &event.entry, &event.body)?));
            count += 1;
            if failed.is_ok() && count % MILESTONE == 0 {
                milestone(&state);
            }
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        failed.map(|()| state)
    }
}

/// Whether an event comes right after those that a state is made of.
fn follows<'a>(state: &SessionState, event: CheckedEvent<'a>) -> Read<CheckedEvent<'a>> {
    match event.entry.position == state.length {
        true => Ok(event),
        false => {
            Err(Damage::at(event.entry.seq, format!("event {} of its session is missing", state.length)))
        }
    }
}

/// Applies a stored event.
pub(crate) fn advance(
    state: &mut SessionState,
    event: &EventEntry<'_>,
    body: &str,
) -> std::result::Result<(), StoreError> {
    let unfit = |_| StoreError::Damaged(format!("event {} does not fit what came before", event.seq));
    state.take(read(event, body)?).map(drop).map_err(unfit)
}

/// A stored event.
pub(super) fn read(event: &EventEntry<'_>, body: &str) -> std::result::Result<RecordedEvent, StoreError> {
    let parsed = Event::parse(&event.event, event.event_v, body)
        .map_err(|error| StoreError::Damaged(error.to_string()))?;
    let at = Timestamp::parse(&*event.created_at).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(RecordedEvent { seq: event.seq, at, event: parsed })
}

/// What stands beside a kept state: over the state, and what it is the state of.
pub(crate) fn digest(session_id: &str, fold: FoldRow<'_>) -> Sha {
    let of = format!("{} {} {session_id}\n", fold.v, fold.seq);
    Sha::of_parts(&[of.as_bytes(), fold.state.as_bytes()])
}

/// Writes a state into the file.
pub(crate) fn keep(
    store: &mut dyn StoreWriter,
    session_id: &SessionId,
    state: &SessionState,
    redaction: u64,
) -> std::result::Result<(), StoreError> {
    let text = serde_json::to_string(&kept::text(state))
        .map_err(|error| StoreError::Other(format!("a state cannot be written: {error}")))?;
    let row = FoldRow { seq: state.seq, v: kept::VERSION, sha256: &[], state: &text };
    let digest = digest(session_id.as_str(), row);
    store.keep_fold(session_id.as_str(), FoldRow { sha256: &digest.0, ..row }, redaction)
}
