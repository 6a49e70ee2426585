//! Arguments that are wrong, by accident or on purpose.

use serde_json::{Value, json};

use super::super::harness::Server;
use super::{error, with_session};

/// Calls of every tool that needs a session, right in all else.
fn calls(session: &Value) -> Vec<(&'static str, Value)> {
    let step = json!({ "step_num": 1, "type": "read", "description": "d" });
    let summary =
        json!({ "session_id": session, "kind": "history", "from_turn": 1, "to_turn": 1, "text": "t" });
    vec![
        ("turn_begin", json!({ "session_id": session, "message": "m" })),
        ("entity_apply", json!({ "session_id": session, "ops": [{ "op": "clear" }] })),
        ("turn_step", json!({ "session_id": session, "step": step })),
        ("turn_note", json!({ "session_id": session, "goal": "g" })),
        ("turn_end", json!({ "session_id": session, "reply": "r" })),
        ("summary_apply", summary),
        ("brief_build", json!({ "session_id": session, "node": "think" })),
        ("session_state", json!({ "session_id": session })),
        ("entity_get", json!({ "session_id": session, "ref": "recipe_1" })),
    ]
}

#[test]
fn an_unknown_session_is_told_to_be_opened() {
    let mut server = Server::start();
    for (tool, arguments) in calls(&json!("nowhere")) {
        let (code, message) = error(&mut server, tool, arguments);
        assert_eq!(code, "NOT_FOUND", "{tool}");
        assert!(message.starts_with("no session `nowhere`; call session_open first"), "{tool}: {message}");
    }
    assert_eq!(server.data("session_list", json!({}))["count"], 0, "and none was made");
}

#[test]
fn a_session_that_cannot_be_one_is_one_issue() {
    let mut server = with_session();
    let long = "x".repeat(201);
    for session in [json!(7), json!(["s"]), json!({}), json!(true), json!(""), json!("a\0"), json!(long)] {
        for (tool, arguments) in calls(&session) {
            let found = server.issues(tool, arguments);
            assert!(
                found.len() == 1 && found[0].starts_with("session_id: must"),
                "{tool} {session}: {found:?}"
            );
        }
        let found = server.issues("session_open", json!({ "session_id": session }));
        assert!(found.len() == 1 && found[0].starts_with("session_id: must"), "{session}: {found:?}");
    }
    for (tool, mut arguments) in calls(&Value::Null) {
        assert!(
            server.issues(tool, arguments.clone()).contains(&"session_id: must be given: a text".into()),
            "{tool}"
        );
        arguments["sesion_id"] = json!("s");
        let found = server.issues(tool, arguments);
        assert!(
            found.contains(&"sesion_id: unknown argument; did you mean `session_id`?".into()),
            "{found:?}"
        );
    }
}

#[test]
fn what_needs_an_open_turn_says_so_without_one() {
    let mut server = Server::start();
    server.data("session_open", json!({ "session_id": "s" }));
    for round in 0..2 {
        for (tool, arguments) in calls(&json!("s")) {
            if ["turn_step", "turn_note", "turn_end"].contains(&tool) {
                let (code, message) = error(&mut server, tool, arguments);
                assert_eq!(code, "CONFLICT", "{tool}");
                assert_eq!(message, "no turn of session `s` is open; call turn_begin first");
            }
        }
        if round == 0 {
            server.data("turn_begin", json!({ "session_id": "s", "message": "m" }));
            server.data("turn_end", json!({ "session_id": "s", "reply": "r" }));
        }
    }
}

#[test]
fn a_list_with_one_wrong_operation_changes_nothing_and_names_it() {
    let mut server = with_session();
    let before = server.data("session_state", json!({ "session_id": "s" }));
    let good = json!({ "op": "generate", "type": "recipe", "label": "Cake" });
    for (wrong, issue) in [
        (json!({ "op": "reed" }), "ops[1].op: must be one of read, update, generate"),
        (json!({}), "ops[1].op: must be one of"),
        (json!({ "op": "read", "type": "recipe" }), "ops[1].id: must be given for `read`"),
        (json!({ "op": "retain", "ref": "recipe_1" }), "ops[1].reason: must be given for `retain`"),
        (json!({ "op": "touch", "ref": 7 }), "ops[1].ref: must be a text"),
        (
            json!({ "op": "touch", "ref": "recipe_1", "why": "x" }),
            "ops[1].why: is not known; `touch` takes ref",
        ),
        (json!({ "op": "generate", "type": "Rezept" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (json!({ "op": "generate", "type": "a b" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (json!({ "op": "generate", "type": "gen_x" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (json!({ "op": "generate", "type": "rezépt" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (json!({ "op": "generate", "type": "../x" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (json!({ "op": "generate", "type": "" }), "ops[1].type: must be 1 to 40 lower-case letters"),
        (
            json!({ "op": "label", "ref": "recipe_1", "label": "a\u{1b}b" }),
            "ops[1].label: must not contain control",
        ),
        (
            json!({ "op": "user", "type": "recipe", "id": "1", "action": "ate" }),
            "ops[1].action: must be one of created",
        ),
        (
            json!({ "op": "read", "type": "recipe", "id": "1", "links": [{ "id": "2" }] }),
            "ops[1].links[0].type: must be",
        ),
    ] {
        let found = server.issues("entity_apply", json!({ "session_id": "s", "ops": [good, wrong, good] }));
        assert!(found.len() == 1 && found[0].starts_with(issue), "{found:?}");
    }
    let found = server.issues("entity_apply", json!({ "session_id": "s", "ops": [good, "clear"] }));
    assert_eq!(found, ["ops[1]: must be an object, found the text \"clear\""]);
    assert_eq!(server.issues("entity_apply", json!({ "session_id": "s", "ops": [] })).len(), 1);
    let many: Vec<Value> = (0..1001).map(|_| good.clone()).collect();
    let found = server.issues("entity_apply", json!({ "session_id": "s", "ops": many }));
    assert_eq!(found, ["ops: must hold at most 1000 operations, found 1001"]);
    assert_eq!(server.data("session_state", json!({ "session_id": "s" })), before);
}

#[test]
fn a_body_over_the_limit_is_too_large() {
    let mut server = with_session();
    let body = json!({ "text": "x".repeat(2 << 20) });
    for op in [
        json!({ "op": "generate", "type": "recipe", "body": body }),
        json!({ "op": "read", "type": "recipe", "id": "1", "body": body }),
        json!({ "op": "edit", "ref": "gen_recipe_1", "body": body }),
    ] {
        let envelope = server.call("entity_apply", json!({ "session_id": "s", "ops": [op] }));
        assert_eq!(envelope["error"]["code"], "TOO_LARGE", "{}", envelope["error"]["message"]);
        assert_eq!(envelope["error"]["details"]["field"], "body");
    }
    let long = "x".repeat(2 << 20);
    for (tool, field, arguments) in [
        ("turn_begin", "message", json!({ "session_id": "s", "message": long })),
        ("turn_end", "reply", json!({ "session_id": "s", "reply": long })),
        ("turn_note", "goal", json!({ "session_id": "s", "goal": long })),
    ] {
        let envelope = server.call(tool, arguments);
        assert_eq!(envelope["error"]["code"], "TOO_LARGE");
        assert_eq!(envelope["error"]["details"]["field"], field);
    }
}

#[test]
fn whoever_comes_late_is_told_the_current_sequence() {
    let mut server = with_session();
    let newest = server.data("session_state", json!({ "session_id": "s" }))["seq"].as_u64().unwrap();
    let clear = json!([{ "op": "clear" }]);
    let late = json!({ "session_id": "s", "ops": clear, "expected_seq": newest - 1 });
    let (code, message) = error(&mut server, "entity_apply", late);
    assert_eq!(code, "CONFLICT");
    assert!(message.contains(&format!("is {newest}, not {}", newest - 1)), "{message}");
    server.data("entity_apply", json!({ "session_id": "s", "ops": clear, "expected_seq": newest }));
    let (code, _) = error(
        &mut server,
        "entity_apply",
        json!({ "session_id": "s", "ops": clear, "expected_seq": newest }),
    );
    assert_eq!(code, "CONFLICT");
}

#[test]
fn a_label_of_two_drafts_is_ambiguous_and_both_are_named() {
    let mut server = with_session();
    let draft = json!([{ "op": "generate", "type": "recipe", "label": "stew ", "body": {} }]);
    server.data("entity_apply", json!({ "session_id": "s", "ops": draft }));
    let save =
        |from: Value| json!([{ "op": "create", "type": "recipe", "id": "9", "label": "STEW", "from": from }]);
    let envelope = server.call("entity_apply", json!({ "session_id": "s", "ops": save(Value::Null) }));
    assert_eq!(envelope["error"]["code"], "AMBIGUOUS_LABEL", "{envelope}");
    assert_eq!(envelope["error"]["details"]["candidates"], json!(["gen_recipe_1", "gen_recipe_2"]));
    let saved = server.data("entity_apply", json!({ "session_id": "s", "ops": save(json!("gen_recipe_2")) }));
    assert_eq!(saved["results"][0]["ref"], "gen_recipe_2");
}

#[test]
fn what_must_be_shown_and_does_not_fit_is_named() {
    let mut server = with_session();
    let envelope = server.call("brief_build", json!({ "session_id": "s", "node": "act", "budget": 3 }));
    assert_eq!(envelope["error"]["code"], "BUDGET_TOO_SMALL", "{envelope}");
    let details = &envelope["error"]["details"];
    assert_eq!(details["budget"], 3);
    assert!(details["needed"].as_u64().unwrap() > 3, "{details}");
    let item = details["item"].as_str().unwrap();
    assert!(!item.is_empty() && envelope["error"]["message"].as_str().unwrap().contains(item), "{envelope}");
    // A program can try again with what it is told.
    server.data("brief_build", json!({ "session_id": "s", "node": "act", "budget": details["needed"] }));
}

#[test]
fn each_wrong_option_of_a_brief_is_one_issue_at_its_path() {
    let mut server = with_session();
    for (name, value, part) in [
        ("node", json!("dream"), "must be one of understand, think, act, reply"),
        ("node", json!("Think"), "must be one of understand, think, act, reply"),
        ("node", json!(1), "must be one of understand, think, act, reply"),
        ("node", Value::Null, "must be given: one of understand, think, act, reply"),
        ("depth", json!(3), "must be one of 2, 5, full"),
        ("depth", json!("all"), "must be one of 2, 5, full"),
        ("layout", json!("wide"), "must be one of seed, cache"),
        ("counter", json!("guess"), "must be est-1, or tokens a character"),
        ("counter", json!(0), "must be est-1, or tokens a character"),
        ("counter", json!(-1.5), "must be est-1, or tokens a character"),
        ("counter", json!(["est-1"]), "must be a text or a number, found an array"),
        ("budget", json!(0), "must be at least 1"),
        ("budget", json!("many"), "must be an integer"),
        ("turn", json!(-1), "must be at least 0"),
        ("turn", json!(9), "session `s` is in turn 1; there is no turn 9"),
        ("store", json!("yes"), "must be true or false"),
        ("task", json!(7), "must be a text"),
        ("nodes", json!("think"), "unknown argument; did you mean `node`?"),
    ] {
        let mut arguments = json!({ "session_id": "s", "node": "think" });
        arguments[name] = value.clone();
        let found = server.issues("brief_build", arguments);
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("{name}: {part}")),
            "{name} {value}: {found:?}"
        );
    }
}

#[test]
fn what_is_not_there_is_named_and_the_way_to_it_told() {
    let mut server = with_session();
    for (tool, arguments, expected) in [
        (
            "entity_get",
            json!({ "session_id": "s", "ref": "recipe_9" }),
            "no entity `recipe_9`; find refs with session_state",
        ),
        ("brief_get", json!({ "brief_id": "b" }), "no brief `b`; brief_build gives an id with store: true"),
        (
            "brief_verify",
            json!({ "brief_id": "b" }),
            "no brief `b`; brief_build gives an id with store: true",
        ),
        ("brief_compare", json!({ "brief_id": "b", "brief_id2": "c" }), "no brief `b`; brief_build gives"),
    ] {
        let (code, message) = error(&mut server, tool, arguments);
        assert_eq!(code, "NOT_FOUND");
        assert!(message.starts_with(expected), "{message}");
    }
    let ops = json!([{ "op": "touch", "ref": "recipe_9" }, { "op": "delete", "ref": "x" }, { "op": "drop", "ref": "y" }]);
    let results = server.data("entity_apply", json!({ "session_id": "s", "ops": ops }))["results"].take();
    for result in results.as_array().unwrap() {
        assert!(result["applied"] == false && result["reason"].is_string(), "{result}");
    }
}

#[test]
fn steps_notes_summaries_and_settings_are_checked() {
    let mut server = with_session();
    for (tool, arguments, path) in [
        ("turn_step", json!({ "step": "read" }), "step: must be an object"),
        ("turn_step", json!({ "step": {} }), "step"),
        ("turn_step", json!({ "step": { "step_num": 1, "type": "fly", "description": "d" } }), "step"),
        ("turn_step", json!({ "step": { "step_num": -1, "type": "read", "description": "d" } }), "step"),
        (
            "turn_step",
            json!({ "step": { "step_num": 1, "type": "read", "description": "d", "x": 1 } }),
            "step",
        ),
        (
            "turn_step",
            json!({ "step": { "step_num": 1, "type": "read", "description": "a\0" } }),
            "step.description",
        ),
        ("turn_note", json!({}), "nothing to note"),
        (
            "turn_note",
            json!({ "decision": "maybe" }),
            "decision: must be one of plan_direct, propose, clarify",
        ),
        ("turn_note", json!({ "phase": "lost" }), "phase: must be one of exploring"),
        ("turn_note", json!({ "constraints": ["vegan"] }), "constraints[0]: must be an object"),
        ("turn_note", json!({ "constraints": [{ "value": 1 }] }), ""),
        ("turn_note", json!({ "pending": { "type": "wait", "context": "x" } }), ""),
        ("turn_note", json!({ "routing": "kitchen" }), "routing: must be an object"),
        (
            "summary_apply",
            json!({ "kind": "gossip", "from_turn": 1, "to_turn": 1, "text": "t" }),
            "kind: must be one of",
        ),
        ("summary_apply", json!({ "kind": "history", "from_turn": 1, "to_turn": 9, "text": "t" }), "to_turn"),
        (
            "summary_apply",
            json!({ "kind": "history", "from_turn": 0, "to_turn": 1, "text": "t" }),
            "from_turn: must be",
        ),
        (
            "session_open",
            json!({ "settings": { "window": "2" } }),
            "settings.window: must be a number of turns",
        ),
        ("session_open", json!({ "settings": { "window": 1001 } }), "settings.window: must be at most 1000"),
        ("session_open", json!({ "settings": { "windows": 2 } }), "settings.windows: unknown setting"),
        ("session_open", json!({ "settings": 2 }), "settings: must be an object"),
        ("session_open", json!({ "types": "recipe" }), "types: must be a list"),
        ("session_open", json!({ "types": ["recipe", 7] }), "types[1]: must be a text"),
        ("session_open", json!({ "types": ["recipe", "Ünit"] }), "types[1]: must be 1 to 40"),
        (
            "session_state",
            json!({ "part": "soul" }),
            "part: must be one of entities, conversation, reasoning",
        ),
        ("session_state", json!({ "turn": 7 }), "turn: session `s` is in turn 1"),
    ] {
        let mut arguments = arguments;
        arguments["session_id"] = json!("s");
        let found = server.issues(tool, arguments.clone());
        let told = found[0].trim_start_matches(": ");
        assert!(found.len() == 1 && told.starts_with(path), "{tool} {arguments}: {found:?}");
    }
    assert_eq!(server.issues("session_list", json!({ "limit": 0 })), ["limit: must be at least 1, found 0"]);
    let kinds = json!({ "session_id": "t", "types": ["recipe"] });
    server.data("session_open", kinds);
    let ops = json!([{ "op": "generate", "type": "planet" }]);
    let found = server.issues("entity_apply", json!({ "session_id": "t", "ops": ops }));
    assert_eq!(found, ["ops[0].type: `planet` is not a type of this session; those are recipe"]);
}
