//! No token is told to anybody: not in a reply, not in a figure, not in the log; and no client writes in that.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::agent::{Agent, FORMS};
use super::harness::Server;
use super::wire::{Answer, ask};

#[test]
fn a_token_appears_nowhere() {
    let (server, [good, bound]) = Server::with_tokens([("write", None), ("write", Some("builder"))]);
    let wrong = format!("{}{}", &good[..good.len() - 4], "AAAA");
    let mut said: Vec<(String, Answer)> = Vec::new();
    for token in [&good, &bound, &wrong] {
        let (bearer, cookie) = (format!("Bearer {token}"), format!("cairn_token={token}"));
        for accept in ["text/html", "application/json"] {
            for path in
                ["/", "/index.json", "/no/such/page", "/metrics", "/openapi.json", "/healthz", "/sessions/x"]
            {
                for header in [("Authorization", &bearer), ("Cookie", &cookie)] {
                    let headers = [(header.0, header.1.as_str()), ("Accept", accept)];
                    said.push((format!("GET {path}"), ask(server.addr, "GET", path, &headers, b"")));
                }
            }
            // In a place where it does not belong.
            let path = format!("/?token={token}");
            said.push((path.clone(), ask(server.addr, "GET", &path, &[("Accept", accept)], b"")));
        }
        let form = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "text/html")];
        let body = format!("token={token}x&next=/");
        said.push(("sign in".to_string(), ask(server.addr, "POST", "/sign-in", &form, body.as_bytes())));
    }
    let mut agent = Agent::with_token(server.addr, &good);
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    agent.refused("thought_plan", json!({ "session_id": "s" }));
    said.push(("tools/list".to_string(), agent.request("tools/list", json!({}))));
    let mut bound_agent = Agent::with_token(server.addr, &bound);
    let other = json!({ "name": "thought_plan", "arguments": { "plan_description": "x", "session_id": "s", "agent_id": "y" } });
    said.push(("another agent".to_string(), bound_agent.request("tools/call", other)));
    said.push(("again".to_string(), agent.request("tools/list", json!({}))));
    // The log is written by a thread of its own.
    let began = Instant::now();
    while server.said().matches("call=tools/list").count() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", server.said());
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = server.said();
    assert!(log.contains("route=/mcp call=thought_plan status=200"), "{log}");
    // The part that names a token is no secret; it tells who asked.
    assert!(log.contains(&format!("token={}", &good["cairn_".len()..][..12])), "{log}");
    for token in [&good, &bound, &wrong] {
        let secret = &token["cairn_".len() + 13..];
        assert!(!log.contains(secret), "in the log: {log}");
        for (what, answer) in &said {
            assert!(!answer.whole().contains(secret), "{what}: {}", answer.whole());
        }
    }
}

#[test]
fn nothing_that_a_client_chose_stands_in_the_log() {
    let server = Server::start();
    let forged = "nothing status=200\n2026-01-01T00:00:00.000Z request=forged";
    let said = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        ask(server.addr, "POST", "/mcp", &FORMS, body.to_string().as_bytes())
    };
    said(forged, json!({}));
    said("tools/call", json!({ "name": forged, "arguments": {} }));
    said("tools/list", json!({}));
    let began = Instant::now();
    while !server.said().contains("call=tools/list") {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", server.said());
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = server.said();
    assert!(!log.contains("forged"), "{log}");
    assert!(log.contains("call=other status="), "{log}");
}
