//! The Node server to compare with: found, installed once, started.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::data;

const FILES: [(&str, &str); 3] = [
    ("package.json", include_str!("../node/package.json")),
    ("package-lock.json", include_str!("../node/package-lock.json")),
    ("server.mjs", include_str!("../node/server.mjs")),
];

/// The peer, ready to start.
pub struct Peer {
    folder: PathBuf,
}

/// Installs the peer if it is not there yet; none, and said so, if there is no Node.
pub fn find() -> Result<Option<Peer>> {
    let version = Command::new("node").arg("--version").output();
    let Some(version) = version.ok().filter(|output| output.status.success()) else {
        println!("\nNO NODE FOUND: every comparison with the Node server is left out.");
        return Ok(None);
    };
    let folder = data::folder()?.join("node");
    std::fs::create_dir_all(&folder)?;
    let lock = folder.join("package-lock.json");
    let current = std::fs::read_to_string(&lock).unwrap_or_default() == FILES[1].1;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    if !current || !folder.join("node_modules").is_dir() {
        eprintln!("installing the Node server, once");
        let status =
            Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder).status();
        if !status.is_ok_and(|status| status.success()) {
            // The next run must not take this for done.
            std::fs::remove_file(&lock)?;
            println!("\nNPM CI FAILED: every comparison with the Node server is left out.");
            return Ok(None);
        }
    }
    println!("\nthe Node server runs on Node {}", String::from_utf8_lossy(&version.stdout).trim());
    Ok(Some(Peer { folder }))
}

impl Peer {
    /// The peer on a database.
    pub fn command(&self, database: &Path) -> Command {
        let mut command = Command::new("node");
        command.arg(self.folder.join("server.mjs")).arg(database);
        command
    }

    /// The peer on a database, over HTTP. It says its address on standard error.
    pub fn over_http(&self, database: &Path) -> Command {
        let mut command = self.command(database);
        command.arg("--http");
        command
    }

    /// Gives the peer the chain of a database of Cairn: task chains are the same in both.
    pub fn chain(&self, from: &Path, task: &str, to: &Path) -> Result<()> {
        // Started once, it makes its tables.
        crate::server::Server::start(self.command(to))?.stop()?;
        let connection = rusqlite::Connection::open(to)?;
        connection.execute("ATTACH ?1 AS cairn", [from.to_string_lossy()])?;
        let copied = connection.execute(
            "INSERT INTO thought_records
             SELECT id, type, task_id, agent_id, content, timestamp, prev_hash, hash, timestamp
             FROM cairn.record WHERE task_id = ?1 ORDER BY position",
            [task],
        )?;
        ensure!(copied > 0, "there is no chain {task}");
        Ok(())
    }
}
