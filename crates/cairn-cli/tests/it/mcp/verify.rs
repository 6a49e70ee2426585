//! What verification answers.

use cairn::Sha;
use serde_json::{Value, json};

use super::harness::Server;
use crate::it::database::tamper;

const MEMBERS: [&str; 11] = [
    "actual",
    "broken_at",
    "broken_at_step",
    "chain_length",
    "expected",
    "findings_total",
    "message",
    "notes",
    "reason",
    "records",
    "valid",
];

fn recorded() -> (Server, Vec<Value>) {
    let mut server = Server::start();
    let plan = |n| json!({ "plan_description": format!("step {n}"), "session_id": "s", "task_id": "t" });
    let records = (0..3).map(|n| server.data("thought_plan", plan(n))).collect();
    (server, records)
}

fn scopes() -> [(&'static str, Value); 4] {
    [
        ("thought_verify", json!({})),
        ("thought_verify", json!({ "task_id": "t" })),
        ("thought_verify", json!({ "session_id": "s" })),
        ("thought_verify_chain", json!({ "sessionId": "s" })),
    ]
}

#[test]
fn what_nobody_touched_is_valid() {
    let (mut server, _) = recorded();
    for (tool, arguments) in scopes() {
        let verdict = server.data(tool, arguments);
        assert!(verdict.as_object().unwrap().keys().eq(MEMBERS), "{verdict}");
        assert_eq!((&verdict["valid"], &verdict["records"]), (&json!(true), &json!(3)), "{verdict}");
        assert_eq!((&verdict["broken_at"], &verdict["findings_total"]), (&Value::Null, &json!(0)));
    }
}

#[test]
fn a_text_changed_behind_our_back_is_named() {
    let (server, records) = recorded();
    let end = server.end();
    let changed = records[1]["id"].as_str().unwrap();
    let change = format!("UPDATE thought SET content = 'other' WHERE id = '{changed}'");
    assert_eq!(tamper(&end.folder.path().join("cairn.db"), &change), 1);

    let mut server = Server::restart(end);
    for (tool, arguments) in scopes() {
        let verdict = server.data(tool, arguments);
        assert_eq!(verdict["valid"], false, "{verdict}");
        assert_eq!(
            (&verdict["broken_at"], &verdict["broken_at_step"]),
            (&json!(changed), &json!(1)),
            "{verdict}"
        );
        assert_eq!(verdict["reason"], "content_hash_mismatch", "{verdict}");
        // Expected is what the log says; the hash of the forged text is what is found.
        assert_eq!(verdict["expected"], records[1]["content_hash"], "{verdict}");
        assert_eq!(verdict["actual"], Sha::of(b"other").to_string(), "{verdict}");
        assert!(verdict["findings_total"].as_u64() > Some(0), "{verdict}");
    }
}
