//! A PostgreSQL server in a folder of its own, as the user who may run one.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// Longer than anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fast, since no machine goes down in these tests: processes do, and what they handed to the system stays. Quick to notice
/// that a client is gone, too.
const QUICK: &str = "-c fsync=off -c full_page_writes=off -c jit=off -c max_connections=100 -c client_connection_check_interval=100";

/// The folder of PostgreSQL's programs; none if there are none here.
pub fn binaries() -> Option<PathBuf> {
    let given = std::env::var("CAIRN_TEST_POSTGRES_BIN").ok().filter(|given| !given.is_empty());
    let found = match given.as_deref() {
        Some("none") => None,
        Some(given) => Some(PathBuf::from(given)),
        None => {
            let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
            versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max()
        }
    };
    if found.is_none() {
        eprintln!("no PostgreSQL here: this is not tested");
    }
    found
}

/// A server. Ended, and its folder removed, when it is dropped.
pub struct Cluster {
    folder: TempDir,
    bin: PathBuf,
    /// What it is started with besides.
    options: String,
}

impl Cluster {
    /// Makes one and starts it; none where that is not possible.
    pub fn start(options: &str) -> Option<Cluster> {
        Cluster::start_in(new_folder(None), options)
    }

    /// The same, in a folder that the user who runs servers owns.
    pub fn start_in(folder: TempDir, options: &str) -> Option<Cluster> {
        let cluster = Cluster { bin: binaries()?, folder, options: options.to_string() };
        let data = cluster.data();
        let arguments = [
            "-U",
            "postgres",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--wal-segsize=1",
        ];
        cluster.run(cluster.program("initdb").arg("-D").arg(data).args(arguments));
        cluster.resume();
        Some(cluster)
    }

    /// A standby of this one, which follows it.
    pub fn standby(&self) -> Cluster {
        let standby = Cluster { folder: new_folder(None), bin: self.bin.clone(), options: String::new() };
        let from = format!("host={} user=postgres application_name=standby", self.socket().display());
        let data = standby.data();
        let mut copy = self.program("pg_basebackup");
        copy.arg("-D").arg(data).args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", &from]);
        self.run(&mut copy);
        standby.resume();
        standby
    }

    /// Starts it again.
    pub fn resume(&self) {
        let options = format!("-k {} -c listen_addresses= {QUICK} {}", self.socket().display(), self.options);
        let log = self.folder.path().join("log");
        let mut start = self.program("pg_ctl");
        start.arg("-D").arg(self.data()).arg("-l").arg(&log).args(["-w", "-o", &options, "start"]);
        self.run(&mut start);
    }

    /// Ends it in an orderly way, connections or not.
    pub fn stop(&self) {
        self.run(self.program("pg_ctl").arg("-D").arg(self.data()).args(["-m", "fast", "-w", "stop"]));
    }

    /// Has a standby take over; returns when it takes writes.
    pub fn promote(&self) {
        self.run(self.program("pg_ctl").arg("-D").arg(self.data()).args(["-w", "promote"]));
    }

    /// Kills it and everything it has started, as a machine that goes down would.
    pub fn kill(&self) {
        let Some(postmaster) = self.postmaster() else { return };
        self.signal(Signal::KILL);
        let began = Instant::now();
        while Path::new(&format!("/proc/{postmaster}")).exists() {
            assert!(began.elapsed() < PATIENCE, "the server does not die");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Has it hang: connections stay, and nobody answers.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Has it go on.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// To the server and everything it has started.
    fn signal(&self, signal: Signal) {
        let Some(postmaster) = self.postmaster() else { return };
        let list = std::fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children"));
        let children: Vec<i32> =
            list.unwrap_or_default().split_whitespace().filter_map(|id| id.parse().ok()).collect();
        for process in std::iter::once(postmaster).chain(children) {
            let _ = kill_process(Pid::from_raw(process).unwrap(), signal);
        }
    }

    pub fn postmaster(&self) -> Option<i32> {
        let noted = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        noted.lines().next()?.trim().parse().ok()
    }

    /// Where its log is.
    pub fn address(&self) -> String {
        self.address_as("postgres")
    }

    /// The same, for another role.
    pub fn address_as(&self, role: &str) -> String {
        format!("postgres://{role}@{}/postgres", encoded(&self.socket()))
    }

    /// Where the log of two servers is, one of which takes over from the other.
    pub fn address_with(&self, other: &Cluster) -> String {
        format!("postgres://postgres@{},{}/postgres", encoded(&self.socket()), encoded(&other.socket()))
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What a query of its owner answers: a row a line, columns separated by `|`.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        let output = self.try_sql(sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_string()
    }

    pub fn try_sql(&self, sql: &str) -> Output {
        self.try_sql_as("postgres", sql)
    }

    pub fn try_sql_as(&self, role: &str, sql: &str) -> Output {
        self.psql(role).args(["-c", sql]).output().unwrap()
    }

    /// Runs a file of SQL, with the names of its roles.
    pub fn file_as(&self, role: &str, file: &str) -> Output {
        let names = ["-v", "schema=cairn", "-v", "server=cairn_server", "-v", "redactor=cairn_redactor"];
        let mut psql =
            self.psql(role).args(names).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut psql.stdin.take().unwrap(), file.as_bytes()).unwrap();
        psql.wait_with_output().unwrap()
    }

    /// A connection that does something for long.
    pub fn hold(&self, sql: &str) -> Child {
        self.psql("postgres").args(["-c", sql]).stdout(Stdio::null()).spawn().unwrap()
    }

    fn psql(&self, role: &str) -> Command {
        let mut psql = self.program("psql");
        psql.args(["-X", "-q", "-A", "-t", "-U", role, "-d", "postgres", "-v", "ON_ERROR_STOP=1"]);
        psql.arg("-h").arg(self.socket()).args(["-p", &self.port().to_string()]);
        psql
    }

    /// The one that its socket is named by.
    fn port(&self) -> u16 {
        let given = self.options.split_whitespace().find_map(|option| option.strip_prefix("port="));
        given.map_or(5432, |port| port.parse().unwrap())
    }

    /// Waits until a query answers this.
    #[track_caller]
    pub fn await_sql(&self, sql: &str, answer: &str) {
        let began = Instant::now();
        loop {
            let output = self.try_sql(sql);
            let found = String::from_utf8_lossy(&output.stdout).trim_end().to_string();
            if output.status.success() && found == answer {
                return;
            }
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(began.elapsed() < PATIENCE, "{sql}: {found:?} instead of {answer:?} {told}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How often these words stand in what it has said.
    pub fn said(&self, words: &str) -> usize {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default().matches(words).count()
    }

    /// When Cairn last asked it for anything.
    pub fn last_asked(&self) -> String {
        self.sql("SELECT max(query_start) FROM pg_stat_activity WHERE application_name = 'cairn'")
    }

    /// Cuts every connection of Cairn's.
    pub fn cut_connections(&self) -> String {
        self.sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'cairn'",
        )
    }

    /// One of PostgreSQL's programs, which refuse to be run by root.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        if geteuid().is_root() {
            let (user, group) = owner();
            command.uid(user).gid(group);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, command: &mut Command) {
        // Into a file: a server that goes on would hold a pipe open.
        let said = tempfile::tempfile().unwrap();
        let both = [said.try_clone().unwrap(), said.try_clone().unwrap()];
        let [out, err] = both.map(Stdio::from);
        let status = command.stdout(out).stderr(err).status().unwrap();
        if !status.success() {
            let mut text = String::new();
            std::io::Seek::rewind(&mut &said).unwrap();
            std::io::Read::read_to_string(&mut &said, &mut text).unwrap();
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            panic!("{command:?}: {text}\n{log}");
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Who runs servers if it is not whoever runs the tests: user and group.
fn owner() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let of = |name: &str| users.lines().find(|line| line.split(':').next() == Some(name)).map(str::to_string);
    let line =
        of("postgres").or_else(|| of("nobody")).expect("root cannot run a server, and nobody else is here");
    let fields: Vec<&str> = line.split(':').collect();
    (fields[2].parse().unwrap(), fields[3].parse().unwrap())
}

/// A folder for a server, whose path is short enough for a socket.
pub fn new_folder(within: Option<&Path>) -> TempDir {
    let folder =
        tempfile::Builder::new().prefix("cairn-pg").tempdir_in(within.unwrap_or(Path::new("/tmp"))).unwrap();
    give(folder.path());
    folder
}

/// Makes it theirs who run servers.
pub fn give(path: &Path) {
    if geteuid().is_root() {
        let (user, group) = owner();
        std::os::unix::fs::chown(path, Some(user), Some(group)).unwrap();
    }
}

/// A path as a host of an address.
pub fn encoded(path: &Path) -> String {
    path.to_str().unwrap().replace('/', "%2F")
}
