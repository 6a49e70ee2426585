//! Readers show no record that does not match its log entry.

use cairn::bundle::{ExportOptions, Selection};
use cairn::{BriefRequest, Error, Filter, NewSession, NewThought, Redact, SearchQuery, ThoughtType};
use serde_json::json;

use crate::harness::{TestCairn, sqlites_own};

/// Four thoughts in a row: entries 1 to 4, the third of which led to an action.
fn chain() -> TestCairn {
    let db = TestCairn::new();
    let mut parent = None;
    for (index, text) in ["first", "second", "third", "fourth"].into_iter().enumerate() {
        let mut thought = NewThought::new(ThoughtType::Analysis, text).session("s").task("t").agent("a");
        thought.parent_id = parent;
        thought.action_id = (index == 2).then(|| "commit-7".to_string());
        parent = Some(db.record(thought).unwrap().id.to_string());
    }
    db.for_action("commit-7").unwrap();
    db
}

fn is_damage_at(error: &Error, seq: u64) -> bool {
    error.code() == "DAMAGED" && error.to_string().contains(&format!("log entry {seq} is damaged"))
}

#[test]
fn a_changed_thought_is_not_shown_and_the_others_are() {
    for change in [
        "UPDATE thought SET content = 'forged' WHERE seq = 3",
        "UPDATE thought SET agent_id = 'forged' WHERE seq = 3",
        "UPDATE thought SET timestamp = '2026-04-17T00:00:09.000Z' WHERE seq = 3",
        "UPDATE thought SET type = 'plan' WHERE seq = 3",
        "UPDATE thought SET type = 'forged' WHERE seq = 3",
        "UPDATE thought SET metadata = '{}' WHERE seq = 3",
        "UPDATE thought SET content = NULL WHERE seq = 3",
        "UPDATE thought SET context_id = 9 WHERE seq = 3",
        "UPDATE thought SET idempotency_key = 'forged' WHERE seq = 3",
        "UPDATE thought SET leaf_hash = zeroblob(32) WHERE seq = 3",
    ] {
        let db = chain();
        let ids: Vec<String> = db.tree("s", false).unwrap().iter().map(|step| step.id.to_string()).collect();
        db.tamper(change);

        let error = db.get(&ids[2]).unwrap_err();
        assert!(is_damage_at(&error, 3), "{change}: {error}");
        assert!(!error.to_string().contains("forged"), "{change}: {error}");
        assert_eq!(db.get(&ids[1]).unwrap().unwrap().content, "second");

        let page = db.list(&Filter::default()).unwrap();
        let shown: Vec<u64> = page.records.iter().map(|thought| thought.seq).collect();
        assert_eq!((shown, page.damaged[0].seq), (vec![1, 2, 4], Some(3)), "{change}");
        for filter in [
            Filter { session_id: Some("s".into()), ..Filter::default() },
            Filter { task_id: Some("t".into()), ..Filter::default() },
        ] {
            let page = db.list(&filter).unwrap();
            let damaged: Vec<Option<u64>> = page.damaged.iter().map(|damage| damage.seq).collect();
            assert_eq!((page.records.len(), damaged), (3, vec![Some(3)]), "{change}");
        }

        let tree = db.tree("s", true).unwrap();
        assert_eq!((tree.records.len(), tree.damaged[0].seq), (3, Some(3)), "{change}");
        let trail = db.trail(&ids[3], None).unwrap();
        assert_eq!((trail.records.len(), trail.damaged[0].seq), (3, Some(3)), "{change}");
        assert!(is_damage_at(&db.trail(&ids[2], None).unwrap_err(), 3), "{change}");
        let led_to = db.for_action("commit-7").unwrap();
        assert_eq!((led_to.len(), led_to.damaged[0].seq), (0, Some(3)), "{change}");
        let branch = db.branch("s", Some(&ids[1]), None, 10).unwrap();
        assert_eq!((branch.thoughts.len(), branch.damaged[0].seq), (0, Some(3)), "{change}");
        for selection in [Selection::All, Selection::Session("s".into()), Selection::Task("t".into())] {
            let options = ExportOptions { selection, ..ExportOptions::default() };
            let error = db.export(&options, &mut Vec::new(), &mut |_| {}).unwrap_err();
            assert_eq!(error.code(), "DAMAGED", "{change}: {error}");
        }
    }
}

#[test]
fn a_search_names_what_it_cannot_show() {
    let db = chain();
    db.search(&SearchQuery { query: "third".into(), ..SearchQuery::default() }).unwrap();
    db.tamper("UPDATE thought SET agent_id = 'forged' WHERE seq = 3");
    let found = db.search(&SearchQuery { query: "third".into(), ..SearchQuery::default() }).unwrap();
    assert_eq!((found.results.len(), found.damaged[0].seq), (0, Some(3)));
}

#[test]
fn a_thought_that_is_gone_leaves_a_gap_that_is_named() {
    let db = chain();
    db.tamper("DELETE FROM thought WHERE seq = 3");
    let tree = db.tree("s", false).unwrap();
    // The fourth names a parent that is not there, so it does not match its entry.
    assert_eq!(tree.records.len(), 2);
    assert!(tree.damaged.iter().any(|damage| damage.seq == Some(4)), "{:?}", tree.damaged);
    let db = chain();
    db.tamper("DELETE FROM thought WHERE seq = 4");
    let tree = db.tree("s", false).unwrap();
    assert_eq!(tree.damaged[0].message, "step 3 of session `s` is missing");
    let page = db.list(&Filter { task_id: Some("t".into()), ..Filter::default() }).unwrap();
    assert_eq!(page.damaged[0].message, "task `t` has 4 thoughts, and 3 are found");
}

#[test]
fn a_session_is_not_shown_under_the_name_of_another() {
    sqlites_own!("it changes pages of the file");
    let db = chain();
    db.record(NewThought::new(ThoughtType::Plan, "elsewhere").session("other").agent("a")).unwrap();
    // Like an index with two entries exchanged: each name leads to the other session's number.
    db.tamper(
        "UPDATE session SET name = 'x' WHERE name = 's'; UPDATE session SET name = 's' WHERE name = 'other';
         UPDATE session SET name = 'other' WHERE name = 'x'",
    );
    let tree = db.tree("s", true).unwrap();
    assert!(tree.records.is_empty(), "{tree:?}");
    assert_eq!(tree.damaged[0].seq, Some(5));
    assert_eq!(db.list(&Filter::default()).unwrap().records.len(), 0);
}

#[test]
fn a_redaction_that_was_hidden_or_changed_is_not_believed() {
    for change in [
        "DELETE FROM redaction",
        "UPDATE entry SET leaf = 'nothing' WHERE seq = 5",
        "UPDATE redaction SET target_seq = 1",
    ] {
        let db = chain();
        let id = db.tree("s", false).unwrap()[2].id.to_string();
        let redact = Redact { target: id.clone(), actor: "ada".into(), reason: "a name".into() };
        db.redact(&redact).unwrap();
        assert!(db.get(&id).unwrap().unwrap().redacted.is_some());
        db.tamper(change);
        assert_eq!(db.get(&id).unwrap_err().code(), "DAMAGED", "{change}");
    }
}

#[test]
fn changed_events_bodies_and_briefs_are_not_shown() {
    let open = || {
        let db = TestCairn::new();
        db.session_open(NewSession { session_id: Some("m".into()), ..NewSession::default() }).unwrap();
        db.turn_begin("m", "hello", None).unwrap();
        let draft = json!({"op": "generate", "type": "letter", "label": "draft", "body": {"text": "dear"}});
        db.entity_apply("m", vec![draft], None, None).unwrap();
        let request = BriefRequest { session_id: "m".into(), node: "act".into(), ..BriefRequest::default() };
        let brief = db.brief_build(&request, true).unwrap().brief_id.unwrap();
        (db, brief.to_string())
    };
    for change in [
        "UPDATE event SET turn = 7 WHERE position = 1",
        "UPDATE event SET created_at = '2026-04-17T00:00:09.000Z' WHERE position = 1",
        "DELETE FROM event WHERE position = 1",
    ] {
        let (db, _) = open();
        db.tamper(change);
        let again = db.another();
        assert_eq!(again.session_state("m", None, None).unwrap_err().code(), "DAMAGED", "{change}");
    }
    let (db, brief) = open();
    db.tamper("UPDATE body SET data = '{\"text\":\"forged\"}'");
    assert_eq!(db.entity_get("m", "gen_letter_1", None).unwrap_err().code(), "DAMAGED");
    db.tamper("UPDATE brief SET node = 'think'");
    assert_eq!(db.brief(&brief).unwrap_err().code(), "DAMAGED");
    let briefs = db.briefs(None, None).unwrap();
    assert_eq!((briefs.len(), briefs.damaged.len()), (0, 1));
    assert_eq!(db.brief_verify(&brief).unwrap().valid, Some(false), "verifying it says so, too");
}
