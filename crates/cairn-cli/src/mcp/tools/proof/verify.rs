//! `log_verify`: recompute everything, and hold it against every checkpoint and remembered head.

use cairn::{Report, Scope};

use crate::data::LogVerdict;
use crate::mcp::args::Given;
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

pub static VERIFY: Tool = Tool {
    name: "log_verify",
    title: "Verify the log",
    description: "Recompute the whole log from what is stored and hold it against every checkpoint, signature and \
                  remembered head. coverage: how far signatures and outside heads reach; notes: what was not verified.",
    args: &[],
    data: &["valid", "message", "log_size", "root", "coverage", "findings_total", "findings", "notes"],
    call: Call::Verify(scope, answer),
};

fn scope(given: Given) -> Result<Scope, Failure> {
    sound(given).map(|_| Scope::All)
}

fn answer(report: &Report) -> Result<Data, Failure> {
    Data::of(&LogVerdict::of(report))
}
