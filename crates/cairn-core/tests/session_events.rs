//! Events as they are recorded: what version 1 wrote must be readable for ever.

use cairn_core::canonical;
use cairn_core::session::Event;
use cairn_core::session::event::{EventError, VERSION};
use serde_json::Value;

/// Every kind, with every field and with none that can be left out. Never change a line: such bodies are on disks.
const RECORDED: &[(&str, &str)] = &[
    ("opened", r#"{"settings":{"window":2}}"#),
    ("opened", r#"{"settings":{"window":5},"types":["recipe","meal_plan"]}"#),
    ("turn_began", r#"{"message":"hello\n## there"}"#),
    ("entities_applied", r#"{"ops":[]}"#),
    ("entities_applied", r#"{"ops":[{"id":"1","op":"read","type":"recipe"}]}"#),
    (
        "entities_applied",
        r#"{"ops":[{"body":{"bytes":2,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"detail":"full","id":"1","label":"Soup","links":[{"id":"2","type":"tag"},{"id":"3","label":"Spicy","type":"tag"}],"nested":[{"id":"4","type":"ingredient"}],"op":"update","type":"recipe"}]}"#,
    ),
    ("entities_applied", r#"{"ops":[{"detail":"summary","id":"1","op":"read","type":"recipe"}]}"#),
    ("entities_applied", r#"{"ops":[{"op":"generate","type":"recipe"}]}"#),
    (
        "entities_applied",
        r#"{"ops":[{"body":{"bytes":2,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"label":"Soup","op":"generate","type":"recipe"}]}"#,
    ),
    ("entities_applied", r#"{"ops":[{"id":"1","op":"create","type":"recipe"}]}"#),
    (
        "entities_applied",
        r#"{"ops":[{"from":"gen_recipe_1","id":"1","label":"Soup","op":"create","type":"recipe"}]}"#,
    ),
    (
        "entities_applied",
        r#"{"ops":[{"action":"created","id":"1","label":"Soup","op":"user","type":"recipe"},{"action":"updated","id":"1","op":"user","type":"recipe"},{"action":"deleted","id":"1","op":"user","type":"recipe"},{"action":"mentioned","id":"1","op":"user","type":"recipe"}]}"#,
    ),
    (
        "entities_applied",
        r#"{"ops":[{"op":"delete","ref":"recipe_1"},{"op":"touch","ref":"recipe_1"},{"op":"touch_text","text":"recipe_1"},{"op":"retain","reason":"later","ref":"recipe_1"},{"op":"demote","ref":"recipe_1"},{"label":"Soup","op":"label","ref":"recipe_1"},{"op":"drop","ref":"recipe_1"},{"op":"clear"}]}"#,
    ),
    (
        "entities_applied",
        r#"{"ops":[{"body":{"bytes":2,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},"label":"Soup","op":"edit","ref":"gen_recipe_1"}]}"#,
    ),
    ("step_taken", r#"{"description":"find","status":"done","step_num":1,"type":"read"}"#),
    (
        "step_taken",
        r#"{"description":"weigh","entities_involved":["recipe_1"],"note":"n","outcome":"o","status":"blocked","step_num":2,"subdomain":"recipes","type":"analyze"}"#,
    ),
    ("step_taken", r#"{"description":"draft","status":"failed","step_num":3,"type":"generate"}"#),
    ("step_taken", r#"{"description":"save","status":"done","step_num":4,"type":"write"}"#),
    ("turn_noted", r#"{}"#),
    ("turn_noted", r#"{"pending":null}"#),
    (
        "turn_noted",
        r#"{"constraints":[{"expires":9,"key":"meals","value":8},{"key":"diet","value":null}],"decision":"plan_direct","engagement":"e","goal":"g","pending":{"context":"c","questions":["q"],"type":"ask_user"},"phase":"exploring","routing":{"agent":"main"},"user_expressed":"u"}"#,
    ),
    (
        "turn_noted",
        r#"{"decision":"propose","pending":{"context":"c","type":"propose"},"phase":"narrowing"}"#,
    ),
    (
        "turn_noted",
        r#"{"decision":"clarify","pending":{"context":"c","type":"clarify"},"phase":"confirming"}"#,
    ),
    ("turn_noted", r#"{"pending":{"context":"c","type":"understand"},"phase":"executing"}"#),
    ("turn_ended", r#"{"reply":"here"}"#),
    ("turn_ended", r#"{"blocked_reason":"b","reply":"here","reply_summary":"h"}"#),
    ("summary_applied", r#"{"from_turn":1,"kind":"history","text":"t","to_turn":4}"#),
    ("summary_applied", r#"{"from_turn":1,"kind":"reasoning","text":"t","to_turn":4}"#),
];

#[test]
fn what_version_1_wrote_is_read_and_written_to_the_letter() {
    assert_eq!(VERSION, 1);
    for (kind, body) in RECORDED {
        let event = Event::parse(kind, 1, body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert_eq!(event.kind(), *kind);
        assert_eq!(String::from_utf8(canonical::to_bytes(&event.body()).unwrap()).unwrap(), *body);
    }
}

#[test]
fn fields_that_may_be_left_out_have_their_old_meaning() {
    let opened = Event::parse("opened", 1, "{}").unwrap();
    assert_eq!(opened.body(), serde_json::json!({"settings": {"window": 2}}));
    let step = r#"{"description":"find","step_num":1,"type":"read"}"#;
    assert_eq!(Event::parse("step_taken", 1, step).unwrap().body()["status"], "done");
    let note = Event::parse("turn_noted", 1, r#"{"constraints":[{"key":"diet"}]}"#).unwrap();
    assert_eq!(note.body()["constraints"][0]["value"], Value::Null);
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let refused = |kind: &str, version, body: &str| Event::parse(kind, version, body).unwrap_err();
    assert_eq!(refused("dreamt", 1, "{}"), EventError::UnknownKind("dreamt".into()));
    assert!(matches!(refused("opened", 2, "{}"), EventError::UnknownVersion { found: 2, .. }));
    for (kind, body) in [
        ("turn_began", r#"{"message":"m","mood":"m"}"#),
        ("entities_applied", r#"{"ops":[{"op":"read","type":"t","id":"1","colour":"red"}]}"#),
        ("entities_applied", r#"{"ops":[{"op":"touch","ref":"t_1","colour":"red"}]}"#),
        ("entities_applied", r#"{"ops":[{"op":"eat","ref":"t_1"}]}"#),
        ("entities_applied", r#"{"ops":[{"op":"retain","ref":"t_1"}]}"#),
        (
            "entities_applied",
            r#"{"ops":[{"op":"read","type":"t","id":"1","links":[{"type":"u","id":"2","x":1}]}]}"#,
        ),
        ("step_taken", r#"{"description":"d","step_num":1,"type":"dance"}"#),
        ("turn_noted", r#"{"pending":{"type":"nag","context":"c"}}"#),
        ("summary_applied", r#"{"kind":"history","from_turn":1,"text":"t"}"#),
    ] {
        assert!(matches!(refused(kind, 1, body), EventError::Body { .. }), "{body}");
    }
}
