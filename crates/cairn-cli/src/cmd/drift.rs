//! `cairn drift`: the decisions that rest on a plan which has changed since.

use cairn::{CurrentPlan, Drift, DriftedDecision, FileState, NodeChange};

use super::changes::{Changed, Sign, line, named};
use super::{Outcome, listed};
use crate::args::App;
use crate::error::CliError;
use crate::term::{ShortIds, Ui, count, cut, first_line, minute, said, visible, wrap};

/// Show the decisions that rest on a plan which has changed since
///
/// A decision that was recorded with `--context` rests on that snapshot. Below each one stand the nodes that it names
/// by their ids and that are no longer what they were.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only decisions on this roadmap
    #[arg(long, value_name = "ID")]
    roadmap: Option<String>,
    /// Show at most so many, the newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
    /// End with exit code 1 if there are any
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let drift = app.read()?.drift(args.roadmap.as_deref(), Some(args.limit))?;
    let printed = if ui.json { ui.print_json(&drift) } else { ui.print(&page(&drift, ui)) };
    match args.check && drift.drifted > 0 {
        // The exit code must tell, even to a caller that reads nothing else.
        true => Ok(Outcome::FoundSomething),
        false => printed.and_then(|()| listed(&drift.damaged, ui)),
    }
}

pub(super) fn page(drift: &Drift, ui: &Ui) -> String {
    let mut page = summary(drift, ui);
    let ids = ShortIds::new(drift.results.iter().map(|decision| decision.thought.id.as_str()));
    for decision in &drift.results {
        page.push('\n');
        block(&mut page, decision, &ids, ui);
    }
    let hidden = drift.drifted.saturating_sub(drift.results.len() as u64);
    if hidden > 0 {
        let more = count(hidden, "older one");
        page.push_str(&format!("\n… and {more}; `--limit N` shows more\n"));
    }
    let stale: Vec<String> = drift.plans.iter().filter_map(file).collect();
    if !stale.is_empty() {
        page.push('\n');
    }
    for sentence in stale {
        page.push_str(&format!("{}\n", ui.palette.warning(&sentence)));
    }
    page
}

fn summary(drift: &Drift, ui: &Ui) -> String {
    let plan =
        |plan: &CurrentPlan| format!("{} (context {})", visible(plan.roadmap_id.as_str()), plan.context_id);
    let plans = match &drift.plans[..] {
        plans if plans.len() <= 3 => plans.iter().map(plan).collect::<Vec<_>>().join(", "),
        plans => count(plans.len() as u64, "roadmap"),
    };
    let sentence = match (drift.plans.is_empty(), drift.decisions, drift.drifted) {
        (true, ..) => {
            "There is no snapshot of a plan yet, so no decision can rest on one: `cairn context create ROADMAP` makes one."
                .to_string()
        }
        (_, 0, _) => format!("No decision rests on a snapshot of {plans}: `--context` names one when it is recorded."),
        (_, all, 0) => {
            let verb = if all == 1 { "rests" } else { "rest" };
            format!("Nothing has drifted: {} {verb} on the current plan of {plans}.", count(all, "decision"))
        }
        (_, all, drifted) => {
            let verb = if drifted == 1 { "rests" } else { "rest" };
            ui.palette.strong(&format!("{drifted} of {} {verb} on a plan that has changed since", count(all, "decision")))
        }
    };
    format!("{sentence}\n")
}

fn block(page: &mut String, decision: &DriftedDecision, ids: &ShortIds<'_>, ui: &Ui) {
    let (palette, thought) = (ui.palette, &decision.thought);
    let about = format!(
        "{}  {}  {}",
        minute(&thought.timestamp),
        visible(decision.session_id.as_str()),
        visible(thought.agent_id.as_str())
    );
    page.push_str(&format!(
        "{}  {}  {}\n",
        palette.strong(&visible(ids.of(thought.id.as_str()))),
        palette.kind(thought.kind, thought.kind.as_str()),
        palette.faint(&about)
    ));
    page.push_str(&format!(
        "  {}\n",
        cut(&first_line(&said(&thought.content, thought.redacted.as_ref())), ui.width - 2)
    ));
    let rests = thought.context_id.map_or("another plan".to_string(), |id| format!("context {id}"));
    let since = match decision.total_changes {
        Some(changes) => format!(", {}", count(changes, "change")),
        None => "; one of the two was redacted".to_string(),
    };
    page.push_str(&palette.faint(&format!(
        "  rests on {rests} of {}; current is context {}{since}",
        visible(decision.roadmap_id.as_str()),
        decision.current_context_id
    )));
    page.push('\n');
    for node in &decision.nodes {
        match node.change {
            NodeChange::Removed => {
                line(page, Sign::Removed, &format!("{}  (gone)", named(&node.id, &node.label, 0)), 2, ui);
            }
            NodeChange::Modified => {
                let changed =
                    Changed { id: &node.id, label: &node.label, named_by: "label", fields: &node.fields };
                changed.draw(page, &[], &|id| id.to_string(), (2, 0), ui);
            }
        }
    }
    if decision.nodes_left_out > 0 {
        let more = format!(
            "  … and names {} that would not fit here\n",
            count(decision.nodes_left_out, "more node")
        );
        page.push_str(&palette.faint(&more));
    }
    let unchanged = match decision.unchanged_nodes.len() as u64 {
        0 if decision.nodes.is_empty() && decision.nodes_left_out == 0 => {
            "names no node of the plan".to_string()
        }
        0 => return,
        1 => format!("names 1 node that is as it was: {}", decision.unchanged_nodes.join(", ")),
        some => format!("names {some} nodes that are as they were: {}", decision.unchanged_nodes.join(", ")),
    };
    for line in wrap(&visible(&unchanged), ui.width - 2) {
        page.push_str(&format!("  {}\n", palette.faint(&line)));
    }
}

/// What is to be said about the file of a plan, if it no longer says what its newest snapshot says.
fn file(plan: &CurrentPlan) -> Option<String> {
    let (id, context) = (visible(plan.roadmap_id.as_str()), plan.context_id);
    match plan.file {
        FileState::Unchanged => None,
        FileState::Changed => Some(format!(
            "{id}: the file has changed since context {context}; run `cairn context ensure {id}`"
        )),
        FileState::Missing => Some(format!("{id}: the file is gone; context {context} is the last of it")),
        FileState::Unreadable => {
            Some(format!("{id}: the file cannot be read; `cairn roadmap validate {id}` says why"))
        }
    }
}
