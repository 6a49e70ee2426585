//! `cairn roadmap graph`: a plan as a picture.

use std::path::PathBuf;

use cairn::core::roadmap::Snapshot;
use clap::ValueEnum;
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::graph::{Graph, MOST_EDGES, mermaid, svg};
use crate::term::{count, visible};

/// Draw a roadmap as a graph
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Draw this roadmap
    id: String,
    /// Write it in this form
    #[arg(long, value_name = "mermaid|svg", default_value = "mermaid", hide_possible_values = true)]
    format: Format,
    /// Write it to this file [default: stdout]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// In which form a graph is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text that GitHub and many editors draw
    Mermaid,
    /// A picture that every browser shows
    Svg,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let plan = Snapshot::of(app.roadmaps()?.get(&args.id)?);
    write(&Graph::of(&plan), args.format, args.output.as_ref(), app)
}

/// Writes a graph to a file or to stdout.
pub(crate) fn write(
    graph: &Graph<'_>,
    format: Format,
    file: Option<&PathBuf>,
    app: &App,
) -> Result<Outcome, CliError> {
    let (drawn, name) = match format {
        Format::Mermaid => (mermaid(graph), "mermaid"),
        Format::Svg => (svg(graph), "svg"),
    };
    if format == Format::Mermaid && graph.edges.len() > MOST_EDGES {
        let edges = count(graph.edges.len() as u64, "connection");
        app.ui.remark(&format!(
            "This has {edges}, and Mermaid draws {MOST_EDGES} unless it is set up for more; `svg` has no limit"
        ));
    }
    match file {
        Some(file) => {
            let shown = file.display().to_string();
            std::fs::write(file, &drawn)
                .map_err(|error| CliError::io(format!("cannot write `{shown}`"), &error))?;
            if app.ui.json {
                app.ui.print_json(&json!({"format": name, "file": shown, "bytes": drawn.len()}))?;
            } else {
                app.ui.remark(&format!(
                    "Wrote {}: {}",
                    visible(&shown),
                    count(graph.nodes.len() as u64, "node")
                ));
            }
        }
        None if app.ui.json => app.ui.print_json(&json!({"format": name, "graph": drawn}))?,
        None => app.ui.print(&drawn)?,
    }
    Ok(Outcome::Fine)
}
