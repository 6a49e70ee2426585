//! Files and programs, and what every kind has in common.

use super::bench::Bench;

#[test]
fn a_file_gets_every_checkpoint_and_finds_rollback_and_fork() {
    let bench = Bench::new();
    let run = bench.run(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    assert_eq!(run.code, 0);
    assert!(run.out.starts_with("Added witness `file` (file /"), "{}", run.out);
    assert!(run.err.contains("one that is mounted from elsewhere protects better"), "{}", run.err);
    bench.publish();
    let notes = bench.place.read("elsewhere/notes");
    assert!(notes.starts_with("== 20") && notes.contains(&bench.newest().note), "{notes}");
    bench.rollback_and_fork_are_found("file");
}

#[test]
fn a_record_is_handed_on_without_being_asked() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    let before = bench.newest().size;
    for text in ["two", "three"] {
        bench.fine(&["record", "plan", text, "-s", "s"]);
    }
    let notes = bench.place.read("elsewhere/notes");
    assert_eq!(notes.matches("== ").count(), 2, "{notes}");
    assert_eq!(bench.verdicts(), ["agrees"]);
    let data = bench.json(&["witness", "list"]);
    assert_eq!(data["witnesses"][0]["status"]["size"], before + 2, "{data}");
    assert_eq!(data["witnesses"][0]["status"]["failures"], 0, "{data}");
}

#[test]
fn a_server_hands_its_last_checkpoint_on_when_it_ends() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    let before = bench.newest().size;
    let mut child = bench
        .command(&["mcp"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let arguments = r#"{"type":"plan","content":"two","session_id":"s","agent_id":"ada"}"#;
    let messages = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#.to_string(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_string(),
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"thought_record","arguments":{arguments}}}}}"#),
    ];
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), (messages.join("\n") + "\n").as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("step_index"));
    assert_eq!(bench.json(&["witness", "check"])["witnesses"][0]["newest"]["size"], before + 1);
}

#[test]
fn a_file_beside_the_database_is_no_witness() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("data/deeper")).unwrap();
    for name in ["data/notes", "data/deeper/notes", "elsewhere/../data/notes", "no/folder"] {
        let run = bench.run(&["witness", "add", "file", &bench.arg(name)]);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{name}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(bench.path("data"), bench.path("link")).unwrap();
        assert_eq!(bench.run(&["witness", "add", "file", &bench.arg("link/notes")]).code, 1);
    }
    assert_eq!(bench.run(&["witness", "add", "file", &bench.arg("elsewhere")]).code, 1);
    assert_eq!(bench.json(&["witness", "list"])["witnesses"].as_array().unwrap().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_program_gets_the_note_and_gives_it_back() {
    let bench = Bench::new();
    let file = bench.arg("elsewhere/newest");
    bench.fine(&[
        "witness",
        "add",
        "command",
        "--read",
        &format!("cat '{file}'"),
        "--name",
        "shelf",
        "--",
        "sh",
        "-c",
        &format!("cat >> '{file}'"),
    ]);
    bench.publish();
    let note = bench.place.read("elsewhere/newest");
    assert_eq!(note, bench.newest().note);
    bench.rollback_and_fork_are_found("shelf");
}

#[cfg(unix)]
#[test]
fn a_program_that_cannot_be_asked_is_remembered_for() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "command", "true"]);
    assert_eq!(bench.verdicts(), ["nothing"]);
    bench.publish();
    bench.rollback_and_fork_are_found("command");
}

#[test]
fn names_are_kept_apart_and_removed() {
    let bench = Bench::new();
    let add = |name: &str, more: &[&str]| {
        let path = bench.arg(name);
        bench.run(&[&["witness", "add", "file", path.as_str()], more].concat())
    };
    assert_eq!(add("elsewhere/a", &[]).code, 0);
    assert_eq!(add("elsewhere/b", &["--every", "60"]).code, 0);
    let again = add("elsewhere/a", &[]);
    assert_eq!(again.err, "error: witness `file` is there already\n");
    for (more, words) in [
        (["--name", "file"], "there is a witness `file` already"),
        (["--name", "../x"], "a name has 1 to 40"),
    ] {
        let run = add("elsewhere/c", &more);
        assert_eq!(run.code, 1);
        assert!(run.err.contains(words), "{}", run.err);
    }
    let data = bench.json(&["witness", "list"]);
    let names: Vec<&str> =
        data["witnesses"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["file", "file-2"]);
    assert_eq!(data["witnesses"][1]["every"], 60);
    bench.fine(&["witness", "remove", "file"]);
    assert_eq!(bench.run(&["witness", "remove", "file"]).code, 1);
    assert_eq!(bench.json(&["witness", "list"])["witnesses"].as_array().unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn the_configuration_is_the_owners_alone_and_a_broken_one_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    let folder = bench.path("state/witnesses");
    let file = std::fs::read_dir(&folder).unwrap().flatten().find(|entry| entry.path().is_file()).unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    std::fs::write(file.path(), "{").unwrap();
    let run = bench.run(&["verify"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains("no witness was asked"), "{}", run.out);
    assert_eq!(bench.run(&["witness", "list"]).code, 1);
    assert_eq!(bench.run(&["record", "plan", "x", "-s", "s"]).code, 0);
}

#[test]
fn a_witness_that_lost_what_it_took_is_told() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    bench.publish();
    bench.place.write("elsewhere/notes", "");
    let run = bench.run(&["witness", "check"]);
    assert_eq!(run.code, 0);
    assert!(run.out.contains("does not have it any more"), "{}", run.out);
    std::fs::remove_file(bench.path("elsewhere/notes")).unwrap();
    assert_eq!(bench.verdicts(), ["not_asked"]);
    let run = bench.run(&["verify"]);
    assert!(run.code == 0 && run.out.contains("is not there"), "{}", run.out);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_the_list_of_witnesses_is_not_waited_for() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    let folder = std::fs::read_dir(bench.path("state/witnesses")).unwrap();
    let list = folder.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    std::fs::remove_file(&list).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&list).status().unwrap().success());
    let verified = bench.run(&["verify"]);
    let told = verified.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(verified.code == 0 && told.contains("no witness was asked:"), "{}", verified.out);
    assert!(told.contains("is not a file"), "{told}");
    let checked = bench.run(&["witness", "check"]);
    assert!(checked.code == 1 && checked.err.contains("is not a file"), "{}", checked.err);
}
