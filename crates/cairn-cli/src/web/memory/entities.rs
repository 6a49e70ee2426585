//! Where the entities of a session stood at a turn.

use maud::{Markup, html};

use super::state::EntityAt;
use crate::term::count;
use crate::web::text::text;

/// Entities that are listed in each tier.
const MOST: usize = 200;

const TIERS: [(&str, &str, &str); 3] = [
    ("active", "Active", "referenced in this turn or shortly before"),
    ("generated", "Generated", "drafts that were not saved"),
    ("retained", "Retained", "older, kept for a reason"),
];

/// The three tiers side by side, and how many are forgotten.
pub(super) fn tiers(entities: &[EntityAt]) -> Markup {
    let of = |tier: Option<&str>| -> Vec<&EntityAt> {
        entities.iter().filter(|entity| entity.tier.as_deref() == tier).collect()
    };
    let forgotten = of(None);
    html! {
        div.tiers {
            @for (id, name, about) in TIERS {
                @let members = of(Some(id));
                section.card.tier.(id) {
                    h3 { (name) " " span.figure.faint { (members.len()) } }
                    p.small.faint { (about) }
                    @if members.is_empty() { p.faint { "None." } }
                    ul.bare { @for entity in members.iter().take(MOST) { li { (one(entity)) } } }
                    @if members.len() > MOST { p.faint { "and " (members.len() - MOST) " more" } }
                }
            }
        }
        @if !forgotten.is_empty() {
            details {
                summary { (count(forgotten.len() as u64, "entity")) " forgotten, but one call away" }
                ul.bare { @for entity in forgotten.iter().take(MOST) { li { (one(entity)) } } }
            }
        }
    }
}

fn one(entity: &EntityAt) -> Markup {
    html! {
        span.chip { (text(&entity.entity_ref)) } " " (text(&entity.label))
        div.small.faint {
            (text(&entity.kind)) ", " (text(&entity.status))
            @if entity.saved_id.is_none() { ", not saved" }
            ", since turn " (entity.turn_created) ", last in turn " (entity.turn_last_ref)
            @if entity.demoted { ", let go" }
        }
        @if let Some(reason) = &entity.retention_reason { div.small { "kept: " (text(reason)) } }
    }
}
