//! `cairn tree`: how the thoughts of a session follow from each other.

use super::{Outcome, listed};
use crate::args::App;
use crate::data::Tree;
use crate::error::CliError;
use crate::term::{count, draw_tree, visible};

/// Draw the thoughts of a session as a tree
///
/// A thought that stands directly below another follows from it; where several follow from one, they are
/// drawn as branches. `→` names the action that a thought led to.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Draw this session
    session: String,
    /// Show the whole text of each thought
    #[arg(long)]
    full: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let thoughts = app.read()?.tree(&args.session, args.full)?;
    if thoughts.is_empty() && thoughts.damaged.is_empty() {
        return Err(CliError::not_found(format!("no session `{}`", args.session))
            .hint("`cairn list` shows the sessions there are"));
    }
    if ui.json {
        let damaged = thoughts.damaged.clone();
        ui.print_json(&Tree::nested(args.session.clone(), thoughts))?;
        return listed(&damaged, ui);
    }
    let session = ui.palette.strong(&visible(&args.session));
    let total = count(thoughts.len() as u64, "thought");
    let tree = draw_tree(&thoughts, args.full, ui.width, ui.palette);
    ui.print(&format!("{session}  {}\n{tree}", ui.palette.faint(&total)))?;
    listed(&thoughts.damaged, ui)
}
