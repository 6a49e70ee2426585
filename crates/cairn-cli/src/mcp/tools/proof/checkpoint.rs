//! `log_checkpoint`: state the log as it is.

use cairn::Cairn;

use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static CHECKPOINT: Tool = Tool {
    name: "log_checkpoint",
    title: "State the log",
    description: "State the log as it is now: size, root hash and signature, as a note to be kept elsewhere. They are \
                  also made by themselves.",
    args: &[],
    data: &["origin", "size", "root", "signed_by", "note"],
    call: Call::Write(checkpoint, Effect::AddOnce),
};

fn checkpoint(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    sound(given)?;
    Data::of(&cairn.checkpoint()?)
}
