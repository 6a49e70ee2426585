//! YAML 1.2 with the core schema, from the events of its parser.
//!
//! An alias is counted with everything it stands for before it is copied, so that a bomb costs what its text
//! costs.

use std::collections::HashMap;

use cairn_core::roadmap::document::{Content, Document, DocumentIssue, Key, key};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::Number;

use super::json::integer;
use super::parse::{MAX_DEPTH, Parsed, Room, duplicate, in_item, in_member, issue, too_deep};

/// The most marks of punctuation. The parser keeps all that is between a bracket and its partner in memory
/// before it says anything about it, so that what it can keep is limited here.
const MAX_MARKS: usize = 1_500_000;

/// Whether a byte is such a mark.
const MARKS: [bool; 256] = {
    let (mut table, marks, mut place) = ([false; 256], b",:[]{}?&*!\"'", 0);
    while place < marks.len() {
        table[marks[place] as usize] = true;
        place += 1;
    }
    table
};

/// Parses one YAML document whose first line is line `first` of its file.
pub(super) fn parse(text: &str, first: usize) -> Parsed<Document> {
    if text.bytes().filter(|byte| MARKS[usize::from(*byte)]).count() > MAX_MARKS {
        let message =
            format!("more than {MAX_MARKS} marks such as `,` `:` `[` and quotes; JSON may hold more");
        return Err(issue(0, message));
    }
    let mut builder =
        Builder { first, room: Room::new(), open: Vec::new(), anchors: HashMap::new(), whole: None };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let line = builder.line(error.marker().line());
            builder.in_place(match error.info() {
                "recursion limit exceeded" => too_deep(line),
                info => issue(line, format!("is not YAML: {}", info.trim())),
            })
        })?;
        let line = builder.line(span.start.line());
        if matches!(event, Event::DocumentStart(_)) {
            documents += 1;
            if documents > 1 {
                return Err(issue(line, "a second document begins; a roadmap is one"));
            }
        }
        if let Err(issue) = builder.event(event, line) {
            return Err(builder.in_place(issue));
        }
    }
    Ok(builder.whole.unwrap_or(Document { line: 1, value: Content::Null }))
}

/// A list or mapping that is not closed yet.
struct Open {
    line: usize,
    anchor: usize,
    cost: Cost,
    value: Value,
}

enum Value {
    List(Vec<Document>),
    Map(Vec<(Key, Document)>, Option<Key>),
}

/// What a value takes up, itself included.
#[derive(Clone, Copy)]
struct Cost {
    values: usize,
    text: usize,
    depth: usize,
}

struct Builder {
    first: usize,
    room: Room,
    open: Vec<Open>,
    anchors: HashMap<usize, (Document, Cost)>,
    whole: Option<Document>,
}

impl Builder {
    fn line(&self, line: usize) -> usize {
        self.first + line.saturating_sub(1)
    }

    /// Adds the field that was being read.
    fn in_place(&self, issue: DocumentIssue) -> DocumentIssue {
        self.open.iter().rev().fold(issue, |issue, open| match &open.value {
            Value::List(items) => in_item(issue, items.len()),
            Value::Map(_, Some(key)) => in_member(issue, key),
            Value::Map(_, None) => issue,
        })
    }

    fn event(&mut self, event: Event<'_>, line: usize) -> Parsed<()> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if self.wants_key() {
                    self.room.take(0, text.len(), line)?;
                    return self.key(key(&text), line);
                }
                self.room.take(1, text.len(), line)?;
                let cost = Cost { values: 1, text: text.len(), depth: 0 };
                let value = scalar(&text, style, tag.as_deref(), line)?;
                self.add(value, line, anchor, cost)
            }
            Event::SequenceStart(anchor, tag) => {
                known(tag.as_deref(), line)?;
                self.begin(Value::List(Vec::new()), line, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                known(tag.as_deref(), line)?;
                self.begin(Value::Map(Vec::new(), None), line, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Alias(anchor) => self.alias(anchor, line),
            _ => Ok(()),
        }
    }

    fn wants_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { value: Value::Map(_, None), .. }))
    }

    fn key(&mut self, key: Key, line: usize) -> Parsed<()> {
        match self.open.last_mut() {
            Some(Open { value: Value::Map(_, slot), .. }) => {
                *slot = Some(key);
                Ok(())
            }
            _ => Err(issue(line, "a key stands where none can be")),
        }
    }

    fn begin(&mut self, value: Value, line: usize, anchor: usize) -> Parsed<()> {
        if self.wants_key() {
            return Err(issue(line, "a key must be a text, not a list or a mapping"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(too_deep(line));
        }
        self.room.take(1, 0, line)?;
        self.open.push(Open { line, anchor, cost: Cost { values: 1, text: 0, depth: 1 }, value });
        Ok(())
    }

    fn end(&mut self) -> Parsed<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.value {
            Value::List(items) => Content::List(items),
            Value::Map(members, _) => {
                if let Some(second) = duplicate(&members) {
                    let (key, value) = &members[second];
                    return Err(in_member(issue(value.line as usize, "stands twice in one mapping"), key));
                }
                Content::Map(members)
            }
        };
        self.add(value, open.line, open.anchor, open.cost)
    }

    fn alias(&mut self, anchor: usize, line: usize) -> Parsed<()> {
        let Some((_, cost)) = self.anchors.get(&anchor) else {
            return Err(issue(line, "an alias stands inside of what it stands for"));
        };
        let cost = *cost;
        if self.open.len() + cost.depth > MAX_DEPTH {
            return Err(too_deep(line));
        }
        self.room.take(cost.values, cost.text, line)?;
        let value = self.anchors[&anchor].0.value.clone();
        if self.wants_key() {
            return match value {
                Content::Text(key) => self.key(key.into(), line),
                _ => Err(issue(line, "a key must be a text, not a list or a mapping")),
            };
        }
        self.add(value, line, 0, cost)
    }

    /// Puts a finished value where it belongs, and aside if it has an anchor.
    fn add(&mut self, value: Content, line: usize, anchor: usize, cost: Cost) -> Parsed<()> {
        let document = Document { line: u32::try_from(line).unwrap_or(0), value };
        if anchor > 0 {
            self.room.take(cost.values, cost.text, line)?;
            self.anchors.insert(anchor, (document.clone(), cost));
        }
        let Some(open) = self.open.last_mut() else {
            self.whole = Some(document);
            return Ok(());
        };
        open.cost.values += cost.values;
        open.cost.text += cost.text;
        open.cost.depth = open.cost.depth.max(cost.depth + 1);
        match &mut open.value {
            Value::List(items) => items.push(document),
            Value::Map(members, key) => members.push((key.take().unwrap_or_default(), document)),
        }
        Ok(())
    }
}

/// `!` alone says that a value is a text; what else is not of the core schema cannot be understood.
fn known(tag: Option<&Tag>, line: usize) -> Parsed<()> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() && !is_bare(tag) => {
            Err(issue(line, format!("the tag `{}{}` is not known; leave it out", tag.handle, tag.suffix)))
        }
        _ => Ok(()),
    }
}

fn is_bare(tag: &Tag) -> bool {
    tag.handle.is_empty() && tag.suffix == "!"
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Parsed<Content> {
    known(tag, line)?;
    let is_text = tag.is_some_and(|tag| tag.suffix == "str" || is_bare(tag));
    if is_text || !matches!(style, ScalarStyle::Plain) {
        return Ok(Content::Text(text.to_string()));
    }
    plain(text)
        .ok_or_else(|| issue(line, format!("`{text}` is no number that can be kept; put it in quotes")))
}

/// What a text without quotes stands for; none if it is a number without a finite value.
pub(super) fn plain(text: &str) -> Option<Content> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Null,
        "true" | "True" | "TRUE" => Content::Bool(true),
        "false" | "False" | "FALSE" => Content::Bool(false),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => {
            Content::Text(text.to_string())
        }
        _ => return number(text),
    })
}

fn number(text: &str) -> Option<Content> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        let digits = text.strip_prefix(prefix).filter(|digits| digits.chars().all(|c| c.is_digit(radix)));
        if let Some(number) = digits.and_then(|digits| u64::from_str_radix(digits, radix).ok()) {
            return Some(Content::Number(number.into()));
        }
    }
    if !is_decimal(unsigned) {
        return Some(Content::Text(text.to_string()));
    }
    let signed = text.strip_prefix('+').unwrap_or(text);
    integer(signed).or_else(|| signed.parse().ok().and_then(Number::from_f64)).map(Content::Number)
}

/// `12`, `12.`, `.5`, `1.5`, each perhaps with an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_fits
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::{Value as Json, json};

    use super::*;

    fn value(text: &str) -> Json {
        parse(text, 1).unwrap().into_json()
    }

    fn message(text: &str) -> String {
        let issue = parse(text, 1).unwrap_err();
        format!("{} {}: {}", issue.line, issue.field, issue.message)
    }

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        for (text, expected) in [
            ("~", json!(null)),
            ("", json!(null)),
            ("Null", json!(null)),
            ("true", json!(true)),
            ("FALSE", json!(false)),
            ("yes", json!("yes")),
            ("no", json!("no")),
            ("12", json!(12)),
            ("-3", json!(-3)),
            ("+3", json!(3)),
            ("0o17", json!(15)),
            ("0x1F", json!(31)),
            ("0b11", json!("0b11")),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("1.2.3", json!("1.2.3")),
            ("2024-01-02", json!("2024-01-02")),
            ("12:30", json!("12:30")),
            ("1_000", json!("1_000")),
            ("'12'", json!("12")),
            ("\"true\"", json!("true")),
            ("!!str 12", json!("12")),
            ("! 12", json!("12")),
            ("1e", json!("1e")),
            (".", json!(".")),
            ("-", json!([null])),
            ("99999999999999999999", json!(1e20)),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        for text in [".inf", "-.INF", ".nan", "1e999"] {
            assert!(message(text).contains("no number"), "{text}");
        }
    }

    #[test]
    fn an_error_says_where() {
        for (text, says) in [
            ("a: 1\nb: 2\na: 3\n", "3 a: stands twice in one mapping"),
            ("a:\n  - b: 1\n  - b: 1\n    b: 2\n", "4 a[1].b: stands twice in one mapping"),
            ("a: 1\n---\nb: 2\n", "2 : a second document begins; a roadmap is one"),
            ("nodes:\n  - &n [*n]\n", "2 nodes[0][0]: an alias stands inside of what it stands for"),
            ("a: !thing 1\n", "1 a: the tag `!thing` is not known; leave it out"),
            ("? [1]\n: 2\n", "1 : a key must be a text, not a list or a mapping"),
        ] {
            assert_eq!(message(text), says, "{text}");
        }
        for text in ["a: [1, 2\nb: 3", "a: \"x", "a: *b", "- a\nb: 1", "a: b: c"] {
            assert!(message(text).contains("is not YAML"), "{text}: {}", message(text));
        }
    }

    #[test]
    fn aliases_and_keys() {
        let text = "base: &b {x: 1}\none: *b\n&k name: 2\n1: int\n~: null key\n<<: *b\n";
        let expected = json!({"base": {"x": 1}, "one": {"x": 1}, "name": 2, "1": "int", "~": "null key", "<<": {"x": 1}});
        assert_eq!(value(text), expected);
    }

    #[test]
    fn lines_are_those_of_the_values() {
        let document = parse("title: T\nnodes:\n  - id: a\n    label: A\n\n  - id: b\n", 5).unwrap();
        let Content::List(nodes) = &document.member("nodes").unwrap().value else { panic!() };
        assert_eq!((document.line, nodes[0].line, nodes[1].line), (5, 7, 10));
        assert_eq!(nodes[0].member("label").unwrap().line, 8);
    }

    /// Each of these would take the machine down if it were expanded or followed.
    #[test]
    fn bombs_cost_no_more_than_their_text() {
        let mut lists = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_string();
        for level in 1..40 {
            let below = format!("*a{}", level - 1);
            lists += &format!("a{level}: &a{level} [{}]\n", vec![below; 9].join(", "));
        }
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 10_000].join(", "));
        let anchors = format!("{}1{}", "&a [".repeat(60), "]".repeat(60));
        let chain = (1..200).fold("a0: &a0 [1]\n".to_string(), |text, level| {
            text + &format!("a{level}: &a{level} [*a{}]\n", level - 1)
        });
        let start = Instant::now();
        assert!(message(&lists).contains("more than 1000000 values"), "{}", message(&lists));
        assert!(message(&long).contains("64 MiB of text"));
        assert!(parse(&anchors, 1).is_ok());
        assert!(message(&format!("[{}]", "1,".repeat(7 << 20))).contains("marks"));
        assert!(message(&chain).contains("levels of nesting"));
        for opening in ["[", "{a: ", "- ", "? ", "[a: ", "{? "] {
            let issue = parse(&opening.repeat(700_000), 1).unwrap_err();
            assert!(
                issue.message.contains("levels of nesting") || issue.message.contains("key"),
                "{}",
                issue.message
            );
        }
        // The square of such a length takes hours.
        assert!(start.elapsed() < Duration::from_secs(600), "{:?}", start.elapsed());
    }
}
