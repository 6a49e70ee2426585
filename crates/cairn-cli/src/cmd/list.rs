//! `cairn list`: what was recorded, one line each.

use std::collections::VecDeque;

use cairn::{Cairn, Damage, Filter, Page, Thought, ThoughtType};

use super::{Outcome, kind_parser, name_damaged, outcome};
use crate::args::App;
use crate::data;
use crate::error::CliError;
use crate::term::{ShortIds, Table, Ui, first_line, minute, said, visible};

/// How many thoughts a terminal shows unless told otherwise.
const SCREENFUL: usize = 50;

/// List thoughts in the order in which they were recorded
///
/// A terminal shows the newest 50 unless told otherwise; a pipe or a file gets everything, up to 10,000 thoughts or
/// 8 MiB a page.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only thoughts of this task
    #[arg(long, short)]
    task: Option<String>,
    /// Only thoughts of this session
    #[arg(long, short)]
    session: Option<String>,
    /// Only thoughts of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = kind_parser())]
    kind: Option<ThoughtType>,
    /// Only thoughts by this author
    #[arg(long, short)]
    agent: Option<String>,
    /// Show at most so many, from the oldest on
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Show the newest so many
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "cursor"],
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    last: Option<u64>,
    /// Go on after an earlier page
    #[arg(long)]
    cursor: Option<String>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let unbounded = args.limit.is_none() && args.cursor.is_none();
    let last = match args.last {
        Some(last) => Some(last as usize),
        None if unbounded && ui.interactive && !ui.json => Some(SCREENFUL),
        None => None,
    };
    let filter = Filter {
        task_id: args.task,
        session_id: args.session,
        kind: args.kind,
        agent_id: args.agent,
        limit: args.limit,
        cursor: args.cursor,
    };
    let cairn = app.read()?;
    if ui.json && !ui.interactive && last.is_none() {
        let mut json = Vec::new();
        let damaged =
            data::write_page(&cairn, &filter, &mut json)?.map_err(|error| CliError::output(error.into()))?;
        json.push(b'\n');
        ui.print_bytes(&json)?;
        return Ok(outcome(&damaged, ui));
    }
    let (page, older) = match last {
        None => (cairn.list(&filter)?, false),
        Some(last) => newest(&cairn, &filter, last)?,
    };
    if ui.json {
        ui.print_json(&page)?;
        return Ok(outcome(&page.damaged, ui));
    }
    if page.records.is_empty() && page.damaged.is_empty() {
        ui.remark("Nothing recorded that matches.");
        return Ok(Outcome::Fine);
    }
    ui.print(&table(&page, ui))?;
    if let Some(cursor) = &page.next_cursor {
        ui.remark(&format!("There is more: add `--cursor {cursor}`"));
    }
    if older {
        let shown = page.records.len();
        ui.remark(&format!("The newest {shown}; `--last N` shows more, `--limit N` begins with the oldest"));
    }
    // The table names those that have a place in the log.
    name_damaged(page.damaged.iter().filter(|damage| damage.seq.is_none()), ui)?;
    Ok(outcome(&page.damaged, ui))
}

/// The last thoughts of a listing, and whether there are older ones.
///
/// A cursor is a place in the log. So a million thoughts need not be read to see the last fifty: the search
/// begins near the end, and farther from it if too little was found.
fn newest(cairn: &Cairn, filter: &Filter, last: usize) -> Result<(Page, bool), CliError> {
    let end = cairn.status()?.entries;
    let mut reach = last as u64 + 2;
    loop {
        let start = end.saturating_sub(reach);
        let cursor = (start > 0).then(|| start.to_string());
        let (mut records, damaged) = tail(cairn, Filter { cursor, ..filter.clone() }, last + 1)?;
        if records.len() > last || start == 0 {
            let older = records.len() > last;
            records.drain(..records.len().saturating_sub(last));
            return Ok((Page { records: records.into(), damaged, next_cursor: None }, older));
        }
        reach = reach.saturating_mul(8);
    }
}

/// The last `most` thoughts from the cursor on, and all there that are damaged.
fn tail(
    cairn: &Cairn,
    mut filter: Filter,
    most: usize,
) -> Result<(VecDeque<Thought>, Vec<Damage>), CliError> {
    let (mut kept, mut damaged) = (VecDeque::new(), Vec::new());
    loop {
        let page = cairn.list(&filter)?;
        kept.extend(page.records);
        damaged.extend(page.damaged);
        kept.drain(..kept.len().saturating_sub(most));
        filter.cursor = page.next_cursor;
        if filter.cursor.is_none() {
            return Ok((kept, damaged));
        }
    }
}

/// Sound thoughts and damaged ones, each in its place in the log.
fn table(page: &Page, ui: &Ui) -> String {
    const TYPE: usize = 2;
    let ids = ShortIds::new(page.records.iter().map(|thought| thought.id.as_str()));
    let heads = ["id", "time (UTC)", "type", "session", "agent", "thought"];
    let mut table = Table::new(
        heads,
        [usize::MAX, 16, 10, if ui.width < 100 { 12 } else { 24 }, 14, usize::MAX],
        &[4, 3, 1],
    );
    let mut rows: Vec<(u64, Result<&Thought, &Damage>)> =
        page.records.iter().map(|thought| (thought.seq, Ok(thought))).collect();
    rows.extend(page.damaged.iter().filter_map(|damage| Some((damage.seq?, Err(damage)))));
    rows.sort_by_key(|(seq, _)| *seq);
    for (_, row) in &rows {
        let thought = match row {
            Ok(thought) => thought,
            Err(damage) => {
                let cells = ["DAMAGED", "", "", "", "", &visible(&damage.message)];
                table.row(cells.map(str::to_string));
                continue;
            }
        };
        table.row([
            visible(ids.of(thought.id.as_str())).into_owned(),
            minute(&thought.timestamp),
            thought.kind.to_string(),
            place(thought),
            visible(thought.agent_id.as_str()).into_owned(),
            first_line(&said(&thought.content, thought.redacted.as_ref())),
        ]);
    }
    table.render(ui.width, ui.palette, |row, column, cell| match column {
        0 if rows[row].1.is_err() => ui.palette.bad(cell),
        0 => ui.palette.strong(cell),
        TYPE => rows[row].1.map_or_else(|_| cell.to_string(), |thought| ui.palette.kind(thought.kind, cell)),
        _ => cell.to_string(),
    })
}

/// The session, and the task where it has another name.
fn place(thought: &Thought) -> String {
    let (session, task) = (thought.session_id.as_str(), thought.task_id.as_str());
    let place = if session == task { session.to_string() } else { format!("{session}/{task}") };
    visible(&place).into_owned()
}
