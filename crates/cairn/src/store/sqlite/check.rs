//! Checks that are best asked of SQLite itself: heads against rows, the schema, the search index.

use cairn_core::Sha;
use rusqlite::{Connection, OptionalExtension, Row};

use super::{fts5, schema};
use crate::verify::{Finding, Reason};

/// Compares the stored head of every task and session with its newest thought.
pub fn heads(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let mut tasks = connection.prepare(
        "SELECT * FROM (
           SELECT name, length, (SELECT count(*) FROM thought WHERE task_no = no) AS counted, head,
             (SELECT hash FROM thought WHERE task_no = no AND position = length - 1) AS newest FROM task)
         WHERE length IS NOT counted OR head IS NOT newest",
    )?;
    let mut rows = tasks.query([])?;
    while let Some(row) = rows.next()? {
        length_differs(row, "task", visit)?;
        let (head, newest) = (hash(row, 3)?, hash(row, 4)?);
        if head != newest {
            let name: String = row.get(0)?;
            visit(
                Finding::new(
                    Reason::IndexMismatch,
                    "task",
                    format!("the head of task `{name}` is not its newest thought"),
                )
                .field("head", newest, head),
            );
        }
    }
    let mut sessions = connection.prepare(
        "SELECT * FROM (
           SELECT name, length, (SELECT count(*) FROM thought WHERE session_no = no) AS counted FROM session)
         WHERE length IS NOT counted OR length = 0",
    )?;
    let mut rows = sessions.query([])?;
    while let Some(row) = rows.next()? {
        length_differs(row, "session", visit)?;
    }
    Ok(())
}

fn length_differs(
    row: &Row<'_>,
    table: &'static str,
    visit: &mut dyn FnMut(Finding),
) -> rusqlite::Result<()> {
    let (name, length, counted): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
    if length != counted || length == 0 {
        let message = format!("{table} `{name}` should have {length} thoughts and has {counted}");
        let reason = if counted < length { Reason::MissingRecord } else { Reason::IndexMismatch };
        visit(Finding::new(reason, table, message).field("length", counted, length));
    }
    Ok(())
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(column)?.as_blob_or_null().unwrap_or(Some(&[]));
    Ok(match bytes.map(<[u8; 32]>::try_from) {
        Some(Ok(hash)) => Sha(hash).to_string(),
        Some(Err(_)) => "not a hash".to_string(),
        None => "nothing".to_string(),
    })
}

/// Compares tables, indexes, views and triggers with those that this program makes.
pub fn schema(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let expected = schema::expected()?;
    let found = schema::objects(connection)?;
    let mut report = |name: &str, message: String| {
        visit(Finding::new(Reason::IndexMismatch, "sqlite_schema", message).field(
            "sql",
            name,
            "another schema",
        ));
    };
    for (name, sql) in &expected {
        match found.iter().find(|(other, _)| other == name) {
            None => report(name, format!("the {name} is missing from the schema")),
            Some((_, other)) if other != sql => report(name, format!("the {name} was changed in the schema")),
            Some(_) => {}
        }
    }
    for (name, _) in found.iter().filter(|(name, _)| !expected.iter().any(|(other, _)| other == name)) {
        report(name, format!("the {name} does not belong to the schema"));
    }
    for (pragma, expected) in
        [("application_id", i64::from(schema::APPLICATION_ID)), ("user_version", schema::VERSION)]
    {
        let actual: i64 = connection.pragma_query_value(None, pragma, |row| row.get(0))?;
        if actual != expected {
            let message = format!("{pragma} is {actual}, not {expected}");
            visit(
                Finding::new(Reason::IndexMismatch, "sqlite_schema", message).field(pragma, expected, actual),
            );
        }
    }
    Ok(())
}

/// Compares the search index with the texts it covers.
///
/// FTS5 can do this itself, but only under a write lock, which would stop every recorder for as long as it
/// takes. So the index is copied into a temporary table beside the same rows, and checked there.
pub fn search_index(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let mut report = |message: String| {
        visit(Finding::new(Reason::IndexMismatch, "search", message));
    };
    let noted: Option<Vec<u8>> =
        connection.query_row("SELECT segments FROM derived", [], |row| row.get(0)).optional()?;
    let found = fts5::structure(connection).optional()?.map(|structure| Sha::of(&structure).0.to_vec());
    if noted.is_none() || noted != found {
        report("the search index has other parts than were noted when it was last written".to_string());
    } else if let Err(message) = fts5::short_cuts(connection)? {
        report(format!("the search index is not sound: {message}"));
    }
    let config: Vec<(String, i64)> = connection
        .prepare("SELECT k, v FROM search_config")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1).unwrap_or(-1))))?
        .collect::<rusqlite::Result<_>>()?;
    connection.execute_batch(
        "CREATE TEMP VIEW checked_source (seq, content, metadata, scope) AS SELECT * FROM main.search_source;
         CREATE VIRTUAL TABLE temp.checked USING fts5 (
           content, metadata, scope,
           content = 'checked_source', content_rowid = 'seq', tokenize = \"unicode61 remove_diacritics 2\"
         );",
    )?;
    let fresh: Vec<(String, i64)> = connection
        .prepare("SELECT k, v FROM temp.checked_config")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    if config != fresh {
        report("the configuration of the search index was changed".to_string());
    }
    connection.execute_batch(
        "DELETE FROM temp.checked_data; DELETE FROM temp.checked_docsize;
         INSERT INTO temp.checked_data SELECT * FROM main.search_data;
         INSERT INTO temp.checked_idx SELECT * FROM main.search_idx;
         INSERT INTO temp.checked_docsize SELECT * FROM main.search_docsize;",
    )?;
    let checked =
        connection.execute("INSERT INTO temp.checked (checked, rank) VALUES ('integrity-check', 1)", []);
    if let Err(error) = checked {
        let corrupt = error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt);
        if !corrupt {
            return Err(error);
        }
        report(
            "the search index does not match the thoughts it covers; `cairn doctor --rebuild` restores it"
                .into(),
        );
    }
    connection.execute_batch("DROP TABLE temp.checked; DROP VIEW temp.checked_source;")
}
