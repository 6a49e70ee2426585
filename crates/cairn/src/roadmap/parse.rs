//! From the bytes of a file to a [`Document`], within limits that hold for every form.

use std::collections::HashSet;

use cairn_core::roadmap::document::{Document, DocumentIssue, Key};

use super::{Form, json, markdown, toml, yaml};

/// The most bytes a file may have.
pub(crate) const MAX_BYTES: usize = 16 << 20;
/// How many lists and mappings may be open at once.
pub(super) const MAX_DEPTH: usize = 64;
/// The most values a document may have, what aliases stand for counted each time.
const MAX_VALUES: usize = 1_000_000;
/// The most bytes of text in them, likewise.
const MAX_TEXT: usize = 64 << 20;

pub(super) type Parsed<T> = std::result::Result<T, DocumentIssue>;

/// Parses a whole file.
pub(super) fn parse(form: Form, bytes: &[u8]) -> Parsed<Document> {
    let text = text(bytes)?;
    match form {
        Form::Yaml => yaml::parse(text, 1),
        Form::Toml => toml::parse(text),
        Form::Json | Form::RoadmapSh => json::parse(text),
        Form::Markdown => {
            let parts = markdown::split(text)?;
            yaml::parse(parts.front, 2)
        }
    }
}

/// The text of a file: UTF-8, perhaps after a byte order mark.
pub(super) fn text(bytes: &[u8]) -> Parsed<&str> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        issue(line, "is not UTF-8 from this line on; save the file as UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

pub(super) fn issue(line: usize, message: impl Into<String>) -> DocumentIssue {
    let line = u32::try_from(line).unwrap_or(0);
    DocumentIssue { line, field: String::new(), message: message.into() }
}

pub(super) fn too_deep(line: usize) -> DocumentIssue {
    issue(line, format!("more than {MAX_DEPTH} levels of nesting"))
}

/// Adds the name of a member in front of a field.
pub(super) fn in_member(mut issue: DocumentIssue, key: &str) -> DocumentIssue {
    let key: String = key.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let dot = if issue.field.is_empty() || issue.field.starts_with('[') { "" } else { "." };
    issue.field = format!("{key}{dot}{}", issue.field);
    issue
}

/// Adds an index in front of a field.
pub(super) fn in_item(mut issue: DocumentIssue, index: usize) -> DocumentIssue {
    let dot = if issue.field.is_empty() || issue.field.starts_with('[') { "" } else { "." };
    issue.field = format!("[{index}]{dot}{}", issue.field);
    issue
}

/// What a document may still hold.
pub(super) struct Room {
    values: usize,
    text: usize,
}

impl Room {
    pub(super) fn new() -> Room {
        Room { values: MAX_VALUES, text: MAX_TEXT }
    }

    /// Makes use of some of it, before the memory for it is.
    pub(super) fn take(&mut self, values: usize, text: usize, line: usize) -> Parsed<()> {
        match (self.values.checked_sub(values), self.text.checked_sub(text)) {
            (Some(values), Some(text)) => {
                *self = Room { values, text };
                Ok(())
            }
            (None, _) => Err(issue(line, format!("more than {MAX_VALUES} values, aliases counted"))),
            (_, None) => {
                Err(issue(line, format!("more than {} MiB of text, aliases counted", MAX_TEXT >> 20)))
            }
        }
    }
}

/// The first member whose name was there before.
pub(super) fn duplicate(members: &[(Key, Document)]) -> Option<usize> {
    if members.len() <= 12 {
        return (1..members.len())
            .find(|&index| members[..index].iter().any(|(key, _)| *key == members[index].0));
    }
    let mut met = HashSet::with_capacity(members.len());
    members.iter().position(|(key, _)| !met.insert(key.as_ref()))
}

/// The lines of a text, by the place of a byte in it.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(place, _)| place).collect())
    }

    /// The line a byte is in, from 1.
    pub(super) fn at(&self, place: usize) -> usize {
        1 + self.0.partition_point(|end| *end < place)
    }
}
