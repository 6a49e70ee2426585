//! A folder of its own for each test, and the program run in it with an environment that is always the same.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::{Cairn, NewThought, Options, ThoughtType, Timestamp};
use serde_json::Value;
use tempfile::TempDir;

use crate::it::database;

/// A folder without anything in it.
pub struct Place {
    folder: TempDir,
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// With a database `cairn.db` that holds the four thoughts of [`story`].
    pub fn with_story() -> Place {
        let place = Place::new();
        story(&place.path("cairn.db"));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The program, ready to be started in this folder; a database that `--db` names is where these tests have theirs.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.current_dir(self.folder.path()).env_clear();
        let mut args = args.iter().peekable();
        while let Some(arg) = args.next() {
            command.arg(arg);
            // A file that is named stands for a schema where the tests run on a server; roadmaps are where they would be.
            if *arg == "--db"
                && database::on_postgres()
                && let Some(file) = args.next_if(|file| !file.contains("://") && !self.path(file).is_dir())
            {
                command.arg(database::named(&self.path(file)));
                command.arg("--roadmaps").arg(Path::new(file).with_file_name("roadmaps"));
            }
        }
        command.env("HOME", self.path("home")).env("USER", "ada").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        finished(self.command(args).output().unwrap())
    }

    /// On the database that [`Place::with_story`] made.
    pub fn on_story(&self, args: &[&str]) -> Run {
        self.run(&[&["--db", "cairn.db"], args].concat())
    }

    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Run {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A program that refuses what it reads may stop reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        finished(child.wait_with_output().unwrap())
    }
}

fn finished(output: std::process::Output) -> Run {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

impl Run {
    /// The result of a run that went well, and the folder's name taken out of it.
    pub fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// The result of an export that went well and said how to verify the bundle.
    pub fn exported(self) -> String {
        assert!(self.code == 0 && self.err.starts_with("Anyone can verify it with one of:\n"), "{self:?}");
        self.out
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Ids and times that are the same on every run: thought `n` is recorded `n` minutes after noon.
pub fn open(path: &std::path::Path) -> (Cairn, impl Fn(u64) + use<>) {
    let now = Arc::new(AtomicU64::new(0));
    let (clock, ids) = (now.clone(), now.clone());
    let options = Options::new()
        .clock(move || {
            let minute = clock.load(Ordering::SeqCst);
            Timestamp::parse(format!("2026-04-17T12:{minute:02}:00.000Z")).unwrap()
        })
        .ids(move || id(ids.load(Ordering::SeqCst)));
    (database::open(options, path), move |minute| now.store(minute, Ordering::SeqCst))
}

/// The id of thought `n`. The first two share their milliseconds.
pub fn id(n: u64) -> String {
    format!("019d9b50-{:04x}-7{n:03x}-8000-00000000000{n}", 0x1000 + n.max(1))
}

/// A plan that forks into an analysis and a decision, which led to an action; and a thought of another session.
pub fn story(path: &std::path::Path) {
    let (cairn, at) = open(path);
    let record = |n: u64, thought: NewThought| {
        at(n);
        cairn.record(thought).unwrap();
    };
    let of = |kind, text: &str| NewThought::new(kind, text).session("storage").agent("ada");
    record(0, of(ThoughtType::Plan, "Choose a database"));
    record(1, of(ThoughtType::Analysis, "PostgreSQL needs a server").parent(id(0)));
    record(2, of(ThoughtType::Decision, "Use SQLite:\none file").parent(id(0)).action("commit-4f2a"));
    record(
        3,
        NewThought::new(ThoughtType::Reflection, "Ship on Friday")
            .task("release")
            .session("week-16")
            .agent("bob"),
    );
    cairn.close();
}
