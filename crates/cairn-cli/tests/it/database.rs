//! Where the databases of these tests are: in files, or, where `CAIRN_TEST_POSTGRES` names a PostgreSQL server
//! (`postgres://…`, with a role that may do everything), each in a schema of its own there. A test names a file either
//! way; on a server the file is never made, and what belongs beside it (roadmaps, keys, heads) still is where it would be.
//! What is about SQLite's file alone says so with [`sqlites_own`].

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cairn::{Cairn, Options};

/// The server that the tests run on, if their databases are not files.
fn server() -> Option<String> {
    std::env::var("CAIRN_TEST_POSTGRES").ok().filter(|server| !server.is_empty())
}

/// Whether the tests run on PostgreSQL.
pub fn on_postgres() -> bool {
    server().is_some()
}

/// Ends a test that is about SQLite's file when the tests run on PostgreSQL; says why.
macro_rules! sqlites_own {
    ($why:literal) => {
        if crate::it::database::on_postgres() {
            eprintln!("SQLite's own: {}", $why);
            return;
        }
    };
}
pub(crate) use sqlites_own;

/// The schema that stands for a file; files of tests are in folders that nobody else has.
fn schema(file: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    format!("t_{:016x}", hasher.finish())
}

/// What the program is told with `--db`.
pub fn named(file: &Path) -> PathBuf {
    match server() {
        None => file.to_path_buf(),
        Some(server) => PathBuf::from(format!("{server}?schema={}", schema(file))),
    }
}

/// The roadmaps of a database, which are beside its file.
fn roadmaps(file: &Path) -> PathBuf {
    file.with_file_name("roadmaps")
}

/// What the program is told to work on a database.
pub fn args(file: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["--db".into(), named(file).into()];
    if on_postgres() {
        args.extend(["--roadmaps".into(), roadmaps(file).into()]);
    }
    args
}

/// Opens a database as the library does.
pub fn open(options: Options, file: &Path) -> Cairn {
    options.roadmaps(roadmaps(file)).open(named(file)).unwrap()
}

/// Changes rows of a table behind Cairn's back, with what protects them out of the way meanwhile; returns how many.
pub fn tamper(file: &Path, change: &str) -> usize {
    if let Some(server) = server() {
        return psql(&server, &unprotected(file, change)).trim().parse().unwrap();
    }
    let file = rusqlite::Connection::open(file).unwrap();
    let triggers: Vec<(String, String)> = file
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .and_then(|mut query| query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .unwrap();
    triggers.iter().for_each(|(name, _)| file.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
    let changed = file.execute(change, []).unwrap();
    triggers.iter().for_each(|(_, text)| file.execute_batch(text).unwrap());
    changed
}

/// A command that changes one text behind Cairn's back and prints how many rows that were, as one could do it who has the
/// file, or every right on the server.
pub fn attack(file: &Path) -> Vec<String> {
    let change = "UPDATE thought SET content = replace(content, '0.8 s', '0.2 s') WHERE content LIKE '%4.1 s to 0.8 s%'";
    match server() {
        Some(server) => {
            let mut psql = vec!["psql".to_string()];
            psql.extend(psql_args(&server, &unprotected(file, change)));
            psql
        }
        None => ["python3", "-c", EDIT, &file.display().to_string(), change].map(str::to_string).to_vec(),
    }
}

/// The triggers that refuse it are dropped and put back.
const EDIT: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
triggers = db.execute(\"SELECT name, sql FROM sqlite_master WHERE type = 'trigger'\").fetchall()
for name, _ in triggers:
    db.execute(f'DROP TRIGGER \"{name}\"')
changed = db.execute(sys.argv[2]).rowcount
for _, sql in triggers:
    db.execute(sql)
db.commit()
print(changed)
";

/// What does it on the server: triggers are off for whoever says so and may.
fn unprotected(file: &Path, change: &str) -> String {
    format!(
        "SET search_path = {}; SET session_replication_role = replica;
         WITH changed AS ({change} RETURNING 1) SELECT count(*) FROM changed",
        schema(file)
    )
}

fn psql_args(server: &str, statements: &str) -> Vec<String> {
    [server, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", statements].map(str::to_string).to_vec()
}

/// For connections that write where others may not.
const WRITING: &str = "-c default_transaction_read_only=off -c client_min_messages=error";

/// Runs statements as the server's own client does; returns what they print.
fn psql(server: &str, statements: &str) -> String {
    let output = Command::new("psql")
        .args(psql_args(server, statements))
        .env("PGOPTIONS", WRITING)
        .output()
        .unwrap_or_else(|error| panic!("cannot run psql, which comes with PostgreSQL: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Another writer that has begun and does not come to an end, until it is dropped.
pub enum Holder {
    File(#[expect(dead_code, reason = "its transaction ends with it")] rusqlite::Connection),
    Server(Child),
}

impl Holder {
    pub fn of(file: &Path) -> Holder {
        let Some(server) = server() else {
            let file = rusqlite::Connection::open(file).unwrap();
            file.execute_batch("BEGIN IMMEDIATE").unwrap();
            return Holder::File(file);
        };
        let mut psql = Command::new("psql")
            .args([&server, "-XqAt", "-v", "ON_ERROR_STOP=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let hold = format!("SET search_path = {}; BEGIN; SELECT 'held' FROM log FOR UPDATE;", schema(file));
        writeln!(psql.stdin.as_ref().unwrap(), "{hold}").unwrap();
        let mut line = String::new();
        BufReader::new(psql.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Holder::Server(psql)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Holder::Server(psql) = self {
            // The end of its input is the end of its transaction.
            drop(psql.stdin.take());
            let _ = psql.wait();
        }
    }
}

/// The database once more, under the name of another file.
pub fn copy(from: &Path, to: &Path) {
    match server() {
        Some(server) => restore(&server, &schema(from), &server, &schema(to)),
        None => {
            let mut backup = Command::new(env!("CARGO_BIN_EXE_cairn"));
            let output = backup.arg("--db").arg(from).arg("backup").arg(to).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Copies a schema as an administrator would. The dump names it in every line, and no text of a test does.
fn restore(from: &str, schema: &str, to: &str, name: &str) {
    let dump = Command::new("pg_dump").args([from, "-O", "-n", schema]).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    let text = String::from_utf8(dump.stdout).unwrap().replace(schema, name);
    let mut psql = Command::new("psql")
        .args([to, "-Xq", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-o", "/dev/null"])
        .env("PGOPTIONS", WRITING)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    psql.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(psql.wait().unwrap().success());
}

/// A copy of a database, in a database of its own on the same server, that refuses writes and follows when it is told to.
pub struct Replica {
    /// Where it is, without the schema, which is that of what it is a copy of.
    pub address: String,
    file: PathBuf,
    name: String,
}

impl Replica {
    /// A copy of the database that stands for a file.
    pub fn of(file: &Path) -> Replica {
        let server = server().expect("there are replicas on a server only");
        let name = format!("copy_{}", schema(file));
        psql(&server, &format!("CREATE DATABASE {name}"));
        let address = format!("{}/{name}", server.rsplit_once('/').unwrap().0);
        psql(&address, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"));
        let replica = Replica { address, file: file.to_path_buf(), name };
        replica.follow_other(file);
        replica
    }

    /// Takes everything that was written meanwhile.
    pub fn follow(&self) {
        self.empty();
        self.follow_other(&self.file);
    }

    /// Becomes a copy of another database.
    pub fn follow_other(&self, file: &Path) {
        restore(&server().unwrap(), &schema(file), &self.address, &schema(&self.file));
    }

    /// Loses everything.
    pub fn empty(&self) {
        let schema = schema(&self.file);
        psql(&self.address, &format!("DROP SCHEMA {schema} CASCADE"));
    }

    /// Takes writes from now on.
    pub fn writable(&self) {
        psql(&self.address, &format!("ALTER DATABASE {} RESET default_transaction_read_only", self.name));
    }

    /// The address, for whoever takes it for a database.
    pub fn with_schema(&self) -> String {
        format!("{}?schema={}", self.address, schema(&self.file))
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        psql(&server().unwrap(), &format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}
