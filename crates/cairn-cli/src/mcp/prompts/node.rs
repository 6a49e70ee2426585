//! `understand`, `think`, `act`, `reply`: the brief for a node, as `brief_build` builds it.

use cairn::core::brief::Brief;
use cairn::core::preview::preview;
use cairn::{BriefRequest, Cairn, Issue};
use rmcp::model::MetaObject;
use serde_json::{Value, json};

use super::{Built, Prompt};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::Failure;
use crate::mcp::sets::Set;

pub static UNDERSTAND: Prompt = node(
    "understand",
    "Understand the user",
    "What the session knows, to find out what the user means and which entities to keep in mind.",
);
pub static THINK: Prompt =
    node("think", "Plan the turn", "What the session knows, to plan the next steps without doing one twice.");
pub static ACT: Prompt =
    node("act", "Take a step", "What the session knows, with the data needed to take the next step.");
pub static REPLY: Prompt =
    node("reply", "Answer the user", "What the session knows, to answer in keeping with the conversation.");

const fn node(name: &'static str, title: &'static str, description: &'static str) -> Prompt {
    Prompt { name, title, description, set: Set::Memory, args: ARGS, build }
}

const ARGS: &[Arg] = &[
    Arg::new("session_id", Kind::Label, "which session").required(),
    Arg::new("task", Kind::Text, "what to do; default: the usual task"),
    Arg::new("turn", Kind::TextOrNumber, "as it was in this turn; default: now"),
    Arg::new("budget", Kind::TextOrNumber, "most tokens"),
    Arg::new(
        "layout",
        Kind::Word(&["seed", "cache"]),
        "seed, or cache: the next turn shares the longest prefix",
    ),
];

fn build(cairn: &Cairn, node: &'static str, mut given: Given) -> Result<Built, Failure> {
    let (turn, budget) = (number(&mut given, "turn"), number(&mut given, "budget"));
    let request = BriefRequest {
        session_id: given.text("session_id").unwrap_or_default(),
        node: node.to_string(),
        turn,
        budget,
        layout: given.text("layout"),
        task: given.text("task"),
        ..BriefRequest::default()
    };
    if !given.issues.is_empty() {
        return Err(Failure::invalid(given.issues));
    }
    let brief = cairn.brief_build(&request, false)?.brief;
    Ok(Built { meta: Some(provenance(&brief)), text: brief.text })
}

/// A number that is written as a text.
fn number(given: &mut Given, name: &'static str) -> Option<u64> {
    let text = given.text(name)?;
    let parsed = text.trim().parse();
    if parsed.is_err() && !given.issues.iter().any(|issue| issue.path == name) {
        let message = format!("must be a whole number, found the text {:?}", preview(&text, 40));
        given.issues.push(Issue::new(name, message));
    }
    parsed.ok()
}

/// What it takes to build the same brief again.
pub fn provenance(brief: &Brief) -> MetaObject {
    let value = json!({ "hash": brief.hash, "turn": brief.turn, "seq": brief.seq });
    match value {
        Value::Object(map) => MetaObject(map),
        _ => MetaObject::new(),
    }
}
