//! `/briefs/{id}`: a stored brief, and whether it can be built again.

use cairn::{BriefVerdict, Cairn, Filter, StoredBriefView, Thought};
use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use super::brief_text::{Source, brief_text, provenance};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::{count, first_line};
use crate::web::link;
use crate::web::piece::{entry, hash, redacted, time};
use crate::web::text::text;

/// Stored briefs of a session that are looked through for this one's place in the log.
const BRIEFS: u64 = 1000;
/// Thoughts recorded after it that are looked through: there is no index of who names a brief.
const THOUGHTS: u64 = 500;

pub(super) struct StoredBrief;

#[derive(Serialize)]
pub(super) struct Data {
    brief: StoredBriefView,
    verdict: BriefVerdict,
    /// Its own position in the log.
    seq: Option<u64>,
    named_by: Vec<Named>,
    /// How many thoughts were looked through, if not all of those that may name it.
    looked_at: Option<u64>,
}

/// A thought that names the brief.
#[derive(Serialize)]
struct Named {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    first_line: String,
    agent_id: String,
}

impl Page for StoredBrief {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, id) = (asked.cairn(), asked.param("id"));
        let brief = cairn.brief(id)?.ok_or_else(|| {
            CliError::not_found(format!("there is no brief `{id}`"))
                .hint("the page of a turn names the briefs that were stored in it")
        })?;
        let listed = cairn.briefs(Some(brief.session_id.as_str()), Some(BRIEFS))?;
        let seq = listed.iter().find(|one| one.brief_id == brief.brief_id).map(|one| one.seq);
        let (named_by, looked_at) = named_by(cairn, &brief, seq)?;
        Ok(Data { verdict: cairn.brief_verify(id)?, brief, seq, named_by, looked_at })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let (view, session) = (&data.brief, data.brief.session_id.as_str());
        let word = |name: &str| view.brief[name].as_str().unwrap_or_default().to_string();
        let turn = view.brief["turn"].as_u64();
        let title = match (&view.redacted, turn) {
            (None, Some(turn)) => format!("Brief for {} in turn {turn}", word("node")),
            _ => "Stored brief".to_string(),
        };
        let main = html! {
            p.crumbs {
                a href="/" { "Sessions" } " › " a href=(link::session(session)) { (text(session)) } " › "
                @if let Some(turn) = turn { a href=(link::turn(session, turn)) { "turn " (turn) } " › " }
                "brief"
            }
            h1 { (text(&title)) }
            (verdict(&data.verdict))
            dl.facts {
                dt { "Brief" } dd { code { (text(view.brief_id.as_str())) } }
                dt { "Hash" } dd { (hash(&view.hash)) }
                dt { "Stored" } dd { (time(&view.created_at)) @if let Some(seq) = data.seq { ", log entry " (entry(seq)) } }
                @if view.redacted.is_none() {
                    dt { "Built from" } dd { "what was recorded up to " @if let Some(seq) = view.brief["seq"].as_u64() { (entry(seq)) } }
                    dt { "Order" } dd { (text(&word("layout"))) }
                    dt { "Budget" } dd { @match view.brief["budget"].as_u64() { Some(budget) => { (count(budget, "token")) }, None => "none" } }
                    dt { "Counted with" } dd { (text(&word("counter"))) }
                    dt { "Tokens" } dd { (view.brief["report"]["tokens"].as_u64().unwrap_or_default()) ", " (count(list(&view.brief["report"]["omitted"]).len() as u64, "item")) " left out" }
                }
            }
            h2 { "Thoughts that name it" }
            (names(data))
            h2 { "What it says" }
            @match &view.redacted {
                Some(redaction) => p.said.gone { (redacted(redaction)) },
                None => {
                    section.card.brief {
                        h3 { (text(&word("node"))) }
                        (brief_text(view.brief["text"].as_str().unwrap_or_default()))
                    }
                    (provenance(&sources(&view.brief)))
                }
            }
        };
        Shown { title, main, live: Live::Nothing }
    }
}

/// Looks through the thoughts of its session that were recorded after it: only they can name it.
fn named_by(
    cairn: &Cairn,
    brief: &StoredBriefView,
    seq: Option<u64>,
) -> Result<(Vec<Named>, Option<u64>), CliError> {
    let filter = Filter {
        session_id: Some(brief.session_id.to_string()),
        limit: Some(THOUGHTS),
        cursor: seq.map(|seq| seq.to_string()),
        ..Filter::default()
    };
    let page = cairn.list(&filter)?;
    let looked_at = page.next_cursor.is_some().then_some(page.records.len() as u64);
    let names = |thought: &Thought| thought.brief_id.as_ref() == Some(&brief.brief_id);
    let named = page.records.into_iter().filter(names).map(|thought| Named {
        id: thought.id.to_string(),
        kind: thought.kind.as_str(),
        first_line: first_line(&thought.content),
        agent_id: thought.agent_id.to_string(),
    });
    Ok((named.collect(), looked_at))
}

fn names(data: &Data) -> Markup {
    html! {
        @if data.named_by.is_empty() { p.faint { "None was found." } }
        ul.bare.thoughts {
            @for named in &data.named_by {
                li {
                    span.kind.(named.kind) { (named.kind) } " "
                    a href=(link::thought(&named.id)) { (text(if named.first_line.is_empty() { "(no text)" } else { &named.first_line })) }
                    span.small.faint { " " (text(&named.agent_id)) }
                }
            }
        }
        @if let Some(looked_at) = data.looked_at {
            p.faint { "Among the " (count(looked_at, "thought")) " of its session that were recorded next." }
        }
    }
}

/// Whether it was built again from the events, for this page.
fn verdict(verdict: &BriefVerdict) -> Markup {
    let (class, sign, word) = match verdict.valid {
        Some(true) => ("good", "✓", "It verifies"),
        Some(false) => ("bad", "✗", "It does not verify"),
        None => ("unknown", "?", "It cannot be verified any more"),
    };
    html! {
        section.recheck.(class) {
            p { strong { span aria-hidden="true" { (sign) " " } (word) } ": " (text(&verdict.message)) "." }
            @if let Some(rebuilt) = verdict.rebuilt_hash.as_ref().filter(|rebuilt| **rebuilt != verdict.stored_hash) {
                p { "Built again its hash is " (hash(rebuilt)) }
            }
            @if !verdict.redacted.is_empty() {
                ul {
                    @for source in &verdict.redacted {
                        li {
                            @if source.id == verdict.brief_id.as_str() { "this brief" }
                            @else { a href=(link::thought(&source.id)) { (text(&source.id)) } }
                            ": " (redacted(&source.redaction))
                        }
                    }
                }
            }
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Where each item of a stored brief comes from.
fn sources(brief: &Value) -> Vec<Source<'_>> {
    list(&brief["sections"])
        .iter()
        .flat_map(|section| {
            list(&section["items"]).iter().map(|item| Source {
                section: section["id"].as_str().unwrap_or_default(),
                said: item["text"].as_str().unwrap_or_default(),
                events: list(&item["events"]).iter().filter_map(Value::as_u64).collect(),
            })
        })
        .collect()
}
