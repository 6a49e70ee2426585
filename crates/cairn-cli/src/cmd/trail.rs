//! `cairn trail`: the reasons for one thought, or for one action.

use super::{Outcome, listed};
use crate::args::App;
use crate::data::{Path, Trails};
use crate::error::CliError;
use crate::term::{trail_block, visible};

/// Show the path that led to a thought or an action
///
/// From the first thought of its session down to the one named, each with its text.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["id", "action"]).required(true))]
pub(crate) struct Args {
    /// Name the thought by its id or a unique beginning of it
    id: Option<String>,
    /// Show the path to each thought that led to this action
    #[arg(long)]
    action: Option<String>,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    if let Some(action) = &args.action {
        let trails = cairn.reasoning_trail(action)?;
        if ui.json {
            let damaged = trails.damaged.clone();
            ui.print_json(&Trails::new(action.clone(), trails))?;
            return listed(&damaged, ui);
        }
        if trails.is_empty() && trails.damaged.is_empty() {
            return Err(CliError::not_found(format!("no thought led to `{}`", visible(action)))
                .hint("an action is named with `--action` when its decision is recorded"));
        }
        let blocks: Vec<String> = trails.iter().map(|path| trail_block(path, ui.width, ui.palette)).collect();
        ui.print(&blocks.join("\n"))?;
        return listed(&trails.damaged, ui);
    } else if let Some(prefix) = &args.id {
        let path = cairn.trail(cairn.resolve(prefix)?.as_str(), None)?;
        let damaged = path.damaged.clone();
        if ui.json {
            ui.print_json(&Path::from(path))?;
        } else {
            ui.print(&trail_block(&path, ui.width, ui.palette))?;
        }
        return listed(&damaged, ui);
    }
    Ok(Outcome::Fine)
}
