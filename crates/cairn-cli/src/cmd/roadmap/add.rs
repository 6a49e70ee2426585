//! `cairn roadmap add`: take a file over into the folder of roadmaps.

use std::path::PathBuf;

use cairn::core::id::RoadmapId;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{count, visible};

/// Copy a file into the folder of roadmaps, if it is sound
///
/// It is kept as it is, comments and all. A file with a flaw is refused, and every flaw is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Take over this file
    file: PathBuf,
    /// Call the roadmap so [default: the name of the file]
    #[arg(long)]
    id: Option<String>,
    /// Replace a roadmap of that name
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let named = args.id.clone().or_else(|| Some(args.file.file_stem()?.to_str()?.to_string()));
    let id = named.ok_or_else(|| {
        CliError::usage(format!("`{}` gives the roadmap no name", args.file.display()))
            .hint("name it with `--id`")
    })?;
    let added = app.roadmaps()?.add(&id, &args.file, args.overwrite).map_err(|error| {
        let failure = CliError::from(error);
        match RoadmapId::new(id.as_str()) {
            Err(_) if args.id.is_none() => failure.hint("name the roadmap with `--id`"),
            _ => failure,
        }
    })?;
    if app.ui.json {
        app.ui.print_json(&added)?;
        return Ok(Outcome::Fine);
    }
    let verb = if added.replaced { "Replaced" } else { "Added" };
    app.ui.print(&format!(
        "{verb} {} as {}: {}, {}\n",
        visible(added.id.as_str()),
        visible(&added.file),
        count(added.roadmap.nodes.len() as u64, "node"),
        count(added.roadmap.phases.len() as u64, "phase")
    ))?;
    Ok(Outcome::Fine)
}
