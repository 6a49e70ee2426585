//! `cairn context diff`: what changed from one snapshot to another.

use std::path::PathBuf;

use super::{diff_page, find};
use crate::args::App;
use crate::cmd::Outcome;
use crate::cmd::roadmap::graph::{self, Format};
use crate::data_plans::ComparisonData;
use crate::error::CliError;
use crate::graph::Graph;

/// Show what changed from one snapshot to another of the same roadmap
///
/// Each change is shown once: what a node needs stands below the node, and neither at the other end nor among the
/// connections again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin with this snapshot
    #[arg(value_name = "OLD")]
    old: u64,
    /// Compare it with this one [default: the newest of the same roadmap]
    #[arg(value_name = "NEW")]
    new: Option<u64>,
    /// Show what only repeats another change as well
    #[arg(long)]
    all: bool,
    /// Draw the newer plan with its changes instead
    #[arg(long, value_name = "mermaid|svg", hide_possible_values = true)]
    graph: Option<Format>,
    /// Write the graph to this file [default: stdout]
    #[arg(long, short, value_name = "FILE", requires = "graph")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    let comparison = cairn.context_compare(args.old, args.new)?;
    if ui.json && args.graph.is_none() {
        ui.print_json(&ComparisonData::from(comparison))?;
        return Ok(Outcome::Fine);
    }
    let old = find(&cairn, comparison.context_id1)?;
    let new = find(&cairn, comparison.context_id2)?;
    // The comparison has refused a content that was redacted.
    if let (Some(format), Some(old), Some(new)) = (args.graph, &old.snapshot, &new.snapshot) {
        let graph = Graph::compared(&old.content, &new.content);
        return graph::write(&graph, format, args.output.as_ref(), app);
    }
    let shown = diff_page::page(&comparison, &old.head, &new.head, args.all, ui);
    ui.print(&shown.page)?;
    if let Some(remark) = shown.remark {
        ui.remark(&ui.remarks.faint(&remark));
    }
    if args.new.is_none() && comparison.context_id1 == comparison.context_id2 {
        ui.remark("It is the newest one; name another to compare it with");
    }
    Ok(Outcome::Fine)
}
