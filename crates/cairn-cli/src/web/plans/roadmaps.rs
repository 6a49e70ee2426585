//! `/roadmaps`: the plans there are, and whether they still are what was captured.

use std::collections::BTreeMap;

use cairn::{Cairn, ContextHead, FileState, Form};
use maud::{Markup, html};
use serde::Serialize;

use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::link;
use crate::web::piece::{short_hash, time};
use crate::web::text::text;

pub(super) struct Roadmaps;

#[derive(Serialize)]
pub(super) struct Data {
    count: usize,
    roadmaps: Vec<Listed>,
}

#[derive(Serialize, Default)]
struct Listed {
    id: String,
    title: Option<String>,
    node_count: u64,
    phase_count: u64,
    /// In which form it is kept on disk; none if it is not there.
    form: Option<Form>,
    /// How its file stands to the newest snapshot; none if there is no snapshot.
    file: Option<FileState>,
    /// Why the file cannot be read.
    error: Option<String>,
    newest: Option<ContextHead>,
    snapshots: u64,
    /// Decisions that name one of its snapshots.
    decisions: u64,
    /// How many of them rest on another plan than the newest.
    drifted: u64,
}

impl Page for Roadmaps {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let mut roadmaps: BTreeMap<String, Listed> = BTreeMap::new();
        for on_disk in cairn.roadmaps().list()? {
            let listed = Listed {
                id: on_disk.id.to_string(),
                title: on_disk.title,
                node_count: on_disk.node_count,
                phase_count: on_disk.phase_count,
                form: Some(on_disk.form),
                error: on_disk.error,
                ..Listed::default()
            };
            roadmaps.insert(listed.id.clone(), listed);
        }
        for plan in cairn.drift(None, Some(1))?.plans {
            let id = plan.roadmap_id.to_string();
            let listed = roadmaps.entry(id.clone()).or_insert_with(|| Listed { id, ..Listed::default() });
            captured(cairn, listed, plan.file)?;
        }
        let roadmaps: Vec<Listed> = roadmaps.into_values().collect();
        Ok(Data { count: roadmaps.len(), roadmaps })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let main = html! {
            h1 { "Roadmaps" }
            p.faint { "Plans that agents work by. A snapshot freezes one, so that a decision can name the plan it rests on." }
            div data-part="roadmaps" {
                @if data.roadmaps.is_empty() { (none_yet()) }
                ul.cards.roadmaps {
                    @for listed in &data.roadmaps { li.card { (card(listed)) } }
                }
            }
        };
        Shown { title: "Roadmaps".to_string(), main, live: Live::Log }
    }
}

/// What the newest snapshot says counts, since that is what decisions name.
fn captured(cairn: &Cairn, listed: &mut Listed, file: FileState) -> Result<(), CliError> {
    listed.file = Some(file);
    listed.snapshots = cairn.contexts_page(&listed.id, None, 1)?.total;
    if let Some(newest) = cairn.context_latest(&listed.id)? {
        listed.node_count = newest.head.node_count;
        // A redacted plan has neither.
        let content = newest.snapshot.map(|snapshot| snapshot.content);
        listed.phase_count = content.as_ref().map_or(0, |plan| plan.phases.len() as u64);
        listed.title = content.map(|plan| plan.title);
        listed.newest = Some(newest.head);
    }
    let drift = cairn.drift(Some(&listed.id), Some(1))?;
    (listed.decisions, listed.drifted) = (drift.decisions, drift.drifted);
    Ok(())
}

fn none_yet() -> Markup {
    html! {
        section.card.nothing {
            h2 { "No roadmaps yet" }
            p { "Put a plan into the folder of roadmaps, then freeze it:" }
            pre { "cairn roadmap add plan.yaml\ncairn context create plan" }
            p { "An agent does the same with the tools " code { "roadmap_register" } " and " code { "context_create" } "." }
        }
    }
}

fn card(listed: &Listed) -> Markup {
    let title = listed.title.as_deref().filter(|title| !title.trim().is_empty());
    html! {
        h2 {
            a href=(link::roadmap(&listed.id)) { (text(title.unwrap_or(&listed.id))) }
            @if title.is_some() { " " code.faint { (text(&listed.id)) } }
        }
        @if let Some(error) = &listed.error {
            p.wrong { "The file cannot be read: " (text(error)) }
        }
        ul.figures.small {
            @if listed.newest.is_some() || listed.error.is_none() {
                li { (count(listed.node_count, "node")) }
                li { (count(listed.phase_count, "phase")) }
            }
            li { (count(listed.snapshots, "snapshot")) }
            @if let Some(newest) = &listed.newest {
                li {
                    "newest: " a href=(link::context(newest.context_id)) { "snapshot " (newest.context_id) }
                    ", " (time(&newest.created_at)) ", " (short_hash(&newest.content_hash))
                }
            }
        }
        p.states { (file_state(&listed.id, listed.file, listed.error.is_some())) " " (drift_state(&listed.id, listed.decisions, listed.drifted)) }
    }
}

/// How the file stands to the newest snapshot, in words and with what to do.
/// `broken` tells that the file of one that was never captured cannot be read.
pub(super) fn file_state(id: &str, file: Option<FileState>, broken: bool) -> Markup {
    let file = if broken { file.or(Some(FileState::Unreadable)) } else { file };
    let (class, sign, words, help) = match file {
        None => ("unknown", "○", "never captured", Some(format!("cairn context create {id}"))),
        Some(FileState::Unchanged) => ("good", "✓", "the file is as captured", None),
        Some(FileState::Changed) => {
            ("modified", "~", "the file has changed since", Some(format!("cairn context ensure {id}")))
        }
        Some(FileState::Missing) => ("removed", "−", "the file is gone", None),
        Some(FileState::Unreadable) => {
            ("removed", "!", "the file cannot be read", Some(format!("cairn roadmap validate {id}")))
        }
    };
    html! {
        span.state.(class) { span aria-hidden="true" { (sign) } " " (words) }
        @if let Some(help) = help { " " code.small { (text(&help)) } }
    }
}

/// Whether decisions rest on an older plan.
pub(super) fn drift_state(id: &str, decisions: u64, drifted: u64) -> Markup {
    let on_it = |some: u64| if some == 1 { "rests" } else { "rest" };
    html! {
        @if drifted > 0 {
            a.state.modified href=(format!("{}#drift", link::roadmap(id))) {
                span aria-hidden="true" { "~" } " "
                (drifted) " of " (count(decisions, "decision")) " " (on_it(drifted)) " on an older plan"
            }
        } @else if decisions > 0 {
            span.state.good {
                span aria-hidden="true" { "✓" } " " (count(decisions, "decision")) " " (on_it(decisions)) " on the newest plan"
            }
        }
    }
}
