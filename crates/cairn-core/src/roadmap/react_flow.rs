//! The form that roadmap.sh publishes: a drawing of React Flow, `{nodes, edges}`.
//!
//! Such a drawing was made for the eye. Topics and subtopics are the plan; lines, titles, buttons and boxes are
//! decoration. Nothing that is odd about a drawing makes reading it fail: it is read for what it says.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::document::{Content, Document, DocumentIssue};
use super::plan_form::Reading;
use super::{DeclaredConnection, Node, PlannedNode, Roadmap};
use crate::preview::preview;

mod layout;

use layout::{Layout, Shape};

/// How far a subtopic without an edge may be from the topic it belongs to, in units of the drawing.
pub const NEAR: f64 = 500.0;

/// Drawings with more shapes than this are read by their edges alone, since comparing places takes the square.
pub const MOST_SHAPES: usize = 10_000;

/// Characters of an id, and of a label: the same as in the plan form.
const ID_CHARS: usize = 200;
const LABEL_CHARS: usize = 1_000;

/// Whether a document is a drawing rather than a plan: it has edges, and no connections.
pub fn is_drawing(document: &Document) -> bool {
    let has = |name| document.member(name).is_some();
    (has("edges") && !has("connections")) || (has("mockup") && !has("nodes"))
}

/// Reads the drawing of the roadmap `id`. `front` is what the text beside it says at its head.
pub fn read(id: &str, front: Option<&Document>, document: &Document) -> Result<Reading, Vec<DocumentIssue>> {
    let Some(Content::List(items)) = document.member("nodes").map(|nodes| &nodes.value) else {
        let message = if document.member("mockup").is_some() {
            "this is a drawing of the older kind (`mockup`); expected one of React Flow with a list of `nodes`"
        } else {
            "a drawing of roadmap.sh is an object with a list of `nodes`"
        };
        let line = document.member("nodes").map_or(document.line, |nodes| nodes.line);
        return Err(vec![DocumentIssue { line, field: "nodes".into(), message: message.into() }]);
    };
    let shapes: Vec<Shape> = items.iter().enumerate().map(|(index, item)| shape(index, item)).collect();
    let title = title(id, front, document, &shapes);
    let description = ["description", "briefDescription"]
        .iter()
        .find_map(|name| front?.member(name).and_then(words))
        .or_else(|| page_words(document.member("description")))
        .map(|text| text.replace('\0', " "));

    let mut links = Links::of(document, &shapes);
    let layout = (shapes.len() <= MOST_SHAPES).then(|| Layout::of(&shapes));
    if let Some(layout) = &layout {
        links.add_near(&shapes, layout);
    }
    let (phases, phase_lines, phase_of) = layout::phases(&shapes, layout.as_ref(), &links.connections);

    let kept = shapes.iter().zip(phase_of).filter(|(shape, _)| shape.planned());
    let (nodes, node_lines) = kept.map(|(shape, phase)| (planned(shape, phase), shape.line)).unzip();
    Ok(Reading {
        roadmap: Roadmap::complete(title, description, nodes, links.connections, phases),
        node_lines,
        connection_lines: links.lines,
        phase_lines,
    })
}

fn planned(shape: &Shape, phase: Option<String>) -> PlannedNode {
    let extra = Map::from_iter([("type".to_string(), Value::String(shape.kind.clone()))]);
    let node = Node {
        id: shape.id.clone(),
        label: shape.label.clone().unwrap_or_else(|| shape.id.clone()),
        scope: None,
        phase,
        dependencies: Vec::new(),
        dependents: Vec::new(),
    };
    PlannedNode { node, extra }
}

fn shape(index: usize, item: &Document) -> Shape {
    Shape {
        line: item.line,
        id: item.member("id").and_then(name).unwrap_or_else(|| format!("node-{}", index + 1)),
        kind: item.member("type").and_then(name).unwrap_or_default(),
        label: item.member("data").and_then(|data| data.member("label")).and_then(words),
        area: layout::area(item),
    }
}

/// The head of the text beside the drawing, the drawing itself, its title shape, the id: whichever has one.
fn title(id: &str, front: Option<&Document>, document: &Document, shapes: &[Shape]) -> String {
    let shape = || shapes.iter().find(|shape| shape.kind == "title").and_then(|shape| shape.label.clone());
    ["title", "briefTitle"]
        .iter()
        .find_map(|name| front?.member(name).and_then(words))
        .or_else(|| page_words(document.member("title")))
        .or_else(shape)
        .unwrap_or_else(|| id.to_string())
}

/// A text, or the one for a card or a page.
fn page_words(value: Option<&Document>) -> Option<String> {
    let value = value?;
    words(value).or_else(|| ["page", "card"].iter().find_map(|name| value.member(name).and_then(words)))
}

/// A text for people: every run of white space and control characters is one space; none if nothing is left.
fn words(value: &Document) -> Option<String> {
    let text = scalar(value)?;
    let separates = |c: char| c.is_whitespace() || c.is_control();
    let parts: Vec<&str> = text.split(separates).filter(|part| !part.is_empty()).collect();
    let joined = parts.join(" ");
    (!joined.is_empty()).then(|| preview(&joined, LABEL_CHARS - 1).into_owned())
}

/// A text for machines, as it stands, with nothing in it that the plan form would refuse.
fn name(value: &Document) -> Option<String> {
    let text = scalar(value)?;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    (!text.is_empty()).then(|| text.chars().take(ID_CHARS).map(plain).collect())
}

fn scalar(value: &Document) -> Option<String> {
    match &value.value {
        Content::Text(text) => Some(text.clone()),
        Content::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What leads to what, each with an id of its own and the line it stands on.
struct Links {
    connections: Vec<DeclaredConnection>,
    lines: Vec<u32>,
    taken: HashMap<String, usize>,
}

impl Links {
    /// The edges between two nodes of the plan. What an edge to decoration meant cannot be told.
    fn of(document: &Document, shapes: &[Shape]) -> Links {
        let mut links = Links { connections: Vec::new(), lines: Vec::new(), taken: HashMap::new() };
        let planned: HashSet<&str> =
            shapes.iter().filter(|shape| shape.planned()).map(|shape| shape.id.as_str()).collect();
        let Some(Content::List(edges)) = document.member("edges").map(|edges| &edges.value) else {
            return links;
        };
        for edge in edges {
            let end = |key| edge.member(key).and_then(name).filter(|id| planned.contains(id.as_str()));
            if let (Some(from), Some(to)) = (end("source"), end("target"))
                && from != to
            {
                let id = edge.member("id").and_then(name).unwrap_or_else(|| format!("{from}->{to}"));
                links.add(id, from, to, None, edge.line);
            }
        }
        links
    }

    fn add(&mut self, id: String, from: String, to: String, kind: Option<String>, line: u32) {
        let mut own = id.clone();
        while self.taken.contains_key(&own) {
            let number = self.taken.entry(id.clone()).or_insert(1);
            *number += 1;
            own = format!("{id}#{number}");
        }
        self.taken.insert(own.clone(), 1);
        self.connections.push(DeclaredConnection { id: Some(own), from, to, kind });
        self.lines.push(line);
    }

    /// A subtopic without an edge stands beside the topic it belongs to.
    fn add_near(&mut self, shapes: &[Shape], layout: &Layout) {
        let tied: HashSet<String> =
            self.connections.iter().flat_map(|link| [link.from.clone(), link.to.clone()]).collect();
        for shape in shapes.iter().filter(|shape| shape.kind == "subtopic" && !tied.contains(&shape.id)) {
            if let Some(topic) = layout.topic_near(shapes, shape) {
                let id = format!("near:{}->{}", topic.id, shape.id);
                self.add(id, topic.id.clone(), shape.id.clone(), Some("placement".into()), shape.line);
            }
        }
    }
}

#[cfg(test)]
mod tests;
