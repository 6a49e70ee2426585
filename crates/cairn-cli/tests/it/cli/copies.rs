//! Copies, clones and forks of a database: `verify`, `doctor`, `record` and the viewer say the same about each of them.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::harness::{Place, Run};
use super::served::Served;
use crate::it::database::sqlites_own;
use crate::it::http::wire::get;

/// The verdict of every part of the program on one database.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    /// Whether `verify` exits with 0, `doctor` finds no problem, and the viewer's badge is green.
    sound: bool,
    /// The notes about copies, which are the same everywhere.
    notes: Vec<String>,
    /// Whether a server could record.
    writable: bool,
}

const SOUND: Verdict = Verdict { sound: true, notes: Vec::new(), writable: true };

fn on(place: &Place, db: &str, args: &[&str]) -> Run {
    place.run(&[&["--db", db], args].concat())
}

#[track_caller]
fn fine(run: Run) -> String {
    assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
    run.out
}

#[track_caller]
fn record(place: &Place, db: &str, text: &str) {
    fine(on(place, db, &["record", "decision", text, "-s", "s"]));
}

/// The refusal of a recorder.
#[track_caller]
fn refusal(place: &Place, db: &str) -> String {
    let run = on(place, db, &["record", "decision", "x", "-s", "s"]);
    assert_eq!(run.code, 1, "{}", run.out);
    run.err
}

fn copy(place: &Place, from: &str, to: &str) {
    for end in ["", "-wal", "-shm"] {
        let name = |db: &str| place.path(&format!("{db}{end}"));
        let _ = std::fs::remove_file(name(to));
        if name(from).exists() {
            std::fs::copy(name(from), name(to)).unwrap();
        }
    }
}

fn delete(place: &Place, db: &str) {
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!("{db}{end}")));
    }
}

fn serve(place: &Place, db: &str) -> Served {
    Served::start(place.command(&["--db", db]))
}

impl Served {
    /// The first verification that comes to an end.
    fn integrity(&self) -> Value {
        let began = Instant::now();
        loop {
            let data = get(self.addr, "/integrity.json").json();
            if !data["verified"].is_null() {
                return data;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{data}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn is_writable(&self) -> bool {
        get(self.addr, "/healthz").json()["writable"] == true
    }
}

/// Asks everyone, and expects the same answer of all.
#[track_caller]
fn verdict(place: &Place, db: &str) -> Verdict {
    let verify = on(place, db, &["verify", "--json"]);
    let told = verify.json();
    let doctor = on(place, db, &["doctor", "--json"]);
    let checks = doctor.json()["checks"].clone();
    let served = serve(place, db);
    let page = served.integrity();
    let report = &page["verified"]["report"];
    assert_eq!(told["coverage"]["copies"], report["coverage"]["copies"]);
    let sound = verify.code == 0;
    assert_eq!(told["valid"], sound);
    assert_eq!(doctor.code == 0, sound, "{checks}");
    assert_eq!(page["badge"]["state"] == "verified", sound, "{page}");
    let notes: Vec<String> = checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["name"] == "copies")
        .map(|check| check["message"].as_str().unwrap().to_string())
        .collect();
    let person = fine_or_found(on(place, db, &["verify"])).replace('\n', " ");
    for note in &notes {
        assert!(page["badge"]["explained"].as_str().unwrap().contains(note), "{page}");
        let words: Vec<&str> = note.split_whitespace().collect();
        let shown = person.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&words.join(" ")), "{note}\n{person}");
    }
    assert_eq!(told["coverage"]["copies"].as_array().map_or(0, Vec::len), notes.len(), "{told}");
    Verdict { sound, notes, writable: served.is_writable() }
}

fn fine_or_found(run: Run) -> String {
    assert!(run.code <= 1, "{}", run.err);
    run.out
}

fn texts(place: &Place, db: &str) -> Vec<String> {
    let listed = on(place, db, &["list", "--json"]).json();
    let text = |record: &Value| record["content"].as_str().unwrap().to_string();
    listed["records"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn a_clone_that_goes_on_leaves_the_original_as_sound_as_it_was() {
    sqlites_own!("files are copied");
    let place = Place::new();
    record(&place, "b.db", "one");
    copy(&place, "b.db", "c.db");
    assert_eq!(verdict(&place, "c.db"), SOUND);
    record(&place, "c.db", "two, in the clone");
    assert_eq!(verdict(&place, "c.db"), SOUND);
    // The original is an older copy of it now: a note, and it goes on.
    let original = verdict(&place, "b.db");
    assert!(original.sound && original.writable, "{original:?}");
    assert!(original.notes[0].starts_with("this is an older copy: `"), "{original:?}");
    assert!(original.notes[0].contains("c.db` had 4 entries"), "{original:?}");
    record(&place, "b.db", "two, in the original");
    // Now both have grown from one past, and everyone says so of both.
    for (db, other) in [("b.db", "c.db"), ("c.db", "b.db")] {
        let fork = verdict(&place, db);
        assert!(fork.sound && fork.writable, "{fork:?}");
        let note = &fork.notes[0];
        assert!(note.contains("the log has forked") && note.contains(&format!("{other}`")), "{note}");
        assert!(note.contains("both have the same first 3 entries, and differ after that"), "{note}");
        record(&place, db, "and on");
    }
}

#[test]
fn a_server_that_runs_on_the_original_goes_on_while_a_clone_is_written() {
    sqlites_own!("files are copied");
    let place = Place::new();
    record(&place, "b.db", "one");
    let served = serve(&place, "b.db");
    copy(&place, "b.db", "c.db");
    record(&place, "c.db", "two, in the clone");
    let mut agent = crate::it::http::agent::Agent::new(served.addr);
    for text in ["two", "three"] {
        agent.data("thought_plan", serde_json::json!({ "session_id": "s", "plan_description": text }));
        agent.data("log_checkpoint", serde_json::json!({}));
    }
    assert!(served.is_writable());
    drop(served);
    assert!(verdict(&place, "b.db").sound);
    record(&place, "b.db", "four");
}

#[test]
fn one_command_ends_a_fork_and_keeps_what_both_recorded() {
    sqlites_own!("files are copied");
    let place = Place::new();
    record(&place, "b.db", "one");
    copy(&place, "b.db", "c.db");
    record(&place, "b.db", "two, here");
    record(&place, "c.db", "two, there");
    let doctor = fine(on(&place, "b.db", &["doctor"]));
    let advice = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    for side in ["b.db", "c.db"] {
        let path = std::fs::canonicalize(place.path(side)).unwrap();
        let command = format!("`cairn log new --reason 'ends a fork' --db '{}'`", path.display());
        // On one line, however long it is.
        assert!(side == "b.db" || doctor.contains(&command), "{doctor}");
        assert!(advice.contains(if side == "b.db" { "--db 'b.db'`" } else { &command }), "{advice}");
    }
    let ended = on(&place, "c.db", &["log", "new", "--reason", "ends a fork", "--json"]).json();
    let old = Path::new(ended["old"].as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_string();
    assert_eq!(ended["size"], 4, "the new log names all of the old one");
    assert_eq!(texts(&place, "b.db"), ["one", "two, here"]);
    assert_eq!(texts(&place, &old), ["one", "two, there"]);
    assert_eq!(texts(&place, "c.db"), [""; 0]);
    assert_eq!(verdict(&place, "b.db"), SOUND);
    assert_eq!(verdict(&place, "c.db"), SOUND);
    assert_eq!(verdict(&place, &old), Verdict { writable: false, ..SOUND });
    assert!(refusal(&place, &old).contains("closed by `cairn log new`"));
    record(&place, "b.db", "three");
    record(&place, "c.db", "in the new log");
    // Also when the old one is moved to an archive.
    std::fs::create_dir(place.path("archive")).unwrap();
    std::fs::rename(place.path(&old), place.path("archive/old.db")).unwrap();
    assert_eq!(verdict(&place, "archive/old.db"), Verdict { writable: false, ..SOUND });
    assert_eq!(verdict(&place, "b.db"), SOUND);
}

#[test]
fn a_scratch_copy_can_be_forgotten() {
    sqlites_own!("files are copied");
    let place = Place::new();
    record(&place, "b.db", "one");
    copy(&place, "b.db", "scratch.db");
    record(&place, "scratch.db", "tried out");
    record(&place, "b.db", "two");
    delete(&place, "scratch.db");
    assert_eq!(verdict(&place, "b.db").notes.len(), 1);
    fine(on(&place, "scratch.db", &["doctor", "--forget"]));
    assert_eq!(verdict(&place, "b.db"), SOUND);
}

#[test]
fn backups_verified_here_and_elsewhere_never_make_the_original_suspect() {
    sqlites_own!("a backup is a file");
    let place = Place::new();
    record(&place, "b.db", "zero");
    let served = serve(&place, "b.db");
    let mut agent = crate::it::http::agent::Agent::new(served.addr);
    for round in 0..4 {
        // Entries that no checkpoint covers yet.
        agent.data("thought_plan", serde_json::json!({ "session_id": "s", "plan_description": "x" }));
        let name = format!("backup-{round}.db");
        fine(on(&place, "b.db", &["backup", &name]));
        fine(on(&place, &name, &["verify"]));
        let elsewhere = place.command(&["--db", &name, "verify"]).env("HOME", place.path("auditor")).output();
        assert!(elsewhere.unwrap().status.success());
        fine(on(&place, "b.db", &["verify"]));
        agent.data("log_checkpoint", serde_json::json!({}));
        // Older backups stay sound while the original goes on.
        for earlier in 0..=round {
            fine(on(&place, &format!("backup-{earlier}.db"), &["verify"]));
        }
    }
    assert!(served.is_writable());
    assert!(!place.path("auditor").exists(), "a verifier leaves nothing behind");
    drop(served);
    assert_eq!(verdict(&place, "b.db"), SOUND);
}

#[test]
fn a_backup_from_before_the_first_key_is_no_finding() {
    sqlites_own!("a backup is a file");
    let place = Place::new();
    let unsigned = |args: &[&str]| {
        let output = place.command(&[&["--db", "b.db"], args].concat()).env("CAIRN_SIGNER", "none").output();
        assert!(output.unwrap().status.success());
    };
    unsigned(&["record", "plan", "one", "-s", "s"]);
    copy(&place, "b.db", "early.db");
    record(&place, "b.db", "two");
    let early = verdict(&place, "early.db");
    assert!(early.sound, "{early:?}");
    assert_eq!(verdict(&place, "b.db"), SOUND);
}

#[test]
fn an_auditor_does_not_become_the_key_of_a_log() {
    let place = Place::new();
    let mut command = place.command(&["--db", "cairn.db", "record", "plan", "one", "-s", "s"]);
    assert!(command.env("CAIRN_SIGNER", "none").status().unwrap().success());
    let audit = |args: &[&str]| {
        let mut command = place.command(&[&["--db", "cairn.db"], args].concat());
        command.env("HOME", place.path("auditor")).output().unwrap()
    };
    for args in [&["verify"][..], &["search", "one"], &["list"], &["doctor"], &["export", "-o", "out.jsonl"]]
    {
        assert!(audit(args).status.success(), "{args:?}");
    }
    assert_eq!(on(&place, "cairn.db", &["log", "--json"]).json()["key_changes"], serde_json::json!([]));
    assert!(!place.path("auditor/.local").exists());
    // The owner's own key signs the first checkpoint.
    let stated = on(&place, "cairn.db", &["checkpoint", "--json"]).json();
    assert_eq!(stated["signed_by"].as_array().unwrap().len(), 1);
}

#[test]
fn a_moved_file_goes_on_in_its_new_place() {
    sqlites_own!("a file is moved");
    let place = Place::new();
    record(&place, "b.db", "one");
    std::fs::rename(place.path("b.db"), place.path("moved.db")).unwrap();
    assert_eq!(verdict(&place, "moved.db"), SOUND);
    record(&place, "moved.db", "two");
    assert_eq!(verdict(&place, "moved.db"), SOUND);
}

#[test]
fn an_older_state_put_back_is_a_finding_and_nothing_is_recorded() {
    sqlites_own!("a file is put back");
    let place = Place::new();
    record(&place, "b.db", "one");
    copy(&place, "b.db", "old.db");
    record(&place, "b.db", "two");
    copy(&place, "old.db", "b.db");
    assert_eq!(verdict(&place, "b.db"), Verdict { sound: false, notes: vec![], writable: false });
    assert!(
        refusal(&place, "b.db").contains("an older state of this database was put back: it had 4 entries")
    );
    assert!(verdict(&place, "old.db").sound, "the copy elsewhere is only older");
}

#[test]
fn a_rewritten_log_is_a_finding_and_nothing_is_recorded() {
    sqlites_own!("a file is replaced");
    let place = Place::new();
    record(&place, "b.db", "one");
    copy(&place, "b.db", "forged.db");
    record(&place, "b.db", "two");
    let mut forger = place.command(&["--db", "forged.db", "record", "decision", "another two", "-s", "s"]);
    let state = place.path("forger");
    std::fs::create_dir_all(state.join("keys")).unwrap();
    forger.env("CAIRN_STATE", &state).env("CAIRN_SIGNER", "none");
    assert!(forger.status().unwrap().success());
    copy(&place, "forged.db", "b.db");
    assert_eq!(verdict(&place, "b.db"), Verdict { sound: false, notes: vec![], writable: false });
    assert!(refusal(&place, "b.db").contains("this log was rewritten"));
}

/// The command that a refusal names, as the shell would take it.
fn named_command(err: &str) -> Vec<String> {
    let from = err.find("`cairn log new --lost").expect(err) + "`cairn ".len();
    let command = &err[from..from + err[from..].find('`').unwrap()];
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_string)),
            _ => words.push(part.to_string()),
        }
    }
    words
}

#[test]
fn a_deleted_database_is_created_again_by_the_command_that_the_refusal_names() {
    sqlites_own!("a file is deleted");
    let place = Place::new();
    std::fs::create_dir(place.path(".cairn")).unwrap();
    for db in [Some("b.db"), None] {
        let args = |more: &[&'static str]| -> Vec<&str> {
            db.map(|db| ["--db", db]).into_iter().flatten().chain(more.iter().copied()).collect()
        };
        let recorded = ["record", "decision", "one", "-s", "s"];
        fine(place.run(&args(&recorded)));
        let origin = place.run(&args(&["log", "--json"])).json()["origin"].as_str().unwrap().to_string();
        delete(&place, db.unwrap_or(".cairn/cairn.db"));
        let refused = place.run(&args(&recorded));
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("and is gone"), "{}", refused.err);
        let command = named_command(&refused.err);
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        assert_eq!(place.run(&[&words[..], &["--json"]].concat()).json()["continues"], origin.as_str());
        fine(place.run(&args(&recorded)));
        assert_eq!(verdict(&place, db.unwrap_or(".cairn/cairn.db")), SOUND);
    }
    // Where nothing is lost, the command says so.
    let run = on(&place, "b.db", &["log", "new", "--lost", "--reason", "x"]);
    assert!(run.code == 1 && run.err.contains("is not lost"), "{}", run.err);
    let run = on(&place, "never.db", &["log", "new", "--lost", "--reason", "x"]);
    assert!(run.code == 1 && run.err.contains("no log is remembered"), "{}", run.err);
    assert!(!place.path("never.db").exists());
}

#[test]
fn a_log_lost_with_its_write_ahead_log_before_the_first_checkpoint_is_noticed() {
    sqlites_own!("about the files of SQLite");
    let place = Place::new();
    // A recorder that is killed before it makes a checkpoint.
    let served = serve(&place, "b.db");
    let mut agent = crate::it::http::agent::Agent::new(served.addr);
    for _ in 0..20 {
        agent.data("thought_plan", serde_json::json!({ "session_id": "s", "plan_description": "x" }));
    }
    drop(served);
    assert!(place.path("b.db-wal").metadata().unwrap().len() > 0);
    std::fs::remove_file(place.path("b.db-wal")).unwrap();
    let _ = std::fs::remove_file(place.path("b.db-shm"));
    let err = refusal(&place, "b.db");
    assert!(err.contains("and is gone") && err.contains("cairn log new --lost"), "{err}");
    // The same if the file is empty.
    std::fs::write(place.path("b.db"), "").unwrap();
    assert!(refusal(&place, "b.db").contains("and is gone"));
    let command = named_command(&refusal(&place, "b.db"));
    fine(place.run(&command.iter().map(String::as_str).collect::<Vec<_>>()));
    record(&place, "b.db", "again");
    assert_eq!(texts(&place, "b.db"), ["again"]);
}

#[test]
fn a_witness_that_saw_both_sides_of_a_fork_accuses_neither() {
    sqlites_own!("files are copied");
    let place = Place::new();
    std::fs::create_dir(place.path("outside")).unwrap();
    std::fs::create_dir(place.path("data")).unwrap();
    record(&place, "data/b.db", "one");
    fine(on(&place, "data/b.db", &["witness", "add", "file", place.path("outside/heads").to_str().unwrap()]));
    fine(on(&place, "data/b.db", &["witness", "publish"]));
    copy(&place, "data/b.db", "data/c.db");
    for (db, text) in [("data/b.db", "two, here"), ("data/c.db", "two, there")] {
        record(&place, db, text);
        let _ = on(&place, db, &["witness", "publish"]);
    }
    for db in ["data/b.db", "data/c.db"] {
        let verified = on(&place, db, &["verify"]);
        assert_eq!(verified.code, 0, "{}", verified.out);
        assert!(verified.out.contains("the log has forked"), "{}", verified.out);
        let checked = on(&place, db, &["witness", "check", "--json"]);
        let said = checked.json()["witnesses"][0].clone();
        let doctor = on(&place, db, &["doctor", "--json"]);
        assert_eq!((checked.code, doctor.code), (0, 0), "{}", doctor.out);
        // In the words of the others, wherever the witness has seen the other side.
        if said["verdict"] != "agrees" {
            assert_eq!(said["verdict"], "copy", "{said}");
            let words = doctor.json()["checks"]
                .as_array()
                .unwrap()
                .iter()
                .any(|check| check["name"] == "copies" && check["message"] == said["message"]);
            assert!(words, "{said}\n{}", doctor.out);
        }
    }
    let other = on(&place, "data/c.db", &["witness", "check", "--json"]).json();
    assert_eq!(other["witnesses"][0]["verdict"], "copy", "{other}");
}

#[cfg(unix)]
#[test]
fn commands_in_advice_can_be_pasted_whatever_a_path_is_called() {
    sqlites_own!("files are copied");
    let place = Place::new();
    let (here, there) = ("100% it's \"here\".db", "there `%25` $HOME.db");
    record(&place, here, "one");
    copy(&place, here, there);
    record(&place, here, "two, here");
    record(&place, there, "two, there");
    let paste = |text: &str, which: &str| {
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(which)).collect();
        let [line] = lines[..] else { panic!("{which} stands on one line: {text}") };
        let command = line[line.find(which).unwrap()..].split('`').next().unwrap();
        let bin = Path::new(env!("CARGO_BIN_EXE_cairn")).parent().unwrap();
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", command]).current_dir(place.path("")).env("HOME", place.path("home"));
        let output = bash.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let doctor = fine(on(&place, here, &["doctor"]));
    // The other one is named by its remembered place.
    paste(&doctor.replacen("cairn log new", "", 1), "cairn log new --reason 'ends a fork'");
    assert_eq!(texts(&place, there), [""; 0]);
    assert_eq!(texts(&place, here), ["one", "two, here"]);
    delete(&place, here);
    paste(&refusal(&place, here), "cairn log new --lost");
    assert_eq!(texts(&place, here), [""; 0]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_once_and_lead_to_one_place() {
    use std::os::unix::fs::symlink;
    sqlites_own!("about links to files");
    let place = Place::new();
    record(&place, "b.db", "one");
    std::fs::create_dir(place.path("links")).unwrap();
    symlink("../b.db", place.path("links/first.db")).unwrap();
    symlink(place.path("links/first.db"), place.path("links/second.db")).unwrap();
    for name in ["links/first.db", "links/second.db", "./links/../b.db"] {
        record(&place, name, "through a link");
        assert_eq!(verdict(&place, name), SOUND, "{name}");
    }
    assert_eq!(texts(&place, "b.db").len(), 4);
    let names: Vec<_> =
        std::fs::read_dir(place.path("links")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is kept beside a link: {names:?}");
    symlink("nowhere.db", place.path("dangling.db")).unwrap();
    for args in [&["list"][..], &["record", "plan", "x", "-s", "s"]] {
        let run = on(&place, "dangling.db", args);
        assert!(run.code == 1 && run.err.contains("is a symbolic link that leads nowhere"), "{}", run.err);
    }
    assert!(!place.path("nowhere.db").exists());
}
