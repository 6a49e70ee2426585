//! Sentences that would make an agent act wrongly: each test is one that a brief must not tell.

use cairn_core::brief::{Node, Options};
use serde_json::json;

use crate::session_script::{Script, options};

fn step(number: u64, status: &str) -> serde_json::Value {
    json!({"step_num": number, "type": "write", "description": format!("step{number}"), "status": status})
}

#[test]
fn do_not_re_read_names_only_what_act_has() {
    let mut s = Script::default();
    s.begin("go");
    let body = s.keep("{\"t\":1}");
    s.op(json!({"op": "read", "type": "doc", "id": "1", "label": "Contract", "detail": "summary", "body": body}));
    s.op(json!({"op": "read", "type": "doc", "id": "2", "label": "Bare", "nested": [{"type": "page", "id": "p"}]}));
    s.op(json!({"op": "read", "type": "doc", "id": "3", "label": "Whole", "body": body}));
    s.op(json!({"op": "read", "type": "doc", "id": "4", "label": "Changed", "body": body}));
    s.op(json!({"op": "update", "type": "doc", "id": "4"}));
    let think = s.text(Node::Think);
    assert!(think.contains("\nDo not re-read: doc_3\n"), "{think}");
    assert!(think.contains("- doc_1: Contract (summary only)\n"), "{think}");
    let act = s.text(Node::Act);
    assert!(act.contains("- doc_4: Changed (doc, updated; content unknown: read it before use)"), "{act}");
}

#[test]
fn a_question_is_asked_then_open_then_answered() {
    let mut s = Script::default();
    s.begin("hello").note(json!({"pending": {"type": "propose", "context": "Save it?"}}));
    assert!(s.text(Node::Reply).contains("\nNow ask the user (propose): Save it?\n"));
    assert!(s.text(Node::Think).contains("\nWaiting for the user since turn 1 (propose): Save it?\n"));
    s.end("Save it?");
    assert!(s.text(Node::Reply).contains("\nWaiting for the user since turn 1 (propose): Save it?\n"));
    s.begin("Yes").step(step(1, "done"));
    for node in [Node::Understand, Node::Think, Node::Reply] {
        let text = s.text(node);
        assert!(
            text.contains("\nAsked in turn 1 (propose), answered by the message above: Save it?\n"),
            "{text}"
        );
        assert!(!text.contains("Waiting"), "{text}");
    }
    assert!(!s.end("Saved").text(Node::Reply).contains("Save it?\n\n"), "the turn's end closes it");
}

#[test]
fn a_budget_gives_up_what_can_be_read_again_before_a_draft() {
    let mut s = Script::default();
    s.begin("Save it");
    let stored = s.keep("{\"t\":\"words that storage still has, all of them, every one\"}");
    let draft = s.keep("{\"t\":\"words that exist nowhere else, all of them, every one\"}");
    s.op(json!({"op": "read", "type": "doc", "id": "1", "label": "Old", "body": stored}));
    s.op(json!({"op": "generate", "type": "doc", "label": "New", "body": draft}));
    let whole = s.brief(&options(Node::Act)).report.tokens;
    let mut given_up = 0;
    for budget in 1..whole {
        let Ok(brief) = s.try_brief(&Options { budget: Some(budget), ..options(Node::Act) }) else {
            continue;
        };
        let (storage, nowhere) = (brief.text.contains("storage still"), brief.text.contains("nowhere else"));
        assert!(nowhere || !storage, "{}", brief.text);
        given_up += u64::from(nowhere && !storage);
    }
    assert!(given_up > 0, "some budget has room for the draft alone");
}

#[test]
fn act_sees_the_note_of_every_step_of_the_turn() {
    let mut s = Script::default();
    s.begin("go");
    s.step(json!({"step_num": 1, "type": "read", "description": "d", "note": "scale by 1.5"}));
    s.step(step(2, "done"));
    assert_eq!(s.text(Node::Act).matches("scale by 1.5").count(), 1);
}

#[test]
fn failed_work_is_told_as_failed_in_later_turns() {
    let mut s = Script::default();
    s.begin("go").step(step(1, "done")).step(step(2, "failed")).step(step(3, "blocked")).end("no");
    s.begin("Try again");
    let act = s.text(Node::Act);
    let lines = "- earlier: T1.1 write: step1\n- earlier: T1.2 write, failed: step2\n- earlier: T1.3 write, blocked: step3\n";
    assert!(act.contains(lines), "{act}");
}

#[test]
fn a_turn_that_was_blocked_before_its_first_step_is_not_lost() {
    let mut s = Script::default();
    s.begin("go").event("turn_ended", json!({"reply": "no", "blocked_reason": "no database\nat all"}));
    s.turns(3);
    let think = s.text(Node::Think);
    assert!(think.contains("- T1: no goal noted (no steps); blocked: no database\n"), "{think}");
}

#[test]
fn a_step_keeps_its_entities_in_mind() {
    let mut s = Script::default();
    s.begin("one").read("recipe", "r", "Soup");
    s.end("ok");
    for _ in 2..=4 {
        s.begin("on");
        let step = json!({"step_num": 1, "type": "read", "description": "d", "entities_involved": ["recipe_1", "recipe_9"]});
        let results = s.event("step_taken", step);
        assert_eq!(results.iter().map(|result| result.applied).collect::<Vec<_>>(), [true, false]);
        assert_eq!(results[1].reason.as_deref(), Some("is not known in this session"));
        s.end("ok");
    }
    assert!(s.begin("five").text(Node::Act).contains("- recipe_1: Soup"));
}

#[test]
fn a_summary_never_takes_the_newest_two_turns() {
    let mut s = Script::default();
    for turn in 1..=30 {
        s.begin(&format!("message{turn}.")).end("ok");
    }
    s.begin("now").summary("history", 1, 30, "everything");
    for node in Node::ALL {
        let text = s.text(node);
        assert!(
            text.contains("message29.") && text.contains("message30.") && !text.contains("message28."),
            "{text}"
        );
    }
}

#[test]
fn act_and_reply_know_the_goal_and_reply_what_was_done() {
    let mut s = Script::default();
    s.begin("Yes").note(json!({"goal": "Delete the old recipe"}));
    s.step(
        json!({"step_num": 1, "type": "write", "description": "Delete Lemon Chicken", "outcome": "Deleted"}),
    );
    s.step(json!({"step_num": 2, "type": "write", "description": "Tell the list", "status": "failed"}));
    assert!(s.text(Node::Act).contains("- Goal: Delete the old recipe\n"));
    let reply = s.text(Node::Reply);
    let done = "- Goal: Delete the old recipe\n- Step 1, done: Delete Lemon Chicken\n  outcome: Deleted\n\
                - Step 2, failed: Tell the list\n";
    assert!(reply.contains(done), "{reply}");
}

#[test]
fn a_saved_draft_keeps_its_content_while_it_is_active() {
    let mut s = Script::default();
    s.begin("one").generate("recipe", "Stew");
    s.op(json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_1"}));
    s.end("saved").turn();
    s.begin("three");
    assert!(s.text(Node::Act).contains("    {\"name\":\"Stew\"}\n"));
    assert!(s.text(Node::Think).contains("\nDo not re-read: gen_recipe_1\n"));
    s.begin("four");
    assert!(!s.text(Node::Act).contains("Stew"), "it has grown old");
}

#[test]
fn a_summary_read_does_not_overwrite_a_full_content() {
    let mut s = Script::default();
    s.begin("one");
    let (full, short) = (s.keep("{\"all\":\"of it\"}"), s.keep("{\"all\":\"less\"}"));
    s.op(json!({"op": "read", "type": "doc", "id": "1", "detail": "full", "body": full}));
    s.op(json!({"op": "read", "type": "doc", "id": "1", "detail": "summary", "body": short}));
    assert!(s.text(Node::Act).contains("of it") && s.text(Node::Think).contains("Do not re-read: doc_1"));
    s.op(json!({"op": "update", "type": "doc", "id": "1", "detail": "summary", "body": short}));
    assert!(s.text(Node::Act).contains("less") && !s.text(Node::Think).contains("Do not re-read"));
}

#[test]
fn a_record_saved_from_an_unknown_draft_is_registered() {
    let mut s = Script::default();
    s.begin("one");
    let result = s.op(json!({"op": "create", "type": "doc", "id": "1", "label": "L", "from": "gen_doc_7"}));
    assert_eq!((result.entity_ref.as_deref(), result.applied, result.promoted), (Some("doc_1"), true, false));
    let reason = "`from` is not known in this session, so no draft was promoted";
    assert_eq!(result.reason.as_deref(), Some(reason));
    assert_eq!(s.entity("doc_1").label, "L");
}
