//! Reviews: recorded, read back, verified, and carried to other databases.

use cairn::bundle::Selection;
use cairn::core::entry::{EntryKind, ReviewVerdict};
use cairn::{BriefRequest, Cairn, Error, NewReview, NewSession, Options, Review, Scope, ThoughtType};
use serde_json::json;

use crate::bundle::forge::{Bundle, both, export, session, task};
use crate::harness::{Sql, TestCairn, on_postgres, plan};
use crate::redact::{left, redact, stands};

/// A change of a bundle.
type Attack<'a> = &'a dyn Fn(&mut Bundle);

fn review(target: &str, verdict: ReviewVerdict, text: &str) -> NewReview {
    NewReview { target: target.into(), verdict, text: text.into(), actor: "ann".into() }
}

/// A thought with two reviews, another with one, and a brief with one.
fn reviewed() -> (TestCairn, [String; 3]) {
    let db = TestCairn::new();
    let first = db.record(plan("t", "first").session("s")).unwrap().id.to_string();
    let other = db.record(plan("u", "other").session("o")).unwrap().id.to_string();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    db.turn_begin("s", "What is there?", None).unwrap();
    let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    let brief = db.brief_build(&request, true).unwrap().brief_id.unwrap().to_string();
    for (target, verdict, text) in [
        (&first, ReviewVerdict::Objected, "not like this: 😀"),
        (&brief, ReviewVerdict::Noted, "it leaves out the plan"),
        (&first, ReviewVerdict::Approved, ""),
        (&other, ReviewVerdict::Approved, "yes"),
    ] {
        db.add_review(review(target, verdict, text)).unwrap();
    }
    (db, [first, brief, other])
}

#[test]
fn a_review_is_read_back_as_it_was_recorded() {
    let (db, [first, brief, other]) = reviewed();
    let found = db.reviews(&first).unwrap();
    let said: Vec<_> = found.iter().map(|review| (review.verdict, &*review.text, &*review.actor)).collect();
    assert_eq!(
        said,
        [(ReviewVerdict::Objected, "not like this: 😀", "ann"), (ReviewVerdict::Approved, "", "ann")]
    );
    assert_eq!((found[0].target_kind, found[0].target_seq), (EntryKind::Thought, 1));
    assert_eq!(db.reviews(&brief).unwrap()[0].target_kind, EntryKind::Brief);
    assert_eq!(db.reviews(&other).unwrap().len(), 1);
    assert_eq!(db.reviews("nobody").unwrap(), []);
    let entry = db.entry(found[0].seq).unwrap().unwrap();
    assert_eq!((entry.head.kind, entry.head.id.as_deref()), (EntryKind::Review, Some(&*found[0].id)));
    assert!(!entry.leaf.contains("not like this"), "the entry commits to the text and does not repeat it");
    db.check();
    // The target is as it was.
    assert_eq!(db.get(&first).unwrap().unwrap().content, "first");
}

#[test]
fn a_review_of_nothing_is_refused() {
    let (db, [first, ..]) = reviewed();
    let error = db.add_review(review("nobody", ReviewVerdict::Noted, "x")).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    let review_id = db.reviews(&first).unwrap()[0].id.clone();
    let error = db.add_review(review(&review_id, ReviewVerdict::Noted, "x")).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    for (actor, text) in [("", "x"), ("a\0", "x"), ("ann", "x\0")] {
        let draft = NewReview { actor: actor.into(), ..review(&first, ReviewVerdict::Noted, text) };
        assert!(matches!(db.add_review(draft).unwrap_err(), Error::Invalid(_)), "{actor:?} {text:?}");
    }
    db.check();
}

#[test]
fn every_change_of_a_review_is_found_and_not_shown() {
    for (change, field) in [
        ("UPDATE review SET text = 'fine' WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET text = NULL WHERE verdict = 'objected'", "text"),
        ("UPDATE review SET salt = NULL WHERE verdict = 'objected'", "text"),
        ("UPDATE review SET verdict = 'approved' WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET verdict = 'perfect' WHERE verdict = 'objected'", "verdict"),
        ("UPDATE review SET actor = 'bob' WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET created_at = '2020-01-01T00:00:00Z' WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET target_kind = 'brief' WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET target_seq = 2 WHERE verdict = 'objected'", "leaf_hash"),
        ("UPDATE review SET id = 'v' WHERE verdict = 'objected'", "leaf_hash"),
    ] {
        let (db, [first, ..]) = reviewed();
        db.tamper(change);
        let report = db.verify(&Scope::All).unwrap();
        assert_eq!(report.findings_total, 1, "{change}: {:?}", report.findings);
        assert_eq!((report.findings[0].table, report.findings[0].field.as_deref()), ("review", Some(field)));
        assert!(matches!(db.reviews(&first).unwrap_err(), Error::Damaged(_)), "{change}");
    }
    // Under another record it is not shown either.
    let (db, [first, _, other]) = reviewed();
    db.tamper(&format!("UPDATE review SET target_id = '{other}' WHERE verdict = 'objected'"));
    assert_eq!(db.verify(&Scope::All).unwrap().findings[0].field.as_deref(), Some("leaf_hash"));
    assert!(matches!(db.reviews(&other).unwrap_err(), Error::Damaged(_)));
    assert_eq!(db.reviews(&first).unwrap().len(), 1);
    let (db, _) = reviewed();
    db.tamper("DELETE FROM review WHERE verdict = 'objected'");
    let report = db.verify(&Scope::All).unwrap();
    assert_eq!((report.findings_total, report.findings[0].table), (1, "entry"), "{:?}", report.findings);
}

#[test]
fn bundles_carry_the_reviews_of_what_is_in_them() {
    let (db, [first, brief, other]) = reviewed();
    let whole = export(&db, Selection::All);
    assert_eq!(both(&whole, &[]), [""; 0]);
    for (selection, reviews) in [(Selection::All, 4), (session("s"), 3), (task("t"), 2), (task("u"), 1)] {
        let bundle = Bundle::of(&export(&db, selection.clone()));
        let count = bundle.lines.iter().filter(|line| line.get("text").is_some()).count();
        assert_eq!(count, reviews, "{selection:?}");
        assert_eq!(both(&bundle.bytes(), &[]), [""; 0]);
    }
    // Imported, it is the same log.
    let path = db.place("imported.db");
    Options::new().import(&path, &mut std::io::Cursor::new(&whole), &[], &|_| {}).unwrap();
    let copy = Cairn::open(&path).unwrap();
    assert!(copy.verify(&Scope::All).unwrap().valid());
    for target in [&first, &brief, &other] {
        assert_eq!(copy.reviews(target).unwrap(), db.reviews(target).unwrap());
    }
    assert!(export(&copy, Selection::All) == whole);
    // Both verifiers name what was changed.
    let seq = Bundle::of(&whole).first("review");
    let attacks: [(&str, Attack<'_>, &str); 5] = [
        (
            "another text",
            &|b| set(b, seq, "text", json!("fine")),
            "content_hash_mismatch (table review, log entry SEQ, ID, text)",
        ),
        (
            "no text",
            &|b| set(b, seq, "text", json!(null)),
            "missing_record (table review, log entry SEQ, ID, text)",
        ),
        (
            "no salt",
            &|b| set(b, seq, "salt", json!(null)),
            "leaf_mismatch (table review, log entry SEQ, ID, salt)",
        ),
        (
            "no such target",
            &|b| b.set_leaf(seq, |leaf| leaf["target_seq"] = json!(0)),
            "missing_record (table review, log entry SEQ, ID, target_seq)",
        ),
        (
            "another verdict",
            &|b| b.set_leaf(seq, |leaf| leaf["verdict"] = json!("fine")),
            "leaf_mismatch (table entry, log entry SEQ)",
        ),
    ];
    let id = db.reviews(&first).unwrap()[0].id.clone();
    for (name, attack, expected) in attacks {
        let mut bundle = Bundle::of(&whole);
        attack(&mut bundle);
        let found = both(&bundle.bytes(), &[]);
        let expected = expected.replace("SEQ", &seq.to_string()).replace("ID", &id);
        assert!(found.contains(&expected), "{name}: {found:?}");
    }
}

fn set(bundle: &mut Bundle, seq: u64, field: &str, value: serde_json::Value) {
    let line = bundle.line_of(seq);
    bundle.lines[line][field] = value;
}

#[test]
fn reviews_keep_their_place_between_other_records() {
    let (db, [first, ..]) = reviewed();
    let thought = db.think(ThoughtType::Reflection, "after the reviews", None);
    assert_eq!(thought.seq, 10);
    db.add_review(review(&first, ReviewVerdict::Noted, "later")).unwrap();
    assert_eq!(db.reviews(&first).unwrap().len(), 3);
    db.check();
}

#[test]
fn the_text_of_a_review_can_be_redacted() {
    let (db, [first, ..]) = reviewed();
    let old = db.reviews(&first).unwrap().remove(0);
    let done = redact(&db, &old.id).unwrap();
    assert_eq!((done.kind, &done.fields[..], done.target_seq), (EntryKind::Review, &["text"][..], old.seq));
    assert!(left(&done).is_empty() && !stands(&db.path(), "not like this"), "{:?}", done.remnants);
    let now = db.reviews(&first).unwrap().remove(0);
    let by = now.redacted.clone().unwrap();
    assert_eq!(by.by, "ann");
    assert_eq!(now, Review { text: String::new(), redacted: Some(by), ..old.clone() });
    assert_eq!(db.check().redacted_total, 1);
    for selection in [Selection::All, session("s"), task("t")] {
        assert_eq!(both(&export(&db, selection.clone()), &[]), [""; 0], "{selection:?}");
    }
    let whole = export(&db, Selection::All);
    let path = db.place("imported.db");
    Options::new().import(&path, &mut std::io::Cursor::new(&whole), &[], &|_| {}).unwrap();
    let copy = Cairn::open(&path).unwrap();
    assert!(copy.verify(&Scope::All).unwrap().valid());
    assert_eq!(copy.reviews(&first).unwrap(), db.reviews(&first).unwrap());
    // Neither its text nor the salt without which nobody can guess it comes back unnoticed.
    for (field, value) in [("text", json!("not like this: 😀")), ("salt", json!("00".repeat(32)))] {
        let mut bundle = Bundle::of(&whole);
        set(&mut bundle, old.seq, field, value);
        let found = both(&bundle.bytes(), &[]);
        assert!(!found.is_empty(), "{field}");
        assert!(found.iter().all(|one| one.starts_with("leaf_mismatch (table review, ")), "{found:?}");
    }
    let blob = if on_postgres() { "'\\x00'::bytea" } else { "x'00'" };
    for change in [
        "UPDATE review SET text = 'fine' WHERE text IS NULL".to_string(),
        format!("UPDATE review SET salt = {blob} WHERE text IS NULL"),
        "UPDATE review SET verdict = 'approved' WHERE text IS NULL".to_string(),
    ] {
        let copy = db.copy("changed.db");
        assert!(Sql::open(&copy).execute_batch(&change).is_err(), "the database itself refuses {change}");
        Sql::open(&copy).unprotected(|sql| sql.execute_batch(&change).unwrap());
        let copy = Cairn::open(&copy).unwrap();
        assert!(!copy.verify(&Scope::All).unwrap().valid(), "{change}");
        assert!(matches!(copy.reviews(&first), Err(Error::Damaged(_))), "{change}");
    }
}
