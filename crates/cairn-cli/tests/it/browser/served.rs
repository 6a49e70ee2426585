//! `cairn serve`, as long as it is needed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::it::database;

pub struct Served {
    /// Where it answers, without a slash at the end.
    pub address: String,
    child: Child,
}

impl Served {
    /// On a port of the system's choice.
    pub fn start(file: &Path, args: &[&str]) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(database::args(file))
            .args(["serve", "--addr", "127.0.0.1:0", "--quiet"])
            .args(args)
            .env("CAIRN_STATE", file.with_extension("state"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {said:?}")).unwrap();
            if let Some(address) = line.strip_prefix("viewer") {
                break address.trim().trim_end_matches('/').to_string();
            }
            said.push(line);
        };
        // Whatever else it says must go somewhere: a full pipe would hold it up.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        Served { address, child }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
