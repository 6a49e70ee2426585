//! From a [`Document`] to a file that people like to read, in each of the forms.

use cairn_core::roadmap::document::{Content, Document, DocumentIssue, Key};

use super::yaml;

/// Block style; texts without quotes where that is safe.
pub(super) fn to_yaml(document: &Document) -> String {
    let mut out = String::new();
    match &document.value {
        Content::Map(members) if !members.is_empty() => yaml_members(members, 0, &mut out),
        _ => {
            yaml_inline(document, &mut out);
            out.push('\n');
        }
    }
    out
}

/// The line is already indented for the first member.
fn yaml_members(members: &[(Key, Document)], indent: usize, out: &mut String) {
    for (place, (key, value)) in members.iter().enumerate() {
        if place > 0 {
            out.extend(std::iter::repeat_n(' ', indent));
        }
        out.push_str(&yaml_text(key));
        out.push(':');
        yaml_value(value, indent, out);
    }
}

/// What follows `key:` or `-`, to the end of its last line.
fn yaml_value(value: &Document, indent: usize, out: &mut String) {
    match &value.value {
        Content::Map(members) if !members.is_empty() => {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent + 2));
            yaml_members(members, indent + 2, out);
        }
        Content::List(items) if !items.is_empty() && !short(items) => {
            out.push('\n');
            for item in items {
                out.extend(std::iter::repeat_n(' ', indent + 2));
                out.push('-');
                match &item.value {
                    // A mapping begins on the line of its dash.
                    Content::Map(members) if !members.is_empty() => {
                        out.push(' ');
                        yaml_members(members, indent + 4, out);
                    }
                    _ => yaml_value(item, indent + 2, out),
                }
            }
        }
        _ => {
            out.push(' ');
            yaml_inline(value, out);
            out.push('\n');
        }
    }
}

/// Whether a list of ids and the like fits on its line.
fn short(items: &[Document]) -> bool {
    let room = |item: &Document| match &item.value {
        Content::List(_) | Content::Map(_) => usize::MAX,
        Content::Text(text) => text.len() + 2,
        _ => 8,
    };
    items.iter().fold(0, |sum: usize, item| sum.saturating_add(room(item))) <= 80
}

fn yaml_inline(value: &Document, out: &mut String) {
    match &value.value {
        Content::Text(text) => out.push_str(&yaml_text(text)),
        Content::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                yaml_inline(item, out);
            }
            out.push(']');
        }
        Content::Map(_) => out.push_str("{}"),
        other => out.push_str(&plain(other)),
    }
}

/// Without quotes if nobody could take it for anything else, not even an older reader of YAML.
fn yaml_text(text: &str) -> String {
    let fits = |c: char| {
        c.is_ascii_alphanumeric() || (c.is_alphabetic() && c as u32 > 0xbf) || " _-./()+'".contains(c)
    };
    let first = text.starts_with(|c: char| c.is_alphanumeric());
    let older = ["y", "n", "yes", "no", "on", "off"].iter().any(|word| text.eq_ignore_ascii_case(word));
    // Something like 1_000, 12-30 or 1.2 is a number or a date to somebody.
    let number = text.starts_with(|c: char| c.is_ascii_digit());
    let safe = first && !number && !older && !text.ends_with(' ') && text.chars().all(fits);
    if safe && matches!(yaml::plain(text), Some(Content::Text(_))) { text.to_string() } else { quoted(text) }
}

/// In double quotes, with escapes that JSON, YAML and TOML read alike.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Control characters, and what is a line break or invisible to somebody.
            c if c.is_control() || matches!(c as u32, 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff) => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What has no parts and needs no quotes.
fn plain(value: &Content) -> String {
    match value {
        Content::Bool(value) => value.to_string(),
        Content::Number(number) => number.to_string(),
        _ => "null".to_string(),
    }
}

/// JSON, two spaces to the level.
pub(super) fn to_json(document: &Document) -> String {
    let mut out = String::new();
    json_value(document, 0, &mut out);
    out.push('\n');
    out
}

fn json_value(value: &Document, indent: usize, out: &mut String) {
    let line = |out: &mut String, indent: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', indent));
    };
    match &value.value {
        Content::Text(text) => out.push_str(&quoted(text)),
        Content::List(items) if items.is_empty() => out.push_str("[]"),
        Content::Map(members) if members.is_empty() => out.push_str("{}"),
        Content::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(out, indent + 2);
                json_value(item, indent + 2, out);
            }
            line(out, indent);
            out.push(']');
        }
        Content::Map(members) => {
            out.push('{');
            for (place, (key, member)) in members.iter().enumerate() {
                out.push_str(if place > 0 { "," } else { "" });
                line(out, indent + 2);
                out.push_str(&quoted(key));
                out.push_str(": ");
                json_value(member, indent + 2, out);
            }
            line(out, indent);
            out.push('}');
        }
        other => out.push_str(&plain(other)),
    }
}

/// TOML: an entry of a list of mappings is a table of its own, whatever is inside it stands on one line.
///
/// TOML has no null: a member that is null is left out, anywhere else it is an issue.
pub(super) fn to_toml(document: &Document) -> Result<String, DocumentIssue> {
    let Content::Map(members) = &document.value else { return Ok(String::new()) };
    let is_table = |item: &Document| matches!(item.value, Content::Map(_));
    let tables = |value: &Document| match &value.value {
        Content::List(items) => !items.is_empty() && items.iter().all(is_table),
        _ => false,
    };
    let mut out = String::new();
    for (key, value) in members.iter().filter(|(_, value)| !tables(value)) {
        toml_member(key, value, &mut out)?;
    }
    for (key, value) in members.iter().filter(|(_, value)| tables(value)) {
        let Content::List(items) = &value.value else { continue };
        for (index, item) in items.iter().enumerate() {
            out.push_str(&format!("\n[[{}]]\n", toml_key(key)));
            let Content::Map(members) = &item.value else { continue };
            for (name, value) in members {
                toml_member(name, value, &mut out).map_err(|mut issue| {
                    issue.field = format!("{key}[{index}].{}", issue.field);
                    issue
                })?;
            }
        }
    }
    Ok(out)
}

fn toml_member(key: &str, value: &Document, out: &mut String) -> Result<(), DocumentIssue> {
    if value.value == Content::Null {
        return Ok(());
    }
    out.push_str(&format!("{} = ", toml_key(key)));
    toml_value(value, out).map_err(|mut issue| {
        issue.field = key.to_string();
        issue
    })?;
    out.push('\n');
    Ok(())
}

fn toml_value(value: &Document, out: &mut String) -> Result<(), DocumentIssue> {
    match &value.value {
        Content::Null => {
            let message = "a list holds a null, which TOML cannot".to_string();
            return Err(DocumentIssue { line: 0, field: String::new(), message });
        }
        Content::Text(text) => out.push_str(&quoted(text)),
        Content::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                out.push_str(if place > 0 { ", " } else { "" });
                toml_value(item, out)?;
            }
            out.push(']');
        }
        Content::Map(members) => {
            out.push('{');
            let there = members.iter().filter(|(_, value)| value.value != Content::Null);
            for (place, (key, member)) in there.enumerate() {
                out.push_str(if place > 0 { ", " } else { " " });
                out.push_str(&format!("{} = ", toml_key(key)));
                toml_value(member, out)?;
            }
            out.push_str(" }");
        }
        other => out.push_str(&plain(other)),
    }
    Ok(())
}

fn toml_key(key: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(bare) { key.to_string() } else { quoted(key) }
}

#[cfg(test)]
mod tests;
