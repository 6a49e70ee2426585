//! `cairn brief build`: what a node would be told.

use cairn::core::brief::{Depth, Layout, Node};
use cairn::{BriefRequest, BuiltBrief};
use clap::builder::PossibleValuesParser;

use super::left_out;
use crate::args::App;
use crate::cmd::Outcome;
use crate::cmd::session::unreadable;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{count, visible};
use crate::witness;

/// Build the brief for a node and print its text
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this session
    session: String,
    /// Build it for this node
    #[arg(value_parser = PossibleValuesParser::new(Node::ALL.map(Node::as_str)))]
    node: String,
    /// Build it as of this turn [default: the current one]
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    /// Take at most so many tokens
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    budget: Option<u64>,
    /// Show so much of the conversation [default: what the node needs]
    #[arg(long, value_parser = PossibleValuesParser::new(Depth::ALL.map(Depth::as_str)))]
    depth: Option<String>,
    /// Order it as it reads, or so that the next turn shares the longest beginning
    #[arg(long, value_parser = PossibleValuesParser::new(Layout::ALL.map(Layout::as_str)), default_value = Layout::Seed.as_str())]
    layout: String,
    /// Count tokens with this: `est-1`, or a factor such as 0.3 tokens a character
    #[arg(long, value_name = "COUNTER", default_value = "est-1")]
    counter: String,
    /// Say what the node is to do [default: what it is there for]
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// Store it, so that a decision can name it and anyone can verify it
    #[arg(long)]
    store: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = if args.store { app.write()? } else { app.read()? };
    let request = BriefRequest {
        session_id: args.session,
        node: args.node,
        turn: args.turn,
        budget: args.budget,
        depth: args.depth,
        layout: Some(args.layout),
        counter: Some(args.counter),
        task: args.task,
    };
    let built = cairn
        .brief_build(&request, args.store)
        .map_err(|error| unreadable(&cairn, &request.session_id, error))?;
    let closed = cairn.clone();
    cairn.close();
    if ui.json {
        ui.print_json(&built)?;
    } else {
        ui.print(&visible(&built.brief.text))?;
        ui.remark(&ui.remarks.faint(&summary(&built)));
        if let Some(id) = &built.brief_id {
            ui.remark(&ui.remarks.good(&format!("Stored as brief {id}")));
        }
    }
    if args.store {
        witness::publish_newest(&closed, StateFolder::find().as_ref());
    }
    Ok(Outcome::Fine)
}

fn summary(built: &BuiltBrief) -> String {
    let (brief, report) = (&built.brief, &built.brief.report);
    let mut summary = format!(
        "{}, turn {}: {} ({}), {}",
        brief.node.as_str(),
        brief.turn,
        count(report.tokens, "token"),
        visible(&brief.counter),
        count(report.included, "item")
    );
    if let Some(left_out) = left_out(report.omitted.iter().map(|omitted| omitted.section)) {
        summary.push_str(&format!(", {left_out}"));
    }
    summary
}
