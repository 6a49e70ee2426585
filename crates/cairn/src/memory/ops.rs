//! Operations on entities as callers send them, checked and made ready to be recorded.

use cairn_core::Sha;
use cairn_core::canonical;
use cairn_core::id::MAX_LABEL_CHARS;
use cairn_core::session::op::EntityOp;
use cairn_core::thought::Issue;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The most operations in one call.
const MAX_OPS: usize = 1000;
/// Characters of a label or a reason.
const MAX_TEXT_CHARS: usize = 2000;

/// The operations, and the contents they name.
pub struct Checked {
    /// Ready to be recorded.
    pub ops: Vec<EntityOp>,
    /// Digest and canonical JSON of each content.
    pub bodies: Vec<(Sha, String)>,
}

/// What a field of an operation must be.
#[derive(Clone, Copy, PartialEq)]
enum Field {
    Type,
    Id,
    Ref,
    Label,
    Reason,
    Text,
    Word(&'static [&'static str]),
    Body,
    Rows,
}

/// The fields of an operation: its name, those it needs, those it may have.
type Shape = (&'static str, &'static [(&'static str, Field)], &'static [(&'static str, Field)]);

const ROW: &[(&str, Field)] = &[("type", Field::Type), ("id", Field::Id)];
const STORED: &[(&str, Field)] = &[
    ("label", Field::Label),
    ("detail", Field::Word(&["full", "summary"])),
    ("body", Field::Body),
    ("links", Field::Rows),
    ("nested", Field::Rows),
];
const REF: &[(&str, Field)] = &[("ref", Field::Ref)];
const LABEL: &[(&str, Field)] = &[("label", Field::Label)];

const SHAPES: &[Shape] = &[
    ("read", ROW, STORED),
    ("update", ROW, STORED),
    ("generate", &[("type", Field::Type)], &[("label", Field::Label), ("body", Field::Body)]),
    ("create", ROW, &[("label", Field::Label), ("from", Field::Ref)]),
    (
        "user",
        &[
            ("type", Field::Type),
            ("id", Field::Id),
            ("action", Field::Word(&["created", "updated", "deleted", "mentioned"])),
        ],
        LABEL,
    ),
    ("delete", REF, &[]),
    ("touch", REF, &[]),
    ("touch_text", &[("text", Field::Text)], &[]),
    ("retain", &[("ref", Field::Ref), ("reason", Field::Reason)], &[]),
    ("demote", REF, &[]),
    ("edit", &[("ref", Field::Ref), ("body", Field::Body)], LABEL),
    ("label", &[("ref", Field::Ref), ("label", Field::Label)], &[]),
    ("drop", REF, &[]),
    ("clear", &[], &[]),
];

/// Checks every operation; one that is malformed refuses them all, and is named by its index.
pub fn check(ops: Vec<Value>, most_bytes: usize) -> Result<Checked> {
    if ops.is_empty() {
        return Err(Error::invalid("ops", "must hold at least one operation"));
    }
    if ops.len() > MAX_OPS {
        let message = format!("must hold at most {MAX_OPS} operations, found {}", ops.len());
        return Err(Error::invalid("ops", message));
    }
    let mut checker = Checker { issues: Vec::new(), bodies: Vec::new(), largest: None, most_bytes };
    let checked: Vec<Option<EntityOp>> =
        ops.into_iter().enumerate().map(|(index, op)| checker.op(&format!("ops[{index}]"), op)).collect();
    if let Some((field, actual)) = checker.largest {
        return Err(Error::TooLarge { field, actual, limit: most_bytes });
    }
    match checked.into_iter().collect::<Option<Vec<EntityOp>>>() {
        Some(ops) if checker.issues.is_empty() => {
            // Two operations may name the same content.
            let mut bodies = checker.bodies;
            bodies.sort_unstable_by_key(|(digest, _)| digest.0);
            bodies.dedup_by_key(|(digest, _)| digest.0);
            Ok(Checked { ops, bodies })
        }
        _ => Err(Error::Invalid(checker.issues)),
    }
}

struct Checker {
    issues: Vec<Issue>,
    bodies: Vec<(Sha, String)>,
    /// What is too large, and its size.
    largest: Option<(&'static str, usize)>,
    most_bytes: usize,
}

impl Checker {
    fn refuse(&mut self, path: String, message: impl std::fmt::Display) {
        self.issues.push(Issue::new(path, message));
    }

    fn op(&mut self, path: &str, op: Value) -> Option<EntityOp> {
        let Value::Object(mut given) = op else {
            self.refuse(path.to_string(), "must be an object such as {\"op\": \"read\", …}");
            return None;
        };
        let name = given.get("op").and_then(Value::as_str).map(ToString::to_string);
        let Some((name, needed, allowed)) =
            SHAPES.iter().find(|(known, ..)| name.as_deref() == Some(*known)).copied()
        else {
            let known: Vec<&str> = SHAPES.iter().map(|(name, ..)| *name).collect();
            self.refuse(format!("{path}.op"), format!("must be one of {}", known.join(", ")));
            return None;
        };
        given.remove("op");
        given.retain(|_, value| !value.is_null());
        for (field, _) in needed.iter().filter(|(field, _)| !given.contains_key(*field)) {
            self.refuse(format!("{path}.{field}"), format!("must be given for `{name}`"));
        }
        let mut op = Map::new();
        op.insert("op".into(), json!(name));
        for (key, value) in given {
            match needed.iter().chain(allowed).find(|(field, _)| *field == key) {
                Some((_, field)) => {
                    if let Some(value) = self.field(&format!("{path}.{key}"), *field, value, name, &mut op) {
                        op.insert(key, value);
                    }
                }
                None => {
                    let known: Vec<&str> = needed.iter().chain(allowed).map(|(field, _)| *field).collect();
                    let key = cairn_core::preview::preview(&key, 80).escape_debug().to_string();
                    let message = match &known[..] {
                        [] => format!("`{name}` takes nothing else"),
                        known => format!("is not known; `{name}` takes {}", known.join(", ")),
                    };
                    self.refuse(format!("{path}.{key}"), message);
                }
            }
        }
        match serde_json::from_value(Value::Object(op)) {
            Ok(op) => Some(op),
            Err(error) => {
                if self.issues.is_empty() {
                    self.refuse(path.to_string(), error);
                }
                None
            }
        }
    }

    fn field(
        &mut self,
        path: &str,
        field: Field,
        value: Value,
        name: &str,
        op: &mut Map<String, Value>,
    ) -> Option<Value> {
        match (field, value) {
            (Field::Body, value) => self.body(path, value, name, op),
            (Field::Rows, Value::Array(rows)) => {
                let rows = rows.into_iter().enumerate();
                Some(Value::Array(
                    rows.filter_map(|(index, row)| self.row(&format!("{path}[{index}]"), row)).collect(),
                ))
            }
            (Field::Rows, _) => {
                self.refuse(path.to_string(), "must be a list of {type, id, label?}");
                None
            }
            (Field::Text, Value::String(text)) if text.len() > self.most_bytes => {
                self.largest = Some(("text", text.len()));
                None
            }
            (field, Value::String(text)) => match wrong(field, &text) {
                None => Some(Value::String(text)),
                Some(message) => {
                    self.refuse(path.to_string(), message);
                    None
                }
            },
            // Storage often counts its rows.
            (Field::Id, Value::Number(number)) if number.is_u64() || number.is_i64() => {
                Some(Value::String(number.to_string()))
            }
            _ => {
                self.refuse(path.to_string(), "must be a text");
                None
            }
        }
    }

    fn row(&mut self, path: &str, row: Value) -> Option<Value> {
        let Value::Object(row) = row else {
            self.refuse(path.to_string(), "must be an object {type, id, label?}");
            return None;
        };
        let mut checked = Map::new();
        for (key, value) in row.into_iter().filter(|(_, value)| !value.is_null()) {
            match ROW.iter().chain(LABEL).find(|(field, _)| *field == key) {
                Some((_, field)) => {
                    let value = self.field(&format!("{path}.{key}"), *field, value, "", &mut Map::new());
                    value.map(|value| checked.insert(key, value));
                }
                None => self.refuse(format!("{path}.{key}"), "is not known; a row has type, id and label"),
            }
        }
        for (field, _) in ROW.iter().filter(|(field, _)| !checked.contains_key(*field)) {
            self.refuse(format!("{path}.{field}"), "must be given");
        }
        Some(Value::Object(checked))
    }

    /// Keeps content apart; what it names itself by is the label of a draft without one.
    fn body(&mut self, path: &str, body: Value, name: &str, op: &mut Map<String, Value>) -> Option<Value> {
        if name == "generate" && !op.contains_key("label") {
            let named = |key| body.get(key)?.as_str().filter(|label| wrong(Field::Label, label).is_none());
            if let Some(label) = named("name").or_else(|| named("title")) {
                op.insert("label".into(), json!(label));
            }
        }
        match canonical::to_bytes(&body) {
            Err(error) => {
                self.refuse(path.to_string(), error);
                None
            }
            Ok(bytes) if bytes.len() > self.most_bytes => {
                self.largest = Some(("body", bytes.len()));
                None
            }
            Ok(_) if has_nul(&body) => {
                self.refuse(path.to_string(), "must not contain a NUL character");
                None
            }
            Ok(bytes) => {
                let data = String::from_utf8(bytes).expect("canonical JSON is UTF-8");
                let digest = Sha::of(data.as_bytes());
                let length = data.len();
                self.bodies.push((digest, data));
                Some(json!({ "sha256": digest.to_string(), "bytes": length }))
            }
        }
    }
}

/// What is wrong with the text of a field.
fn wrong(field: Field, text: &str) -> Option<String> {
    let most = match field {
        Field::Id | Field::Ref => MAX_LABEL_CHARS,
        _ => MAX_TEXT_CHARS,
    };
    match field {
        Field::Type if !is_type(text) => Some(
            "must be 1 to 40 lower-case letters, digits or `_`, beginning with a letter, and not with `gen_`"
                .into(),
        ),
        Field::Word(words) if !words.contains(&text) => Some(format!("must be one of {}", words.join(", "))),
        Field::Type | Field::Word(_) => None,
        Field::Text if text.contains('\0') => Some("must not contain a NUL character".into()),
        Field::Text => None,
        _ if text.trim().is_empty() => Some("must not be empty".into()),
        _ if text.len() > most && text.chars().count() > most => {
            Some(format!("must have at most {most} characters, found {}", text.chars().count()))
        }
        Field::Reason if !text.contains('\0') => None,
        _ if text.chars().any(char::is_control) => Some("must not contain control characters".into()),
        _ => None,
    }
}

/// Whether a NUL character stands in any text. The escape for one, as text, is none. Not to be asked of values that may
/// be nested without end.
pub fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || has_nul(value)),
        _ => false,
    }
}

/// Whether a text can be the type of an entity: refs are made of it.
pub fn is_type(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && !text.starts_with("gen_")
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(op: Value) -> Vec<String> {
        match check(vec![json!({"op": "clear"}), op], 100) {
            Err(Error::Invalid(issues)) => {
                issues.iter().map(|issue| format!("{}: {}", issue.path, issue.message)).collect()
            }
            Err(other) => vec![other.to_string()],
            Ok(_) => Vec::new(),
        }
    }

    #[test]
    fn what_is_right_arrives_with_its_contents_apart() {
        let ops = vec![
            json!({"op": "read", "type": "recipe", "id": 7, "label": "Soup", "detail": "full", "body": {"b": 1, "a": 2},
                   "links": [{"type": "user", "id": "u1"}], "nested": null}),
            json!({"op": "generate", "type": "recipe", "body": {"title": "Stew"}}),
        ];
        let checked = check(ops, 100).unwrap_or_else(|error| panic!("{error}"));
        let bodies: Vec<&str> = checked.bodies.iter().map(|(_, data)| data.as_str()).collect();
        assert!(bodies.contains(&r#"{"a":2,"b":1}"#) && bodies.len() == 2, "{bodies:?}");
        let EntityOp::Read(stored) = &checked.ops[0] else { panic!() };
        assert_eq!((stored.row.id.as_str(), stored.links[0].id.as_str()), ("7", "u1"));
        assert_eq!(stored.body.as_ref().unwrap().sha256, Sha::of(br#"{"a":2,"b":1}"#));
        let EntityOp::Generate { label, .. } = &checked.ops[1] else { panic!() };
        assert_eq!(label.as_deref(), Some("Stew"));
    }

    #[test]
    fn a_draft_is_called_by_its_title_if_its_name_is_no_label() {
        for name in [json!(""), json!("a\nb"), json!(7), json!("x".repeat(MAX_TEXT_CHARS + 1)), json!(null)] {
            let body = json!({"name": name, "title": "Stew"});
            let checked = check(vec![json!({"op": "generate", "type": "recipe", "body": body})], 10_000)
                .unwrap_or_else(|error| panic!("{error}"));
            let EntityOp::Generate { label, .. } = &checked.ops[0] else { panic!() };
            assert_eq!(label.as_deref(), Some("Stew"), "{name}");
        }
    }

    #[test]
    fn the_escape_for_a_nul_is_no_nul() {
        let draft = |body: Value| json!({"op": "generate", "type": "a", "body": body});
        assert!(issues(draft(json!({"code": "if c == '\\u0000'"}))).is_empty());
        for body in [json!("\0"), json!({"a": ["x\0"]}), json!({"\0": 1})] {
            assert_eq!(issues(draft(body)), ["ops[1].body: must not contain a NUL character"]);
        }
    }

    #[test]
    fn a_malformed_operation_is_named_by_its_index() {
        for (op, expected) in [
            (json!(7), "ops[1]: must be an object such as {\"op\": \"read\", …}"),
            (
                json!({"op": "reed"}),
                "ops[1].op: must be one of read, update, generate, create, user, delete, touch, \
                touch_text, retain, demote, edit, label, drop, clear",
            ),
            (json!({"op": "read", "type": "recipe"}), "ops[1].id: must be given for `read`"),
            (json!({"op": "touch", "ref": "a_1", "x": 1}), "ops[1].x: is not known; `touch` takes ref"),
            (json!({"op": "clear", "x": 1}), "ops[1].x: `clear` takes nothing else"),
            (
                json!({"op": "read", "type": "Re cipe", "id": "1"}),
                "ops[1].type: must be 1 to 40 lower-case letters, \
                digits or `_`, beginning with a letter, and not with `gen_`",
            ),
            (
                json!({"op": "read", "type": "a", "id": "1", "links": [{"type": "b"}]}),
                "ops[1].links[0].id: must be given",
            ),
            (
                json!({"op": "read", "type": "a", "id": "1", "detail": "some"}),
                "ops[1].detail: must be one of full, summary",
            ),
            (json!({"op": "retain", "ref": "a_1", "reason": " "}), "ops[1].reason: must not be empty"),
            (
                json!({"op": "label", "ref": "a_1", "label": "a\nb"}),
                "ops[1].label: must not contain control characters",
            ),
            (
                json!({"op": "edit", "ref": "gen_a_1", "body": {"x": "y".repeat(200)}}),
                "body has 208 bytes; the limit is 100",
            ),
        ] {
            assert_eq!(issues(op), [expected]);
        }
    }
}
