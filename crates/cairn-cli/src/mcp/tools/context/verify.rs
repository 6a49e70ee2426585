//! `context_verify`: recompute the hash of a snapshot.

use cairn::Cairn;

use super::CONTEXT;
use crate::data_plans::VerdictData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static VERIFY: Tool = Tool {
    name: "context_verify",
    title: "Verify a snapshot",
    description: "Recompute the hash of a stored snapshot and say whether anyone changed it. Use it before relying on \
                  an old snapshot.",
    args: &[CONTEXT],
    data: &["valid", "context_id", "stored_hash", "recalculated_hash", "created_at", "message"],
    call: Call::Read(verify),
};

fn verify(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.integer("context_id").unwrap_or_default();
    Data::of(&VerdictData::from(cairn.context_verify(id)?))
}
