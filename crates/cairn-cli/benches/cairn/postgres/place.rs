//! A PostgreSQL server of the benchmark's own, which syncs what it commits.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

/// What it is started with, beside where it is. A checkpoint of the server in the middle of one contestant's turn would be
/// counted against that one.
const SETTINGS: [&str; 7] = [
    "listen_addresses=",
    "fsync=on",
    "synchronous_commit=on",
    "shared_buffers=1GB",
    "max_wal_size=8GB",
    "max_connections=200",
    "checkpoint_timeout=30min",
];

/// A running server; ended and removed with this.
pub struct Place {
    binaries: PathBuf,
    folder: TempDir,
    runtime: Runtime,
}

/// The folder of the newest server that is installed.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.into_iter().rev().find(|folder| folder.join("initdb").exists())
}

/// A command of the server, which refuses to run as root.
fn command(program: &Path) -> Command {
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").stdout(Stdio::null());
    command
}

impl Place {
    /// Starts one; none, and said so, if there is no PostgreSQL here.
    pub fn start() -> Result<Option<Place>> {
        let Some(binaries) = binaries() else {
            println!("  NO POSTGRESQL FOUND below /usr/lib/postgresql: this part is left out.");
            return Ok(None);
        };
        // On a disk, where /tmp may be memory, and where the other user gets in.
        let folder = tempfile::Builder::new().prefix("cairn-bench.").tempdir_in("/var/tmp")?;
        if rustix::process::geteuid().is_root() {
            let owned = Command::new("chown").arg("postgres").arg(folder.path()).status()?;
            ensure!(owned.success(), "there is no user postgres who could run the server");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let place = Place { binaries, folder, runtime };
        let made = command(&place.binaries.join("initdb"))
            .args(["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "-D"])
            .arg(place.data())
            .status()?;
        ensure!(made.success(), "initdb failed");
        let settings: Vec<String> = SETTINGS.iter().map(|setting| format!("-c {setting}")).collect();
        let options = format!("-k {} {}", place.folder.path().display(), settings.join(" "));
        let started = command(&place.binaries.join("pg_ctl"))
            .arg("-D")
            .arg(place.data())
            .arg("-l")
            .arg(place.folder.path().join("log"))
            .args(["-w", "-o", &options, "start"])
            .status()?;
        ensure!(started.success(), "the server did not start");
        let version: String = place.value("SELECT split_part(version(), ' ', 2)")?;
        println!("  PostgreSQL {version}, {}, over a socket of this machine\n", SETTINGS[1..5].join(", "));
        Ok(Some(place))
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder of its socket.
    pub fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// The address of a log in it. `options` are settings of the connection.
    pub fn address(&self, schema: &str, options: &str) -> String {
        let folder = self.socket().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}/postgres?schema={schema}{options}")
    }

    /// Waits for something that needs a connection.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// A connection, with a schema in its path.
    pub fn connect(&self, schema: &str) -> Result<Client> {
        let config = format!("host={} user=postgres dbname=postgres", self.socket().display());
        self.wait(async {
            let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
            tokio::spawn(connection);
            client.batch_execute(&format!("SET search_path = {schema}")).await?;
            Ok(client)
        })
    }

    /// Runs statements.
    pub fn run(&self, schema: &str, statements: &str) -> Result<()> {
        let client = self.connect(schema)?;
        self.wait(client.batch_execute(statements)).with_context(|| statements.to_string())
    }

    /// The one value that a query returns.
    pub fn value<T>(&self, query: &str) -> Result<T>
    where
        T: for<'r> tokio_postgres::types::FromSql<'r>,
    {
        let client = self.connect("public")?;
        Ok(self.wait(client.query_one(query, &[])).with_context(|| query.to_string())?.try_get(0)?)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = command(&self.binaries.join("pg_ctl"))
            .arg("-D")
            .arg(self.data())
            .args(["-m", "immediate", "-w", "stop"])
            .status();
    }
}
