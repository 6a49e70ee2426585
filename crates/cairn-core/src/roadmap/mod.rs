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

use std::collections::HashMap;

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
        let mut places: HashMap<String, Vec<usize>> = HashMap::with_capacity(nodes.len());
        for (index, planned) in nodes.iter().enumerate() {
            places.entry(planned.node.id.clone()).or_default().push(index);
        }
        for connection in &connections {
            if let (true, Some(targets)) = (places.contains_key(&connection.from), places.get(&connection.to))
            {
                for &target in targets {
                    nodes[target].node.dependencies.push(connection.from.clone());
                }
            }
        }
        let mut dependents: Vec<Vec<String>> = vec![Vec::new(); nodes.len()];
        for planned in &mut nodes {
            planned.node.dependencies.sort_unstable();
            planned.node.dependencies.dedup();
            for dependency in &planned.node.dependencies {
                for &source in places.get(dependency).into_iter().flatten() {
                    dependents[source].push(planned.node.id.clone());
                }
            }
        }
        for (planned, mut dependents) in nodes.iter_mut().zip(dependents) {
            dependents.sort_unstable();
            dependents.dedup();
            planned.node.dependents = dependents;
        }
        Roadmap { title, description, nodes, connections, phases }
    }
}

/// Gives each connection without an id one made of its ends, numbered where that is taken.
fn with_ids(declared: Vec<DeclaredConnection>) -> Vec<Connection> {
    let mut taken: HashMap<String, usize> =
        declared.iter().filter_map(|connection| connection.id.clone()).map(|id| (id, 1)).collect();
    declared
        .into_iter()
        .map(|connection| {
            let DeclaredConnection { id, from, to, kind } = connection;
            let id = id.unwrap_or_else(|| {
                let plain = format!("{from}->{to}");
                let mut id = plain.clone();
                let mut number = taken.get(&plain).copied().unwrap_or(0);
                while taken.contains_key(&id) {
                    number += 1;
                    id = format!("{plain}#{number}");
                }
                taken.insert(plain, number.max(1));
                taken.insert(id.clone(), 1);
                id
            });
            Connection { id, from, to, kind }
        })
        .collect()
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
