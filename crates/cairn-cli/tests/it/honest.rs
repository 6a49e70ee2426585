//! Honest work with real processes raises no finding: eight of them write and are killed, others
//! back it up, copy it, move it and redact in it meanwhile.
//!
//! `CAIRN_HONEST=20` plays so many rounds; `CAIRN_HONEST_SEED=7` sets the seed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::processes::{acknowledged_until, hello, record, start_with};

/// A database, where it is now, and what this machine remembers of it.
struct Machine {
    folder: tempfile::TempDir,
    database: PathBuf,
    copies: Vec<PathBuf>,
}

impl Machine {
    fn cairn(&self, database: &Path, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cairn"))
            .arg("--db")
            .arg(database)
            .args(words)
            .env("CAIRN_STATE", self.state())
            .output()
            .unwrap()
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Runs a command that must work.
    fn does(&self, words: &[&str]) -> Output {
        let output = self.cairn(&self.database, words);
        assert!(output.status.success(), "cairn {}: {}", words.join(" "), told(&output));
        output
    }

    /// `cairn verify` finds nothing.
    fn silent(&self, database: &Path, what: &str) {
        let output = self.cairn(database, &["verify"]);
        assert!(output.status.success(), "{what}: {}", told(&output));
    }

    /// A place for a copy, in a folder of its own.
    fn place(&mut self) -> PathBuf {
        let folder = self.folder.path().join(format!("copy {}", self.copies.len()));
        fs::create_dir(&folder).unwrap();
        self.copies.push(folder.join("cairn.db"));
        folder.join("cairn.db")
    }

    fn back_up(&mut self, what: &str) {
        let copy = self.place();
        self.does(&["backup", copy.to_str().unwrap()]);
        self.silent(&copy, what);
    }

    /// Copies the files as `cp` does.
    fn copy(&mut self, what: &str) {
        let copy = self.place();
        for end in ["", "-wal"] {
            let from = format!("{}{end}", self.database.display());
            if Path::new(&from).exists() {
                fs::copy(from, format!("{}{end}", copy.display())).unwrap();
            }
        }
        self.silent(&copy, what);
    }
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |value| value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn eight_processes_that_are_killed_copied_and_moved_raise_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("cairn.db");
    let mut machine = Machine { folder, database, copies: Vec::new() };
    machine.does(&["record", "plan", "the first", "-s", "s"]);
    let mut seed = number("CAIRN_HONEST_SEED", 20_260_417);
    for round in 0..number("CAIRN_HONEST", 3) {
        let writers: Vec<_> = (0..8)
            .map(|process| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let after = 1 + (seed >> 33) as usize % 60;
                let mut requests = hello();
                requests.extend(
                    (0..2000)
                        .map(|i| record(i, &format!("task {}", i % 3), &format!("{round}/{process}/{i}"))),
                );
                let mut child = start_with(&machine.database, &machine.state(), requests);
                std::thread::spawn(move || {
                    acknowledged_until(&mut child, after);
                    child.wait().unwrap()
                })
            })
            .collect();
        // At least once while they write, and again until the last one is killed.
        loop {
            machine.back_up("a backup while eight processes write");
            machine.silent(&machine.database, "the database while eight processes write");
            if writers.iter().all(|writer| writer.is_finished()) {
                break;
            }
        }
        for writer in writers {
            writer.join().unwrap();
        }
        machine.copy("a copy of what the killed left behind");
        machine.silent(&machine.database, "the database after they were killed");
        let newest = machine.does(&["list", "--last", "3", "--json"]);
        let newest: Value = serde_json::from_slice(&newest.stdout).unwrap();
        let id = newest["records"][0]["id"].as_str().unwrap().to_string();
        machine.does(&["redact", &id, "--reason", "a name", "--yes"]);
        machine.does(&["doctor", "--rebuild"]);
        machine.does(&["checkpoint"]);
        machine.copy("a copy of the closed database");
        machine.silent(&machine.database, "the database after a redaction and a rebuild");
        let moved = machine.folder.path().join(format!("moved {round}"));
        fs::create_dir(&moved).unwrap();
        fs::rename(&machine.database, moved.join("cairn.db")).unwrap();
        machine.database = moved.join("cairn.db");
        machine.silent(&machine.database, "the database at another place");
        machine.does(&["record", "plan", "after the move", "-s", "s"]);
        machine.silent(&machine.database, "the database that goes on at another place");
    }
    for copy in &machine.copies {
        machine.silent(copy, "an older copy");
    }
}
