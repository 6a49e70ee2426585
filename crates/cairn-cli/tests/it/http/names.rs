//! Who records, when nobody says so.

use serde_json::{Value, json};

use super::agent::{FORMS, meta};
use super::harness::Server;
use super::wire::ask;

fn opening(name: &str) -> Value {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": name, "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn plan() -> Value {
    let arguments = json!({ "plan_description": "x", "session_id": "s" });
    let params = json!({ "name": "thought_plan", "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
}

#[test]
fn a_client_with_a_handshake_records_under_the_name_it_gave_there() {
    let server = Server::start();
    for name in ["claude-code", "naïve 字", "a b\tc"] {
        let opened = ask(server.addr, "POST", "/mcp", &FORMS, opening(name).to_string().as_bytes());
        assert_eq!(opened.json()["result"]["protocolVersion"], "2025-11-25", "{}", opened.whole());
        let session = opened.header("mcp-session-id").unwrap().to_string();
        let mut headers = FORMS.to_vec();
        headers.extend([("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", &session)]);
        let said = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(ask(server.addr, "POST", "/mcp", &headers, said.as_bytes()).status, 202);
        let recorded = ask(server.addr, "POST", "/mcp", &headers, plan().to_string().as_bytes()).json();
        let data = &recorded["result"]["structuredContent"]["data"];
        // A name that cannot be an agent's is none.
        let expected = if name.contains('\t') { Value::Null } else { name.into() };
        assert_eq!(data["agent_id"], expected, "{recorded}");
    }
}

#[test]
fn a_session_that_was_not_given_here_is_unknown() {
    let server = Server::start();
    for id in ["1234", "client.%%%", ""] {
        let mut headers = FORMS.to_vec();
        headers.push(("Mcp-Session-Id", id));
        let answer = ask(server.addr, "POST", "/mcp", &headers, plan().to_string().as_bytes());
        assert_eq!(answer.status, 404, "{id}: {}", answer.whole());
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("initialize"));
    }
}

#[test]
fn a_client_of_the_newest_revision_records_under_the_name_in_each_request() {
    let server = Server::start();
    let mut agent = server.agent();
    for name in ["one", "another"] {
        let params = json!({
            "name": "thought_plan", "arguments": { "plan_description": "x", "session_id": "s" },
            "_meta": meta(name),
        });
        let answer = agent.request("tools/call", params).json();
        assert_eq!(answer["result"]["structuredContent"]["data"]["agent_id"], name, "{answer}");
    }
}

#[test]
fn nobody_records_without_a_name() {
    let server = Server::start();
    let answer = ask(server.addr, "POST", "/mcp", &FORMS, plan().to_string().as_bytes()).json();
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["details"]["issues"][0]["path"], "agent_id", "{answer}");
}
