//! Colours. Nothing is said by colour alone: switched off, every text reads the same.

use anstyle::{AnsiColor, Style};
use cairn::ThoughtType;

/// The colours of one output, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    on: bool,
}

impl Palette {
    pub(crate) fn new(on: bool) -> Palette {
        Palette { on }
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("{}{text}{}", style.render(), style.render_reset())
        } else {
            text.to_string()
        }
    }

    /// The word for a type of thought, or that word with spaces around it.
    pub(crate) fn kind(self, kind: ThoughtType, text: &str) -> String {
        let color = match kind {
            ThoughtType::Plan => AnsiColor::Blue,
            ThoughtType::Analysis => AnsiColor::Cyan,
            ThoughtType::Decision => AnsiColor::Yellow,
            ThoughtType::Reflection => AnsiColor::Magenta,
        };
        self.paint(color.on_default(), text)
    }

    /// What matters most on its line.
    pub(crate) fn strong(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// What one looks at only when it is needed.
    pub(crate) fn faint(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    /// What came, in a comparison.
    pub(crate) fn added(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// What went, in a comparison.
    pub(crate) fn removed(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    pub(crate) fn warning(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// An action that a thought led to.
    pub(crate) fn action(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }
}
