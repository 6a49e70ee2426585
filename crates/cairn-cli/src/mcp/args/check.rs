//! Whether a value is of the kind that an argument expects.

use cairn::core::preview::preview;
use serde_json::Value;

use super::{Kind, kind_of};

/// What to say about an argument that must be given and is not.
pub fn missing(kind: &Kind) -> String {
    match kind {
        Kind::Text | Kind::Label | Kind::TextOrNumber => "must be given: a text".to_string(),
        Kind::Word(words) => format!("must be given: one of {}", words.join(", ")),
        Kind::Integer(..) => "must be given: an integer".to_string(),
        Kind::Flag => "must be given: true or false".to_string(),
        Kind::Object => "must be given: an object".to_string(),
        Kind::List => "must be given: a list of objects".to_string(),
        Kind::Texts => "must be given: a list of texts".to_string(),
    }
}

/// What is wrong with a value.
pub struct Wrong {
    /// Where in it: nowhere in particular, or `[3]`.
    pub place: String,
    /// What.
    pub message: String,
}

/// Returns the value as the rest of the program expects it, or what is wrong with it.
pub fn check(kind: &Kind, value: Value) -> Result<Value, Wrong> {
    // The first is enough: a list may have a million items.
    if let (Kind::List, Value::Array(items)) = (kind, &value)
        && let Some(index) = items.iter().position(|item| !item.is_object())
    {
        let message = format!("must be an object, found {}", found(&items[index]));
        return Err(Wrong { place: format!("[{index}]"), message });
    }
    if let (Kind::Texts, Value::Array(items)) = (kind, &value)
        && let Some(index) = items.iter().position(|item| !item.is_string())
    {
        let message = format!("must be a text, found {}", found(&items[index]));
        return Err(Wrong { place: format!("[{index}]"), message });
    }
    check_whole(kind, value).map_err(|message| Wrong { place: String::new(), message })
}

fn check_whole(kind: &Kind, value: Value) -> Result<Value, String> {
    match (kind, &value) {
        (Kind::Label, Value::String(text)) if text.is_empty() => Err("must not be empty".to_string()),
        (Kind::Text | Kind::Label | Kind::TextOrNumber, Value::String(text)) if text.contains('\0') => {
            Err("must not contain a NUL character or an unpaired surrogate".to_string())
        }
        (Kind::Text | Kind::Label | Kind::TextOrNumber, Value::String(_))
        | (Kind::Flag, Value::Bool(_))
        | (Kind::Object, Value::Object(_))
        | (Kind::List | Kind::Texts, Value::Array(_)) => Ok(value),
        (Kind::TextOrNumber, Value::Number(number)) => Ok(Value::String(number.to_string())),
        (Kind::TextOrNumber, other) => Err(format!("must be a text or a number, found {}", found(other))),
        (Kind::Text | Kind::Label, other) => Err(format!("must be a text, found {}", found(other))),
        (Kind::Flag, other) => Err(format!("must be true or false, found {}", found(other))),
        (Kind::Object, other) => Err(format!("must be an object, found {}", found(other))),
        (Kind::List | Kind::Texts, Value::String(text)) if text.trim_start().starts_with('[') => Err(
            format!("must be a list, found {}; give the list itself, not its JSON as a text", found(&value)),
        ),
        (Kind::List | Kind::Texts, other) => Err(format!("must be a list, found {}", found(other))),
        (Kind::Word(words), Value::String(word)) if words.contains(&word.as_str()) => Ok(value),
        (Kind::Word(words), other) => {
            let number = whole(other).map(|number| number.to_string());
            match number.filter(|number| words.contains(&number.as_str())) {
                Some(number) => Ok(Value::String(number)),
                None => Err(format!("must be one of {}; found {}", words.join(", "), found(other))),
            }
        }
        (Kind::Integer(least, most), other) => match whole(other) {
            Some(number) if number < *least as i128 => {
                Err(format!("must be at least {least}, found {number}"))
            }
            Some(number) if number > *most as i128 => Err(format!("must be at most {most}, found {number}")),
            Some(number) => Ok(Value::from(number as u64)),
            None => Err(format!("must be an integer, found {}", found(other))),
        },
    }
}

fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text {:?}", preview(text, 40)),
        Value::Number(number) => number.to_string(),
        other => kind_of(other).to_string(),
    }
}

/// Reads a whole number, also one that is written as `5.0`.
fn whole(value: &Value) -> Option<i128> {
    let number = value.as_number()?;
    number
        .as_i128()
        .or_else(|| number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i128))
}
