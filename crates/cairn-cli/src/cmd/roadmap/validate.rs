//! `cairn roadmap validate`: what is wrong with a plan, and on which line.

use cairn::{Error, Validation};
use serde::Serialize;

use super::issue;
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{count, visible};

/// Name every flaw of a roadmap, or of all of them
///
/// Each flaw is one line, `FILE:LINE FIELD: what is wrong`. Ends with exit code 1 if there is any.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check this roadmap [default: all]
    id: Option<String>,
}

/// The verdict on every roadmap.
#[derive(Serialize)]
struct All {
    valid: bool,
    count: usize,
    roadmaps: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    id: String,
    #[serde(flatten)]
    validation: Validation,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let folder = app.roadmaps()?;
    let ids: Vec<String> = match &args.id {
        Some(id) => vec![id.clone()],
        None => folder.list()?.iter().map(|roadmap| roadmap.id.to_string()).collect(),
    };
    let mut roadmaps = Vec::with_capacity(ids.len());
    for id in ids {
        match folder.validate(&id) {
            Ok(validation) => roadmaps.push(Checked { id, validation }),
            // It was there when they were listed.
            Err(Error::NotFound { .. }) if args.id.is_none() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let valid = roadmaps.iter().all(|checked| checked.validation.valid);
    let printed = match (ui.json, &args.id) {
        (true, Some(_)) => ui.print_json(&roadmaps[0].validation),
        (true, None) => ui.print_json(&All { valid, count: roadmaps.len(), roadmaps }),
        (false, _) => {
            if roadmaps.is_empty() {
                let folder = folder.folder().display().to_string();
                ui.remark(&format!("No roadmaps in `{}`", visible(&folder)));
            }
            let mut page = String::new();
            for Checked { id, validation } in &roadmaps {
                for found in &validation.issues {
                    page.push_str(&format!("{}\n", issue(found)));
                }
                let verdict = match validation.valid {
                    true => ui.palette.good("sound"),
                    false => ui.palette.bad(&count(validation.issues.len() as u64, "flaw")),
                };
                page.push_str(&format!("{}: {verdict}\n", visible(id)));
            }
            ui.print(&page)
        }
    };
    match valid {
        true => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        false => Ok(Outcome::FoundSomething),
    }
}
