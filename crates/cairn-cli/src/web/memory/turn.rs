//! `/sessions/{id}/turns/{turn}`: one turn, and what each node was told at it, side by side.

use cairn::core::brief::{Brief, Depth, Layout, Node};
use cairn::{BriefInfo, BriefRequest, BuiltBrief, Cairn, Damage, Error};
use maud::{Markup, html};
use serde::Serialize;

use super::brief_text::{Source, brief_text, provenance};
use super::entities::tiers;
use super::state::{self, EntityAt, Known, TurnView};
use super::turns::{marks, talk, work};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::session_words::value;
use crate::term::count;
use crate::web::link;
use crate::web::piece::{damaged_records, entry, short_hash, time};
use crate::web::text::text;

/// Stored briefs that are looked through for those of this turn.
const STORED: u64 = 1000;

pub(super) struct OneTurn;

#[derive(Serialize)]
pub(super) struct Data {
    session_id: String,
    #[serde(flatten)]
    turn: TurnView,
    /// The turn that the session is in.
    newest_turn: u64,
    known: Known,
    entities: Vec<EntityAt>,
    options: Options,
    briefs: Vec<ForNode>,
    /// Briefs that were stored in this turn.
    stored: Vec<BriefInfo>,
    /// Stored briefs of the session that cannot be shown.
    damaged: Vec<Damage>,
}

/// How briefs are built; nothing means as usual.
#[derive(Serialize, Default)]
struct Options {
    budget: Option<u64>,
    depth: Option<String>,
    layout: Option<String>,
}

/// What one node is told, or why it cannot be.
#[derive(Serialize)]
struct ForNode {
    node: &'static str,
    #[serde(flatten)]
    told: Told,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Brief(BuiltBrief),
    TooSmall { budget: u64, item: String, needed: u64, message: String },
}

impl Page for OneTurn {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, session, number) = (asked.cairn(), asked.param("id"), asked.param_number("turn")?);
        let newest_turn = state::current_turn(cairn, session)?;
        let missing = || {
            let message = format!("session `{session}` is in turn {newest_turn}; there is no turn {number}");
            CliError::not_found(message).hint(format!("`{}` lists its turns", link::turns(session)))
        };
        if !(1..=newest_turn).contains(&number) {
            return Err(missing());
        }
        let (mut turns, known) = state::turns(cairn, session, number, 1)?;
        let turn = turns.pop().ok_or_else(missing)?;
        let given = |name: &str| asked.query(name).map(str::to_string);
        let options =
            Options { budget: asked.query_number("budget")?, depth: given("depth"), layout: given("layout") };
        let briefs = Node::ALL.into_iter().map(|node| for_node(cairn, session, number, node, &options));
        let stored = cairn.briefs(Some(session), Some(STORED))?;
        Ok(Data {
            session_id: session.to_string(),
            turn,
            newest_turn,
            known,
            entities: state::entities(cairn, session, number)?,
            briefs: briefs.collect::<Result<_, _>>()?,
            options,
            damaged: stored.damaged,
            stored: stored.records.into_iter().filter(|brief| brief.turn == number).collect(),
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let (session, number) = (data.session_id.as_str(), data.turn.said.turn);
        let main = html! {
            p.crumbs {
                a href="/" { "Sessions" } " › " a href=(link::session(session)) { (text(session)) } " › "
                a href=(link::turns(session)) { "turns" } " › " (number)
            }
            div data-part="turn" {
                div.turn-head {
                    h1 { "Turn " (number) span.faint { " of " (data.newest_turn) } }
                    " " (time(&data.turn.said.timestamp)) " " (marks(&data.turn))
                }
                (neighbours(data))
                (talk(&data.turn, false))
                (work(&data.turn))
                (known(&data.known))
                (damaged_records(&data.damaged))
                h2 #briefs { "What each node was told" }
                p.faint {
                    "Built for this page from what was recorded up to " strong { "turn " (number) }
                    "; nothing is stored by looking."
                    @if !data.stored.is_empty() {
                        " Stored in this turn: "
                        @for brief in &data.stored {
                            a.chip href=(link::brief(brief.brief_id.as_str())) { (text(&brief.node)) ", entry " (brief.seq) } " "
                        }
                    }
                }
                (form(data))
                div.briefs { @for told in &data.briefs { (column(told)) } }
                h2 { "Entities at this turn" }
                (tiers(&data.entities))
                h2 { "What was recorded" }
                ol.bare.events {
                    @for event in &data.turn.events { li { (entry(event.seq)) " " (text(&event.words)) } }
                }
                (neighbours(data))
            }
        };
        // An older turn has come to its end.
        let live = match number == data.newest_turn {
            true => Live::Session(data.session_id.clone()),
            false => Live::Nothing,
        };
        Shown { title: format!("Turn {number} of {session}"), main, live }
    }
}

/// A budget that is too small is an answer; anything else that fails is not.
fn for_node(
    cairn: &Cairn,
    session: &str,
    turn: u64,
    node: Node,
    options: &Options,
) -> Result<ForNode, CliError> {
    let request = BriefRequest {
        session_id: session.to_string(),
        node: node.as_str().to_string(),
        turn: Some(turn),
        budget: options.budget,
        depth: options.depth.clone(),
        layout: options.layout.clone(),
        ..BriefRequest::default()
    };
    let told = match cairn.brief_build(&request, false) {
        Ok(brief) => Told::Brief(brief),
        Err(Error::BudgetTooSmall { budget, item, needed }) => {
            let message = Error::BudgetTooSmall { budget, item: item.clone(), needed }.to_string();
            Told::TooSmall { budget, item, needed, message }
        }
        Err(error) => return Err(error.into()),
    };
    Ok(ForNode { node: node.as_str(), told })
}

fn neighbours(data: &Data) -> Markup {
    let (session, number) = (data.session_id.as_str(), data.turn.said.turn);
    let asked = |turn: u64| {
        let Options { budget, depth, layout } = &data.options;
        let given = [
            ("budget", budget.map(|budget| budget.to_string())),
            ("depth", depth.clone()),
            ("layout", layout.clone()),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            query.append_pair(name, &value);
        }
        let query = query.finish();
        let path = link::turn(session, turn);
        if query.is_empty() { path } else { format!("{path}?{query}") }
    };
    html! {
        nav.neighbours aria-label="Turns beside this one" {
            @if number > 1 { a.button.quiet rel="prev" href=(asked(number - 1)) { "← Turn " (number - 1) } }
            @if number < data.newest_turn { a.button.quiet rel="next" href=(asked(number + 1)) { "Turn " (number + 1) " →" } }
        }
    }
}

/// What held at the turn beyond what was said in it.
fn known(known: &Known) -> Markup {
    html! {
        @if known.engagement_summary.is_some() || known.pending.is_some() || !known.constraints.is_empty() {
            dl.facts {
                @if let Some(engagement) = &known.engagement_summary { dt { "As a whole" } dd { (text(engagement)) } }
                @if let Some(pending) = &known.pending {
                    dt { "Waiting for the user" }
                    dd {
                        (pending.kind.as_str().replace('_', " ")) ": " (text(&pending.context))
                        @for question in &pending.questions { div { (text(question)) } }
                    }
                }
                @for fact in &known.constraints {
                    dt { (text(&fact.key)) }
                    dd {
                        (text(&value(&fact.value))) span.small.faint {
                            " stated in turn " (fact.since_turn)
                            @if let Some(last) = fact.expires { ", holds up to turn " (last) }
                        }
                    }
                }
            }
        }
    }
}

fn form(data: &Data) -> Markup {
    let Options { budget, depth, layout } = &data.options;
    let chosen = |given: &Option<String>, word: &str| given.as_deref() == Some(word);
    html! {
        form.row action=(format!("{}#briefs", link::turn(&data.session_id, data.turn.said.turn))) {
            label { "Budget in tokens" input type="number" name="budget" min="1" placeholder="no limit" value=[budget]; }
            label {
                "Conversation"
                select name="depth" {
                    option value="" selected[depth.is_none()] { "what the node usually sees" }
                    @for known in Depth::ALL {
                        option value=(known.as_str()) selected[chosen(depth, known.as_str())] {
                            @match known { Depth::Two => "two turns", Depth::Five => "five turns", Depth::Full => "every turn" }
                        }
                    }
                }
            }
            label {
                "Order"
                select name="layout" {
                    @for known in Layout::ALL {
                        option value=(known.as_str()) selected[chosen(layout, known.as_str())] {
                            @match known { Layout::Seed => "as it reads", Layout::Cache => "for prompt caches" }
                        }
                    }
                }
            }
            button { "Build again" }
        }
    }
}

fn column(told: &ForNode) -> Markup {
    let about = match told.node {
        "understand" => "decides what the user means",
        "think" => "plans the next steps",
        "act" => "takes the next step",
        _ => "answers the user",
    };
    html! {
        section.card.brief aria-label=(told.node) {
            h3 { (told.node) " " span.small.faint { (about) } }
            @match &told.told {
                Told::TooSmall { message, needed, .. } => {
                    p.wrong { (text(message)) "." }
                    p.small { "With a budget of " (needed) " or more it can be built." }
                }
                Told::Brief(built) => (shown(&built.brief)),
            }
        }
    }
}

fn shown(brief: &Brief) -> Markup {
    let report = &brief.report;
    let sources: Vec<Source<'_>> = brief
        .sections
        .iter()
        .flat_map(|section| {
            section.items.iter().map(|item| Source {
                section: section.id,
                said: &item.text,
                events: item.events.clone(),
            })
        })
        .collect();
    html! {
        p.small.faint {
            (count(report.tokens, "token")) ", " (count(report.included, "item")) ", up to " (entry(brief.seq)) ", " (short_hash(&brief.hash))
        }
        (brief_text(&brief.text))
        @if !report.omitted.is_empty() {
            details.omitted open[report.omitted.len() <= 8] {
                summary { (count(report.omitted.len() as u64, "item")) " left out for the budget" }
                ul.bare.small {
                    @for omitted in &report.omitted {
                        li {
                            (omitted.section)
                            @if let Some(entity) = &omitted.entity_ref { " " span.chip { (text(entity)) } }
                            span.faint { " " (count(omitted.tokens, "token")) }
                        }
                    }
                }
            }
        }
        (provenance(&sources))
    }
}
