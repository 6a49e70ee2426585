//! `context_compare`: what changed between two snapshots.

use cairn::Cairn;

use super::SNAPSHOT_ID;
use crate::data_plans::ComparisonData;
use crate::mcp::args::{Arg, Given};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static COMPARE: Tool = Tool {
    name: "context_compare",
    title: "Compare two snapshots",
    description: "Say what changed between two snapshots of one roadmap: nodes, connections, phases, each changed \
                  field with its old and new value. Use it to see what an older decision did not know.",
    args: &[
        Arg::new("context_id1", SNAPSHOT_ID, "the older").required(),
        Arg::new("context_id2", SNAPSHOT_ID, "the newer; default: the newest of the same roadmap"),
    ],
    data: &["total_changes", "identical", "counts", "differences"],
    call: Call::Read(compare),
};

fn compare(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let older = given.integer("context_id1").unwrap_or_default();
    let comparison = cairn.context_compare(older, given.integer("context_id2"))?;
    Data::of(&ComparisonData::from(comparison))
}
