//! `cairn mcp`, driven by the official clients under the new and the old protocol.

use std::path::{Path, PathBuf};
use std::process::Command;

const INSTALL: &str = "the official MCP clients are needed: run scripts/test, which installs them";

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

fn python() -> Command {
    Command::new(
        std::env::var_os("CAIRN_TEST_PYTHON")
            .unwrap_or_else(|| panic!("CAIRN_TEST_PYTHON is not set; {INSTALL}")),
    )
}

fn node() -> Command {
    let modules = clients().join("node_modules");
    assert!(modules.is_dir(), "{} is missing; {INSTALL}", modules.display());
    Command::new("node")
}

/// Runs one of the scripts, which ends with an error if anything is not as it should be.
#[track_caller]
fn run(mut interpreter: Command, script: &str, mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = interpreter
        .arg(clients().join(script))
        .args([mode, env!("CARGO_BIN_EXE_cairn"), "--db"])
        .arg(folder.path().join("cairn.db"))
        .arg("mcp")
        .output()
        .unwrap_or_else(|error| panic!("cannot run {interpreter:?}: {error}; {INSTALL}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().last(), Some("fine"));
}

#[test]
fn the_python_client_works_with_the_newest_revision() {
    run(python(), "session.py", "2026-07-28");
}

#[test]
fn the_python_client_works_when_it_finds_out_by_itself() {
    run(python(), "session.py", "auto");
}

#[test]
fn the_python_client_works_with_a_handshake() {
    run(python(), "session.py", "legacy");
}

#[test]
fn the_first_typescript_client_works() {
    run(node(), "session.mjs", "sdk");
}

#[test]
fn the_second_typescript_client_works_with_the_newest_revision() {
    run(node(), "session.mjs", "client");
}

#[test]
fn the_second_typescript_client_works_with_a_handshake() {
    run(node(), "session.mjs", "client-legacy");
}
