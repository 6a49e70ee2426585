//! `cairn list`, `show`, `tree`, `trail` and `search`.

use std::process::Stdio;

use serde_json::json;

use super::harness::{Place, id};

#[test]
fn a_list_shows_ids_as_short_as_they_can_be_told_apart() {
    let place = Place::with_story();
    let expected = "\
id                  time (UTC)        type        session          agent  thought
019d9b50-1001-7000  2026-04-17 12:00  plan        storage          ada    Choose a database
019d9b50-1001-7001  2026-04-17 12:01  analysis    storage          ada    PostgreSQL needs a server
019d9b50-1002       2026-04-17 12:02  decision    storage          ada    Use SQLite:
019d9b50-1003       2026-04-17 12:03  reflection  week-16/release  bob    Ship on Friday
";
    assert_eq!(place.on_story(&["list"]).fine(), expected);
}

#[test]
fn a_list_keeps_to_the_width_and_never_cuts_an_id() {
    let place = Place::with_story();
    let lines = |columns: &str| {
        let output = place.command(&["--db", "cairn.db", "list"]).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let narrow = lines("60");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("PostgreSQL needs a server") && !narrow.contains("storage"), "{narrow}");
    let narrowest = lines("1");
    assert!(narrowest.contains("019d9b50-1001-7001  analysis    Postgre…\n"), "{narrowest}");
}

#[test]
fn a_list_can_be_narrowed_and_paged() {
    let place = Place::with_story();
    let steps = |args: &[&str]| {
        let run = place.on_story(&[&["--json", "list"], args].concat());
        let page = run.json();
        let ids: Vec<String> =
            page["records"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap().into()).collect();
        (ids, page["next_cursor"].as_str().map(str::to_string))
    };
    assert_eq!(steps(&["--session", "storage"]).0, [id(0), id(1), id(2)]);
    assert_eq!(steps(&["--task", "release"]).0, [id(3)]);
    assert_eq!(steps(&["--type", "plan"]).0, [id(0)]);
    assert_eq!(steps(&["--agent", "bob"]).0, [id(3)]);
    assert_eq!(steps(&["--last", "2"]), (vec![id(2), id(3)], None));
    assert_eq!(steps(&["--last", "1", "--type", "plan"]), (vec![id(0)], None));
    assert_eq!(steps(&["--last", "9"]).0.len(), 4);
    let run = place.on_story(&["list", "--last", "1"]);
    assert_eq!(run.err, "The newest 1; `--last N` shows more, `--limit N` begins with the oldest\n");
    let (ids, cursor) = steps(&["--limit", "3"]);
    assert_eq!(ids.len(), 3);
    assert_eq!(steps(&["--cursor", &cursor.unwrap()]), (vec![id(3)], None));
    let run = place.on_story(&["list", "--limit", "1"]);
    assert!(run.err.starts_with("There is more: add `--cursor "), "{}", run.err);
    let run = place.on_story(&["list", "--session", "nobody"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", "Nothing recorded that matches.\n"));
}

#[test]
fn a_reader_that_stops_reading_ends_the_program_quietly() {
    let place = Place::new();
    let (cairn, _) = super::harness::open(&place.path("cairn.db"));
    drop(cairn);
    for n in 0..40 {
        let text = format!("{n}{}", "x".repeat(10_000));
        place.on_story(&["record", "plan", &text, "-t", "t", "--durability", "normal"]);
    }
    let mut child = place
        .command(&["--db", "cairn.db", "--json", "list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn show_has_the_whole_record() {
    let place = Place::with_story();
    let text = place.on_story(&["show", "019d9b50-1002"]).fine();
    let record = place.on_story(&["--json", "show", "019d9b50-1002"]).json();
    let hash = |name: &str| record[name].as_str().unwrap();
    let expected = format!(
        "decision {}
  session    storage (step 2)
  task       storage
  agent      ada
  source     agent
  time       2026-04-17T12:02:00.000Z
  parent     {}
  action     commit-4f2a
  log        entry 3

  Use SQLite:
  one file

hashes
  content_hash {}
  chain_hash   {}
  prev_hash    {}
  hash         {}
",
        id(2),
        id(0),
        hash("content_hash"),
        hash("chain_hash"),
        hash("prev_hash"),
        hash("hash")
    );
    assert_eq!(text, expected);
}

#[test]
fn a_beginning_that_fits_several_ids_names_them() {
    let place = Place::with_story();
    let run = place.on_story(&["show", "019d9b50-1001"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains(&id(0)) && run.err.contains(&id(1)) && !run.err.contains(&id(2)), "{}", run.err);
    let run = place.on_story(&["show", "nope"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: no thought `nope`\n\nhint: "), "{}", run.err);
    let run = place.on_story(&["--json", "show", "nope"]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert_eq!(run.json()["ok"], false);
    assert_eq!(run.json()["error"]["code"], "NOT_FOUND");
}

#[test]
fn a_tree_shows_forks_and_actions() {
    let place = Place::with_story();
    let expected = "\
storage  3 thoughts
plan       019d9b50-1001-7000  Choose a database
├─ analysis   019d9b50-1001-7001  PostgreSQL needs a server
└─ decision   019d9b50-1002       Use SQLite: → commit-4f2a
";
    assert_eq!(place.on_story(&["tree", "storage"]).fine(), expected);
    let full = place.on_story(&["tree", "storage", "--full"]).fine();
    assert!(
        full.ends_with("└─ decision   019d9b50-1002       → commit-4f2a\n     Use SQLite:\n     one file\n"),
        "{full}"
    );
    let data = place.on_story(&["--json", "tree", "storage"]).json();
    assert_eq!((&data["session_id"], &data["count"]), (&json!("storage"), &json!(3)));
    assert_eq!(data["tree"][0]["children"][1]["id"], id(2));
    let run = place.on_story(&["tree", "nope"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: no session `nope`\n"), "{}", run.err);
}

#[test]
fn a_trail_goes_from_the_root_to_the_thought() {
    let place = Place::with_story();
    let expected = "\
plan        019d9b50-1001  2026-04-17 12:00  ada
  Choose a database
decision    019d9b50-1002  2026-04-17 12:02  ada  → commit-4f2a
  Use SQLite:
  one file
";
    assert_eq!(place.on_story(&["trail", "019d9b50-1002"]).fine(), expected);
    assert_eq!(place.on_story(&["trail", "--action", "commit-4f2a"]).fine(), expected);
    assert_eq!(place.on_story(&["--json", "trail", "019d9b50-1002"]).json()["path"][1]["id"], id(2));
    let data = place.on_story(&["--json", "trail", "--action", "commit-4f2a"]).json();
    assert_eq!((&data["has_reasoning"], &data["trail_count"]), (&json!(true), &json!(1)));
    let none = place.on_story(&["--json", "trail", "--action", "x"]).json();
    assert_eq!(none, json!({"action_id": "x", "has_reasoning": false, "trail_count": 0, "trails": []}));
    assert_eq!(place.on_story(&["trail", "--action", "x"]).code, 1);
    assert_eq!(place.on_story(&["trail"]).code, 2);
}

#[test]
fn a_search_shows_the_passage_and_marks_it_only_in_colour() {
    let place = Place::with_story();
    let plain = place.on_story(&["search", "postgresql", "server"]).fine();
    assert_eq!(
        plain,
        "019d9b50-1001  analysis  2026-04-17 12:01  storage  ada\n  PostgreSQL needs a server\n"
    );
    let colored = place.on_story(&["search", "server", "--color", "always"]).fine();
    assert!(colored.contains("needs a \x1b[1mserver\x1b[0m\n"), "{colored:?}");
    let data = place.on_story(&["--json", "search", "server"]).json();
    assert_eq!((&data["count"], &data["results"][0]["id"]), (&json!(1), &json!(id(1))));
    assert_eq!(data["results"][0]["snippet"], "PostgreSQL needs a **server**");
    let run = place.on_story(&["search", "server", "--type", "plan"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", "Nothing matches.\n"));
    assert_eq!(place.on_story(&["search", "x", "--limit", "101"]).code, 2);
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let place = Place::with_story();
    assert!(!place.on_story(&["list"]).fine().contains('\x1b'));
    assert!(place.on_story(&["list", "--color", "always"]).fine().contains("\x1b[33mdecision  \x1b[0m"));
}
