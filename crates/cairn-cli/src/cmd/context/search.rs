//! `cairn context search`: nodes of the current plans by the words in them.

use cairn::{NodeHit, NodeQuery};

use crate::args::App;
use crate::cmd::Outcome;
use crate::cmd::search::{passage, plain};
use crate::data_plans::NodesFound;
use crate::error::CliError;
use crate::term::{Ui, first_line, visible};

/// Search the nodes of the newest snapshots, best match first
///
/// All words must occur. `"a phrase"` in double quotes, `prefix*`, `-not` and `OR` work as one would think; put
/// `--` before a query that begins with a dash.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look for these words
    #[arg(required = true)]
    query: Vec<String>,
    /// Only in this roadmap
    #[arg(long, value_name = "ID")]
    roadmap: Option<String>,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let query = NodeQuery { query: args.query.join(" "), roadmap_id: args.roadmap, limit: Some(args.limit) };
    let found = app.read()?.context_search(&query)?;
    if ui.json {
        ui.print_json(&NodesFound::from(found))?;
        return Ok(Outcome::Fine);
    }
    if found.is_empty() {
        ui.remark("Nothing matches.");
    }
    let blocks: Vec<String> = found.iter().map(|hit| block(hit, ui)).collect();
    ui.print(&blocks.join("\n"))?;
    Ok(Outcome::Fine)
}

fn block(hit: &NodeHit, ui: &Ui) -> String {
    let phase = hit.node.phase.as_deref().map(|phase| format!("  {}", first_line(phase))).unwrap_or_default();
    let place = format!("{}  context {}{phase}", visible(hit.roadmap_id.as_str()), hit.context_id);
    let label = first_line(&hit.node.label);
    // A passage that shows the label need not have it above.
    let known = first_line(&plain(&hit.snippet)).contains(&label);
    let label = if known { String::new() } else { format!("  {label}") };
    let id = ui.palette.strong(&first_line(&hit.node.id));
    let mut text = format!("{id}{label}  {}\n", ui.palette.faint(&place));
    for line in passage(&hit.snippet, ui.width - 2, ui.palette) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}
