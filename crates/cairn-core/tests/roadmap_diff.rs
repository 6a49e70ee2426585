//! For random pairs of roadmaps: what a client is told of a diff, applied to the first, gives the second.

use std::collections::BTreeMap;

use cairn_core::roadmap::diff::Diff;
use cairn_core::roadmap::{DeclaredConnection, Node, Phase, PlannedNode, Roadmap, Snapshot};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::growth::assert_at_most;

/// Few ids and few texts, so that two random plans have much in common.
fn id() -> impl Strategy<Value = String> {
    (0..9u8).prop_map(|n| format!("n{n}"))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just("same".to_string()), Just("other".to_string()), ".{0,6}"]
}

fn node() -> impl Strategy<Value = Node> {
    (text(), option::of(text()), option::of(id()), btree_set(id(), 0..3)).prop_map(
        |(label, scope, phase, dependencies)| Node {
            id: String::new(),
            label,
            scope,
            phase,
            dependencies: dependencies.into_iter().collect(),
            dependents: Vec::new(),
        },
    )
}

fn connection() -> impl Strategy<Value = DeclaredConnection> {
    (option::of((0..5u8).prop_map(|n| format!("c{n}"))), id(), id(), option::of(text()))
        .prop_map(|(id, from, to, kind)| DeclaredConnection { id, from, to, kind })
}

fn phases() -> impl Strategy<Value = Vec<Phase>> {
    let extra = btree_map("[ab]", prop_oneof![Just(Value::Null), (0..3u8).prop_map(Value::from)], 0..2);
    let phase = (option::of(text()), extra)
        .prop_map(|(title, extra)| (title, extra.into_iter().collect::<Map<String, Value>>()));
    let named = |(id, (title, extra))| Phase { id, title, extra };
    btree_map(id(), phase, 0..5)
        .prop_map(move |phases| phases.into_iter().map(named).collect::<Vec<_>>())
        .prop_shuffle()
}

fn snapshot() -> impl Strategy<Value = Snapshot> {
    (text(), btree_map(id(), node(), 0..9), vec(connection(), 0..6), phases()).prop_map(
        |(title, nodes, mut connections, phases)| {
            // Ids that a file gives are unique, or it is flawed.
            let mut seen = std::collections::HashSet::new();
            connections.retain(|connection| connection.id.clone().is_none_or(|id| seen.insert(id)));
            let nodes = nodes
                .into_iter()
                .map(|(id, node)| PlannedNode { node: Node { id, ..node }, extra: Map::new() })
                .collect();
            Snapshot::of(Roadmap::complete(title, None, nodes, connections, phases))
        },
    )
}

/// Applies a list of changes to items by their id.
fn apply_list(items: &Value, changes: &Value) -> BTreeMap<String, Value> {
    let id = |item: &Value| item["id"].as_str().unwrap().to_string();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let mut result: BTreeMap<String, Value> = list(items).into_iter().map(|item| (id(&item), item)).collect();
    for item in list(&changes["removed"]) {
        assert_eq!(result.remove(&id(&item)), Some(item), "what is removed was there as it is told");
    }
    for change in list(&changes["modified"]) {
        let item = result.get_mut(&id(&change)).unwrap().as_object_mut().unwrap();
        for (field, values) in change["fields"].as_object().unwrap() {
            assert_eq!(item.get(field), values.get("old"), "the old value is that of the first");
            match values.get("new") {
                Some(new) => drop(item.insert(field.clone(), new.clone())),
                None => drop(item.remove(field)),
            }
        }
    }
    for item in list(&changes["added"]) {
        assert_eq!(result.insert(id(&item), item), None, "what is added was not there");
    }
    result
}

/// Applies a diff, as clients see it, to a snapshot, as clients see it.
fn apply(first: &Value, diff: &Value) -> Value {
    assert_eq!(diff["title"]["old"], first["title"]);
    assert_eq!(diff["title_changed"], json!(diff["title"]["old"] != diff["title"]["new"]));
    let phases = apply_list(&first["phases"], &diff["phases"]);
    let order: Vec<String> = match diff["phases"]["order"].as_object() {
        Some(order) => serde_json::from_value(order["new"].clone()).unwrap(),
        None => {
            let kept = first["phases"].as_array().unwrap().iter();
            let added = diff["phases"]["added"].as_array().unwrap().iter();
            let ids = kept.chain(added).map(|phase| phase["id"].as_str().unwrap().to_string());
            ids.filter(|id| phases.contains_key(id)).collect()
        }
    };
    json!({
        "title": diff["title"]["new"],
        "nodes": apply_list(&first["nodes"], &diff["nodes"]).into_values().collect::<Vec<_>>(),
        "connections": apply_list(&first["connections"], &diff["connections"]).into_values().collect::<Vec<_>>(),
        "phases": order.iter().map(|id| phases[id].clone()).collect::<Vec<_>>(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_applied_to_the_first_gives_the_second(first in snapshot(), second in snapshot()) {
        let diff = Diff::between(&first, &second);
        let told = serde_json::to_value(&diff).unwrap();
        let result = apply(&serde_json::to_value(&first).unwrap(), &told);
        prop_assert_eq!(&result, &serde_json::to_value(&second).unwrap());
        // Nothing changed exactly if the bytes that are hashed are the same.
        prop_assert_eq!(diff.identical(), first.canonical().unwrap() == second.canonical().unwrap());
    }

    #[test]
    fn a_snapshot_has_no_difference_from_itself(plan in snapshot()) {
        let diff = Diff::between(&plan, &plan);
        prop_assert!(diff.identical());
        prop_assert_eq!(diff.total_changes(), 0);
    }
}

#[test]
fn total_changes_counts_as_the_formula_says() {
    let plan = |value: Value| serde_json::from_value::<Snapshot>(value).unwrap();
    let node = |id: &str, label: &str| json!({"id": id, "label": label, "scope": null, "phase": null, "dependencies": [], "dependents": []});
    let leads = |id: &str, kind: &str| json!({"id": id, "from": "a", "to": "b", "type": kind});
    let first = plan(json!({
        "title": "one", "nodes": [node("a", "A"), node("b", "B")],
        "connections": [leads("1", "x"), leads("2", "x")],
        "phases": [{"id": "p", "title": "P"}, {"id": "q", "title": null}],
    }));
    let second = plan(json!({
        "title": "two", "nodes": [node("a", "Another"), node("c", "C")],
        "connections": [leads("1", "y"), leads("3", "x")],
        "phases": [{"id": "q", "title": null}, {"id": "p", "title": "Q"}, {"id": "r", "title": null}],
    }));
    let diff = Diff::between(&first, &second);
    // Title 1, nodes 1 + 1 + 1, connections 1 + 1; phases and the edited connection are counted beside it.
    assert_eq!(diff.total_changes(), 6);
    let counts = serde_json::to_value(diff.counts()).unwrap();
    assert_eq!(
        counts,
        json!({"nodes_added": 1, "nodes_removed": 1, "nodes_modified": 1, "connections_added": 1,
               "connections_removed": 1, "connections_modified": 1, "phases_added": 1, "phases_removed": 0,
               "phases_modified": 1})
    );
    assert!(diff.nodes.modified[0].label_changed);
    assert_eq!(diff.phases.order.unwrap().new, ["q", "p", "r"]);
}

#[test]
fn many_phases_do_not_cost_their_square() {
    let plan = |name: &str, count: usize| -> Snapshot {
        let phases: Vec<Value> =
            (0..count).map(|n| json!({"id": format!("{name}{n}"), "title": null})).collect();
        serde_json::from_value(json!({"title": "T", "nodes": [], "connections": [], "phases": phases}))
            .unwrap()
    };
    let [few, many] = [2_000, 20_000].map(|count| (plan("a", count), plan("b", count)));
    let diff_of = |(old, new): &(Snapshot, Snapshot)| Diff::between(old, new);
    assert_at_most(30, || drop(diff_of(&few)), || drop(diff_of(&many)));
    let diff = diff_of(&many);
    assert_eq!(diff.counts().phases_added, 20_000);
    assert_eq!(diff.phases.changes.added[2].id, "b2", "in the order of the plan, not of the ids");
}
