//! Help and reference name every command there is.

use std::process::Command;

const COMMANDS: [&str; 13] = [
    "init",
    "demo",
    "mcp",
    "record",
    "list",
    "show",
    "tree",
    "trail",
    "search",
    "verify",
    "backup",
    "doctor",
    "completions",
];

fn help(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cairn")).args(args).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_appears_in_the_help_and_has_its_own() {
    let page = help(&["--help"]);
    for command in COMMANDS {
        assert!(page.lines().any(|line| line.starts_with(&format!("  {command} "))), "{command}");
        assert!(help(&[command, "--help"]).contains(&format!("Usage: cairn {command}")), "{command}");
    }
}

#[test]
fn every_command_appears_in_the_reference() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli-reference.md");
    let reference = std::fs::read_to_string(path).unwrap();
    for command in COMMANDS {
        assert!(reference.contains(&format!("\n## `cairn {command}`\n")), "{command}");
    }
}
