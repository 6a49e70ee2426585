use std::fs;
use std::path::Path;

use cairn::{Cairn, Durability, OpenError, Options};

use crate::harness::{Folder, Sql, TestCairn, on_postgres, plan, sqlites_own, tables};

fn refused(path: &Path) -> OpenError {
    Cairn::open(path).err().expect("must be refused")
}

#[test]
#[cfg(unix)]
fn a_new_database_is_for_its_owner_alone() {
    sqlites_own!("the rights of a file");
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cairn.db");
    let cairn = Cairn::open(&path).unwrap();
    cairn.record(cairn::NewThought::new(cairn::ThoughtType::Plan, "x").session("s").agent("a")).unwrap();
    for end in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(format!("{}{end}", path.display())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{end}");
    }
}

#[test]
fn a_missing_folder_is_named() {
    sqlites_own!("a folder");
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("nowhere");
    match refused(&missing.join("cairn.db")) {
        OpenError::NoFolder { folder } => assert_eq!(folder, missing),
        other => panic!("{other}"),
    }
}

#[test]
fn a_missing_file_is_made_only_when_asked_for() {
    let folder = Folder::new();
    let path = folder.database("cairn.db");
    let opened = Options::new().create(false).open(&path);
    assert!(matches!(opened.err(), Some(OpenError::Missing { .. })));
    assert!(!path.exists());
    Cairn::open(&path).unwrap();
    assert!(Options::new().create(false).open(&path).is_ok());
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    sqlites_own!("any file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let text = "these are my notes\n".repeat(100);
    fs::write(&path, &text).unwrap();
    let error = refused(&path);
    assert!(
        matches!(&error, OpenError::NotOurs { found, .. } if found == "it is not an SQLite file"),
        "{error}"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let folder = Folder::new();
    let path = folder.database("other.db");
    if on_postgres() {
        let schema = path.to_str().unwrap().split_once("?schema=").unwrap().1;
        Sql::open(&path)
            .execute_batch(&format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.customer (id INT)"))
            .unwrap();
        assert!(matches!(refused(&path), OpenError::NotOurs { .. }));
        assert_eq!(tables(&Sql::open(&path)), ["customer"]);
        return;
    }
    Sql::open(&path).execute_batch("CREATE TABLE customer (id)").unwrap();
    let before = fs::read(&path).unwrap();
    assert!(matches!(refused(&path), OpenError::NotOurs { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let db = TestCairn::new();
    let (newer, known) = match on_postgres() {
        false => ("PRAGMA user_version = 99", 11),
        true => ("UPDATE cairn_version SET version = 99", 11),
    };
    db.sql().execute_batch(newer).unwrap();
    match refused(&db.path()) {
        OpenError::Newer { found: 99, known: found, .. } => assert_eq!(found, known),
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_from_before_the_first_release_is_refused_and_left_alone() {
    let db = TestCairn::new();
    db.record(plan("t", "x")).unwrap();
    for version in [1, 5, 9] {
        let older = match on_postgres() {
            false => format!("PRAGMA user_version = {version}"),
            true => format!("UPDATE cairn_version SET version = {version}"),
        };
        db.sql().execute_batch(&older).unwrap();
        for _ in 0..2 {
            match refused(&db.path()) {
                OpenError::Older { found, known: 11, .. } => assert_eq!(found, version),
                other => panic!("{other}"),
            }
        }
    }
}

#[test]
fn our_files_can_be_told_by_their_application_id() {
    sqlites_own!("the header of a file");
    let db = TestCairn::new();
    let id: i64 = db.sql().query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    assert_eq!(id, 0x4341_524e);
    let mode: String = db.sql().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn ten_that_open_a_new_file_at_once_share_one_log() {
    let folder = Folder::new();
    let path = folder.database("cairn.db");
    let origins: Vec<String> = std::thread::scope(|scope| {
        let open = || {
            let cairn = Cairn::open(&path).unwrap();
            cairn.record(plan("t", "x")).unwrap();
            cairn.status().unwrap().origin
        };
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(origins.iter().all(|origin| *origin == origins[0]));
    let report = Cairn::open(&path).unwrap().verify(&cairn::Scope::All).unwrap();
    assert!(report.valid() && report.records == 10);
}

#[test]
fn normal_durability_records_and_verifies() {
    let db = TestCairn::with(Options::new().durability(Durability::Normal));
    db.record(plan("t", "x")).unwrap();
    db.check();
}

#[test]
#[cfg(unix)]
fn a_database_that_was_moved_while_open_is_neither_read_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, aside) = (folder.path().join("cairn.db"), folder.path().join("aside.db"));
    let with_end = |path: &Path, end: &str| format!("{}{end}", path.display());
    let swap = |from: &Path, to: &Path| {
        for end in ["", "-wal", "-shm"] {
            if Path::new(&with_end(from, end)).exists() {
                fs::rename(with_end(from, end), with_end(to, end)).unwrap();
            }
        }
    };
    let cairn = Cairn::open(&path).unwrap();
    let thought = cairn.record(plan("t", "kept")).unwrap();
    swap(&path, &aside);
    // Both while nothing is there and while another database is, which would verify.
    for other in [false, true] {
        if other {
            Cairn::open(&path).unwrap().record(plan("t", "of another log")).unwrap();
        }
        let told = [
            cairn.record(plan("t", "lost")).err(),
            cairn.get(thought.id.as_str()).err(),
            cairn.verify(&cairn::Scope::All).err(),
            cairn.ready_to_write().err(),
        ];
        for error in told {
            let error = error.expect("must be refused").to_string();
            assert!(error.starts_with("the database file was moved"), "{error}");
        }
    }
    let elsewhere = folder.path().join("other.db");
    swap(&path, &elsewhere);
    swap(&aside, &path);
    cairn.record(plan("t", "after it was put back")).unwrap();
    let report = cairn.verify(&cairn::Scope::All).unwrap();
    assert!(report.valid() && report.records == 2, "{}", report.message());
}

#[test]
fn a_file_that_was_copied_without_its_write_ahead_log_gets_no_new_log() {
    sqlites_own!("a write-ahead log");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cairn.db");
    let cairn = Cairn::open(&path).unwrap();
    cairn.record(plan("t", "recorded")).unwrap();
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let before = fs::read(&copy).unwrap();
    assert!(!before.is_empty());
    let to_read = Options::new().read_only(true).open(&copy);
    assert!(matches!(to_read.err(), Some(OpenError::Hollow { .. })));
    assert!(matches!(refused(&copy), OpenError::Hollow { .. }));
    assert!(matches!(Options::new().create(false).open(&copy).err(), Some(OpenError::Hollow { .. })));
    assert_eq!(fs::read(&copy).unwrap(), before);
    // With its write-ahead log it is the database.
    fs::copy(folder.path().join("cairn.db-wal"), folder.path().join("copy.db-wal")).unwrap();
    assert_eq!(Cairn::open(&copy).unwrap().status().unwrap().thoughts, 1);
}

#[test]
fn a_database_that_was_left_unfinished_is_finished() {
    sqlites_own!("how a file is made");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cairn.db");
    let other = folder.path().join("other.db");
    let cairn = Cairn::open(&other).unwrap();
    let mark = folder.path().join("cairn.db-new");
    // As a program leaves them that is killed before its first commit.
    fs::copy(&other, &path).unwrap();
    fs::write(&mark, "").unwrap();
    let to_read = Options::new().read_only(true).open(&path);
    assert!(matches!(to_read.err(), Some(OpenError::Missing { .. })));
    assert!(mark.exists());
    let finished = Cairn::open(&path).unwrap();
    finished.record(plan("t", "recorded")).unwrap();
    assert!(!mark.exists());
    assert_ne!(finished.status().unwrap().origin, cairn.status().unwrap().origin);
    // One that is killed before it removes the mark.
    drop(finished);
    fs::write(&mark, "").unwrap();
    assert_eq!(Cairn::open(&path).unwrap().status().unwrap().thoughts, 1);
    assert!(!mark.exists());
}

#[test]
fn the_last_writer_to_close_leaves_a_file_that_is_whole_alone() {
    sqlites_own!("a write-ahead log");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cairn.db");
    let (first, second) = (Cairn::open(&path).unwrap(), Cairn::open(&path).unwrap());
    first.record(plan("t", "recorded")).unwrap();
    first.close();
    // It has written nothing itself.
    second.close();
    let copy = folder.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(Cairn::open(&copy).unwrap().status().unwrap().thoughts, 1);
}
