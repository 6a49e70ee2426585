//! `cairn export`: a file that anyone can verify without the database.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use cairn::bundle::{ExportOptions, Exported, Selection};
use cairn::{Cairn, Progress};
use serde::Serialize;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::{Bar, count, quoted, size};

/// Write the log, or a part of it, as a file anyone can verify
///
/// The bundle stands on the newest checkpoint. It holds the exact bytes of every entry and what they stand for, so that `cairn verify-bundle`, or the Python script in `docs`, can check it without the database. Only a bundle of the whole log can be imported; one of a session or a task proves that its records were made, not that they are all.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Export only this session: its thoughts, events and briefs, and the snapshots they name
    #[arg(long, short, conflicts_with = "task")]
    session: Option<String>,
    /// Export only this task: its thoughts, and the snapshots they name
    #[arg(long, short)]
    task: Option<String>,
    /// Export everything, which is the default
    #[arg(long, conflicts_with_all = ["session", "task"])]
    all: bool,
    /// Write to this file, or to stdout if it is `-`; without it the file is named after the log and its size
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Add the keys of sealed contents: whoever has the bundle can then read them. Without them it can be verified, and not imported
    #[arg(long)]
    with_keys: bool,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
}

#[derive(Serialize)]
struct Data<'a> {
    file: &'a Path,
    #[serde(flatten)]
    exported: &'a Exported,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let selection = match (args.session, args.task) {
        (Some(session), _) => Selection::Session(session),
        (None, Some(task)) => Selection::Task(task),
        (None, None) => Selection::All,
    };
    let options = ExportOptions { selection, with_keys: args.with_keys };
    let cairn = app.read()?;
    if args.output.as_deref() == Some(Path::new("-")) {
        let exported = write(&cairn, &options, &mut *app.ui.results())?;
        app.ui.remark(&format!("{}.\n{}", summary(&exported), how_to_verify("FILE", &exported)));
        unstated(&exported).into_iter().for_each(|words| app.ui.remark(&words));
        return Ok(Outcome::Fine);
    }
    let file = match args.output {
        Some(file) => file,
        None => {
            let status = cairn.status()?;
            let size = cairn.newest_checkpoint()?.map_or(status.entries, |stated| stated.size);
            PathBuf::from(format!("{}-{size}.cairn.jsonl", short(&status.origin)))
        }
    };
    let exported = write_file(&cairn, &options, &file, args.force)?;
    if app.ui.json {
        app.ui.print_json(&Data { file: &file, exported: &exported })?;
        app.ui.remark(&how_to_verify(&quoted(&file), &exported));
        return Ok(Outcome::Fine);
    }
    let shown = file.display();
    let mut page = format!("Wrote {shown}: {}\n", summary(&exported));
    if exported.sealed > 0 && !args.with_keys {
        page.push_str(
            "Sealed contents stay sealed, so that it can be verified, and not imported; --with-keys would add their keys.\n",
        );
    }
    unstated(&exported).into_iter().for_each(|words| page.push_str(&(words + "\n")));
    app.ui.print(&page)?;
    app.ui.remark(&how_to_verify(&quoted(&file), &exported));
    Ok(Outcome::Fine)
}

/// The commands that verify a bundle, with the key of the log.
fn how_to_verify(file: &str, exported: &Exported) -> String {
    let keys: String = match &exported.signed_by[..] {
        [] if exported.signed => " --key KEY".to_string(),
        keys => keys.iter().map(|key| format!(" --key '{key}'")).collect(),
    };
    format!(
        "Anyone can verify it with one of:\n  cairn verify-bundle {file}{keys}\n  python3 docs/verify_bundle.py {file}{keys}"
    )
}

fn summary(exported: &Exported) -> String {
    let entries = if exported.entries == 1 { "entry" } else { "entries" };
    let of = if exported.entries == exported.size { "log" } else { "part of a log" };
    let mut summary =
        format!("{} {entries}, {of} of size {}, {}", exported.entries, exported.size, size(exported.bytes));
    if exported.redacted > 0 {
        summary.push_str(&format!(", {} redacted", exported.redacted));
    }
    summary
}

/// Says which entries the checkpoint of the bundle leaves out.
fn unstated(exported: &Exported) -> Option<String> {
    match (exported.following, exported.signed) {
        (0, true) => None,
        (0, false) => Some(
            "No key has signed this state of the log: the bundle proves nothing to those who do not trust you. `cairn \
             checkpoint` signs it, if you have its key; then export again."
                .to_string(),
        ),
        (following, _) => Some(format!(
            "It stands on the newest checkpoint; {} recorded since {} not in it. `cairn checkpoint` covers them.",
            count(following, "entry"),
            if following == 1 { "is" } else { "are" }
        )),
    }
}

/// Writes to a name of its own first, so that the file is there whole or not at all.
fn write_file(
    cairn: &Cairn,
    options: &ExportOptions,
    file: &Path,
    force: bool,
) -> Result<Exported, CliError> {
    let shown = file.display();
    let taken = || {
        CliError::refused(format!("`{shown}` exists already"))
            .hint("name another file, or pass `--force` to replace it")
    };
    if !force && file.symlink_metadata().is_ok() {
        return Err(taken());
    }
    let name =
        file.file_name().ok_or_else(|| CliError::usage(format!("`{shown}` is not the name of a file")))?;
    let mut part = name.to_os_string();
    part.push(format!(".part-{}", std::process::id()));
    let part = file.with_file_name(part);
    let failed = |error: io::Error| CliError::io(format!("cannot write `{shown}`"), &error);
    let written = File::create_new(&part).map_err(failed).and_then(|target| {
        let mut out = BufWriter::with_capacity(1 << 20, target);
        let exported = write(cairn, options, &mut out)?;
        out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
        let placed = if force { fs::rename(&part, file) } else { fs::hard_link(&part, file) };
        match placed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken()),
            Err(_) if !force => fs::rename(&part, file).map_err(failed).map(|()| exported),
            placed => placed.map_err(failed).map(|()| exported),
        }
    });
    let _ = fs::remove_file(&part);
    written
}

fn write(cairn: &Cairn, options: &ExportOptions, out: &mut dyn Write) -> Result<Exported, CliError> {
    let bar = Bar::new();
    Ok(cairn.export(options, out, &mut |progress: Progress| bar.show(progress))?)
}

/// The part of a log's name that tells it from others, fit for the name of a file.
fn short(origin: &str) -> String {
    let name: String = origin.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    // Names begin with the time they were made at; the end of one is random.
    let tail = name.get(name.len().saturating_sub(8)..).unwrap_or_default();
    if tail.is_empty() { "log".to_string() } else { format!("cairn-{tail}") }
}
