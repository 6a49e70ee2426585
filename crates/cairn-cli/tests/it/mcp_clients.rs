//! `cairn mcp`, driven by the official clients under the new and the old protocol.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::it::database;

pub const INSTALL: &str = "the official MCP clients are needed: run scripts/test, which installs them";

pub fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

pub fn python() -> Command {
    Command::new(
        std::env::var_os("CAIRN_TEST_PYTHON")
            .unwrap_or_else(|| panic!("CAIRN_TEST_PYTHON is not set; {INSTALL}")),
    )
}

pub fn node() -> Command {
    let modules = clients().join("node_modules");
    assert!(modules.is_dir(), "{} is missing; {INSTALL}", modules.display());
    Command::new("node")
}

/// Runs one of the scripts, which ends with an error if anything is not as it should be.
#[track_caller]
fn run(interpreter: Command, script: &str, mode: &str) {
    run_in(tempfile::tempdir().unwrap().path(), interpreter, script, &[mode.as_ref()]);
}

/// Runs the script that edits a plan, and tells it where the server looks for plans.
#[track_caller]
fn run_plan(mode: &str) {
    let folder = tempfile::tempdir().unwrap();
    let roadmaps = folder.path().join("roadmaps");
    run_in(folder.path(), python(), "plan.py", &[mode.as_ref(), roadmaps.as_os_str()]);
}

#[track_caller]
fn run_in(folder: &Path, mut interpreter: Command, script: &str, args: &[&OsStr]) {
    let output = interpreter
        .arg(clients().join(script))
        .args(args)
        .arg(env!("CARGO_BIN_EXE_cairn"))
        .args(database::args(&folder.join("cairn.db")))
        .arg("mcp")
        // The clients hand on little of the environment: a home of its own keeps keys and heads of the test there.
        .env("HOME", folder.join("home"))
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
fn the_python_client_follows_a_plan_with_the_newest_revision() {
    run_plan("2026-07-28");
}

#[test]
fn the_python_client_follows_a_plan_with_a_handshake() {
    run_plan("legacy");
}

#[test]
fn the_python_client_keeps_a_memory_with_the_newest_revision() {
    run(python(), "memory.py", "2026-07-28");
}

#[test]
fn the_python_client_keeps_a_memory_with_a_handshake() {
    run(python(), "memory.py", "legacy");
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
