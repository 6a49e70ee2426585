//! `/sessions/{id}/turns`: the turns of a session's memory, newest first.

use cairn::core::session::event::StepStatus;
use cairn::{Error, Filter};
use maud::{Markup, html};
use serde::Serialize;

use super::state::{self, TurnView};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::session_words::step_kind;
use crate::term::count;
use crate::web::link;
use crate::web::piece::{entry, time};
use crate::web::text::text;

const PAGE: u64 = 50;
/// What was done with entities in one turn, at most so many lines of it.
const TOUCHED: usize = 12;

pub(super) struct Turns;

#[derive(Serialize)]
pub(super) struct Data {
    session_id: String,
    /// A session of thoughts alone has no memory.
    has_memory: bool,
    /// The turn it is in.
    turn: u64,
    /// Newest first.
    turns: Vec<TurnView>,
    next: Option<u64>,
}

impl Page for Turns {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, session) = (asked.cairn(), asked.param("id"));
        let mut data = Data {
            session_id: session.to_string(),
            has_memory: true,
            turn: 0,
            turns: Vec::new(),
            next: None,
        };
        match cairn.session_state_newest(session, Some(0), None, 0) {
            Err(Error::NotFound { .. }) if has_thoughts(asked, session)? => {
                data.has_memory = false;
                return Ok(data);
            }
            other => drop(other?),
        }
        data.turn = state::current_turn(cairn, session)?;
        let before = asked.query_number("before")?.unwrap_or(u64::MAX);
        let last = data.turn.min(before.saturating_sub(1));
        if last > 0 {
            data.turns = state::turns(cairn, session, last, PAGE)?.0;
            data.turns.reverse();
        }
        data.next = data.turns.last().map(|oldest| oldest.said.turn).filter(|oldest| *oldest > 1);
        Ok(data)
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let session = data.session_id.as_str();
        let main = html! {
            p.crumbs { a href="/" { "Sessions" } " › " a href=(link::session(session)) { (text(session)) } " › turns" }
            h1 { "Turns of " (text(session)) }
            div data-part="turns" {
                @if !data.has_memory {
                    section.card {
                        p { "This session has thoughts, but no working memory: nothing tells its turns." }
                        p { a href=(link::session(session)) { "Its thoughts" } ". An agent opens a memory with the tool " code { "session_open" } "." }
                    }
                } @else if data.turn == 0 {
                    p.faint { "No turn yet. The first begins with what the user says (" code { "turn_begin" } ")." }
                } @else {
                    p.faint { (count(data.turn, "turn")) ", newest first. Each leads to what every node was told in it." }
                    (ranges(data))
                    @if data.turns.is_empty() { p { "There is no turn before that." } }
                    ol.bare.turns { @for turn in &data.turns { li.card { (one(session, turn)) } } }
                    (ranges(data))
                }
            }
        };
        Shown { title: format!("Turns of {session}"), main, live: Live::Session(data.session_id.clone()) }
    }
}

fn has_thoughts(asked: &Asked, session: &str) -> Result<bool, CliError> {
    let filter = Filter { session_id: Some(session.to_string()), limit: Some(1), ..Filter::default() };
    Ok(!asked.cairn().list(&filter)?.records.is_empty())
}

/// All pages at once: of a thousand turns these are twenty.
fn ranges(data: &Data) -> Markup {
    const MOST: u64 = 40;
    let newest_shown = data.turns.first().map_or(0, |turn| turn.said.turn);
    let pages = data.turn.div_ceil(PAGE);
    html! {
        @if pages > 1 {
            nav.pages aria-label="Pages of turns" {
                @for page in (0..pages).take(MOST as usize) {
                    @let last = data.turn - page * PAGE;
                    @let first = last.saturating_sub(PAGE - 1).max(1);
                    a href=(format!("{}?before={}", link::turns(&data.session_id), last + 1)) aria-current=[(newest_shown == last).then_some("page")] {
                        (first) "–" (last)
                    }
                }
                @if let Some(next) = data.next {
                    a href=(format!("{}?before={next}", link::turns(&data.session_id))) rel="next" { "Older" }
                }
            }
        }
    }
}

fn one(session: &str, turn: &TurnView) -> Markup {
    let number = turn.said.turn;
    html! {
        div.turn-head {
            h2 { a href=(link::turn(session, number)) { "Turn " (number) } }
            " " (time(&turn.said.timestamp)) " " (marks(turn))
        }
        (talk(turn, true))
        (work(turn))
    }
}

/// What was decided, where the conversation stands, and whether something stood in the way.
pub(super) fn marks(turn: &TurnView) -> Markup {
    html! {
        @if let Some(decision) = &turn.reasoned.think_decision { span.chip { "decided: " (text(&decision.replace('_', " "))) } " " }
        @if let Some(phase) = &turn.reasoned.conversation_phase { span.chip { (text(phase)) } " " }
        @if turn.said.assistant.is_none() { span.chip { "no answer yet" } " " }
        @if turn.reasoned.blocked_reason.is_some() { span.state.removed { "! blocked" } }
    }
}

/// What was said; the answer in short, if there is such a form and that is asked for.
pub(super) fn talk(turn: &TurnView, short: bool) -> Markup {
    let said = &turn.said;
    html! {
        dl.talk {
            dt { "User" } dd.said { (text(&said.user)) }
            @if let Some(answer) = &said.assistant {
                dt { "Answer" }
                @match &said.assistant_summary {
                    Some(summary) if short => dd.said { (text(summary)) span.faint.small { " (in short)" } },
                    summary => {
                        dd.said { (text(answer)) }
                        @if let Some(summary) = summary { dt { "In short" } dd.said { (text(summary)) } }
                    }
                }
            }
            @if let Some(goal) = &turn.reasoned.think_goal { dt { "Goal" } dd.said { (text(goal)) } }
            @if let Some(expressed) = &turn.reasoned.user_expressed { dt { "User let know" } dd.said { (text(expressed)) } }
            @if let Some(why) = &turn.reasoned.blocked_reason { dt { "Blocked" } dd.said.blocked { (text(why)) } }
        }
    }
}

/// The steps that were taken, and what was done with entities.
pub(super) fn work(turn: &TurnView) -> Markup {
    let reasoned = &turn.reasoned;
    let touched: Vec<_> = turn.events.iter().filter(|event| event.kind == "entities_applied").collect();
    html! {
        @if !reasoned.steps.is_empty() {
            ol.bare.steps {
                @for step in &reasoned.steps {
                    li {
                        (status(step.status)) " "
                        strong { "Step " (step.step_num) } ", " (step_kind(step.kind))
                        @if !step.subdomain.is_empty() { " in " (text(&step.subdomain)) }
                        ": " (text(&step.description))
                        @if !step.outcome.is_empty() { " → " (text(&step.outcome)) }
                        @for entity in &step.entities_involved { " " span.chip { (text(entity)) } }
                        @if let Some(note) = &step.note { div.small.faint { "note: " (text(note)) } }
                    }
                }
            }
        }
        @if !touched.is_empty() {
            ul.touched {
                @for event in touched.iter().take(TOUCHED) { li { (text(&event.words)) " " (entry(event.seq)) } }
                @if touched.len() > TOUCHED { li.faint { "and " (touched.len() - TOUCHED) " more" } }
            }
        }
    }
}

fn status(status: StepStatus) -> Markup {
    let (class, sign, word) = match status {
        StepStatus::Done => ("good", "✓", "done"),
        StepStatus::Blocked => ("modified", "!", "blocked"),
        StepStatus::Failed => ("removed", "✗", "failed"),
    };
    html! { span.state.(class) { span aria-hidden="true" { (sign) } " " (word) } }
}
