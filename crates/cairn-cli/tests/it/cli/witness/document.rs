//! What docs/witnesses.md says, done as it says it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use cairn::NewSession;

use super::bench::Bench;

const DOCUMENT: &str = include_str!("../../../../../../docs/witnesses.md");

/// The commands of the document, in its order.
fn commands() -> Vec<String> {
    let text = DOCUMENT.replace("\\\n", "");
    let line = |line: &str| {
        let command = line.strip_prefix("$ ").or(line.strip_prefix("    "))?;
        Some(command.split(" # ").next().unwrap_or_default().trim().to_string())
    };
    let mentioned = ["cairn witness add git ~/project", "cairn witness add git ~/project --trailers"];
    let inline = mentioned.iter().filter(|words| text.contains(&format!("`{words}`")));
    let mut all: Vec<String> = text.lines().filter_map(line).collect();
    assert_eq!(inline.clone().count(), mentioned.len(), "the document has other words for these");
    // They stand before the first command that needs what they set up.
    let at = all.iter().position(|command| command.starts_with("git push")).unwrap();
    all.splice(at..at, inline.map(ToString::to_string));
    all
}

fn sh(bench: &Bench, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(bench.path("home/project")).env_clear();
    command.env("HOME", bench.path("home")).env("PATH", format!("{}:/usr/bin:/bin", bench.arg("bin")));
    command.env("CAIRN_DB", bench.path("data/cairn.db")).env("CAIRN_STATE", bench.path("state"));
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}\n{out}\n{err}");
    out.into_owned()
}

#[test]
fn the_commands_of_the_document_do_what_it_says() {
    let bench = Bench::new();
    for folder in ["bin", "vault", "home/project"] {
        std::fs::create_dir_all(bench.path(folder)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_cairn"), bench.path("bin/cairn")).unwrap();
    // Another machine, by the way it is reached.
    bench.place.write("bin/ssh", &format!("#!/bin/sh\nshift\ncd '{}' && eval \"$*\"\n", bench.arg("vault")));
    std::fs::set_permissions(bench.path("bin/ssh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    sh(&bench, "git init -q && git config user.name Ada && git config user.email ada@example.org");
    sh(&bench, "git init -q --bare ../origin && git remote add origin ../origin");

    let mut left = Vec::new();
    for command in commands() {
        match command.split(' ').next().unwrap() {
            // On the disk that is not here.
            "cairn" => drop(sh(&bench, &command.replace("/mnt/nas", &bench.arg("elsewhere")))),
            "git" if command.starts_with("git push") => {
                sh(&bench, "cairn witness publish");
                sh(&bench, &command);
            }
            "git" => drop(sh(&bench, &command.replace("git commit", "git commit --allow-empty -m Work"))),
            _ => left.push(command),
        }
    }
    // Those that the tests of time stamps and of the signer run.
    let programs: Vec<&str> = left.iter().map(|command| command.split(' ').next().unwrap()).collect();
    assert_eq!(programs, ["openssl", "sudo", "export"], "{left:?}");

    // Each of the witnesses has a head of the log, wherever it is kept.
    sh(&bench, "cairn witness publish");
    let size = bench.newest().size;
    let data: serde_json::Value = serde_json::from_str(&sh(&bench, "cairn --json witness check")).unwrap();
    let seen: Vec<(&str, &str, u64)> = data["witnesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let word = |name: &str| one[name].as_str().unwrap();
            (word("name"), word("verdict"), one["newest"]["size"].as_u64().unwrap())
        })
        .collect();
    let expected = ["file", "git", "git-2", "command"].map(|name| (name, "agrees", size));
    assert_eq!(seen, expected, "{data}");
    let pushed = sh(&bench, "git -C ../origin for-each-ref --format='%(refname)'");
    let log = bench.newest().origin.replace("cairn/", "refs/cairn/");
    assert_eq!(pushed.trim_end(), log);
    assert!(std::fs::read_to_string(bench.path("vault/heads")).unwrap().contains(&bench.newest().note));
}

#[test]
fn every_command_that_records_hands_its_checkpoint_on() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "file", &bench.arg("elsewhere/notes")]);
    std::fs::create_dir(bench.path("data/roadmaps")).unwrap();
    bench.place.write("data/roadmaps/import.json", &crate::it::cli::plans::first_plan().to_string());
    let cairn = bench.open();
    cairn.session_open(NewSession { session_id: Some("s".into()), types: None, window: None }).unwrap();
    cairn.turn_begin("s", "Soup?", None).unwrap();
    cairn.close();
    let thought = bench.fine(&["record", "plan", "two", "-s", "s"]);
    let mut last = bench.newest().size;
    for args in [
        vec!["redact", thought.trim_end(), "--reason", "private", "--yes"],
        vec!["brief", "build", "s", "think", "--store"],
        vec!["--json", "brief", "build", "s", "act", "--store"],
        vec!["context", "create", "import"],
        vec!["context", "ensure", "import"],
        vec!["key", "rotate"],
        vec!["record", "plan", "three", "-s", "s"],
    ] {
        bench.fine(&args);
        let newest = bench.newest();
        let seen = bench.json(&["witness", "list"])["witnesses"][0]["status"]["size"].clone();
        assert_eq!(seen, newest.size, "{args:?}");
        assert!(bench.place.read("elsewhere/notes").contains(&newest.note), "{args:?}");
        assert!(newest.size > last || args.contains(&"ensure"), "{args:?}");
        last = newest.size;
    }
    assert_eq!(bench.verdicts(), ["agrees"]);
}
