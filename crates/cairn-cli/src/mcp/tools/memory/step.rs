//! `turn_step`: a step of the plan was taken.

use cairn::Cairn;
use serde_json::Value;

use super::{SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static STEP: Tool = Tool {
    name: "turn_step",
    title: "Note a step",
    description: "Note a step of the open turn when it is done, blocked or failed, for the next one to know.",
    args: &[
        SESSION,
        Arg::new(
            "step",
            Kind::Object,
            "{step_num, type: read|analyze|generate|write, description, outcome?, subdomain?, \
             entities_involved?: [ref], note?: for the next step, status?: done|blocked|failed}",
        )
        .required(),
    ],
    data: &["seq"],
    call: Call::Write(step, Effect::Event),
};

fn step(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let step = given.object("step").unwrap_or_default();
    Data::of(&cairn.turn_step(&session(&mut given), Value::Object(step))?)
}
