//! `turn_begin`: the user said something.

use cairn::Cairn;

use super::{KEY, SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static BEGIN: Tool = Tool {
    name: "turn_begin",
    title: "Begin a turn",
    description: "Begin a turn with what the user said, before anything else. A turn left open is closed first. \
                  pending_before: what the user had been asked.",
    args: &[SESSION, Arg::new("message", Kind::Text, "").required(), KEY],
    data: &["turn", "seq", "pending_before"],
    call: Call::Write(begin, Effect::Event),
};

fn begin(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let message = given.text("message").unwrap_or_default();
    Data::of(&cairn.turn_begin(&session(&mut given), &message, given.text("idempotency_key"))?)
}
