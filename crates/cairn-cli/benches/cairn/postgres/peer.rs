//! LangGraph's PostgreSQL checkpointer beside us: installed once, run as a program of its own.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::place::Place;
use crate::data;

const REQUIREMENTS: &str = include_str!("../../python/requirements.txt");
const PUTS: &str = include_str!("../../python/puts.py");

/// The peer, ready to run.
pub struct Peer {
    folder: PathBuf,
}

/// Installs it if it is not there yet; none, and said so, if that does not work.
pub fn find() -> Result<Option<Peer>> {
    let folder = data::folder()?.join("langgraph");
    std::fs::create_dir_all(&folder)?;
    let noted = folder.join("requirements.txt");
    if std::fs::read_to_string(&noted).unwrap_or_default() != REQUIREMENTS {
        eprintln!("installing LangGraph's checkpointer, once");
        let install = folder.join("install.txt");
        std::fs::write(&install, REQUIREMENTS)?;
        let is_done = |command: &mut Command| command.status().is_ok_and(|status| status.success());
        let mut venv = Command::new("python3");
        let mut pip = Command::new(folder.join("venv/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&install);
        if !is_done(venv.args(["-m", "venv"]).arg(folder.join("venv"))) || !is_done(&mut pip) {
            println!("  LANGGRAPH COULD NOT BE INSTALLED: the comparison with it is left out.");
            return Ok(None);
        }
        std::fs::rename(install, noted)?;
    }
    std::fs::write(folder.join("puts.py"), PUTS)?;
    Ok(Some(Peer { folder }))
}

impl Peer {
    /// How many puts a second `callers` make, as threads or as tasks.
    pub fn puts(&self, place: &Place, count: usize, way: &str, callers: usize) -> Result<f64> {
        place.run("public", "CREATE SCHEMA IF NOT EXISTS langgraph")?;
        let output = Command::new(self.folder.join("venv/bin/python"))
            .arg(self.folder.join("puts.py"))
            .arg(place.socket())
            .args(["langgraph", &count.to_string(), way, &callers.to_string()])
            .output()?;
        ensure!(output.status.success(), "LangGraph failed: {}", String::from_utf8_lossy(&output.stderr));
        let seconds: f64 =
            String::from_utf8(output.stdout)?.trim().parse().context("no number of seconds")?;
        Ok((count / callers * callers) as f64 / seconds)
    }
}
