//! `cairn log`: the log itself, and what was stated about it.

mod new;

use cairn::{Cairn, RecordedKeyChange, Standing, Stated, Status};
use clap::Subcommand;
use serde::Serialize;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::{Table, Ui, count, visible};

/// Show the log: size, checkpoints, keys, what is remembered
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Show at most so many checkpoints
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(new::Args),
}

#[derive(Serialize)]
struct Shown {
    origin: String,
    size: u64,
    checkpoints: Vec<Stated>,
    key_changes: Vec<RecordedKeyChange>,
    remembered: Option<Head>,
    standing: String,
}

#[derive(Serialize)]
struct Head {
    size: u64,
    at: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    if let Some(Command::New(args)) = &args.command {
        return new::run(args, app);
    }
    let cairn = app.read()?;
    let shown = look(&cairn, args.limit)?;
    if app.ui.json {
        app.ui.print_json(&shown)?;
    } else {
        app.ui.print(&page(&shown, &app.ui))?;
    }
    Ok(Outcome::Fine)
}

fn look(cairn: &Cairn, limit: u64) -> Result<Shown, CliError> {
    let Status { origin, entries, .. } = cairn.status()?;
    let head = |seen: &cairn::SeenHead| Head { size: seen.size, at: seen.at.clone() };
    let (remembered, standing) = match cairn.standing() {
        Standing::Unknown => (None, "nothing is remembered of it".to_string()),
        Standing::Extends(seen) => (Some(head(seen)), "extends what is remembered of it".to_string()),
        Standing::Behind { newest, .. } => {
            (Some(head(newest)), "is shorter than what is remembered of it".to_string())
        }
        Standing::Diverged { head: seen, .. } => {
            (Some(head(seen)), "is not what is remembered of it".to_string())
        }
        Standing::Unreadable { why } => (None, format!("cannot be compared with what is remembered: {why}")),
        Standing::OtherLog { origin, newest } => {
            (newest.as_ref().map(head), format!("another log was here: {origin}"))
        }
    };
    Ok(Shown {
        origin,
        size: entries,
        checkpoints: cairn.checkpoints(limit)?,
        key_changes: cairn.key_changes()?,
        remembered,
        standing,
    })
}

fn page(shown: &Shown, ui: &Ui) -> String {
    let palette = ui.palette;
    let covered = shown.checkpoints.first().map_or(0, |newest| newest.size);
    let tail = shown.size.saturating_sub(covered);
    let mut page = format!("{}  {}\n", palette.strong(&visible(&shown.origin)), count(shown.size, "entry"));
    page.push_str(&match (covered, tail) {
        (0, _) => "no checkpoint yet; `cairn checkpoint` makes one\n".to_string(),
        (_, 0) => "every entry is covered by a checkpoint\n".to_string(),
        (_, tail) => format!("{} not covered by a checkpoint yet\n", count(tail, "entry")),
    });
    page.push_str(&match &shown.remembered {
        None => format!("{}\n", shown.standing),
        Some(head) => format!("{} ({} on {})\n", shown.standing, count(head.size, "entry"), head.at),
    });
    if !shown.checkpoints.is_empty() {
        let mut table = Table::new(["checkpoint", "root", "signed by"], [10, 64, usize::MAX], &[1, 2]);
        for stated in &shown.checkpoints {
            let by = match &stated.signed_by[..] {
                [] => "nobody".to_string(),
                keys => keys
                    .iter()
                    .map(|key| key.rsplit('+').next().unwrap_or(key))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            table.row([stated.size.to_string(), stated.root.to_string(), visible(&by).into_owned()]);
        }
        page.push('\n');
        page.push_str(&table.render(ui.width, palette, |_, column, cell| match column {
            0 => palette.strong(cell),
            _ => cell.to_string(),
        }));
    }
    for change in &shown.key_changes {
        let limit = change.last_trusted_size.map(|size| format!(", counts up to {size}")).unwrap_or_default();
        let reason = change.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = format!("key {} at entry {}{limit}{reason}", change.op, change.seq);
        page.push_str(&format!("\n{}\n  {}\n", visible(&line), visible(&change.vkey)));
    }
    page
}
