//! Events of sessions whose texts were taken: the session keeps its structure, and nothing else of them is left.

use std::io::Cursor;

use cairn::bundle::Selection;
use cairn::core::session::event::SummaryKind;
use cairn::{BriefRequest, Cairn, NewSession, Options, Scope};
use serde_json::{Value, json};

use crate::bundle::forge::{both, export, session};
use crate::harness::{Sql, TestCairn, issues, on_postgres};
use crate::redact::{left, redact, stands};

/// In every text of the session below.
const NAME: &str = "Quixley";

fn open(db: &Cairn, name: &str) {
    db.session_open(NewSession { session_id: Some(name.into()), ..NewSession::default() }).unwrap();
}

/// A session with an event of each kind, and a text that names a person wherever a text can stand.
fn told(db: &Cairn, name: &str) {
    open(db, name);
    let text = |of: &str| format!("{of} of Zoltan {NAME}");
    db.turn_begin(name, &text("the message"), Some(format!("key of {name}"))).unwrap();
    let ops = json!([
        {"op": "read", "type": "person", "id": "p7", "label": text("label"), "body": {"mail": text("body")},
         "links": [{"type": "firm", "id": "f1", "label": text("link")}]},
        {"op": "generate", "type": "letter", "label": text("letter"), "body": {"text": text("draft")}},
        {"op": "generate", "type": "letter", "label": text("second"), "body": {"text": text("two")}},
        {"op": "touch_text", "text": text("person_1 and")},
        {"op": "retain", "ref": "person_1", "reason": text("reason")},
        {"op": "touch", "ref": NAME},
    ]);
    db.entity_apply(name, ops.as_array().unwrap().clone(), None, None).unwrap();
    // Finds the draft by its label.
    let create = json!({"op": "create", "type": "letter", "id": "l1", "label": text("letter")});
    let created = db.entity_apply(name, vec![create], None, None).unwrap();
    assert!(created.results[0].promoted);
    let step = json!({"step_num": 1, "type": "write", "description": text("step"), "outcome": text("outcome"),
        "note": text("note"), "subdomain": text("domain"), "entities_involved": ["person_1", NAME]});
    db.turn_step(name, step).unwrap();
    let note = json!({"goal": text("goal"), "user_expressed": text("wish"), "engagement": text("talk"),
        "constraints": [{"key": "diet", "value": text("fact")}], "routing": {"to": text("route")},
        "pending": {"type": "clarify", "context": text("question"), "questions": [text("which")]}});
    db.turn_note(name, note.as_object().unwrap().clone()).unwrap();
    db.turn_end(name, &text("reply"), Some(text("summary")), Some(text("obstacle"))).unwrap();
    db.summary_apply(name, SummaryKind::History, 1, 1, &text("history")).unwrap();
}

fn state(db: &Cairn, name: &str) -> Value {
    db.session_state(name, None, None).unwrap()
}

fn brief(db: &Cairn, name: &str, node: &str) -> String {
    let request = BriefRequest { session_id: name.into(), node: node.into(), ..BriefRequest::default() };
    db.brief_build(&request, false).unwrap().brief.text
}

/// The structure that later events build on: entities, their states, the number of turns.
fn structure(state: &Value) -> Value {
    let entities = state["entities"]["entities"].as_array().unwrap();
    let of = |entity: &Value| json!([entity["ref"], entity["status"], entity["saved_id"], entity["tier"]]);
    json!([entities.iter().map(of).collect::<Vec<_>>(), state["turn"], state["open"], state["seq"]])
}

#[test]
fn every_kind_of_event_can_be_redacted_and_the_session_still_folds() {
    let db = TestCairn::with(crate::harness::counting().keep_states_after(2));
    told(&db, "s");
    // Another program has folded the session before.
    let other = db.another();
    let before = state(&other, "s");
    assert!(before.to_string().contains(NAME));
    db.wait_for_folds(1);
    for event in db.session_events("s", 0, None).unwrap() {
        let target = format!("event:{}", event.seq);
        if event.kind == "opened" {
            let refused = issues(redact(&db, &target)).remove(0);
            assert!(refused.contains("has no text"), "{refused}");
            continue;
        }
        let done = redact(&db, &target).unwrap();
        assert_eq!((done.kind.as_str(), done.target_seq), ("event", event.seq));
        let again = redact(&db, &target).unwrap_err();
        assert!(again.to_string().contains("was redacted already, by ann"), "{again}");
        db.check();
    }
    for reader in [&*db, &other] {
        let now = state(reader, "s");
        assert_eq!(structure(&now), structure(&before));
        for shown in [now.to_string(), brief(reader, "s", "act"), brief(reader, "s", "reply")] {
            assert!(!shown.contains(NAME) && shown.contains("(redacted)"), "{shown}");
        }
        let person = reader.entity_get("s", "person_1", None).unwrap();
        assert_eq!(person.body, Some(json!("(redacted)")));
    }
    assert!(!stands(&db.path(), NAME));
    let report = db.check();
    assert_eq!(report.redacted_total, 7);

    // The session goes on, and repeated calls are recognised.
    other.turn_begin("s", "The message of Zoltan, again", None).unwrap();
    db.turn_end("s", "Done", None, None).unwrap();
    let repeated = db.turn_begin("s", &format!("the message of Zoltan {NAME}"), Some("key of s".into()));
    assert_eq!(repeated.unwrap().turn, 1);
    assert!(!stands(&db.path(), NAME));
    db.wait_for_folds(1);
    db.check();
}

#[test]
fn what_is_left_of_a_content_is_named() {
    let db = TestCairn::new();
    told(&db, "s");
    told(&db, "other");
    let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    let stored = db.brief_build(&request, true).unwrap().brief_id.unwrap();
    let applied = |name: &str| db.session_events(name, 0, None).unwrap()[2].seq;
    let done = redact(&db, &format!("event:{}", applied("s"))).unwrap();
    assert_eq!(done.fields, ["body", "bodies"]);
    assert_eq!(done.shared, [applied("other")], "the bodies went there as well");
    assert_eq!(done.also_in, std::slice::from_ref(&stored));
    let elsewhere = left(&done);
    assert_eq!(elsewhere.len(), usize::from(!on_postgres()), "{elsewhere:?}");
    let person = db.entity_get("other", "person_1", None).unwrap();
    assert_eq!(person.body, Some(json!("(redacted)")));
    assert!(person.entity["label"].as_str().unwrap().contains(NAME), "its own texts stay");
    // Naming it again does not bring it back.
    let read = json!({"op": "read", "type": "person", "id": "p7", "body": {"mail": format!("body of Zoltan {NAME}")}});
    db.entity_apply("other", vec![read], None, None).unwrap();
    assert_eq!(db.entity_get("other", "person_1", None).unwrap().body, Some(json!("(redacted)")));
    db.check();
    let verdict = db.brief_verify(stored.as_str()).unwrap();
    assert_eq!(verdict.valid, None, "{}", verdict.message);
}

#[test]
fn bundles_carry_what_stays_and_both_verifiers_accept_it() {
    let db = TestCairn::new();
    for name in ["s", "other"] {
        told(&db, name);
    }
    for event in &db.session_events("s", 0, None).unwrap()[1..4] {
        redact(&db, &format!("event:{}", event.seq)).unwrap();
    }
    let read = json!({"op": "read", "type": "person", "id": "p8", "body": {"mail": format!("body of Zoltan {NAME}")}});
    db.entity_apply("other", vec![read], None, None).unwrap();
    for selection in [Selection::All, session("s"), session("other")] {
        assert_eq!(both(&export(&db, selection.clone()), &[]), [""; 0], "{selection:?}");
    }
    let whole = export(&db, Selection::All);
    let path = db.place("imported.db");
    Options::new().import(&path, &mut Cursor::new(&whole), &[], &|_| {}).unwrap();
    let copy = Cairn::open(&path).unwrap();
    let report = copy.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{:#?}", report.findings);
    assert_eq!(state(&copy, "s"), state(&db, "s"));
    assert_eq!(export(&copy, Selection::All), whole);
}

#[test]
fn whatever_is_changed_after_a_redaction_is_found() {
    let db = TestCairn::new();
    told(&db, "s");
    told(&db, "other");
    let events = db.session_events("s", 0, None).unwrap();
    for event in &events[1..3] {
        redact(&db, &format!("event:{}", event.seq)).unwrap();
    }
    let read = json!({"op": "read", "type": "person", "id": "p9", "body": {"mail": "nobody's"}});
    db.entity_apply("other", vec![read], None, None).unwrap();
    let (began, applied) = (events[1].seq, events[2].seq);
    let blob = if on_postgres() { "'\\x00'::bytea" } else { "x'00'" };
    for change in [
        format!("UPDATE event SET body = '{{\"message\":\"another\"}}' WHERE seq = {began}"),
        format!("UPDATE event SET body = replace(body, 'person', 'prison') WHERE seq = {applied}"),
        format!("UPDATE event SET salt = {blob} WHERE seq = {began}"),
        "UPDATE body SET data = 'null' WHERE redaction IS NOT NULL".to_string(),
        "UPDATE body SET redaction = NULL WHERE redaction IS NOT NULL".to_string(),
        "UPDATE body SET redaction = 0 WHERE redaction IS NOT NULL".to_string(),
        format!("DELETE FROM redaction WHERE target_seq = {began}"),
        "UPDATE event SET salt = NULL WHERE kind = 'turn_noted'".to_string(),
        "UPDATE body SET data = NULL".to_string(),
    ] {
        let copy = Cairn::open(db.copy("changed.db")).unwrap();
        assert!(copy.verify(&Scope::All).unwrap().valid());
        copy.close();
        let path = db.copy("changed.db");
        Sql::open(&path).unprotected(|sql| sql.execute_batch(&change).unwrap());
        let report = Cairn::open(&path).unwrap().verify(&Scope::All).unwrap();
        assert!(!report.valid(), "{change}");
    }
}
