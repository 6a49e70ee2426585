//! Searches: the terms a store is asked for, and the matches it returns.

use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Node;
use cairn_core::thought::ThoughtType;

use super::Result;

/// A word, or several in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The word, or the phrase.
    pub text: String,
    /// Whether its last word may go on.
    pub prefix: bool,
}

/// A query, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Of each group at least one must be there.
    pub wanted: Vec<Vec<Term>>,
    /// None of these may be there.
    pub unwanted: Vec<Term>,
}

/// Where [`SearchReader::search`] looks.
#[derive(Debug, Clone, Default)]
pub struct SearchScope<'a> {
    /// In this session.
    pub session_id: Option<&'a str>,
    /// In this task.
    pub task_id: Option<&'a str>,
    /// For this type.
    pub kind: Option<ThoughtType>,
}

/// A thought that a search found.
#[derive(Debug, Clone)]
pub struct FoundThought {
    /// Its position in the log.
    pub seq: u64,
    /// BM25: the smaller, the better the match.
    pub rank: f64,
    /// The passage that matches.
    pub snippet: String,
}

/// A node that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeHit {
    /// The roadmap it is in.
    pub roadmap_id: RoadmapId,
    /// The newest snapshot of that roadmap.
    pub context_id: u64,
    /// The node.
    pub node: Node,
    /// BM25: the smaller, the better the match.
    pub rank: f64,
    /// The passage that matches, each match between [`MATCH_START`] and [`MATCH_END`].
    pub snippet: String,
}

/// Stands before a match in a snippet.
pub const MATCH_START: char = '\u{2}';
/// Stands after a match in a snippet.
pub const MATCH_END: char = '\u{3}';

/// The most characters of a passage, and how many of them stand before the first match. A text without spaces is one word
/// to the index, however long it is.
const PASSAGE_CHARS: usize = 1000;
const BEFORE_MATCH: usize = 100;

/// A passage that is not too long for a list of results.
pub fn passage(snippet: String) -> String {
    if snippet.chars().nth(PASSAGE_CHARS).is_none() {
        return snippet;
    }
    let first = snippet.chars().position(|letter| letter == MATCH_START).unwrap_or(0);
    let before = first.saturating_sub(BEFORE_MATCH);
    let mut letters = snippet.chars().skip(before);
    let mut cut = if before > 0 { "…".to_string() } else { String::new() };
    cut.extend(letters.by_ref().take(PASSAGE_CHARS));
    if letters.next().is_some() {
        let open = cut.rfind(MATCH_START) > cut.rfind(MATCH_END);
        cut.push('…');
        cut.extend(open.then_some(MATCH_END));
    }
    cut
}

/// Searches thoughts.
pub trait SearchReader {
    /// The last entry that the derived tables cover.
    fn derived_through(&self) -> Result<u64>;
    /// The best `limit` matches among the newest `newest`, and whether there were more. Only as current as
    /// the derived tables.
    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<FoundThought>, bool)>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_any_length_is_a_short_passage_around_its_match() {
        let (start, end) = (MATCH_START, MATCH_END);
        let usual = format!("a {start}short{end} one");
        assert_eq!(passage(usual.clone()), usual);
        let long = "é".repeat(100_000);
        let cut = passage(format!("{long} {start}{long}{end} {long}"));
        assert!(cut.starts_with("…é") && cut.ends_with(&format!("é…{end}")), "{cut}");
        assert_eq!(cut.chars().count(), PASSAGE_CHARS + 3);
        assert_eq!(cut.chars().position(|letter| letter == start), Some(BEFORE_MATCH + 1));
        let after = passage(format!("{start}one{end} {long}"));
        assert!(after.starts_with(&format!("{start}one{end} é")) && after.ends_with("é…"), "{after}");
    }
}
