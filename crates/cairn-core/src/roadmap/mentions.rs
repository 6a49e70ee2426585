//! Which nodes of a plan a text names by their id.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

/// The ids to look for.
pub struct Mentions<'a> {
    /// Ids that are one word: a text is taken apart and each word looked up.
    words: HashSet<&'a str>,
    /// Ids with spaces or other signs in them, and how many bytes they have: each place where one of them could
    /// begin is looked at once, however many there are.
    others: HashSet<&'a str>,
    lengths: BTreeSet<usize>,
}

impl<'a> Mentions<'a> {
    /// Looks for these ids.
    pub fn new(ids: impl Iterator<Item = &'a str>) -> Mentions<'a> {
        let (words, others) = ids.partition::<Vec<_>, _>(|id| id.chars().all(in_word));
        let lengths = others.iter().map(|id| id.len()).collect();
        Mentions { words: words.into_iter().collect(), others: others.into_iter().collect(), lengths }
    }

    /// The ids that content or metadata name, in order. An id counts where it stands by itself: `auth` is not
    /// named by `author`.
    pub fn named(&self, content: &str, metadata: Option<&Map<String, Value>>) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        self.in_text(content, &mut found);
        // A list instead of recursion: metadata may be nested deeply.
        let mut left: Vec<&Value> = Vec::new();
        let visit = |members: &Map<String, Value>, found: &mut BTreeSet<&'a str>| {
            members.keys().for_each(|key| self.in_text(key, found));
        };
        if let Some(metadata) = metadata {
            visit(metadata, &mut found);
            left.extend(metadata.values());
        }
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => self.in_text(text, &mut found),
                Value::Number(number) => self.in_text(&number.to_string(), &mut found),
                Value::Array(items) => left.extend(items),
                Value::Object(members) => {
                    visit(members, &mut found);
                    left.extend(members.values());
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
        found
    }

    fn in_text(&self, text: &str, found: &mut BTreeSet<&'a str>) {
        for word in text.split(|c| !in_word(c)).filter(|word| !word.is_empty()) {
            // A full stop at the end of a sentence is no part of an id, and one inside may be. A dash at either
            // end can be part of one, or of the text.
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            for candidate in [word, word.trim_matches('.'), bare] {
                if let Some(id) = self.words.get(candidate) {
                    found.insert(id);
                }
            }
        }
        if self.others.is_empty() {
            return;
        }
        let mut before = None;
        for (start, c) in text.char_indices() {
            if apart(before) {
                self.beginning_at(text, start, found);
            }
            before = Some(c);
        }
    }

    fn beginning_at(&self, text: &str, start: usize, found: &mut BTreeSet<&'a str>) {
        for length in &self.lengths {
            let end = start + length;
            if let Some(id) = text.get(start..end).and_then(|part| self.others.get(part))
                && apart(text[end..].chars().next())
            {
                found.insert(id);
            }
        }
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Whether what is beside an id leaves it standing by itself.
fn apart(beside: Option<char>) -> bool {
    beside.is_none_or(|c| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn named(text: &str) -> Vec<&'static str> {
        let ids = ["auth", "auth-2", "load.rows", "node 7", "a/b", "v1.", "größe", "42", "-x-", "🙂"];
        Mentions::new(ids.into_iter()).named(text, None).into_iter().collect()
    }

    #[test]
    fn an_id_counts_where_it_stands_by_itself() {
        assert_eq!(named("Do auth first, then (load.rows)."), ["auth", "load.rows"]);
        assert_eq!(named("the author re-auths; auth-20 and xload.rows"), [""; 0]);
        assert_eq!(named("`auth-2`: größe/42"), ["42", "auth-2", "größe"]);
        assert_eq!(named("node 7, not node 77"), ["node 7"]);
        assert_eq!(named("node 77"), [""; 0]);
        assert_eq!(named("cut v1."), ["v1."]);
        assert_eq!(named("first -x-. Then 🙂, a/a/b"), ["-x-", "a/b", "🙂"]);
        assert_eq!(named("a/bc xa/b node 7a 🙂"), ["🙂"]);
    }

    #[test]
    fn metadata_is_looked_through_to_the_bottom() {
        let metadata = json!({"nodes": ["auth", {"auth-2": {"n": 42}}], "other": null});
        let mentions = Mentions::new(["auth", "auth-2", "42", "nodes", "x"].into_iter());
        let found: Vec<_> = mentions.named("", metadata.as_object()).into_iter().collect();
        assert_eq!(found, ["42", "auth", "auth-2", "nodes"]);
    }
}
