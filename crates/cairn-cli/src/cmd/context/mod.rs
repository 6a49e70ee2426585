//! `cairn context`: frozen snapshots of plans.

mod capture;
mod diff;
pub(super) mod diff_page;
mod history;
mod search;
mod show;
mod verify;

use cairn::{Cairn, Context};
use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;

/// Freeze plans, and compare what they were with what they are
///
/// A context is what a roadmap looked like at one moment: its content, its hash and a number. It never changes, and a
/// decision can name the one it was based on.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Freeze what a roadmap looks like now
    Create(capture::Args),
    /// Freeze what a roadmap looks like now, unless its newest snapshot says the same
    Ensure(capture::Args),
    Latest(show::LatestArgs),
    History(history::Args),
    Show(show::Args),
    Diff(diff::Args),
    Verify(verify::Args),
    Search(search::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::Create(args) => capture::create(&args, app),
        Command::Ensure(args) => capture::ensure(&args, app),
        Command::Latest(args) => show::latest(&args, app),
        Command::History(args) => history::run(&args, app),
        Command::Show(args) => show::run(&args, app),
        Command::Diff(args) => diff::run(&args, app),
        Command::Verify(args) => verify::run(&args, app),
        Command::Search(args) => search::run(args, app),
    }
}

/// The snapshot with this number.
fn find(cairn: &Cairn, context_id: u64) -> Result<Context, CliError> {
    match cairn.context(context_id)? {
        Some(context) => Ok(context),
        None => Err(CliError::not_found(format!("no context `{context_id}`"))
            .hint("`cairn context history ROADMAP` shows what there is")),
    }
}
