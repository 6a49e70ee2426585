//! What a person sees: colour, width, wrapping, and nothing that could take over the terminal.

mod fit;
#[cfg(test)]
mod kept;
mod progress;
mod quote;
mod short_id;
mod style;
mod table;
mod thoughts;
mod tree;
mod visible;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub(crate) use fit::{columns, cut, pad, wrap, wrap_around_commands};
#[cfg(test)]
pub(crate) use kept::Kept;
pub(crate) use progress::Bar;
pub(crate) use quote::quoted;
pub(crate) use short_id::ShortIds;
pub(crate) use style::Palette;
pub(crate) use table::Table;
pub(crate) use thoughts::{count, first_line, grouped, minute, said, size, trail_block};
pub(crate) use tree::draw as draw_tree;
pub(crate) use visible::visible;

use crate::error::CliError;

/// Columns when the output is no terminal: tables in a file or a pipe.
const WIDTH_OF_A_FILE: usize = 100;
/// Columns of a terminal that does not say.
const WIDTH_OF_A_TERMINAL: usize = 80;
/// Below this nothing can be laid out; a narrower terminal wraps by itself.
const NARROWEST: usize = 40;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Where results and remarks go: results to stdout, everything else to stderr.
#[derive(Clone)]
pub(crate) struct Ui {
    /// Whether results are JSON.
    pub(crate) json: bool,
    /// Colours for stdout.
    pub(crate) palette: Palette,
    /// Colours for stderr.
    pub(crate) remarks: Palette,
    /// Columns of stdout.
    pub(crate) width: usize,
    /// Whether a person looks at stdout right now.
    pub(crate) interactive: bool,
    /// Takes results and remarks instead, so that a test can read them.
    #[cfg(test)]
    pub(crate) kept: Option<Kept>,
}

impl Ui {
    pub(crate) fn new(json: bool, color: ColorChoice) -> Ui {
        let interactive = io::stdout().is_terminal();
        Ui {
            json,
            palette: Palette::new(colored(color, interactive)),
            remarks: Palette::new(colored(color, io::stderr().is_terminal())),
            width: width(interactive),
            interactive,
            #[cfg(test)]
            kept: None,
        }
    }

    /// The stream that results go to.
    pub(crate) fn results(&self) -> Box<dyn Write> {
        #[cfg(test)]
        if let Some(kept) = &self.kept {
            return Box::new(kept.clone());
        }
        Box::new(io::stdout().lock())
    }

    /// Prints a result.
    pub(crate) fn print(&self, text: &str) -> Result<(), CliError> {
        self.print_bytes(text.as_bytes())
    }

    /// Prints a result that was rendered as bytes.
    pub(crate) fn print_bytes(&self, text: &[u8]) -> Result<(), CliError> {
        let mut out = self.results();
        out.write_all(text).and_then(|()| out.flush()).map_err(CliError::output)
    }

    /// Prints a result as JSON: one line for a program, indented for a person.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text =
            if self.interactive { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        self.print(&(text.map_err(|error| CliError::output(error.into()))? + "\n"))
    }

    /// Says something beside the result. Nobody listening is no reason to fail.
    pub(crate) fn remark(&self, text: &str) {
        #[cfg(test)]
        if let Some(kept) = &self.kept {
            let _ = writeln!(kept.clone(), "{text}");
            return;
        }
        let _ = writeln!(io::stderr().lock(), "{text}");
    }
}

fn colored(choice: ColorChoice, terminal: bool) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

fn width(interactive: bool) -> usize {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = match (named, interactive) {
        (Some(columns), _) => columns,
        (None, true) => terminal_size::terminal_size()
            .map_or(WIDTH_OF_A_TERMINAL, |(terminal_size::Width(columns), _)| columns.into()),
        (None, false) => WIDTH_OF_A_FILE,
    };
    columns.max(NARROWEST)
}
