//! `cairn context history`: the snapshots of a plan.

use cairn::ContextHead;

use crate::args::App;
use crate::cmd::{Outcome, listed};
use crate::data_plans::{HistoryData, short_hash};
use crate::error::CliError;
use crate::term::{Table, Ui, minute, visible};

/// List the snapshots of a roadmap, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this roadmap
    roadmap: String,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let contexts = app.read()?.context_history(&args.roadmap, Some(args.limit))?;
    if ui.json {
        let damaged = contexts.damaged.clone();
        ui.print_json(&HistoryData::new(&args.roadmap, contexts))?;
        return listed(&damaged, ui);
    }
    if contexts.is_empty() && contexts.damaged.is_empty() {
        let roadmap = visible(&args.roadmap);
        ui.remark(&format!("No snapshot of {roadmap} yet; `cairn context create {roadmap}` makes one"));
        return Ok(Outcome::Fine);
    }
    ui.print(&table(&contexts, ui))?;
    listed(&contexts.damaged, ui)
}

fn table(contexts: &[ContextHead], ui: &Ui) -> String {
    let mut table = Table::new(
        ["context", "time (UTC)", "nodes", "hash", "metadata"],
        [usize::MAX, 16, 7, 17, usize::MAX],
        &[2, 3],
    );
    for context in contexts {
        let metadata = context.metadata.as_ref().map(serde_json::to_string);
        let metadata = match &context.redacted {
            Some(redaction) => format!("redacted by {}", redaction.by),
            None => metadata.and_then(Result::ok).unwrap_or_default(),
        };
        table.row([
            context.context_id.to_string(),
            minute(&context.created_at),
            context.node_count.to_string(),
            short_hash(&context.content_hash),
            visible(&metadata).into_owned(),
        ]);
    }
    table.render(ui.width, ui.palette, |_, column, cell| match column {
        0 => ui.palette.strong(cell),
        3 => ui.palette.faint(cell),
        _ => cell.to_string(),
    })
}
