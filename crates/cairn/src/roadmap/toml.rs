//! TOML with the lines its values stand on.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};
use cairn_core::roadmap::document::{Content, Document, DocumentIssue, key as name};
use serde_json::Number;

use super::parse::{Lines, MAX_DEPTH, Parsed, Room, in_item, in_member, issue, too_deep};

/// The most marks of punctuation. The parser keeps a whole file in memory before its values can be counted, and
/// each of them, and each table of a dotted name, has one of these.
const MAX_MARKS: usize = 1_000_000;

/// Parses a TOML file.
pub(super) fn parse(text: &str) -> Parsed<Document> {
    if text.bytes().filter(|byte| b"=,[{.".contains(byte)).count() > MAX_MARKS {
        let message = format!("more than {MAX_MARKS} marks such as `=` `,` `[` and `.`; JSON may hold more");
        return Err(issue(0, message));
    }
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(0, |span| lines.at(span.start));
        let message = error.message().trim();
        // The parser has a limit of its own, a little beyond ours.
        if message.contains("recurs") {
            too_deep(line)
        } else {
            issue(line, format!("is not TOML: {message}"))
        }
    })?;
    let mut reader = Reader { lines, room: Room::new() };
    reader.table(table.into_inner(), 1, 0)
}

struct Reader {
    lines: Lines,
    room: Room,
}

impl Reader {
    fn value(&mut self, value: Spanned<DeValue<'_>>, depth: usize) -> Parsed<Document> {
        let line = self.lines.at(value.span().start);
        let content = match value.into_inner() {
            DeValue::Table(table) => return self.table(table, line, depth),
            DeValue::Array(items) => {
                if depth == MAX_DEPTH {
                    return Err(too_deep(line));
                }
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    list.push(self.value(item, depth + 1).map_err(|issue| in_item(issue, index))?);
                }
                Content::List(list)
            }
            DeValue::String(text) => {
                self.room.take(0, text.len(), line)?;
                Content::Text(text.into_owned())
            }
            DeValue::Boolean(value) => Content::Bool(value),
            DeValue::Datetime(time) => Content::Text(time.to_string()),
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix()).map(Number::from).ok();
                Content::Number(number.ok_or_else(|| unkept(line, integer.as_str()))?)
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok().and_then(Number::from_f64);
                Content::Number(number.ok_or_else(|| unkept(line, float.as_str()))?)
            }
        };
        self.room.take(1, 0, line)?;
        Ok(Document { line: u32::try_from(line).unwrap_or(0), value: content })
    }

    fn table(&mut self, table: DeTable<'_>, line: usize, depth: usize) -> Parsed<Document> {
        if depth == MAX_DEPTH {
            return Err(too_deep(line));
        }
        self.room.take(1, 0, line)?;
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut members = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = name(&key.into_inner());
            let value = self.value(value, depth + 1).map_err(|issue| in_member(issue, &key))?;
            members.push((key, value));
        }
        Ok(Document { line: u32::try_from(line).unwrap_or(0), value: Content::Map(members) })
    }
}

fn unkept(line: usize, number: &str) -> DocumentIssue {
    issue(line, format!("`{number}` is no number that can be kept; put it in quotes"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    fn message(text: &str) -> String {
        let issue = parse(text).unwrap_err();
        format!("{} {}: {}", issue.line, issue.field, issue.message)
    }

    #[test]
    fn values_and_their_lines() {
        let text = "title = \"T\"\nday = 2024-01-02\nn = 0x1F\nf = 1.5\n\n[[nodes]]\nid = \"a\"\n\n[[nodes]]\nid = \"b\"\nx = { y = [1, true] }\n";
        let document = parse(text).unwrap();
        let Content::List(nodes) = &document.member("nodes").unwrap().value else { panic!() };
        assert_eq!((nodes[0].line, nodes[1].line, nodes[1].member("x").unwrap().line), (6, 9, 11));
        let expected = json!({"title": "T", "day": "2024-01-02", "n": 31, "f": 1.5,
            "nodes": [{"id": "a"}, {"id": "b", "x": {"y": [1, true]}}]});
        assert_eq!(document.into_json(), expected);
    }

    #[test]
    fn an_error_says_where() {
        assert!(
            message("a = 1\na = 2\n").starts_with("2 : is not TOML: duplicate key"),
            "{}",
            message("a = 1\na = 2\n")
        );
        assert!(message("a = 1\nb = [1,\n").contains("is not TOML"));
        assert_eq!(
            message("a = 1\nb = [inf]\n"),
            "2 b[0]: `inf` is no number that can be kept; put it in quotes"
        );
        assert!(message("a = 99999999999999999999").contains("no number that can be kept"));
    }

    #[test]
    fn deep_nesting_ends_early() {
        let start = Instant::now();
        let dotted = "a.".repeat(900_000);
        for text in [
            format!("x = {}1{}", "[".repeat(1_000_000), "]".repeat(1_000_000)),
            format!("x = {}", "{a=".repeat(400_000)),
            format!("{dotted}a = 1"),
            format!("[{dotted}a]"),
            format!("[[{dotted}a]]"),
            format!("x = {{ {dotted}a = 1 }}"),
            format!("{}a = 1", "a.".repeat(70)),
        ] {
            parse(&text).unwrap_err();
        }
        // The square of such a length takes hours.
        assert!(start.elapsed() < Duration::from_secs(600), "{:?}", start.elapsed());
    }

    /// Each of these would take gigabytes if it were parsed before it is counted.
    #[test]
    fn what_holds_too_much_is_not_parsed() {
        let tables: String = (0..600_000).map(|number| format!("a{number}.b=1\n")).collect();
        for text in [tables, format!("x = [{}]", "0,".repeat(1_000_000)), "[[n]]\n".repeat(600_000)] {
            assert!(message(&text).contains("more than 1000000 marks"), "{}", message(&text));
        }
    }
}
