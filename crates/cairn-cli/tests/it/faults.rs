//! A failure in every call that changes a file: afterwards the database opens, what was acknowledged is there, and
//! nobody cries wolf.

mod disk;
mod ground;

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use disk::{Disk, Step};
use ground::{Fault, Ground, Run};
use serde_json::{Value, json};

/// The ways in which a call goes wrong; `tests/faults/faults.c` says what they mean.
const WAYS: [&str; 5] = ["undone", "done", "full", "short", "off"];

/// Something that the program is asked to do.
struct Operation {
    /// What is done before, and goes well.
    before: &'static [&'static [&'static str]],
    /// The arguments; `ID` stands for the id of the first thought.
    args: &'static [&'static str],
    input: fn() -> String,
    /// The ids of thoughts that it acknowledged.
    acknowledged: fn(&Run) -> Vec<String>,
    /// What must hold besides, before anything else is run.
    afterwards: fn(&Ground, &Run, &str),
}

const SIMPLE: Operation = Operation {
    before: &[FIRST, SECOND],
    args: &[],
    input: String::new,
    acknowledged: |_| Vec::new(),
    afterwards: |_, _, _| {},
};
const FIRST: &[&str] = &["record", "plan", "the first", "-t", "before"];
const SECOND: &[&str] = &["record", "decision", "the second", "-t", "before"];

#[test]
fn the_first_record_of_a_new_database() {
    let args = &["record", "plan", "hello", "-t", "during"];
    survives(&Operation { before: &[], args, acknowledged: printed_id, ..SIMPLE });
}

#[test]
fn one_more_record() {
    survives(&Operation {
        args: &["record", "plan", "hello", "-t", "during"],
        acknowledged: printed_id,
        ..SIMPLE
    });
}

#[test]
fn a_checkpoint() {
    // Nothing is signed on the way there, so that the key is made by the checkpoint.
    survives(&Operation { before: &[UNSIGNED], args: &["checkpoint"], ..SIMPLE });
}

#[test]
fn a_key_is_replaced() {
    survives(&Operation { args: &["key", "rotate"], afterwards: rotation_can_be_finished, ..SIMPLE });
}

#[test]
fn a_backup() {
    survives(&Operation { args: &["backup", "copy.db"], afterwards: backup_is_whole_or_absent, ..SIMPLE });
}

#[test]
fn a_copy() {
    let args = &["copy", "--to", "copy.db"];
    survives(&Operation { args, afterwards: copy_can_be_finished, ..SIMPLE });
}

#[test]
fn a_redaction() {
    let args = &["redact", "ID", "--reason", "a name", "--yes"];
    survives(&Operation { args, ..SIMPLE });
}

#[test]
fn a_token_is_made() {
    survives(&Operation {
        args: &["token", "add", "ci"],
        afterwards: token_is_kept_if_it_was_shown,
        ..SIMPLE
    });
}

#[test]
fn a_new_log_in_the_place_of_another() {
    let operation = Operation { args: &["log", "new", "--reason", "a new beginning"], ..SIMPLE };
    let (ground, before, args) = begin(&operation);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let run = ground.run_traced(&args, "");
    assert!(run.ok(), "{run:?}");
    let (mut old, mut new) = (0, 0);
    for fault in faults(&disk::steps(&ground.trace())) {
        ground.reset();
        let run = ground.run_with(fault, &args, "");
        let what = format!("{args:?} with {fault:?} gave {run:?}");
        let beside: Vec<Vec<String>> = ground
            .files()
            .iter()
            .filter(|file| file.starts_with("data/cairn-") && file.ends_with(".db"))
            .map(|file| ground.ids_in(file))
            .collect();
        if fault.how == "off" {
            // Nothing could be taken back. Whichever name it has, the old database is there.
            assert!(ground.ids_in("data/cairn.db") == before || beside.contains(&before), "{what}");
        } else if run.ok() || !beside.is_empty() {
            assert_eq!(beside, std::slice::from_ref(&before), "{what}");
            assert_eq!(ground.ids_in("data/cairn.db"), [""; 0], "{what}");
            assert_eq!(ground.run(&["--json", "log"]).json()["continues"]["size"], 4, "{what}");
            new += 1;
            check(&ground, &[], fault.at % 2 == 0, &what);
        } else {
            old += 1;
            check(&ground, &before, fault.at % 2 == 0, &what);
            ground.fine(&args);
        }
    }
    assert!(old > 20 && new > 20, "{old} failures left the old log, {new} came after the new one");
}

#[test]
fn a_server_that_records() {
    survives(&Operation { args: &["mcp"], input: twenty_thoughts, acknowledged: answered_ids, ..SIMPLE });
}

#[test]
fn the_power_fails_while_a_text_is_redacted() {
    let args = &["redact", "ID", "--reason", "a name", "--yes"];
    survives_power_cuts(&Operation { args, ..SIMPLE });
}

#[test]
fn the_power_fails_while_a_database_is_made() {
    let args = &["record", "plan", "hello", "-t", "during"];
    survives_power_cuts(&Operation { before: &[], args, acknowledged: printed_id, ..SIMPLE });
}

#[test]
fn the_power_fails_while_a_server_records() {
    survives_power_cuts(&Operation {
        args: &["mcp"],
        input: twenty_thoughts,
        acknowledged: answered_ids,
        ..SIMPLE
    });
}

#[test]
fn the_power_fails_while_less_durable_thoughts_are_recorded() {
    // They may be lost, yet what is remembered outside must never be ahead of them.
    let args = &["--durability", "normal", "mcp"];
    survives_power_cuts(&Operation { before: &[], args, input: twenty_thoughts, ..SIMPLE });
}

#[test]
fn the_power_fails_while_a_key_is_replaced() {
    survives_power_cuts(&Operation {
        args: &["key", "rotate"],
        afterwards: rotation_can_be_finished,
        ..SIMPLE
    });
}

/// Sets the scene; returns the ids of the thoughts in it and the arguments.
fn begin(operation: &Operation) -> (Ground, Vec<String>, Vec<String>) {
    let ground = Ground::new();
    operation.before.iter().for_each(|args| prepare(&ground, args));
    let ids = ground.ids();
    let args = operation.args.iter().map(|arg| if *arg == "ID" { ids[0].clone() } else { arg.to_string() });
    let args = args.collect();
    ground.keep();
    (ground, ids, args)
}

fn survives(operation: &Operation) {
    let (ground, before, args) = begin(operation);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let input = (operation.input)();
    let run = ground.run_traced(&args, &input);
    assert!(run.ok(), "{run:?}");
    let all = before.len() + (operation.acknowledged)(&run).len();
    let mut met = 0;
    for fault in faults(&disk::steps(&ground.trace())) {
        ground.reset();
        let run = ground.run_with(fault, &args, &input);
        let what = format!("{args:?} with {fault:?} gave {run:?}");
        let acknowledged = [before.clone(), (operation.acknowledged)(&run)].concat();
        met += u64::from(!run.ok() || acknowledged.len() < all);
        (operation.afterwards)(&ground, &run, &what);
        check(&ground, &acknowledged, fault.at % 2 == 0, &what);
    }
    assert!(met > 0, "no failure was ever met");
}

/// What is to go wrong in something that took these steps: each of them in each way. Of pages that are written one
/// after the other, only some.
fn faults(steps: &[Step]) -> Vec<Fault> {
    let calls: Vec<&Step> = steps.iter().filter(|step| step.name != "answer").collect();
    let is_page = |at: usize| calls.get(at).is_some_and(|step| step.name == "write" && step.is_of_database());
    let mut faults = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        let among_pages = at > 0 && is_page(at - 1) && is_page(at) && is_page(at + 1);
        for (number, how) in WAYS.into_iter().enumerate() {
            // A full disk and a short write are told by writes alone.
            let applies = match how {
                "short" => call.name == "write",
                "full" => !["sync", "unlink", "rename"].contains(&call.name.as_str()),
                _ => true,
            };
            if applies && (!among_pages || at % 20 == number * 4) {
                faults.push(Fault { at: at + 1, how });
            }
        }
    }
    faults
}

/// The power fails after each step: of what was not synced nothing is left, or all of it on one of two disks.
fn survives_power_cuts(operation: &Operation) {
    let (ground, before, args) = begin(operation);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut disk = Disk::of(&ground.now());
    let run = ground.run_traced(&args, &(operation.input)());
    assert!(run.ok(), "{run:?}");
    let steps = disk::steps(&ground.trace());
    let cautious: [&[PathBuf]; 3] = [&[ground.now()], &[ground.data()], &[ground.state()]];
    let mut out = String::new();
    let mut seen = HashSet::new();
    for (number, step) in steps.iter().enumerate() {
        disk.follow(step);
        if step.name == "answer" {
            out.push_str(std::str::from_utf8(&step.bytes).unwrap());
        }
        // What it had said until then was said.
        let code = (number + 1 == steps.len()).then_some(0);
        let run = Run { code, out: out.clone(), err: String::new() };
        let acknowledged = [before.clone(), (operation.acknowledged)(&run)].concat();
        for cautious in cautious {
            let remains = disk.after_cut(cautious);
            // Most steps change nothing that lasts.
            let mut digest = DefaultHasher::new();
            (&remains, &acknowledged).hash(&mut digest);
            if !seen.insert(digest.finish()) {
                continue;
            }
            disk::write(&remains, &ground.now());
            let (name, path) = (&step.name, step.path.display());
            let what = format!("{args:?} cut off after step {number}, {name} {path}, cautious: {cautious:?}");
            (operation.afterwards)(&ground, &run, &what);
            check(&ground, &acknowledged, seen.len() % 2 == 0, &what);
        }
    }
    assert!(seen.len() > 10, "hardly anything happened");
}

/// Checks, without faults, that nothing was lost and that everything works.
fn check(ground: &Ground, acknowledged: &[String], verify_first: bool, what: &str) {
    if verify_first {
        let run = ground.run(&["--json", "verify"]);
        let never_made = acknowledged.is_empty() && run.json()["error"]["code"] == "NOT_FOUND";
        assert!(run.ok() || never_made, "{what}\nverify: {run:?}");
    }
    let run = ground.run(&["--json", "record", "plan", "goes on", "-t", "after"]);
    assert!(run.ok(), "{what}\nrecord: {run:?}");
    let run = ground.run(&["--json", "verify"]);
    assert!(run.ok(), "{what}\nverify after record: {run:?}");
    let report = run.json();
    let (size, coverage) = (&report["log_size"], &report["coverage"]);
    assert_eq!((&coverage["signed"], &coverage["outside"]["size"]), (size, size), "{what}\n{report}");
    let stored: HashSet<String> = ground.ids().into_iter().collect();
    for id in acknowledged {
        assert!(stored.contains(id), "{what}\n{id} was acknowledged, and is gone");
    }
    check_files(ground, what);
}

/// Keys and heads are whole and private, and nothing is left lying about.
fn check_files(ground: &Ground, what: &str) {
    let files = ground.files();
    for file in &files {
        let path = ground.now().join(file);
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        assert!(!file.starts_with("state/") || mode == 0o600, "{what}\n{file}: {mode:o}");
        if file.ends_with(".head") {
            let text = fs::read_to_string(&path).unwrap();
            let newest = text.lines().last().unwrap();
            // A log that was made and lost before its first checkpoint has no more than this.
            let is_head = ["head ", "seen 1 ", "closed "].iter().any(|word| newest.starts_with(word));
            assert!(is_head && text.ends_with('\n'), "{what}\n{text}");
        }
    }
    let of_sqlite = |file: &str| file.ends_with("-journal") || file.ends_with("-wal");
    let left = files.iter().filter(|file| file.contains(".part") && !of_sqlite(file));
    let left: Vec<&String> = left.collect();
    // What could not be removed stays, once.
    assert!(left.len() <= 1, "{what}\n{left:?}");
}

fn prepare(ground: &Ground, args: &[&str]) {
    if args == UNSIGNED {
        let output = ground.command(FIRST).env("CAIRN_SIGNER", "none").output().unwrap();
        assert!(output.status.success());
    } else {
        ground.fine(args);
    }
}
const UNSIGNED: &[&str] = &["a record that nobody signs"];

fn printed_id(run: &Run) -> Vec<String> {
    run.ok().then(|| run.out.trim().to_string()).into_iter().collect()
}

fn twenty_thoughts() -> String {
    let client = json!({"name": "faults", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let mut lines = vec![
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    ];
    for id in 0..20 {
        let arguments = json!({"type": "plan", "content": format!("thought {id}"), "task_id": "during"});
        let params = json!({"name": "thought_record", "arguments": arguments});
        lines.push(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    lines.join("\n") + "\n"
}

fn answered_ids(run: &Run) -> Vec<String> {
    let answers = run.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let envelopes = answers.map(|answer| answer["result"]["structuredContent"].clone());
    let good = envelopes.filter(|envelope| envelope["ok"] == true);
    good.filter_map(|envelope| envelope["data"]["id"].as_str().map(str::to_string)).collect()
}

fn backup_is_whole_or_absent(ground: &Ground, run: &Run, what: &str) {
    let copy = ground.now().join("copy.db");
    // Once it has its name, it can only be taken back if the disk still does something.
    let gone = what.contains("\"off\"");
    assert!(if run.ok() { copy.exists() } else { gone || !copy.exists() }, "{what}");
    if copy.exists() {
        let output = ground.command(&["--json", "verify"]).env("CAIRN_DB", "copy.db").output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["valid"], &report["records"]), (&true.into(), &2.into()), "{what}");
        fs::remove_file(copy).unwrap();
    }
}

/// A copy that has its name is whole; however far it came, running it again brings it to an end.
fn copy_can_be_finished(ground: &Ground, run: &Run, what: &str) {
    let copy = ground.now().join("copy.db");
    assert!(copy.exists() || !run.ok(), "{what}");
    if copy.exists() {
        let output = ground.command(&["--json", "verify"]).env("CAIRN_DB", "copy.db").output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["valid"], &report["records"]), (&true.into(), &2.into()), "{what}\n{report}");
    }
    let run = ground.run(&["--json", "copy", "--to", "copy.db"]);
    assert!(run.ok(), "{what}\ncopied again: {run:?}");
    assert_eq!((&run.json()["valid"], &run.json()["newer"]), (&true.into(), &0.into()), "{what}\n{run:?}");
    let left: Vec<String> = ground.files().into_iter().filter(|file| file.contains(".copying")).collect();
    assert!(left.is_empty(), "{what}\n{left:?}");
    fs::remove_file(copy).unwrap();
}

/// What was shown lets its bearer in. One that was not shown is of no use to anybody.
fn token_is_kept_if_it_was_shown(ground: &Ground, run: &Run, what: &str) {
    if run.ok() {
        let id = run.out.trim().split('_').nth(1).unwrap();
        let listed = ground.fine(&["--json", "token", "list"]).json();
        assert!(
            listed["tokens"].as_array().unwrap().iter().any(|token| token["id"] == id),
            "{what}\n{listed}"
        );
    }
}

/// However far it came, running it again brings it to an end.
fn rotation_can_be_finished(ground: &Ground, _: &Run, what: &str) {
    let run = ground.run(&["key", "rotate"]);
    assert!(run.ok(), "{what}\nrotate: {run:?}");
    let run = ground.fine(&["--json", "key", "show"]);
    assert_eq!(run.json()["keys"].as_array().unwrap().len(), 1, "{what}");
}
