//! Completion of arguments.

use serde_json::{Value, json};

use super::super::harness::Server;
use super::{refusal, with_session};

fn prompt(name: &str) -> Value {
    json!({ "type": "ref/prompt", "name": name })
}

fn template(uri: &str) -> Value {
    json!({ "type": "ref/resource", "uri": uri })
}

#[track_caller]
fn complete(server: &mut Server, reference: Value, name: &str, value: &str) -> Value {
    let params = json!({ "ref": reference, "argument": { "name": name, "value": value } });
    let mut answer = server.request("completion/complete", params);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"]["completion"]["values"].take()
}

#[test]
fn sessions_are_completed_newest_first() {
    let mut server = with_session();
    server.data("session_open", json!({ "session_id": "soup" }));
    server.data("thought_plan", json!({ "plan_description": "p", "session_id": "stew" }));
    for (reference, name, typed, expected) in [
        (prompt("think"), "session_id", "", json!(["soup", "s"])),
        (prompt("think"), "session_id", "so", json!(["soup"])),
        (prompt("reply"), "session_id", "x", json!([])),
        (prompt("record-decision"), "session_id", "s", json!(["stew", "soup", "s"])),
        (template("cairn://session/{id}/tree"), "id", "", json!(["stew"])),
        (template("cairn://session/{id}/brief/{node}"), "id", "", json!(["soup", "s"])),
        (
            template("cairn://session/{id}/brief/{node}"),
            "node",
            "",
            json!(["understand", "think", "act", "reply"]),
        ),
        (template("cairn://session/{id}/brief/{node}"), "node", "r", json!(["reply"])),
        (template("cairn://thought/{id}"), "id", "", json!([])),
        (template("cairn://context/{id}"), "id", "", json!([])),
        (prompt("think"), "layout", "", json!(["seed", "cache"])),
        (prompt("think"), "task", "", json!([])),
        (prompt("think"), "budget", "", json!([])),
    ] {
        assert_eq!(complete(&mut server, reference.clone(), name, typed), expected, "{reference} {name}");
    }
}

#[test]
fn turns_are_completed_when_the_session_is_known() {
    let mut server = with_session();
    for _ in 1..12 {
        server.data("turn_begin", json!({ "session_id": "s", "message": "m" }));
    }
    assert_eq!(complete(&mut server, prompt("act"), "turn", ""), json!([]));
    let mut turns = |session: &str, typed: &str| {
        let params = json!({
            "ref": prompt("act"), "argument": { "name": "turn", "value": typed },
            "context": { "arguments": { "session_id": session } },
        });
        server.request("completion/complete", params)["result"]["completion"]["values"].take()
    };
    assert_eq!(turns("s", "1"), json!(["12", "11", "10", "1"]));
    assert_eq!(turns("s", "")[0], "12");
    assert_eq!(turns("nowhere", ""), json!([]));
}

#[test]
fn turns_of_a_session_are_completed_however_many_are_newer() {
    let mut server = with_session();
    for number in 0..1000 {
        server.data("session_open", json!({ "session_id": format!("newer {number}") }));
    }
    for (session, expected) in [("s", json!(["1"])), ("nope", json!([])), ("no\nname", json!([]))] {
        let params = json!({ "ref": prompt("think"), "argument": { "name": "turn", "value": "" },
                             "context": { "arguments": { "session_id": session } } });
        let answer = server.request("completion/complete", params);
        assert_eq!(answer["result"]["completion"]["values"], expected, "{session:?}");
    }
}

#[test]
fn roadmaps_are_completed_and_no_more_than_a_hundred_values_are_sent() {
    let mut server = Server::start();
    let nodes = json!([{ "id": "n", "label": "n" }]);
    for id in ["dinner", "lunch"] {
        server.data("roadmap_register", json!({ "roadmap_id": id, "title": id, "nodes": nodes }));
    }
    let roadmap = template("cairn://roadmap/{id}");
    assert_eq!(complete(&mut server, roadmap.clone(), "id", ""), json!(["dinner", "lunch"]));
    assert_eq!(complete(&mut server, roadmap, "id", "l"), json!(["lunch"]));
    for number in 0..120 {
        server.data("session_open", json!({ "session_id": format!("run-{number}") }));
    }
    let params = json!({ "ref": prompt("think"), "argument": { "name": "session_id", "value": "run-" } });
    let completion = server.request("completion/complete", params)["result"]["completion"].take();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["values"][0], &completion["total"]), (&json!("run-119"), &json!(120)));
    assert_eq!(completion["hasMore"], true);
}

#[test]
fn what_cannot_be_completed_is_told_in_words() {
    let mut server = with_session();
    let argument = json!({ "name": "session_id", "value": "" });
    for (params, part) in [
        (
            json!({ "ref": prompt("thinks"), "argument": argument }),
            "no prompt `thinks`; did you mean `think`?",
        ),
        (json!({ "ref": template("cairn://x"), "argument": argument }), "ref.uri: no template `cairn://x`"),
        (
            json!({ "ref": prompt("think"), "argument": { "name": "tune", "value": "" } }),
            "argument.name: no argument `tune`",
        ),
        (
            json!({ "ref": template("cairn://thought/{id}"), "argument": { "name": "node", "value": "" } }),
            "argument.name: no argument `node`; there are id",
        ),
        (
            json!({ "ref": template("cairn://session/{id}/brief/{node}"), "argument": { "name": "x", "value": "" } }),
            "argument.name: no argument `x`; there are id, node",
        ),
        (json!({ "ref": prompt("think") }), "params: not as completion/complete expects them"),
        (
            json!({ "ref": { "type": "ref/tool" }, "argument": argument }),
            "params: not as completion/complete",
        ),
    ] {
        let (code, message) = refusal(&mut server, "completion/complete", params);
        assert_eq!(code, -32602);
        assert!(message.starts_with(part), "{message}");
    }
}
