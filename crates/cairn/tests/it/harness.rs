//! A database in a folder of its own, with a clock and ids that count.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::{Cairn, Error, Issue, NewThought, Options, Report, Scope, Thought, ThoughtType, Timestamp};
use rusqlite::Connection;
use tempfile::TempDir;

pub struct TestCairn {
    pub cairn: Cairn,
    folder: TempDir,
}

impl std::ops::Deref for TestCairn {
    type Target = Cairn;

    fn deref(&self) -> &Cairn {
        &self.cairn
    }
}

/// Ids `r1`, `r2` …, one second apart.
pub fn counting() -> Options {
    let (ids, seconds) = (AtomicU64::new(1), AtomicU64::new(0));
    Options::new().ids(move || format!("r{}", ids.fetch_add(1, Ordering::Relaxed))).clock(move || {
        let now = seconds.fetch_add(1, Ordering::Relaxed);
        let text = format!("2026-04-17T{:02}:{:02}:{:02}.000Z", now / 3600 % 24, now / 60 % 60, now % 60);
        Timestamp::parse(text).unwrap()
    })
}

fn signing_in(folder: &Path) -> Options {
    let options =
        Options::new().signer(cairn::KeyFolder::new(folder.join("keys"))).heads(folder.join("heads"));
    // Early, so that short sessions have kept states as well.
    options.keep_states_after(2)
}

impl TestCairn {
    pub fn new() -> TestCairn {
        TestCairn::with(counting())
    }

    /// With the ids and the clock that users get.
    pub fn real() -> TestCairn {
        TestCairn::with(Options::new())
    }

    /// Like [`TestCairn::real`], with a key and a memory of heads.
    pub fn signing() -> TestCairn {
        let folder = tempfile::tempdir().unwrap();
        let options = signing_in(folder.path());
        let cairn = options.open(folder.path().join("cairn.db")).unwrap();
        TestCairn { cairn, folder }
    }

    /// How [`TestCairn::signing`] was opened.
    pub fn options(&self) -> Options {
        signing_in(self.folder.path())
    }

    pub fn with(options: Options) -> TestCairn {
        let folder = tempfile::tempdir().unwrap();
        let cairn = options.open(folder.path().join("cairn.db")).unwrap();
        TestCairn { cairn, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("cairn.db")
    }

    /// A second handle on the same file, as another process would have it.
    pub fn another(&self) -> Cairn {
        Cairn::open(self.path()).unwrap()
    }

    /// A connection behind Cairn's back.
    pub fn sql(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Records a thought of session `s` and verifies everything.
    pub fn think(&self, kind: ThoughtType, content: &str, parent: Option<&Thought>) -> Thought {
        let mut draft = NewThought::new(kind, content).session("s").agent("ada");
        if let Some(parent) = parent {
            draft = draft.parent(&parent.id);
        }
        let thought = self.cairn.record(draft).unwrap();
        self.check();
        thought
    }

    /// Waits until the file keeps the states of so many sessions, which happens when the writer has nothing else to do.
    pub fn wait_for_folds(&self, sessions: u64) {
        let sql = self.sql();
        let count = || sql.query_row("SELECT count(*) FROM fold", [], |row| row.get::<_, u64>(0)).unwrap();
        for _ in 0..600 {
            if count() >= sessions {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{} states are kept, not {sessions}", count());
    }

    /// Everything that is stored verifies.
    pub fn check(&self) -> Report {
        let report = self.cairn.verify(&Scope::All).unwrap();
        assert!(report.valid(), "{:#?}", report.findings);
        report
    }
}

pub fn plan(task: &str, content: &str) -> NewThought {
    NewThought::new(ThoughtType::Plan, content).task(task).agent("ada")
}

/// The issues of a refused call, as `path: message`.
pub fn issues<T: std::fmt::Debug>(result: Result<T, Error>) -> Vec<String> {
    match result {
        Err(Error::Invalid(issues)) => {
            issues.iter().map(|Issue { path, message }| format!("{path}: {message}")).collect()
        }
        other => panic!("expected INVALID_PARAMS, got {other:?}"),
    }
}
