//! For every column of every table: one cell of one row is changed with SQLite's own library, and `verify`
//! must name a place. Likewise for rows that are deleted, doubled and swapped.

use cairn::core::entry::ReviewVerdict;
use cairn::{
    BriefRequest, HeadFolder, NewReview, NewSession, NewThought, Options, Outside, Redact, Report, Scope,
    ThoughtType,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde_json::json;

use crate::harness::{TestCairn, sqlites_own};

/// A database with something in every column that can hold something.
pub fn filled() -> TestCairn {
    let db = TestCairn::signing();
    let mut parent: Option<String> = None;
    for i in 0..60 {
        let mut draft = NewThought::new(ThoughtType::ALL[i % 4], format!("thought number {i} of many"))
            .task(format!("task {}", i % 3))
            .session(format!("session {}", i % 2))
            .agent("ada");
        if i % 3 == 0 {
            draft = draft.action(format!("action {i}")).idempotency_key(format!("key {i}"));
            draft = draft.metadata(json!({"branch": "main", "i": i}).as_object().unwrap().clone());
        }
        draft.parent_id = parent.take().filter(|_| i % 2 == 1 && i % 10 != 1);
        let thought =
            db.record(draft.clone()).or_else(|_| db.record(NewThought { parent_id: None, ..draft })).unwrap();
        parent = Some(thought.id.to_string());
    }
    // A parent within the same session, so that the column is filled.
    let roots = db.tree("session 0", false).unwrap();
    for root in roots.iter().take(5) {
        let draft = NewThought::new(ThoughtType::Reflection, "child").session("session 0").agent("bob");
        db.record(draft.task("task 0").parent(&root.id)).unwrap();
    }
    // Links of every kind: to a decision of another session, to a thought of the same one, and to what it is about.
    let earlier = db.list(&cairn::Filter::default()).unwrap().records;
    let decisions = earlier.iter().filter(|thought| thought.kind == ThoughtType::Decision).take(4);
    for (decision, root) in decisions.zip(roots.iter()) {
        let draft = NewThought::new(ThoughtType::Decision, "instead").session("session 0").task("task 1");
        let draft = draft.agent("bob").supersedes(&decision.id).rejects(&root.id);
        db.record(draft.applies_to("src/auth/**").applies_to("area:billing")).unwrap();
    }
    // Snapshots of two roadmaps, one of them with two contents, and decisions that rest on them.
    let roadmaps = db.folder().join("roadmaps");
    std::fs::create_dir(&roadmaps).unwrap();
    for (i, roadmap) in ["import", "import", "export", "import"].into_iter().enumerate() {
        let nodes: Vec<_> = (0..6)
            .map(|n| json!({"id": format!("n{n}"), "label": format!("Step {n} of {i}"), "phase": "p", "scope": "all"}))
            .collect();
        let plan = json!({"title": "Plan", "nodes": nodes, "phases": [{"id": "p"}],
                          "connections": [{"from": "n0", "to": "n1"}]});
        std::fs::write(roadmaps.join(format!("{roadmap}.json")), plan.to_string()).unwrap();
        let metadata = (i > 0).then(|| json!({"i": i}).as_object().unwrap().clone());
        let context = db.context_create(roadmap, metadata).unwrap().context;
        let mut draft =
            NewThought::new(ThoughtType::Decision, "based on n1").session("session 0").agent("ada");
        draft.context_id = Some(context.context_id);
        db.record(draft).unwrap();
    }
    // A session with memory, and a brief that a decision names.
    for session in ["memory", "session 0"] {
        db.session_open(NewSession { session_id: Some(session.into()), ..NewSession::default() }).unwrap();
        db.turn_begin(session, "What is there?", Some(format!("turn of {session}"))).unwrap();
        let read = json!({"op": "read", "type": "recipe", "id": "r1", "body": {"for": session}});
        db.entity_apply(session, vec![read], None, None).unwrap();
        let request =
            BriefRequest { session_id: session.into(), node: "act".into(), ..BriefRequest::default() };
        let brief = db.brief_build(&request, true).unwrap();
        let draft = NewThought::new(ThoughtType::Decision, "as the brief says").session(session).agent("ada");
        let brief_id = brief.brief_id.map(|id| id.to_string());
        db.record(NewThought { brief_id, ..draft }).unwrap();
    }
    db.checkpoint().unwrap();
    db.record(NewThought::new(ThoughtType::Plan, "after the checkpoint").session("session 1").agent("ada"))
        .unwrap();
    db.checkpoint().unwrap();
    for thought in db.tree("session 0", false).unwrap().iter().take(6) {
        let (target, text) = (thought.id.to_string(), format!("about {}", thought.id));
        let verdict = ReviewVerdict::ALL[usize::from(thought.id.as_str().ends_with('1'))];
        db.add_review(NewReview { target, verdict, text, actor: "ann".into() }).unwrap();
    }
    // Sealed contents, and redactions of every kind.
    let sealed =
        |text: &str| NewThought::new(ThoughtType::Analysis, text).session("session 1").agent("ada").seal();
    let mut blanked: Vec<String> =
        (0..4).map(|i| db.record(sealed(&format!("secret {i}"))).unwrap().id.to_string()).collect();
    blanked.truncate(1);
    blanked.extend(db.tree("session 1", false).unwrap().iter().take(2).map(|thought| thought.id.to_string()));
    let request =
        BriefRequest { session_id: "memory".into(), node: "think".into(), ..BriefRequest::default() };
    blanked.extend(db.brief_build(&request, true).unwrap().brief_id.map(|id| id.to_string()));
    for target in blanked {
        db.redact(&Redact { target, actor: "ann".into(), reason: "a name".into() }).unwrap();
    }
    // Enough of them for a tile of the tree.
    let more = (0..200)
        .map(|i| NewThought::new(ThoughtType::Plan, format!("one more, {i}")).session("long").agent("ada"));
    more.map(|draft| db.record_async(draft)).collect::<Vec<_>>().into_iter().for_each(drop);
    // A search makes the index cover all of it.
    let query = cairn::SearchQuery { query: "thought".into(), ..Default::default() };
    assert!(!db.search(&query).unwrap().results.is_empty());
    db.wait_for_folds(2);
    db.check();
    db
}

/// A copy of the file, opened behind Cairn's back with every trigger noted and dropped.
struct Copy {
    folder: tempfile::TempDir,
    sql: Connection,
    triggers: Vec<String>,
    options: Options,
    /// The heads of the database that was copied, as if the copy were in its place.
    outside: Outside,
}

impl Copy {
    fn of(db: &TestCairn) -> Copy {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        db.backup(&path, &mut |_| {}).unwrap();
        let sql = Connection::open(&path).unwrap();
        let list = |column: &str| -> Vec<String> {
            let query = format!("SELECT {column} FROM sqlite_schema WHERE type = 'trigger'");
            sql.prepare(&query)
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect()
        };
        let triggers = list("sql");
        for name in list("name") {
            sql.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        }
        let origin = db.status().unwrap().origin;
        let remembered = HeadFolder::new(db.folder().join("heads")).read(&origin).unwrap();
        let here = Some(cairn::place_name(&db.path()));
        let outside = Outside { remembered, here, ..Outside::default() };
        Copy { folder, sql, triggers, options: db.options(), outside }
    }

    /// Puts the triggers back, so that nothing but the change itself can be found.
    fn verify(self) -> Report {
        for trigger in &self.triggers {
            self.sql.execute_batch(trigger).unwrap();
        }
        self.sql.close().unwrap();
        let copy = self.options.open(self.folder.path().join("copy.db")).unwrap();
        copy.verify_against(&Scope::All, self.outside, &|_| {}).unwrap()
    }
}

/// Tables outside the evidence. Tokens say who may come in, not what was recorded: the log does not tell of them, so
/// nothing could tell whether they were changed. Whoever can write the file can add one as well, and what is recorded
/// with it still stands in the log.
pub const OUTSIDE: [&str; 1] = ["token"];

/// Tables whose rows we write, and those that FTS5 keeps beneath `search`.
fn tables(sql: &Connection) -> Vec<String> {
    let all: Vec<String> = sql
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('search', 'rag_search')
             ORDER BY name",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(OUTSIDE.iter().all(|outside| all.iter().any(|table| table == outside)));
    all.into_iter().filter(|table| !OUTSIDE.contains(&table.as_str())).collect()
}

fn columns(sql: &Connection, table: &str) -> Vec<String> {
    sql.prepare(&format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// All rows of a table, as SQLite holds them.
fn rows(sql: &Connection, table: &str, columns: &[String]) -> Vec<Vec<Value>> {
    sql.prepare(&format!("SELECT {} FROM {table}", columns.join(", ")))
        .unwrap()
        .query_map([], |row| (0..columns.len()).map(|i| row.get(i)).collect())
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn find(row: &[Value], columns: &[String]) -> String {
    assert_eq!(row.len(), columns.len());
    columns
        .iter()
        .enumerate()
        .map(|(i, column)| format!("{column} IS ?{}", i + 1))
        .collect::<Vec<_>>()
        .join(" AND ")
}

/// Another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => Value::Text("something".into()),
        Value::Integer(number) => Value::Integer(number + 1),
        Value::Real(number) => Value::Real(number + 1.0),
        Value::Text(text) => Value::Text(match text.chars().last() {
            Some('x') => format!("{}y", &text[..text.len() - 1]),
            Some(last) => format!("{}x", &text[..text.len() - last.len_utf8()]),
            None => "x".into(),
        }),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            match bytes.len() {
                0 => bytes.push(1),
                length => bytes[length / 2] ^= 1,
            }
            Value::Blob(bytes)
        }
    }
}

/// A row that is neither the first nor the last where there are enough.
fn pick(rows: &[Vec<Value>], salt: usize) -> usize {
    (rows.len() / 2 + salt * 7) % rows.len()
}

#[test]
fn any_changed_cell_is_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    let model = Copy::of(&db).sql;
    let mut tried = 0;
    for table in tables(&model) {
        let columns = columns(&model, &table);
        let rows = rows(&model, &table, &columns);
        assert!(!rows.is_empty(), "{table} is empty: fill it");
        for (index, column) in columns.iter().enumerate() {
            // Prefer a row in which the column holds something.
            let start = pick(&rows, index);
            let order = (0..rows.len()).map(|i| &rows[(start + i) % rows.len()]);
            let row = order.clone().find(|row| row[index] != Value::Null).unwrap_or(&rows[start]);
            let copy = Copy::of(&db);
            let mut values = row.clone();
            values.push(match (&row[index], column.as_str()) {
                (Value::Null, "context_id") => Value::Integer(7),
                (value, _) => changed(value),
            });
            let update =
                format!("UPDATE {table} SET {column} = ?{} WHERE {}", values.len(), find(row, &columns));
            match copy.sql.execute(&update, params_from_iter(&values)) {
                Ok(count) => assert_eq!(count, 1, "{table}.{column}"),
                // The database itself does not allow it: a CHECK, or a uniqueness that makes a fork impossible.
                Err(error) => {
                    let code = error.sqlite_error_code();
                    assert_eq!(
                        code,
                        Some(rusqlite::ErrorCode::ConstraintViolation),
                        "{table}.{column}: {error}"
                    );
                    continue;
                }
            }
            let report = copy.verify();
            assert!(
                !report.valid(),
                "{table}.{column} was changed, and nothing was found: {:?}",
                values.last()
            );
            assert!(!report.findings[0].message.is_empty());
            tried += 1;
        }
    }
    assert!(tried > 60, "{tried}");
}

#[test]
fn any_deleted_row_is_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    let model = Copy::of(&db).sql;
    for table in tables(&model) {
        let columns = columns(&model, &table);
        let rows = rows(&model, &table, &columns);
        for row in [&rows[0], &rows[rows.len() / 2], &rows[rows.len() - 1]] {
            let copy = Copy::of(&db);
            let delete = format!("DELETE FROM {table} WHERE {}", find(row, &columns));
            assert_eq!(copy.sql.execute(&delete, params_from_iter(row)).unwrap(), 1, "{table}");
            let report = copy.verify();
            if table == "fold" {
                // Nothing says that there is one: without it, the events are folded from the first.
                assert!(report.valid(), "{:?}", report.findings);
                continue;
            }
            assert!(!report.valid(), "a row of {table} was deleted, and nothing was found");
        }
    }
}

#[test]
fn any_doubled_row_is_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    let model = Copy::of(&db).sql;
    for table in tables(&model) {
        let columns = columns(&model, &table);
        let rows = rows(&model, &table, &columns);
        let unique = |column: &str| {
            matches!(
                (table.as_str(), column),
                (_, "seq" | "no" | "id" | "one" | "name" | "idempotency_key")
                    | ("tile", "idx")
                    | ("thought", "position" | "step_index")
                    | ("context" | "event", "position")
                    | ("memory" | "fold", "session_no")
                    | ("body", "sha256")
                    | ("snapshot", "content_hash")
                    | ("search_idx" | "rag_search_idx", "term")
                    | ("search_config" | "rag_search_config", "k")
            )
        };
        let copy = Copy::of(&db);
        let row: Vec<Value> = columns
            .iter()
            .zip(&rows[rows.len() / 2])
            .map(|(column, value)| match value {
                Value::Integer(number) if unique(column) => Value::Integer(number + 100_000),
                Value::Text(text) if unique(column) => Value::Text(format!("{text} again")),
                Value::Blob(bytes) if unique(column) => Value::Blob([&bytes[..], b"again"].concat()),
                other => other.clone(),
            })
            .collect();
        let places: Vec<String> = (1..=columns.len()).map(|i| format!("?{i}")).collect();
        let insert = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "));
        match copy.sql.execute(&insert, params_from_iter(&row)) {
            Ok(_) => {}
            Err(error) => {
                let code = error.sqlite_error_code();
                assert_eq!(code, Some(rusqlite::ErrorCode::ConstraintViolation), "{table}: {error}");
                continue;
            }
        }
        let report = copy.verify();
        assert!(!report.valid(), "a row of {table} was doubled, and nothing was found");
    }
}

#[test]
fn any_two_swapped_rows_are_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    for (table, key, columns) in [
        ("thought", "seq", "id, content, content_hash"),
        ("thought", "seq", "content, metadata, salt, content_hash"),
        ("entry", "seq", "kind, leaf, leaf_hash"),
        ("entry", "seq", "leaf"),
        ("thought", "seq", "leaf_hash"),
        ("event", "seq", "leaf_hash"),
        ("task", "no", "length, head"),
        ("session", "no", "length"),
        ("search_docsize", "id", "sz"),
        ("snapshot", "no", "data"),
        ("context", "id", "snapshot_no"),
        ("context", "id", "created_at, metadata, salt"),
        ("roadmap", "no", "length"),
        ("rag_documents", "no", "node"),
        ("event", "seq", "kind, body"),
        ("body", "rowid", "data"),
        ("brief", "seq", "hash, data"),
        ("memory", "session_no", "newest"),
        ("seal", "seq", "key"),
        ("fold", "session_no", "seq, sha256, state"),
        ("fold", "session_no", "state"),
    ] {
        let copy = Copy::of(&db);
        let sql = &copy.sql;
        let keys: Vec<i64> = sql
            .prepare(&format!("SELECT {key} FROM {table} ORDER BY {key}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        // Two that differ: sizes of documents and lengths of chains are often equal.
        let all = |k: i64| -> Vec<Value> {
            let count = columns.split(", ").count();
            sql.query_row(&format!("SELECT {columns} FROM {table} WHERE {key} = {k}"), [], |row| {
                (0..count).map(|i| row.get(i)).collect()
            })
            .unwrap()
        };
        let first = keys[keys.len() / 3];
        let Some(&second) = keys.iter().rev().find(|k| all(**k) != all(first)) else {
            panic!("{table}: no two rows differ in {columns}")
        };
        let (a, b) = (all(first), all(second));
        let update = |k: i64, values: &[Value]| {
            let set: Vec<String> =
                columns.split(", ").enumerate().map(|(i, column)| format!("{column} = ?{}", i + 1)).collect();
            sql.execute(
                &format!("UPDATE {table} SET {} WHERE {key} = {k}", set.join(", ")),
                params_from_iter(values),
            )
            .unwrap();
        };
        if columns.starts_with("id") {
            sql.execute(&format!("UPDATE {table} SET id = 'elsewhere' WHERE {key} = {first}"), []).unwrap();
        }
        update(second, &a);
        update(first, &b);
        assert!(
            !copy.verify().valid(),
            "{columns} of two rows of {table} were swapped, and nothing was found"
        );
    }
}

/// What cannot be read must not pass for what is not there: text that is no UTF-8, where nothing was written.
#[test]
fn a_value_that_cannot_be_read_is_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    for (table, column, key) in [
        ("context", "metadata", "id = 1"),
        ("context", "created_at", "id = 1"),
        ("roadmap", "name", "no = 1"),
        ("snapshot", "data", "no = 1"),
        ("thought", "metadata", "metadata IS NULL"),
        ("event", "idempotency_key", "seq = (SELECT seq FROM event WHERE idempotency_key IS NULL LIMIT 1)"),
        ("event", "kind", "position = 0"),
        ("event", "body", "position = 0"),
        ("body", "data", "true"),
        ("brief", "node", "true"),
        ("brief", "data", "true"),
        ("fold", "state", "true"),
        ("rag_documents", "node", "no = (SELECT min(no) FROM rag_documents)"),
    ] {
        let copy = Copy::of(&db);
        let update = format!("UPDATE {table} SET {column} = CAST(x'ff' AS TEXT) WHERE {key}");
        assert!(copy.sql.execute(&update, []).unwrap() > 0);
        assert!(!copy.verify().valid(), "{column} of {table} is no text, and nothing was found");
    }
}

/// Where SQLite compares, the text `7` in a column of numbers is the number 7; where it is read, it is none. STRICT tables
/// refuse it, until someone has taken the word out of the schema and put it back.
#[test]
fn a_number_that_is_stored_as_text_is_found() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    let model = Copy::of(&db).sql;
    let mut tried = 0;
    for table in tables(&model) {
        let query = format!("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = '{table}'");
        let strict: String = model.query_row(&query, [], |row| row.get(0)).unwrap();
        if !strict.contains("STRICT") {
            continue;
        }
        let key = "INTEGER PRIMARY KEY";
        let loose = strict.replace(") STRICT, ", ") ").replace(") STRICT", ")");
        let loose = loose.replace(key, "#").replace("INTEGER", "").replace('#', key);
        for column in columns(&model, &table) {
            let copy = Copy::of(&db);
            let schema = |sql: &str| {
                let change = "UPDATE sqlite_schema SET sql = ?1 WHERE type = 'table' AND name = ?2";
                copy.sql.execute_batch("PRAGMA writable_schema = ON").unwrap();
                assert_eq!(copy.sql.execute(change, [sql, &table]).unwrap(), 1);
                copy.sql.execute_batch("PRAGMA writable_schema = RESET").unwrap();
            };
            schema(&loose);
            let change = format!(
                "UPDATE {table} SET {column} = CAST({column} AS TEXT) WHERE typeof({column}) = 'integer'"
            );
            let changed = copy.sql.execute(&change, []).unwrap();
            let query = format!("SELECT count(*) FROM {table} WHERE typeof({column}) = 'text'");
            let texts: usize = copy.sql.query_row(&query, [], |row| row.get(0)).unwrap();
            schema(&strict);
            if changed > 0 && texts >= changed {
                assert!(!copy.verify().valid(), "{column} of {table} holds texts, and nothing was found");
                tried += 1;
            }
        }
    }
    assert!(tried > 15, "{tried}");
}
