//! Fitting text into columns, counted as a terminal counts them: `字` takes two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What stands for a tab.
const TAB: &str = "    ";
/// Characters per column beyond which a text is cut although it takes no more room: a thousand accents on one
/// letter are no line of text.
const CHARS_PER_COLUMN: usize = 4;

/// The columns that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum::<usize>().max(text.width())
}

/// Returns `text` if it fits into `width` columns, else its beginning and `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let (mut used, mut fits) = (0, 0);
    for (count, (at, c)) in text.char_indices().enumerate() {
        let wide = c.width().unwrap_or(0);
        if used + wide > width || count >= width * CHARS_PER_COLUMN {
            return if width == 0 { String::new() } else { format!("{}…", text[..fits].trim_end()) };
        }
        used += wide;
        if used < width {
            fits = at + c.len_utf8();
        }
    }
    text.to_string()
}

/// Fills `text` up to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Breaks `text` into lines of at most `width` columns, at spaces where there are any. Its own line breaks
/// and the indentation after them stay.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        wrap_line(&line.replace('\t', TAB), width.max(2), &mut lines);
    }
    lines
}

/// Breaks prose into lines of at most `width` columns, at spaces, and never within a command between backticks: what is
/// pasted stands on one line, however long it is.
pub(crate) fn wrap_around_commands(text: &str, width: usize) -> Vec<String> {
    let mut in_command = false;
    let is_break = |c: char| {
        in_command ^= c == '`';
        !in_command && c.is_whitespace()
    };
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let mut rest = line.trim_end();
    loop {
        let Some(full) = end_of_width(rest, width) else {
            lines.push(rest.to_string());
            return;
        };
        // A space just behind the last column is as good as one within it; one in the indentation is not.
        let text_starts = rest.len() - rest.trim_start().len();
        let at_space = rest[..full].rfind(' ').filter(|&space| space > text_starts);
        let end = if rest[full..].starts_with(' ') { full } else { at_space.unwrap_or(full) };
        lines.push(rest[..end].trim_end().to_string());
        rest = rest[end..].trim_start();
    }
}

/// Where the part of `text` that fits ends, or none if all of it fits.
fn end_of_width(text: &str, width: usize) -> Option<usize> {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_only_if_it_does_not_fit() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("abcd efg", 6), "abcd…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn a_cut_counts_columns_and_never_splits_a_character() {
        assert_eq!(cut("字字字", 6), "字字字");
        assert_eq!(cut("字字字", 5), "字字…");
        assert_eq!(cut("字字字", 4), "字…");
        assert_eq!(pad("字", 4), "字  ");
    }

    #[test]
    fn a_letter_under_a_thousand_accents_is_cut_too() {
        let zalgo = format!("a{}", "\u{301}".repeat(1000));
        assert!(cut(&zalgo, 10).chars().count() <= 41);
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("字字字", 4), ["字字", "字"]);
        assert_eq!(wrap("exactly 8", 9), ["exactly 8"]);
    }

    #[test]
    fn a_command_is_never_broken() {
        let lines = wrap_around_commands("run `a long command` or `b`; then go on", 12);
        assert_eq!(lines, ["run", "`a long command`", "or `b`; then", "go on"]);
    }

    #[test]
    fn line_breaks_and_indentation_of_the_text_stay() {
        assert_eq!(wrap("a:\n\n\tb c\n", 80), ["a:", "", "    b c", ""]);
        assert_eq!(wrap("    abcdefgh", 6), ["    ab", "cdefgh"]);
    }
}
