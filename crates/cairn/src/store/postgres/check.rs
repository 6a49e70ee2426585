//! Checks that are best asked of PostgreSQL itself: heads against rows, the schema, documents and words against what they
//! were made from. Rows are taken as they come, never all at once.

use std::pin::pin;

use cairn_core::Sha;
use futures::TryStreamExt;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

use super::Result;
use super::connect::Link;
use super::derived::{DOCUMENT, node_vector, to_document};
use super::error::{is_lost, store_error};
use super::schema::{EXPECTED, OBJECTS, VERSION};
use super::stored::{get, value};
use crate::store::{Cause, Finding, MAX_FINDINGS, Reason};

type Visit<'a> = &'a mut dyn FnMut(Finding);

async fn stream(link: &Link, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<RowStream> {
    let statement = link.prepared(sql).await.map_err(store_error)?;
    link.client().query_raw(&statement, values.iter().copied()).await.map_err(store_error)
}

async fn each(link: &Link, sql: &str, mut take: impl FnMut(&Row) -> Result<()>) -> Result<()> {
    let mut rows = pin!(stream(link, sql, &[]).await?);
    while let Some(row) = rows.try_next().await.map_err(store_error)? {
        take(&row)?;
    }
    Ok(())
}

/// Compares the stored head of every task, session, roadmap and memory with the rows that belong to it.
pub async fn heads(link: &Link, visit: Visit<'_>) -> Result<()> {
    let tasks = "SELECT name, length, coalesce(counted, 0), k.head, newest.hash FROM task k
                 LEFT JOIN (SELECT task_no, count(*) AS counted FROM thought GROUP BY task_no) AS own ON own.task_no = k.no
                 LEFT JOIN thought newest ON newest.task_no = k.no AND newest.position = coalesce(counted, 0) - 1
                 WHERE length IS DISTINCT FROM coalesce(counted, 0) OR k.head IS DISTINCT FROM newest.hash";
    each(link, tasks, |row| {
        let differs = length_differs(row, "task", "thoughts", visit);
        let (head, newest) = (hash(row, 3), hash(row, 4));
        if !differs && head != newest {
            let message =
                format!("the stored head of task `{}` is not the hash of its newest thought", name(row));
            let finding = Finding::new(Reason::IndexMismatch, "task", message).field("head", newest, head);
            visit(finding.unless(Cause::Of("task", name(row).to_string())));
        }
        Ok(())
    })
    .await?;
    let sessions = "SELECT name, length, coalesce(counted, 0) FROM session s
                    LEFT JOIN (SELECT session_no, count(*) AS counted FROM thought GROUP BY session_no) AS own
                      ON own.session_no = s.no
                    WHERE length IS DISTINCT FROM coalesce(counted, 0)
                      OR (length = 0 AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.session_no = s.no))";
    each(link, sessions, |row| {
        length_differs(row, "session", "thoughts", visit);
        Ok(())
    })
    .await?;
    let roadmaps = "SELECT name, length, coalesce(counted, 0) FROM roadmap r
                    LEFT JOIN (SELECT roadmap_no, count(*) AS counted FROM context GROUP BY roadmap_no) AS own
                      ON own.roadmap_no = r.no
                    WHERE length IS DISTINCT FROM coalesce(counted, 0) OR length = 0";
    each(link, roadmaps, |row| {
        length_differs(row, "roadmap", "snapshots", visit);
        Ok(())
    })
    .await?;
    memories(link, visit).await?;
    let unused = "SELECT count(*) FROM snapshot s WHERE NOT EXISTS (SELECT 1 FROM context c WHERE c.snapshot_no = s.no)";
    let unused = count(link, unused).await?;
    if unused > 0 {
        let rows = if unused == 1 {
            "1 row of table snapshot belongs"
        } else {
            &format!("{unused} rows of table snapshot belong")
        };
        let message = format!("{rows} to no entry of the log");
        let finding = Finding::new(Reason::LeafMismatch, "snapshot", message);
        visit(finding.unless(Cause::Table("context")).unless(Cause::MissingEntries));
    }
    Ok(())
}

async fn memories(link: &Link, visit: Visit<'_>) -> Result<()> {
    let memories = "SELECT s.name, m.length, coalesce(counted, 0), m.newest, last FROM memory m
                    LEFT JOIN session s ON s.no = m.session_no
                    LEFT JOIN (SELECT session_no, count(*) AS counted, max(seq) AS last FROM event GROUP BY session_no)
                      AS own ON own.session_no = m.session_no
                    WHERE m.length IS DISTINCT FROM coalesce(counted, 0) OR m.newest IS DISTINCT FROM last";
    each(link, memories, |row| {
        let differs = length_differs(row, "memory", "events", visit);
        let (newest, last) = (value::<i64>(row, 3), value::<i64>(row, 4));
        if !differs && newest != last {
            let entry = |seq: Option<i64>| seq.map_or("none".to_string(), |seq| format!("log entry {seq}"));
            let message = format!("the stored place of the newest event of session `{}` is wrong", name(row));
            let finding = Finding::new(Reason::IndexMismatch, "memory", message);
            let finding = finding.field("newest", entry(last), entry(newest));
            visit(finding.unless(Cause::Of("session", name(row).to_string())));
        }
        Ok(())
    })
    .await?;
    let unremembered = "SELECT count(DISTINCT session_no) FROM event e
                        WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.session_no = e.session_no)";
    let unremembered = count(link, unremembered).await?;
    if unremembered > 0 {
        let message = format!("the memory of {unremembered} sessions with events has no head");
        visit(Finding::new(Reason::IndexMismatch, "memory", message));
    }
    Ok(())
}

async fn count(link: &Link, sql: &str) -> Result<i64> {
    get(&link.client().query_one(sql, &[]).await.map_err(store_error)?, 0)
}

fn name(row: &Row) -> &str {
    value(row, 0).unwrap_or("?")
}

/// A length as stored; no chain has a negative one.
fn length(row: &Row) -> i64 {
    value(row, 1).unwrap_or(-1)
}

/// Whether a stored length is not the number of rows. The rows are checked against the log one by one: where some are
/// gone, that is the finding.
fn length_differs(row: &Row, table: &'static str, what: &str, visit: Visit<'_>) -> bool {
    let (name, length, counted) = (name(row), length(row), value::<i64>(row, 2).unwrap_or_default());
    let (of, owner) = match table {
        "memory" => ("the memory of session", "session"),
        table => (table, table),
    };
    let finding = match (length, counted) {
        (0, 0) => {
            Finding::new(Reason::IndexMismatch, table, format!("{of} `{name}` is stored, and has no {what}"))
                .field("name", "nothing", name)
        }
        _ if length == counted => return false,
        _ => {
            let message = format!("{of} `{name}` has {counted} {what}, and {length} are noted");
            let reason = if counted < length { Reason::MissingRecord } else { Reason::IndexMismatch };
            Finding::new(reason, table, message).field("length", counted, length)
        }
    };
    visit(finding.unless(Cause::Of(owner, name.to_string())));
    true
}

fn hash(row: &Row, column: usize) -> String {
    match value::<&[u8]>(row, column).map(<[u8; 32]>::try_from) {
        Some(Ok(hash)) => Sha(hash).to_string(),
        Some(Err(_)) => "not a hash".to_string(),
        None => "nothing".to_string(),
    }
}

/// Compares tables, columns, constraints, indexes, triggers and functions with those that this program makes.
pub async fn schema(link: &Link, visit: Visit<'_>) -> Result<()> {
    let mut report = |message: String, expected: &str, actual: &str| {
        let finding = Finding::new(Reason::IndexMismatch, "pg_catalog", message);
        visit(finding.field("definition", expected, actual));
    };
    let mut expected: Vec<(&str, &str)> = EXPECTED.lines().filter_map(|line| line.split_once('\t')).collect();
    each(link, OBJECTS, |row| {
        let (name, definition): (&str, &str) = (get(row, 0)?, get(row, 1)?);
        match expected.iter().position(|(other, _)| *other == name) {
            None => report(format!("the {name} does not belong to the schema"), "nothing", definition),
            Some(at) => {
                let (_, made) = expected.swap_remove(at);
                if made != definition {
                    report(format!("the {name} was changed in the schema"), made, definition);
                }
            }
        }
        Ok(())
    })
    .await?;
    for (name, made) in expected {
        report(format!("the {name} is missing from the schema"), made, "nothing");
    }
    let versions = "SELECT coalesce(min(version), 0), count(*) FROM cairn_version";
    let row = link.client().query_one(versions, &[]).await.map_err(store_error)?;
    let (version, rows): (i64, i64) = (get(&row, 0)?, get(&row, 1)?);
    if version != VERSION || rows != 1 {
        let message = format!("the version of the schema is {version} in {rows} rows, not {VERSION} in one");
        visit(
            Finding::new(Reason::IndexMismatch, "cairn_version", message).field("version", VERSION, version),
        );
    }
    Ok(())
}

/// Compares the documents of nodes with the newest snapshot of each roadmap that the derived tables cover.
pub async fn documents(link: &Link, visit: Visit<'_>) -> Result<()> {
    let mut report = |message: String, roadmap: Option<&str>| {
        let mut finding = Finding::new(Reason::IndexMismatch, "rag_documents", message);
        finding.follows_from.extend(roadmap.map(|name| Cause::Of("roadmap", name.to_string())));
        visit(finding);
    };
    let stray = "SELECT count(*) FROM rag_documents d WHERE NOT EXISTS (SELECT 1 FROM roadmap r WHERE r.no = d.roadmap_no)";
    let stray = count(link, stray).await?;
    if stray > 0 {
        let documents = if stray == 1 { "1 document belongs" } else { &format!("{stray} documents belong") };
        report(format!("{documents} to no roadmap; `cairn doctor --rebuild` removes what is too much"), None);
    }
    let roadmaps = "SELECT r.name, r.no, (
                      SELECT c.snapshot_no FROM context c
                      WHERE c.roadmap_no = r.no AND c.seq <= (SELECT max(through) FROM derived)
                      ORDER BY c.position DESC LIMIT 1)
                    FROM roadmap r ORDER BY r.no";
    for row in link.all(roadmaps, &[]).await? {
        if !documents_agree(link, get(&row, 1)?, value(&row, 2)).await? {
            let message = format!(
                "the documents of roadmap `{}` are not the nodes of its newest snapshot; \
                 `cairn doctor --rebuild` restores them",
                name(&row)
            );
            report(message, Some(name(&row)));
        }
    }
    Ok(())
}

async fn documents_agree(link: &Link, roadmap: i64, snapshot: Option<i64>) -> Result<bool> {
    let sql = "SELECT count(*) FROM (
                 SELECT row_number() OVER (ORDER BY no) AS place, snapshot_no, node FROM rag_documents WHERE roadmap_no = $1
               ) AS stored FULL JOIN (
                 SELECT j.place, j.value::text AS node FROM snapshot s,
                   json_array_elements(s.data::json -> 'nodes') WITH ORDINALITY AS j (value, place) WHERE s.no = $2
               ) AS made USING (place)
               WHERE stored.node IS DISTINCT FROM made.node OR stored.snapshot_no IS DISTINCT FROM $2";
    // Content that is no longer JSON is found by its hash; here it only means that nothing agrees. It must not end the
    // transaction, which has more to check.
    link.client().batch_execute("SAVEPOINT nodes").await.map_err(store_error)?;
    let statement = link.prepared(sql).await.map_err(store_error)?;
    match link.client().query_one(&statement, &[&roadmap, &snapshot]).await {
        Ok(row) => {
            link.client().batch_execute("RELEASE nodes").await.map_err(store_error)?;
            Ok(get::<i64>(&row, 0)? == 0)
        }
        Err(error) if is_lost(&error) => Err(store_error(error)),
        Err(_) => {
            link.client().batch_execute("ROLLBACK TO nodes").await.map_err(store_error)?;
            Ok(false)
        }
    }
}

/// Thoughts and nodes whose words are compared at a time.
const AT_A_TIME: i64 = 256;

/// Compares both search indexes with the texts they cover.
pub async fn search_indexes(link: &Link, visit: Visit<'_>) -> Result<()> {
    let row = link.one("SELECT max(through), max(documents), max(words) FROM derived", &[]).await?;
    let noted = row.map(|row| [0, 1, 2].map(|column| value::<i64>(&row, column))).unwrap_or_default();
    let compared = thoughts(link, noted[0].unwrap_or(-1)).await?;
    for seq in &compared.differing {
        let message = match seq {
            Ok(seq) => format!("the search index has other words for the thought at log entry {seq}"),
            Err(seq) => format!("the search index has words for a thought at {seq}, where the log has none"),
        };
        let finding = Finding::new(Reason::IndexMismatch, "search", format!("{message}; {REBUILD}"));
        visit(match seq {
            Ok(seq) => finding.unless(Cause::Text(*seq)),
            Err(_) => finding,
        });
    }
    let Compared { differing, documents, words } = compared;
    if differing.is_empty() && noted[1..] != [Some(documents), Some(words)] {
        let number = |column: usize| noted[column].map_or("none".to_string(), |number| number.to_string());
        let message =
            format!("the search index is noted to cover other numbers of thoughts and words; {REBUILD}");
        let (covers, noted) = (format!("{documents}, {words}"), format!("{}, {}", number(1), number(2)));
        visit(Finding::new(Reason::IndexMismatch, "derived", message).field(
            "documents, words",
            covers,
            noted,
        ));
    }
    if nodes(link).await? > 0 {
        let message = format!("the search index has other words for some nodes of roadmaps; {REBUILD}");
        visit(Finding::new(Reason::IndexMismatch, "rag_documents", message));
    }
    Ok(())
}

const REBUILD: &str = "`cairn doctor --rebuild` restores it";

/// The thoughts and the search index, side by side.
#[derive(Default)]
struct Compared {
    /// Thoughts whose words differ, at most [`MAX_FINDINGS`] and one page more; or a number that is no place in the log.
    differing: Vec<std::result::Result<u64, i64>>,
    documents: i64,
    words: i64,
}

/// Compares the words of the thoughts up to a position with the index.
async fn thoughts(link: &Link, through: i64) -> Result<Compared> {
    let read = format!("{DOCUMENT} WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3");
    // Between two pages of thoughts there is nothing either, nor before the first or after the last.
    let compare = "SELECT seq FROM unnest($1::bigint[], $2::text[]) AS made (seq, words)
                   FULL JOIN (SELECT seq, words FROM search WHERE seq > $3 AND seq <= $4) AS stored USING (seq)
                   WHERE stored.words IS DISTINCT FROM made.words::tsvector LIMIT $5";
    let (mut behind, mut compared) = (i64::MIN, Compared::default());
    loop {
        let rows = link.all(&read, &[&behind, &through, &AT_A_TIME]).await?;
        let (mut seqs, mut vectors) = (Vec::new(), Vec::new());
        for row in &rows {
            compared.documents += 1;
            // Texts that cannot be read are found where thoughts are checked; in the index nothing can agree with them.
            let Ok(document) = to_document(row) else { continue };
            let (vector, words) = document.vector();
            compared.words += words as i64;
            seqs.push(document.seq);
            vectors.push(vector);
        }
        let last = match rows.last() {
            Some(row) if rows.len() as i64 == AT_A_TIME => get(row, 0)?,
            _ => i64::MAX,
        };
        let more = MAX_FINDINGS.saturating_sub(compared.differing.len()) as i64 + 1;
        for row in link.all(compare, &[&seqs, &vectors, &behind, &last, &more]).await? {
            let seq: i64 = get(&row, 0)?;
            compared.differing.push(u64::try_from(seq).map_err(|_| seq));
        }
        if last == i64::MAX {
            return Ok(compared);
        }
        behind = last;
    }
}

/// How many documents of nodes have other words than their texts.
async fn nodes(link: &Link) -> Result<i64> {
    let read = "SELECT no, node FROM rag_documents WHERE no > $1 ORDER BY no LIMIT $2";
    let compare = "SELECT count(*) FROM unnest($1::bigint[], $2::text[]) AS made (no, words)
                   JOIN rag_documents AS stored USING (no) WHERE stored.words IS DISTINCT FROM made.words::tsvector";
    let (mut behind, mut differing) = (i64::MIN, 0);
    loop {
        let rows = link.all(read, &[&behind, &AT_A_TIME]).await?;
        let (mut numbers, mut vectors) = (Vec::new(), Vec::new());
        for row in &rows {
            behind = get(row, 0)?;
            match value::<&str>(row, 1).map(node_vector) {
                Some(Ok(vector)) => {
                    numbers.push(behind);
                    vectors.push(vector);
                }
                _ => differing += 1,
            }
        }
        let row = link.one(compare, &[&numbers, &vectors]).await?;
        differing += row.map_or(Ok(1), |row| get(&row, 0))?;
        if (rows.len() as i64) < AT_A_TIME {
            return Ok(differing);
        }
    }
}
