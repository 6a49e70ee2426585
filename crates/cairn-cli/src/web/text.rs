//! Recorded text on a page.

use maud::{Escaper, Render};
use std::fmt::Write;

use crate::term::visible;

/// Text that somebody recorded: escaped, and with nothing in it that reorders or hides what stands beside it.
pub(crate) struct Text<'t>(&'t str);

/// Shows recorded text.
pub(crate) fn text(text: &str) -> Text<'_> {
    Text(text)
}

impl Render for Text<'_> {
    fn render_to(&self, page: &mut String) {
        let _ = Escaper::new(page).write_str(&visible(self.0));
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    #[test]
    fn markup_and_characters_that_act_are_shown_as_text() {
        let page = html! { p title=(text("\" onclick=\"x")) { (text("<b>\u{202e}&\0</b>")) } }.into_string();
        assert_eq!(page, "<p title=\"&quot; onclick=&quot;x\">&lt;b&gt;⟨U+202E⟩&amp;␀&lt;/b&gt;</p>");
    }
}
