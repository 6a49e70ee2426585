//! `entity_get`: one thing with its content and its history.

use cairn::Cairn;

use super::{SESSION, TURN, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static ENTITY: Tool = Tool {
    name: "entity_get",
    title: "Get an entity",
    description: "Read one entity with its content and every event that touched it, when a brief names only its ref.",
    args: &[SESSION, Arg::new("ref", Kind::Label, "such as recipe_1").required(), TURN],
    data: &["session_id", "turn", "entity", "body", "events"],
    call: Call::Read(get),
};

fn get(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let (session, entity) = (session(&mut given), given.text("ref").unwrap_or_default());
    Data::of(&cairn.entity_get(&session, &entity, given.integer("turn"))?)
}
