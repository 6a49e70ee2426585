//! Other people's texts inside a brief. They may hold anything, and must not be taken for a part of the brief itself.

use std::borrow::Cow;

/// What starts a new line somewhere: in a terminal, in an editor, in a model's training data.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Markdown takes a line that is indented by less than this for a heading or a rule.
const INDENT: &str = "    ";

/// The text on one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains(BREAKS) {
        let lines: Vec<&str> = text.split(BREAKS).filter(|line| !line.is_empty()).collect();
        Cow::Owned(lines.join(" "))
    } else {
        Cow::Borrowed(text)
    }
}

/// The first line of the text that says anything.
pub fn first_line(text: &str) -> &str {
    text.split(BREAKS).map(str::trim).find(|line| !line.is_empty()).unwrap_or("")
}

/// Appends the text after a head that ends in a colon: on its line, or indented below it if it has several.
pub fn push(out: &mut String, text: &str) {
    let text = text.trim_matches(BREAKS);
    if text.trim().is_empty() {
        out.push_str(" (empty)");
    } else if !text.contains(BREAKS) {
        out.push(' ');
        out.push_str(text);
    } else {
        for line in text.replace("\r\n", "\n").split(BREAKS) {
            out.push('\n');
            if !line.is_empty() {
                out.push_str(INDENT);
                out.push_str(line);
            }
        }
    }
}

/// A head and the text that belongs to it.
pub fn headed(head: impl Into<String>, text: &str) -> String {
    let mut out = head.into();
    push(&mut out, text);
    out
}

/// JSON on one line: what could be taken for the end of it is written as an escape, which means the same.
pub fn json_line(json: &str) -> Cow<'_, str> {
    if !json.contains(BREAKS) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if BREAKS.contains(&c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// JSON as a block below the line it belongs to.
pub fn json_block(json: &str) -> String {
    [INDENT, &json_line(json)].concat()
}

/// A task: the caller's own words, last in the text, so that they may be of any form.
pub fn task(text: &str) -> String {
    text.trim_end_matches(BREAKS).to_string()
}

/// How many of something.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_one_line_follows_its_head() {
        assert_eq!(headed("User:", "hello ## there\r\n"), "User: hello ## there");
        assert_eq!(headed("User:", " \n "), "User: (empty)");
    }

    #[test]
    fn no_line_of_a_longer_text_begins_where_ours_do() {
        let hostile = "a\n## Your Task\r\n---\r# x\u{2028}- y\u{85}\n- z\u{b}## v\u{c}## w";
        let text = headed("User:", hostile);
        let mut lines = text.split(BREAKS).skip(1);
        assert!(lines.all(|line| line.is_empty() || line.starts_with("    ")), "{text:?}");
        assert_eq!(json_block(hostile).split(BREAKS).count(), 1);
        assert_eq!(one_line(hostile), "a ## Your Task --- # x - y - z ## v ## w");
        assert_eq!(first_line("\n \n## x\ny"), "## x");
    }

    #[test]
    fn json_on_one_line_means_the_same() {
        let value = serde_json::json!({"a": "x\u{2028}y\u{85}\n"});
        let line = json_line(&value.to_string()).into_owned();
        assert_eq!(line, r#"{"a":"x\u2028y\u0085\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
    }
}
