//! What the tools answer.

use serde_json::{Value, json};

use super::super::harness::Server;
use super::{error, keys, with_session};

#[test]
fn a_whole_turn_is_kept_and_can_be_looked_at_from_every_side() {
    let mut server = Server::start();
    let opened = server.data(
        "session_open",
        json!({ "session_id": "s", "types": ["recipe", "user"], "settings": { "window": 3 } }),
    );
    assert_eq!(keys(&opened), ["created", "seq", "session_id", "turn"]);
    assert_eq!(
        (&opened["session_id"], &opened["turn"], &opened["created"]),
        (&json!("s"), &json!(0), &json!(true))
    );
    let again = server.data("session_open", json!({ "sessionId": "s" }));
    assert_eq!((&again["created"], &again["seq"]), (&json!(false), &opened["seq"]));

    let begun = server.data("turn_begin", json!({ "session_id": "s", "message": "What can I cook?" }));
    assert_eq!(keys(&begun), ["pending_before", "seq", "turn"]);
    assert_eq!((&begun["turn"], &begun["pending_before"]), (&json!(1), &Value::Null));

    let ops = json!([
        { "op": "read", "type": "recipe", "id": "r-7", "label": "Soup", "links": [{ "type": "user", "id": "u" }] },
        { "op": "generate", "type": "recipe", "body": { "title": "Stew" } },
        { "op": "create", "type": "recipe", "id": "r-8", "from": "gen_recipe_1" },
        { "op": "touch", "ref": "recipe_9" },
    ]);
    let changed =
        server.data("entity_apply", json!({ "session_id": "s", "ops": ops, "expected_seq": begun["seq"] }));
    assert_eq!(keys(&changed), ["results", "seq"]);
    let results = changed["results"].as_array().unwrap();
    assert_eq!((&results[0]["ref"], &results[0]["linked"]), (&json!("recipe_1"), &json!(["user_1"])));
    assert_eq!((&results[1]["ref"], &results[1]["applied"]), (&json!("gen_recipe_1"), &json!(true)));
    assert_eq!(results[2]["promoted"], json!(true));
    assert_eq!((&results[3]["applied"], results[3]["reason"].is_string()), (&json!(false), true));

    let step = json!({
        "step_num": 1, "type": "read", "description": "look for soups", "outcome": "one", "entities_involved": ["recipe_1"],
        "note": "it serves four", "status": "done",
    });
    assert_eq!(keys(&server.data("turn_step", json!({ "session_id": "s", "step": step }))), ["seq"]);
    let pending = json!({ "type": "propose", "context": "Soup?", "questions": ["For how many?"] });
    let note = json!({
        "session_id": "s", "decision": "propose", "goal": "dinner", "phase": "narrowing", "user_expressed": "hunger",
        "constraints": [{ "key": "diet", "value": "vegan" }], "engagement": "planning meals", "pending": pending,
        "routing": { "to": "kitchen" },
    });
    assert_eq!(keys(&server.data("turn_note", note)), ["seq"]);
    let end = json!({ "session_id": "s", "reply": "How about soup?", "reply_summary": "proposed soup" });
    let ended = server.data("turn_end", end);
    assert_eq!((&ended["turn"], ended["seq"].is_u64()), (&json!(1), true));

    let next = server.data("turn_begin", json!({ "session_id": "s", "message": "Yes" }));
    assert_eq!((&next["turn"], &next["pending_before"]), (&json!(2), &pending));

    let whole = server.data("session_state", json!({ "session_id": "s" }));
    let members =
        ["conversation", "entities", "open", "reasoning", "seq", "session_id", "settings", "turn", "types"];
    assert_eq!(keys(&whole), members);
    assert_eq!((&whole["settings"]["window"], &whole["open"]), (&json!(3), &json!(true)));
    let part = |server: &mut Server, part: &str| {
        server.data("session_state", json!({ "session_id": "s", "turn": 1, "part": part }))
    };
    let entities = part(&mut server, "entities");
    assert_eq!(keys(&entities), ["entities", "tiers", "turn"]);
    assert_eq!(entities["entities"][0]["ref"], "recipe_1");
    let conversation = part(&mut server, "conversation");
    assert_eq!(conversation["recent_turns"][0]["assistant"], "How about soup?");
    assert_eq!(conversation["constraints"][0]["key"], "diet");
    let reasoning = part(&mut server, "reasoning");
    assert_eq!(reasoning["turn_summaries"][0]["steps"][0]["note"], "it serves four");
    assert_eq!(reasoning["turn_summaries"][0]["think_decision"], "propose");

    let entity = server.data("entity_get", json!({ "session_id": "s", "ref": "gen_recipe_1" }));
    assert_eq!(keys(&entity), ["body", "entity", "events", "session_id", "turn"]);
    assert_eq!(
        (&entity["entity"]["saved_id"], &entity["events"][0]["seq"]),
        (&json!("r-8"), &changed["seq"])
    );

    let summary = json!({ "session_id": "s", "kind": "history", "from_turn": 1, "to_turn": 1, "text": "They like soup." });
    let covers = server.data("summary_apply", summary)["covers"].take();
    assert_eq!(covers, json!({ "kind": "history", "from_turn": 1, "to_turn": 1 }));

    let list = server.data("session_list", json!({}));
    assert_eq!((&list["count"], keys(&list)), (&json!(1), vec!["count", "sessions"]));
    let members = ["events", "seq", "session_id", "thoughts", "turn", "updated_at"];
    assert_eq!(keys(&list["sessions"][0]), members);
    assert_eq!(list["sessions"][0]["turn"], 2);
    assert_eq!(server.data("session_list", json!({ "limit": 1 }))["count"], 1);
}

#[test]
fn a_session_without_a_name_gets_one() {
    let mut server = Server::start();
    let first = server.data("session_open", json!({}));
    let second = server.data("session_open", json!({ "session_id": null }));
    assert_ne!(first["session_id"], second["session_id"]);
    let sessions = server.data("session_list", json!({}))["sessions"].take();
    assert_eq!(sessions[0]["session_id"], second["session_id"], "the newest first");
}

#[test]
fn a_brief_is_built_stored_read_verified_and_compared() {
    let mut server = with_session();
    let built = server.data("brief_build", json!({ "session_id": "s", "node": "think" }));
    for member in ["format", "hash", "report", "sections", "seq", "text", "turn"] {
        assert!(built.get(member).is_some(), "{member}");
    }
    assert!(built.get("brief_id").is_none());
    for part in ["## Entity Context", "Soup", "## Conversation History", "What can I cook?", "## Your Task"] {
        assert!(built["text"].as_str().unwrap().contains(part), "{built}");
    }
    let first = server.data("brief_build", json!({ "session_id": "s", "node": "think", "store": true }));
    assert_eq!((&first["hash"], &first["text"]), (&built["hash"], &built["text"]), "the same again");

    server.data("turn_end", json!({ "session_id": "s", "reply": "Soup." }));
    server.data("turn_begin", json!({ "session_id": "s", "message": "And tomorrow?" }));
    let second = server.data("brief_build", json!({ "session_id": "s", "node": "think", "store": true }));
    let kept = server.data("brief_get", json!({ "brief_id": first["brief_id"] }));
    assert_eq!(keys(&kept), ["brief", "brief_id", "created_at", "hash", "session_id"]);
    assert_eq!(kept["brief"]["text"], first["text"]);
    for brief in [&first, &second] {
        let verdict = server.data("brief_verify", json!({ "brief_id": brief["brief_id"] }));
        assert_eq!(
            (&verdict["valid"], &verdict["rebuilt_hash"]),
            (&json!(true), &brief["hash"]),
            "{verdict}"
        );
    }
    let ids = json!({ "brief_id": first["brief_id"], "brief_id2": second["brief_id"] });
    let comparison = server.data("brief_compare", ids);
    assert_eq!(comparison["identical"], false);
    assert!(comparison["sections"].to_string().contains("And tomorrow?"), "{comparison}");
    let same = json!({ "briefId1": first["brief_id"], "briefId2": first["brief_id"] });
    let same = server.data("brief_compare", same);
    assert_eq!((&same["identical"], &same["sections"]), (&json!(true), &json!([])));

    let past = server.data("brief_build", json!({ "session_id": "s", "node": "think", "turn": 1 }));
    assert!(!past["text"].as_str().unwrap().contains("And tomorrow?"), "{past}");
    let thought = json!({ "decision": "soup", "session_id": "s", "brief_id": first["brief_id"] });
    assert_eq!(server.data("thought_decision", thought)["brief_id"], first["brief_id"]);
    assert_eq!(server.data("thought_verify", json!({}))["valid"], true);
}

#[test]
fn options_of_a_brief_may_be_numbers_or_texts() {
    let mut server = with_session();
    for node in ["understand", "think", "act", "reply"] {
        for depth in [json!(2), json!("2"), json!(5.0), json!("full"), Value::Null] {
            for counter in [json!(0.3), json!("0.3"), json!("est-1"), Value::Null] {
                let arguments = json!({
                    "session_id": "s", "node": node, "depth": depth, "counter": counter, "layout": "cache",
                    "budget": 4000, "task": "Cook.",
                });
                let built = server.data("brief_build", arguments);
                assert!(built["text"].as_str().unwrap().contains("Cook."), "{built}");
                assert_eq!((&built["layout"], &built["budget"]), (&json!("cache"), &json!(4000)));
            }
        }
    }
}

#[test]
fn nothing_is_waited_for_any_more_when_pending_is_an_empty_object() {
    let mut server = with_session();
    let mut pending = |note: Value| {
        server.data("turn_note", note);
        let state = json!({ "session_id": "s", "part": "conversation" });
        server.data("session_state", state)["pending"]["context"].take()
    };
    let asked = json!({ "type": "ask_user", "context": "Salt?" });
    assert_eq!(pending(json!({ "session_id": "s", "pending": asked })), "Salt?");
    // What a client sends that fills in every argument.
    assert_eq!(pending(json!({ "session_id": "s", "goal": "x", "pending": null, "routing": null })), "Salt?");
    assert_eq!(pending(json!({ "session_id": "s", "pending": {} })), Value::Null);
}

#[test]
fn a_retry_with_its_key_changes_nothing_and_another_call_with_it_is_refused() {
    let mut server = with_session();
    let begin = json!({ "session_id": "s", "message": "again", "idempotency_key": "k1" });
    let first = server.data("turn_begin", begin.clone());
    assert_eq!(server.data("turn_begin", begin), first);
    let ops = json!([{ "op": "generate", "type": "recipe", "label": "Cake" }]);
    let apply = json!({ "session_id": "s", "ops": ops, "idempotency_key": "k2" });
    let first = server.data("entity_apply", apply.clone());
    server.data(
        "turn_step",
        json!({ "session_id": "s", "step": { "step_num": 1, "type": "write", "description": "d" } }),
    );
    assert_eq!(server.data("entity_apply", apply), first);
    for (tool, arguments) in [
        ("turn_begin", json!({ "session_id": "s", "message": "other", "idempotency_key": "k1" })),
        ("turn_begin", json!({ "session_id": "s", "message": "again", "idempotency_key": "k2" })),
        ("entity_apply", json!({ "session_id": "s", "ops": [{ "op": "clear" }], "idempotency_key": "k2" })),
    ] {
        let (code, message) = error(&mut server, tool, arguments);
        assert_eq!(code, "CONFLICT", "{message}");
        assert!(message.contains("use a new key"), "{message}");
    }
}

#[test]
fn turns_that_should_be_summarised_are_named() {
    let mut server = with_session();
    let mut due = Value::Null;
    for _ in 0..40 {
        let ended = server.data("turn_end", json!({ "session_id": "s", "reply": "ok" }));
        if let Some(found) = ended.get("compaction_due") {
            due = found.clone();
            break;
        }
        server.data("turn_begin", json!({ "session_id": "s", "message": "go on" }));
    }
    assert_eq!(keys(&due), ["from_turn", "kind", "to_turn"]);
    let mut summary = due.clone();
    summary["session_id"] = json!("s");
    summary["text"] = json!("They went on.");
    assert_eq!(server.data("summary_apply", summary)["covers"], due);
}

#[test]
fn calls_on_one_session_at_once_are_all_kept() {
    const CALLS: usize = 200;
    let mut server = with_session();
    for id in 0..CALLS {
        let ops = json!([{ "op": "generate", "type": "idea", "label": format!("idea {id}") }]);
        let params = json!({ "name": "entity_apply", "arguments": { "session_id": "s", "ops": ops } });
        let call =
            json!({ "jsonrpc": "2.0", "id": format!("c{id}"), "method": "tools/call", "params": params });
        server.send(call.to_string());
    }
    let mut refs: Vec<String> = (0..CALLS)
        .map(|_| {
            let answer = server.receive();
            let result = &answer["result"]["structuredContent"]["data"]["results"][0];
            result["ref"].as_str().unwrap_or_else(|| panic!("{answer}")).to_string()
        })
        .collect();
    refs.sort();
    refs.dedup();
    assert_eq!(refs.len(), CALLS, "each has a ref of its own");
    let state = server.data("session_state", json!({ "session_id": "s", "part": "entities" }));
    assert_eq!(state["entities"].as_array().unwrap().len(), CALLS + 2);
    assert_eq!(server.data("thought_verify", json!({}))["valid"], true);
}

#[test]
fn a_state_shows_the_newest_turns_and_says_how_many_came_before() {
    let mut server = with_session();
    for number in 2..=25 {
        server.data("turn_begin", json!({ "session_id": "s", "message": format!("message {number}") }));
    }
    let turns = |data: &Value, list: &str, key: &str| -> Vec<u64> {
        data[list].as_array().unwrap().iter().map(|turn| turn[key].as_u64().unwrap()).collect()
    };
    for (asked, expected, earlier) in [
        (json!({}), (6..=25).collect::<Vec<u64>>(), 5),
        (json!({ "turns": 3 }), vec![23, 24, 25], 22),
        (json!({ "turns": 1000 }), (1..=25).collect(), 0),
        // Those that were left out are seen from an earlier turn.
        (json!({ "turn": 5 }), (1..=5).collect(), 0),
    ] {
        let mut arguments = asked.clone();
        arguments["session_id"] = json!("s");
        let data = server.data("session_state", arguments.clone());
        let (conversation, reasoning) = (&data["conversation"], &data["reasoning"]);
        assert_eq!(turns(conversation, "recent_turns", "turn"), expected, "{asked}");
        assert_eq!(turns(reasoning, "turn_summaries", "turn_num"), expected, "{asked}");
        for part in ["conversation", "reasoning"] {
            arguments["part"] = json!(part);
            assert_eq!(data[part]["earlier_turns"], earlier, "{asked}");
            assert_eq!(server.data("session_state", arguments.clone()), data[part]);
        }
    }
    let issues = server.issues("session_state", json!({ "session_id": "s", "turns": 0 }));
    assert_eq!(issues, ["turns: must be at least 1, found 0"]);
}
