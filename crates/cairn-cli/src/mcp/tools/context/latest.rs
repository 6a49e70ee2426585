//! `context_latest`: the newest snapshot of a roadmap.

use cairn::Cairn;

use crate::data_plans::LatestData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static LATEST: Tool = Tool {
    name: "context_latest",
    title: "Get the newest snapshot",
    description: "Read the newest snapshot of a roadmap whole, or null with a message if there is none. The file may \
                  have changed since: context_ensure looks.",
    args: &[ROADMAP],
    data: &["context", "message"],
    call: Call::Read(latest),
};

fn latest(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let roadmap = sound(given)?.text("roadmap_id").unwrap_or_default();
    let context = cairn.context_latest(&roadmap)?;
    Data::of(&LatestData::new(&roadmap, context))
}
