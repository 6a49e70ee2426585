//! What only agents meet: a tool that breaks, and too many who listen.

use serde_json::json;

use super::agent::Agent;
use super::wire::{self, get};
use super::*;
use crate::mcp::Call;

static BROKEN: Tool = Tool {
    name: "broken",
    call: Call::Read(|_, _| panic!("broken\nto pieces")),
    title: "",
    description: "",
    args: &[],
    data: &[],
};

#[test]
fn a_tool_that_panics_is_answered_and_the_server_lives_on() {
    let serving = Serving::with(Access::Open, Limits::default(), &[&BROKEN]);
    let mut agent = Agent::new(serving.addr);
    for _ in 0..20 {
        assert_eq!(agent.refused("broken", json!({})), "HANDLER_ERROR");
    }
    assert_eq!(get(serving.addr, "/healthz").status, 200);
    let figures = get(serving.addr, "/metrics").text();
    assert!(
        figures.contains("cairn_tool_call_seconds_count{tool=\"broken\",outcome=\"refused\"} 20"),
        "{figures}"
    );
}

#[test]
fn one_who_listens_to_much_leaves_room_and_whoever_finds_none_is_told() {
    let serving = Serving::start(Access::Open);
    let listen = |who: usize| {
        let mut agent = Agent::new(serving.addr);
        let uris: Vec<String> = (0..1000).map(|n| format!("cairn://session/{who}-{n}/tree")).collect();
        let params = json!({ "notifications": { "resourceSubscriptions": uris } });
        agent.send("subscriptions/listen", params).unwrap();
        let mut wire = agent.into_wire();
        assert_eq!(wire.head().unwrap().0, 200);
        // That it was accepted.
        wire.chunk().unwrap().unwrap();
        wire
    };
    let mut listening: Vec<wire::Wire> = (0..20).map(listen).collect();
    let mut refused = listen(20);
    let said = refused.chunk().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&said).contains("too many addresses are watched"));
    Agent::new(serving.addr).data("thought_plan", json!({ "session_id": "19-999", "plan_description": "x" }));
    let told = listening.pop().unwrap().chunk().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&told).contains("cairn://session/19-999/tree"));
}
