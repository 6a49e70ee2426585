//! `thought_get`: one record by its id.

use cairn::{Cairn, Error};

use super::{Call, RECORD, Tool, sound};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static GET: Tool = Tool {
    name: "thought_get",
    title: "Get a thought",
    description: "Read one record whole: content, links, metadata, hashes.",
    args: &[Arg::new("id", Kind::Label, "id of the thought")
        .older(&["record_id", "recordId", "thought_id", "thoughtId"])
        .required()],
    data: RECORD,
    call: Call::Read(get),
};

fn get(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.text("id").unwrap_or_default();
    match cairn.get(&id)? {
        Some(thought) => Data::of(&thought),
        None => Err(Error::NotFound { what: "thought", id }.into()),
    }
}
