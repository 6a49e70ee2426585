//! `cairn context show` and `latest`: one snapshot, whole.

use std::fmt::Write;

use cairn::Context;
use cairn::core::roadmap::Node;

use super::find;
use crate::args::App;
use crate::cmd::{Outcome, plan_page};
use crate::data_plans::{ContextData, LatestData};
use crate::error::CliError;
use crate::term::{Ui, count, first_line, visible, wrap};

/// Show one snapshot with its plan and its hash
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name it by its number
    #[arg(value_name = "NUMBER")]
    id: u64,
}

/// Show the newest snapshot of a roadmap
#[derive(Debug, clap::Args)]
pub(crate) struct LatestArgs {
    /// Look at this roadmap
    roadmap: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let context = find(&app.read()?, args.id)?;
    match app.ui.json {
        true => app.ui.print_json(&ContextData { context })?,
        false => app.ui.print(&page(&context, &app.ui))?,
    }
    Ok(Outcome::Fine)
}

pub(crate) fn latest(args: &LatestArgs, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let context = app.read()?.context_latest(&args.roadmap)?;
    match (ui.json, context) {
        (true, context) => ui.print_json(&LatestData::new(&args.roadmap, context))?,
        (false, Some(context)) => ui.print(&page(&context, ui))?,
        (false, None) => {
            let roadmap = visible(&args.roadmap);
            ui.remark(&format!("No snapshot of {roadmap} yet; `cairn context create {roadmap}` makes one"));
        }
    }
    Ok(Outcome::Fine)
}

fn page(context: &Context, ui: &Ui) -> String {
    let (palette, head) = (ui.palette, &context.head);
    let plan = context.snapshot.as_ref().map(|snapshot| &snapshot.content);
    let mut page = format!(
        "{} of {}\n",
        palette.strong(&format!("context {}", head.context_id)),
        palette.strong(&visible(head.roadmap_id.as_str()))
    );
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(page, "  {} {}", palette.faint(&format!("{name:<8}")), visible(value));
    };
    if let Some(plan) = plan {
        line("title", &first_line(&plan.title));
    }
    line("captured", head.created_at.as_str());
    let mut parts = count(head.node_count, "node");
    if let Some(plan) = plan {
        let (connections, phases) = (plan.connections.len() as u64, plan.phases.len() as u64);
        parts.push_str(&format!(", {}, {}", count(connections, "connection"), count(phases, "phase")));
    }
    line("plan", &parts);
    if let Some(redaction) = &head.redacted {
        line("redacted", &format!("by {} on {}: {}", redaction.by, redaction.at, redaction.reason));
    }
    line("hash", head.content_hash.hex().as_str());
    line("log", &format!("entry {}", head.seq));
    if let Some(metadata) = &head.metadata {
        let _ = writeln!(page, "\n{}", palette.faint("metadata"));
        indent(&mut page, &serde_json::to_string_pretty(metadata).expect("keys are texts"), ui);
    }
    if let Some(plan) = plan {
        let nodes: Vec<&Node> = plan.nodes.iter().collect();
        page.push_str(&plan_page::plan(&nodes, &plan.connections, &plan.phases, ui));
    }
    if !context.warnings.is_empty() {
        let _ = writeln!(page, "\n{}", palette.warning("what was wrong with it"));
        for flaw in &context.warnings {
            indent(&mut page, &format!("{}: {}", flaw.path(), flaw.message), ui);
        }
    }
    page
}

fn indent(page: &mut String, text: &str, ui: &Ui) {
    for line in wrap(visible(text).trim_end(), ui.width - 2) {
        page.push_str(format!("  {line}").trim_end());
        page.push('\n');
    }
}
