//! Rows of the schema: added, removed, changed. With `writable_schema` SQLite lets any name pass.

use rusqlite::Connection;

use super::Change;

pub(super) fn changes(sql: &Connection) -> Vec<Change> {
    let mut changes: Vec<Change> = ADDED
        .iter()
        .map(|text| Change::sql(format!("schema: {text}"), |sql| sql.execute_batch(text)))
        .collect();
    let rows: Vec<Row> = sql
        .prepare("SELECT type, name, coalesce(rootpage, 0), coalesce(sql, '') FROM sqlite_schema ORDER BY type, name")
        .unwrap()
        .query_map([], |row| Ok(Row { kind: row.get(0)?, name: row.get(1)?, root: row.get(2)?, text: row.get(3)? }))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (index, Row { kind, name, root, .. }) in rows.iter().enumerate() {
        let place = format!("type = '{kind}' AND name = '{name}'");
        for change in EACH {
            let text = change.replace("PLACE", &place);
            changes.push(Change::sql(format!("schema: {text}"), move |sql| sql.execute_batch(&text)));
        }
        let after = rows.get(index + 1).filter(|after| after.kind == *kind && *root > 0);
        let Some(Row { name: next, root: other, .. }) = after else { continue };
        let text = format!(
            "UPDATE sqlite_schema SET rootpage = CASE name WHEN '{name}' THEN {other} ELSE {root} END
             WHERE name IN ('{name}', '{next}')"
        );
        changes.push(Change::sql(format!("schema: roots of {name} and {next} exchanged"), move |sql| {
            sql.execute_batch(&text)
        }));
    }
    for (from, to) in REWORDED {
        for Row { kind, name, .. } in rows.iter().filter(|row| row.text.contains(from)) {
            let text = format!(
                "UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}')
                 WHERE type = '{kind}' AND name = '{name}'"
            );
            changes.push(Change::sql(format!("schema: {kind} {name}, `{to}` for `{from}`"), move |sql| {
                sql.execute_batch(&text)
            }));
        }
    }
    changes
}

/// A row of the schema.
struct Row {
    kind: String,
    name: String,
    root: usize,
    text: String,
}

/// Done to each row.
const EACH: [&str; 8] = [
    "DELETE FROM sqlite_schema WHERE PLACE",
    "UPDATE sqlite_schema SET name = name || 'x' WHERE PLACE",
    "UPDATE sqlite_schema SET tbl_name = 'entry' WHERE PLACE",
    "UPDATE sqlite_schema SET sql = sql || ' ' WHERE PLACE",
    "UPDATE sqlite_schema SET sql = NULL WHERE PLACE",
    "UPDATE sqlite_schema SET type = upper(type) WHERE PLACE",
    "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE PLACE",
    "INSERT INTO sqlite_schema SELECT type, 'sqlite_stat_' || name, tbl_name, rootpage, sql FROM sqlite_schema WHERE PLACE",
];

/// Words of the schema that change what it means.
const REWORDED: [(&str, &str); 10] = [
    (" UNIQUE", ""),
    ("STRICT", ""),
    (" NOT NULL", ""),
    (" TEXT ", " TEXT COLLATE NOCASE "),
    ("INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY DESC"),
    ("WITHOUT ROWID", ""),
    ("WHERE", "WHERE NOT"),
    ("BEFORE", "AFTER"),
    ("ABORT", "IGNORE"),
    ("content", "metadata"),
];

/// Done once.
const ADDED: [&str; 22] = [
    "CREATE TABLE other (x)",
    "CREATE INDEX other ON thought (agent_id)",
    "CREATE INDEX other ON thought (session_no, seq DESC) WHERE seq > 5",
    "CREATE VIEW other AS SELECT 1",
    "CREATE TRIGGER other AFTER INSERT ON redaction BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE other USING fts5 (x)",
    "INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_stat_kept', 'redaction', 0,
       'CREATE TRIGGER sqlite_stat_kept AFTER INSERT ON redaction BEGIN SELECT 1; END')",
    "INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_stat1', 'redaction', 0,
       'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON redaction BEGIN SELECT 1; END')",
    "INSERT INTO sqlite_schema VALUES ('view', 'sqlite_stat1', 'sqlite_stat1', 0,
       'CREATE VIEW sqlite_stat1 (tbl, idx, stat) AS SELECT 1, 2, 3')",
    "INSERT INTO sqlite_schema VALUES ('view', 'sqlite_hidden', 'sqlite_hidden', 0, 'CREATE VIEW sqlite_hidden AS SELECT 1')",
    "CREATE TABLE kept (x); UPDATE sqlite_schema SET name = 'sqlite_stat9', tbl_name = 'sqlite_stat9',
       sql = 'CREATE TABLE sqlite_stat9 (x)' WHERE name = 'kept'",
    "CREATE TABLE kept (x); UPDATE sqlite_schema SET name = 'sqlite_stat1', tbl_name = 'sqlite_stat1',
       sql = 'CREATE TABLE sqlite_stat1 (tbl, idx, stat, x)' WHERE name = 'kept'",
    "CREATE INDEX kept ON thought (agent_id); UPDATE sqlite_schema SET name = 'sqlite_autoindex_thought_9' WHERE name = 'kept'",
    "CREATE INDEX kept ON session (length); UPDATE sqlite_schema SET name = 'sqlite_stat_kept',
       sql = 'CREATE INDEX sqlite_stat_kept ON session (length)' WHERE name = 'kept'",
    "ANALYZE",
    "ANALYZE; UPDATE sqlite_stat1 SET stat = '1 1 1'",
    "ANALYZE; UPDATE sqlite_stat1 SET stat = '900000000 900000000 900000000 unordered'",
    "ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('thought', NULL, 'x'), ('nothing', 'nothing', '1')",
    "CREATE TABLE sqlite_sequence2 (x); DROP TABLE sqlite_sequence2",
    "PRAGMA user_version = 4",
    "PRAGMA user_version = 6",
    "PRAGMA application_id = 7",
];
