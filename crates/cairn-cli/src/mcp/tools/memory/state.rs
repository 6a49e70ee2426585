//! `session_state`: what a session knows, now or in a past turn.

use cairn::{Cairn, StatePart};

use super::{SESSION, TURN, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static STATE: Tool = Tool {
    name: "session_state",
    title: "Show a session's state",
    description: "Show what a session knows, now or in a past turn, as data. To brief a model, use brief_build.",
    args: &[
        SESSION,
        TURN,
        Arg::new("part", Kind::Word(&["entities", "conversation", "reasoning"]), "only this; default: all"),
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
    Data::of(&cairn.session_state(&session(&mut given), given.integer("turn"), part)?)
}
