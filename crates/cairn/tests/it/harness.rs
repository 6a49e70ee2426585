//! A database in a place of its own, with a clock and ids that count.
//!
//! The place is a file, or a schema of the PostgreSQL server that `CAIRN_TEST_POSTGRES` names (`postgres://…`, whose role must
//! be allowed everything): then the same tests run there. What is about SQLite's file alone says so with [`sqlites_own`].

#[path = "harness/slip.rs"]
pub mod slip;
#[path = "harness/sql.rs"]
mod sql;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::{Cairn, Error, Issue, NewThought, Options, Report, Scope, Thought, ThoughtType, Timestamp};
pub use sql::{Row, Sql};
use tempfile::TempDir;

/// The server that the tests run on, if it is not a file.
pub fn server() -> Option<&'static str> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let server = std::env::var("CAIRN_TEST_POSTGRES").ok().filter(|server| !server.is_empty())?;
        // Two functions that SQLite has, for what tests do behind Cairn's back.
        let helpers = "SELECT pg_advisory_lock(4711); CREATE SCHEMA IF NOT EXISTS cairn_test;
            CREATE OR REPLACE FUNCTION cairn_test.zeroblob(length INT) RETURNS BYTEA LANGUAGE sql IMMUTABLE
              AS $$ SELECT decode(repeat('00', length), 'hex') $$;
            CREATE OR REPLACE FUNCTION cairn_test.hex(bytes BYTEA) RETURNS TEXT LANGUAGE sql IMMUTABLE
              AS $$ SELECT coalesce(upper(encode(bytes, 'hex')), '') $$;
            SELECT pg_advisory_unlock(4711)";
        Sql::on(&server).execute_batch(helpers).unwrap();
        Some(server)
    });
    server.as_deref()
}

/// Whether the tests run on PostgreSQL.
pub fn on_postgres() -> bool {
    server().is_some()
}

/// Ends a test that is about SQLite's file when the tests run on PostgreSQL; says why.
macro_rules! sqlites_own {
    ($why:literal) => {
        if crate::harness::on_postgres() {
            eprintln!("SQLite's own: {}", $why);
            return;
        }
    };
}
pub(crate) use sqlites_own;

/// The server and the schema that an address names; none of a file.
fn schema_of(path: &Path) -> Option<(&'static str, &str)> {
    Some((server()?, path.to_str()?.split_once("?schema=")?.1))
}

/// A folder for what a test writes, and for its databases. Both are gone afterwards.
pub struct Folder {
    folder: TempDir,
    number: u64,
}

impl Folder {
    pub fn new() -> Folder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Folder { folder: tempfile::tempdir().unwrap(), number: NUMBER.fetch_add(1, Ordering::Relaxed) }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn schemas(&self) -> String {
        format!("t_{}_{}_", std::process::id(), self.number)
    }

    /// Where the database of that name is.
    pub fn database(&self, name: &str) -> PathBuf {
        let Some(server) = server() else { return self.path().join(name) };
        let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        PathBuf::from(format!("{server}?schema={}{}", self.schemas(), name.to_ascii_lowercase()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let Some(server) = server() else { return };
        let sql = Sql::on(server);
        let list = "SELECT nspname::TEXT FROM pg_namespace WHERE starts_with(nspname, ?1)";
        for schema in sql.query(list, [self.schemas()], |row| row.get::<String>(0)).unwrap_or_default() {
            // A test that failed may hold it still; its process ends soon.
            let _ = sql.execute_batch(&format!("SET lock_timeout = '2s'; DROP SCHEMA {schema} CASCADE"));
        }
    }
}

/// Removes a database.
pub fn remove(path: &Path) {
    match schema_of(path) {
        Some((server, schema)) => {
            let (sql, drop) = (Sql::on(server), format!("DROP SCHEMA IF EXISTS {schema} CASCADE"));
            // Whoever has it open may be at work in it, and each wait for a table that the other one holds.
            let mut dropped = sql.execute_batch(&drop);
            for _ in 0..20 {
                match &dropped {
                    Err(error) if error.contains("deadlock detected") => dropped = sql.execute_batch(&drop),
                    _ => break,
                }
            }
            dropped.unwrap();
        }
        None => {
            for end in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{end}", path.display()));
            }
        }
    }
}

/// Puts a copy of a database, as it is at this moment, in the place of another.
pub fn copy(from: &Path, to: &Path) {
    remove(to);
    let (Some((_, old)), Some((_, new))) = (schema_of(from), schema_of(to)) else {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        for end in ["", "-wal", "-shm"] {
            let name = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
            if name(from).exists() {
                std::fs::copy(name(from), name(to)).unwrap();
            }
        }
        return;
    };
    // A new database of ours, and then the rows.
    drop(Cairn::open(to).unwrap());
    let sql = Sql::open(to);
    sql.unprotected(|sql| {
        let tables = tables(sql);
        let rows: String = tables
            .iter()
            .map(|table| {
                format!("INSERT INTO {new}.{table} OVERRIDING SYSTEM VALUE SELECT * FROM {old}.{table};")
            })
            .collect();
        sql.execute_batch(&format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE {}; {rows} COMMIT",
            tables.join(", ")
        ))
        .unwrap();
        for (sequence, column) in [("rag_documents_no_seq", "rag_documents"), ("token_no_seq", "token")] {
            let next =
                format!("SELECT setval('{new}.{sequence}', 1 + (SELECT coalesce(max(no), 0) FROM {column}))");
            sql.execute_batch(&next).unwrap();
        }
    });
}

/// The tables of a schema.
pub fn tables(sql: &Sql) -> Vec<String> {
    let list = "SELECT relname::TEXT FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
                ORDER BY relname";
    sql.query(list, [], |row| row.get(0)).unwrap()
}

pub struct TestCairn {
    pub cairn: Cairn,
    folder: Folder,
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
        let folder = Folder::new();
        let options = signing_in(folder.path());
        TestCairn::opened(options, folder)
    }

    /// How [`TestCairn::signing`] was opened.
    pub fn options(&self) -> Options {
        signing_in(self.folder.path())
    }

    pub fn with(options: Options) -> TestCairn {
        TestCairn::opened(options, Folder::new())
    }

    fn opened(options: Options, folder: Folder) -> TestCairn {
        let options = options.roadmaps(folder.path().join("roadmaps"));
        let cairn = options.open(folder.database("cairn.db")).unwrap();
        TestCairn { cairn, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.database("cairn.db")
    }

    /// Where another one could be.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.database(name)
    }

    /// A copy of it, as a backup would be, in a place of that name.
    pub fn copy(&self, name: &str) -> PathBuf {
        let to = self.folder.database(name);
        if on_postgres() {
            copy(&self.path(), &to);
        } else {
            remove(&to);
            self.backup(&to, &mut |_| {}).unwrap();
        }
        to
    }

    /// A second handle on the same database, as another process would have it.
    pub fn another(&self) -> Cairn {
        Options::new().roadmaps(self.folder().join("roadmaps")).open(self.path()).unwrap()
    }

    /// A connection behind Cairn's back.
    pub fn sql(&self) -> Sql {
        Sql::open(&self.path())
    }

    /// Changes something behind Cairn's back, with the seat belts off.
    pub fn tamper(&self, change: &str) {
        self.sql().unprotected(|sql| sql.execute_batch(change).unwrap());
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
        let count = || sql.query_row("SELECT count(*) FROM fold", [], |row| row.get::<u64>(0)).unwrap();
        let began = std::time::Instant::now();
        while count() < sessions {
            assert!(began.elapsed().as_secs() < 120, "{} states are kept, not {sessions}", count());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
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
