//! `cairn roadmap list`: the plans there are.

use cairn::ListedRoadmap;
use serde_json::Value;

use crate::args::App;
use crate::cmd::Outcome;
use crate::data_plans::RoadmapList;
use crate::error::CliError;
use crate::term::{Table, Ui, first_line, visible};

/// List the roadmaps in the folder
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let folder = app.roadmaps()?;
    let roadmaps = folder.list()?;
    if ui.json {
        ui.print_json(&RoadmapList::from(roadmaps))?;
        return Ok(Outcome::Fine);
    }
    if roadmaps.is_empty() {
        let folder = folder.folder().display().to_string();
        ui.remark(&format!("No roadmaps in `{}`; `cairn roadmap add FILE` puts one there", visible(&folder)));
        return Ok(Outcome::Fine);
    }
    ui.print(&table(&roadmaps, ui))?;
    Ok(Outcome::Fine)
}

fn table(roadmaps: &[ListedRoadmap], ui: &Ui) -> String {
    const TITLE: usize = 4;
    let mut table = Table::new(
        ["id", "form", "nodes", "phases", "title"],
        [usize::MAX, 10, 7, 7, usize::MAX],
        &[3, 1, 2],
    );
    for roadmap in roadmaps {
        let form = match serde_json::to_value(roadmap.form) {
            Ok(Value::String(form)) => form,
            _ => String::new(),
        };
        let number = |count: u64| if roadmap.error.is_some() { "–".to_string() } else { count.to_string() };
        let title = match &roadmap.error {
            Some(error) => format!("cannot be read: {}", first_line(error)),
            None => first_line(roadmap.title.as_deref().unwrap_or_default()),
        };
        table.row([
            visible(roadmap.id.as_str()).into_owned(),
            form,
            number(roadmap.node_count),
            number(roadmap.phase_count),
            title,
        ]);
    }
    table.render(ui.width, ui.palette, |row, column, cell| match column {
        0 => ui.palette.strong(cell),
        TITLE if roadmaps[row].error.is_some() => ui.palette.bad(cell),
        _ => cell.to_string(),
    })
}
