//! All segments of an index as one: every word in every document, as a search sees them.

use rusqlite::Connection;

use super::segment::{Cursor, no_stray_pages, segments};
use super::{Flaw, Index, structure, unsound};

/// Visits every word of the index: its bytes, the document, and where it stands in there.
pub fn each_word(
    connection: &Connection,
    index: &Index,
    mut visit: impl FnMut(&[u8], i64, &[u8]) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    let Some(segments) = segments(&structure(connection, index)?) else {
        return unsound("the list of segments cannot be read");
    };
    no_stray_pages(connection, index, &segments)?;
    let mut cursors = Vec::with_capacity(segments.len());
    for segment in segments {
        cursors.push(Cursor::open(connection, index, segment)?);
    }
    let mut term = Vec::new();
    loop {
        term.clear();
        let smallest = cursors.iter().map(|cursor| &cursor.term).filter(|term| !term.is_empty()).min();
        match smallest {
            Some(smallest) => term.extend_from_slice(smallest),
            None => return Ok(()),
        }
        let mut here: Vec<&mut Cursor<'_>> =
            cursors.iter_mut().filter(|cursor| cursor.term == term).collect();
        // In the order of the segments, so that the newest of several is the first.
        while let Some(rowid) = here.iter().map(|cursor| cursor.rowid).min() {
            let mut newest = true;
            let mut ended = false;
            for cursor in here.iter_mut().filter(|cursor| cursor.rowid == rowid) {
                if std::mem::take(&mut newest) && !cursor.positions.is_empty() {
                    visit(&term, rowid, &cursor.positions)?;
                }
                if !cursor.next_document()? {
                    cursor.next_term()?;
                    ended = true;
                }
            }
            if ended {
                here.retain(|cursor| cursor.term == term);
            }
        }
    }
}
