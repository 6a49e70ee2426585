//! `cairn import`: a database made of a bundle.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use cairn::Options;
use cairn::bundle::{ImportError, Imported};
use serde_json::json;

use super::Outcome;
use super::verify_bundle::{self, Keys};
use crate::args::App;
use crate::database::{Source, private_folder};
use crate::error::CliError;
use crate::term::{Bar, count};

/// Make a database of a bundle, keeping every hash
///
/// Takes a bundle of a whole log into a new database, named by `--db`. The bundle is verified first, and a file before it gets its name; a failure leaves nothing behind. On a server what was added before a failure stays, and `--extend` goes on from there. Sealed contents must come with their keys (`cairn export --with-keys`), unless they were redacted.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The bundle
    file: PathBuf,
    /// Add what an existing database of the same log is missing: the way out after an old backup was put back. What was redacted since is erased
    #[arg(long)]
    extend: bool,
    #[command(flatten)]
    keys: Keys,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let keys = args.keys.read()?;
    let shown = args.file.display();
    let file =
        File::open(&args.file).map_err(|error| CliError::io(format!("cannot read `{shown}`"), &error))?;
    let mut bundle = BufReader::with_capacity(1 << 20, file);
    let location = app.location()?;
    let options = Options::new().durability(app.durability);
    let imported = {
        let bar = Bar::new();
        let progress = |progress| bar.show(progress);
        if args.extend {
            options.extend(&location.path, &mut bundle, &keys, &progress)
        } else {
            if location.source == Source::User
                && let Some(folder) = location.path.parent()
            {
                private_folder(folder)?;
            }
            options.import(&location.path, &mut bundle, &keys, &progress)
        }
    };
    let Imported { added, erased, remnants, bundle, report } = match imported {
        Ok(imported) => imported,
        Err(ImportError::Bundle(report)) => {
            app.ui.remark("nothing was imported:");
            // The exit code must tell, even to a caller that reads nothing else.
            let _ = verify_bundle::print(&report, app);
            return Ok(Outcome::FoundSomething);
        }
        Err(ImportError::Open(error)) => return Err(error.into()),
        Err(ImportError::Failed(error)) => return Err(error.into()),
        Err(error @ ImportError::Database(_)) => return Err(CliError::failed(error.to_string())),
        Err(ImportError::Refused(message)) => {
            let refused = CliError::refused(message);
            let exists = !args.extend && location.path.exists();
            let hint = "name a new file with `--db`, or pass `--extend` to add what it is missing";
            return Err(if exists { refused.hint(hint) } else { refused });
        }
    };
    let name = location.name()?;
    let path = name.display();
    if app.ui.json {
        app.ui.print_json(&json!({
            "file": name,
            "added": added,
            "erased": erased,
            "remnants": remnants,
            "log_size": bundle.size,
            "root": bundle.root,
            "origin": bundle.origin,
            "signed_by": bundle.signed_by,
            "message": report.message(),
            "notes": bundle.notes,
        }))?;
        return Ok(Outcome::Fine);
    }
    let entries = if added == 1 { "entry" } else { "entries" };
    let thoughts = count(report.records, "thought");
    let done = if args.extend { "Added to" } else { "Made" };
    app.ui.print(&format!("{done} {path}: {added} {entries}, log size {}, {thoughts}\n\n", bundle.size))?;
    if erased > 0 {
        let texts = count(erased, "text");
        app.ui.print(&format!("Erased {texts} that the log says were redacted since.\n\n"))?;
    }
    verify_bundle::print(&bundle, app)?;
    for remnant in &remnants {
        app.ui.remark(&format!("not gone: {remnant}"));
    }
    Ok(Outcome::Fine)
}
