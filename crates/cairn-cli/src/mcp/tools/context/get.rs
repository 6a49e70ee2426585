//! `context_get`: one snapshot by its number.

use cairn::{Cairn, Error};

use super::CONTEXT;
use crate::data_plans::ContextData;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static GET: Tool = Tool {
    name: "context_get",
    title: "Get a snapshot",
    description: "Read one snapshot whole: the roadmap as it was then, its hash, its warnings. Use it to see the plan \
                  that a thought with this context_id was based on.",
    args: &[CONTEXT],
    data: &["context"],
    call: Call::Read(get),
};

fn get(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let id = sound(given)?.integer("context_id").unwrap_or_default();
    match cairn.context(id)? {
        Some(context) => Data::of(&ContextData { context }),
        None => Err(Error::NotFound { what: "context", id: id.to_string() }.into()),
    }
}
