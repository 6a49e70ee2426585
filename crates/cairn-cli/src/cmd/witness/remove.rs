//! `cairn witness remove`: one place less.

use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::visible;
use crate::witness::{Config, Files};

/// Stop giving heads to a witness
///
/// What it has stays with it, and what it has signed stays in the state folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name, as `cairn witness list` shows it
    name: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let origin = app.read()?.status()?.origin;
    let state = StateFolder::require()?;
    let mut config = Config::load(&state, &origin).map_err(CliError::failed)?;
    let Some(at) = config.witnesses.iter().position(|witness| witness.name == args.name) else {
        return Err(CliError::not_found(format!("no witness `{}`", args.name))
            .hint("`cairn witness list` shows what there is"));
    };
    let removed = config.witnesses.remove(at);
    config.save(&state).map_err(CliError::failed)?;
    // Another witness of this name starts with a clean slate.
    let _ = std::fs::remove_file(Files::new(&state, &origin).status(&removed.name));
    if app.ui.json {
        app.ui.print_json(&json!({"removed": removed}))?;
    } else {
        app.ui.print(&format!("Removed {}\n", visible(&removed.title())))?;
    }
    Ok(Outcome::Fine)
}
