//! Objects that are written without being built first.

use super::{MAX_INTEGER, write_integer, write_string};
use crate::hash::Sha;

/// Writes one flat canonical object straight into a buffer, without building a [`Value`](serde_json::Value).
///
/// The caller gives the keys in ascending order and calls [`end`](ObjectWriter::end) last; debug builds check
/// the order.
#[must_use = "the object is not complete before `end`"]
pub struct ObjectWriter<'a> {
    out: &'a mut Vec<u8>,
    last: Option<&'static str>,
}

impl<'a> ObjectWriter<'a> {
    /// Opens an object at the end of `out`.
    pub fn new(out: &'a mut Vec<u8>) -> ObjectWriter<'a> {
        out.push(b'{');
        ObjectWriter { out, last: None }
    }

    fn key(&mut self, key: &'static str) -> &mut Vec<u8> {
        debug_assert!(
            self.last.is_none_or(|last| last.encode_utf16().lt(key.encode_utf16())),
            "key {key} after {:?}",
            self.last
        );
        if self.last.replace(key).is_some() {
            self.out.push(b',');
        }
        write_string(key, self.out);
        self.out.push(b':');
        self.out
    }

    fn null(&mut self, key: &'static str) -> &mut Self {
        self.key(key).extend_from_slice(b"null");
        self
    }

    /// Adds a string.
    pub fn text(&mut self, key: &'static str, value: &str) -> &mut Self {
        write_string(value, self.key(key));
        self
    }

    /// Adds a string, or `null` for none.
    pub fn text_or_null(&mut self, key: &'static str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.null(key),
        }
    }

    /// Adds an array of strings.
    pub fn texts(&mut self, key: &'static str, values: &[&str]) -> &mut Self {
        let out = self.key(key);
        out.push(b'[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(value, out);
        }
        out.push(b']');
        self
    }

    /// Adds a hash as 64 hex digits.
    pub fn sha(&mut self, key: &'static str, value: &Sha) -> &mut Self {
        let out = self.key(key);
        out.push(b'"');
        out.extend_from_slice(value.hex().as_bytes());
        out.push(b'"');
        self
    }

    /// Adds a hash as 64 hex digits, or `null` for none.
    pub fn sha_or_null(&mut self, key: &'static str, value: Option<&Sha>) -> &mut Self {
        match value {
            Some(value) => self.sha(key, value),
            None => self.null(key),
        }
    }

    /// Adds an integer of at most [`MAX_INTEGER`].
    pub fn number(&mut self, key: &'static str, value: u64) -> &mut Self {
        debug_assert!(value <= MAX_INTEGER, "{key} is {value}, beyond {MAX_INTEGER}");
        write_integer(value, self.key(key));
        self
    }

    /// Adds an integer of at most [`MAX_INTEGER`], or `null` for none.
    pub fn number_or_null(&mut self, key: &'static str, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.number(key, value),
            None => self.null(key),
        }
    }

    /// Closes the object.
    pub fn end(&mut self) {
        self.out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_bytes_are_those_of_the_same_value() {
        let (hash, key) = (Sha::of(b"x"), "tab\t\"\\é");
        let mut out = b"before".to_vec();
        ObjectWriter::new(&mut out)
            .number("a", 0)
            .number_or_null("b", Some(MAX_INTEGER))
            .number_or_null("c", None)
            .sha("d", &hash)
            .sha_or_null("e", Some(&hash))
            .sha_or_null("f", None)
            .text("g", key)
            .text_or_null("h", Some(""))
            .texts("i", &[])
            .texts("j", &["", key])
            .text_or_null("tab\t\"\\é", None)
            .end();
        let value = json!({
            "a": 0, "b": MAX_INTEGER, "c": null, "d": hash, "e": hash, "f": null, "g": key, "h": "", "i": [],
            "j": ["", key], key: null,
        });
        assert_eq!(out, [b"before".to_vec(), crate::canonical::to_bytes(&value).unwrap()].concat());
    }

    #[test]
    fn an_object_may_be_empty() {
        let mut out = Vec::new();
        ObjectWriter::new(&mut out).end();
        assert_eq!(out, b"{}");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "key a after Some(\"b\")")]
    fn keys_out_of_order_are_noticed_in_debug_builds() {
        ObjectWriter::new(&mut Vec::new()).number("b", 1).number("a", 1).end();
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "beyond 9007199254740991")]
    fn an_inexact_number_is_noticed_in_debug_builds() {
        ObjectWriter::new(&mut Vec::new()).number("a", MAX_INTEGER + 1).end();
    }
}
