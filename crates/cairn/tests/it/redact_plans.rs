//! Snapshots whose content was taken: their places, hashes and numbers stay, and nothing else of them is left.

use std::io::Cursor;

use cairn::bundle::Selection;
use cairn::{Cairn, Context, Error, NewThought, NodeQuery, Options, Scope, ThoughtType};
use serde_json::{Value, json};

use crate::bundle::forge::{Bundle, both, export, key_of, session};
use crate::harness::{Sql, TestCairn, issues, remove};
use crate::redact::{left, redact, stands};

/// A change of an entry.
type Forgery<'a> = &'a dyn Fn(&mut Value);

fn plan(label: &str) -> Value {
    json!({
        "title": format!("Letters, {label}"),
        "phases": [{"id": "build"}],
        "nodes": [{"id": "ask", "label": format!("Ask {label}"), "phase": "build"}],
    })
}

fn write(db: &TestCairn, id: &str, plan: &Value) {
    let folder = db.folder().join("roadmaps");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{id}.json")), plan.to_string()).unwrap();
}

fn decide(db: &Cairn, context_id: u64, content: &str) -> u64 {
    let mut draft = NewThought::new(ThoughtType::Decision, content).session("s").agent("ada");
    draft.context_id = Some(context_id);
    db.record(draft).unwrap().seq
}

fn hits(db: &Cairn, query: &str) -> usize {
    db.context_search(&NodeQuery { query: query.into(), ..NodeQuery::default() }).unwrap().len()
}

fn metadata(text: &str) -> Option<serde_json::Map<String, Value>> {
    json!({"asked_by": text}).as_object().cloned()
}

/// Contexts 1, 2 and 4 share a content, in two roadmaps; 3 has another.
fn captured() -> TestCairn {
    let db = TestCairn::real();
    write(&db, "letters", &plan("Zoltan Quixley"));
    write(&db, "twin", &plan("Zoltan Quixley"));
    db.context_create("letters", metadata("Quixley himself")).unwrap();
    db.context_create("letters", metadata("Quixleys neighbour")).unwrap();
    decide(&db, 1, "Write to the person");
    write(&db, "letters", &plan("nobody"));
    db.context_create("letters", None).unwrap();
    db.context_create("twin", None).unwrap();
    assert_eq!((hits(&db, "quixley"), hits(&db, "nobody")), (1, 1));
    db
}

fn is_gone(context: &Context) -> bool {
    context.snapshot.is_none() && context.head.metadata.is_none() && context.head.redacted.is_some()
}

#[test]
fn the_content_goes_from_every_snapshot_that_shares_it() {
    let db = captured();
    let before: Vec<Context> = (1..=4).map(|id| db.context(id).unwrap().unwrap()).collect();
    let done = redact(&db, "context:2").unwrap();
    assert_eq!((done.id.as_str(), done.kind.as_str()), ("2", "snapshot"));
    assert_eq!(done.fields, ["data", "metadata"]);
    assert_eq!(done.content_hash, before[1].head.content_hash);
    assert_eq!(done.shared, [before[0].head.seq, before[3].head.seq]);
    assert!(left(&done).is_empty(), "{:?}", done.remnants);
    for needle in ["Quixley", "zoltan", "neighbour"] {
        assert!(!stands(&db.path(), needle), "{needle} is still there");
    }
    for (id, before) in (1..).zip(&before) {
        let now = db.context(id).unwrap().unwrap();
        assert_eq!((now.head.content_hash, now.head.seq), (before.head.content_hash, before.head.seq));
        assert_eq!(is_gone(&now), id != 3, "{now:?}");
        let verdict = db.context_verify(id).unwrap();
        assert_eq!(verdict.valid, (id == 3).then_some(true), "{verdict:?}");
    }
    let shown = serde_json::to_value(db.context(1).unwrap()).unwrap();
    assert_eq!((&shown["snapshot"], &shown["redacted"]["by"]), (&Value::Null, &json!("ann")));
    assert_eq!((hits(&db, "quixley"), hits(&db, "nobody")), (0, 1));
    let report = db.check();
    assert_eq!(report.redacted_total, 3);
    db.rebuild().unwrap();
    db.check();
    assert_eq!((hits(&db, "quixley"), hits(&db, "nobody")), (0, 1));
    assert!(db.verify(&Scope::Session("s".into())).unwrap().valid());
}

#[test]
fn what_needs_the_content_says_that_it_is_gone() {
    let db = captured();
    let done = redact(&db, "context:1").unwrap();
    let conflict = db.context_compare(1, None).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        format!(
            "the content of context 1 was redacted by ann on {}, so that nothing can be compared with it",
            done.at
        )
    );
    let drift = db.drift(None, None).unwrap();
    assert_eq!((drift.drifted, drift.results.len()), (1, 1));
    assert_eq!((drift.results[0].total_changes, drift.results[0].thought.context_id), (None, Some(1)));
    // The same content again would be what was taken.
    write(&db, "letters", &plan("Zoltan Quixley"));
    for again in [db.context_create("letters", None), db.context_ensure("letters", None)] {
        let Err(Error::Conflict(message)) = again else { panic!("{again:?}") };
        assert!(
            message.starts_with("roadmap `letters` has the content of context 1, which was redacted by ann")
        );
        assert!(
            message.ends_with("take out of the roadmap what was redacted, and capture it again"),
            "{message}"
        );
    }
    // The newest snapshot is what it was, redacted or not.
    let ensured = db.context_ensure("twin", None).unwrap();
    assert!(ensured.is_existing && ensured.context.redacted.is_some());
    // Thoughts can rest on it as before.
    decide(&db, 4, "Go on");
    let twice = redact(&db, "context:4").unwrap_err();
    assert!(twice.to_string().starts_with("snapshot `4` was redacted already, by ann on "), "{twice}");
    write(&db, "letters", &plan("somebody"));
    assert_eq!(db.context_create("letters", None).unwrap().context.context_id, 5);
    db.check();
    assert!(issues(redact(&db, "context:-1"))[0].contains("its number"));
}

#[test]
fn bundles_copies_and_imports_carry_the_redaction() {
    let db = captured();
    let (whole, before) = (export(&db, Selection::All), db.status().unwrap().entries);
    redact(&db, "context:1").unwrap();
    decide(&db, 3, "Go on");
    let (full, part) = (export(&db, Selection::All), export(&db, session("s")));
    assert_eq!(both(&full, &[]), [""; 0]);
    assert_eq!(both(&part, &[]), [""; 0]);
    for bytes in [&full, &part] {
        assert!(!String::from_utf8_lossy(bytes).contains("Quixley"));
    }
    let (new, old) = (db.place("new"), db.place("old"));
    Options::new().import(&new, &mut Cursor::new(&full), &[], &|_| {}).unwrap();
    let imported = Cairn::open(&new).unwrap();
    assert!((1..=4).all(|id| is_gone(&imported.context(id).unwrap().unwrap()) == (id != 3)));
    assert!(imported.verify(&Scope::All).unwrap().valid());
    assert_eq!(export(&imported, Selection::All), full);
    // A copy from before is completed, and what was redacted since is erased there.
    Options::new().import(&old, &mut Cursor::new(&whole), &[], &|_| {}).unwrap();
    let behind = Cairn::open(&old).unwrap();
    assert_eq!(behind.status().unwrap().entries, before);
    behind.close();
    let extended = Options::new().extend(&old, &mut Cursor::new(&full), &[], &|_| {}).unwrap();
    assert_eq!(extended.erased, 2, "the third had nothing but the content that it shared");
    assert!(!stands(&old, "Quixley"));
    let extended = Cairn::open(&old).unwrap();
    assert!(extended.verify(&Scope::All).unwrap().valid());
    assert_eq!(export(&extended, Selection::All), full);
}

/// What remains cannot be changed unnoticed, in the database or in a bundle.
#[test]
fn a_redaction_of_a_snapshot_cannot_be_forged() {
    let db = captured();
    redact(&db, "context:1").unwrap();
    let quote = |text: &str| text.replace('\'', "''");
    let data = quote(&plan("Zoltan Quixley").to_string());
    for change in [
        format!("UPDATE snapshot SET data = '{data}' WHERE data IS NULL"),
        "UPDATE context SET metadata = '{\"asked_by\":\"me\"}' WHERE id = 1".to_string(),
        "UPDATE context SET snapshot_no = 2 WHERE id = 1".to_string(),
        "UPDATE snapshot SET data = NULL WHERE data IS NOT NULL".to_string(),
    ] {
        let copy = db.copy("changed");
        let sql = Sql::open(&copy);
        let refused = sql.execute_batch(&change);
        assert!(refused.is_err(), "the database itself refuses {change}");
        sql.unprotected(|sql| sql.execute_batch(&change)).unwrap();
        let report = Cairn::open(&copy).unwrap().verify(&Scope::All).unwrap();
        assert!(!report.valid(), "{change}");
        remove(&copy);
    }
    let full = Bundle::of(&export(&db, Selection::All));
    let first = full.first("redaction");
    let key = key_of(&full.origin());
    let changes: [(&str, Forgery<'_>); 5] = [
        ("the list of those that shared it", &|leaf| leaf["shared"] = json!([])),
        ("the hash", &|leaf| leaf["content_hash"] = json!("0".repeat(64))),
        ("the length", &|leaf| leaf["content_length"] = json!(1)),
        ("the fields", &|leaf| leaf["fields"] = json!(["data"])),
        ("the kind", &|leaf| leaf["target_kind"] = json!("brief")),
    ];
    for (what, change) in changes {
        let mut bundle = Bundle::of(&export(&db, Selection::All));
        bundle.set_leaf(first, change);
        let found = both(&bundle.rebuilt(&[&key]).bytes(), &[]);
        assert!(!found.is_empty(), "{what}");
    }
    let mut second = Bundle::of(&export(&db, Selection::All));
    second.set_leaf(first + 1, |leaf| leaf["shared"] = json!([1]));
    assert!(!both(&second.rebuilt(&[&key]).bytes(), &[]).is_empty(), "a list where none belongs");
    for text in [json!(plan("Zoltan Quixley").to_string()), json!("{}")] {
        let mut there = Bundle::of(&export(&db, Selection::All));
        let line = there.line_of(1);
        there.lines[line]["data"] = text;
        assert!(!both(&there.rebuilt(&[&key]).bytes(), &[]).is_empty(), "a content that was redacted");
    }
}
