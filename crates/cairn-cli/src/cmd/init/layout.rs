//! How a JSON file is laid out, so that what is put into it looks as if it had always been there.

use serde::Serialize;
use serde_json::Value;

use super::scan::members;

/// The text of the file and how it is laid out.
pub(super) struct Page<'a> {
    text: &'a str,
    pub(super) start: usize,
    unit: &'a str,
    newline: &'static str,
    one_line: bool,
}

impl Page<'_> {
    pub(super) fn new(text: &str, start: usize) -> Page<'_> {
        let (top, _) = members(text, start);
        let unit = top.first().and_then(|member| indent_before(text, start, member.start)).unwrap_or("  ");
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let one_line = !top.is_empty() && !text[start..].trim_end().contains('\n');
        Page { text, start, unit, newline, one_line }
    }

    /// The text with one more member at the end of the object that begins at `object`, `depth` levels deep.
    pub(super) fn with_member(
        &self,
        object: usize,
        depth: usize,
        key: &str,
        value: &impl Serialize,
    ) -> String {
        let (found, brace) = members(self.text, object);
        let key = Value::String(key.to_string());
        let (at, added) = match found.last() {
            Some(last) => {
                let value = self.rendered(value, object, last.start);
                let gap = match indent_before(self.text, object, found[0].start) {
                    Some(indent) => format!("{}{indent}", self.newline),
                    None => " ".to_string(),
                };
                (last.value.end, format!(",{gap}{key}: {value}"))
            }
            None if self.one_line => (brace, format!("{key}: {}", one_line(value))),
            None => {
                let (inner, outer) = (self.unit.repeat(depth + 1), self.unit.repeat(depth));
                let value = self.laid_out(value, &inner);
                (brace, format!("{0}{inner}{key}: {value}{0}{outer}", self.newline))
            }
        };
        // An empty object may hold white space, which the new member replaces.
        let before = if found.is_empty() { &self.text[..=object] } else { &self.text[..at] };
        [before, &added, &self.text[at..]].concat()
    }

    /// `value` as it should look beside the member that begins at `beside`.
    pub(super) fn rendered(&self, value: &impl Serialize, object: usize, beside: usize) -> String {
        let (found, _) = members(self.text, object);
        let first = found.first().map_or(beside, |member| member.start);
        match indent_before(self.text, object, first) {
            Some(indent) => self.laid_out(value, indent),
            None => one_line(value),
        }
    }

    fn laid_out(&self, value: &impl Serialize, indent: &str) -> String {
        pretty(value, self.unit).replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The white space before the first member, if that stands on its own line.
fn indent_before(text: &str, object: usize, member: usize) -> Option<&str> {
    text[object + 1..member].rsplit_once('\n').map(|(_, indent)| indent)
}

pub(super) const PLAIN: &str = "texts and lists can always be written as JSON";

fn one_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(PLAIN)
}

pub(super) fn pretty(value: &impl Serialize, unit: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    value.serialize(&mut serializer).expect(PLAIN);
    String::from_utf8(bytes).expect("JSON is UTF-8")
}
