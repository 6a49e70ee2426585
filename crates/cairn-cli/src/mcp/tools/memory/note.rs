//! `turn_note`: what was decided, understood or is waited for in a turn.

use cairn::Cairn;
use serde_json::{Map, Value};

use super::{SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

const TEXTS: [&str; 5] = ["decision", "goal", "phase", "user_expressed", "engagement"];

pub static NOTE: Tool = Tool {
    name: "turn_note",
    title: "Note about the turn",
    description: "Note what you decided in the open turn, what the user let you know, or what you wait for. Only what is \
                  new.",
    args: &[
        SESSION,
        Arg::new("decision", Kind::Word(&["plan_direct", "propose", "clarify"]), ""),
        Arg::new("goal", Kind::Text, ""),
        Arg::new("phase", Kind::Word(&["exploring", "narrowing", "confirming", "executing"]), ""),
        Arg::new("user_expressed", Kind::Text, ""),
        Arg::new("constraints", Kind::List, "user's facts: {key, value, expires?: turn}"),
        Arg::new("engagement", Kind::Text, "the whole conversation in a sentence"),
        Arg::new(
            "pending",
            Kind::Object,
            "{type: propose|clarify|ask_user|understand, context, questions?}; {}: none any more",
        ),
        Arg::new("routing", Kind::Object, ""),
    ],
    data: &["seq"],
    call: Call::Write(note, Effect::Event),
};

fn note(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let session = session(&mut given);
    let mut note = Map::new();
    for name in TEXTS {
        note.extend(given.text(name).map(|text| (name.to_string(), Value::String(text))));
    }
    note.extend(given.list("constraints").map(|list| ("constraints".to_string(), Value::Array(list))));
    note.extend(given.object("routing").map(|map| ("routing".to_string(), Value::Object(map))));
    // Null is what clients send that fill in every argument, so it cannot mean that nothing is waited for.
    let pending = |map: Map<String, Value>| if map.is_empty() { Value::Null } else { Value::Object(map) };
    note.extend(given.object("pending").map(|map| ("pending".to_string(), pending(map))));
    Data::of(&cairn.turn_note(&session, note)?)
}
