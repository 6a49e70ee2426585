//! A copy of the log tells which field was changed, where a hash alone cannot.

use cairn::bundle::{ExportOptions, Selection};
use cairn::{CopyComparison, NewThought, Options, ThoughtType};

use crate::harness::TestCairn;

fn filled() -> TestCairn {
    let db = TestCairn::new();
    for text in ["one", "two", "three"] {
        db.record(NewThought::new(ThoughtType::Plan, text).session("s").task("t").agent("ada")).unwrap();
    }
    db
}

fn named(found: &CopyComparison) -> Vec<(u64, &str, &str, &str)> {
    let named = found.differences.iter();
    named.map(|one| (one.seq, &one.field[..], &one.here[..], &one.there[..])).collect()
}

#[test]
fn each_field_that_differs_from_a_backup_or_a_bundle_is_named_with_both_values() {
    let db = filled();
    let backup = Options::new().read_only(true).open(db.copy("backup.db")).unwrap();
    let mut bundle = Vec::new();
    let all = ExportOptions { selection: Selection::All, ..ExportOptions::default() };
    db.export(&all, &mut bundle, &mut |_| {}).unwrap();
    let same = db.compare_with(&backup, &|_| {}).unwrap();
    assert!(same.is_same() && same.compared == 4, "{same:?}");
    assert!(db.compare_with_bundle(&bundle[..]).unwrap().is_same());

    db.tamper("UPDATE thought SET agent_id = 'mallory', action_id = 'x' WHERE seq = 2; DELETE FROM thought WHERE seq = 3");
    let found = [db.compare_with(&backup, &|_| {}).unwrap(), db.compare_with_bundle(&bundle[..]).unwrap()];
    for found in found {
        let named = named(&found);
        assert!(named.contains(&(2, "agent_id", "mallory", "ada")), "{named:?}");
        assert!(named.contains(&(2, "action_id", "x", "nothing")), "{named:?}");
        assert!(named.contains(&(3, "entry", "missing", "nothing")), "{named:?}");
        assert!(named.iter().all(|(seq, ..)| *seq > 1), "{named:?}");
    }
}

#[test]
fn a_copy_that_is_behind_is_compared_as_far_as_it_reaches() {
    let db = filled();
    let backup = Options::new().read_only(true).open(db.copy("backup.db")).unwrap();
    db.record(NewThought::new(ThoughtType::Plan, "four").session("s").agent("ada")).unwrap();
    let found = db.compare_with(&backup, &|_| {}).unwrap();
    assert_eq!((found.compared, found.only_here, found.only_there), (4, 1, 0));
    assert!(found.is_same());
    let found = backup.compare_with(&db, &|_| {}).unwrap();
    assert_eq!((found.only_here, found.only_there), (0, 1));
}

#[test]
fn another_log_and_what_is_no_bundle_are_refused() {
    let (db, other) = (filled(), filled());
    assert!(db.compare_with(&other, &|_| {}).unwrap_err().to_string().contains("another log"));
    let error = db.compare_with_bundle(&b"{}\n"[..]).unwrap_err().to_string();
    assert!(error.contains("neither a database nor a bundle"), "{error}");
}
