//! `cairn context create` and `ensure`: freeze what a roadmap looks like now.

use cairn::Captured;

use crate::args::App;
use crate::cmd::Outcome;
use crate::cmd::metadata::Metadata;
use crate::data_plans::{CapturedData, short_hash};
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{Ui, count, minute, visible};
use crate::witness;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Freeze this roadmap
    roadmap: String,
    #[command(flatten)]
    metadata: Metadata,
}

pub(crate) fn create(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let metadata = args.metadata.read()?;
    let cairn = app.write()?;
    let captured = cairn.context_create(&args.roadmap, metadata)?;
    let closed = cairn.clone();
    cairn.close();
    match app.ui.json {
        true => app.ui.print_json(&CapturedData::created(captured))?,
        false => say(&captured, &app.ui)?,
    }
    witness::publish_newest(&closed, StateFolder::find().as_ref());
    Ok(Outcome::Fine)
}

pub(crate) fn ensure(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let metadata = args.metadata.read()?;
    let cairn = app.write()?;
    let captured = cairn.context_ensure(&args.roadmap, metadata)?;
    let closed = cairn.clone();
    cairn.close();
    match app.ui.json {
        true => app.ui.print_json(&CapturedData::ensured(captured))?,
        false => say(&captured, &app.ui)?,
    }
    witness::publish_newest(&closed, StateFolder::find().as_ref());
    Ok(Outcome::Fine)
}

/// `context 3 of import: 12 nodes, hash 3f2a…, new`
fn say(captured: &Captured, ui: &Ui) -> Result<(), CliError> {
    let context = &captured.context;
    let state = match captured.is_existing {
        true => format!("unchanged since {}", minute(&context.created_at)),
        false => ui.palette.good("new"),
    };
    ui.print(&format!(
        "{} of {}: {}, hash {}, {state}\n",
        ui.palette.strong(&format!("context {}", context.context_id)),
        visible(context.roadmap_id.as_str()),
        count(context.node_count, "node"),
        short_hash(&context.content_hash)
    ))?;
    for flaw in &captured.warnings {
        let flaw = format!("{}: {}", flaw.path(), flaw.message);
        ui.remark(&format!("{} {}", ui.remarks.warning("warning:"), visible(&flaw)));
    }
    Ok(())
}
