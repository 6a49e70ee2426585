//! `brief_verify`: build a stored brief again and compare.

use cairn::Cairn;

use super::BRIEF;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static VERIFY: Tool = Tool {
    name: "brief_verify",
    title: "Verify a brief",
    description: "Build a stored brief again from the events and compare, to be certain that this was known.",
    args: &[BRIEF],
    data: &["valid", "brief_id", "stored_hash", "rebuilt_hash", "message"],
    call: Call::Read(verify),
};

fn verify(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.text("brief_id").unwrap_or_default();
    Data::of(&cairn.brief_verify(&id)?)
}
