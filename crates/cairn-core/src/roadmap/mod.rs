//! Roadmaps: plans of nodes, connections and phases, and what they looked like at a moment.
//!
//! - [`document`]: a file as it was parsed, whatever its form, with the lines its parts stand on.
//! - [`Roadmap`]: the plan that a document describes, with every dependency in both directions.
//! - [`Snapshot`]: its frozen content, in an order that no file decides, and its hash.
//! - [`diff`]: what changed from one snapshot to another.
//! - [`flaws`]: duplicate ids, references to nothing, and cycles.
//! - [`mentions`]: which nodes a text names.
//! - [`plan_form`]: reads a document in Cairn's own form.
//! - [`react_flow`]: reads a document in the form that roadmap.sh publishes.

pub mod diff;
pub mod document;
pub mod flaws;
pub mod mentions;
pub mod plan_form;
pub mod react_flow;
mod snapshot;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use snapshot::Snapshot;

/// A plan as it is read from disk, its parts in the order of the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Roadmap {
    /// What it is called.
    pub title: String,
    /// What it is about.
    pub description: Option<String>,
    /// What is to be done.
    pub nodes: Vec<PlannedNode>,
    /// What leads to what.
    pub connections: Vec<Connection>,
    /// The stages, in their order.
    pub phases: Vec<Phase>,
}

/// A node with whatever else its file says about it, which no snapshot takes up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedNode {
    /// What the snapshot takes up.
    #[serde(flatten)]
    pub node: Node,
    /// The rest.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One thing to be done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Node {
    /// Unique in the roadmap.
    pub id: String,
    /// What people call it.
    pub label: String,
    /// What belongs to it.
    pub scope: Option<String>,
    /// The stage it belongs to.
    pub phase: Option<String>,
    /// The nodes it needs first.
    pub dependencies: Vec<String>,
    /// The nodes that need it first.
    pub dependents: Vec<String>,
}

/// Something leads to something: `to` depends on `from`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Connection {
    /// Unique in the roadmap; a file need not give one.
    pub id: String,
    /// The node that comes first.
    pub from: String,
    /// The node that depends on it.
    pub to: String,
    /// In which way, in the author's words.
    #[serde(rename = "type")]
    pub kind: Option<String>,
}

/// A stage of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Unique in the roadmap.
    pub id: String,
    /// What people call it.
    pub title: Option<String>,
    /// Whatever else its file says about it.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A connection as a file gives it: perhaps without an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredConnection {
    /// The id, if the file gives one.
    pub id: Option<String>,
    /// The node that comes first.
    pub from: String,
    /// The node that depends on it.
    pub to: String,
    /// In which way.
    pub kind: Option<String>,
}

impl Roadmap {
    /// Completes what a file declares: connections without an id get one, and every dependency, whether a node
    /// declares it or a connection, stands at both of its ends.
    ///
    /// A connection that names a node that is not there stays as it is; [`flaws`] reports it.
    pub fn complete(
        title: String,
        description: Option<String>,
        mut nodes: Vec<PlannedNode>,
        connections: Vec<DeclaredConnection>,
        phases: Vec<Phase>,
    ) -> Roadmap {
        let connections = with_ids(connections);
        let mut edges = edges(&nodes, &connections);
        // By the node that needs, then by the node that is needed.
        edges.sort_unstable();
        edges.dedup();
        for group in edges.chunk_by(|one, other| one.0 == other.0) {
            let declared = std::mem::take(&mut nodes[group[0].0].node.dependencies);
            let mut needed: Vec<String> = declared;
            needed.extend(group.iter().map(|&(_, source)| nodes[source].node.id.clone()));
            nodes[group[0].0].node.dependencies = needed;
        }
        for planned in &mut nodes {
            planned.node.dependencies.sort_unstable();
            planned.node.dependencies.dedup();
        }
        edges.sort_unstable_by_key(|&(target, source)| (source, target));
        for group in edges.chunk_by(|one, other| one.1 == other.1) {
            let mut dependents: Vec<String> =
                group.iter().map(|&(target, _)| nodes[target].node.id.clone()).collect();
            dependents.sort_unstable();
            dependents.dedup();
            nodes[group[0].1].node.dependents = dependents;
        }
        Roadmap { title, description, nodes, connections, phases }
    }
}

/// Who needs whom, as places in the list of nodes: what nodes declare, and what connections between two known
/// nodes say. Of several nodes with one id, which is a flaw, the first is meant.
fn edges(nodes: &[PlannedNode], connections: &[Connection]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (index, planned) in nodes.iter().enumerate().rev() {
        places.insert(&planned.node.id, index);
    }
    let place = |id: &str| places.get(id).copied();
    let mut edges = Vec::with_capacity(nodes.len() + connections.len());
    for (target, planned) in nodes.iter().enumerate() {
        edges.extend(planned.node.dependencies.iter().filter_map(|id| Some((target, place(id)?))));
    }
    edges.extend(connections.iter().filter_map(|leads| Some((place(&leads.to)?, place(&leads.from)?))));
    edges
}

/// Gives each connection without an id one made of its ends, numbered where that is taken.
fn with_ids(declared: Vec<DeclaredConnection>) -> Vec<Connection> {
    let mut unnamed: Vec<usize> = Vec::new();
    let mut connections: Vec<Connection> = Vec::with_capacity(declared.len());
    for (index, DeclaredConnection { id, from, to, kind }) in declared.into_iter().enumerate() {
        let id = id.unwrap_or_else(|| {
            unnamed.push(index);
            [from.as_str(), "->", &to].concat()
        });
        connections.push(Connection { id, from, to, kind });
    }
    if unnamed.is_empty() {
        return connections;
    }
    let mut given = vec![true; connections.len()];
    unnamed.iter().for_each(|index| given[*index] = false);
    // Equal ids beside each other: those that a file gives first, then by type, since the order of a file says
    // nothing about a plan.
    let mut order: Vec<usize> = (0..connections.len()).collect();
    order.sort_unstable_by_key(|&index| {
        (&connections[index].id, !given[index], &connections[index].kind, index)
    });
    let mut renamed: Vec<(usize, String)> = Vec::new();
    let mut added: HashSet<String> = HashSet::new();
    for group in order.chunk_by(|one, other| connections[*one].id == connections[*other].id) {
        let plain = &connections[group[0]].id;
        let taken =
            |id: &str| order.binary_search_by(|index| connections[*index].id.as_str().cmp(id)).is_ok();
        let mut number = 1;
        for &index in group[1..].iter().filter(|index| !given[**index]) {
            let id = loop {
                number += 1;
                let id = format!("{plain}#{number}");
                if !taken(&id) && !added.contains(&id) {
                    break id;
                }
            };
            added.insert(id.clone());
            renamed.push((index, id));
        }
    }
    for (index, id) in renamed {
        connections[index].id = id;
    }
    connections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, dependencies: &[&str]) -> PlannedNode {
        PlannedNode {
            node: Node {
                id: id.into(),
                label: id.to_uppercase(),
                scope: None,
                phase: None,
                dependencies: dependencies.iter().map(ToString::to_string).collect(),
                dependents: Vec::new(),
            },
            extra: Map::new(),
        }
    }

    fn leads(id: Option<&str>, from: &str, to: &str) -> DeclaredConnection {
        DeclaredConnection { id: id.map(Into::into), from: from.into(), to: to.into(), kind: None }
    }

    fn complete(nodes: Vec<PlannedNode>, connections: Vec<DeclaredConnection>) -> Roadmap {
        Roadmap::complete("t".into(), None, nodes, connections, Vec::new())
    }

    #[test]
    fn a_dependency_stands_at_both_ends_whoever_declares_it() {
        let roadmap = complete(
            vec![node("a", &[]), node("b", &["a", "a"]), node("c", &["b"])],
            vec![leads(None, "a", "c"), leads(None, "a", "b"), leads(None, "a", "nowhere")],
        );
        let ends: Vec<_> = roadmap
            .nodes
            .iter()
            .map(|planned| (planned.node.dependencies.join(" "), planned.node.dependents.join(" ")))
            .collect();
        let expected = [("", "b c"), ("a", "c"), ("a b", "")];
        assert_eq!(ends, expected.map(|(one, other)| (one.to_string(), other.to_string())));
        assert_eq!(roadmap.connections[2].to, "nowhere");
    }

    #[test]
    fn the_order_of_connections_without_ids_says_nothing() {
        let of = |kinds: [&str; 2]| {
            let leads = |kind: &str| DeclaredConnection { kind: Some(kind.into()), ..leads(None, "a", "b") };
            Snapshot::of(complete(vec![node("a", &[]), node("b", &[])], kinds.map(leads).to_vec()))
        };
        assert_eq!(of(["blocks", "informs"]), of(["informs", "blocks"]));
    }

    #[test]
    fn a_connection_without_an_id_is_named_after_its_ends() {
        let roadmap = complete(
            vec![node("a", &[]), node("b", &[])],
            vec![
                leads(None, "a", "b"),
                leads(None, "a", "b"),
                leads(Some("a->b#2"), "b", "a"),
                leads(None, "a", "b"),
            ],
        );
        let ids: Vec<&str> = roadmap.connections.iter().map(|connection| connection.id.as_str()).collect();
        assert_eq!(ids, ["a->b", "a->b#3", "a->b#2", "a->b#4"]);
    }
}
