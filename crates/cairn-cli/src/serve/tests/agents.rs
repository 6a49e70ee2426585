//! What only agents meet: a tool that breaks.

use serde_json::json;

use super::agent::Agent;
use super::wire::get;
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
