//! How the server ends.

use serde_json::json;

use super::agent::Agent;
use super::hostile::MCP;
use super::wire::{Wire, get};
use super::*;

fn listening(serving: &Serving) -> Wire {
    let mut agent = Agent::new(serving.addr);
    let watched = json!({ "notifications": { "resourceSubscriptions": ["cairn://session/s/tree"] } });
    agent.send("subscriptions/listen", watched).unwrap();
    let mut wire = agent.into_wire();
    assert_eq!(wire.head().unwrap().0, 200);
    wire
}

/// Nothing is under way: connections that are open, and streams, are not waited for.
#[test]
fn an_idle_server_ends_at_once() {
    let serving = Serving::limited(patient());
    let mut used = Agent::new(serving.addr);
    used.data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    let mut watching = Wire::open(serving.addr);
    watching.request("GET", "/events", &[], b"").unwrap();
    assert_eq!(watching.head().unwrap().0, 200);
    let _listening = listening(&serving);
    serving.stop();
}

#[test]
fn the_end_waits_only_a_little_for_those_who_do_not_go() {
    let serving = Serving::limited(Limits { last_requests: SHORT, ..patient() });
    let mut listening = listening(&serving);
    let mut half = Wire::open(serving.addr);
    half.send(format!("{MCP}Content-Length: 100\r\n\r\n{{")).unwrap();
    // The one that asks is among them.
    while !get(serving.addr, "/metrics").text().contains("\ncairn_requests_in_flight 2\n") {}
    let addr = serving.addr;
    serving.stop();
    listening.rest();
    half.rest();
    assert!(Wire::try_open(addr).is_err());
}
