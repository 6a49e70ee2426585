//! The examples run, and both tell the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The pipeline that embeds the library.
fn embedded(database: &Path) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "-p", "cairn", "--example", "pipeline"]).arg(database);
    told(&command.current_dir(root()).output().unwrap())
}

#[test]
fn the_pipeline_that_embeds_the_library_runs() {
    let folder = tempfile::tempdir().unwrap();
    let told = embedded(&folder.path().join("cairn.db"));
    let nodes: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("=== ")).collect();
    assert_eq!(nodes, ["understand", "think", "act", "reply", "verify"]);
    assert!(told.ends_with("it is the same, byte for byte\neverything: nothing was changed\n"), "{told}");
}

#[test]
fn the_pipeline_over_mcp_tells_the_same() {
    let python = std::env::var_os("CAIRN_TEST_PYTHON")
        .expect("CAIRN_TEST_PYTHON is not set; run scripts/test, which installs the client");
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(root().join("examples/pipeline/pipeline.py"))
        .args([env!("CARGO_BIN_EXE_cairn"), "--db"])
        .arg(folder.path().join("over-mcp.db"))
        .arg("mcp")
        .env("HOME", folder.path().join("home"))
        .output()
        .unwrap();
    assert_eq!(told(&output), embedded(&folder.path().join("embedded.db")));
}
