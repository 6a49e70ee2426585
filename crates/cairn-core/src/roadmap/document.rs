//! A parsed file, whatever its form: values, and the lines they stand on.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

/// The name of a member. Large plans repeat the same few names, so those are not copied each time.
pub type Key = Cow<'static, str>;

/// The names that plans are full of.
const USUAL: [&str; 9] = ["id", "label", "scope", "phase", "dependencies", "from", "to", "type", "title"];

/// A member's name.
pub fn key(name: &str) -> Key {
    match USUAL.into_iter().find(|usual| *usual == name) {
        Some(usual) => Cow::Borrowed(usual),
        None => Cow::Owned(name.to_string()),
    }
}

/// A value in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The line it begins on, from 1; 0 if it did not come from a file.
    pub line: u32,
    /// What it is.
    pub value: Content,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number that JSON can hold.
    Number(Number),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Document>),
    /// Values by name, in the order of the file, no name twice.
    Map(Vec<(Key, Document)>),
}

impl Document {
    /// The word for what it is, with its article.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }

    /// The member of a mapping by that name.
    pub fn member(&self, name: &str) -> Option<&Document> {
        match &self.value {
            Content::Map(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The same as JSON.
    pub fn into_json(self) -> Value {
        match self.value {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(value),
            Content::Number(number) => Value::Number(number),
            Content::Text(text) => Value::String(text),
            Content::List(items) => Value::Array(items.into_iter().map(Document::into_json).collect()),
            Content::Map(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key.into_owned(), value.into_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// A JSON value, every part of it on line `line`.
    pub fn from_json(value: Value, line: u32) -> Document {
        let value = match value {
            Value::Null => Content::Null,
            Value::Bool(value) => Content::Bool(value),
            Value::Number(number) => Content::Number(number),
            Value::String(text) => Content::Text(text),
            Value::Array(items) => {
                Content::List(items.into_iter().map(|item| Document::from_json(item, line)).collect())
            }
            Value::Object(members) => Content::Map(
                members
                    .into_iter()
                    .map(|(name, value)| (key(&name), Document::from_json(value, line)))
                    .collect(),
            ),
        };
        Document { line, value }
    }
}

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentIssue {
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The field, such as `nodes[3].label`; empty for the file as a whole.
    pub field: String,
    /// What is wrong, and what was expected.
    pub message: String,
}
