//! `cairn brief show`: one stored brief, whole.

use std::fmt::Write;

use cairn::StoredBriefView;

use super::{Told, find};
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{Ui, count, said, visible};

/// Show a stored brief with its text and its hash
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name it by its whole id
    id: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let stored = find(&app.read()?, &args.id)?;
    match app.ui.json {
        true => app.ui.print_json(&stored)?,
        false => match &stored.redacted {
            Some(redaction) => {
                let id = app.ui.palette.strong(&visible(stored.brief_id.as_str()));
                let text = visible(&said("", Some(redaction))).into_owned();
                app.ui.print(&format!("brief {id}\n  hash     {}\n\n{text}\n", stored.hash))?;
            }
            None => app.ui.print(&page(&stored, &Told::of(&stored)?, &app.ui))?,
        },
    }
    Ok(Outcome::Fine)
}

fn page(stored: &StoredBriefView, told: &Told, ui: &Ui) -> String {
    let palette = ui.palette;
    let mut page = format!("brief {}\n", palette.strong(&visible(stored.brief_id.as_str())));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {}", palette.faint(&format!("{name:<8}")), visible(&value));
    };
    line("node", told.place(stored));
    line("time", stored.created_at.to_string());
    let budget = told.budget.map_or("no budget".to_string(), |budget| format!("budget {budget}"));
    line("asked", format!("layout {}, {budget}, counter {}", told.layout, told.counter));
    let mut size = format!("{}, {}", count(told.report.tokens, "token"), count(told.report.included, "item"));
    if let Some(left_out) = told.report.left_out() {
        size.push_str(&format!(", {left_out}"));
    }
    line("size", size);
    line("hash", stored.hash.to_string());
    line("log", format!("built from what was recorded up to entry {}", told.seq));
    page.push('\n');
    // As it was told, without wrapping: one can compare it with what the node received.
    page.push_str(&visible(&told.text));
    page
}
