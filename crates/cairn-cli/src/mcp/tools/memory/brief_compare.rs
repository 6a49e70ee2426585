//! `brief_compare`: what one brief says and the other does not.

use cairn::Cairn;

use super::BRIEF;
use crate::mcp::args::{Arg, Given};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static COMPARE: Tool = Tool {
    name: "brief_compare",
    title: "Compare two briefs",
    description: "Say what only one of two stored briefs has, to see why two nodes or turns came to other conclusions.",
    args: &[Arg { older: &["brief_id1", "briefId1"], ..BRIEF }, Arg { name: "brief_id2", ..BRIEF }],
    data: &["brief_id1", "brief_id2", "hash1", "hash2", "identical", "sections"],
    call: Call::Read(compare),
};

fn compare(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let first = given.text("brief_id").unwrap_or_default();
    Data::of(&cairn.brief_compare(&first, &given.text("brief_id2").unwrap_or_default())?)
}
