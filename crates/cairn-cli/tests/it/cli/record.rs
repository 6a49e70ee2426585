//! `cairn record`.

use serde_json::json;

use super::harness::Place;

#[test]
fn the_new_id_is_all_that_goes_to_stdout() {
    let place = Place::new();
    let run = place.run(&["record", "plan", "Choose a database", "--session", "storage", "--db", "a.db"]);
    assert_eq!((run.code, run.err.as_str()), (0, "Recorded plan as step 0 of session storage\n"));
    let id = run.out.trim_end();
    let record = place.run(&["--db", "a.db", "--json", "show", id]).json();
    assert_eq!(record["id"], id);
    assert_eq!(record["content"], "Choose a database");
    assert_eq!(record["agent_id"], "ada");
    assert_eq!(record["task_id"], "storage");
}

#[test]
fn every_flag_ends_up_in_its_field() {
    let place = Place::with_story();
    let record = place.on_story(&[
        "--json",
        "record",
        "decision",
        "x",
        "--task",
        "t",
        "--session",
        "storage",
        "--agent",
        "bob",
        "--parent",
        "019d9b50-1002",
        "--action",
        "deploy-1",
        "--meta",
        "branch=main",
        "--meta",
        "note=a=b",
        "--metadata",
        r#"{"n": 1.5}"#,
        "--key",
        "once",
    ]);
    let record = record.json();
    assert_eq!(record["task_id"], "t");
    assert_eq!(record["session_id"], "storage");
    assert_eq!(record["agent_id"], "bob");
    assert_eq!(record["parent_id"], super::harness::id(2));
    assert_eq!(record["action_id"], "deploy-1");
    assert_eq!(record["metadata"], json!({"branch": "main", "note": "a=b", "n": 1.5}));
    assert_eq!(record["step_index"], 3);
}

#[test]
fn a_decision_names_what_it_supersedes_rejects_and_applies_to() {
    let place = Place::with_story();
    let (old, option) = (super::harness::id(2), super::harness::id(1));
    let record = place.on_story(&[
        "--json",
        "record",
        "decision",
        "Use PostgreSQL",
        "-s",
        "storage",
        "--supersedes",
        "019d9b50-1002",
        "--rejects",
        &option,
        "--rejects",
        &old,
        "--applies-to",
        "src/store/**",
        "--applies-to",
        "area:storage",
    ]);
    let record = record.json();
    assert_eq!(record["supersedes"], json!([old]));
    assert_eq!(record["rejects"], json!([option, old]));
    assert_eq!(record["applies_to"], json!(["src/store/**", "area:storage"]));
    assert_eq!(record["source"], "person");
    let id = record["id"].as_str().unwrap();
    assert_eq!(place.on_story(&["--json", "show", id]).json(), record);
    let page = place.on_story(&["show", id]).fine();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("  ")).collect();
    for line in [
        "  source     person".to_string(),
        format!("  supersedes {old} (Use SQLite:)"),
        format!("  rejects    {old} (Use SQLite:)"),
        "  applies to src/store/**".to_string(),
        "  applies to area:storage".to_string(),
    ] {
        assert!(lines.contains(&line.as_str()), "{line}\n{page}");
    }
    assert!(page.contains(&format!("  rejects    {option} (")), "{page}");
}

#[test]
fn a_link_that_cannot_be_is_refused_under_the_name_of_its_flag() {
    let place = Place::with_story();
    let plan = super::harness::id(0);
    for (args, said) in [
        (
            &["decision", "--supersedes", &plan][..],
            "error: --supersedes[0]: only a decision can be superseded",
        ),
        (&["decision", "--rejects", "019d9b50-1003"], "error: --rejects[0]: thought `"),
        (&["decision", "--supersedes", "nobody"], "error: no thought `nobody`"),
        (
            &["plan", "--rejects", &plan],
            "error: --rejects: only a decision or a reflection can have this, not a plan",
        ),
        (&["plan", "--applies-to", ""], "error: --applies-to[0]: must not be empty"),
        (&["plan", "--applies-to", "a", "--applies-to", "a"], "error: --applies-to[1]: must be named once"),
    ] {
        let run = place.on_story(&[&["record", args[0], "x", "-s", "storage"], &args[1..]].concat());
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{args:?}: {}", run.err);
        assert!(run.err.starts_with(said), "{args:?}: {}", run.err);
    }
}

#[test]
fn a_parent_brings_its_session_and_task() {
    let place = Place::with_story();
    let record = place.on_story(&["--json", "record", "analysis", "x", "-p", "019d9b50-1003"]).json();
    assert_eq!(
        (record["session_id"].as_str(), record["task_id"].as_str()),
        (Some("week-16"), Some("release"))
    );
}

#[test]
fn a_parent_of_another_session_is_refused() {
    let place = Place::with_story();
    let run = place.on_story(&["record", "analysis", "x", "-p", "019d9b50-1003", "-s", "storage"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: --parent: "), "{}", run.err);
}

#[test]
fn the_text_comes_from_stdin_when_asked_for_or_left_out() {
    let place = Place::new();
    for args in [&["record", "plan", "-", "-t", "t"][..], &["record", "plan", "-t", "t"]] {
        let args = [&["--db", "a.db", "--json"], args].concat();
        for (input, content) in [("two\nlines\n", "two\nlines"), ("none", "none"), ("crlf\r\n", "crlf")] {
            assert_eq!(place.run_with_input(&args, input.as_bytes()).json()["content"], content);
        }
    }
    let empty = place.run_with_input(&["--db", "a.db", "--json", "record", "plan", "-", "-t", "t"], b"");
    assert_eq!(empty.json()["content"], "");
}

#[test]
fn nothing_on_stdin_is_taken_for_a_mistake() {
    let run = Place::new().run(&["record", "plan", "-t", "t", "--db", "a.db"]);
    assert_eq!(run.code, 2);
    assert_eq!(run.err, "error: there is no text to record\n\nhint: give it after the type, or pipe it in\n");
}

#[test]
fn a_text_that_is_too_long_or_not_utf8_is_refused() {
    let place = Place::new();
    let record =
        |input: &[u8]| place.run_with_input(&["--db", "a.db", "record", "plan", "-", "-t", "t"], input);
    assert_eq!(record(&[b'a'; 1 << 20]).code, 0);
    let run = record(&vec![b'a'; (1 << 20) + 1]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("more than 1048576 bytes"), "{}", run.err);
    let run = record(b"abc\xff");
    assert_eq!((run.code, run.err.as_str()), (1, "error: the text on stdin is not UTF-8 from byte 3 on\n"));
}

#[test]
fn the_author_is_named_by_argument_metadata_environment_or_user() {
    let place = Place::new();
    let author = |args: &[&str], env: &[(&str, &str)]| {
        let args = [&["--db", "a.db", "--json", "record", "plan", "x", "-t", "t"], args].concat();
        let output = place.command(&args).envs(env.iter().copied()).output().unwrap();
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        record["agent_id"].as_str().unwrap().to_string()
    };
    assert_eq!(author(&["-a", "arg", "--meta", "agent_id=meta"], &[("CAIRN_AGENT", "env")]), "arg");
    assert_eq!(author(&["--meta", "agent_id=meta"], &[("CAIRN_AGENT", "env")]), "meta");
    assert_eq!(author(&[], &[("CAIRN_AGENT", "env")]), "env");
    assert_eq!(author(&[], &[]), "ada");
    assert_eq!(author(&[], &[("USER", "")]), "cli");
}

#[test]
fn a_key_records_once_and_conflicts_with_other_arguments() {
    let place = Place::new();
    let record = |text| place.run(&["--db", "a.db", "record", "plan", text, "-t", "t", "--key", "k"]);
    assert_eq!(record("x").out, record("x").out);
    let run = record("y");
    assert_eq!(run.code, 1);
    assert_eq!(place.run(&["--db", "a.db", "--json", "list"]).json()["records"].as_array().unwrap().len(), 1);
}

#[test]
fn wrong_metadata_is_wrong_usage() {
    let place = Place::new();
    for (flags, message) in [
        (&["--metadata", "[1]"][..], "--metadata must be a JSON object"),
        (&["--metadata", r#"{"a":1,"a":2}"#], "duplicate key a"),
        (&["--metadata", "{"], "EOF"),
        (&["--meta", "a=1", "--meta", "a=2"], "`a` is given twice"),
        (&["--meta", "nothing"], "must look like KEY=VALUE"),
    ] {
        let run = place.run(&[&["--db", "a.db", "record", "plan", "x", "-t", "t"], flags].concat());
        assert_eq!(run.code, 2, "{flags:?}");
        assert!(run.err.contains(message), "{}", run.err);
    }
    assert!(!place.path("a.db").exists());
}
