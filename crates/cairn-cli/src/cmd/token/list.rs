//! `cairn token list`: who is let in.

use cairn::TokenInfo;
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{Table, Ui, minute, visible};

/// List the tokens, with what they are for and when they were last used
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let tokens = app.read()?.tokens()?;
    if ui.json {
        ui.print_json(&json!({"count": tokens.len(), "tokens": tokens}))?;
    } else if tokens.is_empty() {
        ui.remark("No tokens yet: `cairn token add NAME` makes one.");
    } else {
        ui.print(&table(&tokens, ui))?;
    }
    Ok(Outcome::Fine)
}

fn table(tokens: &[TokenInfo], ui: &Ui) -> String {
    const STATE: usize = 6;
    let heads = ["id", "name", "scope", "agent", "created (UTC)", "last used (UTC)", "state"];
    let mut table = Table::new(heads, [usize::MAX, 24, 5, 20, 16, 16, usize::MAX], &[4, 3, 5]);
    for token in tokens {
        let dash = || "–".to_string();
        table.row([
            visible(&token.id).into_owned(),
            visible(&token.name).into_owned(),
            token.scope.to_string(),
            token.agent_id.as_deref().map_or_else(dash, |agent| visible(agent).into_owned()),
            minute(&token.created_at),
            token.last_used_at.as_ref().map_or_else(dash, minute),
            if token.revoked_at.is_some() { "revoked" } else { "active" }.to_string(),
        ]);
    }
    table.render(ui.width, ui.palette, |row, column, cell| match column {
        0 => ui.palette.strong(cell),
        STATE if tokens[row].revoked_at.is_some() => ui.palette.bad(cell),
        4 | 5 => ui.palette.faint(cell),
        _ => cell.to_string(),
    })
}
