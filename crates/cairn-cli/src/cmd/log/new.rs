//! `cairn log new`: a new log in the place of one that cannot be continued.

use std::path::{Path, PathBuf};

use cairn::{Cairn, HeadFolder, LostLog, OpenError, Remembered, SeenHead, Standing};
use serde_json::json;

use crate::args::App;
use crate::cmd::{Outcome, record};
use crate::database::{Location, Source};
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{count, visible};

/// Begin a new log that names this one and its last known head
///
/// For a log whose newest part is lost, and for one side of a fork: such a log is not continued under its own name, because nobody could tell that from a rewritten past. The old database stays beside the new one, to be read and verified. With `--lost`, for a database that was deleted: it is created again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say why, for those who read the log
    #[arg(long)]
    reason: String,
    /// Who decides that; you, if nobody else is named
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Create a database again that was lost or deleted; the new log names the one that was seen there
    #[arg(long)]
    lost: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let actor = args.by.clone().unwrap_or_else(record::author);
    // Before anything is moved.
    for (name, text) in [("--reason", &args.reason), ("--by", &actor)] {
        if text.trim().is_empty() {
            return Err(CliError::usage(format!("{name}: must not be empty, and stays in the log for ever")));
        }
    }
    let location = app.location()?;
    let (lost, aside) = match args.lost {
        true => (gone(&location)?, None),
        false => {
            let (lost, aside) = put_aside(&location, app)?;
            (lost, Some(aside))
        }
    };
    let cairn = app.write()?;
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
        let old = aside.map(|aside| format!("\nThe old database is now {}", aside.display()));
        app.ui.remark(&format!(
            "A new log; it names {} as it was last seen, with {}.{}",
            visible(&origin),
            count(head.size, "entry"),
            old.unwrap_or_default()
        ));
    }
    Ok(Outcome::Fine)
}

/// Moves the database to another name beside it, and closes its log.
fn put_aside(location: &Location, app: &App) -> Result<(LostHead, PathBuf), CliError> {
    location.file(
        "a new log in the place of another",
        "begin one in another schema of the same database: `?schema=NAME`",
    )?;
    if location.path.is_symlink() {
        let message = format!("`{}` is a symbolic link", location.path.display());
        return Err(CliError::refused(message).hint("name the file that it leads to"));
    }
    let old = location.open_to_read()?;
    let status = old.status()?;
    let can_go_on = old.standing().is_sound();
    drop(old);
    if can_go_on {
        // Nothing is lost, so the new log names all of it. If it cannot be written any more, what was stated before counts.
        let _ = location.open_existing(app.durability).and_then(|cairn| Ok(cairn.checkpoint()?));
    }
    let old = location.open_to_read()?;
    let lost = last_known(&old, status.origin.clone(), &location.path)?;
    drop(old);
    let path = std::fs::canonicalize(&location.path)
        .map_err(|error| CliError::io(format!("cannot find `{}`", location.path.display()), &error))?;
    let aside = aside(&path, &status.origin, status.entries)?;
    for end in ["", "-wal", "-shm"] {
        let (from, to) = (with_end(&path, end), with_end(&aside, end));
        if from.exists() {
            std::fs::rename(&from, &to)
                .map_err(|error| CliError::io(format!("cannot move `{}` aside", from.display()), &error))?;
        }
    }
    if let Some(state) = StateFolder::find() {
        let now = format!("{:.3}", jiff::Timestamp::now());
        HeadFolder::new(state.heads())
            .close(&status.origin, &path, &aside, &now)
            .map_err(CliError::failed)?;
    }
    Ok((lost, aside))
}

/// The log that was seen where there is none now; its place is free after this.
fn gone(location: &Location) -> Result<LostHead, CliError> {
    match location.open_to_read() {
        Err(error) if matches!(error.code(), "NOT_FOUND" | "FORBIDDEN") => {}
        Err(error) => return Err(error),
        Ok(_) => {
            return Err(CliError::refused(format!(
                "`{}` is not lost: there is a log",
                location.name()?.display()
            ))
            .hint("leave `--lost` out to begin a new log in its place"));
        }
    }
    let place = location.name()?;
    let heads = StateFolder::find().map(|state| HeadFolder::new(state.heads()));
    let seen = heads.as_ref().and_then(|heads| heads.log_at(&place));
    let (Some(heads), Some(origin)) = (heads, seen) else {
        return Err(CliError::not_found(format!("no log is remembered at `{}`", place.display()))
            .hint("nothing stands in the way of a new one: `cairn record` makes it"));
    };
    let known = heads.read(&origin).map_err(CliError::failed)?;
    let head = seen_at(&known, &place);
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    if let Some(folder) = folder.filter(|_| !location.is_server() && location.source == Source::Named) {
        return Err(OpenError::NoFolder { folder: folder.to_path_buf() }.into());
    }
    heads.forget(&origin, &place).map_err(CliError::failed)?;
    head.map(|head| LostHead { origin, head })
        .ok_or_else(|| CliError::not_found("nothing is remembered of the log that was there"))
}

struct LostHead {
    origin: String,
    head: SeenHead,
}

/// The log as it was last seen here; if nothing is remembered of it, as it is.
fn last_known(cairn: &Cairn, origin: String, path: &Path) -> Result<LostHead, CliError> {
    if let Standing::OtherLog { origin, newest: Some(head) } = cairn.standing() {
        return Ok(LostHead { origin: origin.clone(), head: head.clone() });
    }
    let remembered = match StateFolder::find() {
        // What cannot be read is one of the reasons to begin anew: then the log's own word is what is left.
        Some(state) => seen_at(&HeadFolder::new(state.heads()).read(&origin).unwrap_or_default(), path),
        None => None,
    };
    if let Some(head) = remembered {
        return Ok(LostHead { origin, head });
    }
    match cairn.newest_checkpoint()? {
        Some(stated) => Ok(LostHead {
            origin,
            head: SeenHead { size: stated.size, root: stated.root, at: String::new(), stated: true },
        }),
        None => Err(CliError::refused("nothing was ever stated about this log, so there is no head to name")
            .hint("`cairn checkpoint` states it")),
    }
}

/// The newest head of a log that was seen in a place, or else anywhere.
fn seen_at(known: &Remembered, place: &Path) -> Option<SeenHead> {
    let here = known.places.get(&cairn::place_name(place)).and_then(|seen| seen.heads.last());
    here.or_else(|| known.newest()).cloned()
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
