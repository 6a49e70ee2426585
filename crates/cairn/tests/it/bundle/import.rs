//! Databases made of bundles, and completed from them.

use std::io::Cursor;
use std::path::Path;

use cairn::bundle::{ImportError, Imported, Selection};
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, NewThought, Options, Scope, SearchQuery, ThoughtType};
use serde_json::json;

use super::forge::{Bundle, export, filled, key_of, session};
use super::whole::{GOLDEN, GOLDEN_KEY};
use crate::harness::TestCairn;

fn import(bytes: &[u8], to: &Path, keys: &[VerifyingKey]) -> Result<Imported, ImportError> {
    Options::new().import(to, &mut Cursor::new(bytes), keys, &|_| {})
}

fn extend(bytes: &[u8], to: &Path) -> Result<Imported, ImportError> {
    Options::new().extend(to, &mut Cursor::new(bytes), &[], &|_| {})
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn refusal(result: Result<Imported, ImportError>) -> String {
    match result {
        Err(ImportError::Refused(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_imported_log_is_the_same_log() {
    let db = filled();
    let bytes = export(&db, Selection::All);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    let keys = [key_of(&db.status().unwrap().origin).verifying_key().clone()];
    let imported = import(&bytes, &path, &keys).unwrap();
    assert_eq!((imported.added, imported.report.valid()), (db.status().unwrap().entries, true));
    assert_eq!(names(folder.path()), ["copy.db"], "nothing is left beside it");
    let copy = Cairn::open(&path).unwrap();
    assert_eq!(export(&copy, Selection::All), bytes, "byte for byte");
    assert_eq!(export(&copy, session("s")), export(&db, session("s")));
    assert_eq!(copy.verify(&Scope::All).unwrap().root, db.check().root);
    let (ours, theirs) = (db.status().unwrap(), copy.status().unwrap());
    assert_eq!((ours.origin, ours.thoughts, ours.events), (theirs.origin, theirs.thoughts, theirs.events));
    assert_eq!(copy.get("r2").unwrap(), db.get("r2").unwrap());
    let query = SearchQuery { query: "quoted".into(), ..SearchQuery::default() };
    assert_eq!(copy.search(&query).unwrap().results.len(), 1);
    assert_eq!(copy.for_action("commit-1").unwrap().len(), 1);
    // It goes on where the log ended.
    copy.record(NewThought::new(ThoughtType::Plan, "more").session("s").agent("ada")).unwrap();
    assert!(copy.verify(&Scope::All).unwrap().valid());
}

#[test]
fn the_golden_bundle_can_be_imported_and_comes_out_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("golden.db");
    import(GOLDEN, &path, &[GOLDEN_KEY.trim().parse().unwrap()]).unwrap();
    assert_eq!(export(&Cairn::open(&path).unwrap(), Selection::All), GOLDEN);
}

#[test]
fn what_cannot_be_imported_is_refused_and_leaves_nothing_behind() {
    let db = filled();
    let bytes = export(&db, Selection::All);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cairn.db");
    let partial = refusal(import(&export(&db, session("s")), &path, &[]));
    assert!(partial.contains("a part of a log"), "{partial}");
    let mut forged = Bundle::of(&bytes);
    forged.lines[3]["content"] = json!("other");
    let Err(ImportError::Bundle(report)) = import(&forged.bytes(), &path, &[]) else { panic!() };
    assert_eq!(report.findings[0].seq, Some(2));
    let other = key_of("cairn/other").verifying_key().clone();
    assert!(
        matches!(import(&bytes, &path, &[other]), Err(ImportError::Bundle(_))),
        "nobody it trusts signed it"
    );
    assert!(matches!(import(b"garbage", &path, &[]), Err(ImportError::Bundle(_))));
    let nowhere = folder.path().join("nowhere/cairn.db");
    assert!(matches!(import(&bytes, &nowhere, &[]), Err(ImportError::Open(_))));
    // A key twice passes every hash, and no database takes it.
    let mut twice = Bundle::of(&bytes);
    for seq in [1, 3] {
        twice.set_leaf(seq, |leaf| leaf["idempotency_key"] = json!("k"));
    }
    twice
        .lines
        .retain(|line| line.get("checkpoint").is_none_or(|note| note.as_str().unwrap().contains("\n19\n")));
    let message = refusal(import(&twice.rebuilt(&[]).bytes(), &path, &[]));
    assert!(message.contains("twice"), "{message}");
    assert_eq!(names(folder.path()), [""; 0]);

    std::fs::write(&path, "something").unwrap();
    let taken = refusal(import(&bytes, &path, &[]));
    assert!(taken.contains("exists already"), "{taken}");
    assert_eq!(std::fs::read(&path).unwrap(), b"something");
}

#[test]
fn an_old_backup_is_completed_from_a_bundle() {
    let db = filled();
    let old = db.folder().join("old.db");
    db.backup(&old, &mut |_| {}).unwrap();
    let think = |text: &str| NewThought::new(ThoughtType::Plan, text).session("new").agent("ada");
    for n in 0..10 {
        db.record(think(&format!("after the backup {n}"))).unwrap();
    }
    let bytes = export(&db, Selection::All);
    let extended = extend(&bytes, &old).unwrap();
    assert_eq!(extended.added, 10);
    let completed = Cairn::open(&old).unwrap();
    assert_eq!(export(&completed, Selection::All), bytes);
    assert_eq!(completed.verify(&Scope::All).unwrap().root, db.check().root);
    assert_eq!(extend(&bytes, &old).unwrap().added, 0, "doing it again changes nothing");

    // The other way round there is nothing to add.
    let before = export(&completed, Selection::All);
    completed.record(think("later")).unwrap();
    assert!(refusal(extend(&before, &old)).contains("more than the bundle"));
}

#[test]
fn a_log_that_has_grown_apart_is_refused() {
    let db = filled();
    let old = db.folder().join("old.db");
    db.backup(&old, &mut |_| {}).unwrap();
    let size = db.status().unwrap().entries;
    let think = |text: &str| NewThought::new(ThoughtType::Plan, text).session("new").agent("ada");
    for n in 0..3 {
        db.record(think(&format!("here {n}"))).unwrap();
    }
    Cairn::open(&old).unwrap().record(think("there")).unwrap();
    let bytes = export(&db, Selection::All);
    let message = refusal(extend(&bytes, &old));
    assert!(message.contains(&format!("log entry {size} of the database")), "{message}");
    assert_eq!(Cairn::open(&old).unwrap().status().unwrap().entries, size + 1);
    let another = TestCairn::new();
    assert!(refusal(extend(&bytes, &another.path())).contains("the bundle the log"));
    assert!(matches!(extend(&bytes, &db.folder().join("none.db")), Err(ImportError::Open(_))));
}
