//! Databases made of bundles, and completed from them.

use std::io::Cursor;
use std::path::Path;

use cairn::bundle::{ImportError, Imported, Selection};
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, NewThought, Options, Scope, SearchQuery, ThoughtType};
use serde_json::json;

use super::forge::{Bundle, export, filled, key_of, session};
use super::redacted::{redact_all, unredacted, with_keys};
use super::whole::{GOLDEN, GOLDEN_KEY};
use crate::harness::{Folder, Row, Sql, TestCairn, on_postgres};
use crate::redact::stands;

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
    let folder = Folder::new();
    let path = folder.database("copy.db");
    let keys = [key_of(&db.status().unwrap().origin).verifying_key().clone()];
    let imported = import(&bytes, &path, &keys).unwrap();
    assert_eq!((imported.added, imported.report.valid()), (db.status().unwrap().entries, true));
    let files = names(folder.path());
    assert!(
        files == ["copy.db"] || (on_postgres() && files.is_empty()),
        "nothing is left beside it: {files:?}"
    );
    let again = refusal(import(&bytes, &path, &keys));
    assert!(again.contains("already"), "{again}");
    let copy = Cairn::open(&path).unwrap();
    assert!(export(&copy, Selection::All) == bytes, "byte for byte");
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
    let folder = Folder::new();
    let path = folder.database("golden.db");
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
    let old = db.copy("old.db");
    let think = |text: &str| NewThought::new(ThoughtType::Plan, text).session("new").agent("ada");
    for n in 0..10 {
        db.record(think(&format!("after the backup {n}"))).unwrap();
    }
    let bytes = export(&db, Selection::All);
    let extended = extend(&bytes, &old).unwrap();
    assert_eq!(extended.added, 10);
    let completed = Cairn::open(&old).unwrap();
    assert!(export(&completed, Selection::All) == bytes);
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
    let old = db.copy("old.db");
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

#[test]
fn what_was_redacted_or_sealed_is_imported_as_it_is() {
    let db = TestCairn::new();
    let brief = unredacted(&db);
    redact_all(&db, &brief);
    let bytes = with_keys(&db, Selection::All);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    let imported = import(&bytes, &path, &[]).unwrap();
    assert_eq!((imported.report.redacted_total, imported.erased), (5, 0));
    let copy = Cairn::open(&path).unwrap();
    assert!(with_keys(&copy, Selection::All) == bytes, "byte for byte");
    assert!(export(&copy, Selection::All) == export(&db, Selection::All), "without the keys too");
    for id in ["r1", "r2", "r3", "r4", "r5", "r6"] {
        assert_eq!(copy.get(id).unwrap(), db.get(id).unwrap());
    }
    assert_eq!(copy.get("r6").unwrap().unwrap().content, "sealed and kept");
    let rows = "SELECT seq, content, metadata, hex(salt), (SELECT hex(key) FROM seal WHERE seal.seq = thought.seq), NULL
                FROM thought UNION ALL SELECT seq, data, NULL, NULL, NULL, id FROM brief ORDER BY seq";
    let rows = |path: &Path| -> Vec<[Option<String>; 6]> {
        let row = |row: &Row| {
            let seq: i64 = row.get(0)?;
            Ok([Some(seq.to_string()), row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?])
        };
        Sql::open(path).query(rows, [], row).unwrap()
    };
    assert_eq!(rows(&path), rows(&db.path()));
    let brief_again = cairn::Redact { target: brief, actor: "ann".into(), reason: "again".into() };
    assert!(copy.redact(&brief_again).unwrap_err().to_string().contains("was redacted already"));
}

/// A database from which a key is gone without a redaction does not verify, so none is made.
#[test]
fn sealed_contents_are_imported_with_their_keys_alone() {
    let db = TestCairn::new();
    unredacted(&db);
    let old = db.copy("old.db");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    let message = refusal(import(&export(&db, Selection::All), &path, &[]));
    assert!(message.contains("3 sealed contents without their keys"), "{message}");
    assert!(message.contains("`--with-keys`"), "{message}");
    assert_eq!(names(folder.path()), [""; 0]);
    // Those that the database has already are not missed.
    db.record(NewThought::new(ThoughtType::Plan, "later").session("s").agent("ada")).unwrap();
    let without = export(&db, Selection::All);
    assert_eq!(extend(&without, &old).unwrap().added, 1);
    assert!(with_keys(&Cairn::open(&old).unwrap(), Selection::All) == with_keys(&db, Selection::All));
    db.record(NewThought::new(ThoughtType::Plan, "and a secret").session("s").agent("ada").seal()).unwrap();
    let message = refusal(extend(&export(&db, Selection::All), &old));
    assert!(message.contains("1 sealed content without its key"), "{message}");
    assert_eq!(extend(&with_keys(&db, Selection::All), &old).unwrap().added, 1);
    // Redacted before anybody imports it, it needs no key.
    let other = TestCairn::new();
    other.record(NewThought::new(ThoughtType::Plan, "gone").session("s").agent("ada").seal()).unwrap();
    crate::redact::redact(&other, "r1").unwrap();
    import(&export(&other, Selection::All), &path, &[]).unwrap();
}

#[test]
fn what_was_redacted_since_a_backup_is_erased_when_it_is_completed() {
    let db = TestCairn::new();
    let brief = unredacted(&db);
    let found = |cairn: &Cairn, query: &str| {
        let query = SearchQuery { query: query.into(), ..SearchQuery::default() };
        cairn.search(&query).unwrap().results.len()
    };
    assert_eq!(found(&db, "telephone"), 1);
    let [old, again] = ["old.db", "again.db"].map(|name| db.copy(name));
    let key: String =
        db.sql().query_row("SELECT hex(key) FROM seal WHERE seq = 4", [], |row| row.get(0)).unwrap();
    let holds_key = |path: &Path| {
        let key: Vec<u8> =
            (0..32).map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap()).collect();
        match on_postgres() {
            false => memchr::memmem::find(&std::fs::read(path).unwrap(), &key).is_some(),
            true => {
                Sql::open(path)
                    .query_row("SELECT count(*) FROM seal WHERE key = ?1", [&key], |row| row.get::<i64>(0))
                    != Ok(0)
            }
        }
    };
    assert!(stands(&old, "Zoltan") && stands(&old, "telephone") && holds_key(&old));
    redact_all(&db, &brief);
    let bytes = with_keys(&db, Selection::All);
    let extended = extend(&bytes, &old).unwrap();
    assert_eq!((extended.added, extended.erased), (5, 5));
    // The metadata of the one that was kept sealed has the name as well.
    let elsewhere = |remnant: &String| match on_postgres() {
        false => remnant.contains("stand in other records as well"),
        true => remnant.starts_with("the server's own files were not looked through"),
    };
    assert!(extended.remnants.iter().all(elsewhere), "{:?}", extended.remnants);
    for gone in ["Ask Zoltan", "telephone", "Gummibaerchen"] {
        assert!(!stands(&old, gone), "{gone}");
    }
    assert!(!holds_key(&old));
    let completed = Cairn::open(&old).unwrap();
    assert!(with_keys(&completed, Selection::All) == bytes);
    assert_eq!((found(&completed, "telephone"), found(&completed, "kept")), (0, 1));
    assert!(completed.verify(&Scope::All).unwrap().valid());
    let done = extend(&bytes, &old).unwrap();
    assert_eq!((done.added, done.erased), (0, 0));

    // Stopped after what was redacted and before the redactions: the rest is added all the same.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    let without_redactions = with_keys(&Cairn::open(&again).unwrap(), Selection::All);
    import(&without_redactions, &path, &[]).unwrap();
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch(
        "DROP TRIGGER thought_no_update; DROP TRIGGER seal_no_delete;
         UPDATE thought SET content = NULL, metadata = NULL, salt = NULL WHERE seq IN (2, 3);
         UPDATE thought SET metadata = NULL, salt = NULL WHERE seq = 4; DELETE FROM seal WHERE seq IN (4, 5);",
    )
    .unwrap();
    drop(sql);
    let completed = extend(&bytes, &path);
    let Err(ImportError::Database(report)) = completed else { panic!("{completed:?}") };
    assert!(report.findings.iter().all(|finding| finding.table != "thought" && finding.table != "seal"));
    let entries = |bytes: &[u8]| -> Vec<serde_json::Value> {
        Bundle::of(bytes).lines.into_iter().filter(|line| line.get("leaf").is_some()).collect()
    };
    let completed = with_keys(&Cairn::open(&path).unwrap(), Selection::All);
    assert!(entries(&completed) == entries(&bytes));
}
