//! `cairn session`: what agents keep in mind.

mod events;
mod list;
mod show;
mod state;

use cairn::{Cairn, Error};
use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::visible;

/// Look into the working memory of sessions
///
/// A session is a list of events, and its state in any turn is what they add up to. Agents write it through MCP; here
/// it is read.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
    Events(events::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::List(args) => list::run(&args, app),
        Command::Show(args) => show::run(&args, app),
        Command::Events(args) => events::run(&args, app),
    }
}

/// Says why the memory of a session cannot be read. One that was only ever thought in is there, and has none.
pub(super) fn unreadable(cairn: &Cairn, session: &str, error: Error) -> CliError {
    let is_missing = matches!(error, Error::NotFound { what: "session", .. });
    if is_missing && cairn.tree(session, false).is_ok_and(|thoughts| !thoughts.is_empty()) {
        return CliError::not_found(format!("session `{session}` has thoughts, but no working memory")).hint(
            format!(
                "`cairn tree {}` shows them; an agent opens a memory with `session_open`",
                visible(session)
            ),
        );
    }
    error.into()
}
