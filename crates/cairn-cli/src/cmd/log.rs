//! `cairn log`: the log itself, and what was stated about it.

mod new;

use cairn::{Cairn, LostLog, RecordedKeyChange, SeenCopy, SeenHead, Stated, Status};
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
    /// The log that this one continues, if it does.
    continues: Option<LostLog>,
    checkpoints: Vec<Stated>,
    key_changes: Vec<RecordedKeyChange>,
    remembered: Option<SeenHead>,
    standing: String,
    copies: Vec<SeenCopy>,
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
    Ok(Shown {
        origin,
        size: entries,
        continues: cairn.continues()?,
        checkpoints: cairn.checkpoints(limit)?,
        key_changes: cairn.key_changes()?,
        remembered: cairn.standing().head().cloned(),
        standing: cairn.standing().words(),
        copies: cairn.copies().to_vec(),
    })
}

fn page(shown: &Shown, ui: &Ui) -> String {
    let palette = ui.palette;
    let covered = shown.checkpoints.first().map_or(0, |newest| newest.size);
    let tail = shown.size.saturating_sub(covered);
    let mut page = format!("{}  {}\n", palette.strong(&visible(&shown.origin)), count(shown.size, "entry"));
    if let Some(LostLog { origin, size, reason, actor, .. }) = &shown.continues {
        let words =
            format!("continues {origin}, last seen with {}, by {actor}: {reason}", count(*size, "entry"));
        page.push_str(&format!("{}\n", visible(&words)));
    }
    page.push_str(&match (covered, tail) {
        (0, _) => "no checkpoint yet; `cairn checkpoint` makes one\n".to_string(),
        (_, 0) => "every entry is covered by a checkpoint\n".to_string(),
        (_, tail) => format!("{} not covered by a checkpoint yet\n", count(tail, "entry")),
    });
    page.push_str(&match &shown.remembered {
        None => format!("{}\n", shown.standing),
        Some(head) => format!("{} ({} on {})\n", shown.standing, count(head.size, "entry"), head.at),
    });
    for copy in &shown.copies {
        page.push_str(&format!("note: {}\n", visible(&copy.words())));
    }
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
