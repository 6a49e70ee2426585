//! Clients that are slow, that never read, or that are too many: with limits short enough to wait for.

use std::time::Instant;

use serde_json::json;

use super::agent::Agent;
use super::wire::{Wire, get, written};
use super::*;

pub(super) const MCP: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                              Accept: application/json, text/event-stream\r\n";

/// Clients that do not say what they want.
fn slow(serving: &Serving) -> Vec<(&'static str, Wire)> {
    let half_a_body = format!("{MCP}Content-Length: 100\r\n\r\n{{\"jsonrpc\":");
    let half_a_chunk = format!("{MCP}Transfer-Encoding: chunked\r\n\r\n10\r\n{{\"js");
    [
        ("nothing", ""),
        ("empty lines", "\r\n\r\n\r\n"),
        ("half a line", "GET / HT"),
        ("half the headers", "GET / HTTP/1.1\r\nHost: localhost\r\nX-"),
        ("half a body", &half_a_body),
        ("half a chunk", &half_a_chunk),
    ]
    .map(|(what, text)| {
        let mut wire = Wire::open(serving.addr);
        wire.send(text).unwrap();
        (what, wire)
    })
    .into()
}

#[test]
fn whoever_says_nothing_or_half_of_it_is_let_go() {
    let serving = Serving::limited(Limits { first_words: SHORT, whole_body: SHORT, ..patient() });
    for (what, mut wire) in slow(&serving) {
        let said = String::from_utf8_lossy(&wire.rest()).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 40"), "{what}: {said}");
    }
}

#[test]
fn nobody_waits_for_those_who_say_nothing_or_half_of_it() {
    let serving = Serving::limited(patient());
    let _slow = slow(&serving);
    for _ in 0..20 {
        assert_eq!(get(serving.addr, "/healthz").status, 200);
    }
}

#[test]
fn one_byte_at_a_time_is_not_enough() {
    let serving = Serving::limited(Limits { first_words: SHORT, whole_body: SHORT, ..patient() });
    for head in ["GET / HTTP/1.1\r\nX-Slow: ".to_string(), format!("{MCP}Content-Length: 10000\r\n\r\n")] {
        let mut wire = Wire::open(serving.addr);
        wire.send(&head).unwrap();
        let began = Instant::now();
        while wire.send("x").is_ok() {
            assert!(began.elapsed() < Duration::from_secs(60), "it is listened to for ever");
            std::thread::sleep(SHORT / 10);
        }
    }
}

#[test]
fn whoever_does_not_read_its_answer_is_let_go() {
    // One place more than there are clients that do not read.
    let serving = Serving::limited(Limits { connections: 4, taking: Duration::from_secs(2), ..patient() });
    let mut agent = Agent::new(serving.addr);
    for _ in 0..8 {
        agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x".repeat(1 << 20) }));
    }
    let listing = json!({ "name": "thought_record_list", "arguments": { "session_id": "s" } });
    // Whoever reads gets it whole, however long it is.
    let whole = agent.request("tools/call", listing.clone()).body.len();
    assert!(whole > 14 << 20, "{whole}");
    drop(agent);
    let mut deaf: Vec<Agent> = (0..3).map(|_| Agent::new(serving.addr)).collect();
    for agent in &mut deaf {
        agent.send("tools/call", listing.clone()).unwrap();
    }
    // Each of these keeps its place: one has it at once, and the others when those who do not read are gone.
    let mut others: Vec<Wire> = (0..4).map(|_| Wire::open(serving.addr)).collect();
    for other in &mut others {
        other.send(written("GET", "/healthz", &[], b"")).unwrap();
        assert_eq!(other.answer().unwrap().status, 200);
    }
    for agent in deaf {
        // What was under way when it was given up still arrives; the rest never does.
        let arrived = agent.into_wire().rest().len();
        assert!(arrived < whole, "{arrived} of {whole}");
    }
}

#[test]
fn too_many_connections_wait_for_room_and_get_it() {
    let serving = Serving::limited(Limits { connections: 8, first_words: SHORT, ..patient() });
    let idle: Vec<Wire> = (0..50).map(|_| Wire::open(serving.addr)).collect();
    // Those that say nothing are let go after a while; then it is the turn of those that came later.
    assert_eq!(get(serving.addr, "/healthz").status, 200);
    for mut wire in idle {
        assert_eq!(wire.rest(), b"");
    }
}
