//! `thought_redact` and sealed contents over MCP.

use serde_json::json;

use super::harness::Server;
use crate::it::database::{args, on_postgres};

#[test]
fn a_client_that_names_the_set_can_redact() {
    let mut server = Server::with_args(&["--tools", "trail,redact"]).initialized();
    let tools = server.request("tools/list", json!({}))["result"]["tools"].take();
    let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "thought_redact").unwrap();
    assert_eq!(tool["annotations"]["destructiveHint"], true);
    let recorded =
        server.data("thought_plan", json!({ "plan_description": "Ask Zoltan", "session_id": "s" }));
    let id = recorded["id"].as_str().unwrap();
    let call = json!({ "id": id, "reason": "a name", "by": "ann" });
    let redacted = server.data("thought_redact", call.clone());
    assert_eq!(redacted["fields"], json!(["content"]));
    assert_eq!(redacted["also_in"], json!([]));
    // What a server keeps of it elsewhere is named.
    assert_eq!(redacted["remnants"].as_array().unwrap().is_empty(), !on_postgres(), "{redacted}");
    let shown = server.data("thought_get", json!({ "id": id }));
    assert_eq!((&shown["content"], &shown["metadata"]), (&json!(""), &json!(null)));
    assert_eq!(shown["redacted"], json!({ "by": "ann", "at": redacted["at"], "reason": "a name" }));
    let tree = server.data("thought_tree", json!({ "session_id": "s" }));
    assert_eq!(tree["tree"][0]["redacted"]["by"], "ann");
    assert_eq!(server.data("thought_search", json!({ "query": "zoltan" }))["count"], 0);
    let verdict = server.data("thought_verify", json!({}));
    assert_eq!(verdict["valid"], true);
    assert!(verdict["notes"][0].as_str().unwrap().contains("1 record is redacted"), "{verdict}");
    let again = server.call("thought_redact", call);
    assert_eq!(again["error"]["code"], "CONFLICT");
    let refused = server.issues("thought_redact", json!({ "id": id, "reason": " ", "by": "ann" }));
    assert!(refused[0].starts_with("reason: why is it redacted?"), "{refused:?}");
}

/// The server has the database open all the time, and its words in its memory; another process erases them.
#[test]
fn another_process_redacts_while_the_server_goes_on() {
    let mut server = Server::start();
    let call = json!({ "plan_description": "Ask Zoltan Quixley", "session_id": "s",
                       "metadata": { "mail": "quixley@example.org" } });
    let recorded = server.data("thought_plan", call);
    let id = recorded["id"].as_str().unwrap();
    assert_eq!(server.data("thought_search", json!({ "query": "quixley" }))["count"], 1);
    let database = server.folder.path().join("cairn.db");
    // On a server the rows are blanked; what it keeps beside them is its own.
    let stands = || {
        ["", "-wal", "-shm"].iter().any(|end| {
            let bytes = std::fs::read(format!("{}{end}", database.display())).unwrap_or_default();
            bytes.to_ascii_lowercase().windows(7).any(|window| window == b"quixley")
        })
    };
    assert!(on_postgres() || stands());
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_cairn"))
        // The keys and heads of the server that has the database open.
        .env("CAIRN_STATE", server.folder.path().join("cairn.state"))
        .args(args(&database))
        .args(["--json", "redact", id, "--reason", "a name", "--by", "ann", "--yes"])
        .output()
        .unwrap();
    let done: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(done["fields"], json!(["content", "metadata"]));
    assert_eq!(done["remnants"].as_array().unwrap().is_empty(), !on_postgres());
    assert!(!stands());
    assert_eq!(server.data("thought_get", json!({ "id": id }))["redacted"]["by"], "ann");
    assert_eq!(server.data("thought_search", json!({ "query": "quixley" }))["count"], 0);
    let next = json!({ "plan_description": "next", "session_id": "s", "parent_id": id });
    assert_eq!(server.data("thought_plan", next)["prev_hash"], recorded["hash"]);
    assert_eq!(server.data("thought_verify", json!({}))["valid"], true);
    assert!(!stands());
}

#[test]
fn nobody_else_is_offered_it() {
    for sets in ["all", "trail"] {
        let mut server = Server::with_args(&["--tools", sets]).initialized();
        let tools = server.request("tools/list", json!({}))["result"]["tools"].take();
        assert!(tools.as_array().unwrap().iter().all(|tool| tool["name"] != "thought_redact"), "{sets}");
    }
}

#[test]
fn a_sealed_thought_says_so() {
    let mut server = Server::start();
    let call = json!({ "decision": "Ask Zoltan", "session_id": "s", "seal": true });
    let recorded = server.data("thought_decision", call);
    assert_eq!((&recorded["sealed"], &recorded["content"]), (&json!(true), &json!("Ask Zoltan")));
    let shown = server.data("thought_get", json!({ "id": recorded["id"] }));
    assert_eq!(shown, recorded);
}
