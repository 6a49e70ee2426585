//! Who is told when a session changes.

use serde_json::{Value, json};

use super::super::harness::{Server, meta};
use super::{refusal, with_session};

/// Sends a request, and returns its answer and the addresses that were told of, in whatever order they come.
#[track_caller]
fn exchange(server: &mut Server, id: &str, method: &str, params: Value, told: usize) -> (Value, Vec<String>) {
    server.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
    let mut answer = Value::Null;
    let mut uris = Vec::new();
    for _ in 0..=told {
        let message = server.receive();
        if message["id"] == id {
            answer = message;
        } else {
            assert_eq!(message["method"], "notifications/resources/updated", "{message}");
            uris.push(message["params"]["uri"].as_str().unwrap().to_string());
        }
    }
    assert!(answer.is_object(), "{uris:?}");
    uris.sort();
    (answer, uris)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

const TREE: &str = "cairn://session/s/tree";
const THINK: &str = "cairn://session/s/brief/think";

#[test]
fn a_subscriber_is_told_of_changes_and_of_nothing_else() {
    let mut server = with_session();
    for uri in [TREE, THINK, "cairn://session/other/brief/act", TREE] {
        assert_eq!(server.request("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    let thought = call("thought_plan", json!({ "plan_description": "p", "session_id": "s" }));
    let (_, uris) = exchange(&mut server, "a", "tools/call", thought.clone(), 2);
    assert_eq!(uris, [THINK, TREE], "each once");
    for (tool, arguments) in [
        ("turn_note", json!({ "session_id": "s", "goal": "g" })),
        ("entity_apply", json!({ "sessionId": "s", "ops": [{ "op": "clear" }] })),
        ("turn_end", json!({ "session_id": "s", "reply": "r" })),
        ("turn_begin", json!({ "session_id": "s", "message": "m" })),
        ("session_open", json!({ "session_id": "s", "settings": { "window": 5 } })),
    ] {
        let (answer, uris) = exchange(&mut server, tool, "tools/call", call(tool, arguments), 1);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert_eq!(uris, [THINK], "{tool}: the tree is the same");
    }
    // What reads, fails, stores a brief or belongs to another session tells nobody.
    for (tool, arguments) in [
        ("session_state", json!({ "session_id": "s" })),
        ("turn_step", json!({ "session_id": "s", "step": {} })),
        ("brief_build", json!({ "session_id": "s", "node": "think", "store": true })),
        ("thought_plan", json!({ "plan_description": "p", "session_id": "t" })),
        ("turn_begin", json!({ "session_id": "other", "message": "no such session" })),
    ] {
        server.request("tools/call", call(tool, arguments));
        assert!(server.is_alive(), "{tool}");
    }
    server.request("resources/unsubscribe", json!({ "uri": TREE }));
    server.request("resources/unsubscribe", json!({ "uri": "cairn://session/never/tree" }));
    let (_, uris) = exchange(&mut server, "b", "tools/call", thought, 1);
    assert_eq!(uris, [THINK]);
    assert!(server.end().status.success());
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let mut server = with_session();
    for uri in [
        "cairn://thought/x",
        "cairn://roadmap/r",
        "cairn://session/s/brief/dream",
        "file:///x",
        "cairn://session/s",
    ] {
        let (code, message) = refusal(&mut server, "resources/subscribe", json!({ "uri": uri }));
        assert_eq!(code, -32002);
        assert!(message.starts_with("uri: only changes of cairn://session/{id}/tree"), "{message}");
    }
    let (code, _) = refusal(&mut server, "resources/subscribe", json!({}));
    assert_eq!(code, -32602);
    for number in 0..1000 {
        let uri = format!("cairn://session/{number}/tree");
        assert_eq!(server.request("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
    }
    let (code, message) = refusal(&mut server, "resources/subscribe", json!({ "uri": TREE }));
    assert_eq!((code, message.as_str()), (-32602, "uri: too many are subscribed to; unsubscribe some"));
}

/// Opens a stream of changes, as revision 2026-07-28 has it.
fn listen(server: &mut Server, id: &str, uris: Value) -> Value {
    let params = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": meta() });
    server.send(
        json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params }).to_string(),
    );
    let acknowledged = server.receive();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
    acknowledged["params"]["notifications"]["resourceSubscriptions"].clone()
}

fn modern(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": meta() })
}

/// Records a thought, and returns the ids of the listeners that were told before the call and the listener `other` were
/// answered.
fn told_to(server: &mut Server, thought: &Value) -> Vec<String> {
    server
        .send(json!({ "jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": thought }).to_string());
    let (mut answered, mut told) = (false, Vec::new());
    while !answered || !told.iter().any(|id| id == "other") {
        let message = server.receive();
        answered |= message["id"] == "t";
        let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        told.extend(id.as_str().map(str::to_string));
    }
    told
}

#[test]
fn a_listener_is_told_until_it_stops_listening() {
    let mut server = Server::silent();
    let accepted =
        listen(&mut server, "l", json!([TREE, "cairn://thought/x", "cairn://session/s/brief/act"]));
    assert_eq!(accepted, json!([TREE, "cairn://session/s/brief/act"]));
    let thought = modern("thought_plan", json!({ "plan_description": "p", "session_id": "s" }));
    let (_, uris) = exchange(&mut server, "a", "tools/call", thought.clone(), 2);
    assert_eq!(uris, ["cairn://session/s/brief/act", TREE]);
    let (_, uris) =
        exchange(&mut server, "b", "tools/call", modern("session_open", json!({ "session_id": "s" })), 1);
    assert_eq!(uris, ["cairn://session/s/brief/act"]);
    assert_eq!(listen(&mut server, "other", json!([TREE])), json!([TREE]));
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "l" } });
    server.send(cancel.to_string());
    // Until the cancellation is through, changes may still be told of: so it is asked for changes until three in a row are
    // told to the other listener alone.
    let (mut alone, mut rounds) = (0, 0);
    while alone < 3 {
        rounds += 1;
        assert!(rounds < 1000, "it is told for ever");
        alone = if told_to(&mut server, &thought).contains(&"l".to_string()) { 0 } else { alone + 1 };
    }
    assert_eq!(listen(&mut server, "l", json!([TREE])), json!([TREE]), "its id is free again");
}

#[test]
fn a_listener_to_far_too_much_hears_nothing_and_nobody_waits_for_it() {
    let mut server = Server::silent();
    let many: Vec<String> = (0..200_000).map(|number| format!("cairn://session/{number}/tree")).collect();
    assert_eq!(listen(&mut server, "l", json!(many)), Value::Null);
    let listed = server.request("resources/list", json!({ "_meta": meta() }));
    assert!(listed["result"].is_object(), "{listed}");
}

#[test]
fn each_revision_has_its_own_way() {
    let mut server = Server::start();
    let params = json!({ "notifications": { "resourceSubscriptions": [TREE] } });
    assert_eq!(refusal(&mut server, "subscriptions/listen", params).0, -32601);
    let mut server = Server::silent();
    let params = json!({ "uri": TREE, "_meta": meta() });
    assert_eq!(refusal(&mut server, "resources/subscribe", params).0, -32601);
}
