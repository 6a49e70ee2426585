//! `cairn session list`: which sessions there are.

use cairn::SessionInfo;
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::term::{Table, Ui, minute, visible};

/// List sessions, the one with the newest record first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let sessions = app.read()?.session_list(Some(args.limit))?;
    if ui.json {
        ui.print_json(&json!({"count": sessions.len(), "sessions": sessions}))?;
    } else if sessions.is_empty() {
        ui.remark("No sessions yet.");
    } else {
        ui.print(&table(&sessions, ui))?;
        if sessions.len() as u64 == args.limit {
            ui.remark(&format!("The newest {}; `--limit N` shows more", args.limit));
        }
    }
    Ok(Outcome::Fine)
}

fn table(sessions: &[SessionInfo], ui: &Ui) -> String {
    let heads = ["session", "turn", "thoughts", "events", "newest (UTC)"];
    let mut table = Table::new(heads, [usize::MAX, 9, 9, 9, 16], &[3, 2, 1]);
    for session in sessions {
        // Without events nothing is kept in mind, and there are no turns.
        let turn = if session.events == 0 { "–".to_string() } else { session.turn.to_string() };
        table.row([
            visible(session.session_id.as_str()).into_owned(),
            turn,
            session.thoughts.to_string(),
            session.events.to_string(),
            minute(&session.updated_at),
        ]);
    }
    table.render(ui.width, ui.palette, |_, column, cell| match column {
        0 => ui.palette.strong(cell),
        _ => cell.to_string(),
    })
}
