//! Turns and entities of a session as pages read them.

use std::collections::HashMap;

use cairn::core::session::event::{Pending, Step};
use cairn::{Cairn, StatePart, Timestamp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::CliError;
use crate::session_words;

/// One turn: what was said, decided and done.
#[derive(Serialize)]
pub(super) struct TurnView {
    #[serde(flatten)]
    pub(super) said: Said,
    #[serde(flatten)]
    pub(super) reasoned: Reasoned,
    /// What was recorded, in order.
    pub(super) events: Vec<Happened>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) turn: u64,
    pub(super) user: String,
    pub(super) assistant: Option<String>,
    pub(super) assistant_summary: Option<String>,
    pub(super) routing: Option<Map<String, Value>>,
    pub(super) timestamp: Timestamp,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Reasoned {
    pub(super) think_decision: Option<String>,
    pub(super) think_goal: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) entity_curation: Curation,
    pub(super) conversation_phase: Option<String>,
    pub(super) user_expressed: Option<String>,
    pub(super) blocked_reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Curation {
    pub(super) retained: Vec<String>,
    pub(super) demoted: Vec<String>,
    pub(super) reasons: Map<String, Value>,
}

/// An event in words.
#[derive(Serialize)]
pub(super) struct Happened {
    pub(super) seq: u64,
    pub(super) kind: String,
    pub(super) words: String,
}

/// What the conversation had come to at a turn.
#[derive(Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) engagement_summary: Option<String>,
    pub(super) pending: Option<Pending>,
    pub(super) constraints: Vec<Fact>,
}

/// A fact that the user stated.
#[derive(Serialize, Deserialize)]
pub(super) struct Fact {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) since_turn: u64,
    pub(super) expires: Option<u64>,
}

/// An entity at a turn.
#[derive(Serialize, Deserialize)]
pub(super) struct EntityAt {
    #[serde(rename = "ref")]
    pub(super) entity_ref: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) label: String,
    pub(super) status: String,
    pub(super) saved_id: Option<String>,
    pub(super) turn_created: u64,
    pub(super) turn_last_ref: u64,
    pub(super) retention_reason: Option<String>,
    pub(super) demoted: bool,
    /// `active`, `generated`, `retained`, or nothing if it is forgotten.
    pub(super) tier: Option<String>,
}

/// The turn that a session is in; 0 before the first.
pub(super) fn current_turn(cairn: &Cairn, session: &str) -> Result<u64, CliError> {
    let state = cairn.session_state_newest(session, None, Some(StatePart::Conversation), 0)?;
    Ok(state["turn"].as_u64().unwrap_or_default())
}

/// The last so many turns up to one, oldest first, and what was known then.
pub(super) fn turns(
    cairn: &Cairn,
    session: &str,
    up_to: u64,
    most: u64,
) -> Result<(Vec<TurnView>, Known), CliError> {
    let part = |part| cairn.session_state_newest(session, Some(up_to), Some(part), most);
    let mut conversation = part(StatePart::Conversation)?;
    let said: Vec<Said> = read(conversation["recent_turns"].take())?;
    let reasoned: Vec<Reasoned> = read(part(StatePart::Reasoning)?["turn_summaries"].take())?;
    let mut events: HashMap<u64, Vec<Happened>> = HashMap::new();
    if let (Some(first), Some(last)) = (said.first(), said.last()) {
        for event in cairn.turn_events(session, first.turn, last.turn)? {
            let words = session_words::event(&event);
            let happened = Happened { seq: event.seq, kind: event.kind, words };
            events.entry(event.turn).or_default().push(happened);
        }
    }
    let turns = said.into_iter().zip(reasoned).map(|(said, reasoned)| {
        let events = events.remove(&said.turn).unwrap_or_default();
        TurnView { said, reasoned, events }
    });
    Ok((turns.collect(), read(conversation)?))
}

/// The entities at a turn, in the order in which they were first seen.
pub(super) fn entities(cairn: &Cairn, session: &str, turn: u64) -> Result<Vec<EntityAt>, CliError> {
    read(cairn.session_state(session, Some(turn), Some(StatePart::Entities))?["entities"].take())
}

fn read<T: DeserializeOwned>(state: Value) -> Result<T, CliError> {
    serde_json::from_value(state)
        .map_err(|error| CliError::failed(format!("a state cannot be read: {error}")))
}
