//! `cairn mcp`: the server that agents talk to.

use super::Outcome;
use crate::args::{App, ReadDb};
use crate::error::CliError;
use crate::witness::Publisher;

/// Serve agents over MCP on stdin and stdout
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Offer only these sets of tools, separated by commas: trail, snapshot, memory, proof, redact, or all (but redact)
    #[arg(long, value_name = "SETS", default_value = "all")]
    tools: String,
    #[command(flatten)]
    read: ReadDb,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let tools = args.tools.parse().map_err(|error| CliError::usage(format!("--tools: {error}")))?;
    let cairn = app.serve(&args.read)?;
    let publisher = Publisher::start(cairn.clone());
    let served = crate::mcp::run(cairn, tools).map_err(|error| CliError::failed(format!("{error:#}")));
    publisher.stop();
    served.map(|()| Outcome::Fine)
}
