//! A folder with a database and a state folder that is put back before each run, and the program run in it with or
//! without faults.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

pub struct Ground {
    folder: TempDir,
}

/// A call that goes wrong: the how many-th, and in which way.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub at: usize,
    pub how: &'static str,
}

/// What a run left behind; all of it is shown if something is wrong.
#[derive(Debug)]
#[allow(dead_code, reason = "shown when a test fails")]
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Ground {
    pub fn new() -> Ground {
        // In memory, if there is such a place: what is synced a thousand times need not wait for a disk.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let ground = Ground { folder: folder.unwrap() };
        fs::create_dir_all(ground.data()).unwrap();
        ground
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// All that a run may change: heads say where a database is, so it is always in the same place.
    pub fn now(&self) -> PathBuf {
        self.path("now")
    }

    pub fn data(&self) -> PathBuf {
        self.now().join("data")
    }

    pub fn state(&self) -> PathBuf {
        self.now().join("state")
    }

    pub fn trace(&self) -> PathBuf {
        self.path("trace")
    }

    /// Keeps everything as it is now.
    pub fn keep(&self) {
        copy_folder(&self.now(), &self.path("kept"));
    }

    /// Puts back what was kept.
    pub fn reset(&self) {
        fs::remove_dir_all(self.now()).unwrap();
        copy_folder(&self.path("kept"), &self.now());
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command.args(args).current_dir(self.now()).env_clear().env("CAIRN_DB", "data/cairn.db");
        command.env("CAIRN_STATE", self.state()).env("USER", "ada").env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        finish(self.command(args), "")
    }

    /// What must go well.
    pub fn fine(&self, args: &[&str]) -> Run {
        let run = self.run(args);
        assert!(run.ok(), "{args:?}: {run:?}");
        run
    }

    fn watched(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        command.env("LD_PRELOAD", shim()).env("CAIRN_FAULT_BELOW", self.now());
        command
    }

    pub fn run_with(&self, fault: Fault, args: &[&str], input: &str) -> Run {
        let mut command = self.watched(args);
        command.env("CAIRN_FAULT_AT", fault.at.to_string()).env("CAIRN_FAULT_HOW", fault.how);
        finish(command, input)
    }

    /// Writes down what it does with files.
    pub fn run_traced(&self, args: &[&str], input: &str) -> Run {
        let mut command = self.watched(args);
        command.env("CAIRN_FAULT_TRACE", self.trace());
        finish(command, input)
    }

    /// The ids of all thoughts that are stored.
    pub fn ids(&self) -> Vec<String> {
        self.ids_in("data/cairn.db")
    }

    /// The ids of all thoughts in the database of this name.
    pub fn ids_in(&self, file: &str) -> Vec<String> {
        let database = self.now().join(file);
        if !database.exists() {
            return Vec::new();
        }
        let connection = rusqlite::Connection::open(database).unwrap();
        let mut ids = connection.prepare("SELECT id FROM thought ORDER BY seq").unwrap();
        let ids = ids.query_map([], |row| row.get(0)).unwrap();
        ids.map(Result::unwrap).collect()
    }

    /// Every file in there, relative to it.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.now(), &mut found);
        let relative = |path: &PathBuf| path.strip_prefix(self.now()).unwrap().display().to_string();
        found.iter().map(relative).collect()
    }
}

fn finish(mut command: Command, input: &str) -> Run {
    let mut child = command.spawn().unwrap();
    // A program that fails may not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Compiled once, from C: nothing else can stand between a program and its system.
fn shim() -> &'static Path {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/faults.c");
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
        let cc = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&made, &source])
            .status();
        assert!(cc.expect("a C compiler, which SQLite needs as well").success());
        // One for all runs of the tests, put there whole.
        let shim = made.with_file_name("faults.so");
        fs::rename(made, &shim).unwrap();
        shim
    })
}

fn list(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => list(&entry.path(), found),
            false => found.push(entry.path()),
        }
    }
}

pub fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
    fs::set_permissions(to, fs::Permissions::from_mode(from.metadata().unwrap().permissions().mode()))
        .unwrap();
}
