//! Ids as short as they can be typed back.

use std::collections::HashMap;

/// The date of a UUID of version 7, down to the millisecond: eight digits, a dash, four digits. Anything
/// shorter is shared by everything recorded within the same minute.
const SHORTEST: usize = 13;

/// For a set of ids that are shown together, the shortest prefix that tells each from all others.
pub(crate) struct ShortIds<'a> {
    lengths: HashMap<&'a str, usize>,
    width: usize,
}

impl<'a> ShortIds<'a> {
    pub(crate) fn new(ids: impl IntoIterator<Item = &'a str>) -> ShortIds<'a> {
        let mut sorted: Vec<&str> = ids.into_iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut lengths = HashMap::with_capacity(sorted.len());
        let mut width = 0;
        for (index, id) in sorted.iter().enumerate() {
            // In sorted order the ids that share most with one stand beside it.
            let before = index.checked_sub(1).map(|before| shared(sorted[before], id));
            let after = sorted.get(index + 1).map(|after| shared(after, id));
            let needed = before.max(after).map_or(0, |shared| shared + 1).max(SHORTEST);
            let length = id.char_indices().nth(needed).map_or(id.len(), |(end, _)| end);
            width = width.max(id[..length].chars().count());
            lengths.insert(*id, length);
        }
        ShortIds { lengths, width }
    }

    /// The prefix of `id`; an id outside the set is whole.
    pub(crate) fn of<'b>(&self, id: &'b str) -> &'b str {
        &id[..self.lengths.get(id).copied().unwrap_or(id.len())]
    }

    /// The length of the longest prefix.
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

fn shared(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirteen_characters_do_where_the_milliseconds_differ() {
        let ids = ["01994c2a-9b10-7a00-8000-000000000001", "01994c2a-9b11-7a00-8000-000000000001"];
        let short = ShortIds::new(ids);
        assert_eq!(short.of(ids[0]), "01994c2a-9b10");
        assert_eq!((short.of(ids[1]), short.width()), ("01994c2a-9b11", 13));
    }

    #[test]
    fn ids_of_one_millisecond_get_what_tells_them_apart() {
        let ids = ["01994c2a-9b10-7a00-8000-000000000001", "01994c2a-9b10-7a01-8000-000000000001", "r1"];
        let short = ShortIds::new(ids);
        assert_eq!(ids.map(|id| short.of(id)), ["01994c2a-9b10-7a00", "01994c2a-9b10-7a01", "r1"]);
    }

    #[test]
    fn an_id_that_begins_another_is_whole() {
        let ids = ["字字字字字字字字字字字字字", "字字字字字字字字字字字字字字"];
        assert_eq!(ids.map(|id| ShortIds::new(ids).of(id)), ids);
    }
}
