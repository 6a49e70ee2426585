//! Comparing an index with the texts it covers: every word, with its document, its column and its position in there.
//!
//! Both sides are read once, in different orders, and in flat memory. Each occurrence of a word becomes a number under a
//! key that is drawn anew each time; the numbers of a document are added up on both sides. A forger
//! does not know the key, and without it the numbers are as good as random: another set of words has the same sum with a
//! chance of one in 2⁶⁴. No occurrence can stand in the index twice, so the words of a document are a set.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

use rusqlite::{Connection, OptionalExtension, Rows};

use super::merge::each_word;
use super::{Flaw, Index, TOTALS, put_varint, record, unsound, varint};
use crate::store::words::Words;

/// Sums that are kept at a time. Documents share one if there are more.
const SUMS: usize = 1 << 16;
/// FTS5 puts this before each word of an index without prefixes.
const MAIN: u8 = b'0';

/// One thing in which an index differs from the texts.
#[derive(Debug, PartialEq, Eq)]
pub enum Difference {
    /// The words of this document.
    Words(i64),
    /// The noted length of this document.
    Length(i64),
    /// The totals, from which the mean length is taken: they are not those of the noted lengths.
    Totals,
}

/// Compares an index with its texts; visits every difference.
pub fn compare(
    connection: &Connection,
    index: &Index,
    visit: &mut dyn FnMut(Difference),
) -> Result<(), Flaw> {
    let key = RandomState::new();
    let mut sums = vec![0u64; SUMS];
    let slot = |rowid: i64| rowid as usize % SUMS;
    of_texts(
        connection,
        index,
        &key,
        &mut |rowid, number| {
            let sum = &mut sums[slot(rowid)];
            *sum = sum.wrapping_add(number);
        },
        Some(&mut *visit),
    )?;
    of_index(connection, index, &key, &mut |rowid, number| {
        let sum = &mut sums[slot(rowid)];
        *sum = sum.wrapping_sub(number);
    })?;
    let differ: HashSet<usize> = (0..SUMS).filter(|slot| sums[*slot] != 0).collect();
    if differ.is_empty() {
        return Ok(());
    }
    // Once more, for the documents in those alone.
    let mut sums: HashMap<i64, u64> = HashMap::new();
    of_texts(
        connection,
        index,
        &key,
        &mut |rowid, number| {
            if differ.contains(&slot(rowid)) {
                let sum = sums.entry(rowid).or_default();
                *sum = sum.wrapping_add(number);
            }
        },
        None,
    )?;
    of_index(connection, index, &key, &mut |rowid, number| {
        if differ.contains(&slot(rowid)) {
            let sum = sums.entry(rowid).or_default();
            *sum = sum.wrapping_sub(number);
        }
    })?;
    let mut documents: Vec<i64> =
        sums.into_iter().filter(|(_, sum)| *sum != 0).map(|(rowid, _)| rowid).collect();
    documents.sort_unstable();
    documents.into_iter().for_each(|rowid| visit(Difference::Words(rowid)));
    Ok(())
}

fn word_number(key: &RandomState, word: &[u8]) -> u64 {
    let mut hasher = key.build_hasher();
    hasher.write(word);
    hasher.finish()
}

fn place_number(key: &RandomState, word: u64, rowid: i64, column: u64, position: u64) -> u64 {
    let mut hasher = key.build_hasher();
    hasher.write_u64(word);
    hasher.write_i64(rowid);
    hasher.write_u64(column << 32 | position);
    hasher.finish()
}

/// Numbers every word of the texts; with a visitor, compares the noted lengths as well.
fn of_texts(
    connection: &Connection,
    index: &Index,
    key: &RandomState,
    add: &mut dyn FnMut(i64, u64),
    visit: Option<&mut dyn FnMut(Difference)>,
) -> Result<(), Flaw> {
    let Index { table, source, rowid, columns, .. } = index;
    // As FTS5 takes them: whatever a column holds, as text.
    let texts: Vec<String> = columns.split(", ").map(|column| format!("CAST({column} AS TEXT)")).collect();
    let sql = format!("SELECT {rowid}, {} FROM {source} ORDER BY {rowid}", texts.join(", "));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut noted = connection.prepare(&format!("SELECT id, sz FROM {table}_docsize ORDER BY id"))?;
    let mut lengths = match visit {
        Some(visit) => Some(Lengths::new(noted.query([])?, texts.len(), visit)?),
        None => None,
    };
    let mut words = Words::default();
    let mut counted = Vec::new();
    while let Some(row) = rows.next()? {
        let rowid: i64 = row.get(0)?;
        counted.clear();
        for column in 0..texts.len() {
            // A text that is no text is found where its row is checked.
            words.read(row.get_ref(column + 1)?.as_str_or_null().ok().flatten().unwrap_or_default());
            for (position, word) in words.iter_bytes().enumerate() {
                add(rowid, place_number(key, word_number(key, word), rowid, column as u64, position as u64));
            }
            put_varint(words.len() as u64, &mut counted);
        }
        if let Some(lengths) = &mut lengths {
            lengths.see(rowid, &counted)?;
        }
    }
    match lengths {
        Some(lengths) => lengths.end(connection, index),
        None => Ok(()),
    }
}

/// The noted lengths of documents, read beside the documents.
struct Lengths<'a, 's> {
    rows: Rows<'s>,
    next: Option<(i64, Vec<u8>)>,
    count: u64,
    totals: Vec<u64>,
    visit: &'a mut dyn FnMut(Difference),
}

impl<'a, 's> Lengths<'a, 's> {
    fn new(
        rows: Rows<'s>,
        columns: usize,
        visit: &'a mut dyn FnMut(Difference),
    ) -> Result<Lengths<'a, 's>, Flaw> {
        let mut lengths = Lengths { rows, next: None, count: 0, totals: vec![0; columns], visit };
        lengths.advance()?;
        Ok(lengths)
    }

    fn advance(&mut self) -> Result<(), Flaw> {
        let Some(row) = self.rows.next()? else {
            self.next = None;
            return Ok(());
        };
        let stored = row.get_ref(1)?.as_blob().unwrap_or_default();
        self.count += 1;
        let mut rest = stored;
        for total in &mut self.totals {
            if let Some((length, after)) = varint(rest) {
                *total = total.wrapping_add(length);
                rest = after;
            }
        }
        self.next = Some((row.get(0)?, stored.to_vec()));
        Ok(())
    }

    /// Compares the length of a document; what is noted before it belongs to none.
    fn see(&mut self, rowid: i64, counted: &[u8]) -> Result<(), Flaw> {
        while let Some((noted, _)) = self.next.as_ref().filter(|(noted, _)| *noted < rowid) {
            (self.visit)(Difference::Length(*noted));
            self.advance()?;
        }
        match &self.next {
            Some((noted, stored)) if *noted == rowid => {
                if stored != counted {
                    (self.visit)(Difference::Length(rowid));
                }
                self.advance()
            }
            _ => {
                (self.visit)(Difference::Length(rowid));
                Ok(())
            }
        }
    }

    fn end(mut self, connection: &Connection, index: &Index) -> Result<(), Flaw> {
        while let Some((noted, _)) = &self.next {
            (self.visit)(Difference::Length(*noted));
            self.advance()?;
        }
        let mut expected = Vec::new();
        put_varint(self.count, &mut expected);
        self.totals.iter().for_each(|total| put_varint(*total, &mut expected));
        let stored = record(connection, index, TOTALS).optional()?;
        // An index that nothing was written to holds an empty record.
        let sound = stored.is_some_and(|stored| stored == expected || (self.count == 0 && stored.is_empty()));
        if !sound {
            (self.visit)(Difference::Totals);
        }
        Ok(())
    }
}

/// Numbers every word of the index.
fn of_index(
    connection: &Connection,
    index: &Index,
    key: &RandomState,
    add: &mut dyn FnMut(i64, u64),
) -> Result<(), Flaw> {
    let columns = index.columns.split(", ").count() as u64;
    let mut term: (Vec<u8>, u64) = Default::default();
    each_word(connection, index, |word, rowid, positions| {
        if term.0 != word {
            term.0.clear();
            term.0.extend_from_slice(word);
            term.1 = match word.split_first() {
                Some((&MAIN, word)) => word_number(key, word),
                _ => return unsound("a term is of another kind than words are"),
            };
        }
        let in_document = |(column, position)| add(rowid, place_number(key, term.1, rowid, column, position));
        match each_position(positions, columns, in_document) {
            Some(()) => Ok(()),
            None => unsound(format!("the places of a word in document {rowid} cannot be read")),
        }
    })
}

/// Reads columns and positions, both in order and none twice.
fn each_position(mut bytes: &[u8], columns: u64, mut visit: impl FnMut((u64, u64))) -> Option<()> {
    let (mut column, mut before) = (0, None);
    while !bytes.is_empty() {
        let (mut value, mut rest) = varint(bytes)?;
        if value == 1 {
            let (next, after) = varint(rest)?;
            if next <= column || next >= columns {
                return None;
            }
            (column, before) = (next, None);
            (value, rest) = varint(after)?;
        }
        let step = value.checked_sub(2)?;
        let position = match before {
            None => step,
            Some(before) => Some(step).filter(|step| *step > 0)?.checked_add(before)?,
        };
        if position >= 1 << 31 {
            return None;
        }
        visit((column, position));
        before = Some(position);
        bytes = rest;
    }
    Some(())
}
