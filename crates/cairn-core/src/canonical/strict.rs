//! Reading JSON without the leniency of serde_json's own `Value`.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::{JsonError, deeper, exact_float, exact_integer};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one JSON text. What it returns always has a canonical form.
pub fn parse(text: &[u8]) -> Result<Value, JsonError> {
    if text.starts_with(BYTE_ORDER_MARK) {
        return Err(JsonError::Syntax { line: 1, column: 1, message: "byte order mark".to_string() });
    }
    let refusal = RefCell::new(None);
    let mut source = serde_json::Deserializer::from_slice(text);
    let read = Strict { depth: 0, refusal: &refusal }
        .deserialize(&mut source)
        .and_then(|value| source.end().map(|()| value));
    read.map_err(|error| refusal.into_inner().unwrap_or_else(|| syntax(&error)))
}

fn syntax(error: &serde_json::Error) -> JsonError {
    let mut message = error.to_string();
    if let Some(place) = message.rfind(" at line ") {
        message.truncate(place);
    }
    JsonError::Syntax { line: error.line(), column: error.column(), message }
}

/// Builds a [`Value`] and refuses what serde_json lets pass. The error type of serde_json cannot carry ours,
/// so that travels beside it in `refusal`.
#[derive(Clone, Copy)]
struct Strict<'r> {
    depth: usize,
    refusal: &'r RefCell<Option<JsonError>>,
}

impl Strict<'_> {
    fn check<T, E: Error>(self, checked: Result<T, JsonError>) -> Result<T, E> {
        checked.map_err(|refusal| {
            self.refusal.replace(Some(refusal));
            E::custom("refused")
        })
    }

    fn add_to_path(self, add: impl FnOnce(JsonError) -> JsonError) {
        let mut refusal = self.refusal.borrow_mut();
        *refusal = refusal.take().map(add);
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.check(exact_integer(value, value).map(|()| value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.check(exact_integer(value.unsigned_abs(), value).map(|()| value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.check(exact_float(value).map(|()| value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let item = Strict { depth: self.check(deeper(self.depth))?, ..self };
        let mut items = Vec::new();
        loop {
            match source.next_element_seed(item) {
                Ok(Some(value)) => items.push(value),
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    self.add_to_path(|refusal| refusal.in_item(items.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Value, A::Error> {
        let member = Strict { depth: self.check(deeper(self.depth))?, ..self };
        let mut map = Map::new();
        while let Some(key) = source.next_key::<String>()? {
            let slot = match map.entry(key) {
                Entry::Vacant(slot) => slot,
                Entry::Occupied(taken) => {
                    let refusal = JsonError::DuplicateKey { path: String::new() };
                    return self.check(Err(refusal.in_member(taken.key())));
                }
            };
            match source.next_value_seed(member) {
                Ok(value) => drop(slot.insert(value)),
                Err(error) => {
                    self.add_to_path(|refusal| refusal.in_member(slot.key()));
                    return Err(error);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::MAX_DEPTH;

    fn message(text: &[u8]) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_duplicate_key_is_named_by_its_path() {
        let text = br#"{"metadata":{"tool_calls":[{},1,{"name":"a","name":"b"}]}}"#;
        let path = "metadata.tool_calls[2].name".to_string();
        assert_eq!(parse(text), Err(JsonError::DuplicateKey { path }));
        assert_eq!(message(text), "duplicate key metadata.tool_calls[2].name");
    }

    #[test]
    fn a_duplicate_is_found_whichever_way_it_is_escaped() {
        assert_eq!(parse(br#"{"a":1,"\u0061":1}"#), Err(JsonError::DuplicateKey { path: "a".to_string() }));
    }

    #[test]
    fn a_key_that_would_confuse_a_path_is_quoted_and_a_long_one_cut() {
        assert_eq!(message(br#"{"x":{"a.b":1,"a.b":1}}"#), r#"duplicate key x["a.b"]"#);
        assert_eq!(message(br#"[{"":1,"":1}]"#), r#"duplicate key [0][""]"#);
        assert_eq!(message(br#"{"a\n":[9007199254740992]}"#).lines().count(), 1);
        let key = "k".repeat(100_000);
        assert!(message(format!(r#"{{"{key}":1,"{key}":1}}"#).as_bytes()).len() < 200);
    }

    #[test]
    fn integers_up_to_two_to_the_53_less_one_are_exact() {
        for text in ["9007199254740991", "-9007199254740991", "9007199254740991.0", "0", "-0"] {
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
        for (text, shown) in [
            ("9007199254740992", "9007199254740992"),
            ("-9007199254740992", "-9007199254740992"),
            ("9007199254740992.0", "9.007199254740992e15"),
            ("-1e16", "-1e16"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("18446744073709551616", "1.8446744073709552e19"),
        ] {
            let error = JsonError::NumberNotExact { path: "a[1]".to_string(), number: shown.to_string() };
            assert_eq!(parse(format!(r#"{{"a":[0,{text}]}}"#).as_bytes()), Err(error));
        }
    }

    #[test]
    fn sixty_four_levels_pass_and_one_more_does_not() {
        let nested = |levels| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
        let path = "[0]".repeat(MAX_DEPTH);
        assert_eq!(
            parse(nested(MAX_DEPTH + 1).as_bytes()),
            Err(JsonError::TooDeep { path, limit: MAX_DEPTH })
        );
        let objects = r#"{"a":"#.repeat(MAX_DEPTH + 1);
        let path = ["a"; MAX_DEPTH].join(".");
        assert_eq!(parse(objects.as_bytes()), Err(JsonError::TooDeep { path, limit: MAX_DEPTH }));
    }

    #[test]
    fn a_million_open_brackets_are_an_error_and_no_overflow() {
        assert!(matches!(parse("[".repeat(1_000_000).as_bytes()), Err(JsonError::TooDeep { .. })));
        assert!(matches!(parse(r#"{"":"#.repeat(1_000_000).as_bytes()), Err(JsonError::TooDeep { .. })));
    }

    #[test]
    fn a_lone_surrogate_is_refused() {
        for text in [r#""\ud800""#, r#""\udc00""#, r#"{"\ud800":1}"#, r#""\ud800\ud800""#, r#""\ud83dx""#] {
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::Syntax { .. })), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        for bytes in [b"\"\xff\"".as_slice(), b"\"\xc0\x80\"", b"\"\xed\xa0\x80\"", b"{\"\xf5\":1}", b"\xff"]
        {
            assert!(matches!(parse(bytes), Err(JsonError::Syntax { .. })), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for text in ["", " ", "NaN", "Infinity", "-Infinity", "1e400", "01", "1.", ".5", "+1", "tru", "{}{}"]
        {
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::Syntax { .. })), "{text}");
        }
        for text in
            ["[1,]", "{'a':1}", "{a:1}", "{\"a\":1,}", "\"\n\"", "\"", "[", "{} x", "/**/1", "\u{feff}1"]
        {
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::Syntax { .. })), "{text}");
        }
    }

    #[test]
    fn a_syntax_error_says_where() {
        let error = JsonError::Syntax { line: 2, column: 3, message: "trailing comma".to_string() };
        assert_eq!(parse(b"[1,\n2,]"), Err(error));
        assert_eq!(message(b"\xef\xbb\xbf1"), "byte order mark at line 1 column 1");
    }
}
