//! `cairn brief`: what a node is told, at any turn.

mod build;
mod diff;
mod list;
mod show;
mod verify;

use cairn::{Cairn, StoredBriefView};
use clap::Subcommand;
use serde::Deserialize;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::visible;

/// Build, list, read, compare and verify briefs
///
/// A brief is what one node of a pipeline is told of a session in a turn. It is built from the events alone, so that
/// the same events always give the same text. A stored one has an id, which a decision can name.
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Build(Box<build::Args>),
    List(list::Args),
    Show(show::Args),
    Diff(diff::Args),
    Verify(verify::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::Build(args) => build::run(*args, app),
        Command::List(args) => list::run(&args, app),
        Command::Show(args) => show::run(&args, app),
        Command::Diff(args) => diff::run(&args, app),
        Command::Verify(args) => verify::run(&args, app),
    }
}

/// The parts of a stored brief that pages show.
#[derive(Deserialize)]
pub(super) struct Told {
    pub(super) node: String,
    pub(super) turn: u64,
    pub(super) seq: u64,
    pub(super) layout: String,
    pub(super) budget: Option<u64>,
    pub(super) counter: String,
    pub(super) report: Report,
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct Report {
    pub(super) tokens: u64,
    pub(super) included: u64,
    omitted: Vec<Omitted>,
}

#[derive(Deserialize)]
struct Omitted {
    section: String,
}

impl Told {
    pub(super) fn of(stored: &StoredBriefView) -> Result<Told, CliError> {
        serde_json::from_value(stored.brief.clone())
            .map_err(|error| CliError::failed(format!("brief `{}` cannot be read: {error}", stored.brief_id)))
    }

    /// `think, turn 3 of dinner`
    pub(super) fn place(&self, stored: &StoredBriefView) -> String {
        format!("{}, turn {} of {}", visible(&self.node), self.turn, visible(stored.session_id.as_str()))
    }
}

impl Report {
    /// `2 left out (entities 1, reasoning 1)`; none if nothing was.
    fn left_out(&self) -> Option<String> {
        left_out(self.omitted.iter().map(|omitted| omitted.section.as_str()))
    }
}

/// What a budget left out, by section.
fn left_out<'a>(sections: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for section in sections {
        match counts.iter_mut().find(|(known, _)| *known == section) {
            Some((_, count)) => *count += 1,
            None => counts.push((section, 1)),
        }
    }
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let parts: Vec<String> = counts.iter().map(|(section, count)| format!("{section} {count}")).collect();
    (total > 0).then(|| format!("{total} left out for the budget ({})", parts.join(", ")))
}

/// The stored brief with this id.
pub(super) fn find(cairn: &Cairn, id: &str) -> Result<StoredBriefView, CliError> {
    let not_found = || cairn::Error::NotFound { what: "brief", id: id.to_string() };
    Ok(cairn.brief(id)?.ok_or_else(not_found)?)
}
