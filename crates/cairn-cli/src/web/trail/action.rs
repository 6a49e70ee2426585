//! `/actions/{id}`: why something was done.

use cairn::{ActionThought, Damage};
use maud::html;
use serde::Serialize;

use super::parts::{Plan, Trail, thoughts};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::web::link;
use crate::web::piece::damaged_records;
use crate::web::text::text;

/// Trails that are shown; an action has seldom more than one.
const SHOWN: usize = 20;

pub(super) struct Action;

#[derive(Serialize)]
pub(super) struct Data {
    action_id: String,
    /// Thoughts that led to it.
    thoughts: usize,
    trails: Vec<Reasons>,
    plans: Vec<Plan>,
    /// Thoughts that led to it and cannot be shown.
    damaged: Vec<Damage>,
}

/// The path from a root to one thought that led to the action.
#[derive(Serialize)]
struct Reasons {
    session_id: String,
    #[serde(flatten)]
    trail: Trail,
}

impl Page for Action {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, action_id) = (asked.cairn(), asked.param("id"));
        let found = cairn.for_action(action_id)?;
        if found.is_empty() && found.damaged.is_empty() {
            let message = format!("no thought says that it led to the action `{action_id}`");
            return Err(CliError::not_found(message)
                .hint("actions are named as the agents named them, to the letter"));
        }
        let reasons = |found: &ActionThought| {
            let trail = Trail::of(cairn.trail(found.thought.id.as_str(), None)?);
            Ok(Reasons { session_id: found.session_id.to_string(), trail })
        };
        let trails = found.iter().take(SHOWN).map(reasons).collect::<Result<Vec<_>, CliError>>()?;
        let plans = Plan::of_all(cairn, trails.iter().flat_map(|reasons| &reasons.trail.thoughts));
        let (thoughts, damaged) = (found.len(), found.damaged);
        Ok(Data { action_id: action_id.to_string(), thoughts, trails, plans, damaged })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let main = html! {
            p.crumbs { a href="/" { "Sessions" } " › Action" }
            h1 { "Why " span.name { (text(&data.action_id)) } "?" }
            p.lead {
                @match data.thoughts {
                    1 => "One thought led to this action. From the first question to it:",
                    many => { (thoughts(many as u64)) " led to this action. From the first question to each:" }
                }
            }
            (damaged_records(&data.damaged))
            @for Reasons { session_id, trail } in &data.trails {
                section.card.reasons {
                    h2 { "In session " a href=(link::session(session_id)) { (text(session_id)) } }
                    (trail.show(&data.plans, None))
                }
            }
            @if data.thoughts > data.trails.len() {
                p.faint { "Shown are the first " (data.trails.len()) " of " (thoughts(data.thoughts as u64)) "." }
            }
        };
        Shown { title: format!("Why {}?", data.action_id), main, live: Live::Nothing }
    }
}
