//! How much room letters take in a picture, of which nobody knows with what font it will be shown.

use unicode_width::UnicodeWidthChar;

/// Breaks a label into lines at spaces, and inside a word only where it is too long for a line. The
/// last line ends with `…` if there is more.
pub(super) fn wrapped(label: &str, width: f64, size: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = label;
    while !rest.is_empty() {
        if lines.len() + 1 == most {
            lines.push(fitted(rest, width, size));
            break;
        }
        let full = end_of_width(rest, width, size);
        let end = match rest[..full].rfind(' ') {
            _ if full == rest.len() || rest[full..].starts_with(' ') => full,
            Some(space) if space > 0 => space,
            _ => full,
        };
        lines.push(rest[..end].to_string());
        rest = rest[end..].trim_start();
    }
    lines
}

/// The text, or as much of it as there is room for, and `…`.
pub(super) fn fitted(text: &str, width: f64, size: f64) -> String {
    match end_of_width(text, width, size) {
        end if end == text.len() => text.to_string(),
        _ => format!("{}…", text[..end_of_width(text, width - size, size)].trim_end()),
    }
}

/// Where the part that fits ends: at least one character, and no more than a line of letters, however small
/// they are.
fn end_of_width(text: &str, width: f64, size: f64) -> usize {
    let mut used = 0.0;
    for (count, (at, c)) in text.char_indices().enumerate() {
        used += advance(c) * size;
        if at > 0 && (used > width || count >= 120) {
            return at;
        }
    }
    text.len()
}

pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| advance(c) * size).sum()
}

/// How wide a letter is in a common sans-serif font, in parts of its size; rather too much than too little.
fn advance(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' => 0.3,
        'f' | 'r' | 't' | 'I' | ' ' | '(' | ')' | '-' | '/' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.94,
        'A'..='Z' => 0.72,
        _ => match c.width().unwrap_or(0) {
            0 => 0.0,
            1 => 0.6,
            _ => 1.05,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_break_at_spaces() {
        let lines = |label: &str| wrapped(label, 176.0, 13.0, 4);
        assert_eq!(
            lines("Upsert rows by their natural key, in batches"),
            ["Upsert rows by their", "natural key, in batches"]
        );
        assert_eq!(lines("short"), ["short"]);
        let long = lines(&"word ".repeat(100));
        assert!(long.len() == 4 && long[3].ends_with('…'), "{long:?}");
    }
}
