//! `context_ensure`: the snapshot of a roadmap as it is now.

use cairn::Cairn;

use super::METADATA;
use crate::data_plans::CapturedData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, ROADMAP, Tool, sound};

pub static ENSURE: Tool = Tool {
    name: "context_ensure",
    title: "Snapshot the current plan",
    description: "Return the newest snapshot of a roadmap, or make a new one if the roadmap has changed since. Call \
                  it before deciding, and pass context.context_id to thought_decision as context_id.",
    args: &[ROADMAP, METADATA],
    data: &["context", "is_existing", "summary", "warnings"],
    call: Call::Write(ensure, Effect::AddOnce),
};

fn ensure(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let roadmap = given.text("roadmap_id").unwrap_or_default();
    let captured = cairn.context_ensure(&roadmap, given.object("metadata"))?;
    Data::of(&CapturedData::ensured(captured))
}
