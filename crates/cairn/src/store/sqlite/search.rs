//! Full-text search with FTS5.

use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use crate::store::{
    FoundThought, MATCH_END, MATCH_START, Result, SearchReader, SearchScope, Term, Terms, passage,
};

/// The words as FTS5 wants them, wherever they stand.
fn of_words(terms: &Terms) -> String {
    format!("{{content metadata}} : ({})", wanted(terms))
}

/// The words and the scope; none if the scope names a label that does not exist.
///
/// Every word is quoted, so nothing in it can be taken for FTS5's own syntax.
fn expression(
    connection: &Connection,
    terms: &Terms,
    scope: &SearchScope<'_>,
) -> rusqlite::Result<Option<String>> {
    let mut expression = of_words(terms);
    let numbered = [
        ('s', "SELECT no FROM session WHERE name = ?1", scope.session_id),
        ('t', "SELECT no FROM task WHERE name = ?1", scope.task_id),
    ];
    for (letter, sql, name) in numbered {
        if let Some(name) = name {
            let no: Option<i64> =
                connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
            let Some(no) = no else { return Ok(None) };
            expression = format!("(scope : \"{letter}{no}\") AND ({expression})");
        }
    }
    if let Some(kind) = scope.kind {
        expression = format!("(scope : \"k{kind}\") AND ({expression})");
    }
    for term in &terms.unwanted {
        expression = format!("({expression}) NOT ({{content metadata}} : {})", quote(term));
    }
    Ok(Some(expression))
}

/// The words as FTS5 wants them, in any column.
pub fn any_of(terms: &Terms) -> String {
    let mut expression = format!("({})", wanted(terms));
    for term in &terms.unwanted {
        expression = format!("({expression}) NOT ({})", quote(term));
    }
    expression
}

fn wanted(terms: &Terms) -> String {
    let group = |alternatives: &Vec<Term>| {
        let alternatives: Vec<String> = alternatives.iter().map(quote).collect();
        format!("({})", alternatives.join(" OR "))
    };
    terms.wanted.iter().map(group).collect::<Vec<_>>().join(" AND ")
}

fn quote(term: &Term) -> String {
    format!("\"{}\"{}", term.text.replace('"', "\"\""), if term.prefix { "*" } else { "" })
}

impl SearchReader for SqliteStore {
    fn derived_through(&self) -> Result<u64> {
        self.read(|connection| {
            connection.prepare_cached("SELECT through FROM derived")?.query_row([], |row| row.get(0))
        })
    }

    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<FoundThought>, bool)> {
        self.read(|connection| {
            let Some(expression) = expression(connection, terms, scope)? else {
                return Ok((Vec::new(), false));
            };
            // BM25 of every match takes seconds when a word stands in a million thoughts; newest first takes no time.
            let oldest: Option<i64> = connection
                .prepare_cached(
                    "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2",
                )?
                .query_row(params![expression, newest as i64], |row| row.get(0))
                .optional()?;
            let mut statement = connection.prepare_cached(
                "SELECT rowid, bm25(search, 1.0, 0.5, 0.0) FROM search
                 WHERE search MATCH ?1 AND rowid > ?2 ORDER BY bm25(search, 1.0, 0.5, 0.0), rowid DESC LIMIT ?3",
            )?;
            let found: Vec<(u64, f64)> = statement
                .query_map(params![expression, oldest.unwrap_or(-1), limit as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?
                .collect::<rusqlite::Result<_>>()?;
            // Asked for the words alone: where the scope is narrow, the words for it would make the best passage.
            let mut passages = connection.prepare_cached(
                "SELECT snippet(search, -1, ?3, ?4, '…', 24) FROM search WHERE search MATCH ?1 AND rowid = ?2",
            )?;
            let (words, marks) = (of_words(terms), [MATCH_START, MATCH_END].map(String::from));
            let mut hits = Vec::with_capacity(found.len());
            for (seq, rank) in found {
                let snippet: Option<String> = passages
                    .query_row(params![words, seq, marks[0], marks[1]], |row| row.get(0))
                    .optional()?
                    .flatten();
                hits.push(FoundThought { seq, rank, snippet: passage(snippet.unwrap_or_default()) });
            }
            Ok((hits, oldest.is_some()))
        })
    }
}
