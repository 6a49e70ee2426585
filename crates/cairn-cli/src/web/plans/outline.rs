//! A plan as a list: phase by phase, each node with what it needs.

use std::collections::HashMap;

use cairn::core::roadmap::{Node, Snapshot};
use maud::{Markup, html};

use super::picture::anchor;
use crate::web::text::text;

/// The nodes of a plan below their phases. Each has an anchor by its index in the plan.
pub(super) fn outline(plan: &Snapshot) -> Markup {
    let places: HashMap<&str, usize> =
        plan.nodes.iter().enumerate().rev().map(|(index, node)| (node.id.as_str(), index)).collect();
    let kinds: HashMap<(&str, &str), &str> = plan
        .connections
        .iter()
        .filter_map(|one| Some(((one.from.as_str(), one.to.as_str()), one.kind.as_deref()?)))
        .collect();
    html! {
        @for (heading, nodes) in stages(plan) {
            section.stage {
                h3 { (heading) }
                @if nodes.is_empty() { p.faint { "No nodes." } }
                ul.nodes {
                    @for index in nodes {
                        li id=(anchor(index)) { (described(&plan.nodes[index], &places, &kinds)) }
                    }
                }
            }
        }
    }
}

/// The phases in their order, those that only nodes name after them, and last what has none.
fn stages(plan: &Snapshot) -> Vec<(Markup, Vec<usize>)> {
    let mut stages: Vec<(Markup, Vec<usize>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for phase in &plan.phases {
        let title = phase.title.as_deref().filter(|title| !title.trim().is_empty());
        let heading = html! {
            (text(title.unwrap_or(&phase.id)))
            @if title.is_some() { " " code.faint { (text(&phase.id)) } }
        };
        known.entry(&phase.id).or_insert(stages.len());
        stages.push((heading, Vec::new()));
    }
    let mut others = Vec::new();
    for (index, node) in plan.nodes.iter().enumerate() {
        match node.phase.as_deref() {
            None => others.push(index),
            Some(id) => {
                let stage = *known.entry(id).or_insert_with(|| {
                    stages
                        .push((html! { (text(id)) " " span.faint { "(not among the phases)" } }, Vec::new()));
                    stages.len() - 1
                });
                stages[stage].1.push(index);
            }
        }
    }
    if !others.is_empty() {
        let heading = if stages.is_empty() { "Nodes" } else { "Without a phase" };
        stages.push((html! { (heading) }, others));
    }
    stages
}

fn described(node: &Node, places: &HashMap<&str, usize>, kinds: &HashMap<(&str, &str), &str>) -> Markup {
    html! {
        strong { (text(&node.label)) } " " code.faint { (text(&node.id)) }
        @if let Some(scope) = node.scope.as_deref().filter(|scope| !scope.trim().is_empty()) {
            p.said { (text(scope)) }
        }
        @if !node.dependencies.is_empty() {
            p.small {
                span.faint { "needs " }
                @for (at, from) in node.dependencies.iter().enumerate() {
                    @if at > 0 { ", " }
                    (other(from, places))
                    @if let Some(kind) = kinds.get(&(from.as_str(), node.id.as_str())) {
                        " (" (text(kind)) ")"
                    }
                }
            }
        }
        @if !node.dependents.is_empty() {
            p.small {
                span.faint { "needed by " }
                @for (at, by) in node.dependents.iter().enumerate() {
                    @if at > 0 { ", " }
                    (other(by, places))
                }
            }
        }
    }
}

/// Another node by its id: a link, if the plan has it.
fn other(id: &str, places: &HashMap<&str, usize>) -> Markup {
    match places.get(id) {
        Some(index) => html! { a href=(format!("#{}", anchor(*index))) { (text(id)) } },
        None => html! { (text(id)) span.faint { " (not in the plan)" } },
    }
}
