//! `context_history`: the snapshots of a roadmap.

use cairn::Cairn;

use crate::data_plans::HistoryData;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static HISTORY: Tool = Tool {
    name: "context_history",
    title: "List a roadmap's snapshots",
    description: "List the snapshots of a roadmap, newest first, with shortened hashes. Use it to find a context_id.",
    args: &[ROADMAP, Arg::new("limit", Kind::Integer(1, 100), "default 10")],
    data: &["roadmap_id", "count", "contexts", "damaged"],
    call: Call::Read(history),
};

fn history(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let roadmap = given.text("roadmap_id").unwrap_or_default();
    let contexts = cairn.context_history(&roadmap, given.integer("limit"))?;
    Data::of(&HistoryData::new(roadmap, contexts))
}
