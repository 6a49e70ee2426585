//! The text of a brief as a person reads it, and where each part of it comes from.

use maud::{Markup, html};

use crate::term::first_line;
use crate::web::piece::entry;
use crate::web::text::text;

/// Characters that tell an item of a brief from the others.
const ITEM: usize = 90;
/// Positions in the log that are named for one item.
const SOURCES: usize = 12;

/// The text: its headings are headings, its rule is a rule, and everything else is text as it stands. What others wrote
/// cannot pass for a heading: in a brief it is indented, save for the task, which is the caller's own.
pub(super) fn brief_text(brief: &str) -> Markup {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for line in brief.lines() {
        match (line.strip_prefix("## "), line) {
            (Some(heading), _) => blocks.push(Block::Heading(heading)),
            (None, "---") => blocks.push(Block::Rule),
            (None, line) => match blocks.last_mut() {
                Some(Block::Lines(lines)) => lines.push(line),
                _ => blocks.push(Block::Lines(vec![line])),
            },
        }
    }
    html! {
        div.brief-text {
            @for block in &blocks {
                @match block {
                    Block::Heading(heading) => h4 { (text(heading)) },
                    Block::Rule => hr;,
                    Block::Lines(lines) => {
                        @let said = lines.join("\n");
                        @if !said.trim().is_empty() { div.lines { (text(said.trim_matches('\n'))) } }
                    }
                }
            }
        }
    }
}

enum Block<'t> {
    Heading(&'t str),
    Rule,
    Lines(Vec<&'t str>),
}

/// One item of a section: its text, and the positions in the log that it came from.
pub(super) struct Source<'t> {
    pub(super) section: &'t str,
    pub(super) said: &'t str,
    pub(super) events: Vec<u64>,
}

/// Where each item comes from, folded away.
pub(super) fn provenance(sources: &[Source<'_>]) -> Markup {
    html! {
        details.provenance {
            summary { "Where it comes from" }
            ul.bare.small {
                @for source in sources {
                    li {
                        span.faint { (text(source.section)) ": " } (text(&cut(source.said))) " "
                        @if source.events.is_empty() { span.faint { "(fixed)" } }
                        @for seq in source.events.iter().take(SOURCES) { (entry(*seq)) " " }
                        @if source.events.len() > SOURCES { span.faint { "and " (source.events.len() - SOURCES) " more" } }
                    }
                }
            }
        }
    }
}

/// The beginning of an item.
fn cut(said: &str) -> String {
    let line = first_line(said);
    match line.char_indices().nth(ITEM) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
