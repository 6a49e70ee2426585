//! A plan that changes, and what is said of the decisions made before.

use serde_json::{Value, json};

use super::super::harness::{Server, envelope};
use super::{IMPORT, Plans, cut, keys};
use crate::it::database::tamper;

fn edited() -> String {
    let release = "  - id: release\n    label: Release it\n    phase: ship\n";
    assert!(IMPORT.contains(release));
    IMPORT
        .replace("Batch the inserts", "Batch by a thousand")
        .replace(release, &format!("{release}  - id: watch\n    label: Watch it run\n    phase: ship\n"))
}

#[test]
fn a_decision_is_traced_to_the_plan_that_it_was_based_on() {
    let mut plans = Plans::with_import();
    let first = plans.data("context_create", json!({ "roadmap_id": "import" }))["context"].take();
    let decide =
        |text: &str| json!({ "decision": text, "session_id": "s", "context_id": first["context_id"] });
    let decision = plans.data("thought_decision", decide("one insert for each row in batch; parse stays"));
    assert_eq!(decision["context_id"], first["context_id"]);

    let calm = plans.data("context_drift", json!({}));
    assert_eq!((&calm["decisions"], &calm["drifted"]), (&json!(1), &json!(0)), "{calm}");
    assert_eq!(calm["plans"][0]["file"], "unchanged");
    plans.write("import.yaml", edited());
    assert_eq!(plans.data("context_drift", json!({}))["plans"][0]["file"], "changed");

    let second = plans.data("context_ensure", json!({ "roadmapId": "import" }));
    assert_eq!(keys(&second), ["context", "is_existing", "summary", "warnings"]);
    assert_eq!((&second["is_existing"], &second["context"]["context_id"]), (&json!(false), &json!(2)));
    assert_eq!(second["summary"]["content_hash"], cut(&second["context"]["content_hash"]));

    let change = plans.data("context_compare", json!({ "contextId1": 1 }));
    assert_eq!(keys(&change), ["counts", "differences", "identical", "total_changes"]);
    assert_eq!((&change["total_changes"], &change["identical"]), (&json!(2), &json!(false)), "{change}");
    let differences = &change["differences"];
    let mut members =
        vec!["connections", "context_id1", "context_id2", "created_at1", "created_at2", "nodes"];
    members.extend(["phases", "roadmap_id", "title", "title_changed"]);
    assert_eq!(keys(differences), members);
    assert_eq!((&differences["context_id1"], &differences["context_id2"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&differences["created_at1"], &differences["roadmap_id"]),
        (&first["created_at"], &json!("import"))
    );
    assert_eq!(differences["title"], json!({ "old": "Import", "new": "Import" }));
    let nodes = &differences["nodes"];
    assert_eq!((&nodes["added"][0]["id"], &nodes["removed"]), (&json!("watch"), &json!([])));
    let label = json!({ "old": "Batch the inserts", "new": "Batch by a thousand" });
    assert_eq!(
        (&nodes["modified"][0]["id"], &nodes["modified"][0]["fields"]["label"]),
        (&json!("batch"), &label)
    );
    assert_eq!(plans.data("context_compare", json!({ "context_id1": 1, "context_id2": 2 })), change);
    let same = plans.data("context_compare", json!({ "context_id1": 2 }));
    assert_eq!((&same["total_changes"], &same["identical"]), (&json!(0), &json!(true)), "{same}");

    let drift = plans.data("context_drift", json!({ "roadmap_id": "import", "limit": 5 }));
    assert_eq!((&drift["decisions"], &drift["drifted"]), (&json!(1), &json!(1)), "{drift}");
    let plan = &drift["plans"][0];
    assert_eq!((&plan["context_id"], &plan["file"]), (&json!(2), &json!("unchanged")));
    let drifted = &drift["results"][0];
    assert_eq!((&drifted["id"], &drifted["session_id"]), (&decision["id"], &json!("s")));
    assert_eq!((&drifted["context_id"], &drifted["current_context_id"]), (&json!(1), &json!(2)));
    assert_eq!((&drifted["total_changes"], &drifted["unchanged_nodes"]), (&json!(2), &json!(["parse"])));
    let node = &drifted["nodes"][0];
    assert_eq!((&node["id"], &node["change"]), (&json!("batch"), &json!("modified")));
    assert_eq!((&node["label"], &node["fields"]["label"]), (&json!("Batch the inserts"), &label));
}

#[test]
fn a_plan_that_has_not_changed_is_frozen_once() {
    let mut plans = Plans::with_import();
    let first = plans.data("context_ensure", json!({ "roadmap_id": "import", "metadata": { "n": 1 } }));
    assert_eq!(first["is_existing"], false);
    let second = plans.data("context_ensure", json!({ "roadmap_id": "import", "metadata": { "n": 2 } }));
    assert_eq!(keys(&second), ["context", "is_existing", "warnings"]);
    assert_eq!((&second["is_existing"], &second["context"]), (&json!(true), &first["context"]));
    // The same plan in another order, and with remarks, is the same plan.
    plans.write("import.yaml", format!("# a remark\n{IMPORT}"));
    assert_eq!(plans.data("context_ensure", json!({ "roadmap_id": "import" }))["is_existing"], true);
    assert_eq!(plans.data("context_history", json!({ "roadmap_id": "import" }))["count"], 1);
    // Unless one asks for it.
    plans.data("context_create", json!({ "roadmap_id": "import" }));
    assert_eq!(plans.data("context_history", json!({ "roadmap_id": "import" }))["count"], 2);
}

#[test]
fn calls_at_the_same_time_make_one_snapshot() {
    const CALLS: usize = 40;
    let mut plans = Plans::with_import();
    let params = json!({ "name": "context_ensure", "arguments": { "roadmap_id": "import" } });
    let call =
        |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
    let lines: Vec<String> = (1000..1000 + CALLS).map(call).collect();
    plans.server.send(lines.join("\n"));
    let answers: Vec<Value> = (0..CALLS).map(|_| envelope(&plans.server.receive())).collect();
    let made = answers.iter().filter(|answer| answer["data"]["is_existing"] == false).count();
    assert_eq!(made, 1, "{answers:?}");
    assert!(answers.iter().all(|answer| answer["data"]["context"]["context_id"] == 1), "{answers:?}");
}

#[test]
fn snapshots_of_two_roadmaps_cannot_be_compared() {
    let mut plans = Plans::with_import();
    plans.write("other.yaml", IMPORT);
    for roadmap in ["import", "other"] {
        plans.data("context_ensure", json!({ "roadmap_id": roadmap }));
    }
    let found = plans.issues("context_compare", json!({ "context_id1": 1, "context_id2": 2 }));
    assert!(found.len() == 1 && found[0].contains("import") && found[0].contains("other"), "{found:?}");
}

#[test]
fn a_snapshot_that_is_not_there_is_not_found() {
    let mut plans = Plans::with_import();
    plans.data("context_ensure", json!({ "roadmap_id": "import" }));
    for (tool, arguments) in [
        ("context_get", json!({ "context_id": 7 })),
        ("context_verify", json!({ "context_id": 7 })),
        ("context_compare", json!({ "context_id1": 7 })),
        ("context_compare", json!({ "context_id1": 1, "context_id2": 7 })),
        ("thought_plan", json!({ "plan_description": "x", "session_id": "s", "context_id": 7 })),
    ] {
        let (code, message) = plans.error(tool, arguments);
        assert_eq!(code, "NOT_FOUND", "{tool}");
        assert_eq!(message, "no context `7`; find ids with context_history", "{tool}");
    }
    for tool in ["context_create", "context_ensure", "roadmap_get", "roadmap_validate"] {
        assert_eq!(plans.error(tool, json!({ "roadmap_id": "export" })).0, "NOT_FOUND", "{tool}");
    }
}

#[test]
fn a_character_changed_behind_our_back_is_found() {
    let mut plans = Plans::with_import();
    let head = plans.data("context_ensure", json!({ "roadmap_id": "import" }))["context"].take();
    let end = plans.server.end();
    let change = "UPDATE snapshot SET data = replace(data, 'Batch', 'Patch')";
    assert_eq!(tamper(&end.folder.path().join("cairn.db"), change), 1);

    let mut plans = Plans { server: Server::restart(end) };
    let verdict = plans.data("context_verify", json!({ "context_id": 1 }));
    assert_eq!(verdict["valid"], false, "{verdict}");
    assert_eq!(verdict["stored_hash"], cut(&head["content_hash"]), "{verdict}");
    assert_ne!(verdict["recalculated_hash"], verdict["stored_hash"]);
    assert_eq!(verdict["recalculated_hash"].as_str().unwrap().chars().count(), 17);
    assert_eq!(plans.data("thought_verify", json!({}))["valid"], false);
}
