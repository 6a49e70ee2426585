//! Searching in content and metadata.

use cairn_core::thought::{Thought, ThoughtType};

use crate::error::{Error, Result};
use crate::store::{Damage, Term, Terms};

pub use crate::store::{MATCH_END, MATCH_START};

/// What to look for.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// Words (all must match), `"a phrase"`, `prefix*`, `-not`, `OR`.
    pub query: String,
    /// Only in this session.
    pub session_id: Option<String>,
    /// Only in this task.
    pub task_id: Option<String>,
    /// Only thoughts of this type.
    pub kind: Option<ThoughtType>,
    /// At most so many: 1 to 100, 20 if not given.
    pub limit: Option<u64>,
}

/// What was found, best first.
#[derive(Debug, Clone)]
pub struct SearchResults {
    /// The hits.
    pub results: Vec<SearchHit>,
    /// Thoughts that match and cannot be shown, because they do not match the log.
    pub damaged: Vec<Damage>,
    /// Set if the words are so common that only the newest so many matches were ranked.
    pub ranked_newest: Option<u64>,
    /// So many of the newest entries of the log are not in the search index, which cannot be brought up to date.
    pub not_covered: u64,
}

/// One thought that matches.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// The thought.
    pub thought: Thought,
    /// BM25: the smaller, the better the match.
    pub rank: f64,
    /// The passage that matches, each match between [`MATCH_START`] and [`MATCH_END`].
    pub snippet: String,
}

/// How many matches are ranked at most; of more, the newest.
pub(crate) const RANKED: usize = 2000;

/// How long a query may be, and of how many words it may consist: each word costs a look into the index.
const MAX_QUERY_CHARS: usize = 2000;
const MAX_TERMS: usize = 64;

/// Words that people ask with. They say nothing about the thought that answers.
#[rustfmt::skip]
const QUESTION_WORDS: [&str; 47] = [
    "a", "an", "and", "any", "are", "be", "been", "by", "can", "could", "did", "do", "does", "for", "had", "has", "have",
    "how", "i", "in", "is", "it", "of", "on", "our", "should", "that", "the", "there", "this", "to", "was", "we",
    "were", "what", "when", "where", "whether", "which", "who", "whom", "whose", "why", "will", "with", "would", "you",
];

/// Whether a word only asks: alone, with punctuation around it, or shortened as in `what's`.
fn only_asks(word: &Word<'_>) -> bool {
    if word.quoted || word.prefix {
        return false;
    }
    let word = word.text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let short = word
        .split_once(['\'', '’'])
        .filter(|(_, rest)| matches!(*rest, "s" | "re" | "d" | "ll" | "ve" | "t"));
    QUESTION_WORDS.contains(&short.map_or(word.as_str(), |(first, _)| first))
}

/// Parses what people type. Everything means something, or is refused in words.
pub(crate) fn parse(query: &str) -> Result<Terms> {
    let refuse = |message: &str| Error::invalid("query", message);
    if query.chars().count() > MAX_QUERY_CHARS {
        return Err(refuse(&format!("must have at most {MAX_QUERY_CHARS} characters")));
    }
    if query.contains('\0') {
        return Err(refuse("must not contain a NUL character or an unpaired surrogate"));
    }
    let mut terms = Terms { wanted: Vec::new(), unwanted: Vec::new() };
    // The groups without the words that only ask; a query of nothing else is taken at its word.
    let mut telling: Vec<Vec<Term>> = Vec::new();
    let mut new_group = true;
    let mut count = 0;
    let mut or_before = false;
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (word, after) = next_word(rest);
        rest = after.trim_start();
        if word.text == "OR" && !word.quoted && !word.negated {
            or_before = !terms.wanted.is_empty();
            continue;
        }
        // A word without a letter or digit has nothing that the index could hold.
        if !word.text.chars().any(char::is_alphanumeric) {
            continue;
        }
        count += 1;
        if count > MAX_TERMS {
            return Err(refuse(&format!("must have at most {MAX_TERMS} words")));
        }
        let term = Term { text: word.text.to_string(), prefix: word.prefix };
        if word.negated {
            terms.unwanted.push(term);
            or_before = false;
            continue;
        }
        new_group |= !or_before;
        if !only_asks(&word) {
            match telling.last_mut() {
                Some(group) if !new_group => group.push(term.clone()),
                _ => telling.push(vec![term.clone()]),
            }
            new_group = false;
        }
        match terms.wanted.last_mut() {
            Some(group) if or_before => group.push(term),
            _ => terms.wanted.push(vec![term]),
        }
        or_before = false;
    }
    if !telling.is_empty() {
        terms.wanted = telling;
    }
    if terms.wanted.is_empty() {
        return Err(refuse(if terms.unwanted.is_empty() {
            "has no word to search for"
        } else {
            "needs at least one word that is wanted beside those that are not"
        }));
    }
    Ok(terms)
}

struct Word<'a> {
    text: &'a str,
    quoted: bool,
    negated: bool,
    prefix: bool,
}

/// Takes one word or quoted phrase off the front of `rest`, which does not begin with white space.
fn next_word(rest: &str) -> (Word<'_>, &str) {
    let (negated, rest) = match rest.strip_prefix('-') {
        Some(after) if after.starts_with(|c: char| !c.is_whitespace()) => (true, after),
        _ => (false, rest),
    };
    if let Some(inside) = rest.strip_prefix('"') {
        // A quote that is never closed reaches to the end.
        let (text, after) = inside.split_once('"').unwrap_or((inside, ""));
        let (prefix, after) = match after.strip_prefix('*') {
            Some(after) => (true, after),
            None => (false, after),
        };
        return (Word { text, quoted: true, negated, prefix }, after);
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(rest.len());
    let (text, after) = rest.split_at(end);
    match text.strip_suffix('*') {
        Some(stem) => {
            (Word { text: stem.trim_end_matches('*'), quoted: false, negated, prefix: true }, after)
        }
        None => (Word { text, quoted: false, negated, prefix: false }, after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups are joined by `&`, alternatives by `|`; `!` marks what is not wanted, `*` a prefix.
    fn parsed(query: &str) -> String {
        match parse(query) {
            Err(error) => error.to_string(),
            Ok(terms) => {
                let show = |term: &Term| format!("{}{}", term.text, if term.prefix { "*" } else { "" });
                let mut parts: Vec<String> = terms
                    .wanted
                    .iter()
                    .map(|group| group.iter().map(show).collect::<Vec<_>>().join("|"))
                    .collect();
                parts.extend(terms.unwanted.iter().map(|term| format!("!{}", show(term))));
                parts.join("&")
            }
        }
    }

    #[test]
    fn words_phrases_prefixes_exclusions_and_alternatives() {
        assert_eq!(parsed("fast  sqlite"), "fast&sqlite");
        assert_eq!(parsed(r#""group commit" wal*"#), "group commit&wal*");
        assert_eq!(parsed("cache -redis -\"in memory\""), "cache&!redis&!in memory");
        assert_eq!(parsed("p b OR c d"), "p&b|c&d");
        assert_eq!(parsed("p OR b OR c"), "p|b|c");
        assert_eq!(parsed("x\"y z\"w"), "x&y z&w");
    }

    #[test]
    fn operators_without_operands_are_harmless() {
        assert_eq!(parsed("OR a"), "a");
        assert_eq!(parsed("a OR"), "a");
        assert_eq!(parsed("p OR OR b"), "p|b");
        assert_eq!(parsed("p - b"), "p&b");
        assert_eq!(parsed("\"OR\" x"), "OR&x");
        assert_eq!(parsed("p \"never closed"), "p&never closed");
        assert_eq!(parsed("NOT NEAR(a, b)"), "NOT&NEAR(a,&b)");
    }

    #[test]
    fn question_words_do_not_count_unless_there_are_no_others() {
        assert_eq!(parsed("How are the sessions signed?"), "sessions&signed?");
        assert_eq!(parsed("what's the cache for"), "cache");
        assert_eq!(parsed("what about THE cache OR queue"), "about&cache|queue");
        assert_eq!(parsed("cache the OR queue"), "cache&queue");
        assert_eq!(parsed("cache OR the queue"), "cache&queue");
        assert_eq!(parsed("cache OR the OR queue"), "cache|queue");
        assert_eq!(parsed("\"how to\" the*"), "how to&the*");
        assert_eq!(parsed("cache -the"), "cache&!the");
        assert_eq!(parsed("who are you"), "who&are&you");
        assert_eq!(parsed("why OR how"), "why|how");
    }

    #[test]
    fn a_query_without_a_wanted_word_is_refused_in_words() {
        assert_eq!(parsed(""), "query: has no word to search for");
        assert_eq!(parsed("*** () \"\""), "query: has no word to search for");
        assert_eq!(parsed("-a"), "query: needs at least one word that is wanted beside those that are not");
        assert_eq!(parsed(&"x ".repeat(70)), "query: must have at most 64 words");
    }
}
