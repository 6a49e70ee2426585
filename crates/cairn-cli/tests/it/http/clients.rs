//! The official clients over HTTP: the same sessions as over standard input and output, with and without a token.

use std::path::Path;
use std::process::Command;

use super::harness::{Server, new_token};
use crate::it::mcp_clients::{INSTALL, clients, node, python};

#[derive(Clone, Copy, PartialEq)]
enum Door {
    Open,
    Token,
}

/// Runs a script against a server of its own.
#[track_caller]
fn run(mut interpreter: Command, script: &str, mode: &str, door: Door, more: impl Fn(&Path) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let token = (door == Door::Token).then(|| new_token(folder.path(), "write", None));
    let args: &[&str] = if door == Door::Token { &["--require-token"] } else { &[] };
    let server = Server::in_folder(folder, args);
    interpreter.arg(clients().join(script)).arg(mode).args(more(server.path())).arg(server.url());
    interpreter.env_remove("CAIRN_TEST_TOKEN").envs(token.map(|token| ("CAIRN_TEST_TOKEN", token)));
    let output =
        interpreter.output().unwrap_or_else(|error| panic!("cannot run {interpreter:?}: {error}; {INSTALL}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().last(), Some("fine"));
}

fn nothing(_: &Path) -> Vec<String> {
    Vec::new()
}

fn roadmaps(folder: &Path) -> Vec<String> {
    vec![folder.join("roadmaps").display().to_string()]
}

#[test]
fn the_python_client_works_over_http() {
    run(python(), "session.py", "2026-07-28", Door::Open, nothing);
    run(python(), "session.py", "auto", Door::Token, nothing);
    run(python(), "session.py", "legacy", Door::Open, nothing);
    run(python(), "session.py", "legacy", Door::Token, nothing);
}

#[test]
fn the_python_client_follows_a_plan_over_http() {
    run(python(), "plan.py", "2026-07-28", Door::Token, roadmaps);
    run(python(), "plan.py", "legacy", Door::Open, roadmaps);
}

#[test]
fn the_python_client_keeps_a_memory_over_http() {
    run(python(), "memory.py", "2026-07-28", Door::Token, nothing);
    run(python(), "memory.py", "legacy", Door::Open, nothing);
}

#[test]
fn the_first_typescript_client_works_over_http() {
    run(node(), "session.mjs", "sdk", Door::Open, nothing);
    run(node(), "session.mjs", "sdk", Door::Token, nothing);
}

#[test]
fn the_second_typescript_client_works_over_http() {
    run(node(), "session.mjs", "client", Door::Token, nothing);
    run(node(), "session.mjs", "client", Door::Open, nothing);
    run(node(), "session.mjs", "client-legacy", Door::Token, nothing);
}
