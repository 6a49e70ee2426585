//! Canonical JSON (RFC 8785): one value, one sequence of bytes, so that a hash over it means something.
//!
//! Stricter than the RFC where implementations are known to disagree: a duplicate key, a number that a double
//! cannot hold exactly and nesting beyond [`MAX_DEPTH`] are refused instead of quietly changed.

use std::fmt::Display;

use serde_json::{Map, Number, Value};

mod object;
mod strict;

pub use object::ObjectWriter;
pub use strict::parse;

/// How many arrays and objects may be open at once.
pub const MAX_DEPTH: usize = 64;

/// The largest integer that every JSON implementation reads back unchanged: 2^53 − 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Why a text or a value has no canonical form. A path is dotted (`metadata.tool_calls[2].name`) and empty
/// for the outermost value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("{message} at line {line} column {column}")]
    Syntax {
        /// Line of the error, from 1.
        line: usize,
        /// Byte of the line up to which it was read.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// An object holds one key twice.
    #[error("duplicate key {path}")]
    DuplicateKey {
        /// Where the second one is.
        path: String,
    },
    /// Arrays and objects are nested deeper than allowed.
    #[error("more than {limit} levels of nesting{}", at(path))]
    TooDeep {
        /// The first array or object beyond the limit.
        path: String,
        /// How many levels are allowed.
        limit: usize,
    },
    /// A number is outside what a double holds exactly.
    #[error("number {number}{} is beyond ±{MAX_INTEGER}, write it as a string", at(path))]
    NumberNotExact {
        /// Where the number is.
        path: String,
        /// The number, as far as it could be read.
        number: String,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at {path}") }
}

/// A path is built while the error travels outwards, so that an accepted value pays nothing for it.
impl JsonError {
    fn in_item(self, index: usize) -> JsonError {
        self.under(&format!("[{index}]"))
    }

    /// Quotes a key that would make the path ambiguous and cuts one that would flood a log line.
    fn in_member(self, key: &str) -> JsonError {
        const LONGEST: usize = 80;
        let mut shown: String = key.chars().take(LONGEST).collect();
        if shown.len() < key.len() {
            shown.push('…');
        }
        let ambiguous = |c: char| c.is_control() || c.is_whitespace() || ".[]\"\\".contains(c);
        if shown.is_empty() || shown.contains(ambiguous) {
            shown = format!("[{shown:?}]");
        }
        self.under(&shown)
    }

    fn under(mut self, outer: &str) -> JsonError {
        if let JsonError::DuplicateKey { path }
        | JsonError::TooDeep { path, .. }
        | JsonError::NumberNotExact { path, .. } = &mut self
        {
            let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
            *path = format!("{outer}{dot}{path}");
        }
        self
    }
}

/// Returns the canonical bytes of `value`.
pub fn to_bytes(value: &Value) -> Result<Vec<u8>, JsonError> {
    let mut out = Vec::with_capacity(128);
    write(value, &mut out)?;
    Ok(out)
}

/// Appends the canonical bytes of `value` to `out`, or nothing when it is refused.
pub fn write(value: &Value, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let start = out.len();
    write_value(value, 0, out).inspect_err(|_| out.truncate(start))
}

/// Appends `text` as a JSON string, quotes included.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    loop {
        let (plain, escaped) = rest.split_at(plain_prefix(rest));
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = escaped.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                let [high, low] = [byte >> 4, byte & 15].map(|digit| HEX[usize::from(digit)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
        rest = tail;
    }
    out.push(b'"');
}

/// Returns how many bytes can be copied before one needs an escape.
fn plain_prefix(bytes: &[u8]) -> usize {
    let needs_escape = |&byte: &u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    // A fold without an early exit compiles to vector instructions, a search does not.
    let plain = |chunk: &&[u8]| !chunk.iter().fold(false, |any, byte| any | needs_escape(byte));
    let start = 32 * bytes.chunks_exact(32).take_while(plain).count();
    bytes[start..].iter().position(needs_escape).map_or(bytes.len(), |found| start + found)
}

fn exact_integer(magnitude: u64, number: impl Display) -> Result<(), JsonError> {
    if magnitude <= MAX_INTEGER { Ok(()) } else { Err(not_exact(number)) }
}

fn exact_float(number: f64) -> Result<(), JsonError> {
    // Every double from 2^53 on is an integer and stands for several. NaN fails the comparison too.
    if number.abs() <= MAX_INTEGER as f64 { Ok(()) } else { Err(not_exact(format!("{number:e}"))) }
}

fn not_exact(number: impl Display) -> JsonError {
    JsonError::NumberNotExact { path: String::new(), number: number.to_string() }
}

fn deeper(depth: usize) -> Result<usize, JsonError> {
    if depth < MAX_DEPTH {
        Ok(depth + 1)
    } else {
        Err(JsonError::TooDeep { path: String::new(), limit: MAX_DEPTH })
    }
}

fn write_value(value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), JsonError> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out)?,
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_array(items, deeper(depth)?, out)?,
        Value::Object(map) => write_object(map, deeper(depth)?, out)?,
    }
    Ok(())
}

fn write_array(items: &[Value], depth: usize, out: &mut Vec<u8>) -> Result<(), JsonError> {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(item, depth, out).map_err(|error| error.in_item(index))?;
    }
    out.push(b']');
    Ok(())
}

fn write_object(map: &Map<String, Value>, depth: usize, out: &mut Vec<u8>) -> Result<(), JsonError> {
    // The order of UTF-8 and of UTF-16 differ only from U+E000 on, which starts with the byte 0xEE.
    if map.keys().is_sorted() && map.keys().all(|key| key.bytes().all(|byte| byte < 0xee)) {
        return write_members(map, depth, out);
    }
    let mut members: Vec<_> = map.iter().collect();
    members.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    write_members(members, depth, out)
}

fn write_members<'v>(
    members: impl IntoIterator<Item = (&'v String, &'v Value)>,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), JsonError> {
    out.push(b'{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        write_value(value, depth, out).map_err(|error| error.in_member(key))?;
    }
    out.push(b'}');
    Ok(())
}

fn write_number(number: &Number, out: &mut Vec<u8>) -> Result<(), JsonError> {
    if let Some(number) = number.as_u64() {
        exact_integer(number, number)?;
        write_integer(number, out);
    } else if let Some(number) = number.as_i64() {
        exact_integer(number.unsigned_abs(), number)?;
        out.push(b'-');
        write_integer(number.unsigned_abs(), out);
    } else {
        let number = number.as_f64().unwrap_or(f64::NAN);
        exact_float(number)?;
        write_float(number, out);
    }
    Ok(())
}

pub(crate) fn write_integer(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Lays out the shortest digits that read back as `number` the way ECMAScript does.
fn write_float(number: f64, out: &mut Vec<u8>) {
    if number < 0.0 {
        out.push(b'-'); // not for -0, which is written as 0
    }
    let shortest = shortest_digits(number.abs());
    let (mantissa, exponent) = shortest.split_once('e').expect("the exponent form has an e");
    let exponent: i32 = exponent.parse().expect("the exponent is a small integer");
    let digits: Vec<u8> = mantissa.bytes().filter(|&byte| byte != b'.').collect();
    match exponent {
        0..=20 => {
            let whole = exponent as usize + 1;
            out.extend((0..whole).map(|place| digits.get(place).unwrap_or(&b'0')));
            if digits.len() > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
        -6..=-1 => {
            out.extend_from_slice(b"0.");
            out.extend((exponent..-1).map(|_| b'0'));
            out.extend_from_slice(&digits);
        }
        _ => {
            out.extend_from_slice(mantissa.as_bytes());
            out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
            write_integer(exponent.unsigned_abs().into(), out);
        }
    }
}

/// Returns the exponent form with the fewest digits that read back as `number`, the closest of them, and of
/// two equally close ones the even one.
fn shortest_digits(number: f64) -> String {
    let shortest = format!("{number:e}");
    // The standard library takes the upper of two equally close ones, except when the precision is given.
    // That way alone would not do: beside a power of two the closest digits may read back as its neighbour.
    let precision = shortest.find('e').map_or(0, |end| end.saturating_sub(2));
    let even = format!("{number:.precision$e}");
    if even != shortest && even.parse() == Ok(number) { even } else { shortest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(value: Value) -> String {
        String::from_utf8(to_bytes(&value).unwrap()).unwrap()
    }

    #[test]
    fn keys_are_ordered_by_utf16_code_units() {
        let value = json!({"\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "b": 4, "a": 5, "": 6, "ab": 7});
        let expected = "{\"\":6,\"a\":5,\"ab\":7,\"b\":4,\"\u{20ac}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}";
        assert_eq!(text(value), expected);
    }

    #[test]
    fn only_quotes_backslashes_and_control_characters_are_escaped() {
        let all: String = (0..0x80u8).map(char::from).collect();
        let expected = concat!(
            r#""\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f"#,
            r#"\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f"#,
            r##" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"##,
            "\u{7f}\""
        );
        assert_eq!(text(json!(all)), expected);
        assert_eq!(text(json!("\u{2028}\u{10ffff}/é")), "\"\u{2028}\u{10ffff}/é\"");
    }

    #[test]
    fn an_escape_is_found_at_every_place_of_a_long_string() {
        for length in 0..100 {
            for place in 0..length {
                let string = format!("{}\n{}", "x".repeat(place), "y".repeat(length - place - 1));
                let expected = format!("\"{}\\n{}\"", "x".repeat(place), "y".repeat(length - place - 1));
                assert_eq!(text(json!(string)), expected);
            }
        }
    }

    #[test]
    fn numbers_are_laid_out_as_ecmascript_does() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e15, "1000000000000000"),
            (123456.789, "123456.789"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (-1.25e-7, "-1.25e-7"),
            (5e-324, "5e-324"),
            (9007199254740991.0, "9007199254740991"),
        ] {
            assert_eq!(text(json!(number)), expected);
        }
        assert_eq!(
            text(json!([u64::MIN, MAX_INTEGER, -1, -(MAX_INTEGER as i64)])),
            "[0,9007199254740991,-1,-9007199254740991]"
        );
    }

    #[test]
    fn the_number_samples_of_the_rfc_come_out_as_printed() {
        // Appendix B. The layout also holds for the numbers that are refused before they get there.
        for (bits, expected) in [
            (0x0000000000000000, "0"),
            (0x8000000000000000, "0"),
            (0x0000000000000001, "5e-324"),
            (0x8000000000000001, "-5e-324"),
            (0x7fefffffffffffff, "1.7976931348623157e+308"),
            (0xffefffffffffffff, "-1.7976931348623157e+308"),
            (0x4340000000000000, "9007199254740992"),
            (0xc340000000000000, "-9007199254740992"),
            (0x4430000000000000, "295147905179352830000"),
            (0x44b52d02c7e14af5, "9.999999999999997e+22"),
            (0x44b52d02c7e14af6, "1e+23"),
            (0x44b52d02c7e14af7, "1.0000000000000001e+23"),
            (0x444b1ae4d6e2ef4e, "999999999999999700000"),
            (0x444b1ae4d6e2ef4f, "999999999999999900000"),
            (0x444b1ae4d6e2ef50, "1e+21"),
            (0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"),
            (0x3eb0c6f7a0b5ed8d, "0.000001"),
            (0x41b3de4355555553, "333333333.3333332"),
            (0x41b3de4355555554, "333333333.33333325"),
            (0x41b3de4355555555, "333333333.3333333"),
            (0x41b3de4355555556, "333333333.3333334"),
            (0x41b3de4355555557, "333333333.33333343"),
            (0xbecbf647612f3696, "-0.0000033333333333333333"),
            (0x43143ff3c1cb0959, "1424953923781206.2"),
        ] {
            let mut out = Vec::new();
            write_float(f64::from_bits(bits), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn a_refused_value_leaves_the_buffer_as_it_was() {
        for number in [json!(MAX_INTEGER + 1), json!(i64::MIN), json!(1e300), json!(u64::MAX)] {
            let mut out = b"before".to_vec();
            let error = write(&json!({"a": ["x", {"n": number}]}), &mut out).unwrap_err();
            assert!(matches!(&error, JsonError::NumberNotExact { path, .. } if path == "a[1].n"), "{error}");
            assert_eq!(out, b"before");
        }
    }

    #[test]
    fn nesting_is_limited_when_writing_too() {
        let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(to_bytes(&nested(MAX_DEPTH)).is_ok());
        let path = "[0]".repeat(MAX_DEPTH);
        assert_eq!(to_bytes(&nested(MAX_DEPTH + 1)), Err(JsonError::TooDeep { path, limit: MAX_DEPTH }));
    }

    #[test]
    fn an_error_at_the_outermost_value_names_no_path() {
        let error = to_bytes(&json!(1e16)).unwrap_err();
        let expected = "number 1e16 is beyond ±9007199254740991, write it as a string";
        assert_eq!(error.to_string(), expected);
    }
}
