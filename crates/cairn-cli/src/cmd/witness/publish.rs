//! `cairn witness publish`: a checkpoint now, for every witness.

use serde_json::{Value, json};

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{Palette, visible, wrap};
use crate::witness::{Published, Urgency, publish};

/// Make a checkpoint and give it to every witness now
///
/// Ends with exit code 1 if one of them did not take it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.write_existing()?;
    let state = StateFolder::require()?;
    let stated = cairn.checkpoint()?;
    let published = publish(&cairn, &state, &stated, Urgency::Now).map_err(CliError::failed)?;
    let failed = published.iter().any(|published| published.outcome.is_err());
    if app.ui.json {
        let data: Vec<Value> = published.iter().map(data).collect();
        app.ui.print_json(&json!({"checkpoint": stated, "witnesses": data}))?;
    } else if published.is_empty() {
        app.ui.remark("No witness takes checkpoints of this log; `cairn witness add --help` shows what can");
    } else {
        let lines: String = published.iter().map(|one| line(one, app.ui.width, app.ui.palette)).collect();
        app.ui.print(&lines)?;
    }
    cairn.close();
    Ok(if failed { Outcome::FoundSomething } else { Outcome::Fine })
}

fn data(published: &Published) -> Value {
    let Published { witness, outcome } = published;
    match outcome {
        Ok(head) => json!({"name": witness.name, "taken": true, "head": head}),
        Err(failure) => json!({"name": witness.name, "taken": false, "error": failure.words()}),
    }
}

fn line(published: &Published, width: usize, palette: Palette) -> String {
    let Published { witness, outcome } = published;
    let (mark, words) = match outcome {
        Ok(head) => {
            (palette.good("taken "), format!("{}: {} entries, {}", witness.title(), head.size, head.at))
        }
        Err(failure) => (palette.bad("failed"), format!("{}: {}", witness.title(), failure.words())),
    };
    format!("{mark}  {}\n", wrap(&visible(&words), width.saturating_sub(8).max(40)).join("\n        "))
}
