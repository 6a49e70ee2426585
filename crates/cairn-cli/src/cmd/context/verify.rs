//! `cairn context verify`: whether a snapshot is what was captured.

use std::fmt::Write;

use cairn::{ContextVerdict, Sha};

use crate::args::App;
use crate::cmd::Outcome;
use crate::data_plans::VerdictData;
use crate::error::CliError;
use crate::term::{Ui, visible};

/// Recompute the hash of a snapshot
///
/// Ends with exit code 1 if the snapshot is not what was captured.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name it by its number
    #[arg(value_name = "NUMBER")]
    id: u64,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let verdict = app.read()?.context_verify(args.id)?;
    let valid = verdict.valid;
    let printed = match ui.json {
        true => ui.print_json(&VerdictData::from(verdict)),
        false => ui.print(&page(&verdict, ui)),
    };
    match valid {
        // A redacted content cannot be recomputed, and that is nothing wrong.
        Some(true) | None => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        Some(false) => Ok(Outcome::FoundSomething),
    }
}

fn page(verdict: &ContextVerdict, ui: &Ui) -> String {
    let message = visible(&verdict.message).into_owned();
    let message = match verdict.valid {
        Some(true) => ui.palette.good(&message),
        Some(false) => ui.palette.bad(&message),
        None => message,
    };
    let mut page = format!("{message}\n");
    let hash = |hash: Option<Sha>| hash.map_or("none".to_string(), |hash| hash.to_string());
    let lines = [
        ("context", verdict.context_id.to_string()),
        ("time", verdict.created_at.clone()),
        ("stored", hash(verdict.stored_hash)),
        ("found", hash(verdict.recalculated_hash)),
    ];
    for (name, value) in lines {
        let _ = writeln!(page, "  {} {}", ui.palette.faint(&format!("{name:<8}")), visible(&value));
    }
    page
}
