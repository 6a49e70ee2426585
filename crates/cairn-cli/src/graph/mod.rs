//! A plan as a graph: what is drawn, and drawing it as Mermaid text or as an SVG picture.
//!
//! Labels are whatever somebody put into a file. What leaves this module is safe to show: no label can end the
//! text it stands in.

mod curves;
mod layers;
mod layout;
mod letters;
mod mermaid;
mod order;
mod svg;

use std::collections::HashMap;

use cairn::core::roadmap::{Node, Phase, Snapshot};

pub(crate) use mermaid::{MOST_EDGES, mermaid};
pub(crate) use svg::{svg, svg_on_page};

/// A plan ready to be drawn, perhaps with the changes from an older one.
pub(crate) struct Graph<'a> {
    pub(crate) title: &'a str,
    pub(crate) nodes: Vec<GraphNode<'a>>,
    pub(crate) edges: Vec<Edge<'a>>,
    /// The stages that a node may belong to.
    pub(crate) phases: Vec<Stage<'a>>,
    /// Whether two plans are compared.
    pub(crate) compared: bool,
}

pub(crate) struct GraphNode<'a> {
    pub(crate) node: &'a Node,
    /// Its stage, as an index.
    pub(crate) phase: Option<usize>,
    pub(crate) mark: Mark,
}

/// `to` needs `from`; both are indexes.
pub(crate) struct Edge<'a> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// In which way, in the author's words.
    pub(crate) kind: Option<&'a str>,
    pub(crate) mark: Mark,
}

pub(crate) struct Stage<'a> {
    pub(crate) id: &'a str,
    title: Option<&'a str>,
}

impl<'a> Stage<'a> {
    pub(crate) fn name(&self) -> &'a str {
        self.title.filter(|title| !title.trim().is_empty()).unwrap_or(self.id)
    }
}

/// What became of something from the older plan to the newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Same,
    Added,
    Removed,
    Changed,
}

impl Mark {
    pub(crate) const CHANGES: [Mark; 3] = [Mark::Added, Mark::Removed, Mark::Changed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mark::Same => "same",
            Mark::Added => "added",
            Mark::Removed => "removed",
            Mark::Changed => "changed",
        }
    }

    /// So that nothing is said by colour alone.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Mark::Same => "",
            Mark::Added => "+",
            Mark::Removed => "−",
            Mark::Changed => "~",
        }
    }
}

impl<'a> Graph<'a> {
    /// One plan.
    pub(crate) fn of(plan: &'a Snapshot) -> Graph<'a> {
        let nodes: Vec<(&Node, Mark)> = plan.nodes.iter().map(|node| (node, Mark::Same)).collect();
        Graph::new(&plan.title, nodes, &[plan], false)
    }

    /// The newer plan with everything that was added, changed and removed marked as such.
    pub(crate) fn compared(old: &'a Snapshot, new: &'a Snapshot) -> Graph<'a> {
        Graph::new(&new.title, merged(&old.nodes, &new.nodes), &[new, old], true)
    }

    /// `plans` are the newer one and perhaps the older one.
    fn new(
        title: &'a str,
        nodes: Vec<(&'a Node, Mark)>,
        plans: &[&'a Snapshot],
        compared: bool,
    ) -> Graph<'a> {
        let mut phases: Vec<Stage<'a>> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let declared = plans.iter().flat_map(|plan| &plan.phases);
        let declared = declared.map(|Phase { id, title, .. }| (id.as_str(), title.as_deref()));
        // A node may name a stage that no plan declares.
        let named = nodes.iter().filter_map(|(node, _)| node.phase.as_deref()).map(|id| (id, None));
        for (id, title) in declared.chain(named) {
            known.entry(id).or_insert_with(|| {
                phases.push(Stage { id, title });
                phases.len() - 1
            });
        }
        let edges = edges(&nodes, plans, compared);
        let nodes = nodes.into_iter().map(|(node, mark)| GraphNode {
            node,
            phase: node.phase.as_deref().map(|id| known[id]),
            mark,
        });
        Graph { title, nodes: nodes.collect(), edges, phases, compared }
    }
}

/// The nodes of both plans by id. Of several with one id, the first is compared with the first, and so on.
fn merged<'a>(old: &'a [Node], new: &'a [Node]) -> Vec<(&'a Node, Mark)> {
    let mut all = Vec::with_capacity(new.len());
    let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
    loop {
        match (olds.peek(), news.peek()) {
            (None, None) => return all,
            (Some(old), Some(new)) if old.id == new.id => {
                all.push((*new, if changed(old, new) { Mark::Changed } else { Mark::Same }));
                olds.next();
                news.next();
            }
            (Some(old), new) if new.is_none_or(|new| old.id < new.id) => {
                all.push((*old, Mark::Removed));
                olds.next();
            }
            (_, Some(new)) => {
                all.push((*new, Mark::Added));
                news.next();
            }
            (Some(_), None) => unreachable!("an old one without a new one is removed above"),
        }
    }
}

/// Who depends on a node is no property of its own: the other end of the edge is marked.
fn changed(old: &Node, new: &Node) -> bool {
    let own = |node: &Node| (node.label.clone(), node.scope.clone(), node.phase.clone());
    own(old) != own(new) || old.dependencies != new.dependencies
}

fn edges<'a>(nodes: &[(&'a Node, Mark)], plans: &[&'a Snapshot], compared: bool) -> Vec<Edge<'a>> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (index, (node, _)) in nodes.iter().enumerate() {
        places.entry(&node.id).or_insert(index);
    }
    let mut kinds: HashMap<(&str, &str), &str> = HashMap::new();
    for connection in plans.iter().flat_map(|plan| &plan.connections) {
        if let Some(kind) = connection.kind.as_deref() {
            kinds.entry((&connection.from, &connection.to)).or_insert(kind);
        }
    }
    let mut edges: Vec<Edge<'a>> = Vec::new();
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for (age, plan) in plans.iter().enumerate() {
        for node in &plan.nodes {
            let Some(&to) = places.get(node.id.as_str()) else { continue };
            for dependency in &node.dependencies {
                // What is not in the plan cannot be drawn.
                let Some(&from) = places.get(dependency.as_str()) else { continue };
                let mark = match (compared, age) {
                    (false, _) => Mark::Same,
                    (true, 0) => Mark::Added,
                    (true, _) => Mark::Removed,
                };
                let index = *known.entry((from, to)).or_insert_with(|| {
                    let kind = kinds.get(&(dependency.as_str(), node.id.as_str())).copied();
                    edges.push(Edge { from, to, kind, mark });
                    edges.len() - 1
                });
                // The older plan has it as well.
                if age > 0 && edges[index].mark == Mark::Added {
                    edges[index].mark = Mark::Same;
                }
            }
        }
    }
    edges
}

/// One line of text without characters that act instead of showing.
fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        let word = word.chars().filter(|&c| !hidden(c));
        let start = line.len();
        if !line.is_empty() {
            line.push(' ');
        }
        let before = line.len();
        line.extend(word);
        if line.len() == before {
            line.truncate(start);
        }
    }
    line
}

/// Reorders text, takes no room, or is forbidden in XML.
fn hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

/// What a node is called.
fn name(node: &Node) -> String {
    let label = clean(&node.label);
    if label.is_empty() { clean(&node.id) } else { label }
}

#[cfg(test)]
pub(crate) mod samples {
    //! Plans to draw in tests.

    use super::*;

    pub(crate) fn node(id: &str, phase: Option<&str>, dependencies: &[&str]) -> Node {
        Node {
            id: id.into(),
            label: format!("Label of {id}"),
            scope: None,
            phase: phase.map(Into::into),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
            dependents: Vec::new(),
        }
    }

    pub(crate) fn plan(nodes: Vec<Node>) -> Snapshot {
        let phase = |id: &str| Phase {
            id: id.into(),
            title: Some(format!("Phase {id}")),
            extra: serde_json::Map::new(),
        };
        let phases = vec![phase("one"), phase("two")];
        Snapshot { title: "The plan".into(), nodes, connections: Vec::new(), phases }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{node, plan};
    use super::*;

    #[test]
    fn two_plans_become_one_graph_with_marks() {
        let old = plan(vec![node("a", None, &[]), node("b", None, &["a"]), node("c", None, &["a"])]);
        let mut new = plan(vec![node("a", None, &[]), node("b", None, &["a", "d"]), node("d", None, &[])]);
        new.nodes[0].dependents.push("x".into());
        let graph = Graph::compared(&old, &new);
        let marks: Vec<_> = graph.nodes.iter().map(|node| (node.node.id.as_str(), node.mark)).collect();
        assert_eq!(
            marks,
            [("a", Mark::Same), ("b", Mark::Changed), ("c", Mark::Removed), ("d", Mark::Added)]
        );
        let edges: Vec<_> = graph.edges.iter().map(|edge| (edge.from, edge.to, edge.mark)).collect();
        assert_eq!(edges, [(0, 1, Mark::Same), (3, 1, Mark::Added), (0, 2, Mark::Removed)]);
    }

    #[test]
    fn stages_and_ends_that_are_not_declared_do_no_harm() {
        let plan = plan(vec![
            node("a", Some("two"), &["nowhere"]),
            node("a", Some("new"), &["a"]),
            node("b", None, &["a"]),
        ]);
        let graph = Graph::of(&plan);
        let phases: Vec<_> = graph.nodes.iter().map(|node| node.phase).collect();
        assert_eq!(phases, [Some(1), Some(2), None]);
        assert_eq!(
            graph.phases.iter().map(Stage::name).collect::<Vec<_>>(),
            ["Phase one", "Phase two", "new"]
        );
        assert_eq!(graph.edges.len(), 2);
    }

    #[test]
    fn a_label_becomes_one_harmless_line() {
        assert_eq!(clean(" a\n\t\x1b[2J b\u{202e}\u{200b}\0 \u{200b} 字 "), "a [2J b 字");
    }
}
