//! Words exchanged in the search indexes by their own means, with checksums that stay equal: FTS5 adds up `9h + byte`, so
//! that `payment` and `pbpment` count as the same.

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::Change;

pub(super) fn changes(sql: &Connection) -> Vec<Change> {
    let mut changes = Vec::new();
    let seqs: Vec<i64> = sql
        .prepare("SELECT seq FROM thought WHERE content LIKE '%payment%order%number%' ORDER BY seq")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let swaps: [(&str, &str); 8] = [
        ("payment", "pbpment"),
        ("thought", "uhought"),
        ("number", "nvdber"),
        // The same words in other places.
        ("payment of order", "order of payment"),
        ("thought", "thought thought"),
        ("about the", ""),
        ("of", "off"),
        ("payment", "order"),
    ];
    for (index, (from, to)) in swaps.into_iter().enumerate() {
        for noted in [true, false] {
            let seq = seqs[index * 7 % seqs.len()];
            let name = format!("words: `{to}` for `{from}` in thought {seq}, noted: {noted}");
            changes.push(Change::sql(name, move |sql| exchange_in_thought(sql, seq, from, to, noted)));
        }
    }
    let all = seqs.clone();
    changes.push(Change::sql("words: `pbpment` for `payment` in all thoughts".to_string(), move |sql| {
        all.iter().try_for_each(|seq| exchange_in_thought(sql, *seq, "payment", "pbpment", true))
    }));
    changes.push(Change::sql("words: `pbpment` for `payment` in a node".to_string(), exchange_in_node));
    let scoped = seqs[3];
    changes.push(Change::sql(format!("words: thought {scoped} in another session"), move |sql| {
        exchange_scope(sql, scoped)
    }));
    changes
}

/// Text, metadata and scope of a thought as the index has them.
fn indexed(sql: &Connection, seq: i64) -> rusqlite::Result<(Option<String>, Option<String>, String)> {
    sql.query_row("SELECT content, metadata, scope FROM search_source WHERE seq = ?1", [seq], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
}

fn exchange_in_thought(
    sql: &Connection,
    seq: i64,
    from: &str,
    to: &str,
    noted: bool,
) -> rusqlite::Result<()> {
    let (content, metadata, scope) = indexed(sql, seq)?;
    let content = content.expect("a text that was not redacted");
    let other = content.replacen(from, to, 1);
    sql.execute(
        "INSERT INTO search (search, rowid, content, metadata, scope) VALUES ('delete', ?1, ?2, ?3, ?4)",
        params![seq, content, metadata, scope],
    )?;
    sql.execute(
        "INSERT INTO search (rowid, content, metadata, scope) VALUES (?1, ?2, ?3, ?4)",
        params![seq, other, metadata, scope],
    )?;
    if noted { note(sql, "search", "segments") } else { Ok(()) }
}

fn exchange_scope(sql: &Connection, seq: i64) -> rusqlite::Result<()> {
    let (content, metadata, scope) = indexed(sql, seq)?;
    let other = if scope.starts_with("s1 ") {
        scope.replacen("s1 ", "s2 ", 1)
    } else {
        scope.replacen("s2 ", "s1 ", 1)
    };
    sql.execute(
        "INSERT INTO search (search, rowid, content, metadata, scope) VALUES ('delete', ?1, ?2, ?3, ?4)",
        params![seq, content, metadata, scope],
    )?;
    sql.execute(
        "INSERT INTO search (rowid, content, metadata, scope) VALUES (?1, ?2, ?3, ?4)",
        params![seq, content, metadata, other],
    )?;
    note(sql, "search", "segments")
}

fn exchange_in_node(sql: &Connection) -> rusqlite::Result<()> {
    let (no, id, label, scope, phase): (i64, String, String, String, String) =
        sql.query_row("SELECT no, id, label, scope, phase FROM rag_source LIMIT 1 OFFSET 2", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
    let other = scope.replace("payment", "pbpment");
    sql.execute(
        "INSERT INTO rag_search (rag_search, rowid, id, label, scope, phase) VALUES ('delete', ?1, ?2, ?3, ?4, ?5)",
        params![no, id, label, scope, phase],
    )?;
    sql.execute(
        "INSERT INTO rag_search (rowid, id, label, scope, phase) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![no, id, label, other, phase],
    )?;
    note(sql, "rag_search", "rag_segments")
}

/// Notes the list of segments as the writer does.
fn note(sql: &Connection, table: &str, column: &str) -> rusqlite::Result<()> {
    sql.execute_batch(&format!("INSERT INTO {table} ({table}) VALUES ('flush')"))?;
    let list: Vec<u8> =
        sql.query_row(&format!("SELECT block FROM {table}_data WHERE id = 10"), [], |row| row.get(0))?;
    sql.execute(&format!("UPDATE derived SET {column} = ?1"), [&Sha256::digest(list)[..]]).map(drop)
}
