//! `/search`: thoughts and nodes of current plans, best match first.

use cairn::core::preview::ACTION_CHARS;
use cairn::{Damage, MATCH_END, MATCH_START, NodeQuery, SearchQuery, Summary, ThoughtType};
use maud::{Markup, html};
use serde::Serialize;

use super::parts::{self, Plan};
use crate::data::not_covered;
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::grouped;
use crate::web::link;
use crate::web::piece::damaged_records;
use crate::web::text::text;

pub(super) struct Search;

#[derive(Serialize, Default)]
pub(super) struct Data {
    query: String,
    /// Why this cannot be searched for.
    refused: Option<String>,
    results: Vec<Hit>,
    /// Thoughts that match and cannot be shown.
    damaged: Vec<Damage>,
    /// Set if the words are so common that only the newest so many were ranked.
    ranked_newest: Option<u64>,
    /// Entries of the log that the index does not cover, where it cannot be brought up to date.
    not_covered: u64,
    nodes: Vec<Node>,
    /// The plans that the thoughts found stood on.
    plans: Vec<Plan>,
}

#[derive(Serialize)]
struct Hit {
    session_id: String,
    rank: f64,
    /// The passage that matches, each match between U+0002 and U+0003.
    snippet: String,
    #[serde(flatten)]
    thought: Summary,
}

/// A node of a current plan.
#[derive(Serialize)]
struct Node {
    roadmap_id: String,
    context_id: u64,
    id: String,
    label: String,
    snippet: String,
}

impl Page for Search {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let query = asked.query("q").unwrap_or_default().to_string();
        let mut data = Data { query, ..Data::default() };
        if data.query.trim().is_empty() {
            return Ok(data);
        }
        let kind = asked.query("type").map(str::parse::<ThoughtType>).transpose();
        let kind = kind.map_err(|error| CliError::refused(format!("type: {error}")))?;
        let (session, limit) = (asked.query("session").map(str::to_string), asked.query_number("limit")?);
        let query = SearchQuery {
            query: data.query.clone(),
            kind,
            session_id: session.clone(),
            limit,
            task_id: None,
        };
        let found = match asked.cairn().search(&query) {
            // A query that means nothing is answered beside the form, where it can be corrected.
            Err(cairn::Error::Invalid(issues)) if issues.iter().all(|issue| issue.path == "query") => {
                data.refused = issues.into_iter().next().map(|issue| issue.message);
                return Ok(data);
            }
            found => found?,
        };
        data.ranked_newest = found.ranked_newest;
        data.damaged = found.damaged;
        data.not_covered = found.not_covered;
        data.results = found.results.into_iter().map(Hit::of).collect();
        data.plans = Plan::of_all(asked.cairn(), data.results.iter().map(|hit| &hit.thought));
        if kind.is_none() && session.is_none() {
            let nodes = NodeQuery { query: data.query.clone(), roadmap_id: None, limit };
            data.nodes = asked.cairn().context_search(&nodes)?.into_iter().map(Node::of).collect();
        }
        Ok(data)
    }

    fn show(data: &Data, asked: &Asked) -> Shown {
        let nothing = data.results.is_empty() && data.nodes.is_empty() && data.damaged.is_empty();
        let main = html! {
            h1 { "Search" }
            (form(data, asked))
            @if let Some(refused) = &data.refused {
                p.wrong role="alert" { "This cannot be searched for: the query " (text(refused)) "." }
            } @else if data.query.trim().is_empty() {
                p.faint { "Search what agents planned, found, decided and learned, and the nodes of the current plans." }
            } @else if nothing {
                p.lead { "Nothing matches " q { (text(&data.query)) } "." }
                p { "All words must match. Try fewer of them, " code { "OR" } " between them, or the beginning of one with " code { "*" } ". Sealed and redacted texts are not searched." }
            } @else {
                (damaged_records(&data.damaged))
                (results(data))
            }
        };
        let title =
            if data.query.is_empty() { "Search".to_string() } else { format!("{} · Search", data.query) };
        Shown { title, main, live: Live::Nothing }
    }
}

fn form(data: &Data, asked: &Asked) -> Markup {
    html! {
        form.row.search action="/search" {
            label.wide { "Words" input type="search" name="q" value=(text(&data.query)) maxlength="2000"; }
            label { "Type"
                select name="type" {
                    option value="" { "any" }
                    @for kind in ThoughtType::ALL {
                        option value=(kind.as_str()) selected[asked.query("type") == Some(kind.as_str())] { (kind.as_str()) }
                    }
                }
            }
            label { "Session" input name="session" placeholder="any" maxlength="200" value=[asked.query("session").map(text)]; }
            button { "Search" }
        }
        p.small.faint {
            "All words must match. " code { "\"a phrase\"" } " · " code { "prefix*" } " · " code { "-not" } " · " code { "one OR other" }
        }
    }
}

fn results(data: &Data) -> Markup {
    html! {
        @if data.not_covered > 0 { p.hint { (text(&not_covered(data.not_covered))) } }
        @if !data.results.is_empty() {
            h2 { (parts::thoughts(data.results.len() as u64)) ", best match first" }
            @if let Some(newest) = data.ranked_newest {
                p.hint { "These words are common: only the newest " (grouped(newest)) " matches were ranked. Add a word to search further back." }
            }
            ul.list {
                @for hit in &data.results {
                    li.step.(hit.thought.kind.as_str()) {
                        (parts::kind(hit.thought.kind))
                        div.told {
                            a.words href=(link::thought(hit.thought.id.as_str())) { (marked(&hit.snippet)) }
                            div.meta {
                                (parts::when(&hit.thought.timestamp))
                                span { (text(hit.thought.agent_id.as_str())) }
                                a.where href=(link::session(&hit.session_id)) { (text(&hit.session_id)) }
                                (parts::chips(&hit.thought, &data.plans))
                            }
                        }
                    }
                }
            }
        }
        @if !data.nodes.is_empty() {
            h2 { "In current plans" }
            ul.list {
                @for node in &data.nodes {
                    li.step.node {
                        span.kind.node { "node" }
                        div.told {
                            a.words href=(link::roadmap(&node.roadmap_id)) { (text(&node.label)) }
                            @if node.snippet.contains(' ') { p.said { (marked(&node.snippet)) } }
                            div.meta {
                                code { (text(&node.id)) }
                                a.where href=(link::context(node.context_id)) { (text(&node.roadmap_id)) ", snapshot " (node.context_id) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A passage with its matches marked. Everything else in it is text, whatever it looks like.
fn marked(snippet: &str) -> Markup {
    let mut parts = snippet.split(MATCH_START);
    html! {
        (text(parts.next().unwrap_or_default()))
        @for part in parts {
            @match part.split_once(MATCH_END) {
                Some((matched, rest)) => { mark { (text(matched)) } (text(rest)) }
                None => (text(part)),
            }
        }
    }
}

impl Hit {
    fn of(hit: cairn::SearchHit) -> Hit {
        let session_id = hit.thought.session_id.to_string();
        Hit {
            session_id,
            rank: hit.rank,
            snippet: hit.snippet,
            thought: Summary::of(hit.thought, ACTION_CHARS),
        }
    }
}

impl Node {
    fn of(hit: cairn::NodeHit) -> Node {
        Node {
            roadmap_id: hit.roadmap_id.to_string(),
            context_id: hit.context_id,
            id: hit.node.id.to_string(),
            label: hit.node.label.to_string(),
            snippet: hit.snippet,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_matches_become_markup() {
        let snippet = "<b>\u{2}a</mark>\u{3} \u{3}x\u{2}open";
        assert_eq!(marked(snippet).into_string(), "&lt;b&gt;<mark>a&lt;/mark&gt;</mark> ␃xopen");
        assert_eq!(marked("").into_string(), "");
    }
}
