//! The twin of `tamper` on PostgreSQL: for every column of every table one cell of one row is changed by a role that may
//! do everything, with triggers off, and `verify` must name a place. Likewise for rows that are deleted, doubled and
//! swapped, and for everything that stands in the schema. All of it is found out from the catalogue, so that a new column
//! needs no new test.

use cairn::{Options, Scope};

use crate::harness::{Sql, TestCairn, copy, on_postgres, tables};
use crate::tamper::{OUTSIDE, filled};

/// A database that is changed, and put back from the one beside it.
pub struct Scene {
    pub db: TestCairn,
    pub sql: Sql,
    pristine: String,
}

impl Scene {
    pub fn new() -> Scene {
        let db = filled();
        // What is derived or kept in idle moments must not change while rows are compared.
        db.cairn.clone().close();
        let place = db.place("pristine.db");
        copy(&db.path(), &place);
        let pristine = place.to_str().unwrap().split_once("?schema=").unwrap().1.to_string();
        let sql = db.sql();
        Scene { db, sql, pristine }
    }

    pub fn options(&self) -> Options {
        self.db.options().create(false).automatic_checkpoints(false)
    }

    /// Changes something; whether that is found, or that the database itself does not allow it.
    fn is_found_after(&self, change: &str) -> Result<bool, String> {
        self.sql.unprotected(|sql| sql.execute_batch(change))?;
        match self.options().open(self.db.path()) {
            Ok(cairn) => {
                let report = cairn.verify(&Scope::All).unwrap_or_else(|error| panic!("{change}: {error:?}"));
                assert!(report.findings.iter().all(|finding| !finding.message.is_empty()));
                Ok(!report.valid())
            }
            // A database of which it is not even known what it is.
            Err(error) => {
                assert!(change.contains("cairn_version"), "{change}: {error}");
                Ok(true)
            }
        }
    }

    pub fn put_back(&self, table: &str) {
        let rows = format!(
            "TRUNCATE {table}; INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM {}.{table}",
            self.pristine
        );
        self.sql.unprotected(|sql| sql.execute_batch(&rows).unwrap());
    }

    pub fn tables(&self) -> Vec<String> {
        let all = tables(&self.sql);
        assert!(OUTSIDE.iter().all(|outside| all.iter().any(|table| table == outside)));
        all.into_iter().filter(|table| !OUTSIDE.contains(&table.as_str())).collect()
    }

    /// The columns of a table with their types.
    pub fn columns(&self, table: &str) -> Vec<(String, String)> {
        let list = "SELECT column_name::TEXT, data_type::TEXT FROM information_schema.columns
                    WHERE table_schema = current_schema() AND table_name = ?1 ORDER BY ordinal_position";
        self.sql.query(list, [table], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    pub fn count(&self, table: &str) -> u64 {
        self.sql.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    fn check(&self) {
        let report = self.options().open(self.db.path()).unwrap().verify(&Scope::All).unwrap();
        assert!(report.valid(), "{:#?}", report.findings);
    }
}

/// Whether the database itself does not allow it: a CHECK, a uniqueness that makes a fork impossible, or a number that only
/// the database gives.
pub fn is_impossible(error: &str) -> bool {
    error.contains("violates") || error.contains("can only be updated to DEFAULT")
}

/// Another value of the same type, in SQL.
pub fn changed(column: &str, kind: &str) -> String {
    match kind {
        "bigint" | "integer" => format!("coalesce({column}, 6) + 1"),
        "text" => format!(
            "CASE WHEN {column} IS NULL THEN 'something' WHEN right({column}, 1) = 'x' THEN left({column}, -1) || 'y'
             ELSE left({column}, -1) || 'x' END"
        ),
        "bytea" => format!(
            "CASE WHEN coalesce(length({column}), 0) = 0 THEN '\\x01'::BYTEA
             ELSE set_byte({column}, length({column}) / 2, get_byte({column}, length({column}) / 2) # 1) END"
        ),
        "tsvector" => format!("{column} || 'slipped:1'::TSVECTOR"),
        other => panic!("no other value of type {other} is known: say what it would be"),
    }
}

/// The row in the middle of those in which something stands in a column; of all, if it stands in none.
pub fn middle(table: &str, column: &str) -> String {
    format!(
        "ctid = (SELECT ctid FROM {table} ORDER BY {column} IS NULL, ctid
           OFFSET (SELECT CASE count({column}) WHEN 0 THEN count(*) ELSE count({column}) END / 2 FROM {table}) LIMIT 1)"
    )
}

#[test]
fn any_changed_cell_is_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    let mut tried = 0;
    for table in scene.tables() {
        assert!(scene.count(&table) > 0, "{table} is empty: fill it");
        for (column, kind) in scene.columns(&table) {
            let (value, row) = (changed(&column, &kind), middle(&table, &column));
            match scene.is_found_after(&format!("UPDATE {table} SET {column} = {value} WHERE {row}")) {
                Ok(found) => {
                    // Another fence says nothing about what is recorded: whoever sent something for the old one sends it again.
                    let is_evidence = (table.as_str(), column.as_str()) != ("log", "fence");
                    assert_eq!(found, is_evidence, "{table}.{column} was changed");
                    tried += 1;
                }
                Err(error) => assert!(is_impossible(&error), "{table}.{column}: {error}"),
            }
            scene.put_back(&table);
        }
    }
    assert!(tried > 60, "{tried}");
    scene.check();
}

#[test]
fn any_deleted_row_is_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    for table in scene.tables() {
        let count = scene.count(&table);
        let mut places = vec![0, count / 2, count - 1];
        places.dedup();
        for place in places {
            let row = format!("ctid = (SELECT ctid FROM {table} ORDER BY ctid OFFSET {place} LIMIT 1)");
            let found = scene.is_found_after(&format!("DELETE FROM {table} WHERE {row}")).unwrap();
            // Nothing says that there is a kept state: without it, the events are folded from the first.
            assert_eq!(found, table != "fold", "row {place} of {table} was deleted");
            scene.put_back(&table);
        }
    }
    scene.check();
}

#[test]
fn any_doubled_row_is_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    // Columns that are unique by themselves or with others, and so cannot stay as they are.
    let unique = "SELECT DISTINCT a.attname::TEXT FROM pg_index i JOIN pg_attribute a
                    ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                  WHERE i.indisunique AND i.indrelid = (current_schema() || '.' || ?1)::regclass";
    for table in scene.tables() {
        let unique: Vec<String> = scene.sql.query(unique, [&table], |row| row.get(0)).unwrap();
        let columns = scene.columns(&table);
        let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
        let values: Vec<String> = columns
            .iter()
            .map(|(column, kind)| match (unique.contains(column), kind.as_str()) {
                (true, "bigint" | "integer") => format!("{column} + 100000"),
                (true, "text") => format!("{column} || ' again'"),
                (true, "bytea") => format!("{column} || 'again'::BYTEA"),
                _ => column.clone(),
            })
            .collect();
        let row = middle(&table, names[0]);
        let insert = format!(
            "INSERT INTO {table} ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {table} WHERE {row}",
            names.join(", "),
            values.join(", ")
        );
        match scene.is_found_after(&insert) {
            Ok(found) => assert!(found, "a row of {table} was doubled, and nothing was found"),
            Err(error) => assert!(is_impossible(&error), "{table}: {error}"),
        }
        scene.put_back(&table);
    }
    scene.check();
}

/// Every column that no key holds fast, of two rows that differ in it.
#[test]
fn any_two_swapped_cells_are_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    let mut tried = 0;
    for table in scene.tables() {
        for (column, _) in scene.columns(&table) {
            // The first row in which something stands, and the last in which something else does.
            let swap = format!(
                "WITH a AS (SELECT ctid AS place, {column} AS cell FROM {table} WHERE {column} IS NOT NULL ORDER BY ctid LIMIT 1),
                      b AS (SELECT t.ctid AS place, t.{column} AS cell FROM {table} t, a
                            WHERE t.{column} IS NOT NULL AND t.{column} <> a.cell ORDER BY t.ctid DESC LIMIT 1)
                 UPDATE {table} t SET {column} = CASE t.ctid WHEN a.place THEN b.cell ELSE a.cell END
                 FROM a, b WHERE t.ctid IN (a.place, b.place)"
            );
            let swapped = scene.sql.unprotected(|sql| sql.execute(&swap, []));
            match swapped {
                Ok(0) => continue,
                Ok(2) => {
                    let found = scene.is_found_after("").unwrap();
                    assert!(found, "{column} of two rows of {table} was swapped, and nothing was found");
                    tried += 1;
                }
                // Uniqueness is compared row by row.
                Err(error) => assert!(is_impossible(&error), "{table}.{column}: {error}"),
                Ok(other) => panic!("{table}.{column}: {other} rows"),
            }
            scene.put_back(&table);
        }
    }
    assert!(tried > 40, "{tried}");
    scene.check();
}

/// Nothing where something must be, and numbers as texts: verification comes to its end, and names more than the schema.
#[test]
fn a_value_of_another_form_is_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    let keys = "SELECT a.attname::TEXT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                WHERE i.indisprimary AND i.indrelid = (current_schema() || '.' || ?1)::regclass";
    let mut tried = 0;
    for table in scene.tables() {
        let keys: Vec<String> = scene.sql.query(keys, [&table], |row| row.get(0)).unwrap();
        for (column, kind) in scene.columns(&table) {
            let required = "SELECT attnotnull FROM pg_attribute WHERE attrelid = (current_schema() || '.' || ?1)::regclass
                            AND attname = ?2";
            let required: bool = scene.sql.query_row(required, (&table, &column), |row| row.get(0)).unwrap();
            if keys.contains(&column) || !required {
                continue;
            }
            let empty = format!(
                "ALTER TABLE {table} ALTER {column} DROP NOT NULL; UPDATE {table} SET {column} = NULL WHERE {}",
                middle(&table, &column)
            );
            assert!(
                scene.is_found_after(&empty).unwrap(),
                "{table}.{column} is empty, and nothing was found"
            );
            scene.put_back(&table);
            scene.sql.execute_batch(&format!("ALTER TABLE {table} ALTER {column} SET NOT NULL")).unwrap();
            tried += 1;
            // Columns that triggers name cannot be given another type.
            let retyped = format!("ALTER TABLE {table} ALTER {column} TYPE TEXT");
            if kind == "bigint" && scene.sql.execute_batch(&retyped).is_ok() {
                assert!(
                    scene.is_found_after(&format!("-- {table}.{column}")).unwrap(),
                    "{table}.{column} is text, and nothing was found"
                );
                let back = format!("ALTER TABLE {table} ALTER {column} TYPE BIGINT USING {column}::BIGINT");
                scene.sql.execute_batch(&back).unwrap();
            }
        }
    }
    assert!(tried > 40, "{tried}");
    scene.check();
}

/// A change of the schema, what undoes it, and what must be named.
struct Change {
    change: String,
    undo: String,
    names: String,
}

/// Everything that can be done to the schema, as much of it at once as goes together: each must be named.
#[test]
fn any_change_of_the_schema_is_found_on_postgres() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    let list = |text: &str| -> Vec<(String, String)> {
        scene.sql.query(text, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    let triggers = list(
        "SELECT tgname::TEXT, relname::TEXT FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
         WHERE relnamespace = current_schema()::regnamespace AND NOT tgisinternal",
    );
    assert!(triggers.len() > 20);
    let switched = |how: &str| -> Vec<Change> {
        let change = |(name, table): &(String, String)| Change {
            change: format!("ALTER TABLE {table} {how} TRIGGER {name}"),
            undo: format!("ALTER TABLE {table} ENABLE TRIGGER {name}"),
            names: format!("the trigger {name} on {table} was changed"),
        };
        triggers.iter().map(change).collect()
    };
    // But for those of keys, which cannot be without a value.
    let required = list(
        "SELECT table_name::TEXT, column_name::TEXT FROM information_schema.columns
         WHERE table_schema = current_schema() AND is_nullable = 'NO' AND is_identity = 'NO'
           AND (table_name, column_name) NOT IN (
             SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
             WHERE i.indisprimary AND c.relnamespace = current_schema()::regnamespace)",
    );
    let optional = required.iter().map(|(table, column)| Change {
        change: format!("ALTER TABLE {table} ALTER {column} DROP NOT NULL"),
        undo: format!("ALTER TABLE {table} ALTER {column} SET NOT NULL"),
        names: format!("the column {table}.{column} was changed"),
    });
    let indexes = list(
        "SELECT c.relname::TEXT, pg_get_indexdef(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE c.relnamespace = current_schema()::regnamespace
           AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid)",
    );
    let dropped = indexes.iter().map(|(name, undo)| Change {
        change: format!("DROP INDEX {name}"),
        undo: undo.clone(),
        names: format!("the index {name} is missing"),
    });
    let constraints = list(
        "SELECT 'ALTER TABLE ' || relname || ' DROP CONSTRAINT ' || conname || '|' || conname || ' of ' || relname,
           'ALTER TABLE ' || relname || ' ADD CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(k.oid)
         FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
         WHERE c.relnamespace = current_schema()::regnamespace AND contype NOT IN ('n', 'p')",
    );
    let unchecked = constraints.iter().map(|(change, undo)| {
        let (change, name) = change.split_once('|').unwrap();
        let names = format!("the constraint {name} is missing");
        Change { change: change.to_string(), undo: undo.clone(), names }
    });
    let others = [
        (
            "ALTER TABLE thought ALTER agent_id SET DEFAULT 'ada'",
            "ALTER TABLE thought ALTER agent_id DROP DEFAULT",
            "column thought.agent_id was changed",
        ),
        (
            "ALTER TABLE redaction ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE redaction DISABLE ROW LEVEL SECURITY",
            "table redaction was changed",
        ),
        ("CREATE POLICY p ON entry USING (seq < 7)", "DROP POLICY p ON entry", "policy p on entry"),
        ("CREATE RULE r AS ON INSERT TO checkpoint DO INSTEAD NOTHING", "DROP RULE r ON checkpoint", "rule r on"),
        ("ALTER TABLE body SET UNLOGGED", "ALTER TABLE body SET LOGGED", "table body was changed"),
        ("CREATE TABLE mine (a INT)", "DROP TABLE mine", "table mine does not belong"),
        ("CREATE TABLE child () INHERITS (seal)", "DROP TABLE child", "inheritance from seal"),
        ("CREATE VIEW v AS SELECT 1", "DROP VIEW v", "view v does not belong"),
        ("CREATE INDEX own ON thought (timestamp)", "DROP INDEX own", "index own does not belong"),
        (
            "ALTER TABLE redaction ADD CONSTRAINT c CHECK (seq > 0) NOT VALID",
            "ALTER TABLE redaction DROP CONSTRAINT c",
            "constraint c of redaction",
        ),
        (
            "CREATE FUNCTION mine(BYTEA) RETURNS INT LANGUAGE sql AS 'SELECT 32'",
            "DROP FUNCTION mine(BYTEA)",
            "function mine(bytea)",
        ),
        ("CREATE TYPE t AS ENUM ('a')", "DROP TYPE t", "type t does not belong"),
        (
            "ALTER FUNCTION only_blanked() SECURITY DEFINER",
            "ALTER FUNCTION only_blanked() SECURITY INVOKER",
            "function only_blanked() was changed",
        ),
        (
            "ALTER FUNCTION refuse() RENAME TO kept; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
               AS $$ BEGIN RETURN NULL; END $$",
            "DROP FUNCTION refuse(); ALTER FUNCTION kept() RENAME TO refuse",
            "function refuse() was changed",
        ),
        (
            "ALTER TABLE brief ADD COLUMN mine TEXT",
            "ALTER TABLE brief DROP COLUMN mine",
            "column brief.mine does not belong",
        ),
        (
            "CREATE TRIGGER mine BEFORE INSERT ON thought EXECUTE FUNCTION only_blanked('no')",
            "DROP TRIGGER mine ON thought",
            "trigger mine on thought does not belong",
        ),
        ("UPDATE cairn_version SET version = 0", "UPDATE cairn_version SET version = 11", "the version of the schema"),
    ];
    let others = others.map(|(change, undo, names)| Change {
        change: change.to_string(),
        undo: undo.to_string(),
        names: names.to_string(),
    });
    let cairn = scene.options().open(scene.db.path()).unwrap();
    for group in [
        switched("DISABLE"),
        switched("ENABLE REPLICA"),
        optional.collect(),
        dropped.collect(),
        unchecked.collect(),
        others.into_iter().collect(),
    ] {
        for change in &group {
            scene
                .sql
                .execute_batch(&change.change)
                .unwrap_or_else(|error| panic!("{}: {error}", change.change));
        }
        let report = cairn.verify(&Scope::All).unwrap();
        for Change { change, names, .. } in &group {
            let named = report.findings.iter().any(|finding| finding.message.contains(names.as_str()));
            assert!(named, "nobody says {names:?} after {change}: {:#?}", report.findings);
        }
        for change in group.iter().rev() {
            scene.sql.execute_batch(&change.undo).unwrap_or_else(|error| panic!("{}: {error}", change.undo));
        }
        scene.check();
    }
}

/// A file says what the schema looks like that this program makes; it is compared with what was made.
#[test]
fn the_expected_schema_is_the_one_that_is_made() {
    if !on_postgres() {
        return;
    }
    let db = TestCairn::new();
    let objects = include_str!("../../migrations/postgres/objects.sql");
    let lines = db
        .sql()
        .query(objects, [], |row| Ok(format!("{}\t{}\n", row.get::<String>(0)?, row.get::<String>(1)?)));
    let made: String = lines.unwrap().concat();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres/expected.txt");
    if std::env::var_os("CAIRN_UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert!(
        expected == made,
        "expected.txt is out of date: run this with CAIRN_UPDATE_SCHEMA=1, and build again"
    );
}
