//! If `verify` is silent, readers show what they showed before, or say that the database is damaged. A superuser changes
//! rows, indexes and the schema at random; the seed of each change is in the message of what fails.

use std::collections::HashMap;
use std::fmt::{Debug, Write as _};

use cairn::bundle::{ExportOptions, Selection};
use cairn::{Cairn, Error, Filter, NodeQuery, Scope, SearchQuery};

use crate::harness::{on_postgres, tables};
use crate::seeded::Seeded;
use crate::structures_postgres::{Index, behind, indexes, with_amcheck};
use crate::tamper::OUTSIDE;
use crate::tamper_postgres::{Scene, changed};

/// Every reader's answers, one line each: a name, and what it showed.
fn shown(cairn: &Cairn) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut show = |name: String, answer: Result<String, Error>| {
        lines.push((name, answer.unwrap_or_else(|error| format!("error: {error}"))));
    };
    fn text<T: Debug>(answer: Result<T, Error>) -> Result<String, Error> {
        answer.map(|answer| format!("{answer:#?}"))
    }
    let listed = cairn.list(&Filter { limit: Some(100), ..Filter::default() });
    for thought in listed.iter().flat_map(|page| &page.records) {
        let id = thought.id.as_str();
        show(format!("get {id}"), text(cairn.get(id)));
        show(format!("resolve {id}"), text(cairn.resolve(&id[..30])));
    }
    show("list".into(), text(listed));
    for session in ["session 0", "session 1", "memory", "nowhere"] {
        let of = |name: &str| format!("{name} of {session}");
        let filter = Filter { session_id: Some(session.into()), ..Filter::default() };
        show(of("list"), text(cairn.list(&filter)));
        let tree = cairn.tree(session, true);
        if let Some(last) = tree.as_ref().ok().and_then(|tree| tree.last()) {
            show(of("trail"), text(cairn.trail(last.id.as_str(), Some(session))));
        }
        show(of("tree"), text(tree));
        show(of("events"), text(cairn.session_events(session, 0, None)));
        show(of("turns"), text(cairn.turn_events(session, 0, 9)));
        show(of("entity"), text(cairn.entity_get(session, "recipe_1", None)));
        show(of("briefs"), text(cairn.briefs(Some(session), None)));
        show(of("export"), exported(cairn, Selection::Session(session.into())));
        let query =
            SearchQuery { query: "thought".into(), session_id: Some(session.into()), ..Default::default() };
        show(of("search"), text(cairn.search(&query)));
    }
    for brief in cairn.briefs(None, None).iter().flat_map(|briefs| briefs.iter()) {
        show(format!("brief {}", brief.brief_id), text(cairn.brief(brief.brief_id.as_str())));
    }
    for task in ["task 0", "task 1", "task 2", "session 0", "nowhere"] {
        let filter = Filter { task_id: Some(task.into()), ..Filter::default() };
        show(format!("list of {task}"), text(cairn.list(&filter)));
    }
    for i in (0..60).step_by(9) {
        show(format!("action {i}"), text(cairn.for_action(&format!("action {i}"))));
        show(format!("trail of action {i}"), text(cairn.reasoning_trail(&format!("action {i}"))));
    }
    for words in ["number", "many -3", "thou*", "\"number 7\"", "as OR child", "main", "secret"] {
        let query = SearchQuery { query: words.into(), limit: Some(100), ..Default::default() };
        show(format!("search {words}"), text(cairn.search(&query)));
        let query = NodeQuery { query: words.into(), roadmap_id: None, limit: None };
        show(format!("nodes {words}"), text(cairn.context_search(&query)));
    }
    show(
        "nodes step".into(),
        text(cairn.context_search(&NodeQuery { query: "step".into(), roadmap_id: None, limit: None })),
    );
    for roadmap in ["import", "export", "nowhere"] {
        show(format!("history of {roadmap}"), text(cairn.context_history(roadmap, None)));
        show(format!("latest of {roadmap}"), text(cairn.context_latest(roadmap)));
        show(format!("drift of {roadmap}"), text(cairn.drift(Some(roadmap), None)));
    }
    for context in 1..6 {
        show(format!("context {context}"), text(cairn.context(context)));
        show(format!("thoughts on {context}"), text(cairn.thoughts_on(context, 50)));
    }
    show("drift".into(), text(cairn.drift(None, None)));
    show("sessions".into(), text(cairn.session_list(None)));
    show("entries".into(), text(cairn.entries_since(0, 200)));
    show("checkpoints".into(), text(cairn.checkpoints(9)));
    show("proof".into(), text(cairn.prove(9)));
    show("export".into(), exported(cairn, Selection::All));
    lines
}

fn exported(cairn: &Cairn, selection: Selection) -> Result<String, Error> {
    let mut out = Vec::new();
    let options = ExportOptions { selection, ..ExportOptions::default() };
    cairn.export(&options, &mut out, &mut |_| {})?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// A change, and the table to be put back.
struct Changed {
    what: String,
    table: String,
    undo: Option<String>,
}

/// Makes one change; none if the database does not allow it.
fn change(scene: &Scene, all: &[Index], numbers: &mut Seeded) -> Option<Changed> {
    let index = &all[numbers.index(all.len())];
    let (name, table) = (index.name.clone(), index.table.clone());
    let rows = [numbers.index(1000) as u64, numbers.index(1000) as u64];
    let row = |table: &str, row: u64| {
        format!(
            "(SELECT ctid FROM {table} ORDER BY ctid OFFSET {row} % (SELECT count(*) FROM {table}) LIMIT 1)"
        )
    };
    let done = |what: &str| {
        Some(Changed { what: format!("{what} ({name}, rows {rows:?})"), table: table.clone(), undo: None })
    };
    match numbers.index(8) {
        0 => {
            index.forget(&scene.db, rows[0]);
            done("an entry is missing")
        }
        1 | 2 => index.exchange(&scene.db, rows).then(|| done("an entry leads to another row")).flatten(),
        3 => index.add_stray(&scene.db, rows[0]).then(|| done("there is an entry too many")).flatten(),
        4 => {
            let columns = scene.columns(&table);
            let (column, kind) = &columns[numbers.index(columns.len())];
            let update = format!(
                "UPDATE {table} SET {column} = {} WHERE ctid = {}",
                changed(column, kind),
                row(&table, rows[0])
            );
            scene.sql.unprotected(|sql| sql.execute_batch(&update)).ok()?;
            // Another fence says nothing about what is recorded.
            done(&format!("{column} is another"))
        }
        5 => {
            let delete = format!("DELETE FROM {table} WHERE ctid = {}", row(&table, rows[0]));
            scene.sql.unprotected(|sql| sql.execute_batch(&delete)).unwrap();
            done("a row is gone")
        }
        6 => {
            // A row twice, the second time where an index does not see it.
            let insert = format!(
                "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM {table} WHERE ctid = {}",
                row(&table, rows[0])
            );
            behind(&scene.db, &name, "indisready", |sql| sql.execute_batch(&insert)).ok()?;
            done("a row is there twice")
        }
        _ => {
            let changes = [
                (
                    format!(
                        "CREATE TABLE child () INHERITS ({table}); INSERT INTO child SELECT * FROM {table} LIMIT 1"
                    ),
                    "DROP TABLE child".to_string(),
                ),
                (
                    format!(
                        "ALTER TABLE {table} RENAME TO kept; CREATE VIEW {table} AS SELECT * FROM kept OFFSET 1"
                    ),
                    format!("DROP VIEW {table}; ALTER TABLE kept RENAME TO {table}"),
                ),
                (
                    format!(
                        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
                    ),
                    format!(
                        "ALTER TABLE {table} DISABLE ROW LEVEL SECURITY; ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"
                    ),
                ),
                (
                    format!("UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{name}'::regclass"),
                    format!("UPDATE pg_index SET indisvalid = true WHERE indexrelid = '{name}'::regclass"),
                ),
                (
                    format!("UPDATE pg_class SET relhasindex = false WHERE oid = '{table}'::regclass"),
                    format!("UPDATE pg_class SET relhasindex = true WHERE oid = '{table}'::regclass"),
                ),
            ];
            let (change, undo) = &changes[numbers.index(changes.len())];
            scene.sql.execute_batch(change).unwrap_or_else(|error| panic!("{change}: {error}"));
            done(change).map(|done| Changed { undo: Some(undo.clone()), ..done })
        }
    }
}

/// The answers that changed, unless a reader says that the database is damaged.
fn differences(before: &[(String, String)], after: Vec<(String, String)>) -> String {
    let after: HashMap<String, String> = after.into_iter().collect();
    let mut differs = String::new();
    for (name, was) in before {
        let is = after.get(name).map_or("nothing", String::as_str);
        if was != is && !is.contains("damaged") {
            writeln!(differs, "{name}:\n{was}\nis now\n{is}").unwrap();
        }
    }
    differs
}

/// How many changes are made; more with `CAIRN_CHANGES`.
fn changes() -> u64 {
    std::env::var("CAIRN_CHANGES").map_or(150, |count| count.parse().unwrap())
}

#[test]
fn if_verify_is_silent_readers_show_what_was_recorded() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    with_amcheck(&scene.sql);
    for table in tables(&scene.sql) {
        scene.sql.execute_batch(&format!("ALTER TABLE {table} SET (fillfactor = 40)")).unwrap();
        scene.put_back(&table);
    }
    let mut all = indexes(&scene.sql);
    all.retain(|index| !OUTSIDE.contains(&index.table.as_str()));
    let open = || scene.options().open(scene.db.path());
    let before = shown(&open().unwrap());
    assert!(
        before.len() > 150 && before.iter().filter(|(_, answer)| answer.starts_with("error")).count() < 20
    );
    let (mut found, mut silent) = (0, 0);
    for seed in 0..changes() {
        let Some(Changed { what, table, undo }) = change(&scene, &all, &mut Seeded(seed)) else {
            scene.put_back(&all[Seeded(seed).index(all.len())].table);
            continue;
        };
        // By turns with amcheck and without. What cannot even be read is not silent.
        let path = if seed % 2 == 0 { scene.db.path() } else { scene.reader() };
        let verified = scene
            .options()
            .open(path)
            .map_err(|_| ())
            .and_then(|cairn| cairn.verify(&Scope::All).map_err(|_| ()));
        if verified.is_ok_and(|report| report.valid()) {
            silent += 1;
            let differs = differences(&before, shown(&open().unwrap()));
            assert!(
                differs.is_empty(),
                "seed {seed}, {what}: verify is silent, and readers differ: {differs}"
            );
        } else {
            found += 1;
        }
        if let Some(undo) = undo {
            scene.sql.execute_batch(&undo).unwrap_or_else(|error| panic!("{undo}: {error}"));
        }
        scene.put_back(&table);
    }
    println!("{found} changes found, {silent} without effect");
    assert!(found > changes() / 2, "{found} of {}", changes());
    assert!(open().unwrap().verify(&Scope::All).unwrap().valid());
}

/// Changes that `verify` has nothing to say about: they are about no record, and readers must not show them.
#[test]
fn readers_do_not_show_the_changes_that_verify_passes_over() {
    if !on_postgres() {
        return;
    }
    let scene = Scene::new();
    let open = || scene.options().open(scene.db.path()).unwrap();
    let before = shown(&open());
    let rows = |table: &str| -> i64 {
        let count = format!("SELECT count(*) FROM {table}");
        scene.sql.query(&count, [], |row| row.get::<i64>(0)).unwrap()[0]
    };
    assert!(rows("fold") > 0, "the scene has a kept state");
    for (change, table) in [("UPDATE log SET fence = fence + 1", "log"), ("DELETE FROM fold", "fold")] {
        scene.sql.unprotected(|sql| sql.execute_batch(change)).unwrap();
        let report = open().verify(&Scope::All).unwrap();
        assert!(report.valid(), "{change}: {:#?}", report.findings);
        let differs = differences(&before, shown(&open()));
        assert!(differs.is_empty(), "{change}: {differs}");
        scene.put_back(table);
    }
    // The comparison can tell.
    let id = before.iter().find_map(|(name, _)| name.strip_prefix("get ")).unwrap();
    let mut other = shown(&open());
    other.retain(|(name, _)| !name.ends_with(id));
    assert!(differences(&before, other).contains(id));
}
