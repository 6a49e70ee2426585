//! Clients that are slow, that never read, or that are too many: with limits short enough to wait for.

use std::time::{Duration, Instant};

use serde_json::json;

use super::agent::Agent;
use super::wire::{Wire, get};
use super::*;

const SHORT: Duration = Duration::from_millis(400);

fn impatient(connections: usize) -> Serving {
    let limits = Limits {
        connections,
        connections_per_address: connections,
        first_words: SHORT,
        whole_body: SHORT,
        taking: SHORT,
        last_requests: SHORT,
    };
    let tools: ToolSets = "all".parse().unwrap();
    Serving::with(Access::Open, limits, &tools.tools())
}

/// Waits until the server closes, and returns what it said and how long it took.
fn given_up(mut wire: Wire) -> (String, Duration) {
    let began = Instant::now();
    let said = String::from_utf8_lossy(&wire.rest()).into_owned();
    (said, began.elapsed())
}

#[test]
fn whoever_says_nothing_or_half_of_it_is_let_go() {
    let serving = impatient(100);
    let begun = |text: &str| {
        let mut wire = Wire::open(serving.addr);
        wire.send(text).unwrap();
        wire
    };
    let slow = [
        ("nothing", begun("")),
        ("empty lines", begun("\r\n\r\n\r\n")),
        ("half a line", begun("GET / HT")),
        ("half the headers", begun("GET / HTTP/1.1\r\nHost: localhost\r\nX-")),
        ("half a body", begun(&format!("{MCP}Content-Length: 100\r\n\r\n{{\"jsonrpc\":"))),
        ("half a chunk", begun(&format!("{MCP}Transfer-Encoding: chunked\r\n\r\n10\r\n{{\"js"))),
    ];
    // Meanwhile everyone else is answered.
    let began = Instant::now();
    while began.elapsed() < SHORT {
        let asked = Instant::now();
        assert_eq!(get(serving.addr, "/healthz").status, 200);
        assert!(asked.elapsed() < SHORT * 4, "others wait: {:?}", asked.elapsed());
    }
    for (what, wire) in slow {
        let (said, took) = given_up(wire);
        assert!(took < SHORT * 20, "{what}: {took:?}");
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 40"), "{what}: {said}");
    }
}

const MCP: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                   Accept: application/json, text/event-stream\r\n";

#[test]
fn one_byte_at_a_time_is_not_enough() {
    let serving = impatient(100);
    for head in ["GET / HTTP/1.1\r\nX-Slow: ".to_string(), format!("{MCP}Content-Length: 10000\r\n\r\n")] {
        let mut wire = Wire::open(serving.addr);
        wire.send(&head).unwrap();
        let began = Instant::now();
        while wire.send("x").is_ok() {
            assert!(began.elapsed() < SHORT * 30, "it is listened to for ever");
            std::thread::sleep(SHORT / 10);
        }
    }
    assert_eq!(get(serving.addr, "/healthz").status, 200);
}

#[test]
fn whoever_does_not_read_its_answer_is_let_go() {
    let serving = impatient(100);
    let mut agent = Agent::new(serving.addr);
    for _ in 0..8 {
        agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x".repeat(1 << 20) }));
    }
    let listing = json!({ "name": "thought_record_list", "arguments": { "session_id": "s" } });
    // Whoever reads gets it whole, however long it is.
    let whole = agent.request("tools/call", listing.clone()).body.len();
    assert!(whole > 14 << 20, "{whole}");
    let mut deaf: Vec<Agent> = (0..3).map(|_| Agent::new(serving.addr)).collect();
    for agent in &mut deaf {
        agent.send("tools/call", listing.clone()).unwrap();
    }
    // The answers are there, and nobody takes them; others are answered all the while.
    while !get(serving.addr, "/metrics").text().contains("{tool=\"thought_record_list\",outcome=\"ok\"} 4\n")
    {
    }
    let began = Instant::now();
    while began.elapsed() < SHORT * 4 {
        assert_eq!(get(serving.addr, "/healthz").status, 200);
    }
    for agent in deaf {
        // What was under way when it was given up still arrives; the rest never does.
        let arrived = agent.into_wire().rest().len();
        assert!(arrived < whole, "{arrived} of {whole}");
    }
}

#[test]
fn too_many_connections_wait_for_room_and_get_it() {
    let serving = impatient(8);
    let idle: Vec<Wire> = (0..50).map(|_| Wire::open(serving.addr)).collect();
    // Those that say nothing are let go after a while; then it is the turn of those that came later.
    assert_eq!(get(serving.addr, "/healthz").status, 200);
    for wire in idle {
        assert_eq!(given_up(wire).0, "");
    }
}

#[test]
fn the_end_waits_only_a_little_for_those_who_do_not_go() {
    let serving = impatient(100);
    let mut deaf = Agent::new(serving.addr);
    let watched = json!({ "notifications": { "resourceSubscriptions": ["cairn://session/s/tree"] } });
    deaf.send("subscriptions/listen", watched).unwrap();
    let mut wire = deaf.into_wire();
    assert_eq!(wire.head().unwrap().0, 200);
    let mut half = Wire::open(serving.addr);
    half.send(format!("{MCP}Content-Length: 100\r\n\r\n{{")).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    serving.site.stopping.cancel();
    let began = Instant::now();
    wire.rest();
    half.rest();
    assert!(began.elapsed() < SHORT * 10, "{:?}", began.elapsed());
    assert!(Wire::try_open(serving.addr).is_err());
}
