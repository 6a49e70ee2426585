//! Arguments of tools. One declaration gives the schema that clients see and the check that is made.

mod check;
mod given;
mod nearest;

pub use given::Given;
pub use nearest::nearest;

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// One argument of a tool.
pub struct Arg {
    /// As it is documented: snake_case. The camelCase spelling is accepted as well.
    pub name: &'static str,
    /// Other names that are accepted, by which older clients know it.
    pub older: &'static [&'static str],
    /// What it may be.
    pub kind: Kind,
    /// Whether it must be given.
    pub required: bool,
    /// What it means, for the model that fills it in.
    pub about: &'static str,
}

/// What an argument may be.
pub enum Kind {
    /// Any text.
    Text,
    /// A text that is not empty.
    Label,
    /// A text, or a number instead of it.
    TextOrNumber,
    /// One of these words. A number that is one of them may come as a number.
    Word(&'static [&'static str]),
    /// A whole number in this range.
    Integer(u64, u64),
    /// Yes or no.
    Flag,
    /// A JSON object.
    Object,
    /// A list of JSON objects.
    List,
    /// A list of texts.
    Texts,
}

impl Arg {
    /// An argument that may be left out.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Arg {
        Arg { name, older: &[], kind, required: false, about }
    }

    /// The same, but it must be given.
    pub const fn required(self) -> Arg {
        Arg { required: true, ..self }
    }

    /// The same, also known by these names.
    pub const fn older(self, names: &'static [&'static str]) -> Arg {
        Arg { older: names, ..self }
    }

    /// Whether `key` is a spelling of this argument's name.
    fn is_named(&self, key: &str) -> bool {
        key == self.name || self.older.contains(&key) || is_camel_case_of(key, self.name)
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            // Not a list of two types: some clients cannot pass that on to their model.
            Kind::Text | Kind::Label | Kind::TextOrNumber => json!({ "type": "string" }),
            Kind::Word(words) => json!({ "type": "string", "enum": words }),
            Kind::Integer(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
            Kind::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::Object => json!({ "type": "object" }),
            Kind::List => json!({ "type": "array", "items": { "type": "object" } }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        };
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }
}

/// Compares without building the other spelling: this runs for every argument of every call.
fn is_camel_case_of(camel: &str, snake: &str) -> bool {
    let mut upper = false;
    let mut left = camel.bytes();
    for byte in snake.bytes() {
        if byte == b'_' {
            upper = true;
        } else {
            let expected = if upper { byte.to_ascii_uppercase() } else { byte };
            if left.next() != Some(expected) {
                return false;
            }
            upper = false;
        }
    }
    left.next().is_none()
}

/// The input schema of a tool with these arguments.
///
/// It does not forbid further properties, since the other spellings of the names are accepted.
pub fn schema(args: &[Arg]) -> JsonObject {
    let properties: Map<String, Value> =
        args.iter().map(|arg| (arg.name.to_string(), arg.schema())).collect();
    let required: Vec<&str> = args.iter().filter(|arg| arg.required).map(|arg| arg.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_string(), json!("object"));
    schema.insert("properties".to_string(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_string(), json!(required));
    }
    schema
}

/// The word for the type of a value, with its article.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_and_older_names_are_known() {
        let arg = Arg::new("parent_id", Kind::Text, "").older(&["parent"]);
        for key in ["parent_id", "parentId", "parent"] {
            assert!(arg.is_named(key), "{key}");
        }
        for key in ["parentid", "parent_Id", "parentI", "parentIds", "ParentId", ""] {
            assert!(!arg.is_named(key), "{key}");
        }
        let numbered = Arg::new("context_id1", Kind::Integer(1, u64::MAX), "");
        assert!(numbered.is_named("contextId1") && !numbered.is_named("contextId2"));
    }

    #[test]
    fn the_schema_says_what_the_check_expects() {
        let args = [
            Arg::new("type", Kind::Word(&["plan", "analysis"]), "which").required(),
            Arg::new("limit", Kind::Integer(1, 100), ""),
            Arg::new("cursor", Kind::Integer(1, u64::MAX), ""),
            Arg::new("nodes", Kind::List, ""),
        ];
        let expected = json!({
            "type": "object",
            "properties": {
                "type": { "type": "string", "enum": ["plan", "analysis"], "description": "which" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                "cursor": { "type": "integer", "minimum": 1 },
                "nodes": { "type": "array", "items": { "type": "object" } },
            },
            "required": ["type"],
        });
        assert_eq!(Value::Object(schema(&args)), expected);
    }
}
