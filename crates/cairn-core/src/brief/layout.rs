//! Where parts stand in the text.

use super::candidate::Part;
use super::conversation::EMPTY as NO_TURN;
use super::{Layout, Node, entities, reasoning};
use crate::session::SessionState;

/// A section of the text.
pub struct Place {
    pub id: &'static str,
    /// Without one the section is only its items.
    pub heading: Option<&'static str>,
    /// What is in it, in this order.
    pub parts: &'static [Part],
}

const TASK: Place = Place { id: "task", heading: Some("## Your Task"), parts: &[Part::Task] };
const ENTITIES: Place =
    Place { id: "entities", heading: Some("## Entity Context"), parts: &[Part::Entities] };

const SEED: &[Place] = &[
    ENTITIES,
    Place {
        id: "conversation",
        heading: Some("## Conversation History"),
        parts: &[Part::History, Part::Turns, Part::Engagement, Part::Constraints, Part::Pending],
    },
    Place {
        id: "reasoning",
        heading: Some("## What Happened"),
        parts: &[Part::ReasoningSummary, Part::Reasoning],
    },
    TASK,
];

/// What grows at its end comes before what changes; the engagement may change every turn.
const CACHE: &[Place] = &[
    Place { id: "header", heading: None, parts: &[Part::Header] },
    Place { id: "summaries", heading: Some("## Summaries"), parts: &[Part::History, Part::ReasoningSummary] },
    Place { id: "turns", heading: Some("## Conversation History"), parts: &[Part::Turns] },
    ENTITIES,
    Place {
        id: "pending",
        heading: Some("## Open Points"),
        parts: &[Part::Engagement, Part::Constraints, Part::Pending],
    },
    Place { id: "steps", heading: Some("## What Happened"), parts: &[Part::Reasoning] },
    TASK,
];

/// The sections of a layout, in the order of the text.
pub fn places(layout: Layout) -> &'static [Place] {
    match layout {
        Layout::Seed => SEED,
        Layout::Cache => CACHE,
    }
}

/// What is said if a section has nothing to say.
pub fn empty(place: &Place, node: Node, state: &SessionState) -> &'static str {
    match place.id {
        "entities" => entities::empty(state),
        "conversation" | "turns" => NO_TURN,
        "reasoning" | "steps" => reasoning::empty(node),
        "summaries" => "No summaries.",
        "pending" => "No open points.",
        _ => "",
    }
}
