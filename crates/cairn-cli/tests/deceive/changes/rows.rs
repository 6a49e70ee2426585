//! Rows of every table: changed cell by cell, deleted, doubled, with the seat belts off.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{Change, leaves_no_trace};
use crate::deceive::seeded::Seeded;

pub(super) fn changes(sql: &Connection, amount: usize, random: &mut Seeded) -> Vec<Change> {
    let tables: Vec<String> = sql
        .prepare(
            "SELECT name FROM sqlite_schema
             WHERE type = 'table' AND name NOT IN ('token', 'search', 'rag_search') ORDER BY name",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut changes = Vec::new();
    for table in tables {
        let columns: Vec<String> = sql
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let count: usize =
            sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert!(count > 0, "{table} is empty: fill it");
        for _ in 0..amount {
            let row = random.index(count);
            let names = columns.join(", ");
            if !leaves_no_trace(&table) {
                changes.push(deleted(&table, &columns, row));
            }
            changes.push(doubled(&table, &names, &columns, row));
            for column in &columns {
                changes.push(changed(&table, &columns, column, random.index(count)));
                changes.push(taken(&table, &columns, column, random.index(count), random.index(count)));
            }
        }
    }
    changes
}

/// A row as SQLite holds it.
fn row(sql: &Connection, table: &str, columns: &[String], at: usize) -> rusqlite::Result<Vec<Value>> {
    let query = format!("SELECT {} FROM {table} LIMIT 1 OFFSET {at}", columns.join(", "));
    sql.query_row(&query, [], |row| (0..columns.len()).map(|index| row.get(index)).collect())
}

fn this_row(columns: &[String]) -> String {
    let terms: Vec<String> =
        columns.iter().enumerate().map(|(index, column)| format!("{column} IS ?{}", index + 1)).collect();
    terms.join(" AND ")
}

fn deleted(table: &str, columns: &[String], at: usize) -> Change {
    let (table, columns) = (table.to_string(), columns.to_vec());
    Change::sql(format!("row {at} of {table}: deleted"), move |sql| {
        let values = row(sql, &table, &columns, at)?;
        let delete = format!("DELETE FROM {table} WHERE {}", this_row(&columns));
        sql.execute(&delete, params_from_iter(values)).map(drop)
    })
}

/// The same row again, under a key of its own.
fn doubled(table: &str, names: &str, columns: &[String], at: usize) -> Change {
    let (table, names, columns) = (table.to_string(), names.to_string(), columns.to_vec());
    Change::sql(format!("row {at} of {table}: doubled"), move |sql| {
        let values = row(sql, &table, &columns, at)?.into_iter().zip(&columns).map(|(value, column)| {
            let is_key = matches!(column.as_str(), "seq" | "no" | "id" | "name" | "position" | "step_index")
                || matches!(column.as_str(), "idempotency_key" | "size" | "idx" | "term" | "sha256" | "k")
                || matches!(column.as_str(), "content_hash" | "target_seq" | "session_no" | "action_id");
            match value {
                Value::Integer(number) if is_key => Value::Integer(number + 100_000),
                Value::Text(text) if is_key => Value::Text(text + "x"),
                Value::Blob(bytes) if is_key => Value::Blob([&bytes[..], b"x"].concat()),
                other => other,
            }
        });
        let places: Vec<String> = (1..=columns.len()).map(|index| format!("?{index}")).collect();
        let insert = format!("INSERT INTO {table} ({names}) VALUES ({})", places.join(", "));
        sql.execute(&insert, params_from_iter(values.collect::<Vec<_>>())).map(drop)
    })
}

/// Another value in one cell.
fn changed(table: &str, columns: &[String], column: &str, at: usize) -> Change {
    let (table, columns, column) = (table.to_string(), columns.to_vec(), column.to_string());
    Change::sql(format!("row {at} of {table}: {column} changed"), move |sql| {
        let mut values = row(sql, &table, &columns, at)?;
        let index = columns.iter().position(|name| *name == column).expect("a column of the table");
        values.push(other_than(&values[index]));
        set(sql, &table, &columns, &column, &values)
    })
}

/// The value that another row has.
fn taken(table: &str, columns: &[String], column: &str, at: usize, from: usize) -> Change {
    let (table, columns, column) = (table.to_string(), columns.to_vec(), column.to_string());
    Change::sql(format!("row {at} of {table}: {column} as in row {from}"), move |sql| {
        let (mut values, other) = (row(sql, &table, &columns, at)?, row(sql, &table, &columns, from)?);
        let index = columns.iter().position(|name| *name == column).expect("a column of the table");
        values.push(other[index].clone());
        set(sql, &table, &columns, &column, &values)
    })
}

fn set(
    sql: &Connection,
    table: &str,
    columns: &[String],
    column: &str,
    values: &[Value],
) -> rusqlite::Result<()> {
    let update = format!("UPDATE {table} SET {column} = ?{} WHERE {}", values.len(), this_row(columns));
    sql.execute(&update, params_from_iter(values)).map(drop)
}

fn other_than(value: &Value) -> Value {
    match value {
        Value::Null => Value::Text("something".into()),
        Value::Integer(number) => Value::Integer(number + 1),
        Value::Real(number) => Value::Real(number + 1.0),
        Value::Text(text) if text.ends_with('x') => Value::Text(text[..text.len() - 1].to_string() + "y"),
        Value::Text(text) => {
            let mut shorter = text.clone();
            shorter.pop();
            Value::Text(shorter + "x")
        }
        Value::Blob(bytes) if bytes.is_empty() => Value::Blob(vec![1]),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            Value::Blob(bytes)
        }
    }
}
