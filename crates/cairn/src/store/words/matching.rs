//! Whether a text matches, how well, and where: by the words in the text itself. What FTS5 computes from its index is
//! computed here the same way, so that both stores find the same in the same order.

use super::{Words, indexed};
use crate::store::{MATCH_END, MATCH_START, Term, Terms};

/// BM25's constants, as FTS5 has them.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The least that a word counts, however common it is.
const LEAST: f64 = 1e-6;
/// Words in a snippet.
const SNIPPET: usize = 24;

/// A term as a row of words.
#[derive(Debug, Clone)]
pub struct Phrase {
    words: Vec<String>,
    prefix: bool,
}

impl Phrase {
    fn of(term: &Term) -> Phrase {
        Phrase { words: Words::of(&term.text).iter().map(str::to_string).collect(), prefix: term.prefix }
    }

    /// Whether it stands at a place.
    fn is_at(&self, words: &Words, place: usize) -> bool {
        if self.words.is_empty() || place + self.words.len() > words.len() {
            return false;
        }
        let last = self.words.len() - 1;
        self.words.iter().enumerate().all(|(i, word)| match self.prefix && i == last {
            true => words.get(place + i).starts_with(word.as_str()),
            false => words.get(place + i) == word,
        })
    }

    /// Whether it stands in any of these texts. `words` is scratch space.
    pub fn is_in(&self, texts: &[&str], words: &mut Words) -> bool {
        texts.iter().any(|text| {
            words.read(text);
            (0..words.len()).any(|place| self.is_at(words, place))
        })
    }

    /// Whether several words must stand side by side, which only the text can tell.
    pub fn is_several(&self) -> bool {
        self.words.len() > 1
    }

    /// What the index must hold, as PostgreSQL reads a `tsquery`; none if it can hold nothing of it.
    pub fn query(&self) -> Option<String> {
        let last = self.words.len().checked_sub(1)?;
        let word = |(i, word): (usize, &String)| {
            let (start, whole) = indexed(word);
            format!("'{start}'{}", if whole && self.prefix && i == last { ":*" } else { "" })
        };
        Some(self.words.iter().enumerate().map(word).collect::<Vec<_>>().join(" & "))
    }

    /// Whether the index alone tells if it is there.
    fn is_in_index(&self) -> bool {
        matches!(&self.words[..], [word] if indexed(word).1)
    }
}

/// Where a phrase stands.
#[derive(Debug, Clone, Copy)]
struct Instance {
    column: usize,
    place: usize,
    phrase: usize,
}

/// A query, its words cut.
pub struct Query {
    /// Those that are wanted, of all groups.
    pub phrases: Vec<Phrase>,
    /// Of each group, how many.
    groups: Vec<usize>,
    unwanted: Vec<Phrase>,
}

/// How often each phrase stands in a text, weighed, and how many words that has.
#[derive(Debug, Clone)]
pub struct Counted {
    /// By phrase.
    pub found: Vec<f64>,
    /// Words.
    pub words: usize,
}

impl Query {
    /// Cuts the words of a query.
    pub fn new(terms: &Terms) -> Query {
        Query {
            phrases: terms.wanted.iter().flatten().map(Phrase::of).collect(),
            groups: terms.wanted.iter().map(Vec::len).collect(),
            unwanted: terms.unwanted.iter().map(Phrase::of).collect(),
        }
    }

    /// What the index must hold, as PostgreSQL reads a `tsquery`; none if nothing can match. What it finds still has to be
    /// looked at: it does not know which words stand side by side.
    pub fn candidates(&self, scope: &[String]) -> Option<String> {
        let mut parts: Vec<String> = scope.iter().map(|word| format!("'{word}'")).collect();
        let mut left = &self.phrases[..];
        for count in &self.groups {
            let (group, rest) = left.split_at(*count);
            left = rest;
            let alternatives: Vec<String> =
                group.iter().filter_map(Phrase::query).map(|query| format!("({query})")).collect();
            if alternatives.is_empty() {
                return None;
            }
            parts.push(format!("({})", alternatives.join(" | ")));
        }
        let out = self.unwanted.iter().filter(|phrase| phrase.is_in_index()).filter_map(Phrase::query);
        parts.extend(out.map(|query| format!("!{query}")));
        Some(parts.join(" & "))
    }

    /// Whether the columns of a text match, and if so, how often each phrase stands in them. `words` is scratch space.
    pub fn count(&self, columns: &[(&str, f64)], words: &mut Words) -> Option<Counted> {
        let mut counted = Counted { found: vec![0.0; self.phrases.len()], words: 0 };
        let mut there = vec![false; self.phrases.len()];
        for (text, weight) in columns {
            words.read(text);
            counted.words += words.len();
            for place in 0..words.len() {
                if self.unwanted.iter().any(|phrase| phrase.is_at(words, place)) {
                    return None;
                }
                for (index, phrase) in self.phrases.iter().enumerate() {
                    if phrase.is_at(words, place) {
                        there[index] = true;
                        counted.found[index] += weight;
                    }
                }
            }
        }
        let mut left = &there[..];
        for count in &self.groups {
            let (group, rest) = left.split_at(*count);
            left = rest;
            if !group.contains(&true) {
                return None;
            }
        }
        Some(counted)
    }

    fn instances(&self, columns: &[Words]) -> Vec<Instance> {
        let mut found = Vec::new();
        for (column, words) in columns.iter().enumerate() {
            for place in 0..words.len() {
                let here = self.phrases.iter().enumerate().filter(|(_, phrase)| phrase.is_at(words, place));
                found.extend(here.map(|(phrase, _)| Instance { column, place, phrase }));
            }
        }
        found
    }

    /// The passage that matches best, as FTS5's `snippet` chooses and marks it.
    pub fn snippet(&self, columns: &[&str]) -> String {
        let words: Vec<Words> = columns.iter().map(|text| Words::of(text)).collect();
        let instances = self.instances(&words);
        let mut best = (0, 0, 0);
        for (column, text) in columns.iter().enumerate() {
            let starts = sentences(text, &words[column]);
            let size = words[column].len();
            for at in
                instances.iter().filter(|instance| instance.column == column).map(|instance| instance.place)
            {
                let (score, start) = self.score(&instances, column, at, size);
                if score > best.0 {
                    best = (score, column, start);
                }
                let sentence = starts.iter().rev().find(|start| **start <= at).copied().unwrap_or(0);
                if size > SNIPPET && sentence < at {
                    let (score, _) = self.score(&instances, column, sentence, size);
                    let score = score + if sentence == 0 { 120 } else { 100 };
                    if score > best.0 {
                        best = (score, column, sentence);
                    }
                }
            }
        }
        let (_, column, start) = best;
        let spans = self.merged(&instances, column);
        marked(columns.get(column).unwrap_or(&""), &words[column], &spans, start)
    }

    /// How much a passage shows that begins at a word: each phrase once counts most. And where it should begin so that what
    /// it shows is in its middle.
    fn score(&self, instances: &[Instance], column: usize, from: usize, size: usize) -> (u64, usize) {
        let mut seen = vec![false; self.phrases.len()];
        let (mut score, mut first, mut last) = (0, None, 0);
        for instance in instances {
            if instance.column == column && (from..from + SNIPPET).contains(&instance.place) {
                score += if std::mem::replace(&mut seen[instance.phrase], true) { 1 } else { 1000 };
                first.get_or_insert(instance.place);
                last = instance.place + self.phrases[instance.phrase].words.len();
            }
        }
        let first = first.map_or(-1, |first| first as i64);
        let start = first - (SNIPPET as i64 - (last as i64 - first)) / 2;
        let start = start.min(size as i64 - SNIPPET as i64).max(0);
        (score, start as usize)
    }

    /// The places of a column's matches, those that overlap taken together: first and last word.
    fn merged(&self, instances: &[Instance], column: usize) -> Vec<(usize, usize)> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for instance in instances.iter().filter(|instance| instance.column == column) {
            let end = instance.place + self.phrases[instance.phrase].words.len() - 1;
            match spans.last_mut() {
                Some(span) if instance.place <= span.1 => span.1 = span.1.max(end),
                _ => spans.push((instance.place, end)),
            }
        }
        spans
    }
}

/// The words that begin a sentence.
fn sentences(text: &str, words: &Words) -> Vec<usize> {
    let begins = |index: &usize| {
        let before = &text[..words.place(*index).start];
        let trimmed = before.trim_end_matches([' ', '\t', '\n', '\r']);
        *index == 0 || (trimmed.len() < before.len() && trimmed.ends_with(['.', ':']))
    };
    (0..words.len()).filter(begins).collect()
}

/// The passage of a text from a word on, with marks around the matches and `…` where it is cut.
fn marked(text: &str, words: &Words, spans: &[(usize, usize)], start: usize) -> String {
    let end = (start + SNIPPET).min(words.len());
    let from = if start > 0 { words.place(start).start } else { 0 };
    let whole = end == words.len();
    let to = if whole { text.len() } else { words.place(end - 1).end };
    let mut out = String::from(if start > 0 { "…" } else { "" });
    let mut at = from;
    for (first, last) in spans.iter().filter(|(first, _)| (start..end).contains(first)) {
        let place = words.place(*first).start..words.place((*last).min(end - 1)).end;
        out.push_str(&text[at..place.start]);
        out.push(MATCH_START);
        out.push_str(&text[place.clone()]);
        out.push(MATCH_END);
        at = place.end;
    }
    out.push_str(&text[at..to]);
    if !whole {
        out.push('…');
    }
    out
}

/// What it takes to weigh a match: how much each phrase counts, and how long a text is on average.
pub struct Weights {
    counts: Vec<f64>,
    average: f64,
}

impl Weights {
    /// From how many texts there are, with how many words in all, and in how many of them each phrase stands.
    pub fn new(texts: u64, words: u64, holding: &[u64]) -> Weights {
        let texts = texts.max(1) as f64;
        let count = |holding: &u64| {
            let holding = (*holding as f64).min(texts);
            let counts = ((texts - holding + 0.5) / (holding + 0.5)).ln();
            if counts <= 0.0 { LEAST } else { counts }
        };
        Weights { counts: holding.iter().map(count).collect(), average: (words as f64 / texts).max(1.0) }
    }

    /// BM25 as FTS5 has it: the smaller, the better.
    pub fn rank(&self, counted: &Counted) -> f64 {
        let long = K1 * (1.0 - B + B * counted.words as f64 / self.average);
        let each = self.counts.iter().zip(&counted.found);
        -each.map(|(counts, found)| counts * (found * (K1 + 1.0)) / (found + long)).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rusqlite::{Connection, params};

    use super::*;

    const WORDS: [&str; 14] = [
        "group",
        "commit",
        "Commit",
        "wal",
        "wal2",
        "Über",
        "uber",
        "e\u{301}tude",
        "a",
        "the",
        "日本",
        "Ελλάδα",
        "x1",
        "naïve",
    ];
    const GAPS: [&str; 8] = [" ", " ", " ", ". ", ": ", "-", ", ", "\n"];
    const QUERIES: [&[&str]; 16] = [
        &["commit"],
        &["group", "commit"],
        &["group commit"],
        &["gro*"],
        &["the comm*"],
        &["wal|wal2"],
        &["uber", "-etude"],
        &["ETUDE", "naive"],
        &["a the|the a", "x*"],
        &["the", "-the a"],
        &["日*", "Ελλάδα"],
        &["x1-a"],
        &["a|the|group", "commit"],
        &["commit commit"],
        &["wal*|wal"],
        &["nowhere|group"],
    ];

    /// A query of groups. `|` separates alternatives, `*` marks a prefix, `-` a term that is not wanted.
    fn terms(groups: &[&str]) -> Terms {
        let term = |text: &str| Term { text: text.trim_end_matches('*').into(), prefix: text.ends_with('*') };
        let (unwanted, wanted): (Vec<&str>, Vec<&str>) =
            groups.iter().partition(|group| group.starts_with('-'));
        Terms {
            wanted: wanted.iter().map(|group| group.split('|').map(term).collect()).collect(),
            unwanted: unwanted.iter().map(|group| term(&group[1..])).collect(),
        }
    }

    /// Numbers that look random and are the same every time.
    struct Dice(u64);

    impl Dice {
        fn throw(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % sides
        }

        fn text(&mut self, most: usize) -> String {
            let words = self.throw(most);
            (0..words)
                .map(|_| format!("{}{}", WORDS[self.throw(WORDS.len())], GAPS[self.throw(GAPS.len())]))
                .collect()
        }
    }

    /// What FTS5 finds, by row: rank and snippet.
    fn theirs(sqlite: &Connection, terms: &Terms) -> BTreeMap<i64, (f64, String)> {
        let quote = |term: &Term| format!("\"{}\"{}", term.text, if term.prefix { "*" } else { "" });
        let group =
            |group: &Vec<Term>| format!("({})", group.iter().map(quote).collect::<Vec<_>>().join(" OR "));
        let mut asked = terms.wanted.iter().map(group).collect::<Vec<_>>().join(" AND ");
        for term in &terms.unwanted {
            asked = format!("({asked}) NOT {}", quote(term));
        }
        let sql = "SELECT rowid, bm25(f, 1.0, 0.5), snippet(f, -1, ?2, ?3, '…', 24) FROM f WHERE f MATCH ?1";
        let values = params![asked, MATCH_START.to_string(), MATCH_END.to_string()];
        let mut found = sqlite.prepare(sql).unwrap();
        let rows = found.query_map(values, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?)))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    }

    /// The answer from elsewhere: FTS5 itself, over the same texts.
    #[test]
    fn matches_ranks_and_snippets_are_those_of_fts5() {
        let sqlite = Connection::open_in_memory().unwrap();
        let table = "CREATE VIRTUAL TABLE f USING fts5 (content, metadata, tokenize = \"unicode61 remove_diacritics 2\")";
        sqlite.execute(table, []).unwrap();
        let mut dice = Dice(7);
        let texts: Vec<[String; 2]> = (0..400).map(|_| [dice.text(90), dice.text(12)]).collect();
        for (row, [content, metadata]) in texts.iter().enumerate() {
            let values = params![row as i64, content, metadata];
            sqlite.execute("INSERT INTO f (rowid, content, metadata) VALUES (?1, ?2, ?3)", values).unwrap();
        }
        let mut words = Words::default();
        let columns = |[content, metadata]: &[String; 2]| [(content.clone(), 1.0), (metadata.clone(), 0.5)];
        let mut count = |query: &Query, text: &[String; 2]| {
            let columns = columns(text);
            query.count(&[(&columns[0].0, 1.0), (&columns[1].0, 0.5)], &mut words)
        };
        let all: usize = texts.iter().flatten().map(|text| Words::of(text).len()).sum();
        for asked in QUERIES {
            let terms = terms(asked);
            let query = Query::new(&terms);
            let one =
                |term: &Term| Query::new(&Terms { wanted: vec![vec![term.clone()]], unwanted: Vec::new() });
            let holding: Vec<u64> = terms
                .wanted
                .iter()
                .flatten()
                .map(|term| texts.iter().filter(|text| count(&one(term), text).is_some()).count() as u64)
                .collect();
            let weights = Weights::new(texts.len() as u64, all as u64, &holding);
            let theirs = theirs(&sqlite, &terms);
            let mut ours = 0;
            for (row, text) in texts.iter().enumerate() {
                let Some(counted) = count(&query, text) else {
                    assert!(!theirs.contains_key(&(row as i64)), "{asked:?}: {text:?}");
                    continue;
                };
                ours += 1;
                let (rank, snippet) = &theirs[&(row as i64)];
                assert!(
                    (weights.rank(&counted) - rank).abs() < 1e-9,
                    "{asked:?}: {rank} {}",
                    weights.rank(&counted)
                );
                assert_eq!(query.snippet(&[&text[0], &text[1]]), *snippet, "{asked:?}: {text:?}");
            }
            assert_eq!(ours, theirs.len(), "{asked:?}");
        }
    }

    #[test]
    fn what_the_index_is_asked_has_no_syntax_of_its_own() {
        let asked = |groups: &[&str]| Query::new(&terms(groups)).candidates(&["=s1".into()]);
        assert_eq!(asked(&["It's", "a:*", "!b"]).unwrap(), "'=s1' & (('it' & 's')) & (('a':*)) & (('b'))");
        assert_eq!(asked(&["x|y z*", "-q", "-r s"]).unwrap(), "'=s1' & (('x') | ('y' & 'z':*)) & !'q'");
        assert_eq!(asked(&["\u{345}"]), None, "a letter to some, and no word to either store");
        let long = "b".repeat(100);
        assert_eq!(asked(&[&format!("{long}*")]).unwrap(), format!("'=s1' & (('{}'))", "b".repeat(64)));
    }
}
