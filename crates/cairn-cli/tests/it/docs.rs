//! Help and reference name every command there is.

use std::process::Command;

const COMMANDS: [&str; 32] = [
    "init",
    "demo",
    "serve",
    "mcp",
    "record",
    "list",
    "show",
    "tree",
    "trail",
    "why",
    "search",
    "roadmap",
    "context",
    "drift",
    "session",
    "brief",
    "verify",
    "checkpoint",
    "prove",
    "log",
    "key",
    "witness",
    "signer",
    "token",
    "backup",
    "copy",
    "export",
    "verify-bundle",
    "import",
    "redact",
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

fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of every code block of a kind.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            inside = !inside && fence == kind;
        } else if inside {
            lines.push(line.to_string());
        }
    }
    lines
}

#[test]
fn the_demo_shows_what_the_readme_shows() {
    let shown = blocks(&read("README.md"), "console");
    assert!(shown.len() > 10);
    let demo = help(&["demo"]);
    let mut played = demo.lines();
    for line in shown.iter().filter(|line| line.trim() != "…") {
        assert!(
            played.any(|other| other == line),
            "the demo does not print, after what comes before it: {line}"
        );
    }
}

#[test]
fn the_tutorial_can_be_followed() {
    let script = blocks(&read("docs/tutorial.md"), "sh").join("\n");
    assert!(script.contains("cairn init") && script.contains("cairn verify"));
    let folder = tempfile::tempdir().unwrap();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_cairn")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("CAIRN_STATE", folder.path().join("state"))
        .env_remove("CAIRN_DB")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("└─ reflection"), "{out}");
    assert!(out.contains("1 of 1 decision rest"), "{out}");
    assert!(out.contains("7 thoughts and 2 snapshots recomputed, nothing was changed"), "{out}");
}

#[test]
fn every_link_in_the_documents_leads_somewhere() {
    for page in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/tutorial.md",
        "docs/concepts.md",
        "docs/format.md",
        "docs/roadmaps.md",
        "docs/briefs.md",
        "docs/witnesses.md",
        "docs/serving.md",
        "docs/storage.md",
        "docs/threat-model.md",
        "docs/architecture.md",
        "examples/pipeline/README.md",
    ] {
        let text = read(page);
        let folder = std::path::Path::new(page).parent().unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if !link.starts_with("http") {
                let file = link.split('#').next().unwrap();
                let target =
                    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(file);
                assert!(target.exists(), "{page} links to {link}");
            }
        }
    }
}
