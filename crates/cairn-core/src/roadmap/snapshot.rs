//! The frozen content of a roadmap.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Connection, Node, Phase, Roadmap};
use crate::canonical::{self, JsonError, write_string};
use crate::hash::Sha;

/// What a snapshot freezes: `{title, nodes, connections, phases}`.
///
/// The order of nodes, connections and dependencies says nothing about a plan, so they are sorted; the order of
/// its phases does, so it is kept. The same plan therefore has the same bytes whichever file it came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the plan is called.
    pub title: String,
    /// What is to be done, by id.
    pub nodes: Vec<Node>,
    /// What leads to what, by id.
    pub connections: Vec<Connection>,
    /// The stages, in their order.
    pub phases: Vec<Phase>,
}

impl Snapshot {
    /// Freezes a roadmap.
    pub fn of(roadmap: Roadmap) -> Snapshot {
        let mut nodes: Vec<Node> = roadmap.nodes.into_iter().map(|planned| planned.node).collect();
        let mut connections = roadmap.connections;
        nodes.sort_unstable();
        connections.sort_unstable();
        Snapshot { title: roadmap.title, nodes, connections, phases: roadmap.phases }
    }

    /// The canonical JSON, which is what is hashed and stored. Fails only where a phase holds a number that no
    /// double holds exactly.
    pub fn canonical(&self) -> Result<Vec<u8>, JsonError> {
        let mut out = Vec::with_capacity(128 * (self.nodes.len() + self.connections.len()) + 256);
        out.extend_from_slice(b"{\"connections\":");
        list(&mut out, &self.connections, |connection, out| {
            text(out, "{\"from\":", Some(&connection.from));
            text(out, ",\"id\":", Some(&connection.id));
            text(out, ",\"to\":", Some(&connection.to));
            text(out, ",\"type\":", connection.kind.as_deref());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"nodes\":");
        list(&mut out, &self.nodes, |node, out| {
            out.extend_from_slice(b"{\"dependencies\":");
            list(out, &node.dependencies, |id, out| write_string(id, out));
            out.extend_from_slice(b",\"dependents\":");
            list(out, &node.dependents, |id, out| write_string(id, out));
            text(out, ",\"id\":", Some(&node.id));
            text(out, ",\"label\":", Some(&node.label));
            text(out, ",\"phase\":", node.phase.as_deref());
            text(out, ",\"scope\":", node.scope.as_deref());
            out.push(b'}');
        });
        out.extend_from_slice(b",\"phases\":");
        canonical::write(&phases_as_json(&self.phases), &mut out)?;
        text(&mut out, ",\"title\":", Some(&self.title));
        out.push(b'}');
        Ok(out)
    }

    /// Reads what [`Snapshot::canonical`] wrote.
    pub fn parse(data: &str) -> Result<Snapshot, serde_json::Error> {
        serde_json::from_str(data)
    }

    /// `SHA256(canonical(data))`.
    pub fn content_hash(canonical: &[u8]) -> Sha {
        Sha::of(canonical)
    }
}

fn phases_as_json(phases: &[Phase]) -> Value {
    let one = |phase: &Phase| {
        let mut object = phase.extra.clone();
        object.insert("id".into(), Value::String(phase.id.clone()));
        object.insert("title".into(), phase.title.clone().map_or(Value::Null, Value::String));
        Value::Object(object)
    };
    Value::Array(phases.iter().map(one).collect())
}

fn text(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    out.extend_from_slice(key.as_bytes());
    match value {
        Some(value) => write_string(value, out),
        None => out.extend_from_slice(b"null"),
    }
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample() -> Snapshot {
        serde_json::from_value(json!({
            "title": "Import \"v2\"",
            "nodes": [
                {"id": "a", "label": "Läuft", "scope": null, "phase": "p", "dependencies": [], "dependents": ["b"]},
                {"id": "b", "label": "B\n", "scope": "all", "phase": null, "dependencies": ["a"], "dependents": []},
            ],
            "connections": [{"id": "a->b", "from": "a", "to": "b", "type": null}],
            "phases": [{"id": "p", "title": null, "weight": 1.5}, {"id": "q", "title": "Q"}],
        }))
        .unwrap()
    }

    #[test]
    fn what_is_written_by_hand_is_canonical_json() {
        let snapshot = sample();
        let bytes = snapshot.canonical().unwrap();
        assert_eq!(canonical::to_bytes(&serde_json::to_value(&snapshot).unwrap()).unwrap(), bytes);
        assert_eq!(Snapshot::parse(std::str::from_utf8(&bytes).unwrap()).unwrap(), snapshot);
    }

    /// The digest was computed with Python's `json` and `hashlib`: the format is a promise.
    #[test]
    fn the_hash_is_pinned() {
        let bytes = sample().canonical().unwrap();
        assert_eq!(
            Snapshot::content_hash(&bytes).to_string(),
            "3e7f0e112c887b43744fec34bfbe775a19aabd16440eb74090d812a77a4df225"
        );
    }
}
