//! What changed between two plans, in words. A sign stands beside every colour.

use std::collections::{HashMap, HashSet};

use cairn::core::roadmap::diff::{Changes, Counts, Diff, Modified};
use cairn::core::roadmap::{Connection, Node, Phase, Snapshot};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::picture::anchor;
use crate::term::count;
use crate::web::text::text;

/// Where changed nodes are drawn: by what became of them (a name of [`crate::graph::Mark`]) and their id.
pub(super) type Anchors = HashMap<(&'static str, String), usize>;

/// What happened to something.
#[derive(Clone, Copy)]
enum Sign {
    Added,
    Removed,
    Modified,
}

impl Sign {
    fn class(self) -> &'static str {
        match self {
            Sign::Added => "added",
            Sign::Removed => "removed",
            Sign::Modified => "modified",
        }
    }

    fn shown(self) -> Markup {
        let sign = match self {
            Sign::Added => "+",
            Sign::Removed => "−",
            Sign::Modified => "~",
        };
        // The word is for those who hear the page, the sign for those who see it.
        html! {
            span.sign.(self.class()) { span aria-hidden="true" { (sign) } span.visually-hidden { (self.class()) } } " "
        }
    }
}

/// How much changed, in a few marks.
pub(super) fn counted(counts: &Counts, title_changed: bool) -> Markup {
    let parts = [
        ("node", counts.nodes_added, counts.nodes_removed, counts.nodes_modified),
        ("connection", counts.connections_added, counts.connections_removed, counts.connections_modified),
        ("phase", counts.phases_added, counts.phases_removed, counts.phases_modified),
    ];
    html! {
        @if title_changed { span.change.modified { "~ title" } " " }
        @for (noun, added, removed, modified) in parts {
            @for (number, sign, class, word) in [(added, "+", "added", "added"), (removed, "−", "removed", "removed"), (modified, "~", "modified", "modified")] {
                @if number > 0 {
                    span.change.(class) title=(word) {
                        span aria-hidden="true" { (sign) } " " (count(number as u64, noun))
                        span.visually-hidden { " " (word) }
                    } " "
                }
            }
        }
    }
}

/// Everything that changed, part by part.
pub(super) fn differences(diff: &Diff, old: &Snapshot, new: &Snapshot, anchors: &Anchors) -> Markup {
    html! {
        @if diff.title_changed {
            h2 { "Title" }
            ul.bare.differences { li { (change("title", Some(&diff.title.old), Some(&diff.title.new))) } }
        }
        (nodes(diff, anchors))
        (connections(&diff.connections, old, new))
        (phases(diff))
    }
}

fn nodes(diff: &Diff, anchors: &Anchors) -> Markup {
    let Changes { added, removed, modified } = &diff.nodes;
    // Who needs a node is no news beside the one who does.
    let (own, echoes): (Vec<&Modified>, Vec<&Modified>) =
        modified.iter().partition(|node| node.fields.keys().any(|field| field != "dependents"));
    let place =
        |mark: &'static str, id: &str| anchors.get(&(mark, id.to_string())).map(|index| anchor(*index));
    html! {
        @if added.len() + removed.len() + modified.len() > 0 { h2 { "Nodes" } }
        ul.bare.differences {
            @for node in added { li.added id=[place("added", &node.id)] { (whole(Sign::Added, node)) } }
            @for node in removed { li.removed id=[place("removed", &node.id)] { (whole(Sign::Removed, node)) } }
            @for node in own {
                li.modified id=[place("changed", &node.id)] {
                    (Sign::Modified.shown()) strong { (text(node.label.as_deref().unwrap_or(&node.id))) } " "
                    code.faint { (text(&node.id)) }
                    (fields(&node.fields, &["dependents"]))
                }
            }
        }
        @if !echoes.is_empty() {
            details {
                summary { (count(echoes.len() as u64, "more node")) " changed only in what needs them" }
                ul.bare.differences {
                    @for node in echoes {
                        li.modified {
                            (Sign::Modified.shown()) (text(node.label.as_deref().unwrap_or(&node.id))) " "
                            code.faint { (text(&node.id)) }
                            (fields(&node.fields, &[]))
                        }
                    }
                }
            }
        }
    }
}

/// A node that only one of the plans has.
fn whole(sign: Sign, node: &Node) -> Markup {
    html! {
        (sign.shown()) strong { (text(&node.label)) } " " code.faint { (text(&node.id)) }
        @if let Some(phase) = &node.phase { p.small { span.faint { "phase " } (text(phase)) } }
        @if let Some(scope) = node.scope.as_deref().filter(|scope| !scope.trim().is_empty()) { p.said { (text(scope)) } }
        @if !node.dependencies.is_empty() {
            p.small { span.faint { "needs " } (text(&node.dependencies.join(", "))) }
        }
    }
}

fn connections(changes: &Changes<Connection>, old: &Snapshot, new: &Snapshot) -> Markup {
    let Changes { added, removed, modified } = changes;
    let labels = |plan: &Snapshot| -> HashMap<String, String> {
        plan.nodes.iter().map(|node| (node.id.clone(), node.label.clone())).collect()
    };
    let (old, new) = (labels(old), labels(new));
    let line = |sign: Sign, one: &Connection, labels: &HashMap<String, String>| {
        let label = |id: &str| labels.get(id).map_or(id, String::as_str).to_string();
        html! {
            (sign.shown()) (text(&label(&one.from))) " → " (text(&label(&one.to)))
            @if let Some(kind) = &one.kind { " (" (text(kind)) ")" }
            " " code.faint { (text(&one.id)) }
        }
    };
    html! {
        @if added.len() + removed.len() + modified.len() > 0 { h2 { "Connections" } }
        ul.bare.differences.tight {
            @for one in added { li.added { (line(Sign::Added, one, &new)) } }
            @for one in removed { li.removed { (line(Sign::Removed, one, &old)) } }
            @for one in modified {
                li.modified { (Sign::Modified.shown()) code { (text(&one.id)) } (fields(&one.fields, &[])) }
            }
        }
    }
}

fn phases(diff: &Diff) -> Markup {
    let Changes { added, removed, modified } = &diff.phases.changes;
    let title = |phase: &Phase| phase.title.clone().unwrap_or_else(|| phase.id.clone());
    html! {
        @if added.len() + removed.len() + modified.len() > 0 || diff.phases.order.is_some() { h2 { "Phases" } }
        ul.bare.differences.tight {
            @for phase in added { li.added { (Sign::Added.shown()) (text(&title(phase))) " " code.faint { (text(&phase.id)) } } }
            @for phase in removed { li.removed { (Sign::Removed.shown()) (text(&title(phase))) " " code.faint { (text(&phase.id)) } } }
            @for phase in modified {
                li.modified {
                    (Sign::Modified.shown()) (text(phase.label.as_deref().unwrap_or(&phase.id))) " " code.faint { (text(&phase.id)) }
                    (fields(&phase.fields, &[]))
                }
            }
            @if let Some(order) = &diff.phases.order {
                li.modified {
                    (Sign::Modified.shown()) "order"
                    (change("order", Some(&order.old.join(", ")), Some(&order.new.join(", "))))
                }
            }
        }
    }
}

/// The fields that changed, each `{old?, new?}`, but those of `hidden`.
fn fields(fields: &Map<String, Value>, hidden: &[&str]) -> Markup {
    html! {
        @for (name, values) in fields.iter().filter(|(name, _)| !hidden.contains(&name.as_str())) {
            @match (values.get("old").and_then(texts), values.get("new").and_then(texts)) {
                (Some(old), Some(new)) => (listed(called(name), &old, &new)),
                _ => (change(called(name), value(values.get("old")).as_deref(), value(values.get("new")).as_deref())),
            }
        }
    }
}

/// What people call a field.
fn called(field: &str) -> &str {
    match field {
        "dependencies" => "needs",
        "dependents" => "needed by",
        other => other,
    }
}

/// One value before and after.
fn change(name: &str, old: Option<&str>, new: Option<&str>) -> Markup {
    html! {
        div.field {
            span.name { (text(name)) }
            @if let Some(old) = old { del { span aria-hidden="true" { "−\u{a0}" } (text(old)) } }
            @if old.is_some() && new.is_some() { span.arrow aria-hidden="true" { " → " } }
            @if let Some(new) = new { ins { span aria-hidden="true" { "+\u{a0}" } (text(new)) } }
        }
    }
}

/// Of a list only what came and went.
fn listed(name: &str, old: &[&str], new: &[&str]) -> Markup {
    let (had, has): (HashSet<&&str>, HashSet<&&str>) = (old.iter().collect(), new.iter().collect());
    html! {
        div.field {
            span.name { (text(name)) }
            @for gone in old.iter().filter(|one| !has.contains(one)) { del { span aria-hidden="true" { "−\u{a0}" } (text(gone)) } " " }
            @for come in new.iter().filter(|one| !had.contains(one)) { ins { span aria-hidden="true" { "+\u{a0}" } (text(come)) } " " }
        }
    }
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// A value as a person reads it; none if there is none.
fn value(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    }
}
