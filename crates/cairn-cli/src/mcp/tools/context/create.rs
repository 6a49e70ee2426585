//! `context_create`: freeze a roadmap.

use cairn::Cairn;

use super::METADATA;
use crate::data_plans::CapturedData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, ROADMAP, Tool, sound};

pub static CREATE: Tool = Tool {
    name: "context_create",
    title: "Freeze a roadmap",
    description: "Make a new snapshot of a roadmap even if nothing has changed, to mark a moment such as a release. \
                  Before deciding, use context_ensure instead.",
    args: &[ROADMAP, METADATA],
    data: &["context", "summary", "warnings"],
    call: Call::Write(create, Effect::Add),
};

fn create(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let roadmap = given.text("roadmap_id").unwrap_or_default();
    let captured = cairn.context_create(&roadmap, given.object("metadata"))?;
    Data::of(&CapturedData::created(captured))
}
