//! Metadata: a JSON object of the caller's, kept in canonical form.

use serde_json::{Map, Value};

use crate::canonical;
use crate::thought::{Issue, NUL, Refusal};

/// The canonical text of `map`, if it has one and is at most `limit` bytes long.
pub fn check(map: Map<String, Value>, limit: usize) -> Result<String, Refusal> {
    let mut issues = Vec::new();
    match canonical(map, &mut issues) {
        Some(text) if issues.is_empty() && text.len() > limit => {
            Err(Refusal::TooLarge { field: "metadata", actual: text.len(), limit })
        }
        Some(text) if issues.is_empty() => Ok(text),
        _ => Err(Refusal::Invalid(issues)),
    }
}

/// The canonical text of `map`, if it has one; what is wrong with it goes to `issues`.
pub(crate) fn canonical(map: Map<String, Value>, issues: &mut Vec<Issue>) -> Option<String> {
    let value = Value::Object(map);
    find_nul(&value, &mut "metadata".to_string(), issues);
    match canonical::to_bytes(&value) {
        Ok(bytes) => Some(String::from_utf8(bytes).expect("canonical JSON is UTF-8")),
        Err(error) => {
            issues.push(Issue::new("metadata", error));
            None
        }
    }
}

/// Reports every text or key in `value` that holds a NUL.
fn find_nul(value: &Value, path: &mut String, issues: &mut Vec<Issue>) {
    let length = path.len();
    match value {
        Value::String(text) if text.contains('\0') => issues.push(Issue::new(path.clone(), NUL)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push_str(&format!("[{index}]"));
                find_nul(item, path, issues);
                path.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                if key.contains('\0') {
                    issues.push(Issue::new(path.clone(), format!("a key {NUL}")));
                }
                path.push('.');
                path.push_str(key);
                find_nul(item, path, issues);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
