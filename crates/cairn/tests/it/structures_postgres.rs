//! Indexes that do not agree with their tables, made by a superuser who switches an index off while rows are written.
//! The rows are as they were, so nothing but the index can tell. Every change is looked for twice: by a superuser, for whom
//! `verify` calls `amcheck`, and by a role that may only read.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use cairn::{NewThought, Redact, Report, Scope, SearchQuery, ThoughtType};

use crate::harness::{Sql, TestCairn, on_postgres, tables};
use crate::tamper_postgres::Scene;

/// An index of the schema.
pub struct Index {
    pub name: String,
    pub table: String,
    keys: Vec<(String, String)>,
    /// Which rows it covers.
    covers: String,
}

/// Every index of a table in which something stands.
pub fn indexes(sql: &Sql) -> Vec<Index> {
    let list = "SELECT i.relname::TEXT, c.relname::TEXT, coalesce(pg_get_expr(x.indpred, x.indrelid), 'true'),
                  (SELECT string_agg(quote_ident(attname) || ' ' || format_type(atttypid, atttypmod), ',' ORDER BY k.place)
                   FROM unnest(x.indkey) WITH ORDINALITY AS k (number, place)
                     JOIN pg_attribute ON attrelid = x.indrelid AND attnum = k.number)
                FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
                WHERE c.relnamespace = current_schema()::regnamespace ORDER BY i.relname";
    let found = sql.query(list, [], |row| {
        let keys: String = row.get(3)?;
        let pair =
            |key: &str| key.split_once(' ').map(|(key, kind)| (key.to_string(), kind.to_string())).unwrap();
        Ok(Index {
            name: row.get(0)?,
            table: row.get(1)?,
            covers: row.get(2)?,
            keys: keys.split(',').map(pair).collect(),
        })
    });
    let filled = |index: &Index| {
        let count = format!("SELECT count(*) FROM {} WHERE {}", index.table, index.covers);
        sql.query_row(&count, [], |row| row.get::<i64>(0)).unwrap() > 0
    };
    let mut all = found.unwrap();
    all.retain(filled);
    all
}

/// Changes rows while PostgreSQL knows nothing of an index, because one of its flags is off. A new connection has not seen
/// the flag as it was.
pub fn behind<T>(db: &TestCairn, index: &str, flag: &str, change: impl FnOnce(&Sql) -> T) -> T {
    let set = |to: bool| format!("UPDATE pg_index SET {flag} = {to} WHERE indexrelid = '{index}'::regclass");
    db.sql().execute_batch(&set(false)).unwrap();
    let changed = db.sql().unprotected(change);
    db.sql().execute_batch(&set(true)).unwrap();
    changed
}

impl Index {
    /// The place of a row that the index covers.
    fn row(&self, offset: u64) -> String {
        let Index { table, covers, .. } = self;
        let count = format!("SELECT count(*) FROM {table} WHERE {covers}");
        format!("(SELECT ctid FROM {table} WHERE {covers} ORDER BY ctid OFFSET {offset} % ({count}) LIMIT 1)")
    }

    /// One row loses its entry.
    pub fn forget(&self, db: &TestCairn, offset: u64) {
        let Index { table, .. } = self;
        let again = format!(
            "WITH gone AS (DELETE FROM {table} WHERE ctid = {row} RETURNING *)
             INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM gone",
            row = self.row(offset)
        );
        behind(db, &self.name, "indisready", |sql| sql.execute_batch(&again)).unwrap();
    }

    /// Two rows change keys, and change them back without the index, which then leads from each key to the other row.
    /// False if there are no two rows, or the table does not allow it.
    pub fn exchange(&self, db: &TestCairn, rows: [u64; 2]) -> bool {
        let Index { table, .. } = self;
        let sql = db.sql();
        let read: Vec<String> =
            self.keys.iter().map(|(key, _)| format!("quote_nullable({key}::text)")).collect();
        let mut found = rows.map(|row| {
            let select =
                format!("SELECT ctid::text, {} FROM {table} WHERE ctid = {}", read.join(", "), self.row(row));
            let cells = |row: &crate::harness::Row| (0..=read.len()).map(|column| row.get(column)).collect();
            let cells: Vec<String> = sql.query_row(&select, [], cells).unwrap();
            (cells[0].clone(), cells[1..].to_vec())
        });
        if found[0].1 == found[1].1 {
            return false;
        }
        let set = |values: &[String]| -> String {
            let each = self.keys.iter().zip(values).map(|((key, _), value)| format!("{key} = {value}"));
            each.collect::<Vec<_>>().join(", ")
        };
        let (last, kind) = self.keys.last().unwrap();
        let aside = match kind.as_str() {
            "bigint" | "integer" => format!("{last} = -1 - {last}"),
            "bytea" => format!("{last} = {last} || '\\x00'::bytea"),
            "text" => format!("{last} = {last} || ' aside'"),
            _ => format!("{last} = {last}"),
        };
        let [a, b] = [found[0].1.clone(), found[1].1.clone()];
        let mut change = |sql: &Sql, moves: [(usize, &str); 3]| {
            moves.iter().try_for_each(|(which, set)| {
                let place = &mut found[*which].0;
                let update = format!("UPDATE {table} SET {set} WHERE ctid = '{place}' RETURNING ctid::text");
                *place = sql.query_row(&update, [], |row| row.get(0))?;
                Ok::<_, String>(())
            })
        };
        let [a, b] = [set(&a), set(&b)];
        if sql.unprotected(|sql| change(sql, [(0, &aside), (1, &a), (0, &b)])).is_err() {
            return false;
        }
        behind(db, &self.name, "indislive", |sql| change(sql, [(0, &aside), (1, &b), (0, &a)])).unwrap();
        true
    }

    /// A row that the index does not cover gets an entry, and loses what put it there without the index. False if the index
    /// covers every row.
    pub fn add_stray(&self, db: &TestCairn, offset: u64) -> bool {
        let Index { table, covers, keys, .. } = self;
        let (key, value) = match keys[0].0.as_str() {
            "kind" => ("kind", "'redaction'"),
            "context_id" => ("context_id", "1"),
            "idempotency_key" => ("idempotency_key", "'stray'"),
            _ => return false,
        };
        let outside = format!("FROM {table} WHERE ({covers}) IS NOT TRUE");
        let pick = format!(
            "SELECT ctid::text, quote_nullable({key}::text) {outside} ORDER BY ctid
             OFFSET {offset} % (SELECT count(*) {outside}) LIMIT 1"
        );
        let sql = db.sql();
        let (row, was): (String, String) =
            sql.query_row(&pick, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let set = format!("UPDATE {table} SET {key} = {value} WHERE ctid = '{row}' RETURNING ctid::text");
        let row: String = sql.unprotected(|sql| sql.query_row(&set, [], |row| row.get(0))).unwrap();
        let back = format!("UPDATE {table} SET {key} = {was} WHERE ctid = '{row}'");
        behind(db, &self.name, "indislive", |sql| sql.execute_batch(&back)).unwrap();
        true
    }
}

impl Scene {
    /// The address for a role that may read everything, and may not call `amcheck`.
    pub fn reader(&self) -> PathBuf {
        let path = self.db.path().to_str().unwrap().to_string();
        let schema = path.split_once("?schema=").unwrap().1;
        let role = format!("reader_{schema}");
        let there: i64 = (self.sql)
            .query_row("SELECT count(*) FROM pg_roles WHERE rolname = ?1::text", [role.as_str()], |row| {
                row.get(0)
            })
            .unwrap();
        if there == 0 {
            let make = format!(
                "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role};
                 GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
            );
            self.sql.execute_batch(&make).unwrap();
        }
        PathBuf::from(path.replacen("://postgres@", &format!("://{role}@"), 1))
    }

    /// The findings of verification, as a superuser with `amcheck` and as a reader without.
    pub fn verified(&self) -> [Report; 2] {
        [self.db.path(), self.reader()]
            .map(|path| self.options().open(path).unwrap().verify(&Scope::All).unwrap())
    }

    fn assert_found(&self, names: &str, change: &str) {
        for (report, who) in self.verified().iter().zip(["with amcheck", "without amcheck"]) {
            let named = report.findings.iter().any(|finding| finding.message.contains(names));
            assert!(named, "{change}, {who}: nobody names {names}: {:#?}", report.findings);
        }
    }

    fn assert_sound(&self) {
        for report in self.verified() {
            assert!(report.valid(), "{:#?}", report.findings);
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let schema =
            self.sql.query_row("SELECT current_schema()::TEXT", [], |row| row.get::<String>(0)).unwrap();
        let role = format!("reader_{schema}");
        let _ = self.sql.execute_batch(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

/// Installs `amcheck`, which comes with the server (Debian) or in its package of contributed modules.
pub fn with_amcheck(sql: &Sql) {
    sql.execute_batch(
        "SELECT pg_advisory_lock(1); CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public; SELECT pg_advisory_unlock(1)",
    )
    .unwrap();
}

fn scene() -> Scene {
    let scene = Scene::new();
    with_amcheck(&scene.sql);
    // Room for a second version of each row on its page, which then needs no entry of its own.
    for table in tables(&scene.sql) {
        scene.sql.execute_batch(&format!("ALTER TABLE {table} SET (fillfactor = 40)")).unwrap();
        scene.put_back(&table);
    }
    scene.assert_sound();
    scene
}

#[test]
fn an_index_that_misses_a_row_is_found() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let all = indexes(&scene.sql);
    assert!(all.len() > 35, "{}", all.len());
    for index in &all {
        index.forget(&scene.db, 1);
        scene.assert_found(&index.name, &format!("{} misses a row", index.name));
        scene.put_back(&index.table);
    }
    scene.assert_sound();
}

#[test]
fn an_index_that_leads_to_another_row_is_found() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let mut tried = 0;
    for index in indexes(&scene.sql) {
        if index.exchange(&scene.db, [0, 1]) {
            tried += 1;
            scene.assert_found(&index.name, &format!("{} leads to another row", index.name));
        }
        scene.put_back(&index.table);
    }
    assert!(tried > 25, "{tried}");
    scene.assert_sound();
}

#[test]
fn an_entry_too_many_is_found() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let mut tried = 0;
    for index in indexes(&scene.sql) {
        if index.add_stray(&scene.db, 0) {
            tried += 1;
            scene.assert_found(&index.name, &format!("{} has an entry too many", index.name));
            scene.put_back(&index.table);
        }
    }
    assert_eq!(tried, 3);
    scene.assert_sound();
}

#[test]
fn the_file_of_another_index_is_found() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let swap = "UPDATE pg_class c SET relfilenode = o.relfilenode FROM pg_class o
                WHERE c.relnamespace = current_schema()::regnamespace AND o.relnamespace = c.relnamespace
                  AND (c.relname, o.relname) IN (('session_name_key', 'task_name_key'), ('task_name_key', 'session_name_key'))";
    scene.sql.execute_batch(swap).unwrap();
    // Every session has a task of its name, at the same place of its table: only the other way round rows are missed.
    scene.assert_found("task_name_key", "two indexes have each other's file");
    scene.sql.execute_batch(swap).unwrap();
    // Readers mark entries that lead nowhere as dead.
    scene.sql.execute_batch("REINDEX TABLE session; REINDEX TABLE task").unwrap();
    scene.assert_sound();
}

/// Flags that switch something off without a trace in its own definition.
#[test]
fn flags_of_the_catalogue_are_found() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let schema: String = scene.sql.query_row("SELECT current_schema()::TEXT", [], |row| row.get(0)).unwrap();
    let class = |flag: &str, value: &str, table: &str| {
        format!("UPDATE pg_class SET {flag} = {value} WHERE oid = '{table}'::regclass")
    };
    let hidden = |to: bool| {
        format!(
            "UPDATE pg_trigger SET tgisinternal = {to} WHERE tgname = 'mine' AND tgrelid = 'token'::regclass"
        )
    };
    let mine = "CREATE TRIGGER mine BEFORE UPDATE ON token FOR EACH ROW EXECUTE FUNCTION refuse('no');";
    let index = |flag: &str, to: bool| {
        format!("UPDATE pg_index SET {flag} = {to} WHERE indexrelid = 'thought_id_key'::regclass")
    };
    for (change, undo, names) in [
        (
            class("relhastriggers", "false", "entry"),
            class("relhastriggers", "true", "entry"),
            "table entry was changed",
        ),
        (
            class("relhasindex", "false", "thought"),
            class("relhasindex", "true", "thought"),
            "table thought was changed",
        ),
        (class("relchecks", "0", "log"), class("relchecks", "1", "log"), "table log was changed"),
        (
            format!("{mine}{}", hidden(true)),
            hidden(false) + "; DROP TRIGGER mine ON token",
            "trigger mine on token",
        ),
        (index("indisvalid", false), index("indisvalid", true), "index thought_id_key was changed"),
        (index("indisready", false), index("indisready", true), "index thought_id_key was changed"),
        (index("indimmediate", false), index("indimmediate", true), "index thought_id_key was changed"),
        (
            "CREATE COLLATION \"C\" (provider = icu, locale = 'und')".into(),
            format!("DROP COLLATION {schema}.\"C\""),
            "collation C does not belong",
        ),
        (
            "ALTER TABLE fold RENAME TO kept; CREATE VIEW fold AS SELECT * FROM kept; GRANT SELECT ON fold TO PUBLIC".into(),
            "DROP VIEW fold; ALTER TABLE kept RENAME TO fold".into(),
            "view fold does not belong",
        ),
    ] {
        scene.sql.execute_batch(&change).unwrap_or_else(|error| panic!("{change}: {error}"));
        scene.assert_found(names, &change);
        scene.sql.execute_batch(&undo).unwrap_or_else(|error| panic!("{undo}: {error}"));
    }
    scene.assert_sound();
}

/// PostgreSQL plans by what it knows of a table's size. Where a table is empty or short, many ways cost the same.
#[test]
fn every_index_is_compared_however_few_rows_a_table_has() {
    if !on_postgres() {
        return;
    }
    let assert_compared = |db: &TestCairn| {
        let report = db.options().create(false).open(db.path()).unwrap().verify(&Scope::All).unwrap();
        assert!(report.valid(), "{:#?}", report.findings);
        let not_compared = report.notes.iter().find(|note| note.contains("not compared"));
        assert_eq!(not_compared, None);
    };
    let vacuum = |sql: &Sql| {
        for table in tables(sql) {
            sql.execute_batch(&format!("VACUUM ANALYZE {table}")).unwrap();
        }
    };
    let db = TestCairn::new();
    let sql = db.sql();
    vacuum(&sql);
    assert_compared(&db);
    for rows in 1..4 {
        let draft = NewThought::new(ThoughtType::Plan, format!("thought {rows}")).session("s").agent("ada");
        db.cairn.record(draft).unwrap();
        assert_compared(&db);
        vacuum(&sql);
        assert_compared(&db);
    }
    let scene = Scene::new();
    vacuum(&scene.sql);
    assert_compared(&scene.db);
}

/// Honest work of every kind, while verification looks on: nothing is found.
#[test]
fn honest_work_raises_no_finding() {
    if !on_postgres() {
        return;
    }
    let scene = scene();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (cairn, stop) = (scene.options().open(scene.db.path()).unwrap(), &stop);
            scope.spawn(move || {
                for i in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let draft = NewThought::new(ThoughtType::Plan, format!("honest work {writer} {i}"))
                        .session(format!("session {}", i % 3))
                        .agent("ada")
                        .action(format!("action {i}"))
                        .idempotency_key(format!("{writer} {i}"));
                    // Maintenance locks whole tables, and a server may end a deadlock with a writer.
                    let worked = cairn.record(draft).and_then(|thought| {
                        if i % 7 == 0 {
                            let target = thought.id.to_string();
                            cairn.redact(&Redact { target, actor: "ann".into(), reason: "a name".into() })?;
                        }
                        if i % 5 == 0 {
                            cairn
                                .search(&SearchQuery { query: "honest".into(), ..SearchQuery::default() })?;
                        }
                        Ok(())
                    });
                    if let Err(error) = worked {
                        assert!(error.to_string().contains("nothing was written"), "{error}");
                    }
                }
            });
        }
        let verified = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for work in [
                "VACUUM",
                "ANALYZE",
                "REINDEX TABLE thought",
                "REINDEX INDEX CONCURRENTLY thought_id_key",
                "REINDEX TABLE CONCURRENTLY search",
                "VACUUM FULL search",
                "CLUSTER entry USING entry_pkey",
                "VACUUM (FREEZE)",
            ] {
                db_work(&scene.sql, work);
                scene.assert_sound();
            }
        }));
        stop.store(true, Ordering::Relaxed);
        if let Err(failed) = verified {
            std::panic::resume_unwind(failed);
        }
    });
    scene.assert_sound();
}

/// Maintenance waits for locks and may be chosen to end a deadlock; it is then done again.
fn db_work(sql: &Sql, work: &str) {
    let schema: String = sql.query_row("SELECT current_schema()::TEXT", [], |row| row.get(0)).unwrap();
    // Others' schemas are none of this test's business.
    let works: Vec<String> = match work {
        "VACUUM" | "ANALYZE" | "VACUUM (FREEZE)" => {
            tables(sql).iter().map(|table| format!("{work} {schema}.{table}")).collect()
        }
        _ => vec![work.to_string()],
    };
    for work in works {
        while let Err(error) = sql.execute_batch(&work) {
            assert!(error.contains("deadlock"), "{work}: {error}");
        }
    }
}
