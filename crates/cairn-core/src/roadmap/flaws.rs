//! What a plan should not have: ids that stand twice, references to nothing, cycles.
//!
//! A flawed plan can still be frozen, since it is evidence; whoever writes one is told.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};

use super::{Connection, Node, Phase};
use crate::preview::preview;

/// One flaw, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Which part of the plan.
    pub place: Place,
    /// Which field of it.
    pub field: &'static str,
    /// What is wrong.
    pub message: String,
}

/// A part of a plan by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the list of nodes.
    Node(usize),
    /// In the list of connections.
    Connection(usize),
    /// In the list of phases.
    Phase(usize),
}

impl Flaw {
    /// The field as a path: `nodes[3].dependencies`.
    pub fn path(&self) -> String {
        let (list, index) = match self.place {
            Place::Node(index) => ("nodes", index),
            Place::Connection(index) => ("connections", index),
            Place::Phase(index) => ("phases", index),
        };
        format!("{list}[{index}].{}", self.field)
    }
}

impl Serialize for Flaw {
    /// As clients see it: one sentence with its place.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}: {}", self.path(), self.message))
    }
}

/// Finds every flaw, in time linear in the size of the plan.
pub fn flaws<'a>(
    nodes: impl Iterator<Item = &'a Node> + Clone,
    connections: &[Connection],
    phases: &[Phase],
) -> Vec<Flaw> {
    let mut found = Vec::new();
    let mut add = |place, field, message| found.push(Flaw { place, field, message });

    let mut ids: HashMap<&str, usize> = HashMap::with_capacity(nodes.size_hint().0);
    for (index, node) in nodes.clone().enumerate() {
        match ids.entry(&node.id) {
            Entry::Occupied(first) => {
                let message = format!("nodes[{}] has the id {} already", first.get(), shown(&node.id));
                add(Place::Node(index), "id", message);
            }
            Entry::Vacant(free) => drop(free.insert(index)),
        }
    }
    let mut phase_ids: HashSet<&str> = HashSet::new();
    for (index, phase) in phases.iter().enumerate() {
        if !phase_ids.insert(&phase.id) {
            let message = format!("another phase has the id {} already", shown(&phase.id));
            add(Place::Phase(index), "id", message);
        }
    }
    let mut needs = Needs::default();
    for (index, node) in nodes.clone().enumerate() {
        for dependency in &node.dependencies {
            match ids.get(dependency.as_str()) {
                Some(&needed) => needs.flat.push(needed),
                None => {
                    let message = format!("there is no node {}", shown(dependency));
                    add(Place::Node(index), "dependencies", message);
                }
            }
        }
        needs.ends.push(needs.flat.len());
        if let Some(phase) = node.phase.as_deref().filter(|phase| !phase_ids.contains(phase)) {
            add(Place::Node(index), "phase", format!("there is no phase {}", shown(phase)));
        }
    }
    let mut connection_ids: HashSet<&str> = HashSet::with_capacity(connections.len());
    for (index, connection) in connections.iter().enumerate() {
        if !connection_ids.insert(&connection.id) {
            let message = format!("another connection has the id {} already", shown(&connection.id));
            add(Place::Connection(index), "id", message);
        }
        for (field, end) in [("from", &connection.from), ("to", &connection.to)] {
            if !ids.contains_key(end.as_str()) {
                add(Place::Connection(index), field, format!("there is no node {}", shown(end)));
            }
        }
    }
    let nodes: Vec<&Node> = nodes.collect();
    for cycle in cycles(&needs) {
        let message = match &cycle[..] {
            [only] => format!("node {} depends on itself", shown(&nodes[*only].id)),
            _ => format!("these nodes depend on each other in a circle: {}", circle(&nodes, &cycle)),
        };
        add(Place::Node(cycle[0]), "dependencies", message);
    }
    found
}

fn shown(id: &str) -> String {
    format!("`{}`", preview(id, 80))
}

fn circle(nodes: &[&Node], cycle: &[usize]) -> String {
    const MOST: usize = 8;
    let mut names: Vec<String> =
        cycle.iter().take(MOST).map(|&index| preview(&nodes[index].id, 40).into_owned()).collect();
    if cycle.len() > MOST {
        names.push(format!("… ({} in all)", cycle.len()));
    }
    names.push(preview(&nodes[cycle[0]].id, 40).into_owned());
    names.join(" → ")
}

/// The nodes that each node needs, one list after the other.
#[derive(Default)]
struct Needs {
    flat: Vec<usize>,
    ends: Vec<usize>,
}

impl Needs {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn of(&self, node: usize) -> &[usize] {
        let start = if node == 0 { 0 } else { self.ends[node - 1] };
        &self.flat[start..self.ends[node]]
    }
}

/// One circle for each group of nodes that all depend on each other.
fn cycles(needs: &Needs) -> Vec<Vec<usize>> {
    let group = groups(needs);
    let mut seen: HashSet<usize> = HashSet::new();
    let mut found = Vec::new();
    for start in 0..needs.len() {
        if seen.contains(&group[start]) {
            continue;
        }
        let inside = |index: &&usize| group[**index] == group[start];
        // Within a group every walk stays in it and must come back to a node it has met.
        let mut walk = vec![start];
        let mut met: HashMap<usize, usize> = HashMap::from([(start, 0)]);
        while let Some(&next) = needs.of(walk[walk.len() - 1]).iter().find(inside) {
            if let Some(&place) = met.get(&next) {
                found.push(walk.split_off(place));
                break;
            }
            met.insert(next, walk.len());
            walk.push(next);
        }
        seen.insert(group[start]);
    }
    found
}

/// Tarjan's strongly connected components, without recursion: a plan may be ten thousand nodes deep.
fn groups(needs: &Needs) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let count = needs.len();
    let (mut order, mut low, mut group) = (vec![NEW; count], vec![0; count], vec![NEW; count]);
    let (mut stack, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    let (mut next_order, mut next_group) = (0, 0);
    for root in 0..count {
        if order[root] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((node, edge)) = path.pop() {
            if edge == 0 {
                order[node] = next_order;
                low[node] = next_order;
                next_order += 1;
                stack.push(node);
            }
            match needs.of(node).get(edge) {
                Some(&next) => {
                    path.push((node, edge + 1));
                    if order[next] == NEW {
                        path.push((next, 0));
                    } else if group[next] == NEW {
                        low[node] = low[node].min(order[next]);
                    }
                }
                None => {
                    if let Some(&(above, _)) = path.last() {
                        low[above] = low[above].min(low[node]);
                    }
                    if low[node] == order[node] {
                        while let Some(member) = stack.pop() {
                            group[member] = next_group;
                            if member == node {
                                break;
                            }
                        }
                        next_group += 1;
                    }
                }
            }
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, dependencies: &[&str], phase: Option<&str>) -> Node {
        Node {
            id: id.into(),
            label: id.into(),
            scope: None,
            phase: phase.map(Into::into),
            dependencies: dependencies.iter().map(ToString::to_string).collect(),
            dependents: Vec::new(),
        }
    }

    fn found(nodes: &[Node], connections: &[Connection]) -> Vec<String> {
        let phases = [Phase { id: "p".into(), title: None, extra: Default::default() }];
        flaws(nodes.iter(), connections, &phases)
            .iter()
            .map(|flaw| format!("{}: {}", flaw.path(), flaw.message))
            .collect()
    }

    #[test]
    fn a_sound_plan_has_none() {
        assert_eq!(found(&[node("a", &[], Some("p")), node("b", &["a"], None)], &[]), [""; 0]);
    }

    #[test]
    fn each_flaw_is_named_with_its_place() {
        let nodes = [
            node("a", &["b", "x"], Some("q")),
            node("b", &["c"], None),
            node("c", &["a"], None),
            node("a", &[], None),
            node("d", &["d"], None),
        ];
        let leads = Connection { id: "1".into(), from: "a".into(), to: "y".into(), kind: None };
        assert_eq!(
            found(&nodes, &[leads.clone(), leads]),
            [
                "nodes[3].id: nodes[0] has the id `a` already",
                "nodes[0].dependencies: there is no node `x`",
                "nodes[0].phase: there is no phase `q`",
                "connections[0].to: there is no node `y`",
                "connections[1].id: another connection has the id `1` already",
                "connections[1].to: there is no node `y`",
                "nodes[0].dependencies: these nodes depend on each other in a circle: a → b → c → a",
                "nodes[4].dependencies: node `d` depends on itself",
            ]
        );
    }

    #[test]
    fn a_line_of_a_hundred_thousand_nodes_closed_to_a_circle_is_one_flaw() {
        let count = 100_000;
        let nodes: Vec<Node> = (0..count)
            .map(|i| node(&format!("n{i}"), &[format!("n{}", (i + 1) % count).as_str()], None))
            .collect();
        let found = found(&nodes, &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("n0 → n1 → n2") && found[0].contains("100000 in all"), "{}", found[0]);
    }

    #[test]
    fn a_diamond_is_no_circle() {
        let nodes = [
            node("a", &[], None),
            node("b", &["a"], None),
            node("c", &["a"], None),
            node("d", &["b", "c"], None),
        ];
        assert_eq!(found(&nodes, &[]), [""; 0]);
    }
}
