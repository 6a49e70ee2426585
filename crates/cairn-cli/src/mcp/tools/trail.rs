//! `thought_trail`: how a thought came about.

use cairn::Cairn;

use super::{Call, Tool, sound};
use crate::data::Path;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static TRAIL: Tool = Tool {
    name: "thought_trail",
    title: "Trace a thought",
    description: "Show the path from the root of the session to one thought, with previews of 150 characters.",
    args: &[
        Arg::new("record_id", Kind::Label, "id of the thought")
            .older(&["id", "thought_id", "thoughtId"])
            .required(),
        Arg::new("session_id", Kind::Label, "if given, the thought must be of this session"),
    ],
    data: &["path", "damaged"],
    call: Call::Read(trail),
};

fn trail(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let id = given.text("record_id").unwrap_or_default();
    let path = cairn.trail(&id, given.text("session_id").as_deref())?;
    Data::of(&Path::from(path))
}
