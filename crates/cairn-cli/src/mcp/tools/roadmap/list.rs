//! `roadmap_list`: the plans there are.

use cairn::Cairn;

use crate::data_plans::RoadmapList;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static LIST: Tool = Tool {
    name: "roadmap_list",
    title: "List roadmaps",
    description: "List the roadmaps (plans) on disk with their ids, titles and sizes. Use it to find a roadmap_id.",
    args: &[],
    data: &["count", "roadmaps"],
    call: Call::Read(list),
};

fn list(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    sound(given)?;
    Data::of(&RoadmapList::from(cairn.roadmaps().list()?))
}
