//! A running `cairn serve` on a database of a test's folder.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// Killed when it is dropped.
pub struct Served {
    child: Child,
    pub addr: SocketAddr,
}

impl Served {
    /// Starts `command serve`, and waits until it takes requests.
    pub fn start(mut command: Command) -> Served {
        command.args(["serve", "--addr", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let line = lines.find_map(|line| line.strip_prefix("viewer  ").map(str::to_string)).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let addr = line.split("//").nth(1).unwrap().trim_end_matches('/').parse().unwrap();
        Served { child, addr }
    }

    /// Asks it to end, and waits until it has.
    #[cfg(unix)]
    pub fn stop(mut self) {
        use rustix::process::{Pid, Signal, kill_process};
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
