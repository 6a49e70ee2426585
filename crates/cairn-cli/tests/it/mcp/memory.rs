//! Working memory: its tools, the prompts and resources made of it, and who is told when it changes.

mod answers;
mod bad_input;
mod completion;
mod prompts;
mod resources;
mod watching;

use serde_json::{Value, json};

use super::harness::Server;

/// A server with the session `s`, in whose first turn a recipe was read and another drafted.
fn with_session() -> Server {
    let mut server = Server::start();
    server.data("session_open", json!({ "session_id": "s" }));
    server.data("turn_begin", json!({ "session_id": "s", "message": "What can I cook?" }));
    let ops = json!([
        { "op": "read", "type": "recipe", "id": "r-7", "label": "Soup", "body": { "serves": 4 } },
        { "op": "generate", "type": "recipe", "label": "Stew", "body": { "serves": 2 } },
    ]);
    server.data("entity_apply", json!({ "session_id": "s", "ops": ops }));
    server
}

/// Calls a tool that fails, and returns its code and message.
#[track_caller]
fn error(server: &mut Server, tool: &str, arguments: Value) -> (String, String) {
    let envelope = server.call(tool, arguments);
    assert_eq!(envelope["ok"], false, "{envelope}");
    let text = |key: &str| envelope["error"][key].as_str().unwrap().to_string();
    (text("code"), text("message"))
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The number and the words of a request that is refused.
#[track_caller]
fn refusal(server: &mut Server, method: &str, params: Value) -> (i64, String) {
    let answer = server.request(method, params);
    let error = &answer["error"];
    let code = error["code"].as_i64().unwrap_or_else(|| panic!("not refused: {answer}"));
    (code, error["message"].as_str().unwrap().to_string())
}
