//! `session_state`: what a session knows, now or in a past turn.

use cairn::{Cairn, StatePart};

use super::{SESSION, TURN, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

/// A long session has more turns than anyone wants to read at once: the others are asked for by `turn`.
const TURNS: u64 = 20;

pub static STATE: Tool = Tool {
    name: "session_state",
    title: "Show a session's state",
    description: "Show what a session knows, now or in a past turn, as data. To brief a model, use brief_build.",
    args: &[
        SESSION,
        TURN,
        Arg::new("part", Kind::Word(&["entities", "conversation", "reasoning"]), "only this"),
        Arg::new("turns", Kind::Integer(1, u64::MAX), "newest; default 20"),
    ],
    data: &[
        "session_id",
        "turn",
        "seq",
        "open",
        "types",
        "settings",
        "entities",
        "conversation",
        "reasoning",
    ],
    call: Call::Read(state),
};

fn state(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let part = match given.text("part").as_deref() {
        Some("entities") => Some(StatePart::Entities),
        Some("conversation") => Some(StatePart::Conversation),
        Some("reasoning") => Some(StatePart::Reasoning),
        _ => None,
    };
    let (turn, turns) = (given.integer("turn"), given.integer("turns").unwrap_or(TURNS));
    Data::of(&cairn.session_state_newest(&session(&mut given), turn, part, turns)?)
}
