//! `cairn show`: one record, whole.

use std::fmt::Write;

use cairn::core::id::ThoughtId;
use cairn::core::preview::preview;
use cairn::{Cairn, Thought};

use super::brief::Told;
use super::{Outcome, record::find};
use crate::args::App;
use crate::error::CliError;
use crate::term::{Ui, said, visible, wrap};

/// Show one thought with its text, links and hashes
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name it by its id or a unique beginning of it
    id: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.read()?;
    let thought = find(&cairn, &args.id)?;
    if app.ui.json {
        app.ui.print_json(&thought)?;
    } else {
        let links = links(&cairn, &thought);
        app.ui.print(&page(&thought, &links, &app.ui))?;
    }
    Ok(Outcome::Fine)
}

/// The snapshot that a thought was based on, and whether there is a newer one. What cannot be read is left out:
/// the thought itself is there.
fn plan(cairn: &Cairn, thought: &Thought) -> Option<String> {
    let id = thought.context_id?;
    let Ok(Some(context)) = cairn.context_head(id) else { return Some(id.to_string()) };
    let roadmap = &context.roadmap_id;
    let mut plan = format!("{id} (roadmap {roadmap}, captured {})", context.created_at);
    let newest = cairn.context_history(roadmap.as_str(), Some(1)).ok();
    let newest = newest.and_then(|history| history.records.into_iter().next());
    if let Some(newest) = newest.filter(|newest| newest.content_hash != context.content_hash) {
        plan.push_str(&format!(", superseded by context {}", newest.context_id));
    }
    Some(plan)
}

/// The brief that a thought was based on, and what it was for.
fn brief(cairn: &Cairn, thought: &Thought) -> Option<String> {
    let id = thought.brief_id.as_ref()?;
    let stored = cairn.brief(id.as_str()).ok().flatten();
    let place = stored.and_then(|stored| Some(Told::of(&stored).ok()?.place(&stored)));
    let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
    Some(format!("{id}{place}"))
}

/// Characters of another thought that are shown beside its id.
const SHORT: usize = 60;

/// Another thought that this one names: its id, and how its text begins.
fn other(cairn: &Cairn, id: &ThoughtId) -> String {
    let Ok(Some(other)) = cairn.get(id.as_str()) else { return id.to_string() };
    let text = said(&other.content, other.redacted.as_ref());
    format!("{id} ({})", preview(text.lines().next().unwrap_or_default(), SHORT))
}

/// Everything that a thought points to, by name.
fn links(cairn: &Cairn, thought: &Thought) -> Vec<(&'static str, String)> {
    let one = |name, value: Option<String>| value.map(|value| (name, value));
    let others = |name, ids: &[ThoughtId]| {
        ids.iter().map(|id| (name, other(cairn, id))).collect::<Vec<(&'static str, String)>>()
    };
    let mut links = Vec::new();
    links.extend(one("parent", thought.parent_id.as_ref().map(ToString::to_string)));
    links.extend(one("action", thought.action_id.as_ref().map(ToString::to_string)));
    links.extend(one("context", plan(cairn, thought)));
    links.extend(one("brief", brief(cairn, thought)));
    let print = thought.brief_id.as_ref().map(|id| format!("`cairn brief show {id}` prints it"));
    links.extend(one("", print));
    links.extend(others("supersedes", &thought.supersedes));
    links.extend(others("rejects", &thought.rejects));
    links.extend(thought.applies_to.iter().map(|subject| ("applies to", subject.to_string())));
    links
}

fn page(thought: &Thought, links: &[(&str, String)], ui: &Ui) -> String {
    let palette = ui.palette;
    let mut page = format!(
        "{} {}\n",
        palette.kind(thought.kind, thought.kind.as_str()),
        palette.strong(&visible(thought.id.as_str()))
    );
    let mut line = |name: &str, value: String| {
        let _ = writeln!(page, "  {} {}", palette.faint(&format!("{name:<10}")), visible(&value));
    };
    line("session", format!("{} (step {})", thought.session_id, thought.step_index));
    line("task", thought.task_id.to_string());
    line("agent", thought.agent_id.to_string());
    line("source", thought.source.to_string());
    line("time", thought.timestamp.to_string());
    links.iter().for_each(|(name, value)| line(name, value.clone()));
    line("log", format!("entry {}", thought.seq));
    if thought.sealed {
        line(
            "sealed",
            "stored encrypted, with a key of its own; the hashes are those of the sealed text".to_string(),
        );
    }
    page.push('\n');
    let content = said(&thought.content, thought.redacted.as_ref());
    if content.is_empty() {
        page.push_str(&palette.faint("  (no text)\n"));
    }
    indent(&mut page, &content, ui.width);
    if let Some(metadata) = &thought.metadata {
        let _ = writeln!(page, "\n{}", palette.faint("metadata"));
        indent(&mut page, &serde_json::to_string_pretty(metadata).expect("keys are texts"), ui.width);
    }
    let _ = writeln!(page, "\n{}", palette.faint("hashes"));
    let hashes = [
        ("content_hash", thought.content_hash),
        ("chain_hash", thought.chain_hash),
        ("prev_hash", thought.prev_hash),
        ("hash", thought.hash),
    ];
    for (name, hash) in hashes {
        let _ = writeln!(page, "  {} {hash}", palette.faint(&format!("{name:<12}")));
    }
    page
}

fn indent(page: &mut String, text: &str, width: usize) {
    for line in wrap(visible(text).trim_end(), width - 2) {
        page.push_str(format!("  {line}").trim_end());
        page.push('\n');
    }
}
