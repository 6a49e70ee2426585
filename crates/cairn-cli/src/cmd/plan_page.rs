//! A plan as a person reads it: phase by phase, each node with what it needs.

use std::collections::HashMap;

use cairn::core::roadmap::{Connection, Node, Phase};

use crate::term::{Ui, columns, cut, first_line, pad, visible, wrap};

/// Columns that an id takes at most; a longer one moves its label to the right.
const WIDEST_ID: usize = 24;

/// Draws the nodes of a plan below their phases, in the order in which they are given.
pub(super) fn plan(nodes: &[&Node], connections: &[Connection], phases: &[Phase], ui: &Ui) -> String {
    let mut headings: Vec<String> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for phase in phases {
        known.entry(&phase.id).or_insert(headings.len());
        let id = visible(&phase.id);
        let heading = match phase.title.as_deref().map(first_line).filter(|title| !title.is_empty()) {
            Some(title) => format!("{}  {}", ui.palette.strong(&title), ui.palette.faint(&id)),
            None => ui.palette.strong(&id),
        };
        headings.push(heading);
    }
    let mut below: Vec<Vec<&Node>> = vec![Vec::new(); headings.len()];
    let mut others: Vec<&Node> = Vec::new();
    for node in nodes {
        let phase = node.phase.as_deref().map(|id| {
            *known.entry(id).or_insert_with(|| {
                let note = ui.palette.faint("not among the phases");
                headings.push(format!("{}  {note}", ui.palette.strong(&visible(id))));
                below.push(Vec::new());
                headings.len() - 1
            })
        });
        match phase {
            Some(phase) => below[phase].push(node),
            None => others.push(node),
        }
    }
    if !others.is_empty() {
        headings.push(ui.palette.strong(if headings.is_empty() { "nodes" } else { "no phase" }));
        below.push(others);
    }
    let width = nodes.iter().map(|node| columns(&first_line(&node.id))).max().unwrap_or(0).min(WIDEST_ID);
    let kinds = kinds(connections);
    let mut page = String::new();
    for (heading, nodes) in headings.iter().zip(below) {
        page.push_str(&format!("\n{heading}\n"));
        if nodes.is_empty() {
            page.push_str(&format!("  {}\n", ui.palette.faint("no nodes")));
        }
        for one in nodes {
            node(&mut page, one, &kinds, width, ui);
        }
    }
    page
}

/// How a dependency is called where somebody named it.
pub(super) type Kinds<'a> = HashMap<(&'a str, &'a str), &'a str>;

pub(super) fn kinds(connections: &[Connection]) -> Kinds<'_> {
    let named = connections.iter().filter_map(|connection| {
        let kind = connection.kind.as_deref()?;
        Some(((connection.from.as_str(), connection.to.as_str()), kind))
    });
    named.collect()
}

/// `fetch`, or `fetch (blocks)`.
pub(super) fn need(from: &str, to: &str, kinds: &Kinds<'_>) -> String {
    match kinds.get(&(from, to)) {
        Some(kind) => format!("{from} ({kind})"),
        None => from.to_string(),
    }
}

fn node(page: &mut String, node: &Node, kinds: &Kinds<'_>, width: usize, ui: &Ui) {
    let id = pad(&first_line(&node.id), width);
    let room = ui.width.saturating_sub(columns(&id) + 4).max(20);
    page.push_str(&format!("  {}  {}\n", ui.palette.faint(&id), cut(&first_line(&node.label), room)));
    let mut below = |text: &str, faint: bool| {
        for line in wrap(visible(text).trim_end(), ui.width.saturating_sub(width + 4).max(20)) {
            let line = if faint { ui.palette.faint(&line) } else { line };
            page.push_str(format!("{}{line}", " ".repeat(width + 4)).trim_end());
            page.push('\n');
        }
    };
    node.scope
        .as_deref()
        .filter(|scope| !scope.trim().is_empty())
        .into_iter()
        .for_each(|scope| below(scope, true));
    if !node.dependencies.is_empty() {
        let needs: Vec<String> = node.dependencies.iter().map(|from| need(from, &node.id, kinds)).collect();
        below(&format!("needs {}", needs.join(", ")), false);
    }
}
