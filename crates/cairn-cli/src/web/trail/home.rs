//! `/`: the sessions, newest first, and how the log stands.

use cairn::core::preview::ACTION_CHARS;
use cairn::{Cairn, Damage, EntryHead, ListedSession, SessionsPage, Status, Summary, ThoughtType};
use maud::{Markup, html};
use serde::Serialize;

use super::connect::{self, HowTo};
use super::parts::{self, Plan};
use super::standing::Standing;
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::link;
use crate::web::piece::damaged_records;
use crate::web::text::text;

const PAGE: u64 = 50;
/// The newest decisions that are shown, and how far back in the log they are looked for.
const DECISIONS: usize = 4;
const LOOK_BACK: u64 = 200;

pub(super) struct Home;

#[derive(Serialize)]
pub(super) struct Data {
    status: Status,
    integrity: Standing,
    /// The newest decisions, newest first.
    decisions: Vec<Decided>,
    plans: Vec<Plan>,
    #[serde(flatten)]
    sessions: SessionsPage,
    /// How to connect a client, as long as nothing is recorded.
    connect: Option<HowTo>,
}

#[derive(Serialize)]
struct Decided {
    session_id: String,
    #[serde(flatten)]
    thought: Summary,
}

impl Page for Home {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let before = asked.query_number("before")?;
        let mut sessions = cairn.sessions_page(before, PAGE)?;
        let (decisions, damaged) =
            if before.is_none() { newest_decisions(cairn)? } else { Default::default() };
        sessions.damaged.extend(damaged);
        sessions.damaged.dedup();
        let status = cairn.status()?;
        Ok(Data {
            connect: (status.sessions == 0).then(|| HowTo::of(asked)),
            integrity: Standing::of(asked),
            plans: Plan::of_all(cairn, decisions.iter().map(|decided| &decided.thought)),
            decisions,
            sessions,
            status,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        // One part: the first record turns the page for beginners into the list of sessions.
        let main = html! {
            div data-part="home" {
                @match &data.connect {
                    Some(how_to) => (empty(how_to)),
                    None => {
                        h1 { "What the agents decided" }
                        (figures(&data.status))
                        (data.integrity.show())
                        (damaged_records(&data.sessions.damaged))
                        (decisions(data))
                        (sessions(data))
                    }
                }
            }
        };
        Shown { title: "Sessions".to_string(), main, live: Live::Log }
    }
}

/// The newest decisions among the newest entries of the log.
fn newest_decisions(cairn: &Cairn) -> Result<(Vec<Decided>, Vec<Damage>), CliError> {
    let from = cairn.log_size()?.saturating_sub(LOOK_BACK);
    let (mut found, mut damaged) = (Vec::new(), Vec::new());
    // Only decisions are read: each of the others may be a megabyte.
    let is_decision = |entry: &EntryHead| entry.thought_type == Some(ThoughtType::Decision);
    for entry in cairn.entries_since(from, LOOK_BACK)?.into_iter().rev().filter(is_decision) {
        let Some(id) = &entry.id else { continue };
        let thought = match cairn.get(id) {
            Err(cairn::Error::Damaged(damage)) => {
                damaged.push(damage);
                continue;
            }
            thought => thought?,
        };
        let Some(thought) = thought else { continue };
        found.push(Decided {
            session_id: thought.session_id.to_string(),
            thought: Summary::of(thought, ACTION_CHARS),
        });
        if found.len() == DECISIONS {
            break;
        }
    }
    Ok((found, damaged))
}

fn figures(status: &Status) -> Markup {
    let figure = |number: u64, noun: &str| {
        let words = count(number, noun);
        let (number, noun) = words.split_once(' ').unwrap_or((&words, ""));
        html! { li { b { (number) } (noun) } }
    };
    html! {
        ul.figures {
            (figure(status.sessions, "session"))
            (figure(status.thoughts, "thought"))
            (figure(status.contexts, "snapshot"))
            (figure(status.entries, "log entry"))
        }
    }
}

fn decisions(data: &Data) -> Markup {
    html! {
        @if !data.decisions.is_empty() {
            h2 { "Newest decisions" }
            ul.list {
                @for Decided { session_id, thought } in &data.decisions {
                    li.step.decision {
                        (parts::thought(thought, &data.plans, html! {
                            a.where href=(link::session(session_id)) { (text(session_id)) }
                        }))
                    }
                }
            }
        }
    }
}

fn sessions(data: &Data) -> Markup {
    html! {
        h2 { "Sessions" span.faint.small { ", newest activity first; times are UTC" } }
        ul.cards {
            @for session in &data.sessions.sessions { (card(session)) }
        }
        @if data.sessions.sessions.is_empty() { p.faint { "There are no older sessions." } }
        @if let Some(next) = data.sessions.next {
            p.more { a.button.quiet href={ "/?before=" (next) } { "Older sessions" } }
        }
    }
}

fn card(session: &ListedSession) -> Markup {
    let id = session.session_id.as_str();
    html! {
        li.card.session {
            h3 { a href=(link::session(id)) { (text(id)) } }
            @if let Some(first) = &session.first_thought {
                p.said { (parts::words(&first.content, first.redacted.as_ref())) }
            }
            div.meta {
                (parts::type_counts(&session.types))
                @if let Some(turns) = session.turns {
                    a.chip href={ (link::session(id)) "/turns" } { (count(turns, "turn")) }
                }
                span { (text(&session.agents.join(", "))) }
                (parts::span(&session.first_at, &session.last_at))
            }
        }
    }
}

/// Nothing is recorded yet: what there is to do.
fn empty(how_to: &HowTo) -> Markup {
    html! {
        h1 { "Nothing is recorded yet" }
        p.lead { "Connect a client below. What its agents think, decide and do appears here as it is recorded." }
        (connect::show(how_to))
    }
}

#[cfg(test)]
mod tests {
    use cairn::NewThought;

    use super::*;
    use crate::web::testing::TestSite;

    #[test]
    fn an_empty_database_tells_how_to_connect() {
        let site = TestSite::new();
        let page = site.page("/").unwrap();
        for part in ["Nothing is recorded yet", "http://localhost:7411/mcp", "cairn demo --serve"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(site.page("/connect").unwrap().contains("claude mcp add"));
    }

    #[test]
    fn sessions_are_listed_newest_first_page_by_page() {
        let site = TestSite::new();
        for n in 0..120 {
            let thought = NewThought::new(ThoughtType::Decision, format!("text {n}"));
            site.cairn().record(thought.session(format!("s{n:03}")).agent("a")).unwrap();
        }
        let (mut address, mut seen) = ("/".to_string(), Vec::new());
        loop {
            let twin = site.twin(&address).unwrap();
            let sessions = twin["sessions"].as_array().unwrap();
            seen.extend(sessions.iter().map(|session| session["session_id"].as_str().unwrap().to_string()));
            assert!(site.page(&address).unwrap().contains(seen.last().unwrap()));
            match twin["next"].as_u64() {
                Some(next) => address = format!("/?before={next}"),
                None => break,
            }
        }
        let expected: Vec<String> = (0..120).rev().map(|n| format!("s{n:03}")).collect();
        assert_eq!(seen, expected);
        let first = site.twin("/").unwrap();
        assert_eq!(first["decisions"].as_array().unwrap().len(), DECISIONS);
        assert_eq!(first["decisions"][0]["content"], "text 119");
    }
}
