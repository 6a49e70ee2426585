//! Files as older versions wrote them: their schema, with the rows that they knew.

use cairn::core::Sha;
use cairn::{
    BriefRequest, Cairn, KeyFolder, NewSession, NewThought, Options, Scope, SearchQuery, ThoughtType,
};
use rusqlite::Connection;
use serde_json::json;

const MIGRATIONS: [&str; 5] = [
    include_str!("../../../migrations/sqlite/0001_trail.sql"),
    include_str!("../../../migrations/sqlite/0002_snapshots.sql"),
    include_str!("../../../migrations/sqlite/0003_memory.sql"),
    include_str!("../../../migrations/sqlite/0004_proof.sql"),
    include_str!("../../../migrations/sqlite/0005_tokens.sql"),
];

/// The version that is not old.
pub const NEWEST: usize = MIGRATIONS.len();

/// Makes a file of that version, opens it, verifies it, and goes on in it. Its derived tables are caught up, or empty.
pub fn from(version: usize, caught_up: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (new, old) = (folder.path().join("new.db"), folder.path().join("old.db"));
    let roadmaps = folder.path().join("roadmaps");
    std::fs::create_dir(&roadmaps).unwrap();
    let cairn = Options::new().automatic_checkpoints(false).roadmaps(&roadmaps).open(&new).unwrap();
    record(&cairn, version, folder.path());
    cairn.close();
    let sql = Connection::open(&old).unwrap();
    for migration in &MIGRATIONS[..version] {
        sql.execute_batch(migration).unwrap();
    }
    take_rows(&sql, &new, caught_up, version);
    sql.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA application_id = 0x4341524e; PRAGMA user_version = {version}"
    ))
    .unwrap();
    sql.close().unwrap();
    let options = || {
        let options = Options::new().signer(KeyFolder::new(folder.path().join("keys")));
        options.heads(folder.path().join("heads")).roadmaps(&roadmaps)
    };
    for round in 0..2 {
        let cairn = options().open(&old).unwrap();
        silent(&cairn, version);
        let query = SearchQuery { query: "thought".into(), ..SearchQuery::default() };
        assert!(cairn.search(&query).unwrap().results.len() > 3, "version {version}");
        silent(&cairn, version);
        record(&cairn, NEWEST, folder.path());
        cairn.checkpoint().unwrap();
        silent(&cairn, version);
        if round == 1 {
            cairn.rebuild().unwrap();
            silent(&cairn, version);
        }
        cairn.close();
    }
}

fn silent(cairn: &Cairn, version: usize) {
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(report.valid(), "version {version}: {:#?}", report.findings);
}

/// Records that the version could make.
fn record(cairn: &Cairn, version: usize, folder: &std::path::Path) {
    let mut parent = None;
    for i in 0..12 {
        let mut draft = NewThought::new(ThoughtType::ALL[i % 4], format!("thought {i}"))
            .session(format!("session {}", i % 2))
            .task("task")
            .agent("ada")
            .action(format!("action {}", i % 3))
            .metadata(json!({"i": i}).as_object().unwrap().clone());
        draft.parent_id = parent.take().filter(|_| i % 2 == 0);
        let thought =
            cairn.record(draft.clone()).or_else(|_| cairn.record(NewThought { parent_id: None, ..draft }));
        parent = Some(thought.unwrap().id.to_string());
    }
    if version >= 2 {
        for label in ["A", "B"] {
            let plan = json!({"title": "Plan", "nodes": [{"id": "a", "label": label}]});
            std::fs::write(folder.join("roadmaps/import.json"), plan.to_string()).unwrap();
            let mut draft =
                NewThought::new(ThoughtType::Decision, "begin with a").session("session 0").agent("ada");
            draft.context_id = Some(cairn.context_create("import", None).unwrap().context.context_id);
            cairn.record(draft).unwrap();
        }
    }
    if version >= 3 {
        cairn.session_open(NewSession { session_id: Some("talk".into()), ..NewSession::default() }).unwrap();
        cairn.turn_begin("talk", "What is there?", None).unwrap();
        let read = json!({"op": "read", "type": "recipe", "id": "r1", "body": {"name": "soup"}});
        cairn.entity_apply("talk", vec![read], None, None).unwrap();
        let request =
            BriefRequest { session_id: "talk".into(), node: "act".into(), ..BriefRequest::default() };
        cairn.brief_build(&request, true).unwrap();
        cairn.turn_end("talk", "soup", None, None).unwrap();
    }
    if version >= 4 {
        let secret = NewThought::new(ThoughtType::Plan, "secret").session("session 0").agent("ada").seal();
        cairn.record(secret).unwrap();
        cairn.checkpoint().unwrap();
    }
}

/// Takes the rows of the new file that the old tables have a place for.
fn take_rows(sql: &Connection, new: &std::path::Path, caught_up: bool, version: usize) {
    sql.execute("ATTACH ?1 AS new", [new.to_str().unwrap()]).unwrap();
    let tables: Vec<String> = list(
        sql,
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE '%search%' AND name NOT LIKE 'rag%'",
    );
    for table in tables {
        if ["derived", "action"].contains(&table.as_str()) {
            continue;
        }
        let columns = list(sql, &format!("SELECT name FROM pragma_table_info('{table}')")).join(", ");
        sql.execute_batch(&format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}"))
            .unwrap();
    }
    sql.execute_batch("INSERT INTO derived (one, through, segments) VALUES (1, 0, x'')").unwrap();
    if !caught_up {
        return;
    }
    sql.execute_batch(
        "UPDATE derived SET through = (SELECT size - 1 FROM log);
         INSERT INTO action SELECT action_id, seq FROM thought WHERE action_id IS NOT NULL;
         INSERT INTO search (rowid, content, metadata, scope) SELECT seq, content, metadata, scope FROM search_source;
         INSERT INTO search (search) VALUES ('flush');",
    )
    .unwrap();
    note(sql, "search", "segments");
    if version >= 2 {
        sql.execute_batch(
            "INSERT INTO rag_documents SELECT * FROM new.rag_documents;
             INSERT INTO rag_search (rowid, id, label, scope, phase) SELECT no, id, label, scope, phase FROM rag_source;
             INSERT INTO rag_search (rag_search) VALUES ('flush');",
        )
        .unwrap();
        note(sql, "rag_search", "rag_segments");
    }
}

fn note(sql: &Connection, table: &str, column: &str) {
    let list: Vec<u8> = sql
        .query_row(&format!("SELECT block FROM {table}_data WHERE id = 10"), [], |row| row.get(0))
        .unwrap();
    sql.execute(&format!("UPDATE derived SET {column} = ?1"), [Sha::of(&list).0]).unwrap();
}

fn list(sql: &Connection, query: &str) -> Vec<String> {
    sql.prepare(query).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}
