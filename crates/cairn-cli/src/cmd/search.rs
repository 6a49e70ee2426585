//! `cairn search`: thoughts by the words in them.

use cairn::{MATCH_END, MATCH_START, SearchHit, SearchQuery, ThoughtType};

use super::{Outcome, kind_parser, listed};
use crate::args::App;
use crate::data::{Found, not_covered};
use crate::error::CliError;
use crate::term::{Palette, ShortIds, Ui, count, minute, visible, wrap};

/// Search texts and metadata, best match first
///
/// All words must occur. `"a phrase"` in double quotes, `prefix*`, `-not` and `OR` work as one would think; put
/// `--` before a query that begins with a dash.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look for these words
    #[arg(required = true)]
    query: Vec<String>,
    /// Only in this session
    #[arg(long, short)]
    session: Option<String>,
    /// Only in this task
    #[arg(long, short)]
    task: Option<String>,
    /// Only thoughts of this type
    #[arg(long = "type", value_name = "TYPE", value_parser = kind_parser())]
    kind: Option<ThoughtType>,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let query = SearchQuery {
        query: args.query.join(" "),
        session_id: args.session,
        task_id: args.task,
        kind: args.kind,
        limit: Some(args.limit),
    };
    let found = app.read()?.search(&query)?;
    if ui.json {
        let damaged = found.damaged.clone();
        ui.print_json(&Found::from(found))?;
        return listed(&damaged, ui);
    }
    if found.results.is_empty() && found.damaged.is_empty() {
        ui.remark("Nothing matches.");
    }
    let ids = ShortIds::new(found.results.iter().map(|hit| hit.thought.id.as_str()));
    let blocks: Vec<String> = found.results.iter().map(|hit| block(hit, &ids, ui)).collect();
    ui.print(&blocks.join("\n"))?;
    if found.not_covered > 0 {
        ui.remark(&ui.remarks.warning(&not_covered(found.not_covered)));
    }
    if let Some(newest) = found.ranked_newest {
        ui.remark(&format!(
            "These words are so common that only the newest {} were ranked; add a word, or `--session`",
            count(newest, "match").replace("matchs", "matches")
        ));
    }
    listed(&found.damaged, ui)
}

pub(super) fn plain(snippet: &str) -> String {
    snippet.replace([MATCH_START, MATCH_END], "")
}

fn block(hit: &SearchHit, ids: &ShortIds<'_>, ui: &Ui) -> String {
    let thought = &hit.thought;
    let mut text = format!(
        "{}  {}  {}\n",
        ui.palette.strong(&visible(ids.of(thought.id.as_str()))),
        ui.palette.kind(thought.kind, thought.kind.as_str()),
        ui.palette.faint(&format!(
            "{}  {}  {}",
            minute(&thought.timestamp),
            visible(thought.session_id.as_str()),
            visible(thought.agent_id.as_str())
        ))
    );
    for line in passage(&hit.snippet, ui.width - 2, ui.palette) {
        text.push_str(&format!("  {line}\n"));
    }
    text
}

/// Wraps the passage as it will look, and only then puts the marks in: they take no room.
pub(super) fn passage(snippet: &str, width: usize, palette: Palette) -> Vec<String> {
    // Letter by letter, whether it is part of a match; spaces are where lines may break, so they are not counted.
    let (mut letters, mut inside) = (Vec::new(), false);
    for c in snippet.chars() {
        match c {
            MATCH_START => inside = true,
            MATCH_END => inside = false,
            _ => letters.extend(
                visible(c.encode_utf8(&mut [0; 4])).chars().filter(|c| !c.is_whitespace()).map(|_| inside),
            ),
        }
    }
    let mut letters = letters.into_iter();
    let words: Vec<String> =
        plain(snippet).split_whitespace().map(|word| visible(word).into_owned()).collect();
    wrap(&words.join(" "), width).iter().map(|line| emphasise(line, &mut letters, palette)).collect()
}

fn emphasise(line: &str, letters: &mut impl Iterator<Item = bool>, palette: Palette) -> String {
    let (mut text, mut run, mut bold) = (String::new(), String::new(), false);
    for c in line.chars() {
        let is_match = !c.is_whitespace() && letters.next().unwrap_or(false);
        if is_match != bold {
            text.push_str(&if bold { palette.strong(&run) } else { std::mem::take(&mut run) });
            run.clear();
            bold = is_match;
        }
        run.push(c);
    }
    text + &if bold { palette.strong(&run) } else { run }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_bold_on_whichever_line_they_end_up() {
        let snippet = "use \u{2}SQLite\u{3},\nnot a \u{2}server\u{3}";
        assert_eq!(passage(snippet, 80, Palette::new(false)), ["use SQLite, not a server"]);
        let bold = |text: &str| Palette::new(true).strong(text);
        assert_eq!(
            passage(snippet, 12, Palette::new(true)),
            [format!("use {},", bold("SQLite")), format!("not a {}", bold("server"))]
        );
    }

    #[test]
    fn a_hostile_passage_is_harmless() {
        assert_eq!(passage("\x1b[2J \u{2}a\u{3}\u{202e}", 80, Palette::new(false)), ["␛[2J a⟨U+202E⟩"]);
    }
}
