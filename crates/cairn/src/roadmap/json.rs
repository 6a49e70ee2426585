//! JSON with the lines its values stand on. As strict as the standard; a key that stands twice is refused.

use cairn_core::roadmap::document::{Content, Document, DocumentIssue, Key, key};
use serde_json::Number;

use super::parse::{MAX_DEPTH, Parsed, Room, duplicate, in_item, in_member, issue, too_deep};

/// Parses one JSON text.
pub(super) fn parse(text: &str) -> Parsed<Document> {
    let mut reader = Reader { text, place: 0, line: 1, room: Room::new() };
    let value = reader.value(0)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.expected("the end of the file")),
    }
}

struct Reader<'t> {
    text: &'t str,
    place: usize,
    line: usize,
    room: Room,
}

impl Reader<'_> {
    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The next byte that is no white space. Only white space holds line breaks, so lines are counted here.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes().get(self.place).copied() {
                Some(b'\n') => self.line += 1,
                Some(b' ' | b'\t' | b'\r') => {}
                other => return other,
            }
            self.place += 1;
        }
    }

    fn expected(&self, what: &str) -> DocumentIssue {
        let found = match self.text[self.place..].chars().next() {
            None => "the end of the file".to_string(),
            Some(c) => format!("{c:?}"),
        };
        issue(self.line, format!("expected {what}, found {found}"))
    }

    fn value(&mut self, depth: usize) -> Parsed<Document> {
        let next = self.peek();
        let line = self.line;
        self.room.take(1, 0, line)?;
        let value = match next {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Content::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Content::Number(self.number()?),
            Some(b't') => self.word("true", Content::Bool(true))?,
            Some(b'f') => self.word("false", Content::Bool(false))?,
            Some(b'n') => self.word("null", Content::Null)?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Document { line: u32::try_from(line).unwrap_or(0), value })
    }

    fn word(&mut self, word: &str, value: Content) -> Parsed<Content> {
        if !self.text[self.place..].starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.place += word.len();
        Ok(value)
    }

    fn array(&mut self, depth: usize) -> Parsed<Content> {
        let mut items = Vec::new();
        self.open(depth)?;
        if self.peek() == Some(b']') {
            self.place += 1;
            return Ok(Content::List(items));
        }
        loop {
            let item = self.value(depth + 1).map_err(|issue| in_item(issue, items.len()))?;
            items.push(item);
            match self.peek() {
                Some(b',') => self.place += 1,
                Some(b']') => {
                    self.place += 1;
                    return Ok(Content::List(items));
                }
                _ => return Err(self.expected("`,` or `]`")),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Content> {
        let mut members = Vec::new();
        self.open(depth)?;
        if self.peek() == Some(b'}') {
            self.place += 1;
            return Ok(Content::Map(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.expected("a name in double quotes"));
            }
            let key = self.name()?;
            if self.peek() != Some(b':') {
                return Err(in_member(self.expected("`:`"), &key));
            }
            self.place += 1;
            let value = self.value(depth + 1).map_err(|issue| in_member(issue, &key))?;
            members.push((key, value));
            match self.peek() {
                Some(b',') => self.place += 1,
                Some(b'}') => break,
                _ => return Err(self.expected("`,` or `}`")),
            }
        }
        self.place += 1;
        match duplicate(&members) {
            None => Ok(Content::Map(members)),
            Some(second) => {
                let (key, value) = &members[second];
                Err(in_member(issue(value.line as usize, "stands twice in one object"), key))
            }
        }
    }

    fn open(&mut self, depth: usize) -> Parsed<()> {
        if depth == MAX_DEPTH {
            return Err(too_deep(self.line));
        }
        self.place += 1;
        Ok(())
    }

    /// The name of a member. Nearly all are plain and few, and need no memory of their own.
    fn name(&mut self) -> Parsed<Key> {
        let rest = &self.text[self.place + 1..];
        match rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
            Some(end) if rest.as_bytes()[end] == b'"' => {
                self.room.take(0, end, self.line)?;
                self.place += end + 2;
                Ok(key(&rest[..end]))
            }
            _ => self.string().map(Key::from),
        }
    }

    fn string(&mut self) -> Parsed<String> {
        self.place += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes()[self.place..];
            let Some(plain) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) else {
                return Err(issue(self.line, "a text has no closing quote"));
            };
            let (start, stop) = (self.place, rest[plain]);
            self.place += plain;
            self.room.take(0, plain, self.line)?;
            // Copied once, and at the size it has, in nearly every case.
            text.push_str(&self.text[start..self.place]);
            match stop {
                b'"' => {
                    self.place += 1;
                    return Ok(text);
                }
                b'\\' => text.push(self.escape()?),
                _ => {
                    return Err(issue(
                        self.line,
                        "a text holds a line break or another control character; write it as an escape such as \\n",
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        let wrong = |line| {
            issue(
                line,
                "an escape in a text is wrong; expected one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
            )
        };
        let letter = self.bytes().get(self.place + 1).copied();
        self.place += 2;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.hex().ok_or_else(|| wrong(self.line))?;
                let code = match first {
                    0xd800..=0xdbff if self.bytes()[self.place..].starts_with(b"\\u") => {
                        self.place += 2;
                        let second = self.hex().filter(|code| (0xdc00..=0xdfff).contains(code));
                        let second = second.ok_or_else(|| self.half())?;
                        0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    }
                    other => other,
                };
                char::from_u32(code).ok_or_else(|| self.half())?
            }
            _ => return Err(wrong(self.line)),
        })
    }

    fn half(&self) -> DocumentIssue {
        issue(self.line, "an escape \\uXXXX stands for half a character; its other half must follow")
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.bytes().get(self.place..self.place + 4)?;
        let mut code = 0;
        for digit in digits {
            code = code * 16 + char::from(*digit).to_digit(16)?;
        }
        self.place += 4;
        Some(code)
    }

    fn number(&mut self) -> Parsed<Number> {
        let start = self.place;
        let mut whole = true;
        if self.bytes()[self.place] == b'-' {
            self.place += 1;
        }
        match self.digits() {
            0 => return Err(self.expected("a digit")),
            1 => {}
            _ if self.text[start..].trim_start_matches('-').starts_with('0') => {
                return Err(issue(self.line, "a number begins with 0; write it without, or in quotes"));
            }
            _ => {}
        }
        if self.bytes().get(self.place) == Some(&b'.') {
            whole = false;
            self.place += 1;
            if self.digits() == 0 {
                return Err(self.expected("a digit"));
            }
        }
        if matches!(self.bytes().get(self.place), Some(b'e' | b'E')) {
            whole = false;
            self.place += 1;
            if matches!(self.bytes().get(self.place), Some(b'+' | b'-')) {
                self.place += 1;
            }
            if self.digits() == 0 {
                return Err(self.expected("a digit"));
            }
        }
        let text = &self.text[start..self.place];
        let integer = if whole { integer(text) } else { None };
        integer
            .or_else(|| text.parse().ok().and_then(Number::from_f64))
            .ok_or_else(|| issue(self.line, "a number is too large"))
    }

    fn digits(&mut self) -> usize {
        let count = self.bytes()[self.place..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.place += count;
        count
    }
}

/// An integer that fits into 64 bits.
pub(super) fn integer(text: &str) -> Option<Number> {
    text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn message(text: &str) -> String {
        let issue = parse(text).unwrap_err();
        format!("{} {}: {}", issue.line, issue.field, issue.message)
    }

    #[test]
    fn an_error_says_where() {
        for (text, says) in [
            ("", "1 : expected a value, found the end of the file"),
            ("{\n\"a\": [1,\n 2 3]}", "3 a: expected `,` or `]`, found '3'"),
            ("{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", "3 a: stands twice in one object"),
            ("{\"a\":\n{\"b\": [{\"c\": tru}]}}", "2 a.b[0].c: expected a value, found 't'"),
            ("{a: 1}", "1 : expected a name in double quotes, found 'a'"),
            ("[1]\n]", "2 : expected the end of the file, found ']'"),
            ("[1,]", "1 [1]: expected a value, found ']'"),
            (
                "[\"\\ud800\"]",
                "1 [0]: an escape \\uXXXX stands for half a character; its other half must follow",
            ),
        ] {
            assert_eq!(message(text), says, "{text}");
        }
    }

    #[test]
    fn lines_are_those_of_the_values() {
        let document = parse("{\n  \"a\": [\n    1,\n\n    \"x\"\n  ]\n}").unwrap();
        let Content::List(items) = &document.member("a").unwrap().value else { panic!() };
        assert_eq!((document.line, items[0].line, items[1].line), (1, 3, 5));
    }

    #[test]
    fn deep_nesting_ends_early() {
        assert!(message(&"[".repeat(1_000_000)).contains("64 levels"));
        assert!(parse(&("[".repeat(64) + &"]".repeat(64))).is_ok());
    }

    #[test]
    fn what_the_standard_refuses_is_refused() {
        for text in [
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "1e400",
            "NaN",
            "\"\n\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"",
            "{} x",
            "'a'",
            "//\n1",
        ] {
            assert!(parse(text).is_err(), "{text}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json(value in any_json(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            prop_assert_eq!(parse(&text.unwrap()).unwrap().into_json(), value);
        }

        #[test]
        fn it_refuses_what_serde_json_refuses(text in "[\\[\\]{},:\"\\\\ua0-9eE+. \\-trufalsn\n]{0,24}") {
            let theirs = serde_json::from_str::<Value>(&text);
            let ours = parse(&text);
            // Ours refuses a key that stands twice as well.
            match (theirs, ours) {
                (Ok(theirs), Ok(ours)) => prop_assert_eq!(ours.into_json(), theirs),
                (Ok(_), Err(issue)) => prop_assert!(issue.message.contains("twice"), "{}", issue.message),
                (Err(_), ours) => prop_assert!(ours.is_err(), "{text}"),
            }
        }
    }
}
