//! Checks of what is kept beside the log: heads of chains, documents of nodes, the search indexes.

use std::cell::Cell;

use cairn_core::Sha;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row};

use super::chains::{self, Chain};
use super::fts5::{self, Difference, Flaw};
use crate::store::{Cause, ChainKey, ChainSums, Finding, Reason};

/// The numbers that heads are made of.
const NUMBERS: [(&str, &str); 5] = [
    ("task", "length"),
    ("session", "length"),
    ("roadmap", "length"),
    ("memory", "length"),
    ("memory", "newest"),
];

/// Finds numbers that are stored as something else. To SQLite `'7'` is as much as 7 where it compares; whoever reads
/// the head of a chain cannot use it.
fn numbers(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<bool> {
    let mut sound = true;
    for (table, column) in NUMBERS {
        let sql = format!(
            "SELECT count(*), min(typeof({column})) FROM {table} WHERE typeof({column}) <> 'integer'"
        );
        let (rows, found): (i64, Option<String>) =
            connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if rows > 0 {
            sound = false;
            let message = format!("`{column}` is no number in {rows} of the rows of table {table}");
            let found = found.unwrap_or_default();
            visit(Finding::new(Reason::IndexMismatch, table, message).field(column, "integer", found));
        }
    }
    Ok(sound)
}

/// Compares the stored head of every task, session and roadmap with what belongs to it.
pub fn heads(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    if !numbers(connection, visit)? {
        return Ok(());
    }
    let mut tasks = connection.prepare(
        "WITH uncovered AS MATERIALIZED (
           SELECT task_no, count(*) AS thoughts, max(seq) AS newest FROM thought
           WHERE seq > (SELECT chained FROM derived) GROUP BY task_no)
         SELECT * FROM (
           SELECT name, length,
             (SELECT count(*) FROM task_thought c WHERE c.task_no = no) + coalesce(u.thoughts, 0) AS counted, head,
             (SELECT hash FROM thought WHERE position = length - 1 AND seq = coalesce(u.newest,
               (SELECT c.seq FROM task_thought c WHERE c.task_no = no AND c.position = length - 1))) AS newest
           FROM task LEFT JOIN uncovered u ON u.task_no = no)
         WHERE length IS NOT counted OR head IS NOT newest",
    )?;
    let mut rows = tasks.query([])?;
    while let Some(row) = rows.next()? {
        length_differs(row, "task", "thoughts", visit)?;
        let (head, newest) = (hash(row, 3)?, hash(row, 4)?);
        if head != newest {
            let name = label(row)?;
            visit(
                Finding::new(
                    Reason::IndexMismatch,
                    "task",
                    format!("the stored head of task `{name}` is not the hash of its newest thought"),
                )
                .field("head", newest, head)
                .unless(Cause::Of("task", name))
                .unless(Cause::Table("task_thought"))
                .unless(Cause::Index("task_thought"))
                .unless(Cause::Index("thought")),
            );
        }
    }
    let mut sessions = connection.prepare(
        "WITH uncovered AS MATERIALIZED (
           SELECT session_no, count(*) AS thoughts FROM thought
           WHERE seq > (SELECT chained FROM derived) GROUP BY session_no)
         SELECT * FROM (
           SELECT name, length,
             (SELECT count(*) FROM session_thought c WHERE c.session_no = no) + coalesce(u.thoughts, 0) AS counted,
             (SELECT count(*) FROM memory m WHERE m.session_no = no) AS remembered
           FROM session LEFT JOIN uncovered u ON u.session_no = no)
         WHERE length IS NOT counted OR (length = 0 AND remembered = 0)",
    )?;
    let mut rows = sessions.query([])?;
    while let Some(row) = rows.next()? {
        length_differs(row, "session", "thoughts", visit)?;
    }
    let mut roadmaps = connection.prepare(
        "SELECT * FROM (
           SELECT name, length, (SELECT count(*) FROM context WHERE roadmap_no = no) AS counted FROM roadmap)
         WHERE length IS NOT counted OR length = 0",
    )?;
    let mut rows = roadmaps.query([])?;
    while let Some(row) = rows.next()? {
        length_differs(row, "roadmap", "snapshots", visit)?;
    }
    let mut memories = connection.prepare(
        "SELECT * FROM (
           SELECT coalesce((SELECT name FROM session WHERE no = session_no), '?') AS name, length,
             (SELECT count(*) FROM event e WHERE e.session_no = m.session_no) AS counted, newest,
             (SELECT max(seq) FROM event e WHERE e.session_no = m.session_no) AS last FROM memory m)
         WHERE length IS NOT counted OR newest IS NOT last",
    )?;
    let mut rows = memories.query([])?;
    while let Some(row) = rows.next()? {
        let (name, length, counted): (String, i64, i64) = (label(row)?, row.get(1)?, row.get(2)?);
        let finding = if length == counted {
            let message = format!("another event than the last of session `{name}` is noted as its newest");
            let place = |column| -> rusqlite::Result<String> {
                Ok(row.get::<_, Option<i64>>(column)?.map_or("none".to_string(), |seq| seq.to_string()))
            };
            Finding::new(Reason::IndexMismatch, "memory", message).field("newest", place(4)?, place(3)?)
        } else {
            let message = format!("session `{name}` has {counted} events, and {length} are noted");
            let reason = if counted < length { Reason::MissingRecord } else { Reason::IndexMismatch };
            Finding::new(reason, "memory", message).field("length", counted, length)
        };
        visit(finding.unless(Cause::Of("session", name)).unless(Cause::Index("event")));
    }
    let unremembered: i64 = connection.query_row(
        "SELECT count(DISTINCT session_no) FROM event WHERE session_no NOT IN (SELECT session_no FROM memory)",
        [],
        |row| row.get(0),
    )?;
    if unremembered > 0 {
        let message = format!("{unremembered} sessions with events have no row in table `memory`");
        visit(Finding::new(Reason::IndexMismatch, "memory", message));
    }
    let unused: i64 = connection.query_row(
        "SELECT count(*) FROM snapshot WHERE no NOT IN (SELECT snapshot_no FROM context)",
        [],
        |row| row.get(0),
    )?;
    if unused > 0 {
        let rows = if unused == 1 {
            "1 row of table snapshot belongs"
        } else {
            &format!("{unused} rows of table snapshot belong")
        };
        let message = format!("{rows} to no entry of the log");
        visit(Finding::new(Reason::LeafMismatch, "snapshot", message));
    }
    Ok(())
}

fn length_differs(
    row: &Row<'_>,
    table: &'static str,
    what: &str,
    visit: &mut dyn FnMut(Finding),
) -> rusqlite::Result<()> {
    let (name, length, counted): (String, i64, i64) = (label(row)?, row.get(1)?, row.get(2)?);
    if length != counted || length == 0 {
        let message = match counted {
            0 if length == 0 => format!("{table} `{name}` is listed without any {what}"),
            _ => format!("{table} `{name}` has {counted} {what}, and {length} are noted"),
        };
        let reason = if counted < length { Reason::MissingRecord } else { Reason::IndexMismatch };
        let finding = Finding::new(reason, table, message).field("length", counted, length);
        let rows = match table {
            "task" => ["thought", "task_thought"],
            "session" => ["thought", "session_thought"],
            _ => ["context", "roadmap"],
        };
        let finding = rows.into_iter().fold(finding, |finding, rows| finding.unless(Cause::Index(rows)));
        visit(finding.unless(Cause::Of(table, name)).unless(Cause::Table(rows[1])));
    }
    Ok(())
}

/// The label of a row; one that is no text is found with the records that it stands for.
fn label(row: &Row<'_>) -> rusqlite::Result<String> {
    Ok(row.get_ref(0)?.as_str().unwrap_or("?").to_string())
}

fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    let bytes = row.get_ref(column)?.as_blob_or_null().unwrap_or(Some(&[]));
    Ok(match bytes.map(<[u8; 32]>::try_from) {
        Some(Ok(hash)) => Sha(hash).to_string(),
        Some(Err(_)) => "not a hash".to_string(),
        None => "nothing".to_string(),
    })
}

/// Sums over the tables of chains.
pub fn chain_sums(connection: &Connection, key: &ChainKey) -> rusqlite::Result<ChainSums> {
    let mut sums = ChainSums::default();
    for (Chain { table, owner, place, .. }, add) in [
        (chains::TASK, ChainSums::add_to_task as fn(&mut ChainSums, &ChainKey, i64, i64, i64)),
        (chains::SESSION, ChainSums::add_to_session),
    ] {
        let mut statement = connection.prepare(&format!("SELECT {owner}, {place}, seq FROM {table}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            // A value of another type is not what any thought adds.
            let number = |column| row.get_ref(column).map(|value| value.as_i64().unwrap_or(i64::MIN));
            add(&mut sums, key, number(0)?, number(1)?, number(2)?);
        }
    }
    Ok(sums)
}

/// Compares the tables of chains with the thoughts that they cover, row by row.
pub fn chains(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    for Chain { table, labels, owner, place } in [chains::TASK, chains::SESSION] {
        let covers = format!(
            "SELECT count(*), min(t.seq) FROM thought t WHERE t.seq <= (SELECT chained FROM derived) AND NOT EXISTS (
               SELECT 1 FROM {table} c WHERE c.{owner} = t.{owner} AND c.{place} = t.{place} AND c.seq = t.seq)"
        );
        let stands = format!(
            "SELECT count(*), min(c.seq) FROM {table} c WHERE c.seq > (SELECT chained FROM derived) OR NOT EXISTS (
               SELECT 1 FROM thought t WHERE t.seq = c.seq AND t.{owner} = c.{owner} AND t.{place} = c.{place})"
        );
        let counted = |sql: &str| -> rusqlite::Result<(u64, Value)> {
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        let (lacking, first) = counted(&covers)?;
        let (strange, other) = counted(&stands)?;
        let what = match (lacking, strange) {
            (0, 0) => "has a row twice, or a value that is no number".to_string(),
            (0, _) => format!("has {} that no thought stands for", rows(strange)),
            _ => format!("lacks {} of the thoughts that it covers", rows(lacking)),
        };
        if (lacking, strange) == (0, 0) && is_sound(connection, table)? {
            continue;
        }
        let message = format!(
            "table `{table}`, which finds the thoughts of a {labels}, {what}; `cairn doctor --rebuild` restores it"
        );
        let finding = Finding::new(Reason::IndexMismatch, table, message).unless(Cause::Index(table));
        // If the thought itself was changed, its own finding says so.
        let place = if lacking > 0 { first } else { other };
        let seq = match place {
            Value::Integer(seq) => u64::try_from(seq).ok(),
            _ => None,
        };
        visit(match seq {
            Some(seq) => finding.at(seq).unless(Cause::Entry(seq)),
            None => finding,
        });
    }
    Ok(())
}

/// Whether a table of chains has as many rows as thoughts that it covers.
fn is_sound(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM {table})
           = (SELECT count(*) FROM thought WHERE seq <= (SELECT chained FROM derived))"
    );
    connection.query_row(&sql, [], |row| row.get(0))
}

fn rows(count: u64) -> String {
    if count == 1 { "a row".to_string() } else { format!("{count} rows") }
}

/// Compares both search indexes with the texts they cover.
pub fn search_indexes(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    search_index(connection, &fts5::SEARCH, visit)?;
    search_index(connection, &fts5::RAG_SEARCH, visit)
}

fn search_index(
    connection: &Connection,
    index: &fts5::Index,
    visit: &mut dyn FnMut(Finding),
) -> rusqlite::Result<()> {
    let fts5::Index { table, noted, what, .. } = index;
    let sound = Cell::new(true);
    // A text that was changed is found where its row is checked, and so is a node.
    let of_nodes = (*table == fts5::RAG_SEARCH.table).then_some(Cause::Table("rag_documents"));
    let mut report = |message: String, seq: Option<u64>| {
        sound.set(false);
        let message = format!("{message}; `cairn doctor --rebuild` restores it");
        let follows_from = seq.map(Cause::Text).or(of_nodes.clone()).into_iter().collect();
        let finding = Finding::new(Reason::IndexMismatch, table, message);
        visit(Finding { seq, follows_from, ..finding });
    };
    let mut nodes = 0u64;
    let compared = fts5::compare(connection, index, &mut |difference| match (difference, &of_nodes) {
        (Difference::Words(_) | Difference::Length(_), Some(_)) => nodes += 1,
        (Difference::Words(seq) | Difference::Length(seq), None) => {
            let message =
                format!("the search index does not hold the words of the thought at log entry {seq}");
            report(message, u64::try_from(seq).ok());
        }
        (Difference::Totals, _) => {
            report(format!("the search index notes other totals than those of the {what} it covers"), None);
        }
    });
    if nodes > 0 {
        report(format!("the search index does not hold the words of {nodes} nodes"), None);
    }
    match compared {
        Ok(()) => {}
        Err(Flaw::Unsound(message)) => {
            report(format!("the search index of {what} is not sound: {message}"), None)
        }
        // The texts of nodes are taken out of JSON, which may be what was changed.
        Err(Flaw::Sql(error)) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
            report(format!("the {what} that the search index covers cannot be read"), None);
        }
        Err(Flaw::Sql(error)) => return Err(error),
    }
    let config: Vec<(String, Value)> = connection
        .prepare(&format!("SELECT k, v FROM {table}_config"))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    if config != [("version".to_string(), Value::Integer(fts5::FORMAT))] {
        report(format!("the configuration of the search index of {what} was changed"), None);
    }
    if !sound.get() {
        return Ok(());
    }
    // Its words are those of the texts, so this changes no answer. It tells that somebody else wrote the index.
    let noted: Option<Vec<u8>> =
        connection.query_row(&format!("SELECT {noted} FROM derived"), [], |row| row.get(0)).optional()?;
    let found =
        fts5::structure(connection, index).optional()?.map(|structure| Sha::of(&structure).0.to_vec());
    if noted.is_none() || noted != found {
        report(
            format!("the search index of {what} has other parts than were noted when it was last written"),
            None,
        );
    }
    Ok(())
}

/// Compares the documents of nodes with the newest snapshot of each roadmap that the derived tables cover.
pub fn documents(connection: &Connection, visit: &mut dyn FnMut(Finding)) -> rusqlite::Result<()> {
    let mut report = |message: String, causes: Option<Cause>| {
        let mut finding = Finding::new(Reason::IndexMismatch, "rag_documents", message);
        finding.follows_from =
            causes.into_iter().chain([Cause::Index("rag_documents"), Cause::Index("context")]).collect();
        visit(finding);
    };
    let stray: i64 = connection.query_row(
        "SELECT count(*) FROM rag_documents WHERE roadmap_no NOT IN (SELECT no FROM roadmap)",
        [],
        |row| row.get(0),
    )?;
    if stray > 0 {
        let documents = if stray == 1 { "1 document belongs" } else { &format!("{stray} documents belong") };
        report(format!("{documents} to no roadmap; `cairn doctor --rebuild` removes what is too much"), None);
    }
    let mut roadmaps = connection.prepare(
        "SELECT r.no, r.name, (
           SELECT c.snapshot_no FROM context c
           WHERE c.roadmap_no = r.no AND c.seq <= (SELECT through FROM derived) ORDER BY c.position DESC LIMIT 1)
         FROM roadmap r",
    )?;
    let mut rows = roadmaps.query([])?;
    while let Some(row) = rows.next()? {
        let (no, snapshot): (i64, Option<i64>) = (row.get(0)?, row.get(2)?);
        let name = row.get_ref(1)?.as_str().unwrap_or("?").to_string();
        if !documents_agree(connection, no, snapshot)? {
            let message = format!(
                "the documents of roadmap `{name}` are not the nodes of its newest snapshot; \
                 `cairn doctor --rebuild` restores them"
            );
            report(message, Some(Cause::Of("roadmap", name)));
        }
    }
    Ok(())
}

fn documents_agree(connection: &Connection, roadmap: i64, snapshot: Option<i64>) -> rusqlite::Result<bool> {
    let mut stored = connection
        .prepare_cached("SELECT snapshot_no, node FROM rag_documents WHERE roadmap_no = ?1 ORDER BY no")?;
    let mut stored = stored.query([roadmap])?;
    let mut nodes = connection.prepare_cached(
        "SELECT j.value FROM snapshot s, json_each(s.data, '$.nodes') j WHERE s.no = ?1 ORDER BY j.key",
    )?;
    let mut nodes = nodes.query([snapshot])?;
    loop {
        // Content that is no longer JSON is found by its hash; here it only means that nothing agrees.
        let Ok(node) = nodes.next() else { return Ok(false) };
        match (stored.next()?, node) {
            (None, None) => return Ok(true),
            (Some(stored), Some(node)) => {
                let same = stored.get_ref(1)?.as_str().ok() == node.get_ref(0)?.as_str().ok();
                if !same || stored.get::<_, Option<i64>>(0)? != snapshot {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
}
