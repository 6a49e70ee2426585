//! `cairn witness`: places outside that keep heads of the log.

mod add;
mod check;
mod list;
mod publish;
mod remove;

use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;

/// Keep heads of the log in places outside, and compare with them
///
/// Inside a database nothing tells that its newest part was cut off, or that an old copy was put back. A witness is a
/// place that whoever can rewrite the database cannot rewrite: another disk, a git repository that others have clones
/// of, somebody else's server. `cairn verify` compares the log with all of them. One that cannot be reached never
/// holds up a record.
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
    Check(check::Args),
    Publish(publish::Args),
    Remove(remove::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::Add(args) => add::run(args, app),
        Command::List(args) => list::run(&args, app),
        Command::Check(args) => check::run(&args, app),
        Command::Publish(args) => publish::run(&args, app),
        Command::Remove(args) => remove::run(&args, app),
    }
}
