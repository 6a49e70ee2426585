//! A comparison of two snapshots as a person reads it.

use std::collections::{HashMap, HashSet};

use cairn::core::roadmap::diff::{Changes, Diff, Modified};
use cairn::core::roadmap::{Connection, Node};
use cairn::{Comparison, ContextHead};
use serde_json::Value;

use crate::cmd::changes::{self, Changed, Sign, id_width, line, named};
use crate::cmd::plan_page::{Kinds, kinds, need};
use crate::data_plans::short_hash;
use crate::term::{Ui, count, first_line, minute, visible};

pub(in crate::cmd) struct Shown {
    pub(in crate::cmd) page: String,
    /// What was left out, and how to see it.
    pub(in crate::cmd) remark: Option<String>,
}

/// Draws a comparison; `all` shows even what only repeats another change.
pub(in crate::cmd) fn page(
    comparison: &Comparison,
    old: &ContextHead,
    new: &ContextHead,
    all: bool,
    ui: &Ui,
) -> Shown {
    let diff = &comparison.diff;
    let roadmap = visible(comparison.roadmap_id.as_str()).into_owned();
    if diff.identical() {
        let hash = short_hash(&new.content_hash);
        let page = match old.context_id == new.context_id {
            true => {
                format!("Context {} of {roadmap} is identical with itself (hash {hash})\n", new.context_id)
            }
            false => format!(
                "Contexts {} and {} of {roadmap} are identical (hash {hash})\n",
                old.context_id, new.context_id
            ),
        };
        return Shown { page, remark: None };
    }
    let head = |head: &ContextHead| {
        format!(
            "context {}  {}  {}",
            head.context_id,
            minute(&head.created_at),
            short_hash(&head.content_hash)
        )
    };
    let mut page = format!("{}\n", ui.palette.strong(&format!("plan {roadmap}")));
    page.push_str(&format!("{}\n", ui.palette.removed(&format!("--- {}", head(old)))));
    page.push_str(&format!("{}\n", ui.palette.added(&format!("+++ {}", head(new)))));
    let mut totals = Vec::new();
    if diff.title_changed {
        page.push_str(&heading("title", ui));
        line(&mut page, Sign::Removed, &first_line(&diff.title.old), 0, ui);
        line(&mut page, Sign::Added, &first_line(&diff.title.new), 0, ui);
        totals.push("title changed".to_string());
    }
    phases(&mut page, diff, &mut totals, ui);
    let hidden_nodes = nodes(&mut page, diff, all, &mut totals, ui);
    let hidden_connections = connections(&mut page, diff, all, &mut totals, ui);
    if !totals.is_empty() {
        page.push_str(&format!("\n{}\n", totals.join("; ")));
    }
    let hidden: Vec<String> = [(hidden_nodes, "node"), (hidden_connections, "connection")]
        .into_iter()
        .filter(|(hidden, _)| *hidden > 0)
        .map(|(hidden, noun)| count(hidden as u64, noun))
        .collect();
    let remark = (!hidden.is_empty())
        .then(|| format!("`--all` also shows {} whose change only repeats these", hidden.join(" and ")));
    Shown { page, remark }
}

fn heading(name: &str, ui: &Ui) -> String {
    format!("\n{}\n", ui.palette.strong(name))
}

fn phases(page: &mut String, diff: &Diff, totals: &mut Vec<String>, ui: &Ui) {
    let Changes { added, removed, modified } = &diff.phases.changes;
    // The order is of its own only if phases that stayed changed places.
    let order = diff.phases.order.as_ref().filter(|order| {
        let stayed = |ids: &[String], others: &[String]| -> Vec<String> {
            let others: HashSet<&String> = others.iter().collect();
            ids.iter().filter(|id| others.contains(id)).cloned().collect()
        };
        stayed(&order.old, &order.new) != stayed(&order.new, &order.old)
    });
    if added.len() + removed.len() + modified.len() == 0 && order.is_none() {
        return;
    }
    page.push_str(&heading("phases", ui));
    let ids =
        added.iter().chain(removed).map(|phase| &phase.id).chain(modified.iter().map(|phase| &phase.id));
    let width = id_width(ids);
    let places = diff.phases.order.as_ref().map(|order| before(&order.new));
    for phase in added {
        let place = places.as_ref().and_then(|places| places.get(phase.id.as_str()));
        let place = place.map(|place| format!("  ({place})")).unwrap_or_default();
        let title = named(&phase.id, phase.title.as_deref().unwrap_or_default(), width);
        line(page, Sign::Added, &(title + &place), 0, ui);
    }
    for phase in removed {
        line(
            page,
            Sign::Removed,
            &named(&phase.id, phase.title.as_deref().unwrap_or_default(), width),
            0,
            ui,
        );
    }
    for phase in modified {
        let label = phase.label.as_deref().unwrap_or_default();
        let one = Changed { id: &phase.id, label, named_by: "title", fields: &phase.fields };
        one.draw(page, &[], &|id| id.to_string(), (0, width), ui);
    }
    if let Some(order) = order {
        line(page, Sign::Changed, "order", 0, ui);
        let lines = [(Sign::Removed, order.old.join(", ")), (Sign::Added, order.new.join(", "))];
        changes::draw(page, &lines, 4, ui);
    }
    let mut total = total("phase", added.len(), removed.len(), modified.len());
    if order.is_some() {
        let separator = if total.is_empty() { "" } else { ", " };
        total = format!("{total}{separator}phases in another order");
    }
    totals.push(total);
}

/// Where each phase stands: `after load`.
fn before(order: &[String]) -> HashMap<&str, String> {
    let after = |before: &String| format!("after {}", first_line(before));
    let places = std::iter::once("first".to_string()).chain(order.iter().map(after));
    // Of several with one id the first counts, which is put in last.
    order.iter().map(String::as_str).zip(places).collect::<Vec<_>>().into_iter().rev().collect()
}

/// Returns how many nodes were left out.
fn nodes(page: &mut String, diff: &Diff, all: bool, totals: &mut Vec<String>, ui: &Ui) -> usize {
    let Changes { added, removed, modified } = &diff.nodes;
    let hidden: &[&str] = if all { &[] } else { &["dependents"] };
    // Who needs a node is no news beside the one who does.
    let shown: Vec<&Modified> = modified
        .iter()
        .filter(|node| node.fields.keys().any(|field| !hidden.contains(&field.as_str())))
        .collect();
    if added.len() + removed.len() + shown.len() == 0 {
        return modified.len();
    }
    page.push_str(&heading("nodes", ui));
    let ids = added.iter().chain(removed).map(|node| &node.id).chain(shown.iter().map(|node| &node.id));
    let width = id_width(ids);
    let (new_kinds, old_kinds) = (kinds(&diff.connections.added), kinds(&diff.connections.removed));
    for node in added {
        line(page, Sign::Added, &named(&node.id, &node.label, width), 0, ui);
        changes::draw(page, &details(node, &new_kinds), 4, ui);
    }
    for node in removed {
        line(page, Sign::Removed, &named(&node.id, &node.label, width), 0, ui);
    }
    for node in &shown {
        let item = |id: &str| {
            let named = need(id, &node.id, &new_kinds);
            if named == id { need(id, &node.id, &old_kinds) } else { named }
        };
        let label = node.label.as_deref().unwrap_or_default();
        let one = Changed { id: &node.id, label, named_by: "label", fields: &node.fields };
        one.draw(page, hidden, &item, (0, width), ui);
    }
    totals.push(total("node", added.len(), removed.len(), shown.len()));
    modified.len() - shown.len()
}

/// What there is to say about a node that is new.
fn details(node: &Node, kinds: &Kinds<'_>) -> Vec<changes::Line> {
    let needs: Vec<String> = node.dependencies.iter().map(|from| need(from, &node.id, kinds)).collect();
    let fields = [
        ("phase", node.phase.clone()),
        ("scope", node.scope.clone()),
        ("dependencies", (!needs.is_empty()).then(|| needs.join(", "))),
    ];
    let lines = fields.into_iter().filter_map(|(name, text)| Some((name, text?)));
    lines.map(|(name, text)| changes::field(Sign::Added, name, &text)).collect()
}

/// Returns how many connections were left out.
fn connections(page: &mut String, diff: &Diff, all: bool, totals: &mut Vec<String>, ui: &Ui) -> usize {
    let Changes { added, removed, modified } = &diff.connections;
    let said = Said::by(diff);
    let shown = |said: &HashSet<(String, String)>, connections: &[Connection]| -> Vec<Connection> {
        let news = |connection: &&Connection| {
            all || !said.contains(&(connection.from.clone(), connection.to.clone()))
        };
        connections.iter().filter(news).cloned().collect()
    };
    let (come, gone) = (shown(&said.come, added), shown(&said.gone, removed));
    let hidden = added.len() + removed.len() - come.len() - gone.len();
    if come.len() + gone.len() + modified.len() == 0 {
        return hidden;
    }
    page.push_str(&heading("connections", ui));
    for (sign, connections) in [(Sign::Added, &come), (Sign::Removed, &gone)] {
        for Connection { id, from, to, kind } in connections {
            let kind = kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            let id = if *id == format!("{from}->{to}") { String::new() } else { format!("  {id}") };
            line(page, sign, &first_line(&format!("{from} → {to}{kind}{id}")), 0, ui);
        }
    }
    for connection in modified {
        line(page, Sign::Changed, &first_line(&connection.id), 0, ui);
        changes::draw(page, &changes::changed(&connection.fields, &[], &|id| id.to_string()), 4, ui);
    }
    totals.push(total("connection", come.len(), gone.len(), modified.len()));
    hidden
}

/// The connections that the nodes already tell of, as `(from, to)`.
struct Said {
    come: HashSet<(String, String)>,
    gone: HashSet<(String, String)>,
}

impl Said {
    fn by(diff: &Diff) -> Said {
        let (mut come, mut gone) = (HashSet::new(), HashSet::new());
        let pairs = |node: &Node| -> Vec<(String, String)> {
            node.dependencies.iter().map(|from| (from.clone(), node.id.clone())).collect()
        };
        come.extend(diff.nodes.added.iter().flat_map(pairs));
        gone.extend(diff.nodes.removed.iter().flat_map(pairs));
        for node in &diff.nodes.modified {
            let Some(field) = node.fields.get("dependencies") else { continue };
            let side = |side: &str| -> HashSet<&str> {
                field[side].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
            };
            let (old, new) = (side("old"), side("new"));
            let pair = |from: &&str| (from.to_string(), node.id.clone());
            come.extend(new.difference(&old).map(pair));
            gone.extend(old.difference(&new).map(pair));
        }
        Said { come, gone }
    }
}

/// `2 nodes added, 1 removed, 3 changed`
fn total(noun: &str, added: usize, removed: usize, changed: usize) -> String {
    let mut total = String::new();
    for (number, verb) in [(added, "added"), (removed, "removed"), (changed, "changed")] {
        match (number, total.is_empty()) {
            (0, _) => {}
            (_, true) => total = format!("{} {verb}", count(number as u64, noun)),
            (_, false) => total.push_str(&format!(", {number} {verb}")),
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use cairn::core::id::RoadmapId;
    use cairn::core::roadmap::Snapshot;
    use cairn::{Sha, Timestamp};
    use serde_json::json;

    use super::*;
    use crate::term::{ColorChoice, Ui};

    fn shown(old: Value, new: Value, all: bool) -> Shown {
        let plan = |value: Value| -> Snapshot { serde_json::from_value(value).unwrap() };
        let time = || Timestamp::parse("2026-04-17T12:00:00Z").unwrap();
        let roadmap_id = || RoadmapId::new("import").unwrap();
        let head = |context_id: u64| ContextHead {
            context_id,
            roadmap_id: roadmap_id(),
            content_hash: Sha::of(&[]),
            node_count: 0,
            created_at: time(),
            metadata: None,
            redacted: None,
            seq: 1,
        };
        let comparison = Comparison {
            roadmap_id: roadmap_id(),
            context_id1: 1,
            context_id2: 2,
            created_at1: time(),
            created_at2: time(),
            diff: Diff::between(&plan(old), &plan(new)),
        };
        let ui = Ui { width: 60, ..Ui::new(false, ColorChoice::Never) };
        page(&comparison, &head(1), &head(2), all, &ui)
    }

    fn plan(nodes: Value, connections: Value, phases: Value) -> Value {
        json!({"title": "T", "nodes": nodes, "connections": connections, "phases": phases})
    }

    /// Without the three lines of the head.
    fn body(shown: &Shown) -> &str {
        let start = shown.page.find("\n\n").unwrap();
        &shown.page[start + 2..]
    }

    #[test]
    fn phases_that_changed_places_are_shown_in_both_orders() {
        let phases = |ids: &[&str]| {
            plan(json!([]), json!([]), json!(ids.iter().map(|id| json!({"id": id})).collect::<Vec<_>>()))
        };
        let moved = shown(phases(&["a", "b", "c"]), phases(&["new", "b", "a"]), false);
        let expected = "phases\n+ new  (first)\n- c\n~ order\n    - a, b, c\n    + new, b, a\n\n1 phase added, 1 removed, phases in another order\n";
        assert_eq!(body(&moved), expected);
        let appended = shown(phases(&["a"]), phases(&["a", "b"]), false);
        assert_eq!(body(&appended), "phases\n+ b\n\n1 phase added\n");
        let swapped = shown(phases(&["a", "b"]), phases(&["b", "a"]), false);
        assert!(body(&swapped).ends_with("\n\nphases in another order\n"), "{}", swapped.page);
    }

    #[test]
    fn a_connection_is_shown_only_where_no_node_tells_of_it() {
        let node = |id: &str, needs: &[&str]| json!({"id": id, "label": id, "scope": null, "phase": null, "dependencies": needs, "dependents": []});
        let leads = |id: &str, from: &str, to: &str, kind: Option<&str>| json!({"id": id, "from": from, "to": to, "type": kind});
        let old = plan(
            json!([node("a", &[]), node("b", &["a"])]),
            json!([leads("a->b", "a", "b", None), leads("x", "b", "a", Some("blocks"))]),
            json!([]),
        );
        let new = plan(
            json!([node("a", &[]), node("b", &["a"]), node("c", &["b"])]),
            json!([
                leads("b->c", "b", "c", None),
                leads("b->nowhere", "b", "nowhere", None),
                leads("x", "b", "a", None)
            ]),
            json!([]),
        );
        let once = shown(old.clone(), new.clone(), false);
        let expected = "nodes\n+ c  c\n    + needs: b\n\n\
                        connections\n+ b → nowhere\n- a → b\n~ x\n    - type: blocks\n\n\
                        1 node added; 1 connection added, 1 removed, 1 changed\n";
        assert_eq!(body(&once), expected);
        assert_eq!(once.remark.unwrap(), "`--all` also shows 1 connection whose change only repeats these");
        let all = shown(old, new, true);
        assert!(body(&all).contains("+ b → c\n") && all.remark.is_none());
    }

    #[test]
    fn long_names_stand_below_each_other_and_keep_to_the_width() {
        let node = |label: String| {
            let node = json!({"id": "n", "label": label, "scope": null, "phase": null, "dependencies": [], "dependents": []});
            plan(json!([node]), json!([]), json!([]))
        };
        let page = shown(node("old ".repeat(20)), node("new\x1b ".repeat(20)), false);
        assert!(body(&page).starts_with("nodes\n~ n  (renamed)\n    - label: old old"), "{}", page.page);
        assert!(page.page.lines().all(|line| line.chars().count() <= 60), "{}", page.page);
        assert!(!page.page.contains('\x1b'));
        // Two names that differ only in what cannot be seen do not pass for one.
        let page = shown(node("a".into()), node("a\n".into()), false);
        assert!(body(&page).contains("- label: \"a\"\n    + label: \"a\\n\"\n"), "{}", page.page);
    }
}
