//! Lines that are no proper message: each is answered, and the server lives on.

use serde_json::{Value, json};

use super::harness::{Server, envelope};

#[track_caller]
fn assert_error(answer: &Value, id: Value, code: i64, part: &str) {
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
    assert_eq!(answer["jsonrpc"], "2.0");
}

#[test]
fn a_line_that_is_no_message_is_answered_with_what_is_wrong_with_it() {
    let mut server = Server::start();
    for (line, id, code, part) in [
        ("{oops}", Value::Null, -32700, "column 2"),
        ("\u{feff}{}", Value::Null, -32700, "byte order mark"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, json!(7), -32700, "EOF"),
        (r#"{"jsonrpc":"2.0","id":"a","method":"ping",}"#, json!("a"), -32700, "trailing comma"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600, "batches are not supported"),
        ("3", Value::Null, -32600, "must be a JSON object"),
        (r#"{"id":1,"method":"ping"}"#, json!(1), -32600, "jsonrpc"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1), -32600, "jsonrpc"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null, -32600, "id: must be"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, Value::Null, -32600, "id: must be"),
        (r#"{"jsonrpc":"2.0","id":2}"#, json!(2), -32600, "method"),
        (
            r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"ping"}"#,
            json!(2),
            -32600,
            "id: must not be given twice",
        ),
        (r#"{"jsonrpc":"2.0","id":2,"method":7}"#, json!(2), -32600, "method"),
        (r#"{"jsonrpc":"2.0","id":2,"method":"no/such"}"#, json!(2), -32601, "no/such"),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"x"}}"#,
            json!(2),
            -32602,
            "cursor",
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":5}}"#,
            json!(2),
            -32602,
            "params",
        ),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#, json!(2), -32602, "params"),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#, json!(2), -32602, "params.name"),
    ] {
        server.send(line);
        assert_error(&server.receive(), id, code, part);
    }
    for line in
        ["", "   ", r#"{"jsonrpc":"2.0","method":"no/such"}"#, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]
    {
        server.send(line);
    }
    server.send(b"\xff\xfe".as_slice());
    assert_error(&server.receive(), Value::Null, -32700, "column");
    assert!(server.is_alive());
}

#[test]
fn arguments_that_are_not_an_object_are_invalid_params() {
    let mut server = Server::start();
    for (arguments, found) in [(json!([]), "an array"), (json!("x"), "a text"), (json!(1), "a number")] {
        let answer = server.request("tools/call", json!({ "name": "thought_get", "arguments": arguments }));
        assert_error(&answer, answer["id"].clone(), -32602, &format!("must be an object, found {found}"));
    }
    assert_eq!(server.issues("thought_get", Value::Null).len(), 1);
}

#[test]
fn an_unknown_tool_is_told_with_the_nearest_one() {
    let mut server = Server::start();
    let answer = server.request("tools/call", json!({ "name": "thought_verfy", "arguments": {} }));
    assert_error(
        &answer,
        answer["id"].clone(),
        -32602,
        "no tool `thought_verfy`; did you mean `thought_verify`?",
    );
    let answer = server.request("tools/call", json!({ "name": "x\u{1b}[2J", "arguments": {} }));
    assert_error(&answer, answer["id"].clone(), -32602, "no tool `x\\u{1b}[2J`");
}

#[test]
fn a_line_of_twenty_mebibytes_is_answered_wherever_its_id_stands() {
    let mut server = Server::start();
    let text = "x".repeat(20 << 20);
    let params =
        format!(r#""params":{{"id":1,"name":"thought_plan","arguments":{{"plan_description":"{text}"}}}}"#);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","id":"before","method":"tools/call",{params}}}"#),
        format!(r#"{{"jsonrpc":"2.0",{params},"method":"tools/call","id":"after"}}"#),
    ] {
        server.send(&line);
        let answer = server.receive();
        assert!(["before", "after"].contains(&answer["id"].as_str().unwrap()), "{answer}");
        let found = envelope(&answer);
        assert_eq!(found["error"]["code"], "TOO_LARGE");
        let details = json!({ "field": "message", "actual": line.len(), "limit": 16 << 20 });
        assert_eq!(found["error"]["details"], details);
    }
    server.send(format!(r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{{"x":"{text}"}}}}"#));
    assert_error(&server.receive(), json!(4), -32600, "16777216");
    server.send(format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":"{text}"}}}}"#));
    server.send(&text);
    assert_error(&server.receive(), Value::Null, -32600, "16777216");
    assert!(server.is_alive());
}

#[test]
fn a_message_may_come_in_pieces() {
    let mut server = Server::start();
    for part in [r#"{"jsonrpc":"2.0","#, r#""id":1,"method""#, r#":"ping"}"#, "\r"] {
        server.send_part(part);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.send("");
    assert_eq!(server.receive(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
}
