//! Markdown with front matter: YAML between two lines of `---` at the very beginning.

use super::parse::{Parsed, issue};

/// A Markdown file in two.
pub(super) struct Parts<'t> {
    /// What is between the two lines, from line 2 of the file.
    pub(super) front: &'t str,
    /// What follows them.
    pub(super) rest: &'t str,
}

/// Whether a file begins as if it had front matter.
pub(super) fn begins(text: &str) -> bool {
    text.lines().next().is_some_and(is_fence)
}

/// Divides a file at the end of its front matter.
pub(super) fn split(text: &str) -> Parsed<Parts<'_>> {
    if !begins(text) {
        let message = "there is no front matter; expected a first line `---`, then `title:`, `nodes:` and so on as YAML, then a line `---`";
        return Err(issue(1, message));
    }
    let mut lines = text.split_inclusive('\n');
    let start = lines.next().map_or(0, str::len);
    let mut place = start;
    for line in lines {
        let end = place + line.len();
        if is_fence(line) {
            return Ok(Parts { front: &text[start..place], rest: &text[end..] });
        }
        place = end;
    }
    Err(issue(1, "the front matter has no end; expected another line `---`"))
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_between_two_fences() {
        for (text, front, rest) in [
            ("---\na: 1\n---\nText\n---\n", "a: 1\n", "Text\n---\n"),
            ("---\r\na: 1\r\n---\r\nText", "a: 1\r\n", "Text"),
            ("---\n---", "", ""),
            ("--- \na: ---\n--- \n", "a: ---\n", ""),
        ] {
            let parts = split(text).unwrap();
            assert_eq!((parts.front, parts.rest), (front, rest), "{text:?}");
        }
        for text in ["", "Text", "\n---\n---\n", "----\n---\n", "---\na: 1\n"] {
            assert_eq!(split(text).err().map(|issue| issue.line), Some(1), "{text:?}");
        }
    }
}
