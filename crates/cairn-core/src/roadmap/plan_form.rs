//! The plan form of a roadmap: `{title, description?, phases?, nodes, connections?}`.
//!
//! Everything that is wrong is collected, so that a file is repaired in one go and not error by error.

use std::fmt;

use serde_json::{Map, Value};

use super::document::{Content, Document, DocumentIssue, Key};
use super::flaws::{self, Flaw, Place};
use super::{DeclaredConnection, Node, Phase, PlannedNode, Roadmap};
use crate::canonical;

mod fields;

use fields::{Members, Rule, misspelt};

/// Issues listed for one file; the rest is counted.
pub const MOST_ISSUES: usize = 100;

/// A roadmap as it was read, with the lines its parts stand on.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The roadmap.
    pub roadmap: Roadmap,
    /// The line of each node.
    pub node_lines: Vec<u32>,
    /// The line of each connection.
    pub connection_lines: Vec<u32>,
    /// The line of each phase.
    pub phase_lines: Vec<u32>,
}

impl Reading {
    /// What the roadmap should not have.
    pub fn flaws(&self) -> Vec<Flaw> {
        let Roadmap { nodes, connections, phases, .. } = &self.roadmap;
        flaws::flaws(nodes.iter().map(|planned| &planned.node), connections, phases)
    }

    /// The line of a part, 0 if it is not known.
    pub fn line(&self, place: Place) -> u32 {
        let (lines, index) = match place {
            Place::Node(index) => (&self.node_lines, index),
            Place::Connection(index) => (&self.connection_lines, index),
            Place::Phase(index) => (&self.phase_lines, index),
        };
        lines.get(index).copied().unwrap_or(0)
    }
}

/// Reads a plan, or says everything that keeps it from being one.
pub fn read(document: Document) -> Result<Reading, Vec<DocumentIssue>> {
    let mut reader = Reader { issues: Vec::new(), left_out: 0, scratch: Vec::new() };
    let line = document.line;
    let found = document.kind();
    let Content::Map(members) = document.value else {
        let message = format!("a roadmap is a mapping with `title` and `nodes`, found {found}");
        return Err(vec![DocumentIssue { line, field: String::new(), message }]);
    };
    let here = Spot { list: "", index: None, line };
    let mut top = Members::new(members, ["title", "description", "phases", "nodes", "connections"]);
    // What else a file says is none of our business.
    reader.misspellings(here, &mut top);
    let title = reader.required(here, &mut top, "title", Rule::Name);
    let description = reader.optional(here, &mut top, "description", Rule::Prose);
    let (phases, phase_lines) = reader.list(here, &mut top, "phases", Reader::phase);
    if top.lacks("nodes") {
        reader.add(line, here.field("nodes"), "is missing: a list of nodes is expected, which may be empty");
    }
    let (nodes, node_lines) = reader.list(here, &mut top, "nodes", Reader::node);
    let (connections, connection_lines) = reader.list(here, &mut top, "connections", Reader::connection);
    match title {
        Some(title) if reader.issues.is_empty() => Ok(Reading {
            roadmap: Roadmap::complete(title, description, nodes, connections, phases),
            node_lines,
            connection_lines,
            phase_lines,
        }),
        _ => Err(reader.finish()),
    }
}

/// Where a mapping is: an entry of a list, or the document itself.
#[derive(Clone, Copy)]
struct Spot {
    list: &'static str,
    index: Option<usize>,
    line: u32,
}

impl Spot {
    fn field(self, name: &str) -> Field<'_> {
        Field { spot: self, name, item: None }
    }
}

/// A field, written as a path only when something is wrong with it.
#[derive(Clone, Copy)]
struct Field<'a> {
    spot: Spot,
    name: &'a str,
    item: Option<usize>,
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spot.list)?;
        if let Some(index) = self.spot.index {
            write!(f, "[{index}]")?;
        }
        if !self.spot.list.is_empty() && !self.name.is_empty() {
            f.write_str(".")?;
        }
        f.write_str(self.name)?;
        self.item.map_or(Ok(()), |item| write!(f, "[{item}]"))
    }
}

struct Reader {
    issues: Vec<DocumentIssue>,
    left_out: usize,
    scratch: Vec<u8>,
}

impl Reader {
    fn add(&mut self, line: u32, field: Field<'_>, message: impl Into<String>) {
        if self.issues.len() < MOST_ISSUES {
            self.issues.push(DocumentIssue { line, field: field.to_string(), message: message.into() });
        } else {
            self.left_out += 1;
        }
    }

    fn finish(mut self) -> Vec<DocumentIssue> {
        self.issues.sort_by_key(|issue| issue.line);
        if self.left_out > 0 {
            let message = format!("and {} more issues like these", self.left_out);
            self.issues.push(DocumentIssue { line: 0, field: String::new(), message });
        }
        self.issues
    }

    /// A key that is not known, and close to one that is known and not there, is a slip of the pen.
    fn misspellings<const N: usize>(&mut self, spot: Spot, members: &mut Members<N>) {
        for place in 0..members.others.len() {
            let (key, value) = &members.others[place];
            if let Some(meant) = misspelt(key, members.absent()) {
                let (key, line) = (key.clone(), value.line);
                let message = format!("is not a field that is known here; did you mean `{meant}`?");
                self.add(line, spot.field(&fields::shown(&key)), message);
                members.suspect(meant);
            }
        }
    }

    fn required<const N: usize>(
        &mut self,
        spot: Spot,
        members: &mut Members<N>,
        name: &'static str,
        rule: Rule,
    ) -> Option<String> {
        if members.lacks(name) {
            self.add(spot.line, spot.field(name), "is missing: a text is expected");
        }
        self.optional(spot, members, name, rule)
    }

    fn optional<const N: usize>(
        &mut self,
        spot: Spot,
        members: &mut Members<N>,
        name: &'static str,
        rule: Rule,
    ) -> Option<String> {
        let value = members.take(name)?;
        self.text(value, spot.field(name), rule)
    }

    fn text(&mut self, value: Document, field: Field<'_>, rule: Rule) -> Option<String> {
        let line = value.line;
        match rule.read(value) {
            Ok(text) => Some(text),
            Err(message) => {
                self.add(line, field, message);
                None
            }
        }
    }

    /// Reads every entry of a list that may be absent. Once something is wrong the result does not count.
    fn list<T, const N: usize>(
        &mut self,
        spot: Spot,
        members: &mut Members<N>,
        name: &'static str,
        mut read: impl FnMut(&mut Reader, Document, Spot) -> Option<T>,
    ) -> (Vec<T>, Vec<u32>) {
        let Some(value) = members.take(name) else { return (Vec::new(), Vec::new()) };
        let found = value.kind();
        let Content::List(items) = value.value else {
            self.add(value.line, spot.field(name), format!("must be a list, found {found}"));
            return (Vec::new(), Vec::new());
        };
        let lines = items.iter().map(|item| item.line).collect();
        let mut entries = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let spot = Spot { list: name, index: Some(index), line: item.line };
            entries.extend(read(self, item, spot));
        }
        (entries, lines)
    }

    fn mapping(&mut self, value: Document, spot: Spot, expected: &str) -> Option<Vec<(Key, Document)>> {
        let found = value.kind();
        match value.value {
            Content::Map(members) => Some(members),
            _ => {
                self.add(
                    spot.line,
                    spot.field(""),
                    format!("must be a mapping with {expected}, found {found}"),
                );
                None
            }
        }
    }

    fn node(&mut self, value: Document, spot: Spot) -> Option<PlannedNode> {
        let members = self.mapping(value, spot, "`id` and `label`")?;
        let mut members = Members::new(members, ["id", "label", "scope", "phase", "dependencies"]);
        self.misspellings(spot, &mut members);
        let id = self.required(spot, &mut members, "id", Rule::Id);
        let label = self.required(spot, &mut members, "label", Rule::Name);
        let scope = self.optional(spot, &mut members, "scope", Rule::Prose);
        let phase = self.optional(spot, &mut members, "phase", Rule::Id);
        let dependencies = self.dependencies(spot, members.take("dependencies"));
        // What depends on a node is derived; a file that says it too (our own answers do) adds nothing.
        members.others.retain(|(key, _)| key != "dependents");
        let extra = self.extra(spot, members.others);
        let node = Node { id: id?, label: label?, scope, phase, dependencies, dependents: Vec::new() };
        Some(PlannedNode { node, extra })
    }

    fn dependencies(&mut self, spot: Spot, value: Option<Document>) -> Vec<String> {
        let Some(value) = value else { return Vec::new() };
        let field = spot.field("dependencies");
        let found = value.kind();
        let Content::List(items) = value.value else {
            self.add(value.line, field, format!("must be a list of ids of nodes, found {found}"));
            return Vec::new();
        };
        let mut ids = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            ids.extend(self.text(item, Field { item: Some(index), ..field }, Rule::Id));
        }
        ids
    }

    fn connection(&mut self, value: Document, spot: Spot) -> Option<DeclaredConnection> {
        let members = self.mapping(value, spot, "`from` and `to`")?;
        let mut members = Members::new(members, ["id", "from", "to", "type"]);
        self.misspellings(spot, &mut members);
        let id = self.optional(spot, &mut members, "id", Rule::Id);
        let from = self.required(spot, &mut members, "from", Rule::Id);
        let to = self.required(spot, &mut members, "to", Rule::Id);
        let kind = self.optional(spot, &mut members, "type", Rule::Id);
        Some(DeclaredConnection { id, from: from?, to: to?, kind })
    }

    fn phase(&mut self, value: Document, spot: Spot) -> Option<Phase> {
        // A phase that has nothing but an id may be just that.
        if matches!(value.value, Content::Text(_) | Content::Number(_)) {
            let id = self.text(value, spot.field(""), Rule::Id)?;
            return Some(Phase { id, title: None, extra: Map::new() });
        }
        let members = self.mapping(value, spot, "`id`, or just an id")?;
        let mut members = Members::new(members, ["id", "title"]);
        self.misspellings(spot, &mut members);
        let id = self.required(spot, &mut members, "id", Rule::Id);
        let title = self.optional(spot, &mut members, "title", Rule::Name);
        let extra = self.extra(spot, members.others);
        Some(Phase { id: id?, title, extra })
    }

    /// Takes the rest over as JSON. It must have a canonical form, since snapshots hash what phases say.
    fn extra(&mut self, spot: Spot, others: Vec<(Key, Document)>) -> Map<String, Value> {
        let mut extra = Map::new();
        for (key, value) in others {
            let line = value.line;
            let value = value.into_json();
            self.scratch.clear();
            if let Err(error) = canonical::write(&value, &mut self.scratch) {
                self.add(line, spot.field(&fields::shown(&key)), error.to_string());
            }
            extra.insert(key.into_owned(), value);
        }
        extra
    }
}

#[cfg(test)]
mod tests;
