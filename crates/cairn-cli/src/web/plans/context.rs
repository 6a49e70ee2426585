//! `/contexts/{id}`: one snapshot of a roadmap.

use cairn::{Context, Sha, ThoughtsOnContext};
use maud::{Markup, html};
use serde::Serialize;

use super::outline::outline;
use super::picture::{anchor, picture};
use crate::error::CliError;
use crate::graph::Graph;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::link;
use crate::web::piece::{damaged_records, entry, hash, redacted_plan, thought, time};
use crate::web::text::text;

/// Thoughts that are named.
const THOUGHTS: u64 = 100;

pub(super) struct OneContext;

#[derive(Serialize)]
pub(super) struct Data {
    context: Context,
    verdict: Verdict,
    rests_on_it: ThoughtsOnContext,
    /// The snapshot before it, and the newest, of the same roadmap.
    previous: Option<u64>,
    newest: Option<u64>,
}

#[derive(Serialize)]
struct Verdict {
    valid: Option<bool>,
    stored_hash: Option<Sha>,
    recalculated_hash: Option<Sha>,
    message: String,
}

impl Page for OneContext {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, id) = (asked.cairn(), asked.param_number("id")?);
        let context = cairn.context(id)?.ok_or_else(|| {
            CliError::not_found(format!("there is no snapshot {id}"))
                .hint("`/roadmaps` leads to all there are")
        })?;
        let verdict = cairn.context_verify(id)?;
        let roadmap = context.head.roadmap_id.as_str();
        let first = |before| -> Result<Option<u64>, CliError> {
            Ok(cairn.contexts_page(roadmap, before, 1)?.contexts.first().map(|head| head.context_id))
        };
        Ok(Data {
            verdict: Verdict {
                valid: verdict.valid,
                stored_hash: verdict.stored_hash,
                recalculated_hash: verdict.recalculated_hash,
                message: verdict.message,
            },
            rests_on_it: cairn.thoughts_on(id, THOUGHTS)?,
            previous: first(Some(id))?,
            newest: first(None)?,
            context,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let head = &data.context.head;
        let plan = data.context.snapshot.as_ref().map(|snapshot| &snapshot.content);
        let roadmap = head.roadmap_id.as_str();
        let title = format!("Snapshot {} of {roadmap}", head.context_id);
        let main = html! {
            p.crumbs {
                a href="/roadmaps" { "Roadmaps" } " › " a href=(link::roadmap(roadmap)) { (text(roadmap)) }
                " › snapshot " (head.context_id)
            }
            h1 { (text(plan.map_or(&title, |plan| &plan.title))) }
            p.faint {
                "Snapshot " (head.context_id) " of " (text(roadmap)) ", captured " (time(&head.created_at)) ": "
                (count(head.node_count, "node"))
                @if let Some(plan) = plan {
                    ", " (count(plan.connections.len() as u64, "connection")) ", " (count(plan.phases.len() as u64, "phase"))
                }
                "."
            }
            (verdict(data))
            p.ways { (ways(data)) }
            @if !data.context.warnings.is_empty() {
                section.warnings {
                    h2 { "What was wrong with the plan then" }
                    ul {
                        @for flaw in &data.context.warnings {
                            li { code { (text(&flaw.path())) } " " (text(&flaw.message)) }
                        }
                    }
                }
            }
            h2 { "The plan" }
            @match plan {
                Some(plan) => {
                    (picture(&Graph::of(plan), &|index| format!("#{}", anchor(index))))
                    (outline(plan))
                },
                None => (redacted_plan(head)),
            }
            h2 { "What rests on it" }
            (rests(data))
            @if let Some(metadata) = &head.metadata {
                h2 { "Kept with it" }
                pre { (text(&serde_json::to_string_pretty(metadata).unwrap_or_default())) }
            }
        };
        Shown { title, main, live: Live::Nothing }
    }
}

/// Whether what is stored still is what was captured: recomputed for this page.
fn verdict(data: &Data) -> Markup {
    let Verdict { valid, stored_hash, recalculated_hash, message } = &data.verdict;
    let (class, sign, word) = match valid {
        Some(true) => ("good", "✓", "It verifies"),
        Some(false) => ("bad", "✗", "It does not verify"),
        None => ("unknown", "?", "It cannot be verified any more"),
    };
    html! {
        section.recheck.(class) {
            p {
                strong { span aria-hidden="true" { (sign) " " } (word) }
                ": " (text(message)) "."
            }
            dl.facts {
                dt { "Content hash" } dd { (hash(&data.context.head.content_hash)) }
                @if stored_hash != recalculated_hash {
                    @if let Some(now) = recalculated_hash { dt { "Recomputed now" } dd { (hash(now)) } }
                }
                dt { "Log entry" } dd { (entry(data.context.head.seq)) }
            }
        }
    }
}

/// Where one may go from here.
fn ways(data: &Data) -> Markup {
    let id = data.context.head.context_id;
    html! {
        @if let Some(previous) = data.previous {
            a.button.quiet href=(link::compare(previous, id)) { "Changes from snapshot " (previous) } " "
        } @else { span.faint { "The first snapshot of its roadmap. " } }
        @match data.newest {
            Some(newest) if newest != id => a.button.quiet href=(link::compare(id, newest)) { "Changes up to the newest" },
            _ => span.faint { "This is the newest snapshot." },
        }
    }
}

fn rests(data: &Data) -> Markup {
    let ThoughtsOnContext { total, thoughts, damaged } = &data.rests_on_it;
    html! {
        (damaged_records(damaged))
        @if thoughts.is_empty() {
            p.faint { "No thought names this snapshot." }
        }
        ul.bare.thoughts {
            @for one in thoughts { li { (thought(&one.thought, one.session_id.as_str())) } }
        }
        @if *total > thoughts.len() as u64 {
            p.faint { "The newest " (thoughts.len()) " of " (total) "." }
        }
    }
}
