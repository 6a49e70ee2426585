//! Words of a text, cut and compared as SQLite's FTS5 does with `unicode61 remove_diacritics 2`, so that a search finds the
//! same on either store. For stores that have no index of that kind, and to check the one that SQLite has.

mod letters;
mod matching;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use letters::{FOLDED, IN_WORDS, MARKS};
pub use matching::{Counted, Phrase, Query, Weights};

/// FTS5 compares so many bytes of a word.
const LONGEST: usize = 32_768;
/// Bytes of a word that stand in the index; whether the rest is the same is seen in the text.
const LONGEST_INDEXED: usize = 64;
/// Bytes of words that PostgreSQL takes for one text. No text that people write has so many different ones.
const MOST_INDEXED: usize = 1_000_000;

static FOLDS: LazyLock<HashMap<char, char>> = LazyLock::new(|| {
    let each = |&(first, count, apart, to, to_apart): &(u32, u32, u32, u32, u32)| {
        (0..count).filter_map(move |i| {
            Some((char::from_u32(first + i * apart)?, char::from_u32(to + i * to_apart)?))
        })
    };
    FOLDED.iter().flat_map(each).collect()
});

/// What a character is to a word.
enum Role {
    /// Part of it, in this form.
    Letter(char),
    /// A mark on the letter before it.
    Mark,
    /// No part of it.
    Gap,
}

fn role(c: char) -> Role {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Role::Letter(c.to_ascii_lowercase()) } else { Role::Gap };
    }
    let code = u32::from(c);
    let behind = IN_WORDS.partition_point(|(first, _)| *first <= code);
    if behind > 0 && code <= IN_WORDS[behind - 1].1 {
        return Role::Letter(FOLDS.get(&c).copied().unwrap_or(c));
    }
    if MARKS.binary_search(&code).is_ok() { Role::Mark } else { Role::Gap }
}

/// The words of a text, and where in it they stand. Kept to be filled again.
#[derive(Default)]
pub struct Words {
    /// All of them, one behind the other, as they are compared.
    folded: String,
    spans: Vec<Span>,
}

#[derive(Clone, Copy)]
struct Span {
    /// In the text.
    start: usize,
    end: usize,
    /// In `folded`; it begins where the one before ends.
    folded_end: usize,
}

impl Words {
    /// The words of a text.
    pub fn of(text: &str) -> Words {
        let mut words = Words::default();
        words.read(text);
        words
    }

    /// Forgets those of before and takes those of a text.
    pub fn read(&mut self, text: &str) {
        self.folded.clear();
        self.spans.clear();
        let mut start = None;
        for (at, c) in text.char_indices() {
            match role(c) {
                Role::Letter(letter) => {
                    start.get_or_insert(at);
                    self.folded.push(letter);
                }
                Role::Mark => {}
                Role::Gap => self.end(start.take(), at),
            }
        }
        self.end(start, text.len());
    }

    fn end(&mut self, start: Option<usize>, end: usize) {
        let Some(start) = start else { return };
        let before = self.spans.last().map_or(0, |span| span.folded_end);
        if self.folded.len() - before > LONGEST {
            let whole = (before + LONGEST..).find(|at| self.folded.is_char_boundary(*at));
            self.folded.truncate(whole.unwrap_or(self.folded.len()));
        }
        self.spans.push(Span { start, end, folded_end: self.folded.len() });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// One of them, as it is compared.
    pub fn get(&self, index: usize) -> &str {
        let word = self.whole(index);
        &word[..boundary(word, LONGEST)]
    }

    /// All of them, to the byte as FTS5 keeps them: it may cut a long one within a character.
    pub fn iter_bytes(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.whole(index).as_bytes()).map(|word| &word[..word.len().min(LONGEST)])
    }

    /// A word up to the end of the character that reaches the longest length.
    fn whole(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.spans[before].folded_end);
        &self.folded[start..self.spans[index].folded_end]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Where one stands in the text.
    pub fn place(&self, index: usize) -> std::ops::Range<usize> {
        self.spans[index].start..self.spans[index].end
    }
}

/// The last place in a text, up to one, where a character begins or the text ends.
fn boundary(text: &str, most: usize) -> usize {
    if most >= text.len() {
        return text.len();
    }
    (0..=most.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A word as it stands in the index, and whether that is all of it.
pub fn indexed(word: &str) -> (&str, bool) {
    match word.len() > LONGEST_INDEXED {
        true => (&word[..boundary(word, LONGEST_INDEXED)], false),
        false => (word, true),
    }
}

/// What the index holds of some texts, as PostgreSQL reads a `tsvector`, and how many words they have. `scope` are words
/// that no text contains, since a word has no `=` in it. Where each word stands is not part of it: the texts say that, and
/// an index of PostgreSQL's does not hold it.
pub fn vector(texts: &[Option<&str>], scope: &[String]) -> (String, u64) {
    let mut words = Words::default();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let (mut count, mut bytes) = (0, 0);
    for text in texts.iter().flatten() {
        words.read(text);
        count += words.len() as u64;
        for word in words.iter().map(|word| indexed(word).0) {
            if bytes + word.len() <= MOST_INDEXED && !known.contains(word) {
                bytes += word.len();
                known.insert(word.to_string());
            }
        }
    }
    let mut vector = String::with_capacity(bytes + 3 * known.len());
    for word in scope.iter().chain(&known) {
        vector.push('\'');
        vector.push_str(word);
        vector.push_str("' ");
    }
    (vector, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        Words::of(text).iter().map(str::to_string).collect()
    }

    #[test]
    fn words_are_cut_at_what_is_no_letter_and_compared_without_case_and_marks() {
        assert_eq!(cut("Group-commit, WAL2: it's"), ["group", "commit", "wal2", "it", "s"]);
        assert_eq!(cut("Ångström ÜBER e\u{301}tude Ελλάδα"), ["angstrom", "uber", "etude", "ελλάδα"]);
        assert_eq!(cut("日本語 テスト_x"), ["日本語", "テスト", "x"]);
        assert_eq!(cut("… — ' \\ \u{301}"), [""; 0]);
        let words = Words::of("Über alles");
        assert_eq!((words.get(0), words.place(0), words.place(1)), ("uber", 0..5, 6..11));
    }

    /// The answer from elsewhere: SQLite's own index, asked about every character that could matter.
    #[test]
    fn characters_are_what_they_are_to_fts5() {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        sqlite
            .execute_batch(
                "CREATE VIRTUAL TABLE f USING fts5 (c, tokenize = \"unicode61 remove_diacritics 2\");
                 CREATE VIRTUAL TABLE v USING fts5vocab (f, 'instance'); BEGIN;",
            )
            .unwrap();
        let text = |c: char| format!("q{c}x {c}");
        // Of the planes without letters of their own, some: FTS5 treats each as a whole.
        let some = |code: &u32| *code < 0x2_0000 || code % 64 == 1;
        let all: Vec<char> = (1..=0x10_ffff).filter(some).filter_map(char::from_u32).collect();
        for some in all.chunks(1 << 14) {
            sqlite.execute("DELETE FROM f", []).unwrap();
            for c in some {
                let values = rusqlite::params![u32::from(*c), text(*c)];
                sqlite
                    .prepare_cached("INSERT INTO f (rowid, c) VALUES (?1, ?2)")
                    .unwrap()
                    .execute(values)
                    .unwrap();
            }
            let mut theirs: HashMap<u32, Vec<String>> = HashMap::new();
            let mut found = sqlite.prepare_cached("SELECT doc, term FROM v ORDER BY doc, offset").unwrap();
            let mut rows = found.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                theirs.entry(row.get(0).unwrap()).or_default().push(row.get(1).unwrap());
            }
            for c in some {
                assert_eq!(theirs.remove(&u32::from(*c)).unwrap(), cut(&text(*c)), "U+{:04X}", u32::from(*c));
            }
        }
    }

    #[test]
    fn what_is_indexed_can_be_read_and_has_an_end() {
        assert_eq!(vector(&[Some("B a'b"), None], &["=s1".into()]), ("'=s1' 'a' 'b' ".to_string(), 3));
        let long = "é".repeat(100);
        assert_eq!(indexed(&long), (&long[..64], false));
        let many: String = (0..200_000).map(|i| format!("word{i} ")).collect();
        let (vector, words) = vector(&[Some(&many)], &[]);
        assert!(words == 200_000 && vector.len() < MOST_INDEXED + 3 * 200_000);
    }
}
