//! Working memory: sessions as lists of events, and the briefs that are built from them.

mod append;
mod brief;
mod fold;
#[cfg(feature = "o200k")]
mod o200k;
mod ops;
mod verdict;
mod view;

use cairn_core::canonical;
use cairn_core::id::SessionId;
use cairn_core::session::SessionState;
use cairn_core::session::entity::OpResult;
use cairn_core::session::event::EntitiesApplied;
use cairn_core::session::event::{
    Event, Note, Opened, Pending, Settings, StatedConstraint, Step, SummaryApplied, SummaryKind, TurnBegan,
    TurnEnded,
};
use cairn_core::session::state::compaction_due;
use cairn_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use append::States;
pub(crate) use append::{blanked, canonical_text};
pub use brief::{BriefComparison, BriefInfo, BriefRequest, BuiltBrief, SectionComparison, StoredBriefView};
pub(crate) use fold::{advance, digest, keep};
pub use verdict::{BriefVerdict, RedactedSource};
pub use view::{EntityView, EventView, StatePart};

use crate::clock::new_id;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use append::{Draft, ROUNDS, Terms, overtaken, session_id_of};

/// How many types a session may name.
const MAX_TYPES: usize = 200;

/// A session to be opened.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its label; one is made if none is given.
    pub session_id: Option<String>,
    /// The types of entities it knows; any if none are given.
    pub types: Option<Vec<String>>,
    /// Turns before the current one in which a reference keeps an entity active.
    pub window: Option<u64>,
}

/// The answer to [`Cairn::session_open`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionOpened {
    /// Its label.
    pub session_id: SessionId,
    /// The turn it is in; 0 before the first.
    pub turn: u64,
    /// Position of its newest event in the log.
    pub seq: u64,
    /// Whether it was opened now.
    pub created: bool,
}

/// The answer to [`Cairn::turn_begin`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnBegun {
    /// The turn's number.
    pub turn: u64,
    /// Position of the event in the log.
    pub seq: u64,
    /// What the user was waited for.
    pub pending_before: Option<Pending>,
}

/// The answer to [`Cairn::entity_apply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntitiesChanged {
    /// Position of the event in the log.
    pub seq: u64,
    /// What each operation did.
    pub results: Vec<OpResult>,
}

/// The answer to a call that only adds something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventAdded {
    /// Position of the event in the log.
    pub seq: u64,
}

/// The answer to [`Cairn::turn_end`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TurnDone {
    /// The turn's number.
    pub turn: u64,
    /// Position of the event in the log.
    pub seq: u64,
    /// Turns that should be put into a few sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction_due: Option<TurnRange>,
}

/// Turns of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnRange {
    /// Of what.
    pub kind: SummaryKind,
    /// The first.
    pub from_turn: u64,
    /// The last.
    pub to_turn: u64,
}

/// The answer to [`Cairn::summary_apply`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summarised {
    /// Position of the event in the log.
    pub seq: u64,
    /// The turns it covers.
    pub covers: TurnRange,
}

/// A session in a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// Its label.
    pub session_id: SessionId,
    /// The turn it is in.
    pub turn: u64,
    /// Thoughts in it.
    pub thoughts: u64,
    /// Events of its memory.
    pub events: u64,
    /// Position of its newest record in the log.
    pub seq: u64,
    /// When that was recorded.
    pub updated_at: Timestamp,
}

impl Cairn {
    /// Opens the memory of a session. One that is open stays as it is, unless other types or settings are given.
    pub fn session_open(&self, session: NewSession) -> Result<SessionOpened> {
        let session_id = match session.session_id {
            Some(id) => id,
            None => new_id()?.to_string(),
        };
        let session_id = session_id_of(&session_id)?;
        let types = session.types.map(check_types).transpose()?;
        if session.window.is_some_and(|window| window > 1000) {
            return Err(Error::invalid("settings.window", "must be at most 1000 turns"));
        }
        for _ in 0..ROUNDS {
            let state = self.state(&session_id)?.unwrap_or_default();
            let opened = Opened {
                types: types.clone().or_else(|| state.types.clone()),
                settings: session.window.map_or(state.settings, |window| Settings { window }),
            };
            let created = state.seq == 0;
            if !created && opened.types == state.types && opened.settings == state.settings {
                return Ok(SessionOpened { session_id, turn: state.turn, seq: state.seq, created });
            }
            // Whoever is overtaken looks again: perhaps the other one has opened it, and nothing is left to do.
            let terms = Terms { expected_seq: Some(state.seq), may_open: true, ..Terms::default() };
            match self.append(session_id.as_str(), terms, |_| Ok(Event::Opened(opened.clone()).into())) {
                Err(Error::Conflict(_)) => {}
                done => {
                    let done = done?;
                    return Ok(SessionOpened { session_id, turn: done.after.turn, seq: done.seq, created });
                }
            }
        }
        Err(overtaken(&session_id))
    }

    /// Begins a turn with what the user said; closes an open one first.
    pub fn turn_begin(
        &self,
        session_id: &str,
        message: &str,
        idempotency_key: Option<String>,
    ) -> Result<TurnBegun> {
        self.check_text("message", message)?;
        let terms = Terms { idempotency_key, ..Terms::default() };
        let done = self.append(session_id, terms, |_| {
            Ok(Event::TurnBegan(TurnBegan { message: message.to_string() }).into())
        })?;
        // Not of the state before: a question that a turn was left open with is answered when that turn is closed.
        let pending_before = done.after.pending.as_ref().map(|open| open.pending.clone());
        Ok(TurnBegun { turn: done.after.turn, seq: done.seq, pending_before })
    }

    /// Applies operations to the entities of a session: all of them or none.
    pub fn entity_apply(
        &self,
        session_id: &str,
        operations: Vec<Value>,
        expected_seq: Option<u64>,
        idempotency_key: Option<String>,
    ) -> Result<EntitiesChanged> {
        let checked = ops::check(operations, self.inner.limits.content)?;
        let terms = Terms { expected_seq, idempotency_key, ..Terms::default() };
        let done = self.append(session_id, terms, |_| {
            Ok(Draft {
                event: Event::EntitiesApplied(EntitiesApplied { ops: checked.ops.clone() }),
                bodies: checked.bodies.clone(),
            })
        })?;
        Ok(EntitiesChanged { seq: done.seq, results: done.results })
    }

    /// Adds a step to the open turn.
    pub fn turn_step(&self, session_id: &str, mut step: Value) -> Result<EventAdded> {
        self.check_size("step", &step)?;
        without_nulls(&mut step);
        let least = json!({"step_num": 1, "type": "read", "description": ""});
        let step: Step = parse("step", step, &least)?;
        let done =
            self.append(session_id, Terms::default(), |_| Ok(Event::StepTaken(step.clone()).into()))?;
        Ok(EventAdded { seq: done.seq })
    }

    /// Notes something about the open turn.
    pub fn turn_note(&self, session_id: &str, note: Map<String, Value>) -> Result<EventAdded> {
        // Null means that something is no longer waited for; elsewhere it means that nothing was given.
        let mut note: Map<String, Value> =
            note.into_iter().filter(|(key, value)| key == "pending" || !value.is_null()).collect();
        note.get_mut("pending").map(without_nulls);
        let note = Value::Object(note);
        self.check_size("note", &note)?;
        let note: Note = parse("", note, &json!({}))?;
        if note == Note::default() {
            return Err(Error::invalid("", "nothing to note: give at least one of decision, goal, phase, …"));
        }
        if let Some(index) = note.constraints.iter().position(|constraint| constraint.key.trim().is_empty()) {
            return Err(Error::invalid(format!("constraints[{index}].key"), "must not be empty"));
        }
        let done = self.append(session_id, Terms::default(), |state| {
            expire_later(&note, state)?;
            Ok(Event::TurnNoted(note.clone()).into())
        })?;
        Ok(EventAdded { seq: done.seq })
    }

    /// Ends the open turn with what the agent answered.
    pub fn turn_end(
        &self,
        session_id: &str,
        reply: &str,
        reply_summary: Option<String>,
        blocked_reason: Option<String>,
    ) -> Result<TurnDone> {
        self.check_text("reply", reply)?;
        for (field, text) in [("reply_summary", &reply_summary), ("blocked_reason", &blocked_reason)] {
            text.as_ref().map_or(Ok(()), |text| self.check_text(field, text))?;
        }
        let ended = TurnEnded { reply: reply.to_string(), reply_summary, blocked_reason };
        let done =
            self.append(session_id, Terms::default(), |_| Ok(Event::TurnEnded(ended.clone()).into()))?;
        let due = compaction_due(&done.after);
        let due = due.map(|(kind, from_turn, to_turn)| TurnRange { kind, from_turn, to_turn });
        Ok(TurnDone { turn: done.after.turn, seq: done.seq, compaction_due: due })
    }

    /// Takes a summary of older turns in the caller's words. Nothing is deleted.
    pub fn summary_apply(
        &self,
        session_id: &str,
        kind: SummaryKind,
        from_turn: u64,
        to_turn: u64,
        text: &str,
    ) -> Result<Summarised> {
        self.check_text("text", text)?;
        if text.trim().is_empty() {
            return Err(Error::invalid("text", "must not be empty: it stands for the turns it covers"));
        }
        let summary = SummaryApplied { of: kind, from_turn, to_turn, text: text.to_string() };
        let done =
            self.append(session_id, Terms::default(), |_| Ok(Event::SummaryApplied(summary.clone()).into()))?;
        Ok(Summarised { seq: done.seq, covers: TurnRange { kind, from_turn, to_turn } })
    }

    /// Lists sessions by their newest record, newest first: 1 to 1,000, 50 if no limit is given.
    pub fn session_list(&self, limit: Option<u64>) -> Result<Vec<SessionInfo>> {
        let limit = limit.unwrap_or(50);
        if !(1..=1000).contains(&limit) {
            return Err(Error::invalid("limit", format!("must be between 1 and 1000, found {limit}")));
        }
        let sessions = self.inner.store.sessions(None, limit)?;
        Ok(sessions
            .into_iter()
            .map(|session| SessionInfo {
                session_id: session.session_id,
                turn: session.turn,
                thoughts: session.thoughts,
                events: session.events,
                seq: session.newest,
                updated_at: session.updated_at,
            })
            .collect())
    }

    /// What is kept of one call has the limit of a thought's content.
    fn check_size(&self, field: &'static str, value: &Value) -> Result<()> {
        const PARTS: [&str; 11] = [
            "goal",
            "user_expressed",
            "constraints",
            "engagement",
            "pending",
            "routing",
            "subdomain",
            "description",
            "outcome",
            "entities_involved",
            "note",
        ];
        let limit = self.inner.limits.content;
        let size = |value: &Value| value.to_string().len();
        let part = PARTS.into_iter().map(|part| (part, value.get(part).map_or(0, size)));
        match part.chain([(field, size(value))]).find(|(_, actual)| *actual > limit) {
            Some((field, actual)) => Err(Error::TooLarge { field, actual, limit }),
            None => Ok(()),
        }
    }

    pub(crate) fn check_text(&self, field: &'static str, text: &str) -> Result<()> {
        let limit = self.inner.limits.content;
        if text.len() > limit {
            return Err(Error::TooLarge { field, actual: text.len(), limit });
        }
        match text.contains('\0') {
            true => Err(Error::invalid(field, "must not contain a NUL character or an unpaired surrogate")),
            false => Ok(()),
        }
    }
}

fn check_types(types: Vec<String>) -> Result<Vec<String>> {
    if types.len() > MAX_TYPES {
        return Err(Error::invalid("types", format!("must name at most {MAX_TYPES} types")));
    }
    if types.is_empty() {
        return Err(Error::invalid("types", "must name at least one type; leave it out to allow any"));
    }
    match types.iter().position(|name| !ops::is_type(name)) {
        None => Ok(types),
        Some(index) => Err(Error::invalid(
            format!("types[{index}]"),
            "must be 1 to 40 lower-case letters, digits or `_`, beginning with a letter, and not with `gen_`",
        )),
    }
}

/// A fact that no turn would ever see must not get lost without a word.
fn expire_later(note: &Note, state: &SessionState) -> Result<()> {
    let past = |stated: &StatedConstraint| {
        !stated.value.is_null() && stated.expires.is_some_and(|last| last < state.turn)
    };
    match note.constraints.iter().position(past) {
        Some(index) if state.open => {
            let message = format!(
                "must be the last turn that it holds in, and this is turn {} already; leave it out if it holds for good",
                state.turn
            );
            Err(Error::invalid(format!("constraints[{index}].expires"), message))
        }
        _ => Ok(()),
    }
}

/// What clients send that fill in everything is as good as nothing.
fn without_nulls(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| !member.is_null());
    }
}

/// Reads an argument that has parts; what is wrong is told by the part. `least` holds what must be given.
fn parse<T: serde::de::DeserializeOwned>(path: &str, value: Value, least: &Value) -> Result<T> {
    let Value::Object(members) = &value else { return Err(Error::invalid(path, "must be an object")) };
    let mut recorded = Map::new();
    for (key, part) in members {
        // As it will be read back, where 1.0 is 1: a brief must not depend on who remembers what was sent.
        let bytes = canonical::to_bytes(part).map_err(|error| Error::invalid(join(path, key), error))?;
        if ops::has_nul(part) {
            return Err(Error::invalid(join(path, key), "must not contain a NUL character"));
        }
        let part: Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::invalid(join(path, key), error))?;
        // Each part by itself, beside what must be given: so a mistake is known by its place.
        let mut alone = least.clone();
        alone[key] = part.clone();
        if let Err(error) = serde_json::from_value::<T>(alone) {
            return Err(Error::invalid(join(path, key), error));
        }
        recorded.insert(key.clone(), part);
    }
    serde_json::from_value(Value::Object(recorded)).map_err(|error| Error::invalid(path, error))
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_string() } else { format!("{path}.{field}") }
}
