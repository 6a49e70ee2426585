//! A session's state as clients see it.

use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::id::SessionId;
use cairn_core::session::op::Detail;
use cairn_core::session::state::Turn;
use cairn_core::session::{Entity, REDACTED, SessionState, Tier};
use cairn_core::time::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::append::session_id_of;
use crate::checked::{self, CheckedEvent};
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::Damage;

/// A part of a session's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatePart {
    /// Layer 1.
    Entities,
    /// Layer 2.
    Conversation,
    /// Layer 3.
    Reasoning,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventView {
    /// Position in the log.
    pub seq: u64,
    /// The turn it belongs to.
    pub turn: u64,
    /// What happened.
    pub kind: String,
    /// The version of its body.
    pub v: u64,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// What it says.
    pub body: Value,
}

/// One entity with its content and its events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntityView {
    /// The session.
    pub session_id: SessionId,
    /// The turn it is looked at in.
    pub turn: u64,
    /// The entity.
    pub entity: Value,
    /// Its content, if the session has it.
    pub body: Option<Value>,
    /// The events that made it what it is.
    pub events: Vec<EventView>,
}

impl Cairn {
    /// Returns the state of a session in a turn, with all turns up to it: all of it, or one part.
    pub fn session_state(
        &self,
        session_id: &str,
        turn: Option<u64>,
        part: Option<StatePart>,
    ) -> Result<Value> {
        self.session_state_newest(session_id, turn, part, u64::MAX)
    }

    /// The same with the newest so many turns; `earlier_turns` says how many are left out.
    pub fn session_state_newest(
        &self,
        session_id: &str,
        turn: Option<u64>,
        part: Option<StatePart>,
        turns: u64,
    ) -> Result<Value> {
        let session_id = session_id_of(session_id)?;
        let (state, _) = self.point(&session_id, turn)?;
        let earlier = state.turns.len().saturating_sub(usize::try_from(turns).unwrap_or(usize::MAX));
        let turns = state.turns.split_at(earlier);
        Ok(match part {
            Some(StatePart::Entities) => entities(&state),
            Some(StatePart::Conversation) => conversation(&state, turns),
            Some(StatePart::Reasoning) => reasoning(&state, turns),
            None => json!({
                "session_id": session_id,
                "turn": state.turn,
                "open": state.open,
                "seq": state.seq,
                "types": state.types,
                "settings": state.settings,
                "entities": entities(&state),
                "conversation": conversation(&state, turns),
                "reasoning": reasoning(&state, turns),
            }),
        })
    }

    /// Returns one entity of a session in a turn.
    pub fn entity_get(&self, session_id: &str, entity_ref: &str, turn: Option<u64>) -> Result<EntityView> {
        let session_id = session_id_of(session_id)?;
        let (state, _) = self.point(&session_id, turn)?;
        let not_found = || Error::NotFound { what: "entity", id: entity_ref.to_string() };
        let entity = state.entities.get(entity_ref).ok_or_else(not_found)?;
        let body = match &entity.body {
            None => None,
            Some(body) => self.body(&body.sha256)?.and_then(|data| serde_json::from_str(&data).ok()),
        };
        // Of a long session only those few are taken apart.
        let of_entity = |seq| entity.events.binary_search(&seq).is_ok();
        let events = self.events_where(&session_id, (0, u64::MAX), entity.events.len() as u64, &of_entity)?;
        Ok(EntityView { turn: state.turn, entity: entity_as_json(entity, &state), body, events, session_id })
    }

    /// Returns the events of a session after a position of the log, in order.
    pub fn session_events(&self, session_id: &str, after: u64, limit: Option<u64>) -> Result<Vec<EventView>> {
        let session_id = session_id_of(session_id)?;
        if self.inner.store.memory(session_id.as_str())?.is_none() {
            return Err(Error::NotFound { what: "session", id: session_id.to_string() });
        }
        self.events_where(&session_id, (after, u64::MAX), limit.unwrap_or(u64::MAX), &|_| true)
    }

    /// Returns the events of the turns from one to another of a session, in order. What was recorded before the first
    /// turn belongs to none.
    pub fn turn_events(&self, session_id: &str, from_turn: u64, to_turn: u64) -> Result<Vec<EventView>> {
        let session_id = session_id_of(session_id)?;
        let not_found = || Error::NotFound { what: "session", id: session_id.to_string() };
        let state = self.state(&session_id)?.ok_or_else(not_found)?;
        // `turns[0]` is turn 1.
        let begin = |turn: u64| state.turns.get(usize::try_from(turn).ok()?).map(|turn| turn.user.seq - 1);
        let Some(after) = begin(from_turn.saturating_sub(1)) else { return Ok(Vec::new()) };
        let to = begin(to_turn).unwrap_or(u64::MAX);
        self.events_where(&session_id, (after, to), u64::MAX, &|_| true)
    }

    /// The content with this digest, if it is stored; of a redacted one, a JSON text that says so.
    pub(crate) fn body(&self, digest: &Sha) -> Result<Option<String>> {
        let Some(body) = self.inner.store.body(digest)? else { return Ok(None) };
        Ok(Some(checked::body(digest, body)?.unwrap_or_else(|| format!("\"{REDACTED}\""))))
    }

    /// The first so many events after a position of the log and up to another that are wanted, by their own positions.
    fn events_where(
        &self,
        session_id: &SessionId,
        (after, to): (u64, u64),
        limit: u64,
        wanted: &dyn Fn(u64) -> bool,
    ) -> Result<Vec<EventView>> {
        let mut events: Vec<EventView> = Vec::new();
        let (mut damaged, mut buffer) = (None, Vec::new());
        self.inner.store.events(session_id.as_str(), after, to, &mut |stored| {
            if !wanted(stored.seq) {
                return ControlFlow::Continue(());
            }
            let CheckedEvent { entry: event, body, .. } =
                match checked::event_of(stored, session_id.as_str(), &mut buffer) {
                    Ok(event) => event,
                    Err(damage) => {
                        damaged = Some(damage);
                        return ControlFlow::Break(());
                    }
                };
            events.push(EventView {
                seq: event.seq,
                turn: event.turn,
                kind: event.event.to_string(),
                v: event.event_v,
                created_at: match Timestamp::parse(&*event.created_at) {
                    Ok(at) => at,
                    Err(_) => {
                        damaged = Some(Damage::at(event.seq, "it has no time"));
                        return ControlFlow::Break(());
                    }
                },
                body: serde_json::from_str(&body).unwrap_or(Value::Null),
            });
            if (events.len() as u64) < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        match damaged {
            None => Ok(events),
            Some(damage) => Err(damage.into()),
        }
    }
}

fn entities(state: &SessionState) -> Value {
    let tier = |entity: &Entity| entity.tier(state.turn, state.settings.window);
    let refs = |wanted: Tier| -> Vec<&str> {
        let of_tier = state.entities.iter().filter(|entity| tier(entity) == Some(wanted));
        of_tier.map(|entity| entity.entity_ref.as_str()).collect()
    };
    json!({
        "turn": state.turn,
        "entities": state.entities.iter().map(|entity| entity_as_json(entity, state)).collect::<Vec<_>>(),
        "tiers": {
            "active": refs(Tier::Active),
            "generated": refs(Tier::Generated),
            "retained": refs(Tier::Retained),
        },
    })
}

fn entity_as_json(entity: &Entity, state: &SessionState) -> Value {
    let detail = entity.detail.map(|detail| match detail {
        Detail::Full => "full",
        Detail::Summary => "summary",
    });
    json!({
        "ref": entity.entity_ref,
        "type": entity.kind,
        "label": entity.label,
        "status": entity.status.as_str(),
        "saved_id": entity.saved_id,
        "turn_created": entity.turn_created,
        "turn_last_ref": entity.turn_last_ref,
        "turn_promoted": entity.turn_promoted,
        "detail": detail,
        "last_full": entity.last_full,
        "retention_reason": entity.retention_reason,
        "demoted": entity.demoted.is_some(),
        "has_body": entity.body.is_some(),
        "tier": entity.tier(state.turn, state.settings.window),
    })
}

/// Turns that are left out, and those that are shown.
type Turns<'a> = (&'a [Arc<Turn>], &'a [Arc<Turn>]);

fn conversation(state: &SessionState, (earlier, shown): Turns<'_>) -> Value {
    let turn = |turn: &Turn| {
        json!({
            "turn": turn.turn,
            "user": turn.user.value,
            "assistant": turn.reply.as_ref().map(|reply| &reply.value.full),
            "assistant_summary": turn.reply.as_ref().and_then(|reply| reply.value.summary.as_ref()),
            "routing": turn.routing.as_ref().map(|routing| &routing.value),
            "timestamp": turn.timestamp,
        })
    };
    let constraint = |constraint: &cairn_core::session::state::Constraint| {
        json!({"key": constraint.key, "value": constraint.value, "since_turn": constraint.since_turn,
               "expires": constraint.expires})
    };
    json!({
        "turn": state.turn,
        "earlier_turns": earlier.len(),
        "recent_turns": shown.iter().map(|one| turn(one)).collect::<Vec<_>>(),
        "history_summary": state.history.iter().map(|summary| json!(summary.value)).collect::<Vec<_>>(),
        "engagement_summary": state.engagement.as_ref().map(|engagement| &engagement.value),
        "pending": state.pending.as_ref().map(|open| &open.pending),
        "constraints": state.constraints_now().map(constraint).collect::<Vec<_>>(),
    })
}

fn reasoning(state: &SessionState, (earlier, shown): Turns<'_>) -> Value {
    let turn = |turn: &Turn| {
        let reasons: Map<String, Value> =
            turn.retained.iter().map(|kept| (kept.value.0.clone(), json!(kept.value.1))).collect();
        json!({
            "turn_num": turn.turn,
            "think_decision": turn.decision.as_ref().map(|decision| decision.value.as_str()),
            "think_goal": turn.goal.as_ref().map(|goal| &goal.value),
            "steps": turn.steps.iter().map(|step| json!(step.value)).collect::<Vec<_>>(),
            "entity_curation": {
                "retained": turn.retained.iter().map(|kept| &kept.value.0).collect::<Vec<_>>(),
                "demoted": turn.demoted.iter().map(|demoted| &demoted.value).collect::<Vec<_>>(),
                "reasons": reasons,
            },
            "conversation_phase": turn.phase.as_ref().map(|phase| phase.value.as_str()),
            "user_expressed": turn.user_expressed.as_ref().map(|expressed| &expressed.value),
            "blocked_reason": turn.blocked_reason.as_ref().map(|reason| &reason.value),
        })
    };
    json!({
        "turn": state.turn,
        "earlier_turns": earlier.len(),
        "turn_summaries": shown.iter().map(|one| turn(one)).collect::<Vec<_>>(),
        "reasoning_summary": state.reasoning.iter().map(|summary| json!(summary.value)).collect::<Vec<_>>(),
    })
}
