//! `cairn log new`: a new log in the place of one that cannot be continued.

use std::path::{Path, PathBuf};

use cairn::{Cairn, HeadFolder, LostLog, OpenError, Options, Remembered, SeenHead, Standing};
use serde_json::json;

use crate::args::App;
use crate::cmd::{Outcome, record};
use crate::database::{Location, Source, private_folder};
use crate::error::CliError;
use crate::state::{StateFolder, prove};
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
    if location.path.is_symlink() {
        let message = format!("`{}` is a symbolic link", location.path.display());
        return Err(CliError::refused(message).hint("name the file that it leads to"));
    }
    // Whether a log may be signed and remembered from here is known before anything is changed, too.
    prove(Options::new(), &location.path)?;
    let lost = if args.lost { gone(&location)? } else { present(&location, app)? };
    let LostHead { origin, head, .. } = &lost;
    let continuation = LostLog {
        origin: origin.clone(),
        size: head.size,
        root: head.root,
        reason: args.reason.clone(),
        actor,
    };
    let old = match location.is_server() {
        false => replace_file(&location, app, &lost, continuation)?,
        true => {
            begin(&location.path, app, continuation)?;
            remembered(|heads| heads.forget(origin, &location.name()?).map_err(CliError::failed))?;
            None
        }
    };
    let cairn = app.write_existing()?;
    let unstated = "the new log is in its place; `cairn checkpoint` states it";
    let stated = cairn.checkpoint().map_err(|error| CliError::from(error).hint(unstated))?;
    cairn.close();
    if app.ui.json {
        let data = json!({"origin": stated.origin, "continues": origin, "size": head.size, "old": old});
        app.ui.print_json(&data)?;
    } else {
        app.ui.print(&format!("{}\n", visible(&stated.origin)))?;
        let old = old.map(|old| format!("\nThe old database is now {}", old.display()));
        app.ui.remark(&format!(
            "A new log; it names {} as it was last seen, with {}.{}",
            visible(origin),
            count(head.size, "entry"),
            old.unwrap_or_default()
        ));
    }
    Ok(Outcome::Fine)
}

/// Makes a database whose log continues another.
fn begin(path: &Path, app: &App, continuation: LostLog) -> Result<(), CliError> {
    // Nothing is remembered of it, and no key made for it, before it is in its place.
    let options = Options::new().durability(app.durability).automatic_checkpoints(false);
    let cairn = options.open(path)?;
    cairn.continue_log(continuation)?;
    cairn.close();
    Ok(())
}

/// Puts a new database in the place of the old file, and that beside it, where there is one. The new one is whole before
/// the old one is touched, and whatever fails after that is taken back. Returns where the old one is now.
fn replace_file(
    location: &Location,
    app: &App,
    lost: &LostHead,
    continuation: LostLog,
) -> Result<Option<PathBuf>, CliError> {
    let path = cairn::place_path(&cairn::place_name(&location.path));
    if let (Source::User, Some(folder)) = (location.source, path.parent()) {
        private_folder(folder)?;
    }
    let has_old = std::fs::metadata(&path).is_ok_and(|file| file.len() > 0);
    let old = has_old.then(|| aside(&path, lost)).transpose()?;
    let new = NewFile(with_end(&path, &format!(".new-{}", std::process::id())));
    begin(&new.0, app, continuation)?;
    let mut moves = Moves::default();
    if let Some(old) = &old {
        for end in ["", "-wal", "-shm"] {
            moves.rename(with_end(&path, end), with_end(old, end))?;
        }
    }
    moves.rename(new.0.clone(), path.clone())?;
    sync_folder(&path)?;
    remembered(|heads| {
        let origin = lost.stored.as_ref().unwrap_or(&lost.origin);
        let before = heads.read(origin).unwrap_or_default().places.remove(&cairn::place_name(&path));
        let noted = match (&old, &lost.stored) {
            (Some(old), Some(_)) => {
                heads.close(origin, &path, old, &format!("{:.3}", jiff::Timestamp::now()))
            }
            _ => heads.forget(origin, &path),
        };
        noted.map_err(|error| {
            if let Some(seen) = before {
                let _ = heads.remember(origin, &path, &seen.heads, &seen.keys);
            }
            CliError::failed(error)
        })
    })?;
    moves.keep();
    Ok(old)
}

/// Does something with the folder of heads, if there is one.
fn remembered(work: impl FnOnce(HeadFolder) -> Result<(), CliError>) -> Result<(), CliError> {
    StateFolder::find().map_or(Ok(()), |state| work(HeadFolder::new(state.heads())))
}

/// A file that is removed, unless it gets another name.
struct NewFile(PathBuf);

impl Drop for NewFile {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", "-new"] {
            let _ = std::fs::remove_file(with_end(&self.0, end));
        }
    }
}

/// Files that were renamed; they get their names back, unless they are kept.
#[derive(Default)]
struct Moves(Vec<(PathBuf, PathBuf)>);

impl Moves {
    /// Renames a file, if there is one.
    fn rename(&mut self, from: PathBuf, to: PathBuf) -> Result<(), CliError> {
        if !from.exists() {
            return Ok(());
        }
        // Before it is done: a system may do it and report a failure.
        self.0.push((from.clone(), to.clone()));
        std::fs::rename(&from, &to).map_err(|error| {
            CliError::io(format!("cannot rename `{}` to `{}`", from.display(), to.display()), &error)
        })
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Moves {
    fn drop(&mut self) {
        for (from, to) in self.0.drain(..).rev().filter(|(from, _)| !from.exists()) {
            let _ = std::fs::rename(to, from);
        }
    }
}

/// Makes the new names of files last.
fn sync_folder(path: &Path) -> Result<(), CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| CliError::io(format!("cannot sync the folder `{}`", folder.display()), &error))
}

/// The log that is there, as it was last known.
fn present(location: &Location, app: &App) -> Result<LostHead, CliError> {
    location.file(
        "a new log in the place of another",
        "begin one in another schema of the same database: `?schema=NAME`",
    )?;
    let old = location.open_to_read()?;
    let can_go_on = old.standing().is_sound();
    drop(old);
    if can_go_on {
        // Nothing is lost, so the new log names all of it. If it cannot be written any more, what was stated before counts.
        let _ = location.open_existing(app.durability).and_then(|cairn| Ok(cairn.checkpoint()?));
    }
    let old = location.open_to_read()?;
    let status = old.status()?;
    let lost = last_known(&old, status.origin.clone(), &location.path)?;
    Ok(LostHead { stored: Some(status.origin), entries: status.entries, ..lost })
}

/// The log that was seen where there is none now.
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
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    if let Some(folder) = folder.filter(|_| !location.is_server() && location.source == Source::Named) {
        return Err(OpenError::NoFolder { folder: folder.to_path_buf() }.into());
    }
    seen_at(&known, &place)
        .map(|head| LostHead::new(origin, head))
        .ok_or_else(|| CliError::not_found("nothing is remembered of the log that was there"))
}

/// The log that is replaced.
struct LostHead {
    origin: String,
    head: SeenHead,
    /// The name of the log in the file that is there, which may be another one.
    stored: Option<String>,
    /// Entries in that.
    entries: u64,
}

impl LostHead {
    fn new(origin: String, head: SeenHead) -> LostHead {
        LostHead { origin, head, stored: None, entries: 0 }
    }
}

/// The log as it was last seen here; if nothing is remembered of it, as it is.
fn last_known(cairn: &Cairn, origin: String, path: &Path) -> Result<LostHead, CliError> {
    if let Standing::OtherLog { origin, newest: Some(head) } = cairn.standing() {
        return Ok(LostHead::new(origin.clone(), head.clone()));
    }
    let remembered = match StateFolder::find() {
        // What cannot be read is one of the reasons to begin anew: then the log's own word is what is left.
        Some(state) => seen_at(&HeadFolder::new(state.heads()).read(&origin).unwrap_or_default(), path),
        None => None,
    };
    if let Some(head) = remembered {
        return Ok(LostHead::new(origin, head));
    }
    match cairn.newest_checkpoint()? {
        Some(stated) => {
            let head = SeenHead { size: stated.size, root: stated.root, at: String::new(), stated: true };
            Ok(LostHead::new(origin, head))
        }
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
fn aside(path: &Path, lost: &LostHead) -> Result<PathBuf, CliError> {
    let (origin, entries) = (lost.stored.as_ref().unwrap_or(&lost.origin), lost.entries);
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
