//! Our two full-text indexes, and the tables that FTS5 keeps them in, read without FTS5.
//!
//! FTS5 checks itself that its index holds the right words, but walks it from end to end to do so. A lookup
//! takes short cuts: the segment list, the first term of each page (`…_idx`), the skip lists. A change
//! there would hide matches from a search and pass FTS5's own check, so it is found here. The layout is
//! documented at the head of SQLite's `fts5_index.c` and stable as part of its file format.

use std::collections::HashMap;

use cairn_core::Sha;
use rusqlite::Connection;

/// A full-text index.
pub struct Index {
    /// The virtual table.
    pub table: &'static str,
    /// What it indexes.
    pub source: &'static str,
    /// The row id of that.
    pub rowid: &'static str,
    /// The columns of both.
    pub columns: &'static str,
    /// The column of `derived` that holds the hash of its list of segments.
    pub noted: &'static str,
    /// What it holds, in words.
    pub what: &'static str,
}

/// Thoughts.
pub const SEARCH: Index = Index {
    table: "search",
    source: "search_source",
    rowid: "seq",
    columns: "content, metadata, scope",
    noted: "segments",
    what: "thoughts",
};

/// Nodes of the current plans.
pub const RAG_SEARCH: Index = Index {
    table: "rag_search",
    source: "rag_source",
    rowid: "no",
    columns: "id, label, scope, phase",
    noted: "rag_segments",
    what: "nodes",
};

/// Notes what an index says of its own parts, so that a change of it is seen.
pub fn note_parts(connection: &Connection, index: &Index) -> rusqlite::Result<()> {
    let Index { table, noted, .. } = index;
    // FTS5 holds its newest words in memory until it has to write them; reading makes it.
    connection.prepare_cached(&format!("INSERT INTO {table} ({table}) VALUES ('flush')"))?.execute([])?;
    let parts = Sha::of(&structure(connection, index)?);
    connection.prepare_cached(&format!("UPDATE derived SET {noted} = ?1"))?.execute([parts.0]).map(drop)
}

/// Bits of a row id of `…_data` below the segment's number.
const SEGMENT_SHIFT: u32 = 37;
/// Set in the row id of a page of a skip list.
const SKIP_LIST: i64 = 1 << 36;
const PAGE_MASK: i64 = (1 << 31) - 1;
/// Row ids of the two records that are not pages: totals, and the list of segments.
const TOTALS: i64 = 1;
const SEGMENTS: i64 = 10;

struct Segment {
    id: i64,
    first: i64,
    last: i64,
}

/// Whether the short cuts of the index agree with its pages; if not, says how.
pub fn short_cuts(connection: &Connection, index: &Index) -> rusqlite::Result<Result<(), String>> {
    let segments = match segments(&structure(connection, index)?) {
        Some(segments) => segments,
        None => return Ok(Err("the list of segments cannot be read".to_string())),
    };
    if let Err(message) = no_stray_pages(connection, index, &segments)? {
        return Ok(Err(message));
    }
    for segment in &segments {
        if let Err(message) = segment_agrees(connection, index, segment)? {
            return Ok(Err(format!("segment {}: {message}", segment.id)));
        }
    }
    Ok(Ok(()))
}

/// The record that lists the segments.
pub fn structure(connection: &Connection, index: &Index) -> rusqlite::Result<Vec<u8>> {
    connection
        .prepare_cached(&format!("SELECT block FROM {}_data WHERE id = ?1", index.table))?
        .query_row([SEGMENTS], |row| row.get(0))
}

fn segments(record: &[u8]) -> Option<Vec<Segment>> {
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
        for _ in 0..on_level {
            segments.push(Segment { id: number()?, first: number()?, last: number()? });
        }
    }
    (segments.len() as i64 == count && rest.is_empty()).then_some(segments)
}

fn no_stray_pages(
    connection: &Connection,
    index: &Index,
    segments: &[Segment],
) -> rusqlite::Result<Result<(), String>> {
    let mut by_segment: HashMap<i64, &Segment> = HashMap::new();
    for segment in segments {
        by_segment.insert(segment.id, segment);
    }
    let mut pages =
        connection.prepare(&format!("SELECT id FROM {}_data WHERE id NOT IN (?1, ?2)", index.table))?;
    let mut rows = pages.query([TOTALS, SEGMENTS])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let page = id & PAGE_MASK;
        let known = by_segment.get(&(id >> SEGMENT_SHIFT)).is_some_and(|segment| {
            // The skip lists of pages that were merged away stay until the whole segment is, as their notes do.
            let first = if id & SKIP_LIST == 0 { segment.first } else { 1 };
            (first..=segment.last).contains(&page)
        });
        if !known {
            return Ok(Err(format!("page {id} belongs to no segment")));
        }
    }
    let mut stray = connection.prepare(&format!("SELECT DISTINCT segid FROM {}_idx", index.table))?;
    let mut rows = stray.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if !by_segment.contains_key(&id) {
            return Ok(Err(format!("segment {id} is not listed")));
        }
    }
    Ok(Ok(()))
}

/// Walks the pages of a segment beside the first terms noted for them.
fn segment_agrees(
    connection: &Connection,
    index: &Index,
    segment: &Segment,
) -> rusqlite::Result<Result<(), String>> {
    let mut noted: HashMap<i64, (Vec<u8>, bool)> = connection
        .prepare_cached(&format!("SELECT pgno, term FROM {}_idx WHERE segid = ?1", index.table))?
        .query_map([segment.id], |row| {
            let (page, term): (i64, rusqlite::types::Value) = (row.get(0)?, row.get(1)?);
            let term = match term {
                rusqlite::types::Value::Blob(term) => term,
                rusqlite::types::Value::Text(term) => term.into_bytes(),
                _ => Vec::new(),
            };
            Ok((page >> 1, (term, page & 1 == 1)))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let base = segment.id << SEGMENT_SHIFT;
    let mut has_skip_list =
        connection.prepare_cached(&format!("SELECT 1 FROM {}_data WHERE id = ?1", index.table))?;
    let mut pages = connection.prepare_cached(&format!(
        "SELECT id, block FROM {}_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
        index.table
    ))?;
    let mut rows = pages.query([base | segment.first, base | segment.last])?;
    let mut previous = Vec::new();
    let mut expected = segment.first;
    while let Some(row) = rows.next()? {
        let page = row.get::<_, i64>(0)? & PAGE_MASK;
        if page != expected {
            return Ok(Err(format!("page {expected} is missing")));
        }
        expected += 1;
        let Some(terms) = first_and_last_term(row.get_ref(1)?.as_blob().unwrap_or_default()) else {
            return Ok(Err(format!("page {page} cannot be read")));
        };
        match (terms, noted.remove(&page)) {
            (None, None) => {}
            (Some((first, last)), Some((term, skip_list))) => {
                // Page 1 is found by the empty term; of another, enough of its first term is noted to tell it
                // from all before it. A segment that is being merged loses its first pages, and the one that
                // is first now may begin later than noted.
                let fits = match page {
                    1 => term.is_empty(),
                    _ if page == segment.first => term <= first,
                    _ => first.starts_with(&term) && term > previous,
                };
                if !fits {
                    return Ok(Err(format!("page {page} is noted under another term than it begins with")));
                }
                if skip_list != has_skip_list.exists([base | SKIP_LIST | page])? {
                    return Ok(Err(format!("the skip list of page {page} is not noted as it is")));
                }
                previous = last;
            }
            (Some(_), None) => return Ok(Err(format!("no term is noted for page {page}"))),
            (None, Some(_)) => return Ok(Err(format!("a term is noted for page {page}, which begins none"))),
        }
    }
    if expected != segment.last + 1 {
        return Ok(Err(format!("page {expected} is missing")));
    }
    // The notes of pages that were merged away stay until the whole segment is.
    Ok(match noted.keys().find(|page| **page >= segment.first || **page < 1) {
        Some(page) => Err(format!("a term is noted for page {page}, which is not there")),
        None => Ok(()),
    })
}

/// The first and the last term that begin on a leaf page, none if it only continues an earlier one; `None`
/// outside if the page cannot be read.
fn first_and_last_term(page: &[u8]) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
    let footer = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let mut offsets = page.get(footer..)?;
    let mut at = 0;
    let mut terms: Option<(Vec<u8>, Vec<u8>)> = None;
    while !offsets.is_empty() {
        let (step, after) = varint(offsets)?;
        offsets = after;
        at += usize::try_from(step).ok()?;
        let mut bytes = page.get(at..footer)?;
        let mut term = Vec::new();
        if let Some((_, last)) = &terms {
            let (kept, after) = varint(bytes)?;
            term.extend_from_slice(last.get(..usize::try_from(kept).ok()?)?);
            bytes = after;
        }
        let (length, after) = varint(bytes)?;
        term.extend_from_slice(after.get(..usize::try_from(length).ok()?)?);
        terms = Some(match terms {
            None => (term.clone(), term),
            Some((first, _)) => (first, term),
        });
    }
    Some(terms)
}

/// SQLite's variable-length integers: seven bits a byte, the ninth byte whole.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value: u64 = 0;
    for (index, byte) in bytes.iter().enumerate().take(9) {
        if index == 8 {
            return Some((value << 8 | u64::from(*byte), &bytes[9..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE VIRTUAL TABLE search USING fts5 (content)").unwrap();
        connection
    }

    /// Many small transactions make FTS5 merge its segments step by step, with pages of half-merged ones
    /// trimmed away: none of that may raise an alarm.
    #[test]
    fn an_index_in_the_middle_of_merging_is_sound() {
        let connection = index();
        let mut seed: u64 = 7;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for round in 0..400 {
            connection.execute_batch("BEGIN").unwrap();
            for _ in 0..random(60) {
                let words: Vec<String> = (0..40).map(|_| format!("w{}", random(20_000))).collect();
                let text = format!("common {}", words.join(" "));
                connection.execute("INSERT INTO search (content) VALUES (?1)", [text]).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            assert_eq!(short_cuts(&connection, &SEARCH).unwrap(), Ok(()), "round {round}");
        }
        let segments = segments(&structure(&connection, &SEARCH).unwrap()).unwrap();
        assert!(
            segments.len() > 2 && segments.iter().any(|s| s.last > 50),
            "the index is large enough to tell"
        );
        connection.execute("INSERT INTO search (search) VALUES ('optimize')", []).unwrap();
        assert_eq!(short_cuts(&connection, &SEARCH).unwrap(), Ok(()));
    }

    /// Words that stand in every text have skip lists, which outlive the pages they are for.
    #[test]
    fn the_skip_lists_of_pages_that_were_merged_away_are_sound() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE VIRTUAL TABLE search USING fts5 (content, metadata, scope)")
            .unwrap();
        let mut outlived = false;
        for round in 0..6 {
            connection.execute_batch("BEGIN").unwrap();
            for n in round * 4096..(round + 1) * 4096 {
                let (content, scope) = (format!("thought {n}"), format!("s{} t{} kplan", n % 7, n % 50));
                connection.execute("INSERT INTO search VALUES (?1, NULL, ?2)", [content, scope]).unwrap();
            }
            connection.execute_batch("COMMIT").unwrap();
            assert_eq!(short_cuts(&connection, &SEARCH).unwrap(), Ok(()), "round {round}");
            for segment in segments(&structure(&connection, &SEARCH).unwrap()).unwrap() {
                let list = segment.id << SEGMENT_SHIFT | SKIP_LIST;
                let sql = "SELECT count(*) FROM search_data WHERE id > ?1 AND id < ?2";
                let lists: i64 =
                    connection.query_row(sql, [list, list | segment.first], |row| row.get(0)).unwrap();
                outlived |= lists > 0;
            }
        }
        assert!(outlived, "a skip list is left of pages that were merged away");
    }

    #[test]
    fn a_term_noted_too_low_is_found() {
        let connection = index();
        for i in 0..3000 {
            connection
                .execute("INSERT INTO search (content) VALUES (?1)", [format!("word{i} other{}", i * 7)])
                .unwrap();
        }
        connection.execute("INSERT INTO search (search) VALUES ('optimize')", []).unwrap();
        assert_eq!(short_cuts(&connection, &SEARCH).unwrap(), Ok(()));
        // FTS5's own check accepts this, and a search would no longer find terms of the page before.
        let changed = connection
            .execute("UPDATE search_idx SET term = x'30' WHERE pgno = (SELECT max(pgno) FROM search_idx)", [])
            .unwrap();
        assert_eq!(changed, 1);
        assert!(short_cuts(&connection, &SEARCH).unwrap().is_err());
    }

    #[test]
    fn varints_are_those_of_sqlite() {
        for (bytes, value) in [
            (&[0x00][..], 0),
            (&[0x7f], 127),
            (&[0x81, 0x00], 128),
            (&[0xff; 9], u64::MAX),
            (&[0x80; 9], 0x80),
        ] {
            assert_eq!(varint(bytes), Some((value, &[][..])));
        }
        assert_eq!(varint(&[0x80]), None);
        assert_eq!(varint(&[]), None);
    }
}
