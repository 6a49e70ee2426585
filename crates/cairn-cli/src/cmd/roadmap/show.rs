//! `cairn roadmap show`: one plan, whole.

use cairn::core::roadmap::{Node, Roadmap};

use super::issue;
use crate::args::App;
use crate::cmd::{Outcome, plan_page};
use crate::data_plans::RoadmapData;
use crate::error::CliError;
use crate::term::{Ui, count, first_line, visible, wrap};

/// Show a roadmap phase by phase
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this roadmap
    id: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let folder = app.roadmaps()?;
    let roadmap = folder.get(&args.id)?;
    if ui.json {
        ui.print_json(&RoadmapData::new(&args.id, roadmap))?;
        return Ok(Outcome::Fine);
    }
    ui.print(&page(&args.id, &roadmap, ui))?;
    for found in folder.validate(&args.id)?.issues {
        ui.remark(&format!("{} {}", ui.remarks.warning("warning:"), issue(&found)));
    }
    Ok(Outcome::Fine)
}

fn page(id: &str, roadmap: &Roadmap, ui: &Ui) -> String {
    let size = format!(
        "{}  {}, {}",
        visible(id),
        count(roadmap.nodes.len() as u64, "node"),
        count(roadmap.phases.len() as u64, "phase")
    );
    let title = ui.palette.strong(&first_line(&roadmap.title));
    let mut page = format!("{title}  {}\n", ui.palette.faint(&size));
    if let Some(description) = roadmap.description.as_deref().filter(|text| !text.trim().is_empty()) {
        page.push('\n');
        for line in wrap(visible(description).trim_end(), ui.width - 2) {
            page.push_str(format!("  {line}").trim_end());
            page.push('\n');
        }
    }
    let nodes: Vec<&Node> = roadmap.nodes.iter().map(|planned| &planned.node).collect();
    page + &plan_page::plan(&nodes, &roadmap.connections, &roadmap.phases, ui)
}
