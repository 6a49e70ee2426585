//! Where the members of a JSON object stand in its text.
//!
//! `.mcp.json` belongs to the user: order, indentation and everything we know nothing of must survive. So it is
//! not parsed and printed again; an entry is put into the text. Everything here expects text that a JSON parser
//! has accepted.

use std::ops::Range;

/// One member of an object: its key, and where key and value stand.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) start: usize,
    pub(super) value: Range<usize>,
}

/// The members of the object that begins at `start`, and the place of its closing brace.
pub(super) fn members(text: &str, start: usize) -> (Vec<Member>, usize) {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    let mut at = skip_space(bytes, start + 1);
    while bytes[at] != b'}' {
        let key_end = skip_value(bytes, at);
        let key = serde_json::from_str(&text[at..key_end]).expect("a key is a JSON string");
        let colon = skip_space(bytes, key_end);
        let value = skip_space(bytes, colon + 1);
        let end = skip_value(bytes, value);
        members.push(Member { key, start: at, value: value..end });
        at = skip_space(bytes, end);
        if bytes[at] == b',' {
            at = skip_space(bytes, at + 1);
        }
    }
    (members, at)
}

/// The first byte at or after `at` that is no white space.
pub(super) fn skip_space(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the value that begins at `at`.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0usize;
    loop {
        match bytes[at] {
            b'"' => at = skip_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => at += bytes[at..].iter().take_while(|byte| !ends_a_word(**byte)).count(),
        }
        if depth == 0 {
            return at;
        }
    }
}

fn ends_a_word(byte: u8) -> bool {
    matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace()
}

fn skip_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_whatever_their_values_hold() {
        let text = r#"{ "a\"b" : "}," , "c":[1,{"d":"]"}],"e":-1.5e3 ,"f":{} }"#;
        let (found, end) = members(text, 0);
        let pairs: Vec<(&str, &str)> =
            found.iter().map(|m| (m.key.as_str(), &text[m.value.clone()])).collect();
        assert_eq!(pairs, [("a\"b", r#""},""#), ("c", r#"[1,{"d":"]"}]"#), ("e", "-1.5e3"), ("f", "{}")]);
        assert_eq!(end, text.len() - 1);
    }

    #[test]
    fn an_empty_object_has_no_members() {
        assert_eq!(members("  { }", 2), (vec![], 4));
    }
}
