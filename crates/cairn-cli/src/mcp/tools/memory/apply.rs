//! `entity_apply`: what happened to the things a session works with.

use cairn::Cairn;

use super::{KEY, SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static APPLY: Tool = Tool {
    name: "entity_apply",
    title: "Note entities",
    description: "Note what you read, drafted, saved, changed or deleted, right after it happened. Answers with the refs \
                  (recipe_1, gen_recipe_1) to use from then on. All or none.",
    args: &[
        SESSION,
        Arg::new(
            "ops",
            Kind::List,
            "{op, …}: read|update {type, id, label?, detail?, body?, links?, nested?}, generate {type, label?, \
             body?}, create {type, id, label?, from?}, user {type, id, action}, delete|touch|demote|drop {ref}, \
             touch_text {text}, retain {ref, reason}, edit {ref, body, label?}, label {ref, label}, clear",
        )
        .required(),
        Arg::new("expected_seq", Kind::Integer(0, u64::MAX), "refuse if the newest seq is another"),
        KEY,
    ],
    data: &["seq", "results"],
    call: Call::Write(apply, Effect::Event),
};

fn apply(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let ops = given.list("ops").unwrap_or_default();
    let (session, expected) = (session(&mut given), given.integer("expected_seq"));
    Data::of(&cairn.entity_apply(&session, ops, expected, given.text("idempotency_key"))?)
}
