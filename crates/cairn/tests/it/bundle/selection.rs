//! A partial bundle holds records of its session or task, and nothing that the format has no place for.

use std::collections::BTreeSet;

use cairn::bundle::{ExportOptions, Selection};
use cairn::{Error, NewThought, ThoughtType};
use serde_json::{Value, json};

use super::forge::{Bundle, both, export, filled, key_of, session, task, verify};

/// The places of the entries for which `is` holds.
fn places(whole: &Bundle, is: impl Fn(&Value) -> bool) -> BTreeSet<usize> {
    let size = whole.lines[0]["size"].as_u64().unwrap();
    (0..size).filter(|seq| is(&whole.leaf(*seq))).map(|seq| seq as usize).collect()
}

/// The findings of both verifiers, with the key of the log given.
#[track_caller]
fn found(whole: &Bundle, selection: Value, places: &BTreeSet<usize>) -> Vec<String> {
    let keys = [key_of(&whole.origin()).verifying_key().clone()];
    both(&whole.part(selection, places).bytes(), &keys)
}

#[test]
fn a_bundle_under_the_name_of_another_session_or_task_is_refused_by_both() {
    let db = filled();
    let whole = Bundle::of(&export(&db, Selection::All));
    let keys = [key_of(&whole.origin()).verifying_key().clone()];
    let other = places(&whole, |leaf| leaf["session_id"] == "memory");
    assert_eq!(found(&whole, json!({"session": "memory"}), &other), [""; 0], "as it is");
    let under_another_name = found(&whole, json!({"session": "s"}), &other);
    assert_eq!(under_another_name.len(), other.len(), "{under_another_name:?}");
    assert!(under_another_name.iter().all(|found| found.starts_with("leaf_mismatch (table ")));

    // The trick: one that is missing from the middle is not missed under another name.
    let gap: BTreeSet<usize> =
        other.iter().copied().filter(|place| Some(place) != other.iter().nth(1)).collect();
    assert!(!found(&whole, json!({"session": "memory"}), &gap).is_empty());
    assert!(!found(&whole, json!({"session": "s"}), &gap).is_empty());

    let mut relabelled = Bundle::of(&export(&db, session("s")));
    relabelled.lines[0]["selection"] = json!({"session": "alpha"});
    assert!(!verify(&relabelled.bytes(), &keys).valid());
    assert!(!both(&relabelled.bytes(), &[]).is_empty());
    relabelled.lines[0]["selection"] = json!({"task": "t"});
    assert!(!both(&relabelled.bytes(), &keys).is_empty());
    let mut relabelled = Bundle::of(&export(&db, task("t")));
    relabelled.lines[0]["selection"] = json!({"task": "u"});
    assert!(!both(&relabelled.bytes(), &keys).is_empty());
}

#[test]
fn a_record_that_the_selection_has_no_place_for_is_named_by_both() {
    let db = filled();
    let whole = Bundle::of(&export(&db, Selection::All));
    let of_session = Bundle::of(&export(&db, session("s")));
    let chosen = |kind: &str, selection: Value| {
        let base = match selection.get("session") {
            Some(_) => of_session.clone(),
            None => Bundle::of(&export(&db, task("t"))),
        };
        let mut chosen = places(&whole, |leaf| {
            base.lines.iter().any(|line| {
                line.get("leaf").is_some_and(|text| {
                    serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap()["seq"] == leaf["seq"]
                })
            })
        });
        assert_eq!(found(&whole, selection.clone(), &chosen), [""; 0], "as it is exported");
        let more = places(&whole, |leaf| {
            leaf["kind"] == json!(kind) && !chosen.contains(&(leaf["seq"].as_u64().unwrap() as usize))
        });
        chosen.insert(*more.first().unwrap());
        found(&whole, selection, &chosen)
    };
    let s = || json!({"session": "s"});
    let t = || json!({"task": "t"});
    assert_eq!(chosen("genesis", s()), ["leaf_mismatch (table entry, log entry 0)"]);
    assert_eq!(chosen("thought", s()), ["leaf_mismatch (table thought, log entry 3, r3, session_id)"]);
    assert_eq!(chosen("event", s()), ["leaf_mismatch (table event, log entry 13, session_id)"]);
    let brief = chosen("brief", s());
    assert!(
        brief.len() == 1 && brief[0].starts_with("leaf_mismatch (table brief, log entry 16, "),
        "{brief:?}"
    );
    assert_eq!(chosen("event", t()), ["leaf_mismatch (table event, log entry 8, task_id)"]);
    let brief = chosen("brief", t());
    assert!(brief.len() == 1 && brief[0].ends_with(", task_id)"), "{brief:?}");
    assert_eq!(chosen("snapshot", t()), ["leaf_mismatch (table context, log entry 4, 1, context_id)"]);
    assert_eq!(chosen("thought", t()), ["leaf_mismatch (table thought, log entry 5, r4, task_id)"]);
}

#[test]
fn a_part_of_a_log_without_any_record_of_it_is_refused_by_both() {
    let db = filled();
    let whole = Bundle::of(&export(&db, Selection::All));
    let keys_alone = places(&whole, |leaf| leaf["kind"] == "key");
    for selection in [json!({"session": "s"}), json!({"task": "t"}), json!({"session": "nobody"})] {
        for places in [&keys_alone, &BTreeSet::new()] {
            assert_eq!(found(&whole, selection.clone(), places), ["missing_record (table bundle)"]);
        }
    }
    // A session that has events and no thoughts is one.
    let events = places(&whole, |leaf| leaf["kind"] == "event" && leaf["session_id"] == "memory");
    assert_eq!(found(&whole, json!({"session": "memory"}), &events), [""; 0]);
}

#[test]
fn a_session_that_no_checkpoint_covers_is_not_exported() {
    let db = filled();
    db.checkpoint().unwrap();
    let late = NewThought::new(ThoughtType::Decision, "late").session("late").task("late").agent("ada");
    db.record(late).unwrap();
    for selection in [session("late"), task("late")] {
        let options = ExportOptions { selection, ..ExportOptions::default() };
        let refused = db.export(&options, &mut Vec::new(), &mut |_| {}).unwrap_err();
        assert!(matches!(refused, Error::Uncovered { .. }), "{refused:?}");
        assert_eq!(refused.code(), "CONFLICT");
        db.export(&ExportOptions::default(), &mut Vec::new(), &mut |_| {}).unwrap();
    }
    db.checkpoint().unwrap();
    assert!(verify(&export(&db, session("late")), &[]).valid());
}
