//! `cairn brief verify`: whether a stored brief is what the events give.

use std::fmt::Write;

use cairn::BriefVerdict;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{Ui, visible, wrap};

/// Build a stored brief again from the events and compare
///
/// Ends with exit code 1 if it is not the same, byte for byte. A brief that shows a thought which was redacted since
/// cannot be built again; it says so.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name it by its whole id
    id: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let verdict = app.read()?.brief_verify(&args.id)?;
    let printed = match ui.json {
        true => ui.print_json(&verdict),
        false => ui.print(&page(&verdict, ui)),
    };
    match verdict.valid {
        // What was redacted cannot be compared any more, and that is nothing wrong.
        Some(true) | None => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        Some(false) => Ok(Outcome::FoundSomething),
    }
}

fn page(verdict: &BriefVerdict, ui: &Ui) -> String {
    let mut page = String::new();
    for line in wrap(&visible(&verdict.message), ui.width) {
        let line = match verdict.valid {
            Some(true) => ui.palette.good(&line),
            Some(false) => ui.palette.bad(&line),
            None => line,
        };
        let _ = writeln!(page, "{line}");
    }
    let rebuilt = verdict.rebuilt_hash.map_or("none".to_string(), |hash| hash.to_string());
    let lines = [
        ("brief", verdict.brief_id.to_string()),
        ("stored", verdict.stored_hash.to_string()),
        ("rebuilt", rebuilt),
    ];
    for (name, value) in lines {
        let _ = writeln!(page, "  {} {}", ui.palette.faint(&format!("{name:<8}")), visible(&value));
    }
    page
}
