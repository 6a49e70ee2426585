//! What the tools answer.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::harness::Server;

const NAMES: [&str; 44] = [
    "thought_record",
    "thought_plan",
    "thought_analysis",
    "thought_decision",
    "thought_reflection",
    "thought_get",
    "thought_record_list",
    "thought_tree",
    "thought_trail",
    "thought_for_action",
    "thought_reasoning_trail",
    "thought_verify",
    "thought_verify_chain",
    "thought_search",
    "roadmap_list",
    "roadmap_get",
    "roadmap_register",
    "roadmap_validate",
    "context_create",
    "context_get",
    "context_latest",
    "context_history",
    "context_verify",
    "context_ensure",
    "context_compare",
    "context_search",
    "context_drift",
    "session_open",
    "turn_begin",
    "entity_apply",
    "turn_step",
    "turn_note",
    "turn_end",
    "summary_apply",
    "brief_build",
    "brief_get",
    "brief_verify",
    "brief_compare",
    "session_list",
    "session_state",
    "entity_get",
    "log_checkpoint",
    "log_prove",
    "log_verify",
];

const RECORD: [&str; 19] = [
    "action_id",
    "agent_id",
    "brief_id",
    "chain_hash",
    "content",
    "content_hash",
    "context_id",
    "hash",
    "id",
    "metadata",
    "parent_id",
    "prev_hash",
    "seq",
    "session_id",
    "source",
    "step_index",
    "task_id",
    "timestamp",
    "type",
];

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_tool_is_listed_once_with_schemas_and_all_hints() {
    let mut server = Server::start();
    let answer = server.request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), NAMES.len());
    assert_eq!(names.iter().collect::<HashSet<_>>(), NAMES.iter().collect());
    for tool in tools {
        let (reads, destructive, idempotent) = match tool["name"].as_str().unwrap() {
            "thought_record" | "thought_plan" | "thought_analysis" | "thought_decision"
            | "thought_reflection" | "context_create" | "session_open" | "turn_begin" | "entity_apply"
            | "turn_step" | "turn_note" | "turn_end" | "summary_apply" | "brief_build" => {
                (false, false, false)
            }
            "context_ensure" | "log_checkpoint" => (false, false, true),
            "roadmap_register" => (false, true, true),
            _ => (true, false, true),
        };
        let hints = json!({
            "readOnlyHint": reads, "destructiveHint": destructive, "idempotentHint": idempotent,
            "openWorldHint": false,
        });
        assert_eq!(tool["annotations"], hints);
        assert!(tool["title"].is_string() && tool["description"].is_string());
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert_eq!(tool["outputSchema"]["required"], json!(["ok"]));
    }
    let size = answer["result"]["tools"].to_string().len();
    assert!(size < 1000 * NAMES.len(), "{size} bytes");
}

#[test]
fn tool_sets_are_chosen_on_the_command_line() {
    let expected =
        [("trail", 14), ("snapshot", 13), ("trail,snapshot", 27), ("memory", 14), ("all", 44), ("proof", 3)];
    for (sets, count) in expected {
        let mut server = Server::with_args(&["--tools", sets]);
        let answer = server.request("initialize", super::harness::initialize("2025-11-25"));
        let instructions = answer["result"]["instructions"].as_str().unwrap();
        assert_eq!(instructions.contains("thought_plan"), sets.contains("trail") || sets == "all", "{sets}");
        assert_eq!(
            instructions.contains("context_ensure"),
            sets.contains("snapshot") || sets == "all",
            "{sets}"
        );
        assert_eq!(instructions.contains("turn_begin"), ["memory", "all"].contains(&sets), "{sets}");
        let answer = server.request("tools/list", json!({}));
        assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), count, "{sets}");
    }
    let end = Server::with_args(&["--tools", "trial"]).end();
    assert!(!end.status.success());
}

#[test]
fn a_record_is_answered_whole_and_can_be_read_again() {
    let mut server = Server::start();
    let metadata = json!({ "branch": "main", "n": [1, 2.5, null] });
    let arguments = json!({
        "type": "decision", "content": "use one file", "task_id": "t", "session_id": "s", "action_id": "commit-1",
        "metadata": metadata, "agent_id": null,
    });
    let record = server.data("thought_record", arguments);
    assert_eq!(keys(&record), RECORD);
    assert_eq!(record["metadata"], metadata);
    assert_eq!(record["agent_id"], "raw-client");
    assert_eq!((&record["parent_id"], &record["context_id"]), (&Value::Null, &Value::Null));
    assert_eq!(record["prev_hash"], "0".repeat(64));
    assert_eq!(server.data("thought_get", json!({ "id": record["id"] })), record);
    assert_eq!(server.data("thought_get", json!({ "recordId": record["id"] })), record);
}

#[test]
fn the_short_forms_record_their_type_in_either_spelling() {
    let mut server = Server::start();
    for (tool, text, kind) in [
        ("thought_plan", "plan_description", "plan"),
        ("thought_plan", "planDescription", "plan"),
        ("thought_analysis", "analysis", "analysis"),
        ("thought_decision", "decision", "decision"),
        ("thought_reflection", "reflection", "reflection"),
    ] {
        let record = server.data(tool, json!({ text: "why", "sessionId": "s", "actionId": "a" }));
        assert_eq!((&record["type"], &record["content"]), (&json!(kind), &json!("why")));
        assert_eq!((&record["session_id"], &record["action_id"]), (&json!("s"), &json!("a")));
    }
    let record =
        server.data("thought_record", json!({ "thoughtType": "plan", "content": "", "taskId": "t" }));
    assert_eq!((&record["type"], &record["content"]), (&json!("plan"), &json!("")));
}

#[test]
fn links_are_recorded_in_either_spelling_and_shown_by_every_tool_with_whole_records() {
    let mut server = Server::start();
    let old = server.data("thought_decision", json!({ "decision": "use cookies", "session_id": "before" }));
    let option = server.data("thought_analysis", json!({ "analysis": "basic auth", "session_id": "s" }));
    let mut arguments = json!({
        "session_id": "s", "supersedes": [old["id"]], "rejects": [option["id"]], "applies_to": ["src/auth/**"],
    });
    for (tool, text, subjects) in [
        ("thought_record", "content", "applies_to"),
        ("thought_decision", "decision", "appliesTo"),
        ("thought_reflection", "reflection", "applies_to"),
    ] {
        let mut arguments = arguments.clone();
        arguments[text] = json!("use tokens");
        let about = arguments["applies_to"].take();
        arguments.as_object_mut().unwrap().remove("applies_to");
        arguments[subjects] = about;
        if tool == "thought_record" {
            arguments["type"] = json!("decision");
        }
        let record = server.data(tool, arguments);
        assert_eq!(record["supersedes"], json!([old["id"]]), "{tool}");
        assert_eq!(record["rejects"], json!([option["id"]]), "{tool}");
        assert_eq!(record["applies_to"], json!(["src/auth/**"]), "{tool}");
        assert_eq!(record["source"], "agent", "{tool}");
        assert_eq!(server.data("thought_get", json!({ "id": record["id"] })), record);
        let listed = server.data("thought_record_list", json!({ "session_id": "s" }));
        assert_eq!(listed["records"].as_array().unwrap().last(), Some(&record));
        let found = server.data("thought_search", json!({ "query": "tokens", "limit": 100 }));
        assert!(found.to_string().contains(&record["rejects"].to_string()), "{found}");
    }
    for (tool, text) in [("thought_plan", "plan_description"), ("thought_analysis", "analysis")] {
        let record =
            server.data(tool, json!({ text: "x", "session_id": "s", "applies_to": ["area:billing"] }));
        assert_eq!(record["applies_to"], json!(["area:billing"]), "{tool}");
        assert!(record.get("supersedes").is_none() && record.get("rejects").is_none(), "{record}");
        arguments[text] = json!("x");
        let found = server.issues(tool, arguments.clone());
        assert!(
            found.len() == 2 && found.iter().all(|issue| issue.contains("unknown argument")),
            "{found:?}"
        );
        arguments.as_object_mut().unwrap().remove(text);
    }
}

#[test]
fn the_author_is_the_argument_or_stands_in_the_metadata_or_is_the_client() {
    let mut server = Server::start();
    let mut author = |extra: Value| {
        let mut arguments = json!({ "analysis": "x", "session_id": "s" });
        arguments.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        server.data("thought_analysis", arguments)["agent_id"].take()
    };
    assert_eq!(author(json!({ "agent_id": "ada", "metadata": { "agent_id": "bob" } })), "ada");
    assert_eq!(author(json!({ "metadata": { "agent_id": "bob" } })), "bob");
    assert_eq!(author(json!({ "metadata": { "agent_id": 7 } })), "raw-client");
    assert_eq!(author(json!({})), "raw-client");
}

#[test]
fn a_listing_is_filtered_and_paged() {
    let mut server = Server::start();
    for (task, kind) in [("one", "plan"), ("two", "plan"), ("one", "decision")] {
        server.data("thought_record", json!({ "type": kind, "content": kind, "task_id": task }));
    }
    let all = server.data("thought_record_list", json!({}));
    assert_eq!(all["records"].as_array().unwrap().len(), 3);
    assert_eq!(all["next_cursor"], Value::Null);
    let one = server.data("thought_record_list", json!({ "task_id": "one" }));
    assert_eq!(one["records"], json!([all["records"][0], all["records"][2]]));
    let plans = server.data("thought_record_list", json!({ "thoughtType": "plan", "task_id": "one" }));
    assert_eq!(plans["records"], json!([all["records"][0]]));
    let page = server.data("thought_record_list", json!({ "limit": 2.0 }));
    assert_eq!(page["records"].as_array().unwrap().len(), 2);
    let rest = server.data("thought_record_list", json!({ "limit": 2, "cursor": page["next_cursor"] }));
    assert_eq!(rest["records"], json!([all["records"][2]]));
    assert_eq!(rest["next_cursor"], Value::Null);
}

#[test]
fn trees_and_trails_show_what_follows_from_what() {
    let mut server = Server::start();
    let long = "é".repeat(300);
    let root = server.data("thought_plan", json!({ "plan_description": long, "session_id": "s" }));
    let leaf = server.data(
        "thought_decision",
        json!({ "decision": "do it", "session_id": "s", "parent_id": root["id"], "action_id": "deploy" }),
    );
    let tree = server.data("thought_tree", json!({ "session_id": "s" }));
    assert_eq!((&tree["session_id"], &tree["count"]), (&json!("s"), &json!(2)));
    assert_eq!(tree["tree"][0]["content"], "é".repeat(100) + "…");
    assert_eq!(tree["tree"][0]["children"][0]["id"], leaf["id"]);
    let whole = server.data("thought_tree", json!({ "sessionId": "s", "includeContent": true }));
    assert_eq!(whole["tree"][0]["content"], long);
    let flat = server.data("thought_tree", json!({ "session_id": "s", "include_children": false }));
    assert_eq!(flat["tree"].as_array().unwrap().len(), 2);
    assert!(flat["tree"][0].get("children").is_none());

    let path =
        server.data("thought_trail", json!({ "record_id": leaf["id"], "session_id": "s" }))["path"].take();
    assert_eq!((&path[0]["id"], &path[1]["id"]), (&root["id"], &leaf["id"]));
    let thoughts = server.data("thought_for_action", json!({ "action_id": "deploy" }));
    assert_eq!((&thoughts["count"], &thoughts["thoughts"][0]["session_id"]), (&json!(1), &json!("s")));
    let why = server.data("thought_reasoning_trail", json!({ "actionId": "deploy" }));
    assert_eq!((&why["has_reasoning"], &why["trail_count"]), (&json!(true), &json!(1)));
    assert_eq!(why["trails"][0], path);
    let none = server.data("thought_reasoning_trail", json!({ "action_id": "nothing" }));
    assert_eq!((&none["has_reasoning"], &none["trails"]), (&json!(false), &json!([])));
}

#[test]
fn what_is_searched_is_found_with_a_marked_snippet() {
    let mut server = Server::start();
    let record =
        server.data("thought_analysis", json!({ "analysis": "the import is slow", "session_id": "s" }));
    let found = server.data("thought_search", json!({ "query": "import", "type": "analysis", "limit": 5 }));
    assert_eq!(found["count"], 1);
    let hit = &found["results"][0];
    assert_eq!(hit["id"], record["id"]);
    assert_eq!(hit["snippet"], "the **import** is slow");
    assert!(hit["rank"].is_number());
    assert_eq!(server.data("thought_search", json!({ "query": "import -slow" }))["count"], 0);
    assert_eq!(server.data("thought_search", json!({ "query": "\"import NEAR( AND" }))["count"], 0);
}
