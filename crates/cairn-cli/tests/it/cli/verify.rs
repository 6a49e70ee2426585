//! `cairn verify`, `backup` and `doctor`.

use super::harness::{Place, id};
use crate::it::database::{on_postgres, sqlites_own, tamper};

/// Changes one byte sequence of a database file for another of the same length; on a server, the text of a thought.
fn forge(place: &Place, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let path = place.path("cairn.db");
    if on_postgres() {
        let change = format!(
            "UPDATE thought SET content = replace(content, '{from}', '{to}') WHERE content LIKE '%{from}%'"
        );
        assert_eq!(tamper(&path, &change), 1);
        return;
    }
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn what_nobody_changed_verifies() {
    let place = Place::with_story();
    let text = place.on_story(&["verify"]).fine();
    assert!(text.starts_with("4 thoughts recomputed, nothing was changed\n\nnot verified:\n  - "), "{text}");
    let text = place.on_story(&["verify", "--session", "storage"]).fine();
    assert!(text.starts_with("3 thoughts recomputed, nothing was changed\n"), "{text}");
    let data = place.on_story(&["--json", "verify"]).json();
    assert_eq!((&data["valid"], &data["records"], &data["log_size"]), (&true.into(), &4.into(), &5.into()));
}

#[test]
fn a_changed_text_is_named_by_record_field_expected_and_found() {
    let place = Place::with_story();
    forge(&place, "PostgreSQL needs", "PostgreSQL lacks");
    let run = place.on_story(&["verify"]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let block = format!(
        "1. content_hash_mismatch\n   table    thought\n   record   {} (step 1, log entry 2)\n   field    content_hash\n   expected ",
        id(1)
    );
    assert!(run.out.contains(&block), "{}", run.out);
    let data = place.on_story(&["--json", "verify"]);
    assert_eq!(data.code, 1);
    assert_eq!(data.json()["broken_at"], id(1));
    assert_eq!(data.json()["reason"], "content_hash_mismatch");
}

#[test]
fn against_a_backup_each_field_is_named_with_both_values() {
    sqlites_own!("`cairn backup` copies a file");
    let place = Place::with_story();
    let backup = place.path("copy.db");
    let backup = backup.to_str().unwrap();
    place.on_story(&["backup", backup]).fine();
    let text = place.on_story(&["verify", "--against", backup]).fine();
    assert!(text.ends_with("against the copy: 5 entries compared, no field differs\n"), "{text}");
    forge(&place, "PostgreSQL needs", "PostgreSQL lacks");
    let run = place.on_story(&["verify", "--against", backup]);
    assert_eq!(run.code, 1);
    let differs = run.out.split("against the copy: ").nth(1).unwrap();
    assert!(differs.starts_with("5 entries compared, 1 field differs\n"), "{differs}");
    let lines = ["field    content", "here     PostgreSQL lacks", "there    PostgreSQL needs"];
    assert!(lines.iter().all(|line| differs.contains(line)), "{differs}");
    let run = place.on_story(&["verify", "--against", "Cargo.toml"]);
    assert!(run.code != 0 && run.err.contains("Cargo.toml"), "{}", run.err);
}

#[test]
fn a_misspelt_session_does_not_pass_for_verified() {
    let place = Place::with_story();
    let run = place.on_story(&["verify", "--session", "storge"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.starts_with("error: no session `storge`\n"), "{}", run.err);
    assert_eq!(place.on_story(&["verify", "--session", "a", "--task", "b"]).code, 2);
}

#[test]
fn a_backup_is_a_database_of_its_own() {
    sqlites_own!("`cairn backup` copies a file");
    let place = Place::with_story();
    let text = place.on_story(&["backup", "copy.db"]).fine();
    assert!(text.starts_with("Wrote copy.db: 4 thoughts, log size 5, "), "{text}");
    let list = |db| place.run(&["--db", db, "--json", "list"]).json();
    assert_eq!(list("copy.db"), list("cairn.db"));
    let data = place.on_story(&["--json", "backup", "again.db"]).json();
    assert_eq!((&data["thoughts"], &data["log_size"]), (&4.into(), &5.into()));
}

#[test]
fn a_backup_replaces_nothing_and_makes_no_folder() {
    sqlites_own!("`cairn backup` copies a file");
    let place = Place::with_story();
    place.write("taken", "mine");
    let run = place.on_story(&["backup", "taken"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: `taken` exists already"), "{}", run.err);
    assert_eq!(place.read("taken"), "mine");
    let run = place.on_story(&["backup", "no/copy.db"]);
    assert_eq!(run.err, "error: the folder `no` does not exist\n\nhint: make it with `mkdir -p 'no'`\n");
}

#[test]
fn a_healthy_database_is_ok_in_every_line() {
    let place = Place::with_story();
    let text = place.on_story(&["doctor"]).fine();
    // A long name takes a second line.
    assert!(text.lines().all(|line| line.starts_with("ok ") || line.starts_with("     ")), "{text}");
    assert!(text.contains("4 thoughts in 2 sessions and 2 tasks"), "{text}");
    let data = place.on_story(&["--json", "doctor"]).json();
    assert_eq!((&data["healthy"], &data["status"]["thoughts"]), (&true.into(), &4.into()));
    let text = place.on_story(&["doctor", "--rebuild"]).fine();
    assert!(text.contains("ok       rebuild    "), "{text}");
    assert_eq!(place.on_story(&["verify"]).code, 0);
}

#[test]
fn doctor_explains_a_database_that_cannot_be_opened() {
    sqlites_own!("about files that are missing or none of ours");
    let place = Place::new();
    place.write("text.db", &"not a database at all, but long enough to be looked at\n".repeat(20));
    for (db, message, advice) in [
        ("missing.db", "there is no database at `missing.db`", "run `cairn init`"),
        ("no/where.db", "the folder `no` does not exist", "make it with `mkdir -p 'no'`"),
        ("text.db", "`text.db` is not a Cairn database", "name another file with `--db`"),
    ] {
        let run = place.run(&["--db", db, "doctor"]);
        assert_eq!((run.code, run.err.as_str()), (1, ""));
        assert!(run.out.contains(&format!("problem  database   {message}")), "{}", run.out);
        assert!(run.out.contains(advice), "{}", run.out);
    }
    assert!(!place.path("missing.db").exists());
}
