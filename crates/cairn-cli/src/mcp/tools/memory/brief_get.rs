//! `brief_get`: a stored brief by its id.

use cairn::{Cairn, Error};

use super::BRIEF;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static GET: Tool = Tool {
    name: "brief_get",
    title: "Get a brief",
    description: "Read a stored brief, to see what was known when a thought with this brief_id was recorded.",
    args: &[BRIEF],
    data: &["brief_id", "session_id", "created_at", "hash", "brief"],
    call: Call::Read(get),
};

fn get(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.text("brief_id").unwrap_or_default();
    match cairn.brief(&id)? {
        Some(brief) => Data::of(&brief),
        None => Err(Error::NotFound { what: "brief", id }.into()),
    }
}
