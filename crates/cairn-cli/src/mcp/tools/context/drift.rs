//! `context_drift`: decisions that rest on an older plan.

use cairn::Cairn;

use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static DRIFT: Tool = Tool {
    name: "context_drift",
    title: "Find outdated decisions",
    description: "List the decisions whose context_id is no longer the current plan, newest first, with the nodes \
                  they name that changed. Use it when a plan has changed, or when you take up older work.",
    args: &[
        Arg { required: false, about: "only this roadmap", ..ROADMAP },
        Arg::new("limit", Kind::Integer(1, 1000), "default 100"),
    ],
    data: &["plans", "decisions", "drifted", "results", "damaged"],
    call: Call::Read(drift),
};

fn drift(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let roadmap = given.text("roadmap_id");
    Data::of(&cairn.drift(roadmap.as_deref(), given.integer("limit"))?)
}
