//! `cairn brief diff`: what differs between two stored briefs.

use cairn::{BriefComparison, StoredBriefView};

use super::{Told, find};
use crate::args::App;
use crate::cmd::Outcome;
use crate::cmd::changes::Sign;
use crate::data_plans::short_hash;
use crate::error::CliError;
use crate::term::{Ui, visible};

/// Show what differs between two stored briefs, section by section
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin with this brief
    #[arg(value_name = "OLD")]
    old: String,
    /// Compare it with this one
    #[arg(value_name = "NEW")]
    new: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    let comparison = cairn.brief_compare(&args.old, &args.new)?;
    if ui.json {
        ui.print_json(&comparison)?;
        return Ok(Outcome::Fine);
    }
    let (old, new) = (find(&cairn, &args.old)?, find(&cairn, &args.new)?);
    ui.print(&page(&comparison, &old, &new, ui)?)?;
    Ok(Outcome::Fine)
}

fn page(
    comparison: &BriefComparison,
    old: &StoredBriefView,
    new: &StoredBriefView,
    ui: &Ui,
) -> Result<String, CliError> {
    let palette = ui.palette;
    if comparison.identical {
        return Ok(format!("The briefs are identical (hash {})\n", short_hash(&new.hash)));
    }
    let head = |stored: &StoredBriefView| -> Result<String, CliError> {
        let told = Told::of(stored)?;
        Ok(format!("{}  {}", visible(stored.brief_id.as_str()), told.place(stored)))
    };
    let mut page = format!("{}\n", palette.removed(&format!("--- {}", head(old)?)));
    page.push_str(&format!("{}\n", palette.added(&format!("+++ {}", head(new)?))));
    if comparison.sections.is_empty() {
        page.push_str("\nBoth say the same; what they were asked for or built from differs\n");
    }
    for section in &comparison.sections {
        page.push_str(&format!("\n{}\n", palette.strong(&visible(&section.id))));
        for (sign, items) in [(Sign::Removed, &section.only_in_1), (Sign::Added, &section.only_in_2)] {
            for line in items.iter().flat_map(|item| item.lines()) {
                let line = visible(line);
                let line = format!("{} {line}", sign.letter());
                page.push_str(&format!("{}\n", sign.paint(palette, line.trim_end())));
            }
        }
    }
    Ok(page)
}
