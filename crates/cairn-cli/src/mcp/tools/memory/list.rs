//! `session_list`: the sessions there are.

use cairn::Cairn;
use serde_json::json;

use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static LIST: Tool = Tool {
    name: "session_list",
    title: "List sessions",
    description: "List sessions, newest first, with turns and sizes, to find earlier work.",
    args: &[Arg::new("limit", Kind::Integer(1, 1000), "default 50")],
    data: &["count", "sessions"],
    call: Call::Read(list),
};

fn list(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let sessions = cairn.session_list(sound(given)?.integer("limit"))?;
    Data::of(&json!({ "count": sessions.len(), "sessions": sessions }))
}
