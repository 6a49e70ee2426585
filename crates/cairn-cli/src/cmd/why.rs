//! `cairn why`: everything that a thought rests on.

use cairn::{Cairn, Comparison, ContextHead, Damage, Error, Listing, StoredBriefView, Summary, Thought};
use serde::Serialize;

use super::brief::Told;
use super::context::diff_page;
use super::{Outcome, listed, record::find};
use crate::args::App;
use crate::data_plans::{ComparisonData, short_hash};
use crate::error::CliError;
use crate::term::{Ui, cut, minute, said, trail_block, visible, wrap};

/// Lines of a brief that are shown; `cairn brief show` prints them all.
const FIRST_LINES: usize = 8;

/// Show all that a decision rests on: its path, brief and plan
///
/// And what has changed since: whether its session went on, and how the plan differs from the newest snapshot.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name the thought by its id or a unique beginning of it
    id: String,
}

/// What a thought rests on, each where there is one.
struct Basis {
    thought: Thought,
    /// From the root to the thought before it.
    path: Vec<Summary>,
    /// Thoughts on the path that cannot be shown.
    damaged: Vec<Damage>,
    brief: Option<StoredBriefView>,
    /// The turn that the session of the brief is in now.
    current_turn: Option<u64>,
    plan: Option<ContextHead>,
    /// From that plan to the newest of its roadmap.
    change: Option<(Comparison, ContextHead)>,
}

#[derive(Serialize)]
struct Data {
    thought: Thought,
    path: Vec<Summary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
    brief: Option<StoredBriefView>,
    current_turn: Option<u64>,
    context: Option<ContextHead>,
    change: Option<ComparisonData>,
}

impl From<Basis> for Data {
    fn from(basis: Basis) -> Data {
        let Basis { thought, path, damaged, brief, current_turn, plan, change } = basis;
        let change = change.map(|(comparison, _)| ComparisonData::from(comparison));
        Data { thought, path, damaged, brief, current_turn, context: plan, change }
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    let basis = Basis::of(&cairn, find(&cairn, &args.id)?)?;
    let damaged = basis.damaged.clone();
    match ui.json {
        true => ui.print_json(&Data::from(basis))?,
        false => ui.print(&page(&basis, ui)?)?,
    }
    listed(&damaged, ui)
}

impl Basis {
    fn of(cairn: &Cairn, thought: Thought) -> Result<Basis, CliError> {
        let Listing { records: mut path, damaged } = cairn.trail(thought.id.as_str(), None)?;
        path.retain(|step| step.id != thought.id);
        let brief = thought.brief_id.as_ref().map(|id| cairn.brief(id.as_str())).transpose()?.flatten();
        let current_turn = match &brief {
            Some(brief) => {
                cairn.session_state_newest(brief.session_id.as_str(), None, None, 1)?["turn"].as_u64()
            }
            None => None,
        };
        let plan = thought.context_id.map(|id| cairn.context_head(id)).transpose()?.flatten();
        let mut change = None;
        if let Some(plan) = &plan {
            match cairn.context_compare(plan.context_id, None) {
                Ok(comparison) => {
                    let newest = cairn.context_head(comparison.context_id2)?;
                    change = newest.map(|newest| (comparison, newest));
                }
                // One of the two was redacted.
                Err(Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Basis { thought, path, damaged, brief, current_turn, plan, change })
    }
}

fn page(basis: &Basis, ui: &Ui) -> Result<String, CliError> {
    let mut page = String::new();
    decision(&mut page, &basis.thought, ui);
    heading(&mut page, "what led to it", ui);
    if basis.path.is_empty() {
        sentence(&mut page, "Nothing: it names no thought that it follows from.", ui);
    } else {
        let block = trail_block(&basis.path, ui.width - 2, ui.palette);
        block.lines().for_each(|line| page.push_str(&format!("  {line}\n")));
    }
    heading(&mut page, "the brief it was based on", ui);
    match &basis.brief {
        Some(brief) => told(&mut page, brief, ui)?,
        None => absent(&mut page, "brief", basis.thought.brief_id.as_ref().map(ToString::to_string), ui),
    }
    heading(&mut page, "the plan it was based on", ui);
    match &basis.plan {
        Some(plan) => {
            let (id, roadmap) = (plan.context_id, visible(plan.roadmap_id.as_str()));
            let about = format!("context {id} of {roadmap}, captured {}", minute(&plan.created_at));
            page.push_str(&format!("  {about}, hash {}\n", short_hash(&plan.content_hash)));
            match &plan.redacted {
                Some(redaction) => sentence(&mut page, &visible(&said("", Some(redaction))), ui),
                None => sentence(&mut page, &format!("`cairn context show {id}` shows it"), ui),
            }
        }
        None => absent(&mut page, "context", basis.thought.context_id.map(|id| id.to_string()), ui),
    }
    heading(&mut page, "what has changed since", ui);
    if let (Some(brief), Some(now)) = (&basis.brief, basis.current_turn) {
        let session = visible(brief.session_id.as_str()).into_owned();
        let turn = if brief.redacted.is_some() { None } else { Some(Told::of(brief)?.turn) };
        page.push_str(&match turn {
            None => format!("  Session {session} is in turn {now}.\n"),
            Some(turn) if turn < now => format!("  Session {session} has gone on to turn {now}.\n"),
            Some(turn) => format!("  Session {session} is still in turn {turn}.\n"),
        });
    }
    match (&basis.plan, &basis.change) {
        (Some(old), Some((comparison, new))) => changed(&mut page, old, comparison, new, ui),
        (Some(_), None) => {
            sentence(
                &mut page,
                "What changed in the plan cannot be told: one of its snapshots was redacted.",
                ui,
            );
        }
        _ if basis.brief.is_some() => {}
        _ => sentence(&mut page, "Nobody can tell: it names neither a brief nor a plan.", ui),
    }
    Ok(page)
}

fn decision(page: &mut String, thought: &Thought, ui: &Ui) {
    let palette = ui.palette;
    let kind = palette.kind(thought.kind, thought.kind.as_str());
    page.push_str(&format!("{kind} {}\n", palette.strong(&visible(thought.id.as_str()))));
    let mut about = format!(
        "{}  {}  {}",
        minute(&thought.timestamp),
        visible(thought.session_id.as_str()),
        visible(thought.agent_id.as_str())
    );
    if let Some(action) = &thought.action_id {
        about.push_str(&format!("  → {}", visible(action.as_str())));
    }
    page.push_str(&format!("  {}\n", palette.faint(&about)));
    let content = said(&thought.content, thought.redacted.as_ref());
    for line in wrap(visible(&content).trim_end(), ui.width - 2) {
        page.push_str(format!("  {line}").trim_end());
        page.push('\n');
    }
}

/// A brief: what it was for, and how it begins.
fn told(page: &mut String, stored: &StoredBriefView, ui: &Ui) -> Result<(), CliError> {
    if let Some(redaction) = &stored.redacted {
        page.push_str(&format!("  hash {}\n", short_hash(&stored.hash)));
        sentence(page, &visible(&said("", Some(redaction))), ui);
        return Ok(());
    }
    let told = Told::of(stored)?;
    page.push_str(&format!("  {}, hash {}\n", told.place(stored), short_hash(&stored.hash)));
    let mut lines = told.text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.by_ref().take(FIRST_LINES) {
        let line = cut(&visible(line).replace('\t', " "), ui.width - 4);
        page.push_str(&format!("  {}\n", format!("│ {line}").trim_end()));
    }
    let rest = if lines.next().is_some() { "all of it" } else { "it again" };
    let id = visible(stored.brief_id.as_str()).into_owned();
    sentence(page, &format!("`cairn brief show {id}` prints {rest}"), ui);
    Ok(())
}

fn changed(page: &mut String, old: &ContextHead, comparison: &Comparison, new: &ContextHead, ui: &Ui) {
    if comparison.diff.identical() {
        let same = match old.context_id == new.context_id {
            true => "The plan has not: this is its newest snapshot.".to_string(),
            false => format!("The plan has not: context {} is newer and says the same.", new.context_id),
        };
        page.push_str(&format!("  {same}\n"));
        return;
    }
    // Two columns narrower, since it stands two columns to the right.
    let inner = Ui { width: ui.width - 2, ..ui.clone() };
    let shown = diff_page::page(comparison, old, new, false, &inner);
    for line in shown.page.lines() {
        page.push_str(format!("  {line}").trim_end());
        page.push('\n');
    }
}

/// What it does not rest on, or no longer can.
fn absent(page: &mut String, what: &str, named: Option<String>, ui: &Ui) {
    let said = match named {
        None => format!("None: it was recorded without `--{what}`."),
        Some(id) => format!("It names {what} {}, which is gone: `cairn verify` says more.", visible(&id)),
    };
    sentence(page, &said, ui);
}

fn heading(page: &mut String, name: &str, ui: &Ui) {
    page.push_str(&format!("\n{}\n", ui.palette.strong(name)));
}

fn sentence(page: &mut String, sentence: &str, ui: &Ui) {
    page.push_str(&format!("  {}\n", ui.palette.faint(sentence)));
}
