//! `scripts/check-layers` sees every way in which code can name what it must not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the sources that the script reads, and of the script.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    fn new() -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        for crate_name in ["cairn-core", "cairn", "cairn-cli"] {
            let sources = PathBuf::from("crates").join(crate_name).join("src");
            copy(&root.join(&sources), &folder.path().join(&sources));
        }
        let files = ["scripts/check-layers", "crates/cairn-core/Cargo.toml"];
        fs::create_dir(folder.path().join("scripts")).unwrap();
        for file in files {
            fs::copy(root.join(file), folder.path().join(file)).unwrap();
        }
        Tree { folder }
    }

    /// Puts lines at the end of a file, and returns the place of each as the script names it.
    fn add(&self, file: &str, lines: &str) -> Vec<String> {
        let path = self.folder.path().join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{before}{lines}\n")).unwrap();
        let first = before.lines().count() + 1;
        (first..first + lines.lines().count()).map(|line| format!("{file}:{line}: ")).collect()
    }

    /// Runs the script; returns whether it succeeds, and its output.
    fn check(&self) -> (bool, String) {
        let output = Command::new("python3")
            .arg(self.folder.path().join("scripts/check-layers"))
            .output()
            .expect("scripts/check-layers needs python3");
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(printed).unwrap())
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

const ROWS: &str = "crates/cairn/src/store/rows.rs";
const SQLITE: &str = "crates/cairn/src/store/sqlite/context.rs";
const POSTGRES: &str = "crates/cairn/src/store/postgres/context.rs";
const INDEX: &str = "crates/cairn/src/store/sqlite/fts5/segment.rs";
const LIBRARY: &str = "crates/cairn/src/memory/brief.rs";
const CORE: &str = "crates/cairn-core/src/hash.rs";
const PROGRAM: &str = "crates/cairn-cli/src/main.rs";

/// Code that breaks a rule, each piece in the file that it stands in. `!` marks the lines that are named.
const FORBIDDEN: [(&str, &str); 25] = [
    (ROWS, "use crate::verify::Report; //!"),
    (ROWS, "pub use crate::context::Drift as Changed; //!"),
    (ROWS, "use crate::{store::Damage, error::Error}; //!"),
    (
        ROWS,
        "use crate::{\n    store::Damage,\n    proof::{\n        Signer, //!\n        Proof, //!\n    },\n};",
    ),
    (ROWS, "use crate::*; //!"),
    (ROWS, "use crate as root; //!"),
    (ROWS, "use super::super::Cairn; //!"),
    (ROWS, "mod inside {\n    use super::super::super::Cairn; //!\n    use super::super::Damage;\n}"),
    (ROWS, "fn named(handle: &crate::handle::Cairn) {} //!"),
    (ROWS, "fn climbed(handle: &super::super::Cairn) {} //!"),
    (ROWS, "fn spaced() {\n    crate /* far */ :: //!\n        bundle::export();\n}"),
    (ROWS, "#[path = \"../verify.rs\"] //!\nmod other;"),
    (ROWS, "use rusqlite::Connection; //!"),
    (SQLITE, "use super::super::super::search::SearchQuery; //!"),
    (INDEX, "use super::super::super::super::token::NewToken; //!"),
    (SQLITE, "use crate::store::postgres::Address; //!"),
    (SQLITE, "use crate::store::{Damage as Harm, postgres::{self}}; //!"),
    (SQLITE, "fn far() -> super::super::postgres::PostgresStore {} //!"),
    (SQLITE, "use tokio_postgres::Row as FarRow; //!"),
    (POSTGRES, "use super::super::sqlite::BUSY; //!"),
    (POSTGRES, "fn near(row: &rusqlite::Row<'_>) {} //!"),
    (LIBRARY, "fn near(row: &rusqlite::Row<'_>) {} //!"),
    (LIBRARY, "const SQL: &str = \"SELECT name //!\n  FROM task\";"),
    (CORE, "use std::{fmt::Debug, fs}; //!"),
    (PROGRAM, "use cairn::{Cairn as Handle, store::Store}; //!"),
];

/// Code that breaks no rule, though a search for words would take it for a breach.
const ALLOWED: [(&str, &str); 8] = [
    (ROWS, "// use crate::verify::Report;"),
    (ROWS, "/* /* use crate::verify::Report; */ use super::super::Cairn; */"),
    (ROWS, "const WORDS: &str = \"use crate::verify::Report;\";"),
    (ROWS, "const RAW: &str = r#\"\"crate::verify\"#;"),
    (ROWS, "mod deep {\n    mod deeper {\n        use super::super::super::Damage;\n    }\n}"),
    (
        ROWS,
        "fn generic<'a>(quote: char, other: &'a str) -> bool { quote == '\"' && other == \"crate::verify\" }",
    ),
    (SQLITE, "use super::super::{Damage as Harm, self as store};"),
    (LIBRARY, "// SELECT name FROM task"),
];

#[test]
fn code_in_order_is_kept_and_each_breach_is_named_with_its_line() {
    let tree = Tree::new();
    for (file, code) in ALLOWED {
        tree.add(file, code);
    }
    let (kept, printed) = tree.check();
    assert!(kept, "{printed}");

    let mut named = Vec::new();
    for (file, code) in FORBIDDEN {
        let places = tree.add(file, code);
        let marked: Vec<_> =
            places.into_iter().zip(code.lines()).filter(|(_, line)| line.contains("//!")).collect();
        assert!(!marked.is_empty(), "{code}");
        named.extend(marked);
    }
    let (kept, printed) = tree.check();
    assert!(!kept, "{printed}");
    for (place, line) in &named {
        assert!(printed.contains(&format!("\n{place}")), "{place}{line}\nis not among:\n{printed}");
    }
    let lines = printed.lines().filter(|line| line.starts_with("crates/"));
    let others: Vec<_> =
        lines.filter(|line| !named.iter().any(|(place, _)| line.starts_with(place))).collect();
    assert!(others.is_empty(), "{others:?}");
}
