//! `cairn log new`: a new log in the place of one that cannot be continued.

use std::path::{Path, PathBuf};

use cairn::{Cairn, HeadFolder, LostLog, SeenHead, Standing};
use serde_json::json;

use crate::args::App;
use crate::cmd::{Outcome, record};
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{count, visible};

/// Begin a new log that names this one and its last known head
///
/// For a log whose newest part is lost: it is never continued under its own name, since nobody could tell that from a rewritten past. The old database stays beside the new one, to be read and verified.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say why, for those who read the log
    #[arg(long)]
    reason: String,
    /// Who decides that; you, if nobody else is named
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let location = app.location()?;
    location.file(
        "a new log in the place of another",
        "begin one in another schema of the same database: `?schema=NAME`",
    )?;
    let old = location.open_to_read()?;
    let status = old.status()?;
    let lost = last_known(&old, status.origin.clone())?;
    drop(old);
    let aside = aside(&location.path, &status.origin, status.entries)?;
    for end in ["", "-wal", "-shm"] {
        let (from, to) = (with_end(&location.path, end), with_end(&aside, end));
        if from.exists() {
            std::fs::rename(&from, &to)
                .map_err(|error| CliError::io(format!("cannot move `{}` aside", from.display()), &error))?;
        }
    }
    if let Some(state) = StateFolder::find() {
        HeadFolder::new(state.heads()).forget_place(&location.path).map_err(CliError::failed)?;
    }
    let cairn = app.write()?;
    let actor = args.by.clone().unwrap_or_else(record::author);
    let LostHead { origin, head } = lost;
    let reason = args.reason.clone();
    cairn.continue_log(LostLog {
        origin: origin.clone(),
        size: head.size,
        root: head.root,
        reason,
        actor,
    })?;
    let stated = cairn.checkpoint()?;
    cairn.close();
    if app.ui.json {
        app.ui.print_json(
            &json!({"origin": stated.origin, "continues": origin, "size": head.size, "old": aside}),
        )?;
    } else {
        app.ui.print(&format!("{}\n", visible(&stated.origin)))?;
        app.ui.remark(&format!(
            "A new log; it names {} as it was last seen, with {}.\nThe old database is now {}",
            visible(&origin),
            count(head.size, "entry"),
            aside.display()
        ));
    }
    Ok(Outcome::Fine)
}

struct LostHead {
    origin: String,
    head: SeenHead,
}

/// The log as it was last seen here; if nothing is remembered of it, as it is.
fn last_known(cairn: &Cairn, origin: String) -> Result<LostHead, CliError> {
    if let Standing::OtherLog { origin, newest: Some(head) } = cairn.standing() {
        return Ok(LostHead { origin: origin.clone(), head: head.clone() });
    }
    let remembered = match StateFolder::find() {
        // What cannot be read is one of the reasons to begin anew: then the log's own word is what is left.
        Some(state) => HeadFolder::new(state.heads()).read(&origin).unwrap_or_default().heads.pop(),
        None => None,
    };
    if let Some(head) = remembered {
        return Ok(LostHead { origin, head });
    }
    match cairn.newest_checkpoint()? {
        Some(stated) => Ok(LostHead {
            origin,
            head: SeenHead { size: stated.size, root: stated.root, at: String::new() },
        }),
        None => Err(CliError::refused("nothing was ever stated about this log, so there is no head to name")
            .hint("`cairn checkpoint` states it")),
    }
}

/// A free name beside the database.
fn aside(path: &Path, origin: &str, entries: u64) -> Result<PathBuf, CliError> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let short: String = origin.chars().rev().take(8).collect::<Vec<_>>().into_iter().rev().collect();
    let short: String = short.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let aside = path.with_file_name(format!("{stem}-{short}-{entries}.db"));
    match aside.exists() {
        false => Ok(aside),
        true => {
            Err(CliError::refused(format!("`{}` is in the way", aside.display())).hint("move it elsewhere"))
        }
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(end);
    PathBuf::from(name)
}
