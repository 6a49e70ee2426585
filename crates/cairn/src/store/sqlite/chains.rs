//! The thoughts of a task or session, in order: two derived tables hold all but the newest, which are scanned.

use std::ops::{ControlFlow, Range};

use rusqlite::{Connection, Row, ToSql};

use crate::store::ChainOf;

/// An append that leaves more entries than this uncovered covers them.
pub const MOST_UNCOVERED: u64 = 1024;
/// The most entries that one append covers.
pub const AT_A_TIME: u64 = 8192;

/// A derived table of chains, the table of their labels, the column that says whose chain a row belongs to, and the one with
/// its place there.
pub struct Chain {
    pub table: &'static str,
    pub labels: &'static str,
    pub owner: &'static str,
    pub place: &'static str,
}

pub const TASK: Chain = Chain { table: "task_thought", labels: "task", owner: "task_no", place: "position" };
pub const SESSION: Chain =
    Chain { table: "session_thought", labels: "session", owner: "session_no", place: "step_index" };

/// Which rows of a chain are read, and what of them. The thought is `t` in every text.
#[derive(Default)]
pub struct Query<'q> {
    pub columns: &'q str,
    pub joins: &'q str,
    /// More conditions, each with `AND` before it, and the values that they name.
    pub also: &'q str,
    pub values: &'q [(&'q str, &'q dyn ToSql)],
    /// Only thoughts after this entry of the log.
    pub after: Option<u64>,
    /// Only these places of the chain.
    pub places: Option<Range<u64>>,
}

/// Visits the thoughts of a chain in order, until the visitor breaks off.
pub fn each(
    connection: &Connection,
    of: ChainOf<'_>,
    query: &Query<'_>,
    visit: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
) -> rusqlite::Result<()> {
    // All statements read one state.
    let _state = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let Query { columns, joins, also, values, after, places } = query;
    let (Chain { table, labels, owner, place }, name) = match of {
        ChainOf::Task(name) => (TASK, name),
        ChainOf::Session(name) => (SESSION, name),
    };
    let chained: i64 =
        connection.prepare_cached("SELECT chained FROM derived")?.query_row([], |row| row.get(0))?;
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (start, after) = (after.is_some(), after.map_or(-1, number));
    let (from, before) = places.as_ref().map_or((0, 0), |places| (number(places.start), number(places.end)));
    let within = |alias: &str| match places {
        Some(_) => format!(" AND {alias}.{place} >= :from AND {alias}.{place} < :before"),
        None => String::new(),
    };
    let mut named: Vec<(&str, &dyn ToSql)> = vec![(":name", &name)];
    named.extend_from_slice(values);
    if places.is_some() {
        named.extend([(":from", &from as &dyn ToSql), (":before", &before)]);
    }
    if after < chained {
        // Going back through the log from the cursor finds the place where a later page starts at once, since the cursor
        // is the last record of the page before.
        let starts = match start {
            true => format!(
                " AND t.seq > :after AND c.{place} > coalesce((SELECT {place} FROM thought
                    WHERE seq <= :after AND {owner} = c.{owner} ORDER BY seq DESC LIMIT 1), -1)"
            ),
            false => String::new(),
        };
        let within = within("c");
        let sql = format!(
            "SELECT {columns} FROM {table} c CROSS JOIN thought t ON t.seq = c.seq {joins}
             WHERE c.{owner} = (SELECT no FROM {labels} WHERE name = :name){starts}{within}{also} ORDER BY c.{place}"
        );
        let mut named = named.clone();
        if start {
            named.push((":after", &after));
        }
        if run(connection, &sql, &named, visit)?.is_break() {
            return Ok(());
        }
    }
    let (after, within) = (after.max(chained), within("t"));
    let sql = format!(
        "SELECT {columns} FROM thought t {joins}
         WHERE t.seq > :after AND t.{owner} = (SELECT no FROM {labels} WHERE name = :name){within}{also} ORDER BY t.seq"
    );
    named.push((":after", &after));
    run(connection, &sql, &named, visit).map(drop)
}

fn run(
    connection: &Connection,
    sql: &str,
    values: &[(&str, &dyn ToSql)],
    visit: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<ControlFlow<()>>,
) -> rusqlite::Result<ControlFlow<()>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        if visit(row)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Adds the thoughts after entry `from` and up to `to`. A place that is taken stays as it is: only damage leads to that, and
/// verification names it.
pub fn fill(connection: &Connection, from: u64, to: u64) -> rusqlite::Result<()> {
    for Chain { table, owner, place, .. } in [TASK, SESSION] {
        let sql = format!(
            "INSERT OR IGNORE INTO {table} ({owner}, {place}, seq)
             SELECT {owner}, {place}, seq FROM thought WHERE seq > ?1 AND seq <= ?2 ORDER BY {owner}, seq"
        );
        connection.prepare_cached(&sql)?.execute([from, to])?;
    }
    Ok(())
}

/// Empties both tables.
pub fn clear(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("DELETE FROM task_thought; DELETE FROM session_thought")
}
