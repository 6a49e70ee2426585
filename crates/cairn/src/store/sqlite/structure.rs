//! SQLite's own structures: every b-tree, every index beside its table, and the schema.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::schema::{self, Object};
use crate::store::{Cause, Finding, Reason};

/// How many problems SQLite lists. One damaged index can give thousands, which become one finding.
const MOST: u32 = 10_000;

/// Tables whose row ids are positions in the log.
const BY_PLACE: [&str; 5] = ["entry", "thought", "event", "brief", "review"];

/// Lets SQLite check its b-trees, its indexes beside their tables, and the types of values; gives one finding for each
/// table or index.
pub fn check(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let mut problems: BTreeMap<Option<String>, (String, u64)> = BTreeMap::new();
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MOST})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let said = row.get_ref(0)?.as_str().unwrap_or("SQLite found damage that it cannot name");
        for problem in said.lines().filter(|line| !is_heading(line)) {
            let about = about(connection, problem)?;
            let names = |text: &str| about.as_ref().is_some_and(|name| text.contains(name.as_str()));
            let better = names(problem);
            let (first, count) = problems.entry(about.clone()).or_insert_with(|| (problem.to_string(), 0));
            *count += 1;
            // A problem with its keys tells more than the number of a damaged page.
            if better && !names(first) {
                *first = problem.to_string();
            }
        }
    }
    // A problem that SQLite does not name comes with those that it does.
    if problems.len() > 1 {
        problems.remove(&None);
    }
    for (about, (problem, count)) in problems {
        visit(finding(about.as_deref(), &problem, count));
    }
    partial_indexes(connection, visit)
}

/// Indexes of some rows of a table: index, table, its columns, and which rows.
const PARTIAL: [(&str, &str, &str, &str); 3] = [
    ("thought_context", "thought", "context_id", "context_id IS NOT NULL"),
    ("thought_idempotency_key", "thought", "idempotency_key", "idempotency_key IS NOT NULL"),
    ("event_idempotency_key", "event", "idempotency_key", "idempotency_key IS NOT NULL"),
];

/// Looks up each key of a partial index in its table. SQLite makes sure that such an index lacks no row; it does not count
/// its keys, so one too many would be passed over.
fn partial_indexes(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    for (index, table, column, which) in PARTIAL {
        let sql = format!(
            "SELECT count(*) - count(DISTINCT rowid), count(*) FILTER (WHERE NOT EXISTS (
               SELECT 1 FROM {table} t NOT INDEXED WHERE t.rowid = i.rowid AND t.{column} IS i.{column}))
             FROM {table} i INDEXED BY {index} WHERE {which}"
        );
        let count =
            connection.query_row(&sql, [], |row| Ok(row.get::<_, u64>(0)? + row.get::<_, u64>(1)?))?;
        if count > 0 {
            visit(finding(Some(index), "it holds keys that no row of the table has", count));
        }
    }
    Ok(())
}

/// SQLite says that all is well, or in which database it found what follows.
fn is_heading(line: &str) -> bool {
    line.is_empty() || line == "ok" || line.starts_with("*** in database")
}

/// The table or index that a problem is in, as far as SQLite names it.
fn about(connection: &Connection, problem: &str) -> rusqlite::Result<Option<String>> {
    // "Tree 9 page 12 cell 3: Rowid 5 out of order", "Fragmentation of 8 bytes reported as 0 on page 9"
    let place = problem.strip_prefix("Tree ").or(problem.rsplit_once(" on page ").map(|(_, page)| page));
    if let Some(root) = place.and_then(first_number) {
        let sql = "SELECT name FROM sqlite_schema WHERE rootpage = ?1";
        let name = connection.prepare_cached(sql)?.query_row([root], |row| row.get(0)).optional();
        return Ok(name.unwrap_or_default());
    }
    // "row 3 missing from index sqlite_autoindex_thought_1", "NULL value in thought.id", "… FTS5 table main.search"
    let last = problem.split(": ").next().and_then(|said| said.split_whitespace().last()).unwrap_or_default();
    let last = last.strip_prefix("main.").unwrap_or(last);
    let name = last.split('.').next().unwrap_or_default();
    Ok((schema::table_of(name) != "database").then(|| name.to_string()))
}

fn first_number(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn finding(about: Option<&str>, problem: &str, count: u64) -> Finding {
    let table = about.map_or("database", schema::table_of);
    let what = match about {
        Some(name) if name == table => format!("table `{table}` is damaged"),
        // The tables that FTS5 keeps a search index in.
        Some(name) if table.contains("search") => format!("table `{name}` is damaged"),
        Some(name) => format!("index `{name}` does not match table `{table}`"),
        None => "the database file is damaged".to_string(),
    };
    let more = match count {
        1 => String::new(),
        2 => " (and 1 more problem there)".to_string(),
        _ => format!(" (and {} more problems there)", count - 1),
    };
    let finding = Finding::new(Reason::IndexMismatch, table, format!("{what}: {problem}{more}"));
    let row = problem.strip_prefix("row ").and_then(first_number).and_then(|row| u64::try_from(row).ok());
    match row.filter(|_| count == 1 && BY_PLACE.contains(&table)) {
        // If the row itself was changed, its own finding says so.
        Some(row) => finding.at(row).unless(Cause::Entry(row)),
        // A search index is compared with the texts as well.
        None if problem.contains("FTS5 table") => finding.unless(Cause::Table(table)),
        None => finding,
    }
}

/// Compares every row of the schema with those that this program makes, and what the file's head says of it.
pub fn schema(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let mut report = |message: String, field: &str, expected: &str, actual: &str| {
        let finding = Finding::new(Reason::IndexMismatch, "sqlite_schema", message);
        visit(finding.field(field, expected, actual));
    };
    let mut found = schema::objects(connection)?;
    let mut changed = Vec::new();
    for object in schema::expected()? {
        match found.iter().position(|other| *other == object) {
            Some(same) => drop(found.swap_remove(same)),
            None => changed.push(object),
        }
    }
    for object in changed {
        let Object { kind, name, .. } = &object;
        match found.iter().position(|other| (&other.kind, &other.name) == (kind, name)) {
            None => report(
                format!("the {kind} {name} is missing from the schema"),
                "sql",
                sql(&object),
                "nothing",
            ),
            Some(other) => {
                let other = found.swap_remove(other);
                let (field, expected, actual) = difference(&object, &other);
                report(format!("the {kind} {name} was changed in the schema"), field, expected, actual);
            }
        }
    }
    for object in found.iter().filter(|object| !schema::is_statistics(object)) {
        let Object { kind, name, .. } = object;
        report(format!("the {kind} {name} does not belong to the schema"), "sql", "nothing", sql(object));
    }
    let numbers = [("application_id", i64::from(schema::APPLICATION_ID)), ("user_version", schema::VERSION)];
    for (pragma, expected) in numbers {
        let actual: i64 = connection.pragma_query_value(None, pragma, |row| row.get(0))?;
        if actual != expected {
            let message = format!("{pragma} of the file is {actual}, not {expected}");
            report(message, pragma, &expected.to_string(), &actual.to_string());
        }
    }
    let encoding: String = connection.pragma_query_value(None, "encoding", |row| row.get(0))?;
    if encoding != "UTF-8" {
        report(
            format!("the file holds its texts in {encoding}, not in UTF-8"),
            "encoding",
            "UTF-8",
            &encoding,
        );
    }
    Ok(())
}

fn sql(object: &Object) -> &str {
    object.sql.as_deref().unwrap_or("no text")
}

fn difference<'o>(expected: &'o Object, actual: &'o Object) -> (&'static str, &'o str, &'o str) {
    if expected.table != actual.table {
        ("tbl_name", &expected.table, &actual.table)
    } else if expected.sql != actual.sql {
        ("sql", sql(expected), sql(actual))
    } else {
        let root = |object: &Object| if object.rooted { "a page" } else { "none" };
        ("rootpage", root(expected), root(actual))
    }
}
