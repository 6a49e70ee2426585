//! The viewer in headless Chromium. The claims are the scripts in `tests/browser`; here is what they look at.

mod hostile;
mod recorded;
mod served;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::it::database;
use recorded::Recorded;
use served::Served;

/// A database as the scripts use it: what to tell the program, and where its keys and heads are.
fn on(file: &Path) -> serde_json::Value {
    let args: Vec<PathBuf> = database::args(file).into_iter().map(PathBuf::from).collect();
    json!({ "args": args, "state": file.with_extension("state"), "attack": database::attack(file) })
}

#[test]
fn the_viewer_does_in_a_browser_what_it_promises() {
    let Some(chromium) = std::env::var_os("CAIRN_TEST_CHROMIUM").filter(|path| path != "none") else {
        eprintln!("left out: CAIRN_TEST_CHROMIUM names no browser; scripts/test installs one");
        return;
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let modules = scripts.join("node_modules");
    assert!(modules.is_dir(), "{} is missing: run scripts/test, which installs it", modules.display());

    let recorded = Recorded::record();
    let copy = recorded.copy();
    let empty = tempfile::tempdir().unwrap();
    let site = Served::start(&recorded.database(), &[]);
    let guarded = Served::start(&recorded.database(), &["--require-token"]);
    let attacked = Served::start(&copy.path().join("cairn.db"), &[]);
    let nothing = Served::start(&empty.path().join("cairn.db"), &[]);
    let told = json!({
        "chromium": PathBuf::from(chromium),
        "cairn": env!("CARGO_BIN_EXE_cairn"),
        "database": on(&recorded.database()),
        "attacked_database": on(&copy.path().join("cairn.db")),
        "empty_database": on(&empty.path().join("cairn.db")),
        "site": site.address,
        "guarded": guarded.address,
        "attacked": attacked.address,
        "empty": nothing.address,
        "token": recorded.token,
        "known": recorded.known,
        // A folder for pictures of the pages, and parts of names of the claims to look at: both for people.
        "pictures": std::env::var("CAIRN_SCREENSHOTS").ok(),
        "only": std::env::var("CAIRN_BROWSER_ONLY").ok(),
    });
    let output = Command::new("node")
        .arg(scripts.join("run.mjs"))
        .arg(told.to_string())
        .output()
        .unwrap_or_else(|error| panic!("cannot run node: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if !output.status.success() {
        // At once, and not only after the last test: whoever reads a long log finds it where the test is named.
        let broken = out.lines().filter(|line| !line.starts_with("holds")).collect::<Vec<_>>().join("\n");
        let _ = std::io::stderr().write_all(format!("{broken}\n{err}\n").as_bytes());
        panic!("{out}\n{err}");
    }
    assert_eq!(out.lines().last(), Some("fine"), "{out}");
    print!("{out}");
}
