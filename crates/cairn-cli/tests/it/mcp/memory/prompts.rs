//! Prompts.

use serde_json::{Value, json};

use super::super::harness::{Server, initialize, meta};
use super::{refusal, with_session};

const NODES: [&str; 4] = ["understand", "think", "act", "reply"];

#[test]
fn the_list_has_titles_and_arguments() {
    let mut server = Server::start();
    let prompts = server.request("prompts/list", json!({}))["result"]["prompts"].take();
    let names: Vec<&Value> = prompts.as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["understand", "think", "act", "reply", "record-decision"]);
    for prompt in prompts.as_array().unwrap() {
        assert!(prompt["title"].is_string() && prompt["description"].is_string(), "{prompt}");
        for argument in prompt["arguments"].as_array().unwrap() {
            let is_node = NODES.iter().any(|node| prompt["name"] == *node);
            assert_eq!(argument["required"], argument["name"] == "session_id" && is_node, "{argument}");
            assert!(argument["description"].is_string());
        }
    }
    assert_eq!(prompts[1]["arguments"].as_array().unwrap().len(), 5);
}

#[test]
fn a_prompt_is_the_brief_of_its_node() {
    let mut server = with_session();
    for node in NODES {
        let brief = server.data(
            "brief_build",
            json!({ "session_id": "s", "node": node, "task": "Cook.", "turn": 1, "budget": 4000, "layout": "cache" }),
        );
        let arguments =
            json!({ "session_id": "s", "task": "Cook.", "turn": "1", "budget": "4000", "layout": "cache" });
        let answer = server.request("prompts/get", json!({ "name": node, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["messages"].as_array().unwrap().len(), 1);
        assert_eq!(result["messages"][0]["role"], "user");
        assert_eq!(result["messages"][0]["content"], json!({ "type": "text", "text": brief["text"] }));
        assert_eq!(
            result["_meta"],
            json!({ "hash": brief["hash"], "turn": brief["turn"], "seq": brief["seq"] })
        );
    }
    // Forms send an empty text for what was not filled in; some clients send numbers.
    for arguments in [
        json!({ "session_id": "s", "task": "", "turn": "", "budget": "", "layout": "" }),
        json!({ "sessionId": "s", "turn": 1, "budget": 4000 }),
    ] {
        let answer = server.request("prompts/get", json!({ "name": "reply", "arguments": arguments }));
        assert!(answer["result"]["messages"][0]["content"]["text"].is_string(), "{answer}");
    }
}

#[test]
fn the_guide_names_the_session() {
    let mut server = Server::start();
    for (arguments, part) in [(json!({ "session_id": "run-1" }), "\"run-1\""), (json!({}), "of this run")] {
        let params = json!({ "name": "record-decision", "arguments": arguments });
        let answer = server.request("prompts/get", params);
        let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_string();
        assert!(text.contains(part) && text.contains("thought_decision"), "{text}");
        assert!(text.split_whitespace().count() < 250, "a short guide");
    }
    let answer = server.request("prompts/get", json!({ "name": "record-decision" }));
    assert!(answer["result"]["messages"][0]["content"]["text"].is_string(), "{answer}");
}

#[test]
fn what_is_wrong_is_told_in_words() {
    let mut server = with_session();
    for (params, part) in [
        (json!({ "name": "think" }), "session_id: must be given: a text"),
        (json!({ "name": "think", "arguments": { "session_id": "" } }), "session_id: must be given: a text"),
        (
            json!({ "name": "think", "arguments": { "session_id": "x" } }),
            "no session `x`; call session_open first",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "turn": "one" } }),
            "turn: must be a whole number",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "turn": [1] } }),
            "turn: must be a text or a number",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "turn": "9" } }),
            "turn: session `s` is in turn 1",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "budget": "2" } }),
            "a budget of 2 tokens is too small",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "layout": "x" } }),
            "layout: must be one of seed, cache",
        ),
        (
            json!({ "name": "think", "arguments": { "session_id": "s", "budgt": "2" } }),
            "budgt: unknown argument; did you mean",
        ),
        (
            json!({ "name": "record-decision", "arguments": { "session_id": 7 } }),
            "session_id: must be a text",
        ),
        (json!({ "name": "thinks" }), "no prompt `thinks`; did you mean `think`?"),
        (
            json!({ "name": "dream" }),
            "no prompt `dream`; there are understand, think, act, reply, record-decision",
        ),
        (json!({ "name": 7 }), "params: not as prompts/get expects them"),
        (json!({ "name": "think", "arguments": [] }), "params: not as prompts/get expects them"),
    ] {
        let (code, message) = refusal(&mut server, "prompts/get", params);
        assert_eq!(code, -32602);
        assert!(message.starts_with(part), "{message}");
    }
    let (code, _) = refusal(&mut server, "prompts/list", json!({ "cursor": "2" }));
    assert_eq!(code, -32602);
    assert!(server.is_alive());
}

#[test]
fn prompts_come_with_their_tools() {
    for (sets, names) in [
        ("trail", json!(["record-decision"])),
        ("memory", json!(NODES)),
        ("snapshot", json!([])),
        ("proof", json!([])),
    ] {
        let mut server = Server::with_args(&["--tools", sets]);
        let capabilities =
            server.request("initialize", initialize("2025-11-25"))["result"]["capabilities"].take();
        let prompts = server.request("prompts/list", json!({}))["result"]["prompts"].take();
        let found: Vec<&Value> = prompts.as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
        assert_eq!(json!(found), names, "{sets}");
        assert_eq!(capabilities.get("prompts").is_some(), !found.is_empty(), "{sets}");
        assert!(capabilities["resources"].get("subscribe").is_some(), "{sets}");
        assert!(capabilities.get("completions").is_some(), "{sets}");
        let (code, message) = refusal(&mut server, "prompts/get", json!({ "name": "nothing" }));
        assert_eq!(code, -32602, "{message}");
    }
}

#[test]
fn a_client_of_the_newest_revision_gets_the_same() {
    let mut server = Server::silent();
    let capabilities =
        server.request("server/discover", json!({ "_meta": meta() }))["result"]["capabilities"].take();
    for name in ["tools", "prompts", "resources", "completions"] {
        assert!(capabilities.get(name).is_some(), "{capabilities}");
    }
    let answer = server.request("prompts/list", json!({ "_meta": meta() }));
    assert_eq!(answer["result"]["resultType"], "complete");
    let answer = server.request("prompts/get", json!({ "name": "record-decision", "_meta": meta() }));
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    for method in ["prompts/list", "prompts/get", "resources/list", "resources/read", "completion/complete"] {
        let params = json!({
            "name": "record-decision", "uri": "cairn://thought/x", "ref": { "type": "ref/prompt", "name": "think" },
            "argument": { "name": "turn", "value": "" },
        });
        let (code, message) = refusal(&mut server, method, params);
        assert!(code == -32602 && message.contains("protocolVersion"), "{method}: {message}");
    }
}
