//! The rules of turns, summaries and what is kept beside them, one test each.

use cairn_core::session::compaction_due;
use cairn_core::session::event::SummaryKind;
use cairn_core::session::state::Misfit;
use serde_json::json;

use crate::session_script::Script;

fn started() -> Script {
    let mut script = Script::default();
    script.begin("hello");
    script
}

#[test]
fn a_session_with_types_knows_no_other() {
    let mut script = Script::default();
    script.event("opened", json!({"types": ["recipe"]}));
    script.begin("hello");
    script.read("recipe", "a", "A");
    let ops = json!({"ops": [
        {"op": "touch", "ref": "recipe_1"},
        {"op": "read", "type": "recipe", "id": "b", "links": [{"type": "tag", "id": "t"}]},
    ]});
    let misfit = script.try_event("entities_applied", ops).unwrap_err();
    assert_eq!(misfit, Misfit::UnknownType { index: 1, kind: "tag".into() });
}

#[test]
fn what_belongs_to_a_turn_needs_an_open_one() {
    let mut script = Script::default();
    let step = json!({"step_num": 1, "type": "read", "description": "d"});
    for (kind, body) in
        [("step_taken", step), ("turn_noted", json!({"goal": "g"})), ("turn_ended", json!({"reply": "r"}))]
    {
        assert_eq!(script.try_event(kind, body.clone()).unwrap_err(), Misfit::TurnNotOpen);
        let mut ended = script.clone();
        ended.turn();
        assert_eq!(ended.try_event(kind, body).unwrap_err(), Misfit::TurnNotOpen);
    }
    script.read("recipe", "a", "before the first turn");
    assert_eq!(script.entity("recipe_1").turn_created, 0);
}

#[test]
fn a_question_waits_for_one_turn() {
    let mut script = started();
    script.note(json!({"pending": {"type": "propose", "context": "soup?"}})).end("soup?");
    script.begin("yes");
    assert_eq!(script.state.pending.as_ref().unwrap().since_turn, 1);
    let mut taken_back = script.clone();
    taken_back.note(json!({"pending": null}));
    assert!(taken_back.state.pending.is_none());
    script.note(json!({"goal": "cook"}));
    assert!(script.state.pending.is_some(), "a note that says nothing about it changes nothing");
    script.end("done");
    assert!(script.state.pending.is_none());
}

#[test]
fn constraints_hold_until_they_expire_or_are_stated_again() {
    let mut script = started();
    script.note(json!({"constraints": [{"key": "meals", "value": 8, "expires": 2}, {"key": "diet", "value": "vegan"}]}));
    let now = |script: &Script| -> Vec<String> {
        script.state.constraints_now().map(|c| format!("{}={}", c.key, c.value)).collect()
    };
    assert_eq!(now(&script), ["meals=8", "diet=\"vegan\""]);
    script.begin("second");
    assert_eq!(now(&script).len(), 2);
    script.begin("third");
    assert_eq!(now(&script), ["diet=\"vegan\""]);
    script.note(json!({"constraints": [{"key": "diet", "value": null}, {"key": "meals", "value": 4}]}));
    assert_eq!(now(&script), ["meals=4"]);
}

#[test]
fn summaries_cover_ended_turns_and_replace_those_they_contain() {
    let mut script = Script::default();
    let refused = |script: &mut Script, from: u64, to: u64| {
        let body = json!({"kind": "history", "from_turn": from, "to_turn": to, "text": "t"});
        matches!(script.try_event("summary_applied", body), Err(Misfit::Range(_)))
    };
    assert!(refused(&mut script, 1, 1), "nothing has ended");
    script.turns(6).begin("seventh");
    for (from, to) in [(0, 2), (3, 2), (6, 7)] {
        assert!(refused(&mut script, from, to), "{from} {to}");
    }
    script
        .summary("history", 3, 4, "middle")
        .summary("history", 1, 2, "first")
        .summary("history", 5, 5, "last");
    assert!(refused(&mut script, 2, 3), "half of one");
    let texts = |script: &Script| -> Vec<String> {
        script.state.history.iter().map(|summary| summary.value.text.clone()).collect()
    };
    assert_eq!(texts(&script), ["first", "middle", "last"]);
    script.summary("history", 1, 4, "both");
    assert_eq!(texts(&script), ["both", "last"]);
    assert_eq!(script.state.covered(SummaryKind::History), 5);
    assert_eq!(script.state.covered(SummaryKind::Reasoning), 0);
    let covered: Vec<bool> = (0..8).map(|turn| script.state.is_covered(SummaryKind::History, turn)).collect();
    assert_eq!(covered, [false, true, true, true, true, true, false, false]);
}

#[test]
fn compaction_is_due_beyond_sixteen_turns_and_never_offers_the_newest_two() {
    let mut script = Script::default();
    assert_eq!(compaction_due(&script.state), None);
    script.turns(18);
    assert_eq!(compaction_due(&script.state), None, "sixteen beyond the newest two");
    script.turn();
    assert_eq!(compaction_due(&script.state), Some((SummaryKind::History, 1, 17)));
    script.begin("an open turn does not count");
    assert_eq!(compaction_due(&script.state), Some((SummaryKind::History, 1, 17)));
    script.summary("history", 1, 17, "h");
    assert_eq!(compaction_due(&script.state), Some((SummaryKind::Reasoning, 1, 17)));
    script.summary("reasoning", 1, 17, "r");
    assert_eq!(compaction_due(&script.state), None);
    script.turns(16);
    assert_eq!(compaction_due(&script.state), Some((SummaryKind::History, 18, 34)), "36 turns have ended");
}

#[test]
fn an_offer_can_always_be_accepted() {
    let mut script = Script::default();
    script.turns(30).summary("history", 6, 9, "middle").summary("history", 27, 30, "to the end");
    for (from, to) in [(1, 5), (10, 26)] {
        assert_eq!(compaction_due(&script.state), Some((SummaryKind::History, from, to)));
        script.summary("history", from, to, "more");
    }
    assert_eq!(compaction_due(&script.state), Some((SummaryKind::Reasoning, 1, 28)));
}
