//! Walking one segment of an index, page by page. Everything that a lookup relies on is held against the pages on the way.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::{Flaw, Index, unsound, varint};

type Result<T> = std::result::Result<T, Flaw>;

/// Bits of a row id of `…_data` below the segment's number.
const SEGMENT_SHIFT: u32 = 37;
/// Set in the row id of a page of a skip list.
const SKIP_LIST: i64 = 1 << 36;
/// Bits of it below the level of a page of a skip list.
const LEVEL_SHIFT: u32 = 31;
const PAGE_MASK: i64 = (1 << LEVEL_SHIFT) - 1;
/// Levels that a skip list can have.
const MOST_LEVELS: u32 = 32;
/// Bytes before the first term or row id of a page.
const HEADER: usize = 4;

/// A run of pages with words in order.
#[derive(Clone, Copy)]
pub struct Segment {
    pub id: i64,
    pub first: i64,
    pub last: i64,
}

/// Reads the list of segments, the newest first: FTS5 lets those win.
pub fn segments(record: &[u8]) -> Option<Vec<Segment>> {
    let mut rest = record.get(4..)?;
    let mut number = || {
        let (value, after) = varint(rest)?;
        rest = after;
        i64::try_from(value).ok()
    };
    let (levels, count, _writes) = (number()?, number()?, number()?);
    let mut segments = Vec::new();
    for _ in 0..levels {
        let (_merging, on_level) = (number()?, number()?);
        let before = segments.len();
        for _ in 0..on_level {
            segments.push(Segment { id: number()?, first: number()?, last: number()? });
        }
        segments[before..].reverse();
    }
    let mut ids: Vec<i64> = segments.iter().map(|segment| segment.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let sound = ids.len() == segments.len() && segments.len() as i64 == count && rest.is_empty();
    sound.then_some(segments)
}

/// Finds pages and notes of segments that are not listed.
pub fn no_stray_pages(connection: &Connection, index: &Index, segments: &[Segment]) -> Result<()> {
    let by_id: HashMap<i64, &Segment> = segments.iter().map(|segment| (segment.id, segment)).collect();
    let mut pages = connection.prepare(&format!(
        "SELECT id FROM {}_data WHERE id NOT IN ({}, {})",
        index.table,
        super::TOTALS,
        super::SEGMENTS
    ))?;
    let mut rows = pages.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let page = id & PAGE_MASK;
        let known = by_id.get(&(id >> SEGMENT_SHIFT)).is_some_and(|segment| {
            // The skip lists of pages that were merged away stay until the whole segment is, as their notes do.
            let first = if id & SKIP_LIST == 0 { segment.first } else { 1 };
            (first..=segment.last).contains(&page)
        });
        if !known {
            return unsound(format!("page {id} belongs to no segment"));
        }
    }
    let mut noted = connection.prepare(&format!("SELECT DISTINCT segid FROM {}_idx", index.table))?;
    let mut rows = noted.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if !by_id.contains_key(&id) {
            return unsound(format!("segment {id} is not listed"));
        }
    }
    Ok(())
}

/// The first term noted for a page, and whether the last term that begins there has a skip list.
struct Note {
    term: Vec<u8>,
    skip_list: bool,
}

/// Stands on one occurrence list of a segment: a word in one document.
pub struct Cursor<'c> {
    connection: &'c Connection,
    index: &'c Index,
    segment: Segment,
    notes: HashMap<i64, Note>,
    page: Vec<u8>,
    number: i64,
    /// Where the next unread byte of the page is.
    at: usize,
    /// Where the page's list of terms begins.
    footer: usize,
    /// Where terms begin on this page, the next one last.
    terms: Vec<usize>,
    /// The page that the current term begins on.
    term_page: i64,
    /// Later pages that its documents go on to, each with the first row id there.
    continued: Vec<(i64, i64)>,
    /// Whether a term or a document began on this page already.
    begun: bool,
    /// The word, with the byte that FTS5 puts before it; empty at the end.
    pub term: Vec<u8>,
    /// The document.
    pub rowid: i64,
    /// Where in the document the word stands, as FTS5 writes it. Empty if the document was taken out.
    pub positions: Vec<u8>,
}

impl<'c> Cursor<'c> {
    /// Stands on the first word of a segment.
    pub fn open(connection: &'c Connection, index: &'c Index, segment: Segment) -> Result<Cursor<'c>> {
        let mut cursor = Cursor {
            connection,
            index,
            segment,
            notes: notes(connection, index, segment.id)?,
            page: Vec::new(),
            number: segment.first - 1,
            at: 0,
            footer: 0,
            terms: Vec::new(),
            term_page: 0,
            continued: Vec::new(),
            begun: true,
            term: Vec::new(),
            rowid: 0,
            positions: Vec::new(),
        };
        // A segment that was merged into another to its end is listed without pages for a while.
        if segment.last > 0 {
            if cursor.notes.keys().any(|page| *page < 1 || *page > segment.last) {
                return unsound(format!("a term is noted for a page that segment {} has not", segment.id));
            }
            cursor.next_page()?;
            if cursor.terms.last() != Some(&HEADER) {
                return cursor.unsound("does not begin with a term");
            }
            cursor.next_term()?;
        }
        Ok(cursor)
    }

    fn unsound<T>(&self, what: &str) -> Result<T> {
        unsound(format!("page {} of segment {} {what}", self.number, self.segment.id))
    }

    fn id(&self, page: i64) -> i64 {
        self.segment.id << SEGMENT_SHIFT | page
    }

    fn take_number(&mut self) -> Result<u64> {
        match varint(&self.page[self.at..self.end()]) {
            Some((value, rest)) => {
                self.at = self.end() - rest.len();
                Ok(value)
            }
            None => self.unsound("cannot be read"),
        }
    }

    fn bytes(&mut self, length: u64) -> Result<std::ops::Range<usize>> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        match end.filter(|end| *end <= self.end()) {
            Some(end) => Ok(std::mem::replace(&mut self.at, end)..end),
            None => self.unsound("cannot be read"),
        }
    }

    /// Where the documents of the current term end on this page.
    fn end(&self) -> usize {
        self.terms.last().copied().unwrap_or(self.footer)
    }

    fn first_rowid_offset(&self) -> usize {
        usize::from(u16::from_be_bytes([self.page[0], self.page[1]]))
    }

    /// The head of a page says where the first document begins, if a term of an earlier page goes on that far.
    fn nothing_left_out(&self) -> Result<()> {
        if self.begun || self.first_rowid_offset() == 0 {
            return Ok(());
        }
        self.unsound("says that a document begins where none does")
    }

    /// Goes to the next page; tells whether there is one.
    fn next_page(&mut self) -> Result<bool> {
        self.nothing_left_out()?;
        if self.number >= self.segment.last {
            return Ok(false);
        }
        self.number += 1;
        self.begun = false;
        let id = self.id(self.number);
        let sql = format!("SELECT block FROM {}_data WHERE id = ?1", self.index.table);
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([id])?;
        self.page.clear();
        match rows.next()? {
            Some(row) => self.page.extend_from_slice(row.get_ref(0)?.as_blob().unwrap_or_default()),
            None => return self.unsound("is missing"),
        }
        let header =
            self.page.get(2..HEADER).map(|bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
        let Some(footer) = header.filter(|footer| (HEADER..=self.page.len()).contains(footer)) else {
            return self.unsound("cannot be read");
        };
        (self.at, self.footer) = (HEADER, footer);
        self.terms.clear();
        let mut offsets = &self.page[footer..];
        let mut term = 0;
        while !offsets.is_empty() {
            let Some((step, rest)) = varint(offsets) else { return self.unsound("cannot be read") };
            offsets = rest;
            term += usize::try_from(step).ok().filter(|step| (1..footer).contains(step)).unwrap_or(footer);
            if !(HEADER..footer).contains(&term) {
                return self.unsound("cannot be read");
            }
            self.terms.push(term);
        }
        self.terms.reverse();
        Ok(true)
    }

    /// Goes to the next term, behind the last document of this one; `term` is empty if there is none.
    pub fn next_term(&mut self) -> Result<()> {
        let Some(start) = self.terms.last().copied() else {
            self.check_skip_list()?;
            self.term.clear();
            return Ok(());
        };
        self.nothing_left_out()?;
        self.begun = true;
        if start != self.at {
            return self.unsound("has something between two terms");
        }
        if self.term_page != self.number {
            self.check_skip_list()?;
        }
        self.terms.pop();
        let first = self.term_page != self.number;
        let kept = if first { 0 } else { self.take_number()? };
        let length = self.take_number()?;
        let new = self.bytes(length)?;
        let Some(kept) = usize::try_from(kept).ok().filter(|kept| *kept <= self.term.len()) else {
            return self.unsound("cannot be read");
        };
        let grows = self.page[new.clone()] > self.term[kept..];
        let before = first.then(|| self.term.clone());
        self.term.truncate(kept);
        self.term.extend_from_slice(&self.page[new]);
        if !grows || self.term.is_empty() {
            return self.unsound("has terms out of order");
        }
        if let Some(before) = before {
            self.check_note(&before)?;
        }
        self.term_page = self.number;
        self.continued.clear();
        self.rowid = 0;
        if !self.next_document()? {
            return self.unsound("has a term without documents");
        }
        Ok(())
    }

    /// Goes to the next document of the current term; tells whether there is one.
    pub fn next_document(&mut self) -> Result<bool> {
        if self.at == self.end() {
            if !self.terms.is_empty() || !self.next_page()? {
                return Ok(false);
            }
            if self.terms.last() == Some(&HEADER) {
                return Ok(false);
            }
        }
        // The first of a page is written whole, others as what is added to the one before.
        let goes_on = !std::mem::replace(&mut self.begun, true);
        if goes_on && self.first_rowid_offset() != self.at {
            return self.unsound("does not go on where the page before ends");
        }
        let number = self.take_number()?;
        let rowid =
            if goes_on { i64::try_from(number).ok() } else { self.rowid.checked_add_unsigned(number) };
        let Some(rowid) = rowid.filter(|rowid| *rowid > self.rowid) else {
            return self.unsound("has documents out of order");
        };
        self.rowid = rowid;
        if goes_on {
            self.continued.push((self.number, rowid));
        }
        // The lowest bit says that the document was taken out before.
        let mut left = self.take_number()? / 2;
        self.positions.clear();
        loop {
            let here = left.min((self.end() - self.at) as u64);
            let bytes = self.bytes(here)?;
            self.positions.extend_from_slice(&self.page[bytes]);
            left -= here;
            if left == 0 {
                break;
            }
            if !self.terms.is_empty() || !self.next_page()? {
                return self.unsound("ends within a document");
            }
        }
        Ok(true)
    }

    /// Holds the note for this page against its first term, and the last term before it.
    fn check_note(&mut self, before: &[u8]) -> Result<()> {
        let Some(note) = self.notes.get(&self.number) else { return self.unsound("is not noted") };
        // Page 1 is found by the empty term; of another, enough of its first term is noted to tell it from all before
        // it. A segment that is being merged loses its first pages, and the one that is first now may begin later than
        // noted. A lookup that meets the note of a lost page goes to the first one left.
        let fits = match self.number {
            1 => note.term.is_empty(),
            page if page == self.segment.first => {
                let mut lost = self.notes.iter().filter(|(lost, _)| **lost < page);
                note.term <= self.term && lost.all(|(_, lost)| lost.term <= note.term)
            }
            _ => self.term.starts_with(&note.term) && *note.term > *before,
        };
        if fits { Ok(()) } else { self.unsound("is noted under another term than it begins with") }
    }

    /// Holds the skip list of the current term, if there is one, against the pages that its documents went on to.
    fn check_skip_list(&mut self) -> Result<()> {
        if self.term_page == 0 {
            return Ok(());
        }
        // Pages between two that begin terms have no notes.
        let behind = (self.term_page + 1..self.number)
            .chain((self.terms.is_empty() && self.number > self.term_page).then_some(self.number));
        for page in behind {
            if self.notes.contains_key(&page) {
                return unsound(format!("a term is noted for page {page}, which begins none"));
            }
        }
        let noted = self.notes.get(&self.term_page).is_some_and(|note| note.skip_list);
        let wrong =
            format!("the skip list of page {} of segment {} is wrong", self.term_page, self.segment.id);
        if noted != self.skip_page(0, self.term_page)?.is_some() {
            return unsound(wrong);
        }
        if !noted {
            return Ok(());
        }
        // The highest level is the first whose leftmost page says so.
        let mut level = 0;
        while self.skip_page(level, self.term_page)?.and_then(|page| page.first().map(|flags| flags & 1 == 1))
            == Some(true)
        {
            level += 1;
            if level == MOST_LEVELS {
                return unsound(wrong);
            }
        }
        let mut pages = vec![(self.term_page, None)];
        for level in (0..=level).rev() {
            let mut below = Vec::new();
            for (page, first) in pages {
                let listed = self.skip_page(level, page)?.and_then(|page| listed(&page));
                let Some(listed) = listed.filter(|listed| first.is_none_or(|first| listed[0].1 == first))
                else {
                    return unsound(wrong);
                };
                below.extend(listed.into_iter().map(|(page, rowid)| (page, Some(rowid))));
                if below.len() > self.continued.len() {
                    return unsound(wrong);
                }
            }
            pages = below;
        }
        let same = pages.len() == self.continued.len()
            && pages
                .iter()
                .zip(&self.continued)
                .all(|(listed, seen)| (listed.0, listed.1) == (seen.0, Some(seen.1)));
        if same { Ok(()) } else { unsound(wrong) }
    }

    fn skip_page(&self, level: u32, page: i64) -> Result<Option<Vec<u8>>> {
        let id = self.id(page) | SKIP_LIST | i64::from(level) << LEVEL_SHIFT;
        Ok(super::record(self.connection, self.index, id).optional()?)
    }
}

/// The pages that a page of a skip list names, each with the first row id there; at least one.
fn listed(page: &[u8]) -> Option<Vec<(i64, i64)>> {
    let (first, rest) = varint(page.get(1..)?)?;
    let (rowid, mut rest) = varint(rest)?;
    let (mut number, mut rowid) = (i64::try_from(first).ok()?, i64::try_from(rowid).ok()?);
    let mut listed = vec![(number, rowid)];
    while let Some(byte) = rest.first() {
        number = number.checked_add(1)?;
        // A zero stands for a page on which no document begins.
        if *byte == 0 {
            rest = &rest[1..];
            continue;
        }
        let (step, after) = varint(rest)?;
        rest = after;
        rowid = rowid.checked_add_unsigned(step)?;
        listed.push((number, rowid));
    }
    Some(listed)
}

fn notes(connection: &Connection, index: &Index, segment: i64) -> Result<HashMap<i64, Note>> {
    let sql = format!("SELECT pgno, term FROM {}_idx WHERE segid = ?1", index.table);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([segment])?;
    let mut notes = HashMap::new();
    while let Some(row) = rows.next()? {
        let page: i64 = row.get(0)?;
        let Ok(term) = row.get_ref(1)?.as_blob() else {
            return unsound(format!("a note of segment {segment} is no term"));
        };
        let note = Note { term: term.to_vec(), skip_list: page & 1 == 1 };
        if notes.insert(page >> 1, note).is_some() {
            return unsound(format!("page {} of segment {segment} is noted twice", page >> 1));
        }
    }
    Ok(notes)
}
