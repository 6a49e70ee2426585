//! `cairn brief list`: which briefs are stored.

use cairn::BriefInfo;
use serde_json::json;

use crate::args::App;
use crate::cmd::session::unreadable;
use crate::cmd::{Outcome, listed};
use crate::error::CliError;
use crate::term::{Table, Ui, minute, visible};

/// List stored briefs, the newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List only those of this session
    #[arg(long, short, value_name = "SESSION")]
    session: Option<String>,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1000))]
    limit: u64,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    let session = args.session.as_deref();
    let briefs = cairn
        .briefs(session, Some(args.limit))
        .map_err(|error| unreadable(&cairn, session.unwrap_or_default(), error))?;
    if ui.json {
        let mut data = json!({"count": briefs.len(), "briefs": briefs.records});
        if !briefs.damaged.is_empty() {
            data["damaged"] = json!(briefs.damaged);
        }
        ui.print_json(&data)?;
    } else if briefs.is_empty() && briefs.damaged.is_empty() {
        ui.remark("No stored briefs yet: `cairn brief build --store` stores one.");
    } else {
        ui.print(&table(&briefs, ui))?;
        if briefs.len() as u64 == args.limit {
            ui.remark(&format!("The newest {}; `--limit N` shows more", args.limit));
        }
    }
    listed(&briefs.damaged, ui)
}

fn table(briefs: &[BriefInfo], ui: &Ui) -> String {
    let heads = ["brief", "node", "turn", "stored (UTC)", "session"];
    let mut table = Table::new(heads, [usize::MAX, 10, 9, 16, usize::MAX], &[3, 2]);
    for brief in briefs {
        table.row([
            visible(brief.brief_id.as_str()).into_owned(),
            visible(&brief.node).into_owned(),
            brief.turn.to_string(),
            minute(&brief.created_at),
            visible(brief.session_id.as_str()).into_owned(),
        ]);
    }
    table.render(ui.width, ui.palette, |_, column, cell| match column {
        0 => ui.palette.strong(cell),
        3 => ui.palette.faint(cell),
        _ => cell.to_string(),
    })
}
