//! Databases that are not there, not ours, too new or not writable: one sentence, and what to do.

use std::fs::OpenOptions;

use super::harness::Place;
use crate::it::database::sqlites_own;

const READING: [&[&str]; 7] = [
    &["list"],
    &["show", "x"],
    &["tree", "x"],
    &["trail", "x"],
    &["search", "x"],
    &["verify"],
    &["backup", "copy.db"],
];

fn refusal(place: &Place, args: &[&str]) -> String {
    let run = place.run(args);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{args:?}: {}", run.err);
    run.err
}

#[test]
fn reading_never_makes_a_database() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::new();
    for args in READING {
        let err = refusal(&place, &[&["--db", "a.db"], args].concat());
        assert!(err.starts_with("error: there is no database at `a.db`\n\nhint: run `cairn init`"), "{err}");
        let err = refusal(&place, &[&["--db", "no/a.db"], args].concat());
        assert!(err.starts_with("error: there is no database at `no/a.db`\n"), "{err}");
        let err = refusal(&place, args);
        assert!(err.contains("home/.local/share/cairn/cairn.db`"), "{err}");
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0);
}

#[test]
fn a_named_folder_that_is_missing_is_not_made() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::new();
    let err = refusal(&place, &["--db", "no/a.db", "record", "plan", "x", "-t", "t"]);
    assert_eq!(err, "error: the folder `no` does not exist\n\nhint: make it with `mkdir -p 'no'`\n");
    let run = place.run(&["--db", "no/a.db", "--json", "record", "plan", "x", "-t", "t"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (1, &"NOT_FOUND".into()));
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::new();
    let text = "Dear diary, this is not a database but it has more than a hundred bytes.\n".repeat(20);
    place.write("a.db", &text);
    for args in READING.into_iter().chain([&["record", "plan", "x", "-t", "t"][..]]) {
        let err = refusal(&place, &[&["--db", "a.db"], args].concat());
        assert!(err.starts_with("error: `a.db` is not a Cairn database: "), "{err}");
    }
    assert_eq!(place.read("a.db"), text);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::new();
    let other = rusqlite::Connection::open(place.path("a.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    drop(other);
    let before = std::fs::read(place.path("a.db")).unwrap();
    let err = refusal(&place, &["--db", "a.db", "record", "plan", "x", "-t", "t"]);
    assert!(err.starts_with("error: `a.db` is not a Cairn database: "), "{err}");
    assert!(std::fs::read(place.path("a.db")).unwrap() == before);
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::with_story();
    let connection = rusqlite::Connection::open(place.path("cairn.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    for args in READING.into_iter().chain([&["record", "plan", "x", "-t", "t"][..]]) {
        let err = refusal(&place, &[&["--db", "cairn.db"], args].concat());
        assert!(
            err.contains("was written by a newer Cairn: it has schema 99, this program knows up to "),
            "{err}"
        );
        assert!(err.contains("\n\nhint: this is Cairn "), "{err}");
    }
    let run = place.on_story(&["doctor"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("schema 99"), "{}", run.out);
}

#[test]
fn a_read_only_file_can_be_read_and_not_written() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::with_story();
    let path = place.path("cairn.db");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    if OpenOptions::new().write(true).open(&path).is_ok() {
        return; // The superuser writes where he likes.
    }
    assert_eq!(place.on_story(&["list"]).code, 0);
    assert_eq!(place.on_story(&["verify"]).code, 0);
    let err = refusal(&place, &["--db", "cairn.db", "record", "plan", "x", "-t", "t"]);
    assert!(err.contains("read-only") && err.contains("\n\nhint: "), "{err}");
}

#[test]
fn a_folder_and_a_server_are_no_files() {
    let place = Place::new();
    std::fs::create_dir(place.path("dir")).unwrap();
    let run = place.run(&["--db", "dir", "list"]);
    assert_eq!(
        run.err,
        "error: `dir` is a folder, not a database\n\nhint: name a file in it: `--db 'dir/cairn.db'`\n"
    );
    // Nobody listens there. The password is for the server alone.
    let run = place.run(&["--db", "postgres://ann:secret@127.0.0.1:1/cairn", "list"]);
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("error: cannot open `postgres://127.0.0.1:1/cairn?schema=cairn`"),
        "{}",
        run.err
    );
    assert!(run.err.contains("the server does not answer") && !run.err.contains("secret"), "{}", run.err);
    let run = place.run(&["--db", "postgres://ann:secret@[/cairn?schema=No", "list"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("error: the address of the database cannot be used: "), "{}", run.err);
    assert!(!run.err.contains("secret"), "{}", run.err);
    for (address, why) in [
        ("postgres://ann:secret@h/cairn?shema=x", "`shema` is no parameter that is understood here"),
        ("postgres://ann:secret@/cairn", "it names no host"),
        (
            "postgres://ann:secret@h/cairn?sslmode=some",
            "sslmode: must be disable, prefer, require or verify-full",
        ),
        ("mysql://ann:secret@h/cairn", "no database is named by `mysql://`"),
    ] {
        let run = place.run(&["--db", address, "list"]);
        assert!(run.code != 0 && run.err.contains(why) && !run.err.contains("secret"), "{}", run.err);
    }
}

/// A file of that name would show the password to everyone who lists the folder.
#[test]
fn an_address_that_is_written_wrongly_is_no_file_and_is_not_repeated() {
    sqlites_own!("on a server the tests name files by schemas of it");
    let place = Place::new();
    for name in [
        "host=x user=postgres password=s3cr3tPW",
        "postgres:u:s3cr3tPW@h",
        "postgres:/u:s3cr3tPW@h/db",
        "postgresql//u:s3cr3tPW@h/db",
        "u:s3cr3tPW@h",
        "jdbc:postgresql://h/db?password=s3cr3tPW",
    ] {
        let record = ["--db", name, "record", "plan", "x", "-t", "t"];
        let copy = ["--db", "a.db", "copy", "--to", name];
        for run in [place.run(&record), place.run(&copy)] {
            assert_eq!(run.code, 2, "{name}: {}", run.err);
            assert!(run.err.contains("postgres://USER@HOST/DATABASE"), "{name}: {}", run.err);
            assert!(!run.err.contains("s3cr3t"), "{name}: {}", run.err);
        }
    }
    for address in [
        "postgres://u:hun@s3cr3tPW@127.0.0.1:1/db",
        "postgres://u:hun?s3cr3tPW@h/db",
        "postgres://u:hun/s3cr3tPW@h/db",
        "POSTGRES://u:hun#s3cr3tPW@127.0.0.1:1/db",
    ] {
        let run = place.run(&["--db", address, "record", "plan", "x", "-t", "t"]);
        assert_eq!(run.code, 1, "{address}: {}", run.err);
        assert!(!run.err.contains("s3cr3t") && !run.err.contains("hun"), "{address}: {}", run.err);
    }
    let left = std::fs::read_dir(place.path("")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("s3cr3t")), "{left:?}");
}

#[test]
fn a_password_on_the_command_line_is_told_of_and_one_elsewhere_is_not() {
    let place = Place::new();
    let address = "postgres://ann:s3cr3tPW@127.0.0.1:1/x";
    let told = "note: everyone on this machine can read the password behind ";
    for (args, flags, variables) in [
        (&["--db", address, "list"][..], "--db", "CAIRN_DB"),
        (&["list", "--db", address], "--db", "CAIRN_DB"),
        (&["mcp", "--read-db", address], "--read-db", "CAIRN_READ_DB"),
        (&["copy", "--from", address, "--to", address], "--from and --to", "CAIRN_COPY_FROM, CAIRN_COPY_TO"),
    ] {
        let run = place.run(args);
        let line = format!(
            "{told}{flags} while this runs; {variables}, PGPASSWORD or ~/.pgpass are the places for it\n"
        );
        assert!(run.err.starts_with(&line) && !run.err.contains("s3cr3t"), "{args:?}: {}", run.err);
    }
    let bare = place.run(&["--db", "postgres://ann@127.0.0.1:1/x", "list"]);
    assert!(!bare.err.contains("note:"), "{}", bare.err);
    let output = place.command(&["list"]).env("CAIRN_DB", address).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(!err.contains("note:") && err.contains("does not answer"), "{err}");
}

#[test]
fn a_copy_without_its_write_ahead_log_is_told_from_no_database() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::new();
    let path = place.path("copy.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(sql);
    let before = std::fs::read(&path).unwrap();
    let record: &[&str] = &["record", "plan", "x", "-t", "t"];
    for args in [record, &["verify"], &["list"], &["checkpoint"]] {
        let err = refusal(&place, &[&["--db", "copy.db"], args].concat());
        let first = "error: `copy.db` is a database file without content: there is no log in it\n";
        assert!(err.starts_with(first), "{args:?}: {err}");
        assert!(err.contains("'copy.db-wal'") && err.contains("`cairn backup FILE`"), "{args:?}: {err}");
    }
    let doctor = place.run(&["--db", "copy.db", "doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("without content"), "{}", doctor.out);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_too_damaged_to_open_is_not_to_be_verified_again() {
    sqlites_own!("about a file that is not as it should be");
    let place = Place::with_story();
    let path = place.path("cairn.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100..400].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    for args in [&["verify"][..], &["list"]] {
        let err = refusal(&place, &[&["--db", "cairn.db"], args].concat());
        assert!(err.contains("the database is damaged") && err.contains("backup"), "{err}");
        assert!(!err.contains("cairn verify"), "{err}");
    }
}
