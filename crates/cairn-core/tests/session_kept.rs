//! A state that was written down and read again is the state that the events give.

use cairn_core::Sha;
use cairn_core::brief::Node;
use cairn_core::session::{SessionState, kept};
use proptest::prelude::*;
use serde_json::json;

use crate::session_fold::events;
use crate::session_script::{Script, build, fold, options};

fn text(state: &SessionState) -> String {
    serde_json::to_string(&kept::text(state)).unwrap()
}

/// What the four nodes are told.
fn briefs(state: &SessionState) -> Vec<String> {
    [Node::Understand, Node::Think, Node::Act, Node::Reply]
        .map(|node| build(state, &[], &[], state.seq, &options(node)).unwrap().text)
        .to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_kept_goes_on_like_what_was_folded(events in events(60), cut in 0..60usize) {
        let cut = cut.min(events.len());
        let whole = fold(&events);
        let first = fold(&events[..cut]);
        let mut state = kept::read(&text(&first)).unwrap();
        prop_assert_eq!(text(&state), text(&first));
        prop_assert_eq!(state.length, cut as u64);
        let mut folded = first;
        for event in &events[cut..] {
            prop_assert_eq!(state.apply(event).unwrap(), folded.apply(event).unwrap());
        }
        prop_assert_eq!(text(&state), text(&whole));
        prop_assert_eq!(briefs(&state), briefs(&whole));
    }
}

/// A session with something in every field.
fn full() -> SessionState {
    let mut script = Script::default();
    script.event("opened", json!({"types": ["recipe", "list"], "settings": {"window": 3}}));
    script.begin("first").read("recipe", "r1", "Soup");
    script.generate("list", "Shopping");
    let body = script.keep("{\"name\":\"Shopping\"}");
    script.op(json!({"op": "read", "type": "recipe", "id": "r2", "detail": "full", "body": body}));
    script.op(json!({"op": "retain", "ref": "recipe_1", "reason": "the user likes it"}));
    script.op(json!({"op": "demote", "ref": "recipe_2"}));
    script.op(json!({"op": "read", "type": "recipe", "id": "r3"}));
    script.op(json!({"op": "drop", "ref": "recipe_3"}));
    script.step(json!({"step_num": 1, "type": "read", "subdomain": "kitchen", "description": "look", "outcome": "found",
                       "entities_involved": ["recipe_1"], "note": "n", "status": "blocked"}));
    script.note(json!({"decision": "propose", "goal": "g", "phase": "narrowing", "user_expressed": "u",
                       "constraints": [{"key": "k", "value": [0.1, {"b": 1e300}], "expires": 9},
                                       {"key": "l", "value": "v"}],
                       "engagement": "dinner", "routing": {"to": "kitchen", "odds": 0.30000000000000004}}));
    script
        .event("turn_ended", json!({"reply": "r", "reply_summary": "s", "blocked_reason": "no \"eggs\"\n"}));
    script.turn().summary("history", 1, 1, "once").summary("reasoning", 1, 2, "why");
    script.begin("last").op(json!({"op": "create", "type": "list", "id": "l1", "from": "gen_list_1"}));
    script.note(json!({"pending": {"type": "ask_user", "context": "c", "questions": ["q"]}}));
    script.state
}

/// If this fails, the text has another form: give it a new `kept::VERSION`, or what older programs left is read wrongly.
#[test]
fn the_form_of_a_version_never_changes() {
    assert_eq!(kept::VERSION, 2);
    let state = full();
    let digest = Sha::of(text(&state).as_bytes()).to_string();
    assert_eq!(
        digest,
        "9fd3eaa39e02563f90c1159639e24bda952aa580f39e902a584abac9b7beeb82",
        "{}",
        text(&state)
    );
    assert_eq!(text(&kept::read(&text(&state)).unwrap()), text(&state));
}

#[test]
fn a_text_that_is_no_state_is_refused() {
    let sound = text(&full());
    kept::read(&sound).unwrap();
    for (from, to) in [
        // The number of turns, of one of them, the end of a summary, a field too few, one too many.
        ("],3,true,", "],4,true,"),
        ("],3,true,", "],2,true,"),
        ("[2,[\"go on\"", "[3,[\"go on\""),
        ("\"to_turn\":2", "\"to_turn\":3"),
        ("[[\"r\",\"s\"],17]", "[[\"r\",\"s\"]]"),
        ("[[\"r\",\"s\"],17]", "[[\"r\",\"s\"],17,0]"),
    ] {
        assert!(sound.contains(from), "{from}");
        assert!(kept::read(&sound.replacen(from, to, 1)).is_err(), "{to}");
    }
    for wrong in ["", "[]", "{}", "null", &sound[..sound.len() - 1], &format!("{sound}0")] {
        assert!(kept::read(wrong).is_err(), "{wrong}");
    }
}
