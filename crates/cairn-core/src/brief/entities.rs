//! Layer 1 in a brief: what there is, in as many words as the node needs.

use super::candidate::{Candidate, Key, Part, Rank};
use super::text::{json_block, one_line};
use super::{EntityMode, Node};
use crate::hash::Sha;
use crate::session::op::Detail;
use crate::session::{Entity, SessionState, Tier};

/// A way to get the content of a body.
type Bodies<'a> = Option<&'a dyn Fn(&Sha) -> Option<&'a str>>;

/// The bodies that a brief for `node` shows, each once, in the order of the text.
pub fn needed_bodies(state: &SessionState, node: Node) -> Vec<Sha> {
    if node != Node::Act {
        return Vec::new();
    }
    let mut seen = std::collections::HashSet::new();
    let digests = shown(state, EntityMode::Full).filter_map(|(entity, _)| Some(shown_body(entity)?.sha256));
    digests.filter(|digest| seen.insert(*digest)).collect()
}

/// The entities of a session as text, without their bodies.
pub fn format_entity_context(state: &SessionState, mode: EntityMode) -> String {
    let items = match mode {
        EntityMode::DoNotRead => do_not_read(state).into_iter().collect(),
        _ => candidates(state, mode, None),
    };
    if items.is_empty() {
        return match mode {
            EntityMode::DoNotRead => "Nothing has been read yet.".to_string(),
            _ => empty(state).to_string(),
        };
    }
    let lines: Vec<String> = items.into_iter().map(|candidate| candidate.item.text).collect();
    lines.join("\n")
}

/// What is said if no entity is shown.
pub fn empty(state: &SessionState) -> &'static str {
    if state.entities.is_empty() { "No entities yet." } else { "No entity is in use at the moment." }
}

/// What a node sees.
pub fn for_node<'a>(
    state: &SessionState,
    node: Node,
    bodies: &'a dyn Fn(&Sha) -> Option<&'a str>,
) -> Vec<Candidate> {
    match node {
        Node::Understand => candidates(state, EntityMode::Curation, None),
        Node::Think => {
            let mut items = candidates(state, EntityMode::RefsAndLabels, None);
            items.extend(do_not_read(state));
            items
        }
        Node::Act => candidates(state, EntityMode::Full, Some(bodies)),
        Node::Reply => candidates(state, EntityMode::Reply, None),
    }
}

/// The entities that a mode shows, in the order of registration.
fn shown(state: &SessionState, mode: EntityMode) -> impl Iterator<Item = (&Entity, Tier)> {
    let all = matches!(mode, EntityMode::Curation | EntityMode::RefsAndLabels);
    state.entities.iter().filter_map(move |entity| {
        let tier = entity.tier(state.turn, state.settings.window)?;
        (all || tier != Tier::Retained).then_some((entity, tier))
    })
}

fn candidates(state: &SessionState, mode: EntityMode, bodies: Bodies<'_>) -> Vec<Candidate> {
    let mut items = Vec::new();
    for (entity, tier) in shown(state, mode) {
        let content = shown_body(entity).and_then(|body| bodies.and_then(|content| content(&body.sha256)));
        let line = match mode {
            EntityMode::Full => full_line(entity, content.is_some()),
            EntityMode::Curation => curation_line(entity, tier),
            EntityMode::Reply => reply_line(entity),
            EntityMode::RefsAndLabels | EntityMode::DoNotRead => ref_line(entity, tier),
        };
        let candidate = |rank, text| {
            // A draft exists nowhere else; what is in storage can be read again.
            let order = match tier {
                Tier::Generated => 1,
                Tier::Active => 2,
                Tier::Retained => 3,
            };
            let key = Key::new(rank, order, entity.turn_last_ref);
            Candidate::new(Part::Entities, key, text, entity.events.clone()).about(&entity.entity_ref)
        };
        items.push(candidate(Rank::Entities, line));
        if let Some(content) = content {
            items.push(candidate(Rank::Bodies, json_block(content)));
        }
    }
    items
}

/// The content that Act is to see. What is deleted has none any more.
fn shown_body(entity: &Entity) -> Option<&crate::session::op::Body> {
    entity.body.as_ref().filter(|_| !entity.is_deleted())
}

/// The refs whose whole content Act has, so that nobody fetches it again.
fn do_not_read(state: &SessionState) -> Option<Candidate> {
    let mut refs: Vec<&str> = Vec::new();
    let mut events = Vec::new();
    for (entity, tier) in shown(state, EntityMode::RefsAndLabels) {
        if tier == Tier::Active && entity.is_whole() && !entity.is_deleted() {
            refs.push(&entity.entity_ref);
            events.extend(entity.events.last());
        }
    }
    if refs.is_empty() {
        return None;
    }
    events.sort_unstable();
    events.dedup();
    let text = format!("Do not re-read: {}", one_line(&refs.join(", ")));
    Some(Candidate::new(Part::Entities, Key::new(Rank::Entities, 0, state.turn), text, events))
}

/// `- recipe_1: Soup`, or only the ref if there is nothing else to call it by.
fn named(entity: &Entity) -> String {
    let entity_ref = one_line(&entity.entity_ref);
    if has_label(entity) {
        format!("- {entity_ref}: {}", one_line(&entity.label))
    } else {
        format!("- {entity_ref}")
    }
}

fn has_label(entity: &Entity) -> bool {
    entity.label != entity.entity_ref && !entity.label.trim().is_empty()
}

fn ref_line(entity: &Entity, tier: Tier) -> String {
    let (mut line, mark) = match tier {
        Tier::Retained => (named(entity), Some("retained")),
        _ if entity.is_unsaved() => (named(entity), Some("not saved yet")),
        _ if entity.detail == Some(Detail::Summary) => (named(entity), Some("summary only")),
        _ => (named(entity), None),
    };
    let marks: Vec<&str> = mark.into_iter().chain(entity.is_deleted().then_some("deleted")).collect();
    if !marks.is_empty() {
        line = format!("{line} ({})", marks.join(", "));
    }
    line
}

fn full_line(entity: &Entity, has_content: bool) -> String {
    let mut line = format!("{} ({}, {}", named(entity), one_line(&entity.kind), entity.status.as_str());
    if entity.is_unsaved() {
        line.push_str(", not saved yet");
    }
    match shown_body(entity) {
        _ if has_content || entity.is_deleted() => {}
        None => line.push_str("; content unknown: read it before use"),
        Some(body) => line.push_str(&format!("; content of {} bytes not shown", body.bytes)),
    }
    line + ")"
}

fn curation_line(entity: &Entity, tier: Tier) -> String {
    let tier = match tier {
        Tier::Active => "active",
        Tier::Generated => "generated",
        Tier::Retained => "retained",
    };
    let mut line = format!(
        "{} ({}, {}, tier {tier}; first seen in turn {}, last referenced in turn {}",
        named(entity),
        one_line(&entity.kind),
        entity.status.as_str(),
        entity.turn_created,
        entity.turn_last_ref
    );
    if entity.is_unsaved() {
        line.push_str("; not saved yet");
    }
    if let Some(turn) = entity.turn_promoted {
        line.push_str(&format!("; saved in turn {turn}"));
    }
    if let Some(turn) = entity.last_full {
        line.push_str(&format!("; read in full in turn {turn}"));
    } else if entity.detail == Some(Detail::Summary) {
        line.push_str("; never read in full");
    }
    if let Some(turn) = entity.demoted {
        line.push_str(&format!("; demoted in turn {turn}"));
    }
    if let Some(reason) = &entity.retention_reason {
        line.push_str(&format!("; kept because: {}", one_line(reason)));
    }
    line + ")"
}

/// Without refs: they mean nothing to the user.
fn reply_line(entity: &Entity) -> String {
    let state = if entity.is_deleted() {
        "deleted"
    } else if entity.is_unsaved() {
        "not saved yet"
    } else {
        "saved"
    };
    if has_label(entity) {
        format!("- {} ({state})", one_line(&entity.label))
    } else {
        format!("- a {} without a name ({state})", one_line(&entity.kind))
    }
}
