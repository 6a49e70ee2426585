//! Recorded text is hostile until shown otherwise: it may hold escape sequences that clear the screen, retitle
//! the window or reorder what is read. Here every such character becomes one that can be seen.

use std::borrow::Cow;

/// Returns `text` with every character that acts instead of showing replaced by a visible sign: `␛` for an
/// escape, `⟨U+202E⟩` for a bidirectional override. Newlines and tabs stay; see [`super::first_line`] and
/// [`super::wrap`] for what becomes of them.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !acts(c) => shown.push(c),
            // Unicode has a picture for each of the old control characters.
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => shown.push('␡'),
            _ => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
        }
    }
    Cow::Owned(shown)
}

/// Whether a terminal would obey, reorder or hide it. Joiners and variation selectors, which emoji and whole
/// scripts need, are text.
fn acts(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_sequence_is_shown_and_not_sent() {
        assert_eq!(visible("\x1b[2J\x1b]0;owned\x07"), "␛[2J␛]0;owned␇");
        assert_eq!(visible("a\r\u{9b}31m\x7f\0"), "a␍⟨U+009B⟩31m␡␀");
    }

    #[test]
    fn what_reorders_or_hides_text_is_named() {
        assert_eq!(visible("user\u{202e}nimda"), "user⟨U+202E⟩nimda");
        assert_eq!(visible("\u{2066}\u{200b}\u{feff}\u{e0041}"), "⟨U+2066⟩⟨U+200B⟩⟨U+FEFF⟩⟨U+E0041⟩");
    }

    #[test]
    fn ordinary_text_is_itself() {
        for text in ["naïve 字 🦀", "👩‍👩‍👧", "❤️", "line\n\ttab", "می‌خواهم"] {
            assert_eq!(visible(text), text);
        }
    }
}
