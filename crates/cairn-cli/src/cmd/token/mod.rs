//! `cairn token`: who may use the database over HTTP.

mod add;
mod list;
mod revoke;

use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;

/// Make, list and revoke tokens that let others in over HTTP
///
/// A token is for one person, program or agent, and for one purpose. The database keeps its hash alone. Tokens are
/// access, not evidence: they are not in the log, and `cairn verify` does not cover them.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Args),
    List(list::Args),
    Revoke(revoke::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::Add(args) => add::run(args, app),
        Command::List(args) => list::run(&args, app),
        Command::Revoke(args) => revoke::run(&args, app),
    }
}
