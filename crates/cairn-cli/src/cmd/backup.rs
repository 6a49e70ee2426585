//! `cairn backup`: a complete copy, taken while others write.

use std::path::PathBuf;

use cairn::Options;
use serde_json::json;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::{Bar, count, quoted, size};

/// Copy the database to a new file, even while agents write to it
///
/// The copy is complete or absent. An existing file is never replaced.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the copy to this file
    file: PathBuf,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    app.location()?.file(
        "a backup",
        "`pg_dump` copies all of it, docs/storage.md says how; `cairn copy --to FILE` copies the log into a file",
    )?;
    let shown = args.file.display();
    if args.file.symlink_metadata().is_ok() {
        return Err(CliError::refused(format!("`{shown}` exists already; a backup never replaces a file"))
            .hint("name a new file, or move that one away"));
    }
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(CliError::not_found(format!("the folder `{}` does not exist", folder.display()))
            .hint(format!("make it with `mkdir -p {}`", quoted(folder))));
    }
    {
        let bar = Bar::new();
        app.read()?.backup(&args.file, &mut |progress| bar.show(progress))?;
    }
    // What counts is what the copy says of itself.
    let status = Options::new().read_only(true).open(&args.file)?.status()?;
    if app.ui.json {
        let (entries, thoughts, bytes) = (status.entries, status.thoughts, status.bytes);
        app.ui.print_json(
            &json!({"file": args.file, "log_size": entries, "thoughts": thoughts, "bytes": bytes}),
        )?;
    } else {
        app.ui.print(&format!(
            "Wrote {shown}: {}, log size {}, {}\n",
            count(status.thoughts, "thought"),
            status.entries,
            size(status.bytes)
        ))?;
    }
    Ok(Outcome::Fine)
}
