//! `thought_reasoning_trail`: why an action was taken.

use cairn::Cairn;

use super::{Call, Tool, sound};
use crate::data::Trails;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static REASONING_TRAIL: Tool = Tool {
    name: "thought_reasoning_trail",
    title: "Why was this done?",
    description: "For each thought recorded with this action_id, show the path from the root of its session to it.",
    args: &[Arg::new("action_id", Kind::Label, "").required()],
    data: &["action_id", "has_reasoning", "trail_count", "trails", "damaged"],
    call: Call::Read(reasoning_trail),
};

fn reasoning_trail(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let action = sound(given)?.text("action_id").unwrap_or_default();
    let trails = cairn.reasoning_trail(&action)?;
    Data::of(&Trails::new(action, trails))
}
