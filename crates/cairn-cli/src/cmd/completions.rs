//! `cairn completions`: what a shell needs to complete commands and flags.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::args::{self, App};
use crate::error::CliError;

/// Print the completion script for a shell
///
/// For example: `cairn completions bash > ~/.local/share/bash-completion/completions/cairn`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write for this shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::Cli::command(), "cairn", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    if app.ui.json {
        app.ui.print_json(&serde_json::json!({"shell": args.shell.to_string(), "script": script}))?;
    } else {
        app.ui.print(&script)?;
    }
    Ok(Outcome::Fine)
}
