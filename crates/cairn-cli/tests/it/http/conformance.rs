//! The conformance suite of the protocol's authors, for both of its eras.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::harness::Server;

const INSTALL: &str = "the conformance suite is needed: run scripts/test, which installs it";

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

/// The suite needs Node 22; where the system has an older one, npm has brought one along.
fn node() -> PathBuf {
    let version =
        Command::new("node").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let version = String::from_utf8(version).unwrap_or_default();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= 22) {
        return "node".into();
    }
    let brought = ["x64", "arm64"].map(|cpu| suite().join(format!("node_modules/node-linux-{cpu}/bin/node")));
    brought.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("Node 22 is missing; {INSTALL}"))
}

/// Runs every scenario of a revision. Those in `expected-REVISION.yml` must fail, all others pass.
#[track_caller]
fn conforms(revision: &str) {
    let script = suite().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    assert!(script.is_file(), "{} is missing; {INSTALL}", script.display());
    // Most scenarios call tools of their own, which only a build for development serves.
    let server = Server::with_env(&[("CAIRN_FIXTURES", suite().join("fixtures.json"))]);
    let output = Command::new(node())
        .arg(script)
        .args(["server", "--suite", "all", "--spec-version", revision, "--url", &server.url()])
        .arg("--expected-failures")
        .arg(suite().join(format!("expected-{revision}.yml")))
        .current_dir(server.path())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    let summary = out.split("=== SUMMARY ===").nth(1).expect("a summary");
    assert!(
        summary.lines().filter(|line| line.starts_with('✓')).count() >= 9,
        "too little was tried: {summary}"
    );
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only a build for development serves the fixtures")]
fn the_server_conforms_to_2025_11_25() {
    conforms("2025-11-25");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only a build for development serves the fixtures")]
fn the_server_conforms_to_2026_07_28() {
    conforms("2026-07-28");
}
