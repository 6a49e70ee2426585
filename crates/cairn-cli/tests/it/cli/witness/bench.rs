//! A database with a key, in one folder; the client's state in another; room for witnesses in a third.

use std::path::{Path, PathBuf};

use cairn::core::note::VerifyingKey;
use cairn::{Cairn, KeyFolder, NewThought, Options, Signer, Stated, ThoughtType};
use serde_json::Value;

use crate::it::cli::harness::{Place, Run};
use crate::it::database;

pub struct Bench {
    pub place: Place,
}

impl Bench {
    /// With one thought, under a signed checkpoint.
    pub fn new() -> Bench {
        let bench = Bench { place: Place::new() };
        std::fs::create_dir(bench.path("data")).unwrap();
        std::fs::create_dir(bench.path("elsewhere")).unwrap();
        bench.think("one");
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path(name)
    }

    /// The path as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn keys(&self) -> KeyFolder {
        KeyFolder::new(self.path("state/keys"))
    }

    pub fn open(&self) -> Cairn {
        database::open(Options::new().signer(self.keys()), &self.path("data/cairn.db"))
    }

    /// Records a thought and states the log.
    pub fn think(&self, text: &str) -> Stated {
        let cairn = self.open();
        cairn.record(NewThought::new(ThoughtType::Decision, text).session("s").agent("ada")).unwrap();
        let stated = cairn.checkpoint().unwrap();
        cairn.close();
        stated
    }

    /// The newest checkpoint.
    pub fn newest(&self) -> Stated {
        self.open().newest_checkpoint().unwrap().unwrap()
    }

    pub fn key(&self) -> VerifyingKey {
        let origin = self.open().status().unwrap().origin;
        self.keys().keys(&origin).unwrap().remove(0)
    }

    pub fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = self.place.command(args);
        command
            .env("CAIRN_DB", database::named(&self.path("data/cairn.db")))
            .env("CAIRN_STATE", self.path("state"));
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    pub fn fine(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{}\n{}", run.out, run.err);
        run.out
    }

    /// Publishes, and every witness takes it.
    #[track_caller]
    pub fn publish(&self) {
        let out = self.fine(&["witness", "publish"]);
        assert!(out.lines().any(|line| line.starts_with("taken ")), "{out}");
    }

    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        self.run(&[&["--json"], args].concat()).json()
    }

    /// The verdict on each witness, by `cairn witness check`.
    pub fn verdicts(&self) -> Vec<String> {
        let data = self.json(&["witness", "check"]);
        let verdict = |one: &Value| one["verdict"].as_str().unwrap().to_string();
        data["witnesses"].as_array().unwrap().iter().map(verdict).collect()
    }

    /// Keeps a copy of the database.
    pub fn save(&self) {
        let _ = std::fs::remove_dir_all(self.path("saved"));
        copy(&self.path("data"), &self.path("saved"));
    }

    /// Puts the copy back. What this machine itself remembers is gone too: the witness alone is to tell.
    pub fn restore(&self) {
        std::fs::remove_dir_all(self.path("data")).unwrap();
        copy(&self.path("saved"), &self.path("data"));
        let _ = std::fs::remove_dir_all(self.path("state/heads"));
    }

    /// The two attacks that only somebody outside notices: the witness that was added is expected to see through both.
    #[track_caller]
    pub fn rollback_and_fork_are_found(&self, witness: &str) {
        assert_eq!(self.run(&["verify"]).code, 0);
        assert_eq!(self.verdicts(), ["agrees"]);
        self.save();
        self.think("two");
        let size = self.think("three").size;
        self.publish();
        assert_eq!((self.verdicts(), self.run(&["verify"]).code), (vec!["agrees".into()], 0));

        self.restore();
        let run = self.run(&["verify"]);
        assert_eq!(run.code, 1, "{}", run.out);
        let told = run.out.replace("\n            ", "");
        assert!(told.contains(&format!("at least {size}\n")), "{told}");
        let findings = self.json(&["verify"]);
        let message = findings["findings"][0]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("witness `{witness}` (")), "{message}");
        assert!(message.contains(&format!("saw {size} entries on 20")), "{message}");
        let check = self.run(&["witness", "check"]);
        assert_eq!(check.code, 1, "{}", check.out);
        assert!(check.out.starts_with("contradicts  witness"), "{}", check.out);
        self.all_say_the_same();

        for text in ["other two", "other three", "other four"] {
            self.think(text);
        }
        let run = self.json(&["verify"]);
        assert_eq!(run["valid"], false, "{run}");
        let message = run["findings"][0]["message"].as_str().unwrap();
        assert!(message.contains("the log was rewritten, or this is another branch"), "{message}");
        assert_eq!(self.run(&["witness", "check"]).code, 1);
        self.all_say_the_same();
    }

    /// `verify`, `doctor` and `witness check` use one sentence for what the one witness has seen.
    #[track_caller]
    fn all_say_the_same(&self) {
        let found = self.json(&["verify"])["findings"][0]["message"].clone();
        let checked = self.json(&["witness", "check"])["witnesses"][0].clone();
        let doctor = self.json(&["doctor"]);
        let checks = doctor["checks"].as_array().unwrap();
        let told = checks.iter().find(|check| check["name"] == "witness").expect("doctor tells of it");
        assert_eq!((&told["message"], &told["state"]), (&found, &"problem".into()), "{doctor}");
        assert_eq!((&checked["message"], &checked["verdict"]), (&found, &"contradicts".into()));
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
