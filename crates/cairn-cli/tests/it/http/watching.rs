//! Who is told what is recorded: browsers through `/events`, agents through `subscriptions/listen`.

use std::process::Stdio;

use serde_json::{Value, json};

use super::agent::FORMS;
use super::harness::{Server, program};
use super::wire::{Wire, ask};

const TREE: &str = "cairn://session/s/tree";
const BRIEF: &str = "cairn://session/s/brief/think";

/// Records from another process.
fn record(server: &Server, session: &str) {
    let recorded = program(server.path())
        .args(["record", "plan", "go on", "--session", session, "--agent", "other"])
        .output()
        .unwrap();
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
}

/// The next message of a stream that says something.
fn next(wire: &mut Wire) -> Value {
    loop {
        let chunk = wire.chunk().unwrap().expect("the stream goes on");
        let text = String::from_utf8(chunk).unwrap();
        if let Some(data) = text.lines().find_map(|line| line.strip_prefix("data: ")) {
            return serde_json::from_str(data).unwrap();
        }
    }
}

fn listening(server: &Server) -> Wire {
    let mut agent = server.agent();
    let wanted = json!({ "notifications": { "resourceSubscriptions": [TREE, BRIEF] } });
    agent.send("subscriptions/listen", wanted).unwrap();
    let mut wire = agent.into_wire();
    let (status, headers) = wire.head().unwrap();
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_string(), "text/event-stream".to_string())), "{headers:?}");
    let first = next(&mut wire);
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
    wire
}

fn updated(wire: &mut Wire) -> String {
    let message = next(wire);
    assert_eq!(message["method"], "notifications/resources/updated", "{message}");
    message["params"]["uri"].as_str().unwrap().to_string()
}

#[test]
fn a_listener_is_told_what_another_process_records() {
    let server = Server::start();
    let mut wire = listening(&server);
    record(&server, "unwatched");
    record(&server, "s");
    assert_eq!([updated(&mut wire), updated(&mut wire)], [TREE, BRIEF]);
}

#[test]
fn a_listener_is_told_what_this_server_records_and_told_once() {
    let server = Server::start();
    let mut wire = listening(&server);
    let mut agent = server.agent();
    agent.data("session_open", json!({ "session_id": "s" }));
    // An event of the memory changes the brief and not the tree.
    assert_eq!(updated(&mut wire), BRIEF);
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    assert_eq!([updated(&mut wire), updated(&mut wire)], [TREE, BRIEF]);
    agent.data("turn_begin", json!({ "session_id": "s", "message": "x" }));
    assert_eq!(updated(&mut wire), BRIEF);
}

#[test]
fn a_listener_hears_of_more_than_can_be_told_one_by_one() {
    let server = Server::start();
    let lines: String = (0..1200)
        .map(|n| {
            let arguments =
                json!({ "plan_description": "x", "session_id": format!("s{n}"), "agent_id": "a" });
            let meta = super::agent::meta("many");
            let params = json!({ "name": "thought_plan", "arguments": arguments, "_meta": meta });
            format!("{}\n", json!({ "jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params }))
        })
        .collect();
    let mut wire = listening(&server);
    let file = server.path().join("lines");
    std::fs::write(&file, lines).unwrap();
    let recorded = program(server.path())
        .arg("mcp")
        .stdin(std::fs::File::open(file).unwrap())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(recorded.success());
    record(&server, "s");
    // Whether it was too much at once depends on the machine; the watched session is told of in either case.
    assert_eq!(updated(&mut wire), TREE);
}

#[test]
fn a_browser_is_told_what_another_process_records() {
    let server = Server::start();
    let mut wire = Wire::open(server.addr);
    wire.request("GET", "/events", &[("Accept", "text/event-stream")], b"").unwrap();
    let (status, headers) = wire.head().unwrap();
    assert_eq!(status, 200);
    assert!(headers.contains(&("content-type".to_string(), "text/event-stream".to_string())), "{headers:?}");
    record(&server, "s");
    let grown = (0..10).map(|_| next(&mut wire)).find(|told| told["size"].is_u64()).unwrap();
    assert_eq!((&grown["sessions"], &grown["whole"]), (&json!(["s"]), &json!(true)), "{grown}");
}

#[test]
fn an_older_client_is_not_promised_what_cannot_be_kept() {
    let server = Server::start();
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" },
    });
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
    let opened = ask(server.addr, "POST", "/mcp", &FORMS, opening.as_bytes()).json();
    let resources = &opened["result"]["capabilities"]["resources"];
    assert!(resources.is_object() && resources["subscribe"].is_null(), "{opened}");
    let subscribe =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": TREE } })
            .to_string();
    let refused = ask(server.addr, "POST", "/mcp", &FORMS, subscribe.as_bytes()).json();
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("subscriptions/listen"), "{refused}");
    // Under the newest revision it is there.
    let answer = server.agent().request("server/discover", json!({})).json();
    assert_eq!(answer["result"]["capabilities"]["resources"]["subscribe"], true, "{answer}");
}
