//! Briefs: the context for one node of a session at one turn, built by a pure function.
//!
//! The same events, node and options give the same bytes, today and in ten years: no clock, no random id and no
//! order of a map takes part, and [`FORMAT`] changes when the way of building does.

mod candidate;
mod conversation;
mod entities;
mod layout;
mod options;
mod reasoning;
mod render;
mod select;
mod text;
pub mod tokens;

use serde::Serialize;

use crate::hash::Sha;
use crate::session::SessionState;
use crate::thought::ThoughtType;
use candidate::{Candidate, Part};

pub use entities::{format_entity_context, needed_bodies};
pub use options::{Depth, EntityMode, Layout, Node, Options};

/// The way briefs are built. Part of every hash.
pub const FORMAT: u64 = 1;

/// What a brief is made of.
pub struct Material<'a> {
    /// The session.
    pub session_id: &'a str,
    /// Its state at the point that the brief is for.
    pub state: &'a SessionState,
    /// That point: position in the log of the newest event or thought that takes part.
    pub seq: u64,
    /// The thoughts of the session up to there, oldest first.
    pub thoughts: &'a [TraceThought],
    /// The content of a body by its digest, for those that [`needed_bodies`] names.
    pub body: &'a dyn Fn(&Sha) -> Option<&'a str>,
}

/// A thought as a brief shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceThought {
    /// Position in the log.
    pub seq: u64,
    /// Its type.
    pub kind: ThoughtType,
    /// The first line of its content.
    pub first_line: String,
}

/// A built brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// See [`FORMAT`].
    pub format: u64,
    /// The node.
    pub node: Node,
    /// The session.
    pub session_id: String,
    /// The turn.
    pub turn: u64,
    /// See [`Material::seq`].
    pub seq: u64,
    /// The order of the parts.
    pub layout: Layout,
    /// The most tokens.
    pub budget: Option<u64>,
    /// How they were counted.
    pub counter: String,
    /// The parts, in the order of the text.
    pub sections: Vec<Section>,
    /// What was left out.
    pub report: Report,
    /// All of it as text.
    pub text: String,
    /// `SHA256(canonical({format, node, session_id, turn, seq, layout, budget, counter, sections}))`.
    pub hash: Sha,
}

/// A part of a brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// Its name.
    pub id: &'static str,
    /// What is in it.
    pub items: Vec<Item>,
}

/// One line or block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// The entity it is about.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub entity_ref: Option<String>,
    /// The text.
    pub text: String,
    /// The events and thoughts it came from: positions in the log.
    pub events: Vec<u64>,
}

/// What a budget left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Tokens of the text.
    pub tokens: u64,
    /// How many items are in it.
    pub included: u64,
    /// What is not.
    pub omitted: Vec<Omitted>,
}

/// An item that is not in a brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Omitted {
    /// The section it would be in.
    pub section: &'static str,
    /// The entity it is about.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub entity_ref: Option<String>,
    /// Its tokens.
    pub tokens: u64,
    /// Why it is not.
    pub reason: &'static str,
}

/// A required item does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a budget of {budget} tokens is too small for {item}; what must be shown needs {needed}")]
pub struct BudgetTooSmall {
    /// The budget.
    pub budget: u64,
    /// What did not fit, in words.
    pub item: String,
    /// The budget that has room for all that must be shown.
    pub needed: u64,
}

/// Builds the brief that `options` ask for.
pub fn build(material: &Material<'_>, options: &Options) -> Result<Brief, BudgetTooSmall> {
    let Options { node, depth, .. } = *options;
    let mut candidates = Vec::new();
    let header = format!("This is what the session knows, for its {} node.", node.as_str());
    candidates.push(Candidate::required(Part::Header, "the header", header, Vec::new()));
    candidates.extend(entities::for_node(material.state, node, material.body));
    candidates.extend(conversation::for_node(material.state, node, depth));
    candidates.extend(reasoning::for_node(material.state, node, material.thoughts));
    let task = match &options.task {
        Some(task) if !task.trim().is_empty() => text::task(task),
        _ => usual_task(node).to_string(),
    };
    candidates.push(Candidate::required(Part::Task, "the task", task, Vec::new()));
    render::render(material, options, candidates)
}

/// What a node is there for.
fn usual_task(node: Node) -> &'static str {
    match node {
        Node::Understand => "Decide what the user means, and which entities to keep in mind or to let go.",
        Node::Think => "Plan the next steps; what happened already need not happen again.",
        Node::Act => "Take the next step with the data above.",
        Node::Reply => "Answer the user, in keeping with the conversation so far.",
    }
}

/// [`build`] for Understand, whatever node `options` name.
pub fn build_understand_context(material: &Material<'_>, options: &Options) -> Result<Brief, BudgetTooSmall> {
    build(material, &Options { node: Node::Understand, ..options.clone() })
}

/// [`build`] for Think, whatever node `options` name.
pub fn build_think_context(material: &Material<'_>, options: &Options) -> Result<Brief, BudgetTooSmall> {
    build(material, &Options { node: Node::Think, ..options.clone() })
}

/// [`build`] for Act, whatever node `options` name.
pub fn build_act_context(material: &Material<'_>, options: &Options) -> Result<Brief, BudgetTooSmall> {
    build(material, &Options { node: Node::Act, ..options.clone() })
}

/// [`build`] for Reply, whatever node `options` name.
pub fn build_reply_context(material: &Material<'_>, options: &Options) -> Result<Brief, BudgetTooSmall> {
    build(material, &Options { node: Node::Reply, ..options.clone() })
}
