//! Finds `id` and `method` in a message that cannot be read as a whole, because it is malformed or too long.

use rmcp::model::RequestId;
use serde_json::Value;

/// Longer values are not kept: no id or method that anyone uses is longer.
const LONGEST: usize = 512;

/// Follows the structure of one JSON text, fed in pieces of any size, and keeps nothing but two members.
#[derive(Default)]
pub struct Scanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    in_value: bool,
    /// The key or value being read, if it stands directly in the outermost object.
    token: Vec<u8>,
    key: Vec<u8>,
    id: Option<Value>,
    method: Option<String>,
}

impl Scanner {
    /// Scans one whole text.
    pub fn over(text: &[u8]) -> Scanner {
        let mut scanner = Scanner::default();
        scanner.feed(text);
        scanner
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            if self.in_string {
                self.keep(byte);
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    self.in_string = false;
                }
            } else {
                self.structure(byte);
            }
        }
    }

    fn structure(&mut self, byte: u8) {
        match byte {
            b'"' => {
                self.in_string = true;
                if !self.in_value {
                    self.token.clear();
                }
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_member();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_member(),
            b':' if self.depth == 1 => {
                std::mem::swap(&mut self.key, &mut self.token);
                self.token.clear();
                self.in_value = true;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => self.keep(other),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < LONGEST {
            self.token.push(byte);
        }
    }

    /// The first `id` and the first `method` count.
    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        self.in_value = false;
        match &self.key[..] {
            br#""id""# if self.id.is_none() => self.id = serde_json::from_slice(&self.token).ok(),
            br#""method""# if self.method.is_none() => self.method = serde_json::from_slice(&self.token).ok(),
            _ => {}
        }
        self.key.clear();
        self.token.clear();
    }

    /// The id, if it was complete and of a type an id can have.
    pub fn id(&self) -> Option<RequestId> {
        self.id.as_ref().and_then(request_id)
    }

    /// The method, if it was complete.
    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }
}

/// Reads an id: a text or an integer.
pub fn request_id(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Option<String>, Option<String>) {
        let whole = Scanner::over(text.as_bytes());
        let mut bytewise = Scanner::default();
        text.bytes().for_each(|byte| bytewise.feed(&[byte]));
        let read =
            |scanner: &Scanner| (scanner.id().map(|id| id.to_string()), scanner.method().map(String::from));
        assert_eq!(read(&whole), read(&bytewise));
        read(&whole)
    }

    fn both(id: &str, method: &str) -> (Option<String>, Option<String>) {
        (Some(id.to_string()), Some(method.to_string()))
    }

    #[test]
    fn id_and_method_are_found_in_any_order() {
        assert_eq!(
            found(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":1"#),
            both("7", "tools/call")
        );
        assert_eq!(
            found(r#"{"params":{"id":1,"a":["}"]},"method":"m" , "id" : "x\"y" }"#),
            both("x\"y", "m")
        );
    }

    #[test]
    fn what_only_looks_like_an_id_is_not_one() {
        assert_eq!(found(r#"{"params":{"id":1,"method":"m"},"a":"\"id\":2,","b":"id"}"#), (None, None));
        assert_eq!(found(r#"{"id":{"a":1},"method":["m"]}"#), (None, None));
        assert_eq!(found(r#"{"id":null,"x":"id","id2":4}"#), (None, None));
        assert_eq!(found(r#"[{"id":1,"method":"m"}]"#), (None, None));
    }

    #[test]
    fn an_id_that_is_cut_off_is_not_taken_for_a_shorter_one() {
        assert_eq!(found(r#"{"id":12"#), (None, None));
        assert_eq!(found(r#"{"id":"ab"#), (None, None));
    }

    #[test]
    fn broken_structure_does_no_harm() {
        for text in ["}}}]]", r#"{"id"}"#, r#"{:,:,"id":}"#, "\"", "{\"\\"] {
            assert_eq!(found(text), (None, None), "{text}");
        }
    }
}
