//! Edits of the bytes of a file that leave every table as it was: keys of indexes, the schema, the words of the search
//! index. Readers go through those, so `verify` must find each.

use std::fs;
use std::path::{Path, PathBuf};

use cairn::{Filter, NewThought, Options, Report, Scope, SearchQuery, ThoughtType};
use rusqlite::{Connection, params};

use crate::harness::{TestCairn, sqlites_own};
use crate::tamper::filled;

/// A copy of the file that nobody has open.
struct Copy {
    folder: tempfile::TempDir,
    options: Options,
}

impl Copy {
    fn of(db: &TestCairn) -> Copy {
        let folder = tempfile::tempdir().unwrap();
        db.backup(&folder.path().join("copy.db"), &mut |_| {}).unwrap();
        Copy { folder, options: db.options() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }

    fn sql(&self, statements: &str) {
        let sql = Connection::open(self.path()).unwrap();
        sql.execute_batch(statements).unwrap();
        sql.close().unwrap();
    }

    /// Changes the schema as SQLite itself would refuse to.
    fn schema(&self, statements: &str) {
        self.sql(&format!("PRAGMA writable_schema = ON; {statements}; PRAGMA writable_schema = RESET;"));
    }

    fn verify(&self) -> Report {
        self.options.clone().create(false).open(self.path()).unwrap().verify(&Scope::All).unwrap()
    }
}

/// The pages of a database file, as bytes.
struct Pages {
    bytes: Vec<u8>,
    size: usize,
}

impl Pages {
    fn read(path: &Path) -> Pages {
        let bytes = fs::read(path).unwrap();
        let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
        Pages { bytes, size }
    }

    fn number(&self, at: usize) -> usize {
        usize::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]))
    }

    fn set(&mut self, at: usize, number: usize) {
        self.bytes[at..at + 2].copy_from_slice(&(number as u16).to_be_bytes());
    }

    /// Where the leaves of an index begin.
    fn leaves(&self, root: usize) -> Vec<usize> {
        let start = (root - 1) * self.size;
        match self.bytes[start] {
            0x0a => vec![start],
            0x02 => {
                let child =
                    |at: usize| u32::from_be_bytes(self.bytes[at..at + 4].try_into().unwrap()) as usize;
                let cells = self.number(start + 3);
                let inside = (0..cells).map(|cell| child(start + self.number(start + 12 + 2 * cell)));
                inside.chain([child(start + 8)]).flat_map(|page| self.leaves(page)).collect()
            }
            other => panic!("page {root} is no page of an index: {other:#x}"),
        }
    }

    /// Where the row id of a cell of an index stands: its last column, of so many bytes.
    fn rowid(&self, leaf: usize, cell: usize) -> std::ops::Range<usize> {
        let at = leaf + self.number(leaf + 8 + 2 * cell);
        let (payload, record) = self.varint(at);
        let (header, mut types) = self.varint(record);
        let mut last = 0;
        while types < record + header {
            (last, types) = self.varint(types);
        }
        let length = [0, 1, 2, 3, 4, 6, 8].get(last).copied().unwrap_or(0);
        let end = record + payload;
        end - length..end
    }

    fn varint(&self, mut at: usize) -> (usize, usize) {
        let mut value = 0;
        loop {
            let byte = self.bytes[at];
            value = value << 7 | usize::from(byte & 0x7f);
            at += 1;
            if byte & 0x80 == 0 {
                return (value, at);
            }
        }
    }

    fn write(self, path: &Path) {
        fs::write(path, self.bytes).unwrap();
    }
}

/// Name and root page of every b-tree of that kind.
fn roots(path: &Path, condition: &str) -> Vec<(String, usize)> {
    let sql = Connection::open(path).unwrap();
    let query = format!("SELECT name, rootpage FROM sqlite_schema WHERE {condition} ORDER BY name");
    let mut statement = sql.prepare(&query).unwrap();
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

/// The b-trees that tokens are in, which are outside the evidence, are checked as well: damage is damage.
const INDEXES: &str = "type = 'index'";
/// Tables that are kept as indexes are.
const AS_INDEXES: &str = "type = 'table' AND sql LIKE '%WITHOUT ROWID'";

/// The places of two keys in a leaf of an index, if it has two.
fn two_keys(pages: &Pages, root: usize) -> Option<(usize, usize, usize)> {
    let leaf = *pages.leaves(root).last()?;
    let cells = pages.number(leaf + 3);
    (cells >= 2).then(|| (leaf, cells / 2 - 1, cells - 1))
}

type Edit = fn(&mut Pages, usize, usize, usize) -> bool;

#[test]
fn swapped_removed_and_repeated_keys_of_every_index_are_found() {
    sqlites_own!("about pages of its file");
    let db = filled();
    let model = Copy::of(&db);
    let edits: [(&str, Edit); 4] = [
        ("the row ids of two keys swapped", |pages, leaf, one, two| {
            let (a, b) = (pages.rowid(leaf, one), pages.rowid(leaf, two));
            let differ = a.len() == b.len() && pages.bytes[a.clone()] != pages.bytes[b.clone()];
            if differ {
                let kept = pages.bytes[a.clone()].to_vec();
                pages.bytes.copy_within(b.clone(), a.start);
                pages.bytes[b].copy_from_slice(&kept);
            }
            differ
        }),
        ("two keys in each other's place", |pages, leaf, one, two| {
            let (a, b) = (leaf + 8 + 2 * one, leaf + 8 + 2 * two);
            let kept = pages.number(a);
            pages.set(a, pages.number(b));
            pages.set(b, kept);
            true
        }),
        ("the last key removed", |pages, leaf, _, last| {
            pages.set(leaf + 3, last);
            true
        }),
        ("a key repeated in place of another", |pages, leaf, one, two| {
            let kept = pages.number(leaf + 8 + 2 * one);
            pages.set(leaf + 8 + 2 * two, kept);
            true
        }),
    ];
    let indexes: Vec<_> =
        roots(&model.path(), INDEXES).into_iter().chain(roots(&model.path(), AS_INDEXES)).collect();
    let mut tried = 0;
    for (name, root) in &indexes {
        for (what, edit) in &edits {
            let copy = Copy::of(&db);
            let mut pages = Pages::read(&copy.path());
            // A table's last column is no row id.
            let row_ids = what.starts_with("the row ids");
            if row_ids && roots(&model.path(), AS_INDEXES).iter().any(|(table, _)| table == name) {
                continue;
            }
            let Some((leaf, one, two)) = two_keys(&pages, *root) else { continue };
            if !edit(&mut pages, leaf, one, two) {
                continue;
            }
            pages.write(&copy.path());
            let report = copy.verify();
            assert!(!report.valid(), "{name}: {what}, and nothing was found");
            let table = report.findings[0].table;
            assert!(name.contains(table) || table == "search", "{name}: {what}: {:#?}", report.findings);
            tried += 1;
        }
    }
    assert!(tried > 50, "{tried}");
}

/// The damage of an index is told once, by its name.
#[test]
fn a_damaged_index_is_one_finding_that_names_it() {
    sqlites_own!("about pages of its file");
    let db = filled();
    let copy = Copy::of(&db);
    let root = roots(&copy.path(), "name = 'sqlite_autoindex_session_1'")[0].1;
    let mut pages = Pages::read(&copy.path());
    let leaf = pages.leaves(root)[0];
    let (a, b) = (pages.rowid(leaf, 0), pages.rowid(leaf, 1));
    let (one, two) = (pages.bytes[a.clone()].to_vec(), pages.bytes[b.clone()].to_vec());
    // Row id 1 takes no byte of its own: choose two that do.
    if one.len() == two.len() && !one.is_empty() {
        pages.bytes[a].copy_from_slice(&two);
        pages.bytes[b].copy_from_slice(&one);
    } else {
        pages.set(leaf + 3, pages.number(leaf + 3) - 1);
    }
    pages.write(&copy.path());
    let report = copy.verify();
    assert_eq!(report.findings_total, 1, "{:#?}", report.findings);
    let finding = &report.findings[0];
    assert_eq!((finding.reason, finding.table), (cairn::Reason::IndexMismatch, "session"));
    assert!(finding.message.starts_with("index `sqlite_autoindex_session_1` does not match table `session`"));
}

#[test]
fn every_object_that_does_not_belong_to_the_schema_is_found() {
    sqlites_own!("about its schema");
    let db = filled();
    let insert = |kind: &str, name: &str, table: &str, sql: &str| {
        format!("INSERT INTO sqlite_schema VALUES ('{kind}', '{name}', '{table}', 0, '{sql}')")
    };
    let trigger = |name: &str| {
        let body = "BEFORE UPDATE ON seal BEGIN SELECT raise(IGNORE); END";
        insert("trigger", name, "seal", &format!("CREATE TRIGGER {name} {body}"))
    };
    for (what, plain, schema) in [
        ("a table", "CREATE TABLE kept (x)", String::new()),
        ("a view", "CREATE VIEW seen AS SELECT 1", String::new()),
        ("an index", "CREATE INDEX other ON thought (agent_id)", String::new()),
        ("a table of numbers", "CREATE TABLE x (i INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE x", String::new()),
        ("a trigger under a hidden name", "", trigger("sqlite_stat9")),
        ("a trigger under the name of statistics", "", trigger("sqlite_stat1")),
        (
            "a table under a hidden name",
            "CREATE TABLE kept (x)",
            "UPDATE sqlite_schema SET name = 'sqlite_stat7', tbl_name = 'sqlite_stat7',
               sql = 'CREATE TABLE sqlite_stat7 (x)' WHERE name = 'kept'".to_string(),
        ),
        (
            "an index under a hidden name",
            "CREATE INDEX other ON thought (agent_id)",
            "UPDATE sqlite_schema SET name = 'sqlite_stat_x', sql = 'CREATE INDEX sqlite_stat_x ON thought (agent_id)'
             WHERE name = 'other'".to_string(),
        ),
        (
            "a column in a table of statistics",
            "ANALYZE",
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlite_stat1(tbl,idx,stat,kept)' WHERE name = 'sqlite_stat1'"
                .to_string(),
        ),
        (
            "a space in the text of a table",
            "",
            "UPDATE sqlite_schema SET sql = replace(sql, 'length INTEGER', 'length  INTEGER') WHERE name = 'session'"
                .to_string(),
        ),
        (
            "another order of an index",
            "",
            "UPDATE sqlite_schema SET sql = replace(sql, 'ON brief (session_no', 'ON brief (session_no COLLATE NOCASE')
             WHERE name = 'brief_session'".to_string(),
        ),
        (
            "another condition of an index",
            "",
            "UPDATE sqlite_schema SET sql = replace(sql, 'WHERE context_id IS NOT NULL', 'WHERE context_id > 1')
             WHERE name = 'thought_context'".to_string(),
        ),
        (
            "another text of a view",
            "",
            "UPDATE sqlite_schema SET sql = replace(sql, 't.agent_id', '''ada'' AS agent_id') WHERE name = 'record'"
                .to_string(),
        ),
        ("a table without its view", "DROP VIEW record", String::new()),
        ("a table without its index", "DROP INDEX thought_context", String::new()),
    ] {
        let copy = Copy::of(&db);
        copy.sql(plain);
        copy.schema(&schema);
        let report = copy.verify();
        assert!(!report.valid(), "{what}, and nothing was found");
        let found = report.findings.iter().find(|finding| finding.table == "sqlite_schema");
        assert!(found.is_some(), "{what}: {:#?}", report.findings);
    }
}

/// Statistics change how SQLite looks something up, and not what it finds.
#[test]
fn statistics_that_sqlite_made_are_no_finding() {
    sqlites_own!("about its schema");
    let copy = Copy::of(&filled());
    copy.sql("ANALYZE");
    let report = copy.verify();
    assert!(report.valid(), "{:#?}", report.findings);
}

/// The same texts in the schema, and other pages behind them.
#[test]
fn exchanged_root_pages_are_found() {
    sqlites_own!("about its schema");
    let db = filled();
    for (one, two) in [
        ("session", "roadmap"),
        ("task", "session"),
        ("event", "thought"),
        ("sqlite_autoindex_session_1", "sqlite_autoindex_roadmap_1"),
        ("task_thought", "session_thought"),
        ("search_data", "rag_search_data"),
        ("search_idx", "rag_search_idx"),
    ] {
        for both in [true, false] {
            let copy = Copy::of(&db);
            let sql = Connection::open(copy.path()).unwrap();
            let root = |name: &str| -> i64 {
                sql.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0))
                    .unwrap()
            };
            let (first, second) = (root(one), root(two));
            sql.execute_batch("PRAGMA writable_schema = ON").unwrap();
            let set = "UPDATE sqlite_schema SET rootpage = ?1 WHERE name = ?2";
            sql.execute(set, params![second, one]).unwrap();
            if both {
                sql.execute(set, params![first, two]).unwrap();
            }
            sql.close().unwrap();
            let opened = copy.options.clone().create(false).open(copy.path());
            let silent = opened.is_ok_and(|db| db.verify(&Scope::All).is_ok_and(|report| report.valid()));
            assert!(!silent, "{one} reads the pages of {two} (both: {both}), and nothing was found");
        }
    }
}

/// FTS5's own check takes "pbpment" for "payment": both have the same checksum.
#[test]
fn words_with_the_same_checksum_cannot_be_exchanged_in_the_search_index() {
    sqlites_own!("about its search index");
    let db = TestCairn::new();
    let think = |text: &str| {
        db.record(NewThought::new(ThoughtType::Decision, text).session("s").agent("ada")).unwrap();
    };
    think("the payment was refused");
    think("the payment was repeated");
    let hits = |db: &cairn::Cairn, query: &str| {
        db.search(&SearchQuery { query: query.into(), ..SearchQuery::default() }).unwrap().results.len()
    };
    assert_eq!(hits(&db.cairn, "payment"), 2);
    let copy = Copy::of(&db);
    let sql = Connection::open(copy.path()).unwrap();
    let pages: Vec<(i64, Vec<u8>)> = sql
        .prepare("SELECT id, block FROM search_data WHERE id > 10")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut changed = 0;
    for (id, mut block) in pages {
        while let Some(at) = block.windows(7).position(|word| word == b"payment") {
            block[at..at + 7].copy_from_slice(b"pbpment");
            changed += 1;
        }
        sql.execute("UPDATE search_data SET block = ?1 WHERE id = ?2", params![block, id]).unwrap();
    }
    assert!(changed > 0, "the word stands in the index whole");
    sql.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)", []).unwrap();
    sql.close().unwrap();
    let report = copy.verify();
    assert_eq!(hits(&copy.options.clone().open(copy.path()).unwrap(), "payment"), 0);
    assert_eq!(report.findings_total, 1, "{:#?}", report.findings);
    assert_eq!(report.findings[0].table, "search");
}

/// One cause, one finding: whatever is made from a text differs from it once it is changed.
#[test]
fn a_change_is_told_once_and_in_the_words_of_the_log() {
    sqlites_own!("its twin is in tamper_postgres");
    let db = filled();
    for (what, change, table) in [
        ("a text", "UPDATE thought SET content = 'forged' WHERE seq = 7", "thought"),
        (
            "a text and its hash",
            "UPDATE thought SET content = 'forged',
               content_hash = x'4f09c43e9a1a6d7d92c1a3b0c7b1f9d0a5b5c9f8a4f3c1b2d3e4f5a6b7c8d9e0' WHERE seq = 7",
            "thought",
        ),
        ("a link that others lead to", "UPDATE thought SET chain_hash = zeroblob(32) WHERE seq = 7", "thought"),
        ("a link that its successor names", "UPDATE thought SET hash = zeroblob(32) WHERE seq = 7", "thought"),
        ("an author", "UPDATE thought SET agent_id = 'mallory' WHERE seq = 7", "thought"),
        ("an action", "UPDATE thought SET action_id = 'other' WHERE seq = 7", "thought"),
        ("a thought that is gone", "DELETE FROM thought WHERE seq = 7", "entry"),
        ("the hash of an entry", "UPDATE thought SET leaf_hash = zeroblob(32) WHERE seq = 7", "thought"),
        ("the bytes of an entry", "UPDATE entry SET leaf = replace(leaf, 'cairn', 'carin') WHERE seq = 0", "entry"),
        ("a length", "UPDATE session SET length = length + 1 WHERE no = 1", "session"),
        ("the edge of the tree", "UPDATE log SET edge = zeroblob(length(edge))", "log"),
        ("a document", "UPDATE rag_documents SET node = '{\"id\":\"x\"}' WHERE no = (SELECT min(no) FROM rag_documents)", "rag_documents"),
    ] {
        let copy = Copy::of(&db);
        let sql = Connection::open(copy.path()).unwrap();
        let triggers: Vec<(String, String)> = sql
            .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        triggers.iter().for_each(|(name, _)| sql.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
        assert_eq!(sql.execute(change, []).unwrap(), 1, "{what}");
        triggers.iter().for_each(|(_, text)| sql.execute_batch(text).unwrap());
        sql.close().unwrap();
        let report = copy.verify();
        assert_eq!(report.findings_total, 1, "{what}: {:#?}", report.findings);
        let finding = &report.findings[0];
        assert_eq!(finding.table, table, "{what}: {finding:#?}");
        for forged in ["forged", "mallory", "other"] {
            assert!(finding.expected.as_deref() != Some(forged), "{what}: {finding:#?}");
        }
        let zero = "0".repeat(64);
        assert!(finding.expected.as_deref() != Some(zero.as_str()), "{what}: {finding:#?}");
    }
}

/// The last thought of a session and a task leaves no gap; the log still knows it.
#[test]
fn a_deleted_last_thought_is_named_with_its_place() {
    let db = TestCairn::new();
    for text in ["one", "two", "three"] {
        db.record(NewThought::new(ThoughtType::Plan, text).session("s").task("t").agent("ada")).unwrap();
    }
    db.tamper("DELETE FROM thought WHERE id = 'r3'");
    for scope in [Scope::All, Scope::Session("s".into()), Scope::Task("t".into())] {
        let report = db.verify(&scope).unwrap();
        let finding = &report.findings[0];
        let (seq, words) = match &scope {
            Scope::All => {
                (Some(3), ["log entry 3 is missing", "session `s` has 2 thoughts, and 3 are noted"])
            }
            Scope::Session(_) => (None, ["the thought at step 2", "of session `s` is gone"]),
            Scope::Task(_) => (None, ["the thought at position 2", "of task `t` is gone"]),
        };
        assert_eq!((report.findings_total, finding.seq), (1, seq), "{scope:?}: {:#?}", report.findings);
        assert!(words.iter().all(|words| finding.message.contains(words)), "{scope:?}: {}", finding.message);
    }
}

#[test]
fn a_label_that_its_index_does_not_lead_to_is_named_by_search_and_listings() {
    sqlites_own!("about pages of its file");
    let db = TestCairn::new();
    for (session, word) in [("a", "apple"), ("b", "berry"), ("c", "cherry")] {
        let thought = NewThought::new(ThoughtType::Plan, word).session(session).task(session).agent("ada");
        db.record(thought).unwrap();
    }
    let query = |word: &str, session: &str| SearchQuery {
        query: word.into(),
        session_id: Some(session.into()),
        ..SearchQuery::default()
    };
    assert_eq!(db.search(&query("cherry", "c")).unwrap().results.len(), 1);
    for change in ["exchanged", "removed"] {
        let copy = Copy::of(&db);
        let root = roots(&copy.path(), "name = 'sqlite_autoindex_session_1'")[0].1;
        let mut pages = Pages::read(&copy.path());
        let leaf = pages.leaves(root)[0];
        match change {
            "exchanged" => {
                let (b, c) = (pages.rowid(leaf, 1), pages.rowid(leaf, 2));
                let bytes = pages.bytes[b.clone()].to_vec();
                pages.bytes.copy_within(c.clone(), b.start);
                pages.bytes[c].copy_from_slice(&bytes);
            }
            _ => pages.set(leaf + 3, pages.number(leaf + 3) - 1),
        }
        pages.write(&copy.path());
        let cairn = Options::new().read_only(true).open(copy.path()).unwrap();
        let found = cairn.search(&query("cherry", "c")).unwrap();
        assert!(found.results.is_empty());
        let named = "the index of labels does not lead to session `c`";
        let damaged: Vec<String> = found.damaged.iter().map(ToString::to_string).collect();
        assert!(damaged.iter().any(|damage| damage.contains(named)), "{change}: {damaged:?}");
        let page = cairn.list(&Filter { session_id: Some("c".into()), ..Filter::default() }).unwrap();
        assert!(page.records.is_empty() && !page.damaged.is_empty(), "{change}: {page:?}");
        let tree = cairn.tree("c", false).unwrap();
        assert!(tree.records.is_empty() && !tree.damaged.is_empty(), "{change}: {tree:?}");
        // A session that was never there, and one whose label is found.
        assert!(cairn.search(&query("cherry", "nobody")).unwrap().damaged.is_empty());
        assert!(cairn.search(&query("apple", "a")).unwrap().damaged.is_empty());
    }
}
