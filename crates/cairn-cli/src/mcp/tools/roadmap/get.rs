//! `roadmap_get`: one plan as its file has it now.

use cairn::Cairn;

use crate::data_plans::RoadmapData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static GET: Tool = Tool {
    name: "roadmap_get",
    title: "Read a roadmap",
    description: "Read a roadmap as its file has it now: nodes with their dependencies and dependents, connections, \
                  phases. To decide on it, use context_ensure.",
    args: &[ROADMAP],
    data: &["id", "title", "description", "nodes", "connections", "phases"],
    call: Call::Read(get),
};

fn get(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.text("roadmap_id").unwrap_or_default();
    let roadmap = cairn.roadmaps().get(&id)?;
    Data::of(&RoadmapData::new(id, roadmap))
}
