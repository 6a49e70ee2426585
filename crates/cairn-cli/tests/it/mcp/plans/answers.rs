//! What each tool answers.

use cairn::Sha;
use serde_json::{Value, json};

use super::{IMPORT, Plans, cut, keys};

const HEAD: [&str; 7] =
    ["content_hash", "context_id", "created_at", "metadata", "node_count", "roadmap_id", "seq"];

#[test]
fn roadmaps_are_listed_with_their_sizes() {
    let mut plans = Plans::start();
    assert_eq!(plans.data("roadmap_list", json!({})), json!({ "count": 0, "roadmaps": [] }));
    plans.write("import.yaml", IMPORT);
    plans.write("empty.json", r#"{ "title": "Nothing yet", "nodes": [] }"#);
    let empty =
        json!({ "id": "empty", "title": "Nothing yet", "node_count": 0, "phase_count": 0, "form": "json" });
    let import =
        json!({ "id": "import", "title": "Import", "node_count": 3, "phase_count": 2, "form": "yaml" });
    assert_eq!(plans.data("roadmap_list", json!({})), json!({ "count": 2, "roadmaps": [empty, import] }));
}

#[test]
fn a_roadmap_is_read_with_both_ends_of_every_dependency() {
    let mut plans = Plans::with_import();
    let roadmap = plans.data("roadmap_get", json!({ "roadmapId": "import" }));
    assert_eq!(keys(&roadmap), ["connections", "description", "id", "nodes", "phases", "title"]);
    assert_eq!((&roadmap["id"], &roadmap["title"]), (&json!("import"), &json!("Import")));
    let batch = json!({
        "id": "batch", "label": "Batch the inserts", "scope": null, "phase": "build", "dependencies": ["parse"],
        "dependents": ["release"], "owner": "ada",
    });
    assert_eq!(roadmap["nodes"][1], batch);
    let connection = json!({ "id": "batch->release", "from": "batch", "to": "release", "type": null });
    assert_eq!(roadmap["connections"], json!([connection]));
    assert_eq!(roadmap["phases"][0], json!({ "id": "build", "title": "Build it" }));

    let (code, message) = plans.error("roadmap_get", json!({ "roadmap_id": "export" }));
    assert_eq!(code, "NOT_FOUND");
    assert!(message.contains("`export`") && message.contains("roadmap_list"), "{message}");
}

#[test]
fn a_roadmap_is_read_anew_when_its_file_has_changed() {
    let mut plans = Plans::with_import();
    plans.data("roadmap_get", json!({ "roadmap_id": "import" }));
    plans.write("import.yaml", IMPORT.replace("title: Import", "title: Export"));
    assert_eq!(plans.data("roadmap_get", json!({ "roadmap_id": "import" }))["title"], "Export");
}

#[test]
fn a_flawed_roadmap_is_told_with_its_flaws_and_can_be_frozen() {
    let mut plans = Plans::with_import();
    let arguments = json!({ "roadmap_id": "import" });
    assert_eq!(plans.data("roadmap_validate", arguments.clone()), json!({ "valid": true, "issues": [] }));
    plans.write("import.yaml", IMPORT.replace("[parse]", "[parse, nowhere]"));
    let found = plans.data("roadmap_validate", arguments.clone());
    assert_eq!(found["valid"], false);
    let issue = &found["issues"][0];
    assert_eq!(keys(issue), ["field", "file", "line", "message"]);
    assert_eq!(issue["file"], "import.yaml", "{issue}");
    // Somewhere in the node.
    assert!((12..=15).contains(&issue["line"].as_u64().unwrap()), "{issue}");
    assert!(issue["field"].as_str().unwrap().starts_with("nodes[1].dependencies"), "{issue}");
    let captured = plans.data("context_ensure", arguments);
    assert_eq!(captured["warnings"].as_array().unwrap().len(), 1, "{captured}");
    let whole = plans.data("context_get", json!({ "context_id": 1 }));
    assert_eq!(whole["context"]["warnings"], captured["warnings"]);
}

#[test]
fn a_plan_can_be_written_and_is_replaced_only_if_that_is_said() {
    let mut plans = Plans::start();
    let mut plan = json!({
        "roadmap_id": "move", "title": "Move house", "description": "before winter",
        "nodes": [{ "id": "pack", "label": "Pack", "boxes": 40 }, { "id": "drive", "label": "Drive" }],
        "connections": [{ "from": "pack", "to": "drive" }], "phases": [{ "id": "one" }],
    });
    let written = plans.data("roadmap_register", plan.clone());
    let members =
        ["connections", "description", "file", "form", "id", "nodes", "phases", "replaced", "title"];
    assert_eq!(keys(&written), members);
    assert_eq!((&written["id"], &written["replaced"]), (&json!("move"), &json!(false)));
    assert!(plans.folder().join(written["file"].as_str().unwrap()).is_file(), "{written}");
    let read = plans.data("roadmap_get", json!({ "roadmap_id": "move" }));
    assert_eq!(read["nodes"], written["nodes"]);
    assert_eq!(read["nodes"][1]["dependencies"], json!(["pack"]));
    assert_eq!(read["nodes"][0]["boxes"], 40);

    plan["title"] = json!("Stay");
    let (code, message) = plans.error("roadmap_register", plan.clone());
    assert_eq!(code, "CONFLICT");
    assert!(message.contains("overwrite"), "{message}");
    plan["overwrite"] = json!(true);
    assert_eq!(plans.data("roadmap_register", plan)["replaced"], true);
    assert_eq!(plans.data("roadmap_get", json!({ "roadmap_id": "move" }))["title"], "Stay");
}

#[test]
fn a_plan_with_a_cycle_is_not_written() {
    let mut plans = Plans::start();
    let node = |id: &str, needs: &str| json!({ "id": id, "label": id, "dependencies": [needs] });
    let nodes = json!([node("a", "b"), node("b", "a")]);
    let found = plans.issues("roadmap_register", json!({ "roadmap_id": "x", "title": "x", "nodes": nodes }));
    assert!(found[0].contains("a → b → a"), "{found:?}");
    assert_eq!(plans.data("roadmap_list", json!({}))["count"], 0);
}

#[test]
fn a_snapshot_is_answered_whole_and_summed_up() {
    let mut plans = Plans::with_import();
    let metadata = json!({ "release": "1.0" });
    let made = plans.data("context_create", json!({ "roadmap_id": "import", "metadata": metadata }));
    assert_eq!(keys(&made), ["context", "summary", "warnings"]);
    let head = &made["context"];
    assert_eq!(keys(head), HEAD);
    assert_eq!((&head["context_id"], &head["metadata"]), (&json!(1), &metadata));
    let summary =
        json!({ "roadmap_id": "import", "node_count": 3, "content_hash": cut(&head["content_hash"]) });
    assert_eq!(made["summary"], summary);

    let mut whole = plans.data("context_get", json!({ "contextId": 1 }));
    assert_eq!(keys(&whole), ["context"]);
    assert_eq!(plans.data("context_latest", json!({ "roadmap_id": "import" })), whole);
    for key in HEAD {
        assert_eq!(whole["context"][key], head[key], "{key}");
    }
    let snapshot = &mut whole["context"]["snapshot"];
    assert_eq!(keys(snapshot), ["captured_at", "connections", "nodes", "phases", "title"]);
    let fields = ["dependencies", "dependents", "id", "label", "phase", "scope"];
    assert!(snapshot["nodes"].as_array().unwrap().iter().all(|node| keys(node) == fields), "{snapshot}");
    // Whoever has the snapshot can compute its hash; the moment is no part of it.
    snapshot.as_object_mut().unwrap().remove("captured_at");
    assert_eq!(head["content_hash"], Sha::of(snapshot.to_string().as_bytes()).to_string());
}

#[test]
fn a_roadmap_without_snapshots_has_no_latest_one() {
    let mut plans = Plans::with_import();
    let latest = plans.data("context_latest", json!({ "roadmap_id": "import" }));
    assert_eq!(keys(&latest), ["context", "message"]);
    assert_eq!(latest["context"], Value::Null);
    assert!(latest["message"].as_str().unwrap().contains("`import`"), "{latest}");
    let history = plans.data("context_history", json!({ "roadmap_id": "import" }));
    assert_eq!(history, json!({ "roadmap_id": "import", "count": 0, "contexts": [] }));
}

#[test]
fn the_history_is_newest_first_and_limited() {
    let mut plans = Plans::with_import();
    for n in 0..12 {
        plans.data("context_create", json!({ "roadmap_id": "import", "metadata": { "n": n } }));
    }
    let history = plans.data("context_history", json!({ "roadmap_id": "import" }));
    assert_eq!(keys(&history), ["contexts", "count", "roadmap_id"]);
    assert_eq!((&history["roadmap_id"], &history["count"]), (&json!("import"), &json!(10)));
    let newest = &history["contexts"][0];
    assert_eq!(keys(newest), ["content_hash", "context_id", "created_at", "metadata"]);
    assert_eq!((&newest["context_id"], &newest["metadata"]), (&json!(12), &json!({ "n": 11 })));
    let whole = plans.data("context_get", json!({ "context_id": 12 }));
    assert_eq!(newest["content_hash"], cut(&whole["context"]["content_hash"]));
    let two = plans.data("context_history", json!({ "roadmap_id": "import", "limit": 2 }));
    assert_eq!(two["contexts"], json!([history["contexts"][0], history["contexts"][1]]));
}

#[test]
fn an_untouched_snapshot_is_valid() {
    let mut plans = Plans::with_import();
    let head = plans.data("context_create", json!({ "roadmap_id": "import" }))["context"].take();
    let verdict = plans.data("context_verify", json!({ "context_id": 1 }));
    let members = ["context_id", "created_at", "message", "recalculated_hash", "stored_hash", "valid"];
    assert_eq!(keys(&verdict), members);
    assert_eq!((&verdict["valid"], &verdict["context_id"]), (&json!(true), &json!(1)), "{verdict}");
    assert_eq!(verdict["stored_hash"], cut(&head["content_hash"]));
    assert_eq!(verdict["recalculated_hash"], verdict["stored_hash"]);
    assert_eq!(verdict["created_at"], head["created_at"]);
}

#[test]
fn nodes_are_found_by_their_words() {
    let mut plans = Plans::with_import();
    plans.data("context_ensure", json!({ "roadmap_id": "import" }));
    plans.write("other.yaml", IMPORT.replace("Batch the inserts", "Batch the reads"));
    plans.data("context_ensure", json!({ "roadmap_id": "other" }));
    let found = plans.data("context_search", json!({ "query": "batch" }));
    assert_eq!((keys(&found), &found["count"]), (vec!["count", "results"], &json!(2)), "{found}");
    let found =
        plans.data("context_search", json!({ "query": "inserts", "roadmapId": "import", "limit": 5 }));
    assert_eq!(found["count"], 1, "{found}");
    let hit = &found["results"][0];
    let mut members = vec!["context_id", "dependencies", "dependents", "id", "label", "phase", "rank"];
    members.extend(["roadmap_id", "scope", "snippet"]);
    assert_eq!(keys(hit), members);
    assert_eq!(
        (&hit["id"], &hit["roadmap_id"], &hit["context_id"]),
        (&json!("batch"), &json!("import"), &json!(1))
    );
    assert!(hit["snippet"].as_str().unwrap().contains("**inserts**"), "{hit}");
    assert_eq!(plans.data("context_search", json!({ "query": "\"inserts NEAR( AND" }))["count"], 0);
}

#[test]
fn nothing_drifts_where_nothing_was_decided() {
    let mut plans = Plans::with_import();
    let none = json!({ "plans": [], "decisions": 0, "drifted": 0, "results": [] });
    assert_eq!(plans.data("context_drift", json!({})), none);
}
