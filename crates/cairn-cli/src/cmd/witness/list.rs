//! `cairn witness list`: which places there are, and what they have seen.

use serde_json::{Value, json};

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{Table, Ui, first_line, visible};
use crate::witness::{Config, Files, Status, Witness, age};

/// List the witnesses of this log, the last head each has taken, and what went wrong
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let origin = app.read()?.status()?.origin;
    let state = StateFolder::require()?;
    let config = Config::load(&state, &origin).map_err(CliError::failed)?;
    let files = Files::new(&state, &origin);
    let known: Vec<(Witness, Status)> = config
        .witnesses
        .into_iter()
        .map(|witness| {
            let status = Status::load(&files, &witness.name);
            (witness, status)
        })
        .collect();
    if ui.json {
        let witnesses: Vec<Value> = known
            .iter()
            .map(|(witness, status)| {
                let mut value = json!(witness);
                value["status"] = json!(status);
                value
            })
            .collect();
        ui.print_json(&json!({"origin": origin, "witnesses": witnesses}))?;
    } else if known.is_empty() {
        ui.remark("No witnesses yet: a log that was cut short as a whole would look intact elsewhere.");
        ui.remark("`cairn witness add --help` shows what can be one");
    } else {
        ui.print(&table(&known, ui))?;
    }
    Ok(Outcome::Fine)
}

fn table(known: &[(Witness, Status)], ui: &Ui) -> String {
    const LAST: usize = 5;
    let heads = ["name", "kind", "entries", "seen", "where", "last error"];
    let mut table = Table::new(heads, [usize::MAX, 9, 9, 12, 40, usize::MAX], &[1, 4]);
    for (witness, status) in known {
        let dash = || "–".to_string();
        let error = status.error.as_deref().or((status.failures > 0).then_some("it was interrupted"));
        table.row([
            witness.name.clone(),
            witness.place.kind().to_string(),
            status.size.map_or_else(dash, |size| size.to_string()),
            status.at.as_deref().map_or_else(dash, age),
            visible(&witness.place.to_string()).into_owned(),
            error.map_or_else(dash, |error| first_line(&visible(error))),
        ]);
    }
    table.render(ui.width, ui.palette, |row, column, cell| match column {
        0 => ui.palette.strong(cell),
        LAST if known[row].1.failures > 0 => ui.palette.bad(cell),
        _ => cell.to_string(),
    })
}
