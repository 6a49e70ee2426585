//! Short forms of long texts.

use std::borrow::Cow;

/// Characters of content shown for each thought of a tree.
pub const TREE_CHARS: usize = 100;
/// Characters of content shown for each thought that led to an action.
pub const ACTION_CHARS: usize = 200;
/// Characters of content shown for each step of a trail.
pub const TRAIL_CHARS: usize = 150;

/// Returns the first `limit` characters of `text`, followed by `…` if anything was cut.
///
/// Counts characters (code points), not bytes, so that nothing is cut inside one.
pub fn preview(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_exactly_the_limit_is_whole_and_one_more_is_cut() {
        for letter in ["a", "é", "字", "🦀"] {
            assert_eq!(preview(&letter.repeat(100), TREE_CHARS), letter.repeat(100));
            assert_eq!(preview(&letter.repeat(101), TREE_CHARS), letter.repeat(100) + "…");
        }
    }

    #[test]
    fn an_empty_text_has_an_empty_preview() {
        assert_eq!(preview("", 0), "");
        assert_eq!(preview("x", 0), "…");
    }
}
