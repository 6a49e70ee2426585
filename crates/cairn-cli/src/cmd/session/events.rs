//! `cairn session events`: what happened in a session, one line each.

use cairn::EventView;
use serde_json::json;

use super::unreadable;
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::session_words;
use crate::term::{Table, Ui, minute};

/// The last entry that a log can have.
const MOST: u64 = i64::MAX as u64;

/// List what happened in a session, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this session
    #[arg(value_name = "SESSION")]
    id: String,
    /// Begin after this entry of the log
    #[arg(long, value_name = "SEQ", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=MOST))]
    after: u64,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    // One more tells whether there is more.
    let mut events = cairn
        .session_events(&args.id, args.after, Some(args.limit + 1))
        .map_err(|error| unreadable(&cairn, &args.id, error))?;
    let more = events.len() as u64 > args.limit;
    events.truncate(args.limit as usize);
    let next = events.last().filter(|_| more).map(|event| event.seq);
    if ui.json {
        ui.print_json(
            &json!({"session_id": args.id, "count": events.len(), "events": events, "next_after": next}),
        )?;
        return Ok(Outcome::Fine);
    }
    if events.is_empty() {
        ui.remark(&format!("Nothing happened after entry {}.", args.after));
        return Ok(Outcome::Fine);
    }
    ui.print(&table(&events, ui))?;
    if let Some(next) = next {
        ui.remark(&format!("There is more: add `--after {next}`"));
    }
    Ok(Outcome::Fine)
}

fn table(events: &[EventView], ui: &Ui) -> String {
    let heads = ["seq", "turn", "time (UTC)", "what happened"];
    let mut table = Table::new(heads, [usize::MAX, 6, 16, usize::MAX], &[2]);
    for event in events {
        let (seq, turn) = (event.seq.to_string(), event.turn.to_string());
        table.row([seq, turn, minute(&event.created_at), session_words::event(event)]);
    }
    table.render(ui.width, ui.palette, |_, column, cell| match column {
        0 => ui.palette.strong(cell),
        2 => ui.palette.faint(cell),
        _ => cell.to_string(),
    })
}
