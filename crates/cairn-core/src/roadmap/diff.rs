//! What changed from one snapshot of a roadmap to another.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Connection, Node, Phase, Snapshot};

/// Everything that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diff {
    /// Whether the title did.
    pub title_changed: bool,
    /// The title before and after.
    pub title: Change<String>,
    /// The nodes that did.
    pub nodes: Changes<Node>,
    /// The connections that did.
    pub connections: Changes<Connection>,
    /// The phases that did.
    pub phases: PhaseChanges,
}

/// A value before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// Before.
    pub old: T,
    /// After.
    pub new: T,
}

/// What was added, removed and modified in one list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changes<T> {
    /// Only in the newer snapshot.
    pub added: Vec<T>,
    /// Only in the older one.
    pub removed: Vec<T>,
    /// In both, and not the same.
    pub modified: Vec<Modified>,
}

/// Changes of phases; their order counts as well.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseChanges {
    /// What was added, removed and modified.
    #[serde(flatten)]
    pub changes: Changes<Phase>,
    /// The ids in their order, before and after, unless those added just follow those that stayed.
    pub order: Option<Change<Vec<String>>>,
}

/// Something that is in both snapshots and not the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Modified {
    /// Its id, which is the same in both.
    pub id: String,
    /// What people call it now.
    pub label: Option<String>,
    /// Whether it is called something else than before.
    pub label_changed: bool,
    /// The fields that changed, each with its old and new value.
    pub fields: Map<String, Value>,
}

/// How much changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Nodes added.
    pub nodes_added: usize,
    /// Nodes removed.
    pub nodes_removed: usize,
    /// Nodes modified.
    pub nodes_modified: usize,
    /// Connections added.
    pub connections_added: usize,
    /// Connections removed.
    pub connections_removed: usize,
    /// Connections modified.
    pub connections_modified: usize,
    /// Phases added.
    pub phases_added: usize,
    /// Phases removed.
    pub phases_removed: usize,
    /// Phases modified.
    pub phases_modified: usize,
}

impl Diff {
    /// Compares two snapshots, in time linear in their size.
    pub fn between(old: &Snapshot, new: &Snapshot) -> Diff {
        let nodes = compare(
            &old.nodes.iter().collect::<Vec<_>>(),
            &new.nodes.iter().collect::<Vec<_>>(),
            |node| &node.id,
            |old, new| modified(&old.id, Some(&new.label), old.label != new.label, node_fields(old, new)),
        );
        let connections = compare(
            &old.connections.iter().collect::<Vec<_>>(),
            &new.connections.iter().collect::<Vec<_>>(),
            |connection| &connection.id,
            |old, new| modified(&old.id, None, false, connection_fields(old, new)),
        );
        Diff {
            title_changed: old.title != new.title,
            title: Change { old: old.title.clone(), new: new.title.clone() },
            nodes,
            connections,
            phases: compare_phases(&old.phases, &new.phases),
        }
    }

    /// How much changed, part by part.
    pub fn counts(&self) -> Counts {
        Counts {
            nodes_added: self.nodes.added.len(),
            nodes_removed: self.nodes.removed.len(),
            nodes_modified: self.nodes.modified.len(),
            connections_added: self.connections.added.len(),
            connections_removed: self.connections.removed.len(),
            connections_modified: self.connections.modified.len(),
            phases_added: self.phases.changes.added.len(),
            phases_removed: self.phases.changes.removed.len(),
            phases_modified: self.phases.changes.modified.len(),
        }
    }

    /// The title, nodes added, removed and modified, connections added and removed. Phases and modified
    /// connections are not in this number; [`Diff::identical`] looks at them as well.
    pub fn total_changes(&self) -> usize {
        let counts = self.counts();
        usize::from(self.title_changed)
            + counts.nodes_added
            + counts.nodes_removed
            + counts.nodes_modified
            + counts.connections_added
            + counts.connections_removed
    }

    /// Whether nothing changed at all.
    pub fn identical(&self) -> bool {
        let counts = self.counts();
        self.total_changes() == 0
            && counts.connections_modified == 0
            && counts.phases_added + counts.phases_removed + counts.phases_modified == 0
            && self.phases.order.is_none()
    }
}

fn modified(id: &str, label: Option<&str>, label_changed: bool, fields: Map<String, Value>) -> Modified {
    Modified { id: id.to_string(), label: label.map(ToString::to_string), label_changed, fields }
}

/// Walks through two lists sorted by id. Of several with one id, the first is compared with the first, and so on.
fn compare<T: Clone + PartialEq>(
    old: &[&T],
    new: &[&T],
    id: impl Fn(&T) -> &String,
    difference: impl Fn(&T, &T) -> Modified,
) -> Changes<T> {
    let mut changes = Changes { added: Vec::new(), removed: Vec::new(), modified: Vec::new() };
    let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
    loop {
        match (olds.peek(), news.peek()) {
            (None, None) => return changes,
            (Some(old), Some(new)) if id(old) == id(new) => {
                if old != new {
                    changes.modified.push(difference(old, new));
                }
                olds.next();
                news.next();
            }
            (Some(old), new) if new.is_none_or(|new| id(old) < id(new)) => {
                changes.removed.push((**old).clone());
                olds.next();
            }
            (_, Some(new)) => {
                changes.added.push((**new).clone());
                news.next();
            }
            (Some(_), None) => unreachable!("an old one without a new one is removed above"),
        }
    }
}

fn compare_phases(old: &[Phase], new: &[Phase]) -> PhaseChanges {
    let sorted = |phases: &[Phase]| {
        let mut sorted: Vec<Phase> = phases.to_vec();
        sorted.sort_by(|one, other| one.id.cmp(&other.id));
        sorted
    };
    let (olds, news) = (sorted(old), sorted(new));
    let mut changes = compare(
        &olds.iter().collect::<Vec<_>>(),
        &news.iter().collect::<Vec<_>>(),
        |phase| &phase.id,
        |old, new| modified(&old.id, new.title.as_deref(), old.title != new.title, phase_fields(old, new)),
    );
    let ids = |phases: &[Phase]| -> Vec<String> { phases.iter().map(|phase| phase.id.clone()).collect() };
    let (old, new) = (ids(old), ids(new));
    let set = |phases: &[Phase]| -> HashSet<String> { phases.iter().map(|phase| phase.id.clone()).collect() };
    let (added, gone) = (set(&changes.added), set(&changes.removed));
    let stays = old.iter().filter(|id| !gone.contains(*id));
    let comes = new.iter().filter(|id| added.contains(*id));
    let moved = !stays.chain(comes).eq(&new);
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(new.len());
    for (place, id) in new.iter().enumerate() {
        places.entry(id).or_insert(place);
    }
    changes.added.sort_by_key(|phase| places.get(phase.id.as_str()));
    PhaseChanges { changes, order: moved.then_some(Change { old, new }) }
}

fn note(fields: &mut Map<String, Value>, name: &str, old: Value, new: Value) {
    if old != new {
        fields.insert(name.to_string(), json!({ "old": old, "new": new }));
    }
}

fn node_fields(old: &Node, new: &Node) -> Map<String, Value> {
    let mut fields = Map::new();
    note(&mut fields, "label", json!(old.label), json!(new.label));
    note(&mut fields, "scope", json!(old.scope), json!(new.scope));
    note(&mut fields, "phase", json!(old.phase), json!(new.phase));
    note(&mut fields, "dependencies", json!(old.dependencies), json!(new.dependencies));
    note(&mut fields, "dependents", json!(old.dependents), json!(new.dependents));
    fields
}

fn connection_fields(old: &Connection, new: &Connection) -> Map<String, Value> {
    let mut fields = Map::new();
    note(&mut fields, "from", json!(old.from), json!(new.from));
    note(&mut fields, "to", json!(old.to), json!(new.to));
    note(&mut fields, "type", json!(old.kind), json!(new.kind));
    fields
}

fn phase_fields(old: &Phase, new: &Phase) -> Map<String, Value> {
    let mut fields = Map::new();
    note(&mut fields, "title", json!(old.title), json!(new.title));
    for key in old.extra.keys().chain(new.extra.keys()) {
        match (old.extra.get(key), new.extra.get(key)) {
            // A field that comes or goes differs from one that is null.
            (Some(old), None) => drop(fields.insert(key.clone(), json!({ "old": old }))),
            (None, Some(new)) => drop(fields.insert(key.clone(), json!({ "new": new }))),
            (old, new) => note(&mut fields, key, json!(old), json!(new)),
        }
    }
    fields
}
