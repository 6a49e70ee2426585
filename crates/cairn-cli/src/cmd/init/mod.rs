//! `cairn init`: a database for this folder, and the line that lets agents find it.

mod layout;
mod mcp_json;
mod scan;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use cairn::{OpenError, Options};
use serde_json::json;

use super::Outcome;
use crate::args::App;
use crate::database::{FILE, FOLDER, Location, ROADMAPS, Source, private_folder};
use crate::error::CliError;
use crate::term::quoted;
use mcp_json::{Change, Server};

/// Set up a folder: database in `.cairn/`, server in `.mcp.json`
///
/// Everything else in `.mcp.json` stays as it is. A second run changes nothing. Where `--db` or CAIRN_DB names a server, the
/// log is made there, and agents need CAIRN_DB to find it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Set up this folder
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Replace an entry `cairn` in `.mcp.json` that says something else
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    if !args.dir.is_dir() {
        return Err(CliError::not_found(format!("the folder `{}` does not exist", args.dir.display()))
            .hint(format!("make it with `mkdir -p {}`", quoted(&args.dir))));
    }
    // Without the dot, paths read as people write them.
    let dir = args.dir.strip_prefix(".").unwrap_or(&args.dir);
    // First what can be refused: then nothing is half done.
    let config = dir.join(".mcp.json");
    let plan = mcp_json::plan(&config, &server(), args.force)?;
    let named = app.location()?;
    let database = make_database(dir, &named, app)?;
    let created = database.is_new;
    plan.write(&config)?;
    if ui.json {
        ui.print_json(&json!({
            "database": database.path,
            "database_created": created,
            "mcp_json": config,
            "mcp_json_change": plan.change.as_str(),
        }))?;
        return Ok(Outcome::Fine);
    }
    let verb = if created { "Made" } else { "Found" };
    ui.print(&format!("{verb} {}\n", database.path.display()))?;
    let file = config.display();
    let sentence = match plan.change {
        Change::Created => format!("Made {file} with the server `cairn`"),
        Change::Added => format!("Added the server `cairn` to {file}"),
        Change::Replaced => format!("Replaced the server `cairn` in {file}"),
        Change::Unchanged => format!("{file} has the server `cairn` already; nothing changed"),
        Change::LeftAlone => format!("Left {file} alone: its server `cairn` says something else"),
    };
    ui.print(&format!("{sentence}\n"))?;
    if named.is_server() {
        ui.remark(&format!(
            "\n{} an address may hold a password, so {file} does not name it: see to it that agents are started with CAIRN_DB set",
            ui.remarks.strong("hint:")
        ));
    }
    if plan.change == Change::LeftAlone {
        ui.remark(&format!("\n{} `cairn init --force` replaces it", ui.remarks.strong("hint:")));
    }
    Ok(Outcome::Fine)
}

struct Database {
    path: PathBuf,
    is_new: bool,
}

/// The database stays out of version control, since it may hold what people said; plans belong there.
const IGNORED: &str = "*\n!roadmaps/\n!roadmaps/**\n";

/// Makes the folder with its database; on a server, if one is named.
fn make_database(dir: &Path, named: &Location, app: &App) -> Result<Database, CliError> {
    let folder = dir.join(FOLDER);
    private_folder(&folder)?;
    let ignore = folder.join(".gitignore");
    // An empty one is what an earlier run left on a full disk.
    if std::fs::metadata(&ignore).map_or(0, |file| file.len()) == 0 {
        std::fs::write(&ignore, IGNORED)
            .map_err(|error| CliError::io(format!("cannot write `{}`", ignore.display()), &error))?;
    }
    if named.is_server() {
        let is_new =
            matches!(Options::new().read_only(true).open(&named.path), Err(OpenError::Missing { .. }));
        named.open_to_write(app.durability, None)?.close();
        return Ok(Database { path: named.name()?, is_new });
    }
    let path = folder.join(FILE);
    let is_new = !path.exists();
    Location { path: path.clone(), source: Source::Project, roadmaps: folder.join(ROADMAPS), login: None }
        .open_to_write(app.durability, None)?
        .close();
    Ok(Database { path, is_new })
}

/// The entry of `.mcp.json`.
fn server() -> Server {
    Server { command: program(), args: ["mcp", "--tools", "trail,snapshot"] }
}

/// What an agent types to start this very program: its name if that finds it, else its whole path.
fn program() -> String {
    let Ok(this) = std::env::current_exe() else { return "cairn".to_string() };
    let same = |file: &Path| matches!((file.canonicalize(), this.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let name = Path::new("cairn").with_extension(this.extension().unwrap_or(OsStr::new("")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| file.is_file());
    if found.is_some_and(|file| same(&file)) { "cairn".to_string() } else { this.display().to_string() }
}
