//! Working memory: events, states at any turn, briefs that can be built again, and what a thought was based on.

use cairn::core::session::event::SummaryKind;
use cairn::{BriefRequest, Cairn, Error, NewSession, NewThought, Scope, StatePart, ThoughtType};
use serde_json::{Map, Value, json};

use crate::harness::{TestCairn, issues};

fn opened() -> TestCairn {
    let db = TestCairn::new();
    let session = NewSession { session_id: Some("s".into()), ..NewSession::default() };
    assert!(db.session_open(session).unwrap().created);
    db
}

/// A turn with a read, a draft, a step, a note and an answer.
fn turn(db: &Cairn, message: &str) -> u64 {
    let turn = db.turn_begin("s", message, None).unwrap().turn;
    let read = json!({"op": "read", "type": "recipe", "id": format!("r{turn}"), "label": format!("Recipe {turn}"),
                      "detail": "full", "body": {"steps": ["boil", turn]}});
    let draft = json!({"op": "generate", "type": "plan", "body": {"name": format!("Plan {turn}")}});
    db.entity_apply("s", vec![read, draft], None, None).unwrap();
    db.turn_note(
        "s",
        json!({"decision": "plan_direct", "goal": format!("goal {turn}")}).as_object().unwrap().clone(),
    )
    .unwrap();
    db.turn_step(
        "s",
        json!({"step_num": 1, "type": "read", "description": "find", "outcome": format!("found {turn}")}),
    )
    .unwrap();
    db.turn_end("s", &format!("answer {turn}"), None, None).unwrap();
    turn
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn request(node: &str) -> BriefRequest {
    BriefRequest { session_id: "s".into(), node: node.into(), ..BriefRequest::default() }
}

fn refs(db: &Cairn, turn: Option<u64>, tier: &str) -> Vec<String> {
    let state = db.session_state("s", turn, Some(StatePart::Entities)).unwrap();
    serde_json::from_value(state["tiers"][tier].clone()).unwrap()
}

#[test]
fn a_session_is_opened_once_and_its_settings_can_change() {
    let db = opened();
    let again = |window| NewSession { session_id: Some("s".into()), window, ..NewSession::default() };
    let same = db.session_open(again(None)).unwrap();
    assert_eq!((same.created, same.turn, same.seq), (false, 0, 1));
    assert_eq!(db.session_open(again(Some(5))).unwrap().seq, 2);
    assert_eq!(db.session_state("s", None, None).unwrap()["settings"]["window"], 5);
    let minted = db.session_open(NewSession::default()).unwrap();
    assert_eq!(minted.session_id.as_str().len(), 36);
    db.check();
}

#[test]
fn of_several_that_open_a_session_at_once_one_does() {
    let db = TestCairn::real();
    let handles: Vec<Cairn> = (0..4).map(|_| db.another()).collect();
    for round in 0..10 {
        let session_id = format!("s{round}");
        let at_once = std::sync::Barrier::new(handles.len());
        let created: Vec<bool> = std::thread::scope(|scope| {
            let open = |cairn| {
                let session = NewSession { session_id: Some(session_id.clone()), ..NewSession::default() };
                let at_once = &at_once;
                scope.spawn(move || {
                    at_once.wait();
                    Cairn::session_open(cairn, session).unwrap().created
                })
            };
            let threads: Vec<_> = handles.iter().map(open).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(created.iter().filter(|created| **created).count(), 1, "{created:?}");
        assert_eq!(db.session_events(&session_id, 0, None).unwrap().len(), 1);
    }
    db.check();
}

#[test]
fn a_question_that_a_turn_left_open_had_to_answer_is_not_waited_for_any_more() {
    let db = opened();
    db.turn_begin("s", "first", None).unwrap();
    db.turn_note("s", object(json!({"pending": {"type": "clarify", "context": "which one?"}}))).unwrap();
    db.turn_end("s", "red or blue?", None, None).unwrap();
    assert!(db.turn_begin("s", "second", None).unwrap().pending_before.is_some());
    // The second turn never ended; the third closes it.
    assert_eq!(db.turn_begin("s", "third", None).unwrap().pending_before, None);
    let state = db.session_state("s", None, Some(StatePart::Conversation)).unwrap();
    assert_eq!(state["pending"], Value::Null);
}

#[test]
fn a_stated_number_is_told_as_it_is_recorded() {
    let db = opened();
    db.turn_begin("s", "at most two", None).unwrap();
    for value in [json!(2.0), json!(-0.0), json!([1e2, {"share": 0.50}])] {
        db.turn_note("s", object(json!({"constraints": [{"key": "most", "value": value}]}))).unwrap();
        let brief = db.brief_build(&request("think"), true).unwrap();
        let elsewhere = db.another().brief_build(&request("think"), false).unwrap();
        assert_eq!(brief.brief.text, elsewhere.brief.text);
        let verdict = db.brief_verify(brief.brief_id.unwrap().as_str()).unwrap();
        assert_eq!(verdict.valid, Some(true), "{verdict:?}");
    }
    db.turn_step("s", json!({"step_num": 1.0, "type": "read", "description": "d"})).unwrap();
    let state = db.session_state("s", None, Some(StatePart::Reasoning)).unwrap();
    assert_eq!(state["turn_summaries"][0]["steps"][0]["step_num"], 1);
}

#[test]
fn what_would_get_lost_without_a_word_is_refused() {
    let db = opened();
    db.turn_begin("s", "first", None).unwrap();
    db.turn_begin("s", "second", None).unwrap();
    let nothing = ": nothing to note: give at least one of decision, goal, phase, …";
    assert_eq!(issues(db.turn_note("s", object(json!({"constraints": [], "goal": null})))), [nothing]);
    let fact = |expires| object(json!({"constraints": [{"key": "k", "value": 1, "expires": expires}]}));
    assert_eq!(
        issues(db.turn_note("s", fact(1))),
        ["constraints[0].expires: must be the last turn that it holds in, and this is turn 2 already; \
          leave it out if it holds for good"]
    );
    db.turn_note("s", fact(2)).unwrap();
    // A number that cannot be written down is known by its place.
    let large = json!({"step_num": 1u64 << 60, "type": "read", "description": "d"});
    assert!(issues(db.turn_step("s", large))[0].starts_with("step.step_num: number 1152921504606846976"));
    // The escape for a character that cannot be kept is a text like any other.
    db.turn_note("s", object(json!({"goal": "strip \\u0000"}))).unwrap();
    let nul = json!({"step_num": 1, "type": "read", "description": "a\0b"});
    assert_eq!(issues(db.turn_step("s", nul)), ["step.description: must not contain a NUL character"]);
    // What clients send that fill in everything.
    let step = json!({"step_num": 1, "type": "read", "description": "d", "outcome": null, "status": null,
                      "subdomain": null, "entities_involved": null, "note": null});
    db.turn_step("s", step).unwrap();
    let pending = json!({"pending": {"type": "clarify", "context": "which one?", "questions": null}});
    db.turn_note("s", object(pending)).unwrap();
    db.check();
}

#[test]
fn a_budget_beyond_all_numbers_can_be_stored() {
    let db = opened();
    let request = BriefRequest { budget: Some(u64::MAX), ..request("think") };
    let brief = db.brief_build(&request, true).unwrap();
    assert_eq!(db.brief_verify(brief.brief_id.unwrap().as_str()).unwrap().valid, Some(true));
}

#[test]
fn turns_count_from_one_and_an_open_one_is_closed_by_the_next() {
    let db = opened();
    assert_eq!(db.turn_begin("s", "first", None).unwrap().turn, 1);
    let second = db.turn_begin("s", "second", None).unwrap();
    assert_eq!((second.turn, second.pending_before), (2, None));
    let state = db.session_state("s", None, Some(StatePart::Conversation)).unwrap();
    assert_eq!(state["recent_turns"][0]["assistant"], Value::Null);
    let pending = json!({"pending": {"type": "clarify", "context": "which one?", "questions": ["red?"]}});
    db.turn_note("s", pending.as_object().unwrap().clone()).unwrap();
    db.turn_end("s", "red or blue?", Some("asked".into()), None).unwrap();
    let third = db.turn_begin("s", "red", None).unwrap();
    assert_eq!(third.pending_before.unwrap().questions, ["red?"]);
    db.check();
}

#[test]
fn any_past_turn_is_what_it_was() {
    let db = opened();
    let mut seen = Vec::new();
    for number in 1..=6 {
        turn(&db, &format!("message {number}"));
        seen.push((db.session_state("s", None, None).unwrap(), refs(&db, None, "active")));
    }
    for (index, (state, active)) in seen.iter().enumerate() {
        let turn = index as u64 + 1;
        assert_eq!(&db.session_state("s", Some(turn), None).unwrap(), state, "turn {turn}");
        assert_eq!(&refs(&db, Some(turn), "active"), active);
        // Another process folds the same.
        assert_eq!(&db.another().session_state("s", Some(turn), None).unwrap(), state);
    }
    assert_eq!(refs(&db, Some(3), "active"), ["recipe_1", "recipe_2", "recipe_3"]);
    assert_eq!(refs(&db, Some(4), "active"), ["recipe_2", "recipe_3", "recipe_4"]);
    assert_eq!(refs(&db, Some(4), "generated").len(), 4, "drafts stay at any age");
    assert_eq!(
        issues(db.session_state("s", Some(9), None)),
        ["turn: session `s` is in turn 6; there is no turn 9"]
    );
}

#[test]
fn a_brief_can_be_built_again_byte_for_byte_whatever_came_later() {
    let db = opened();
    let mut stored = Vec::new();
    for number in 1..=5 {
        db.turn_begin("s", &format!("message {number}"), None).unwrap();
        let thought = NewThought::new(ThoughtType::Analysis, format!("thought {number}\nmore")).session("s");
        db.record(thought.agent("ada")).unwrap();
        for node in ["understand", "think", "act", "reply"] {
            stored.push(db.brief_build(&request(node), true).unwrap());
        }
        let row = json!({"op": "read", "type": "recipe", "id": "r1", "body": {"n": number}});
        db.entity_apply("s", vec![row], None, None).unwrap();
        db.turn_end("s", "done", None, None).unwrap();
    }
    let other = db.another();
    for brief in &stored {
        let id = brief.brief_id.as_ref().unwrap().as_str();
        for cairn in [&db.cairn, &other] {
            let verdict = cairn.brief_verify(id).unwrap();
            assert_eq!(verdict.valid, Some(true), "{verdict:?}");
            assert_eq!(verdict.rebuilt_hash, Some(brief.brief.hash));
        }
        let read = db.brief(id).unwrap().unwrap();
        assert_eq!(read.brief["text"], brief.brief.text.as_str());
    }
    let compared = db
        .brief_compare(
            stored[1].brief_id.as_ref().unwrap().as_str(),
            stored[5].brief_id.as_ref().unwrap().as_str(),
        )
        .unwrap();
    assert!(!compared.identical && !compared.sections.is_empty(), "{compared:?}");
    assert_eq!(db.check().briefs, 20);
}

#[test]
fn a_thought_names_only_a_brief_of_its_own_session() {
    let db = opened();
    db.turn_begin("s", "hello", None).unwrap();
    let brief = db.brief_build(&request("think"), true).unwrap();
    let draft = |session: &str, id: &str| NewThought {
        brief_id: Some(id.to_string()),
        ..NewThought::new(ThoughtType::Decision, "x").session(session).agent("ada")
    };
    let id = brief.brief_id.unwrap();
    let thought = db.record(draft("s", id.as_str())).unwrap();
    assert_eq!(thought.brief_id, Some(id.clone()));
    assert_eq!(db.get(thought.id.as_str()).unwrap().unwrap().brief_id, Some(id.clone()));
    assert!(matches!(db.record(draft("s", "nowhere")), Err(Error::NotFound { what: "brief", .. })));
    let expected = format!("brief_id: brief `{id}` is of another session than `other`");
    assert_eq!(issues(db.record(draft("other", id.as_str()))), [expected]);
    db.check();
}

#[test]
fn thoughts_of_a_session_are_part_of_what_think_sees() {
    let db = opened();
    turn(&db, "one");
    db.turn_begin("s", "two", None).unwrap();
    let thought =
        NewThought::new(ThoughtType::Decision, "Prefer the QUICK one\nbecause").session("s").agent("ada");
    db.record(thought).unwrap();
    db.turn_end("s", "fine", None, None).unwrap();
    db.turn_begin("s", "three", None).unwrap();
    let think = db.brief_build(&request("think"), false).unwrap().brief;
    assert!(think.text.contains("Prefer the QUICK one"), "{}", think.text);
    assert!(!think.text.contains("because"));
    assert!(!db.brief_build(&request("reply"), false).unwrap().brief.text.contains("QUICK"));
}

#[test]
fn two_writers_get_a_conflict_instead_of_a_mix() {
    let db = opened();
    let seq = db.turn_begin("s", "hello", None).unwrap().seq;
    let touch = || vec![json!({"op": "read", "type": "a", "id": "1"})];
    let first = db.entity_apply("s", touch(), Some(seq), None).unwrap();
    match db.another().entity_apply("s", touch(), Some(seq), None) {
        Err(Error::Conflict(message)) => {
            assert!(message.contains(&format!("is {}, not {seq}", first.seq)), "{message}")
        }
        other => panic!("{other:?}"),
    }
    db.entity_apply("s", touch(), Some(first.seq), None).unwrap();
    db.check();
}

#[test]
fn many_writers_on_one_session_make_one_line_of_events() {
    let db = TestCairn::real();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    db.turn_begin("s", "go", None).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let cairn = if worker % 2 == 0 { db.another() } else { db.cairn.clone() };
            scope.spawn(move || {
                for n in 0..20 {
                    let id = format!("{worker}-{n}");
                    cairn
                        .entity_apply("s", vec![json!({"op": "read", "type": "a", "id": id})], None, None)
                        .unwrap();
                }
            });
        }
    });
    let state = db.session_state("s", None, Some(StatePart::Entities)).unwrap();
    let entities = state["entities"].as_array().unwrap();
    assert_eq!(entities.len(), 120);
    let mut refs: Vec<&str> = entities.iter().map(|entity| entity["ref"].as_str().unwrap()).collect();
    refs.sort_unstable();
    refs.dedup();
    assert_eq!(refs.len(), 120, "a ref is given once");
    assert_eq!(db.check().events, 122);
}

#[test]
fn a_repeated_call_is_answered_again_and_written_once() {
    let db = opened();
    let key = |key: &str| Some(key.to_string());
    let first = db.turn_begin("s", "hello", key("k1")).unwrap();
    assert_eq!(db.turn_begin("s", "hello", key("k1")).unwrap(), first);
    assert!(matches!(db.turn_begin("s", "other", key("k1")), Err(Error::Conflict(_))));
    let ops = || vec![json!({"op": "generate", "type": "plan", "body": {"name": "P"}})];
    let made = db.entity_apply("s", ops(), None, key("k2")).unwrap();
    db.entity_apply("s", ops(), None, None).unwrap();
    assert_eq!(db.entity_apply("s", ops(), None, key("k2")).unwrap(), made);
    assert_eq!(refs(&db, None, "generated"), ["gen_plan_1", "gen_plan_2"]);
    db.check();
}

#[test]
fn one_wrong_operation_refuses_them_all() {
    let db = opened();
    db.turn_begin("s", "hello", None).unwrap();
    let before = db.session_state("s", None, None).unwrap();
    let good = json!({"op": "read", "type": "a", "id": "1"});
    let wrong = json!({"op": "retain", "ref": "a_1"});
    assert_eq!(
        issues(db.entity_apply("s", vec![good.clone(), wrong], None, None)),
        ["ops[1].reason: must be given for `retain`"]
    );
    // Two drafts of one name, and a save that could mean either.
    let draft = json!({"op": "generate", "type": "plan", "label": "Dinner", "body": {}});
    let save = json!({"op": "create", "type": "plan", "id": "7", "label": " dinner "});
    match db.entity_apply("s", vec![good.clone(), draft.clone(), draft, save], None, None) {
        Err(Error::AmbiguousLabel { path, candidates, .. }) => {
            assert_eq!(
                (path.as_str(), &candidates[..]),
                ("ops[3]", &["gen_plan_1".to_string(), "gen_plan_2".into()][..])
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(db.session_state("s", None, None).unwrap(), before, "nothing was applied");
    let unknown = db.entity_apply("s", vec![json!({"op": "touch", "ref": "a_9"}), good], None, None).unwrap();
    assert!(!unknown.results[0].applied && unknown.results[1].applied);
    db.check();
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let db = opened();
    assert!(matches!(db.turn_begin("nowhere", "x", None), Err(Error::NotFound { what: "session", .. })));
    let step = json!({"step_num": 1, "type": "read", "description": "x"});
    match db.turn_step("s", step) {
        Err(Error::Conflict(message)) => {
            assert_eq!(message, "no turn of session `s` is open; call turn_begin first")
        }
        other => panic!("{other:?}"),
    }
    db.turn_begin("s", "hello", None).unwrap();
    assert_eq!(issues(db.brief_build(&request("dream"), false)).len(), 1);
    assert!(issues(db.brief_build(&request("dream"), false))[0].contains("understand, think, act, reply"));
    let small = BriefRequest { budget: Some(3), ..request("think") };
    match db.brief_build(&small, false) {
        Err(error @ Error::BudgetTooSmall { .. }) => {
            assert!(error.to_string().contains("3 tokens"), "{error}")
        }
        other => panic!("{other:?}"),
    }
    let huge = json!({"op": "generate", "type": "a", "body": "x".repeat(2 << 20)});
    assert!(matches!(
        db.entity_apply("s", vec![huge], None, None),
        Err(Error::TooLarge { field: "body", .. })
    ));
    assert_eq!(
        issues(db.summary_apply("s", SummaryKind::History, 1, 1, "x")).len(),
        1,
        "the turn has not ended"
    );
    let typed = NewSession {
        session_id: Some("t".into()),
        types: Some(vec!["recipe".into()]),
        ..NewSession::default()
    };
    db.session_open(typed).unwrap();
    assert_eq!(
        issues(db.entity_apply("t", vec![json!({"op": "read", "type": "user", "id": "1"})], None, None)),
        ["ops[0].type: `user` is not a type of this session; those are recipe"]
    );
    let step = |step: Value| issues(db.turn_step("s", step)).join("");
    assert!(
        step(json!({"step_num": 1, "type": "dance", "description": "x"}))
            .starts_with("step.type: unknown variant")
    );
    assert!(step(json!({"type": "read", "description": "x"})).contains("missing field `step_num`"));
    let note = |note: Value| issues(db.turn_note("s", note.as_object().unwrap().clone())).join("");
    assert!(
        note(json!({"goal": "g", "constraints": [{"value": 1}]}))
            .starts_with("constraints: missing field `key`")
    );
    assert_eq!(
        note(json!({"constraints": [{"key": " ", "value": 1}]})),
        "constraints[0].key: must not be empty"
    );
    let long = json!({"engagement": "x".repeat(3 << 20)}).as_object().unwrap().clone();
    assert!(matches!(db.turn_note("s", long), Err(Error::TooLarge { .. })));
    assert!(db.entity_get("s", "recipe_1", None).is_err());
    db.check();
}

#[test]
fn an_entity_is_shown_with_its_content_and_its_events() {
    let db = opened();
    turn(&db, "one");
    let view = db.entity_get("s", "recipe_1", None).unwrap();
    assert_eq!(view.body, Some(json!({"steps": ["boil", 1]})));
    assert_eq!(view.events.len(), 1);
    assert_eq!(view.entity["tier"], "active");
    // The same content in two places is stored once.
    let row = |id: &str| json!({"op": "read", "type": "recipe", "id": id, "body": {"steps": ["boil", 1]}});
    db.entity_apply("s", vec![row("x"), row("y")], None, None).unwrap();
    let bodies: i64 = db.sql().query_row("SELECT count(*) FROM body", [], |row| row.get(0)).unwrap();
    assert_eq!(bodies, 2);
    db.check();
}

#[test]
fn summaries_cover_turns_and_delete_nothing() {
    let db = opened();
    let mut due = None;
    for number in 1..=20 {
        db.turn_begin("s", &format!("MESSAGE{number:02}"), None).unwrap();
        due = db.turn_end("s", &format!("ANSWER{number:02}"), None, None).unwrap().compaction_due.or(due);
    }
    let due = due.expect("after so many turns something is due");
    assert!(due.to_turn <= 18 && due.from_turn == 1, "{due:?}");
    db.turn_begin("s", "now", None).unwrap();
    assert!(db.brief_build(&request("think"), false).unwrap().brief.text.contains("MESSAGE05"));
    db.summary_apply("s", SummaryKind::History, 1, 12, "They talked.").unwrap();
    let text = db.brief_build(&request("think"), false).unwrap().brief.text;
    assert!(
        !text.contains("MESSAGE05") && text.contains("They talked.") && text.contains("MESSAGE14"),
        "{text}"
    );
    let full = BriefRequest { depth: Some("full".into()), ..request("think") };
    assert!(db.brief_build(&full, false).unwrap().brief.text.contains("MESSAGE05"));
    assert_eq!(issues(db.summary_apply("s", SummaryKind::History, 5, 13, "x")).len(), 1, "half of a summary");
    assert_eq!(db.session_events("s", 0, None).unwrap().len() as u64, db.check().events);
}

#[test]
fn sessions_are_listed_newest_first() {
    let db = opened();
    db.record(NewThought::new(ThoughtType::Plan, "x").session("only thoughts").agent("ada")).unwrap();
    turn(&db, "one");
    let sessions = db.session_list(None).unwrap();
    let names: Vec<&str> = sessions.iter().map(|session| session.session_id.as_str()).collect();
    assert_eq!(names, ["s", "only thoughts"]);
    assert_eq!((sessions[0].turn, sessions[0].thoughts), (1, 0));
    assert_eq!((sessions[1].events, sessions[1].thoughts), (0, 1));
}

#[test]
fn a_changed_event_body_or_brief_is_found() {
    let db = opened();
    turn(&db, "one");
    db.turn_begin("s", "two", None).unwrap();
    let brief = db.brief_build(&request("act"), true).unwrap().brief_id.unwrap();
    assert_eq!(db.brief_verify(brief.as_str()).unwrap().valid, Some(true));
    for (change, undo) in [
        (
            "UPDATE event SET body = replace(body, 'answer 1', 'answer 2')",
            "UPDATE event SET body = replace(body, 'answer 2', 'answer 1')",
        ),
        (
            "UPDATE body SET data = replace(data, 'boil', 'fry!')",
            "UPDATE body SET data = replace(data, 'fry!', 'boil')",
        ),
        (
            "UPDATE brief SET data = replace(data, 'boil', 'fry!')",
            "UPDATE brief SET data = replace(data, 'fry!', 'boil')",
        ),
    ] {
        db.tamper(change);
        assert!(!db.another().verify(&Scope::All).unwrap().valid(), "{change}");
        assert_eq!(db.another().brief_verify(brief.as_str()).unwrap().valid, Some(false), "{change}");
        db.tamper(undo);
        db.check();
    }
}

#[test]
fn the_events_of_some_turns_are_those_between_their_beginnings() {
    let db = TestCairn::new();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    for message in ["first", "second", "third"] {
        db.turn_begin("s", message, None).unwrap();
        db.turn_end("s", "done", None, None).unwrap();
    }
    let turns = |from: u64, to: u64| -> Vec<(u64, String)> {
        db.turn_events("s", from, to).unwrap().into_iter().map(|event| (event.turn, event.kind)).collect()
    };
    let of = |turn: u64| vec![(turn, "turn_began".to_string()), (turn, "turn_ended".to_string())];
    assert_eq!(turns(2, 2), of(2));
    assert_eq!(turns(2, 3), [of(2), of(3)].concat());
    assert_eq!(turns(3, 99), of(3));
    assert_eq!((turns(4, 4), turns(0, 1)), (Vec::new(), of(1)));
    assert!(db.turn_events("unheard-of", 1, 1).is_err());
}
