//! `thought_for_action`: the thoughts that led to an action.

use cairn::Cairn;
use serde_json::json;

use super::{Call, Tool, sound};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static FOR_ACTION: Tool = Tool {
    name: "thought_for_action",
    title: "Thoughts behind an action",
    description: "List the thoughts recorded with this action_id, in any session, with previews of 200 characters.",
    args: &[Arg::new("action_id", Kind::Label, "").required()],
    data: &["action_id", "count", "thoughts", "damaged"],
    call: Call::Read(for_action),
};

fn for_action(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let action = sound(given)?.text("action_id").unwrap_or_default();
    let thoughts = cairn.for_action(&action)?;
    let mut data = json!({ "action_id": action, "count": thoughts.len(), "thoughts": thoughts.records });
    if !thoughts.damaged.is_empty() {
        data["damaged"] = json!(thoughts.damaged);
    }
    Data::of(&data)
}
