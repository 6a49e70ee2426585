//! `cairn key …`: the key that signs a log.

mod change;
mod new;
mod show;

use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;

/// Show, make, replace and revoke the key that signs a log
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Show(show::Args),
    New(new::Args),
    Add(change::AddArgs),
    Retire(change::RetireArgs),
    Rotate(change::RotateArgs),
    Revoke(change::RevokeArgs),
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    match &args.command {
        Command::Show(args) => show::run(args, app),
        Command::New(args) => new::run(args, app),
        Command::Add(args) => change::add_key(args, app),
        Command::Retire(args) => change::retire_key(args, app),
        Command::Rotate(args) => change::rotate(args, app),
        Command::Revoke(args) => change::revoke(args, app),
    }
}
