//! `cairn copy`: a whole log in another database.

use std::path::PathBuf;

use cairn::bundle::{Copied, CopyError};
use serde_json::json;

use super::Outcome;
use super::verify;
use crate::args::App;
use crate::database::{Location, locate};
use crate::error::CliError;
use crate::term::{Bar, count, grouped};

/// Copy the whole log into another database, keeping every hash
///
/// From a file to PostgreSQL, back, or between two of a kind: every entry with its ids, hashes and keys, redactions, checkpoints and their signatures. The source is verified first and only read; the copy is verified whole at the end. If it is interrupted, or more was recorded meanwhile, the same command goes on from there. A target that holds anything else than the beginning of the same log is refused. Access tokens and the files of roadmaps are no part of the log and stay where they are. An address with a password belongs into CAIRN_COPY_FROM, CAIRN_DB or CAIRN_COPY_TO: a command line can be read by everyone on the machine.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Copy from this database, a file or `postgres://…`; without it, from the one of every other command
    #[arg(long, value_name = "PATH|URL", env = "CAIRN_COPY_FROM", hide_env_values = true)]
    from: Option<PathBuf>,
    /// Copy to this one, which is made if it is not there
    #[arg(long, value_name = "PATH|URL", env = "CAIRN_COPY_TO", hide_env_values = true)]
    to: PathBuf,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    if args.to.as_os_str().is_empty() {
        return Err(CliError::usage("--to: must name a file or the address of a server"));
    }
    let from = match args.from.as_deref().filter(|from| !from.as_os_str().is_empty()) {
        Some(from) => locate(Some(from), None)?,
        None => app.location()?,
    };
    let to = locate(Some(&args.to), None)?;
    let names = (from.name()?, to.name()?);
    let source = from.open_to_read()?;
    let copied = {
        let bar = Bar::new();
        source.copy(&to.path, app.durability, &|progress| bar.show(progress))
    };
    let copied = match copied {
        Ok(copied) => copied,
        Err(error) => return failed(error, &to, app),
    };
    let tokens = source.tokens()?.iter().filter(|token| token.revoked_at.is_none()).count() as u64;
    let Copied { origin, size, root, added, checkpoints, newer, erased, remnants, report } = &copied;
    if app.ui.json {
        app.ui.print_json(&json!({
            "from": names.0,
            "to": names.1,
            "origin": origin,
            "added": added,
            "log_size": size,
            "root": root,
            "checkpoints": checkpoints,
            "newer": newer,
            "erased": erased,
            "remnants": remnants,
            "tokens_left": tokens,
            "valid": true,
            "message": report.message(),
        }))?;
        return Ok(Outcome::Fine);
    }
    app.ui.print(&page(&copied, &names.1.display().to_string(), tokens))?;
    for remnant in remnants {
        app.ui.remark(&format!("not gone: {remnant}"));
    }
    if *newer > 0 {
        let entries = count(*newer, "entry");
        app.ui.remark(&format!(
            "{entries} recorded in the source meanwhile: run the same command again to fetch what is new"
        ));
    }
    Ok(Outcome::Fine)
}

fn page(copied: &Copied, to: &str, tokens: u64) -> String {
    let Copied { size, root, added, checkpoints, erased, report, .. } = copied;
    let mut page = match added {
        0 => format!("{to} had every entry already"),
        added => format!("Copied {} to {to}", count(*added, "entry")),
    };
    page.push_str(&format!(
        ": log size {}, {}, {}\n",
        grouped(*size),
        count(report.records, "thought"),
        count(*checkpoints, "checkpoint")
    ));
    if *erased > 0 {
        page.push_str(&format!("Erased {} that the log says were redacted since.\n", count(*erased, "text")));
    }
    page.push_str(&format!("Verified: both hold the same log, with the root {root}.\n\n"));
    if tokens > 0 {
        let them = if tokens == 1 { "1 access token was" } else { &format!("{tokens} access tokens were") };
        page.push_str(&format!("{them} not copied; `cairn token add` makes new ones there.\n"));
    }
    page.push_str("Record in one of the two from now on: written to both, they grow apart.\n");
    page
}

/// What was wrong, and that the same command goes on where it came to.
fn failed(error: CopyError, to: &Location, app: &App) -> Result<Outcome, CliError> {
    let again = "what was copied stays; run the same command again, and it goes on from there";
    match error {
        CopyError::Refused(message) => Err(CliError::refused(message)),
        CopyError::Open(error) => Err(to.explain(error)),
        CopyError::Source(report) => {
            app.ui.remark("nothing was copied, since the source is not what was recorded:");
            // The exit code must tell, even to a caller that reads nothing else.
            let _ = verify::print(&report, app);
            Ok(Outcome::FoundSomething)
        }
        CopyError::Copy(report) => {
            app.ui.remark("the copy is not what was recorded; do not use it:");
            let _ = verify::print(&report, app);
            Ok(Outcome::FoundSomething)
        }
        error => Err(CliError::failed(error.to_string()).hint(again)),
    }
}
