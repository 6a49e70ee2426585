//! `roadmap_validate`: what is wrong with a plan.

use cairn::Cairn;

use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static VALIDATE: Tool = Tool {
    name: "roadmap_validate",
    title: "Validate a roadmap",
    description: "Check a roadmap's file for cycles, dangling references, duplicate ids and fields that cannot be \
                  read; each issue with file, line and field. Use it after editing one.",
    args: &[ROADMAP],
    data: &["valid", "issues"],
    call: Call::Read(validate),
};

fn validate(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.text("roadmap_id").unwrap_or_default();
    Data::of(&cairn.roadmaps().validate(&id)?)
}
