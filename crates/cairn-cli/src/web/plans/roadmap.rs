//! `/roadmaps/{id}`: the newest plan, and how it came to be.

use cairn::core::roadmap::Snapshot;
use cairn::core::roadmap::diff::{Counts, Diff};
use cairn::{Cairn, Context, ContextHead, Damage, DriftedDecision, FileState};
use maud::{Markup, html};
use serde::Serialize;

use super::differences::counted;
use super::outline::outline;
use super::picture::{anchor, picture};
use super::roadmaps::{drift_state, file_state};
use crate::error::CliError;
use crate::graph::Graph;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::{count, minute};
use crate::web::link;
use crate::web::piece::{damaged_records, redacted_plan, short_hash, thought, time};
use crate::web::text::text;

/// Snapshots on a page: each is compared with the one before it.
const PAGE: u64 = 20;
/// Snapshots that can be chosen for a comparison.
const CHOICE: u64 = 200;
/// Decisions that are named.
const DECISIONS: u64 = 20;

pub(super) struct Roadmap;

#[derive(Serialize)]
pub(super) struct Data {
    roadmap_id: String,
    title: String,
    /// How its file stands to the newest snapshot; none if there is no snapshot.
    file: Option<FileState>,
    /// Why the file of a roadmap that was never captured cannot be read.
    file_error: Option<String>,
    newest: Option<Context>,
    /// What the file says, if that was never captured.
    uncaptured: Option<Snapshot>,
    decisions: u64,
    drifted: u64,
    drifted_decisions: Vec<DriftedDecision>,
    contexts: Vec<Past>,
    total: u64,
    next: Option<u64>,
    /// Snapshots and decisions that cannot be shown.
    damaged: Vec<Damage>,
    /// What a comparison can be chosen from.
    #[serde(skip)]
    choice: Vec<ContextHead>,
}

#[derive(Serialize)]
struct Past {
    #[serde(flatten)]
    head: ContextHead,
    /// What changed from the snapshot before; none for the first.
    changes: Option<Changed>,
}

#[derive(Serialize)]
struct Changed {
    from: u64,
    identical: bool,
    title_changed: bool,
    counts: Option<Counts>,
}

impl Page for Roadmap {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, id) = (asked.cairn(), asked.param("id"));
        // An id that nobody knows is refused here, captured or not.
        let drift = cairn.drift(Some(id), Some(DECISIONS))?;
        let newest = cairn.context_latest(id)?;
        let (mut uncaptured, mut file_error) = (None, None);
        if newest.is_none() {
            match cairn.roadmaps().get(id) {
                Ok(roadmap) => uncaptured = Some(Snapshot::of(roadmap)),
                Err(error) => file_error = Some(CliError::from(error).sentence()),
            }
        }
        let page = cairn.contexts_page(id, asked.query_number("before")?, PAGE)?;
        let damaged = drift.damaged.into_iter().chain(page.damaged).collect();
        let captured = newest.as_ref().and_then(|newest| newest.snapshot.as_ref());
        let shown = captured.map(|snapshot| &snapshot.content).or(uncaptured.as_ref());
        let title = shown.map(|plan| plan.title.clone()).filter(|title| !title.trim().is_empty());
        Ok(Data {
            roadmap_id: id.to_string(),
            title: title.unwrap_or_else(|| id.to_string()),
            file: drift.plans.first().map(|plan| plan.file),
            file_error,
            newest,
            uncaptured,
            decisions: drift.decisions,
            drifted: drift.drifted,
            drifted_decisions: drift.results,
            contexts: past(cairn, page.contexts, page.next)?,
            total: page.total,
            next: page.next,
            damaged,
            choice: cairn.contexts_page(id, None, CHOICE)?.contexts,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let id = data.roadmap_id.as_str();
        let main = html! {
            p.crumbs { a href="/roadmaps" { "Roadmaps" } " › " (text(id)) }
            h1 { (text(&data.title)) }
            p.states {
                (file_state(id, data.file, data.file_error.is_some())) " " (drift_state(id, data.decisions, data.drifted))
            }
            @if let Some(error) = &data.file_error { p.wrong { (text(error)) } }
            (damaged_records(&data.damaged))
            (drawn(data))
            (history(data))
            (drifted(data))
        };
        Shown { title: data.title.clone(), main, live: Live::Nothing }
    }
}

/// The newest plan; its nodes lead to their descriptions. One that was never captured has none elsewhere.
fn drawn(data: &Data) -> Markup {
    match (&data.newest, &data.uncaptured) {
        (Some(newest), _) => {
            let page = link::context(newest.head.context_id);
            html! {
                h2 { "The newest plan: " a href=(page) { "snapshot " (newest.head.context_id) } }
                @match &newest.snapshot {
                    Some(snapshot) => (picture(&Graph::of(&snapshot.content), &|index| format!("{page}#{}", anchor(index)))),
                    None => (redacted_plan(&newest.head)),
                }
            }
        }
        (None, Some(plan)) => html! {
            h2 { "What the file says" }
            (picture(&Graph::of(plan), &|index| format!("#{}", anchor(index))))
            (outline(plan))
        },
        (None, None) => html! {},
    }
}

/// Compares each snapshot with the one before it; every plan is read once.
fn past(cairn: &Cairn, heads: Vec<ContextHead>, next: Option<u64>) -> Result<Vec<Past>, CliError> {
    let roadmap = heads.first().map(|head| head.roadmap_id.to_string()).unwrap_or_default();
    let before = match next {
        Some(before) => cairn.contexts_page(&roadmap, Some(before), 1)?.contexts,
        None => Vec::new(),
    };
    let content = |head: &ContextHead| -> Result<Option<Snapshot>, CliError> {
        let context = cairn.context(head.context_id)?;
        Ok(context.and_then(|context| context.snapshot).map(|snapshot| snapshot.content))
    };
    let older: Vec<Option<ContextHead>> =
        heads.iter().skip(1).cloned().map(Some).chain([before.into_iter().next()]).collect();
    let mut newer_plan: Option<Snapshot> = None;
    let mut past = Vec::with_capacity(heads.len());
    for (head, older) in heads.into_iter().zip(older) {
        let Some(older) = older else {
            past.push(Past { head, changes: None });
            continue;
        };
        let (from, identical) = (older.context_id, older.content_hash == head.content_hash);
        let mut changed = Changed { from, identical, title_changed: false, counts: None };
        if !identical {
            let new = match newer_plan.take() {
                Some(plan) => Some(plan),
                None => content(&head)?,
            };
            let old = content(&older)?;
            if let (Some(old), Some(new)) = (&old, &new) {
                let diff = Diff::between(old, new);
                changed.title_changed = diff.title_changed;
                changed.counts = Some(diff.counts());
            }
            newer_plan = old;
        }
        past.push(Past { head, changes: Some(changed) });
    }
    Ok(past)
}

fn history(data: &Data) -> Markup {
    html! {
        h2 { "Snapshots" }
        @if data.contexts.is_empty() {
            p { "There is none yet. " code { "cairn context create " (text(&data.roadmap_id)) } " makes the first." }
        } @else {
            p.faint { (count(data.total, "snapshot")) ", newest first." }
            @if data.choice.len() > 1 { (chooser(data)) }
            ol.bare.history {
                @for past in &data.contexts { li { (line(past)) } }
            }
            @if let Some(next) = data.next {
                p.more { a.button.quiet href=(format!("{}?before={next}", link::roadmap(&data.roadmap_id))) { "Older snapshots" } }
            }
        }
    }
}

fn line(past: &Past) -> Markup {
    let head = &past.head;
    html! {
        div.at {
            a href=(link::context(head.context_id)) { strong { "Snapshot " (head.context_id) } }
            " " (time(&head.created_at)) " " (short_hash(&head.content_hash)) " "
            span.faint { (count(head.node_count, "node")) }
        }
        div.what {
            @match &past.changes {
                None => span.faint { "the first" },
                Some(Changed { identical: true, from, .. }) => span.faint { "the same plan as snapshot " (from) },
                Some(changed) => {
                    @if let Some(counts) = &changed.counts { (counted(counts, changed.title_changed)) " " }
                    a href=(link::compare(changed.from, head.context_id)) { "Changes from snapshot " (changed.from) }
                }
            }
        }
    }
}

/// Any two snapshots; the newest two are chosen already.
fn chooser(data: &Data) -> Markup {
    let choice = |name: &str, label: &str, chosen: usize| {
        html! {
            label {
                (label)
                select name=(name) {
                    @for (index, head) in data.choice.iter().enumerate() {
                        option value=(head.context_id) selected[index == chosen] {
                            (head.context_id) " · " (minute(&head.created_at)) " · " (&head.content_hash.to_string()[..8])
                        }
                    }
                }
            }
        }
    };
    html! {
        form.row.compare-form action="/compare" {
            (choice("from", "From snapshot", 1))
            (choice("to", "to snapshot", 0))
            button { "Compare" }
        }
    }
}

fn drifted(data: &Data) -> Markup {
    html! {
        @if data.drifted > 0 {
            section #drift {
                h2 { "Decisions that rest on an older plan" }
                ul.bare.thoughts {
                    @for decision in &data.drifted_decisions {
                        li {
                            (thought(&decision.thought, decision.session_id.as_str()))
                            div.small {
                                @if let Some(from) = decision.thought.context_id {
                                    "rests on " a href=(link::context(from)) { "snapshot " (from) } "; "
                                    @match decision.total_changes {
                                        Some(changes) => a href=(link::compare(from, decision.current_context_id)) {
                                            (count(changes, "change")) " since"
                                        },
                                        None => "one of the two plans was redacted",
                                    }
                                }
                                @for node in &decision.nodes {
                                    " · " code { (text(&node.id)) } " "
                                    @match node.change {
                                        cairn::NodeChange::Removed => span.sign.removed { "− is gone" },
                                        cairn::NodeChange::Modified => span.sign.modified { "~ has changed" },
                                    }
                                }
                            }
                        }
                    }
                }
                @if data.drifted > data.drifted_decisions.len() as u64 {
                    p.faint { "The newest " (data.drifted_decisions.len()) " of " (data.drifted) "; " code { "cairn drift" } " names more." }
                }
            }
        }
    }
}
