//! A state as text, so that a long session need not be folded from its beginning each time.
//!
//! Lists instead of objects, fields in the order of their declaration, so that it is short and quickly read. Equal states
//! have equal texts, whatever way they were come by. What can be found from the rest is left out: indexes, and entities
//! that were dropped.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::entities::Entities;
use super::entity::Entity;
use super::event::{Settings, Step, SummaryApplied};
use super::state::{Constraint, Noted, OpenPending, Reply, SessionState, Turn};

/// The version of the text. It must grow with every change of a field below, and of what the fold makes of events: a
/// text of another version is not read, and the events are folded instead.
pub const VERSION: u64 = 2;

/// Writes a state in the form that [`read`] takes.
pub fn text(state: &SessionState) -> impl Serialize + '_ {
    Written(state)
}

/// Reads what [`text`] wrote. Whether it is what the events say is for the caller to know.
pub fn read(text: &str) -> Result<SessionState, serde_json::Error> {
    let Read(state) = serde_json::from_str(text)?;
    Ok(state)
}

struct Written<'a>(&'a SessionState);
struct Turns<'a>(&'a [Arc<Turn>]);
struct Steps<'a>(&'a [Noted<Step>]);
struct Listed<'a>(&'a [Arc<Entity>]);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SessionState { settings, types, turn, open, seq, length, entities, turns, .. } = self.0;
        let SessionState { engagement, pending, constraints, history, reasoning, .. } = self.0;
        // In order, which a hash map does not have.
        let counters: BTreeMap<_, _> = entities.counters.iter().collect();
        let entities = (Listed(&entities.list), counters);
        let conversation = (engagement, pending, constraints, history, reasoning);
        (settings, types, turn, open, seq, length, entities, Turns(turns), conversation).serialize(serializer)
    }
}

impl Serialize for Turns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|turn| {
            let Turn { turn: number, user, timestamp, reply, routing, decision, goal, steps, .. } = &**turn;
            let Turn { retained, demoted, phase, user_expressed, blocked_reason, .. } = &**turn;
            let done = Steps(steps);
            (
                number,
                user,
                timestamp,
                reply,
                routing,
                decision,
                goal,
                done,
                retained,
                demoted,
                phase,
                user_expressed,
                blocked_reason,
            )
        }))
    }
}

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|Noted { value, seq }| {
            let Step { step_num, kind, subdomain, description, outcome, entities_involved, note, status } =
                value;
            ((step_num, kind, subdomain, description, outcome, entities_involved, note, status), seq)
        }))
    }
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().filter(|entity| !entity.dropped).map(|entity| {
            let Entity { entity_ref, draft, kind, label, status, saved_id, body, .. } = &**entity;
            let Entity { detail, last_full, turn_created, turn_last_ref, turn_promoted, .. } = &**entity;
            let Entity { retention_reason, demoted, events, .. } = &**entity;
            (
                entity_ref,
                draft,
                kind,
                label,
                status,
                saved_id,
                body,
                detail,
                last_full,
                turn_created,
                turn_last_ref,
                turn_promoted,
                retention_reason,
                demoted,
                events,
            )
        }))
    }
}

impl<T: Serialize> Serialize for Noted<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.value, self.seq).serialize(serializer)
    }
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (&self.full, &self.summary).serialize(serializer)
    }
}

/// A state that was read.
struct Read(SessionState);

/// The fields of [`Written`], in its order.
#[derive(Deserialize)]
struct Fields {
    settings: Settings,
    types: Option<Vec<String>>,
    turn: u64,
    open: bool,
    seq: u64,
    length: u64,
    entities: Kept,
    #[serde(deserialize_with = "shared")]
    turns: Vec<Arc<Turn>>,
    conversation: Conversation,
}

#[derive(Deserialize)]
struct Kept {
    #[serde(deserialize_with = "shared")]
    list: Vec<Arc<Entity>>,
    counters: HashMap<String, u64>,
}

#[derive(Deserialize)]
struct Conversation {
    engagement: Option<Noted<String>>,
    pending: Option<OpenPending>,
    constraints: Vec<Constraint>,
    history: Vec<Noted<SummaryApplied>>,
    reasoning: Vec<Noted<SummaryApplied>>,
}

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Read, D::Error> {
        let Fields { settings, types, turn, open, seq, length, entities, turns, conversation } =
            Fields::deserialize(deserializer)?;
        let Conversation { engagement, pending, constraints, history, reasoning } = conversation;
        let Kept { list, counters } = entities;
        // What others take for granted when they look up a turn by its number.
        let numbered = (1..).zip(&turns).all(|(number, turn): (u64, _)| turn.turn == number);
        let ended = turn.saturating_sub(u64::from(open));
        let covered = history.iter().chain(&reasoning).all(|summary| summary.value.to_turn <= ended);
        if !numbered || turns.len() as u64 != turn || (open && turn == 0) || !covered {
            return Err(D::Error::custom("its turns are not those it counts"));
        }
        let mut entities = Entities::default();
        (entities.list, entities.counters) = (list, Arc::new(counters));
        entities.index_again();
        Ok(Read(SessionState {
            settings,
            types,
            turn,
            open,
            seq,
            length,
            entities,
            turns,
            engagement,
            pending,
            constraints,
            history,
            reasoning,
        }))
    }
}

/// Reads a list of what a state shares with its clones.
fn shared<'de, D, T>(deserializer: D) -> Result<Vec<Arc<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct List<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<Arc<T>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                list.push(Arc::new(item));
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(List(PhantomData))
}
