use cairn::core::thought::{TaskLink, chain_hash, task_hash};
use cairn::{Cairn, Error, Limits, NewThought, Options, Sha, ThoughtType, Timestamp};
use serde_json::json;

use crate::harness::{TestCairn, counting, issues, plan};

fn metadata(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().unwrap().clone()
}

// The numbers refer to the test matrix of the contract that the trail grew from.

#[test]
fn b01_the_first_thought_of_a_task_follows_zeros() {
    let db = TestCairn::new();
    assert_eq!(db.record(plan("t1", "x")).unwrap().prev_hash, Sha::ZERO);
    db.check();
}

#[test]
fn b02_the_second_thought_names_the_hash_of_the_first() {
    let db = TestCairn::new();
    let first = db.record(plan("t1", "a")).unwrap();
    let second = db.record(plan("t1", "b")).unwrap();
    assert_eq!(second.prev_hash, first.hash);
    db.check();
}

#[test]
fn b03_tasks_have_independent_chains() {
    let db = TestCairn::new();
    db.record(plan("t1", "a")).unwrap();
    assert_eq!(db.record(plan("t2", "b")).unwrap().prev_hash, Sha::ZERO);
    db.check();
}

#[test]
fn b04_ids_are_uuids_of_version_7_and_grow() {
    let db = TestCairn::real();
    let ids: Vec<String> = (0..50).map(|_| db.record(plan("t", "x")).unwrap().id.to_string()).collect();
    for id in &ids {
        let parts: Vec<&str> = id.split('-').collect();
        assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert!(id.chars().all(|c| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c)), "{id}");
        assert!(parts[2].starts_with('7'), "{id}");
    }
    assert!(ids.is_sorted());
}

#[test]
fn b05_timestamps_are_utc_with_milliseconds() {
    let db = TestCairn::real();
    let text = db.record(plan("t", "x")).unwrap().timestamp.to_string();
    let pattern = "0000-00-00T00:00:00.000Z";
    assert_eq!(text.len(), pattern.len());
    for (c, p) in text.chars().zip(pattern.chars()) {
        assert!(if p == '0' { c.is_ascii_digit() } else { c == p }, "{text}");
    }
}

#[test]
fn b06_each_of_the_four_types_survives() {
    let db = TestCairn::new();
    for kind in ThoughtType::ALL {
        let id = db.record(NewThought::new(kind, "x").task("t").agent("a")).unwrap().id;
        assert_eq!(db.get(id.as_str()).unwrap().unwrap().kind, kind);
    }
}

#[test]
fn b07_the_author_is_kept() {
    let db = TestCairn::new();
    let id = db.record(plan("t", "x").agent("grace")).unwrap().id;
    assert_eq!(db.get(id.as_str()).unwrap().unwrap().agent_id.as_str(), "grace");
}

#[test]
fn b08_empty_content_is_allowed() {
    let db = TestCairn::new();
    assert_eq!(db.record(plan("t", "")).unwrap().content, "");
    db.check();
}

#[test]
fn b09_the_pinned_hash_is_reached_through_the_public_api() {
    let options =
        Options::new().ids(|| "r1".to_string()).clock(|| Timestamp::parse("2026-04-17T00:00:00Z").unwrap());
    let db = TestCairn::with(options);
    let thought = db.record(NewThought::new(ThoughtType::Plan, "hello").task("t1").agent("a1")).unwrap();
    assert_eq!(thought.hash.to_string(), "6a2f9597f563d5515cfa69891a51806d0f93bfbe222997d3ba37c365ceee3f1a");
    db.check();
}

#[test]
fn b10_hashes_can_be_recomputed_from_the_record() {
    let db = TestCairn::real();
    let parent = db.record(plan("t", "one")).unwrap();
    let t = db.record(plan("t", "zwei \u{1F980}\n\"").parent(&parent.id)).unwrap();
    let link = TaskLink {
        content: &t.content,
        id: t.id.as_str(),
        prev_hash: t.prev_hash,
        task_id: t.task_id.as_str(),
        timestamp: t.timestamp.as_str(),
        kind: t.kind.as_str(),
    };
    assert_eq!(task_hash(&link, &mut Vec::new()), t.hash);
    assert_eq!(Sha::of(t.content.as_bytes()), t.content_hash);
    assert_eq!(chain_hash(&t.content_hash, Some(&parent.chain_hash)), t.chain_hash);
}

#[test]
fn b12_b13_empty_task_and_author_are_refused_together() {
    let db = TestCairn::new();
    let refused = db.record(NewThought::new(ThoughtType::Plan, "x").task("").agent(""));
    assert_eq!(issues(refused), ["task_id: must not be empty", "agent_id: must not be empty"]);
    assert_eq!(db.check().records, 0);
}

#[test]
fn b11_b14_a_type_must_be_one_of_the_four() {
    let error = "observation".parse::<ThoughtType>().unwrap_err();
    assert_eq!(error.to_string(), "must be one of plan, analysis, decision, reflection; found `observation`");
}

#[test]
fn task_or_session_must_be_given_and_an_author() {
    let db = TestCairn::new();
    let refused = db.record(NewThought::new(ThoughtType::Plan, "x"));
    assert_eq!(
        issues(refused),
        [
            "task_id: one of task_id and session_id must be given",
            "agent_id: who is thinking? give agent_id or metadata.agent_id"
        ]
    );
}

#[test]
fn the_parent_must_exist_in_the_same_session() {
    let db = TestCairn::new();
    let here = db.record(plan("t", "x").session("here")).unwrap();
    assert_eq!(issues(db.record(plan("t", "y").parent("r99"))), ["parent_id: there is no thought `r99`"]);
    let refused = db.record(plan("t", "y").session("there").parent(&here.id));
    assert_eq!(issues(refused), ["parent_id: thought `r1` belongs to another session than `there`"]);
    db.record(plan("t", "z").session("there")).unwrap();
    let refused = db.record(plan("t", "y").session("there").parent(&here.id));
    assert_eq!(issues(refused), ["parent_id: thought `r1` belongs to another session than `there`"]);
    assert_eq!(db.check().records, 2);
}

#[test]
fn a_session_may_hold_several_tasks_and_a_task_several_sessions() {
    let db = TestCairn::new();
    let a = db.record(plan("t1", "a").session("s1")).unwrap();
    let b = db.record(plan("t2", "b").session("s1")).unwrap();
    let c = db.record(plan("t1", "c").session("s2")).unwrap();
    assert_eq!([a.step_index, b.step_index, c.step_index], [0, 1, 0]);
    assert_eq!((b.prev_hash, c.prev_hash), (Sha::ZERO, a.hash));
    db.check();
}

#[test]
fn snapshots_and_briefs_that_do_not_exist_are_not_found() {
    let db = TestCairn::new();
    for draft in [
        NewThought { context_id: Some(7), ..plan("t", "x") },
        NewThought { brief_id: Some("b1".into()), ..plan("t", "x") },
    ] {
        assert_eq!(db.record(draft).unwrap_err().code(), "NOT_FOUND");
    }
    assert_eq!(db.check().records, 0);
}

#[test]
fn content_beyond_the_limit_is_too_large() {
    let db = TestCairn::with(counting().limits(Limits { content: 10, metadata: 20 }));
    db.record(plan("t", "0123456789")).unwrap();
    let error = db.record(plan("t", "0123456789a")).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("TOO_LARGE", "content has 11 bytes; the limit is 10")
    );
    let error = db.record(plan("t", "").metadata(metadata(json!({"key": "0123456789abc"})))).unwrap_err();
    assert_eq!(error.code(), "TOO_LARGE");
    assert_eq!(TestCairn::new().record(plan("t", &"x".repeat(1 << 20))).unwrap().content.len(), 1 << 20);
}

#[test]
fn metadata_comes_back_as_it_was_given() {
    let db = TestCairn::new();
    let given = metadata(json!({"tool_calls": ["read", "grep"], "n": 1.5, "nested": {"b": null, "a": "ü"}}));
    let recorded = db.record(plan("t", "x").metadata(given.clone())).unwrap();
    assert_eq!(recorded.metadata.as_ref(), Some(&given));
    assert_eq!(db.get(recorded.id.as_str()).unwrap().unwrap(), recorded);
    db.check();
}

#[test]
fn a_taken_id_is_a_conflict_and_changes_nothing() {
    let db = TestCairn::with(Options::new().ids(|| "same".to_string()));
    db.record(plan("t", "first")).unwrap();
    let error = db.record(plan("t", "second")).unwrap_err();
    assert_eq!(error.code(), "CONFLICT");
    assert_eq!(error.to_string(), "a thought with the id `same` is already recorded");
    let error = db.record(plan("another task", "third")).unwrap_err();
    assert_eq!(error.code(), "CONFLICT");
    // A task that was only ever tried must leave nothing behind.
    assert_eq!(db.status().unwrap().tasks, 1);
    assert_eq!(db.check().records, 1);
}

#[test]
fn the_same_key_with_the_same_arguments_returns_the_first_record() {
    let db = TestCairn::new();
    let draft = || plan("t", "x").metadata(metadata(json!({"a": 1}))).idempotency_key("k1");
    let first = db.record(draft()).unwrap();
    assert_eq!(db.record(draft()).unwrap(), first);
    assert_eq!(db.another().record(draft()).unwrap(), first);
    assert_eq!(db.check().records, 1);
}

#[test]
fn the_same_key_with_other_arguments_is_a_conflict() {
    let db = TestCairn::new();
    db.record(plan("t", "x").idempotency_key("k1")).unwrap();
    let error = db.record(plan("t", "y").agent("bob").idempotency_key("k1")).unwrap_err();
    assert_eq!(error.code(), "CONFLICT");
    assert_eq!(
        error.to_string(),
        "this idempotency_key was used for thought `r1` with another content, agent_id; use a new key for a new \
         thought"
    );
    assert_eq!(db.check().records, 1);
}

#[test]
fn a_clock_that_runs_back_does_not_reorder_a_chain() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let minutes = AtomicU64::new(59);
    let db = TestCairn::with(Options::new().clock(move || {
        let minute = minutes.fetch_sub(1, Ordering::Relaxed);
        Timestamp::parse(format!("2026-04-17T00:{minute:02}:00.000Z")).unwrap()
    }));
    let recorded: Vec<_> = (0..5).map(|i| db.record(plan("t", &i.to_string())).unwrap()).collect();
    let listed = db.list(&cairn::Filter::default()).unwrap().records;
    assert_eq!(listed, recorded);
    assert!(recorded.windows(2).all(|pair| pair[1].prev_hash == pair[0].hash));
    db.check();
}

#[test]
fn an_id_source_that_fails_writes_nothing() {
    let db = TestCairn::with(Options::new().ids(String::new));
    assert!(matches!(db.record(plan("t", "x")), Err(Error::Store(_))));
    let db: Cairn = db.another();
    assert_eq!(db.record(plan("t", "x")).unwrap().seq, 1);
}

#[test]
fn a_panic_in_the_clock_is_an_error_and_the_recorder_lives_on() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let fail = AtomicBool::new(true);
    let db = TestCairn::with(Options::new().clock({
        let opened = AtomicBool::new(false);
        move || {
            // The first call dates the new log.
            if opened.swap(true, Ordering::Relaxed) && fail.swap(false, Ordering::Relaxed) {
                panic!("the clock is broken (this panic belongs to a test)");
            }
            Timestamp::parse("2026-04-17T00:00:00Z").unwrap()
        }
    }));
    assert_eq!(db.record(plan("t", "x")).unwrap_err().code(), "HANDLER_ERROR");
    assert_eq!(db.record(plan("t", "y")).unwrap().seq, 1);
    assert_eq!(db.check().records, 1);
}

#[test]
fn what_is_queued_is_recorded_even_if_nobody_waits() {
    let db = TestCairn::new();
    for i in 0..100 {
        drop(db.record_async(plan("t", &i.to_string())));
    }
    db.cairn.clone().close();
    assert_eq!(db.check().records, 100);
}
