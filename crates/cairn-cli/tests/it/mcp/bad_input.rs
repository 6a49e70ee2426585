//! Arguments that are wrong, and what the caller is told.

use serde_json::{Value, json};

use super::harness::{Server, envelope, issues};

fn with(key: &str, value: Value) -> Value {
    let mut arguments = json!({ "type": "plan", "content": "x", "session_id": "s" });
    arguments[key] = value;
    arguments
}

#[track_caller]
fn assert_one(found: Vec<String>, path: &str, part: &str) {
    assert!(
        found.len() == 1 && found[0].starts_with(&format!("{path}: ")) && found[0].contains(part),
        "{found:?}"
    );
}

#[test]
fn each_wrong_argument_is_one_issue_at_its_path() {
    let mut server = Server::start();
    let four = "must be one of plan, analysis, decision, reflection";
    for (key, value, part) in [
        ("session_id", json!(""), "must not be empty"),
        ("task_id", json!(""), "must not be empty"),
        ("agent_id", json!(""), "must not be empty"),
        ("task_id", json!("x".repeat(201)), "at most 200"),
        ("type", json!("idea"), four),
        ("type", json!(3), four),
        ("content", json!(5), "must be a text, found 5"),
        ("content", json!("a\u{0}b"), "NUL"),
        ("session_id", json!("a\u{0}b"), "NUL"),
        ("metadata", json!([1]), "must be an object, found an array"),
        ("metadata", json!("{}"), "must be an object"),
        ("context_id", json!("1"), "must be an integer"),
        ("supersedes", json!("r1"), "must be a list"),
        ("supersedes", json!(["r1"]), "only a decision or a reflection can have this, not a plan"),
        ("rejects", json!(["r1"]), "only a decision or a reflection can have this, not a plan"),
        ("applies_to", json!({}), "must be a list, found an object"),
        ("applies_to", json!(vec!["x"; 33]), "must have at most 32 entries, found 33"),
        ("source", json!("person"), "unknown argument"),
        ("sesion_id", json!("s"), "did you mean `session_id`"),
        ("colour", json!(1), "known are type, content"),
        ("parent_id", json!("01890000-0000-7000-8000-000000000000"), "parent"),
    ] {
        let found = server.issues("thought_record", with(key, value.clone()));
        assert!(found.len() == 1 && found[0].contains(part), "{key} = {value}: {found:?}");
        assert!(found[0].starts_with(&format!("{key}: ")), "{key} = {value}: {found:?}");
    }
    assert_eq!(server.data("thought_record_list", json!({}))["records"], json!([]));
}

#[test]
fn a_wrong_link_is_one_issue_at_its_place() {
    let mut server = Server::start();
    let plan = server.data("thought_plan", json!({ "plan_description": "x", "session_id": "s" }));
    let there = server.data("thought_decision", json!({ "decision": "x", "session_id": "there" }));
    let id = plan["id"].as_str().unwrap();
    for (field, value, path, part) in [
        ("supersedes", json!([there["id"], 7]), "supersedes[1]", "must be a text, found 7"),
        ("supersedes", json!([there["id"], "nobody"]), "supersedes[1]", "there is no thought `nobody`"),
        ("supersedes", json!([id]), "supersedes[0]", "only a decision can be superseded"),
        ("supersedes", json!([there["id"], there["id"]]), "supersedes[1]", "must be named once"),
        ("rejects", json!([id, there["id"]]), "rejects[1]", "belongs to another session than `s`"),
        ("rejects", json!([""]), "rejects[0]", "must not be empty"),
        ("appliesTo", json!(["a", "b\u{1b}"]), "applies_to[1]", "must not contain control characters"),
    ] {
        let mut arguments = json!({ "decision": "x", "session_id": "s" });
        arguments[field] = value;
        assert_one(server.issues("thought_decision", arguments), path, part);
    }
}

#[test]
fn a_record_needs_a_task_or_a_session() {
    let mut server = Server::start();
    let found = server.issues("thought_record", json!({ "type": "plan", "content": "x" }));
    assert_one(found, "task_id", "one of task_id and session_id must be given");
}

#[test]
fn all_problems_are_told_at_once() {
    let mut server = Server::start();
    let found = server.issues(
        "thought_decision",
        json!({ "session_id": 4, "agent_id": "", "action_id": "a\u{7}", "colour": 1, "metadata": { "x": "\u{0}" } }),
    );
    let paths: Vec<&str> = found.iter().map(|issue| issue.split(':').next().unwrap()).collect();
    assert_eq!(
        paths,
        ["colour", "session_id", "decision", "agent_id", "action_id", "metadata.x"],
        "{found:?}"
    );
}

#[test]
fn a_parent_in_another_session_is_refused() {
    let mut server = Server::start();
    let parent = server.data("thought_record", with("session_id", json!("one")))["id"].take();
    let mut arguments = with("session_id", json!("two"));
    arguments["parent_id"] = parent;
    assert_one(server.issues("thought_record", arguments), "parent_id", "session");
}

#[test]
fn too_much_content_is_told_with_the_limit() {
    let mut server = Server::start();
    let text = "x".repeat((1 << 20) + 1);
    let found = server.call("thought_plan", json!({ "plan_description": text, "session_id": "s" }));
    assert_eq!(found["error"]["code"], "TOO_LARGE");
    let details = json!({ "field": "plan_description", "actual": 1048577, "limit": 1048576 });
    assert_eq!(found["error"]["details"], details);
    let found = server.call("thought_record", with("metadata", json!({ "x": "y".repeat(70_000) })));
    assert_eq!(found["error"]["details"]["field"], "metadata");
    assert_eq!(found["error"]["details"]["limit"], 65536);
}

#[test]
fn a_key_used_twice_with_other_arguments_is_a_conflict() {
    let mut server = Server::start();
    let first = server.data("thought_record", with("idempotency_key", json!("k")));
    assert_eq!(server.data("thought_record", with("idempotency_key", json!("k"))), first);
    let mut other = with("idempotency_key", json!("k"));
    other["content"] = json!("y");
    assert_eq!(server.call("thought_record", other)["error"]["code"], "CONFLICT");
    assert_eq!(server.data("thought_record_list", json!({}))["records"], json!([first]));
}

#[test]
fn a_limit_must_be_positive_and_a_cursor_known() {
    let mut server = Server::start();
    for limit in [json!(0), json!(-1), json!(0.0), json!(1.5), json!("5")] {
        let found = server.issues("thought_record_list", json!({ "limit": limit }));
        assert_one(found, "limit", "must be");
        let found = server.issues("thought_search", json!({ "query": "x", "limit": limit }));
        assert_one(found, "limit", "must be");
    }
    let found = server.issues("thought_search", json!({ "query": "x", "limit": 101 }));
    assert_one(found, "limit", "at most 100");
    assert_one(server.issues("thought_record_list", json!({ "cursor": "nonsense" })), "cursor", "");
}

#[test]
fn reading_tools_check_their_arguments_too() {
    let mut server = Server::start();
    assert_one(server.issues("thought_tree", json!({})), "session_id", "must be given");
    assert_one(server.issues("thought_get", json!({ "id": "a\u{0}" })), "id", "NUL");
    assert_one(server.issues("thought_search", json!({ "query": "x", "task_id": "" })), "task_id", "empty");
    let both = json!({ "session_id": "a", "task_id": "b" });
    assert_one(server.issues("thought_verify", both), "task_id", "not be given together");
    for (tool, argument) in [("thought_get", "id"), ("thought_trail", "record_id")] {
        let found = server.call(tool, json!({ argument: "no-such-id" }));
        assert_eq!(found["error"]["code"], "NOT_FOUND");
        let message = found["error"]["message"].as_str().unwrap();
        assert!(message.contains("`no-such-id`") && message.contains("thought_search"), "{message}");
    }
}

/// Sends a call whose arguments no JSON library would write.
fn raw_call(server: &mut Server, arguments: &str) -> Value {
    let params = format!(r#"{{"name":"thought_record","arguments":{arguments}}}"#);
    server.send(format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":"raw"}}"#));
    let answer = server.receive();
    assert_eq!(answer["id"], "raw");
    answer
}

#[test]
fn what_json_can_say_and_no_record_can_hold_is_refused_at_its_path() {
    let mut server = Server::start();
    let deep = r#"{"a":"#.repeat(70) + "1" + &"}".repeat(70);
    for (metadata, path, part) in [
        (r#"{"a":[{"k":1,"k":2}]}"#, "metadata.a[0].k", "twice"),
        (r#"{"a b":{"c":1,"c":1}}"#, r#"metadata["a b"].c"#, "twice"),
        (r#"{"a":9007199254740993}"#, "metadata.a", "beyond"),
        (deep.as_str(), "metadata.a.a", "too deep"),
        (r#"{"a":"\ud800"}"#, "metadata.a", "unpaired surrogate"),
        (r#"{"a":"\u0000"}"#, "metadata.a", "NUL"),
    ] {
        let answer = raw_call(
            &mut server,
            &format!(r#"{{"type":"plan","content":"x","session_id":"s","metadata":{metadata}}}"#),
        );
        let found = issues(&envelope(&answer));
        assert!(found.len() == 1 && found[0].starts_with(path) && found[0].contains(part), "{found:?}");
    }
    let answer = raw_call(&mut server, r#"{"type":"plan","content":"half \udc00","session_id":"s"}"#);
    assert_one(issues(&envelope(&answer)), "content", "unpaired surrogate");
    let answer = raw_call(&mut server, r#"{"type":"plan","content":"\ud83d\ude00","session_id":"s"}"#);
    assert_eq!(envelope(&answer)["data"]["content"], "😀");
}

#[test]
fn an_argument_whose_name_needs_quoting_is_refused_as_an_argument_too() {
    let mut server = Server::start();
    let answer = raw_call(&mut server, r#"{"type":"plan","content":"x","session_id":"s","a.b":1,"a.b":2}"#);
    assert_one(issues(&envelope(&answer)), r#"["a.b"]"#, "twice");
}
