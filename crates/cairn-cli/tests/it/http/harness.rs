//! A running `cairn serve`.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::agent::Agent;
use crate::it::database::args;

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    pub folder: tempfile::TempDir,
    pub addr: SocketAddr,
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Server {
    pub fn start() -> Server {
        Server::with_args(&[])
    }

    pub fn with_args(args: &[&str]) -> Server {
        Server::in_folder(tempfile::tempdir().unwrap(), args)
    }

    pub fn with_env(env: &[(&str, PathBuf)]) -> Server {
        Server::spawn(tempfile::tempdir().unwrap(), &[], env)
    }

    /// On the database `cairn.db` of a folder.
    pub fn in_folder(folder: tempfile::TempDir, args: &[&str]) -> Server {
        Server::spawn(folder, args, &[])
    }

    fn spawn(folder: tempfile::TempDir, args: &[&str], env: &[(&str, PathBuf)]) -> Server {
        let anywhere = ["--addr", "127.0.0.1:0"].into_iter().filter(|_| !args.contains(&"--addr"));
        let mut command = program(folder.path());
        command.arg("serve").args(anywhere).args(args).envs(env.iter().cloned());
        Server::started(folder, command)
    }

    /// Started so that it ignores the end of its terminal.
    #[cfg(unix)]
    pub fn under_nohup() -> Server {
        let folder = tempfile::tempdir().unwrap();
        let direct = program(folder.path());
        let mut command = Command::new("nohup");
        command.arg(direct.get_program()).args(direct.get_args());
        for (name, value) in direct.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(["serve", "--addr", "127.0.0.1:0"]);
        Server::started(folder, command)
    }

    fn started(folder: tempfile::TempDir, mut command: Command) -> Server {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (lines, (found, place)) = (BufReader::new(child.stderr.take().unwrap()).lines(), channel());
        let saying = said.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                saying.lock().unwrap().push_str(&format!("{line}\n"));
                if let Some(address) = line.strip_prefix("viewer  ") {
                    let _ = found.send(address.to_string());
                }
            }
        });
        let Ok(address) = place.recv_timeout(PATIENCE) else {
            let _ = child.kill();
            panic!("the server does not start: {}", said.lock().unwrap());
        };
        let addr = address.split("//").nth(1).unwrap().trim_end_matches('/').parse().unwrap();
        Server { folder, addr, child, said }
    }

    /// With a token for each of these: its scope, and its agent if it has one.
    pub fn with_tokens<const N: usize>(tokens: [(&str, Option<&str>); N]) -> (Server, [String; N]) {
        let folder = tempfile::tempdir().unwrap();
        let tokens = tokens.map(|(scope, agent)| new_token(folder.path(), scope, agent));
        (Server::in_folder(folder, &["--require-token"]), tokens)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.addr)
    }

    pub fn agent(&self) -> Agent {
        Agent::new(self.addr)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote on standard error so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Asks it to end, as a system does that shuts down, and waits until it has.
    #[cfg(unix)]
    pub fn stop(self) -> End {
        self.ask_to_stop();
        self.ended()
    }

    #[cfg(unix)]
    pub fn ask_to_stop(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_raw(self.id() as i32).unwrap(), signal)
            .unwrap();
    }

    pub fn ended(mut self) -> End {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        End { status, said: self.said(), folder }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the tests themselves, and so what they start, ignore the end of their terminal.
#[cfg(unix)]
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

pub struct End {
    pub status: ExitStatus,
    pub said: String,
    pub folder: tempfile::TempDir,
}

/// The program on the database of a folder, with keys and heads that belong to the test.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(args(&database(folder))).env("CAIRN_STATE", folder.join("state"));
    for name in ["CAIRN_ADDR", "CAIRN_DB"] {
        command.env_remove(name);
    }
    command
}

pub fn database(folder: &Path) -> PathBuf {
    folder.join("cairn.db")
}

pub fn new_token(folder: &Path, scope: &str, agent: Option<&str>) -> String {
    let mut command = program(folder);
    command.args(["token", "add", "test", "--scope", scope]);
    command.args(agent.map(|agent| ["--agent", agent]).into_iter().flatten());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}
