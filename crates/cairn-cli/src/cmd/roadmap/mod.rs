//! `cairn roadmap`: the plans on disk. None of these commands needs a database.

mod add;
pub(super) mod graph;
mod list;
mod show;
mod validate;

use cairn::FileIssue;
use clap::Subcommand;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::visible;

/// Read and check the plans that decisions are based on
///
/// A roadmap is a file in the folder of roadmaps, which is `roadmaps` beside the database unless `--roadmaps` names
/// another. Its name is its id: `import.yaml` is the roadmap `import`.
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
    Add(add::Args),
    Validate(validate::Args),
    Graph(graph::Args),
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    match args.command {
        Command::List(args) => list::run(&args, app),
        Command::Show(args) => show::run(&args, app),
        Command::Add(args) => add::run(&args, app),
        Command::Validate(args) => validate::run(&args, app),
        Command::Graph(args) => graph::run(&args, app),
    }
}

/// `import.yaml:12 nodes[3].label: …`
fn issue(issue: &FileIssue) -> String {
    let line = issue.line.map(|line| format!(":{line}")).unwrap_or_default();
    let field = if issue.field.is_empty() { String::new() } else { format!(" {}", issue.field) };
    visible(&format!("{}{line}{field}: {}", issue.file, issue.message)).replace('\n', " ")
}
