use cairn::{NewThought, Reason, Report, Scope, ThoughtType};

use crate::harness::{Sql, TestCairn, on_postgres, plan};

fn first(report: &Report) -> (Reason, Option<&str>, Option<&str>) {
    let finding = &report.findings[0];
    (finding.reason, finding.id.as_deref(), finding.field.as_deref())
}

/// root ─┬─ analysis ─┬─ decision A
///       │            └─ decision B
///       └─ analysis 2
fn branching() -> TestCairn {
    let db = TestCairn::new();
    let root = db.think(ThoughtType::Plan, "root", None);
    let analysis = db.think(ThoughtType::Analysis, "analysis", Some(&root));
    db.think(ThoughtType::Decision, "decision A", Some(&analysis));
    db.think(ThoughtType::Decision, "decision B", Some(&analysis));
    db.think(ThoughtType::Analysis, "analysis 2", Some(&root));
    db
}

#[test]
fn an_empty_database_is_valid_and_says_so() {
    let report = TestCairn::new().check();
    assert_eq!((report.records, report.log_size), (0, 1));
    assert_eq!(report.message(), "nothing is recorded here, and nothing is wrong");
}

#[test]
fn branches_verify_whole_and_in_part() {
    let db = branching();
    let report = db.check();
    assert_eq!((report.records, report.log_size), (5, 6));
    assert_eq!(report.message(), "5 thoughts recomputed, nothing was changed");
    for scope in [Scope::Session("s".into()), Scope::Task("s".into())] {
        let report = db.verify(&scope).unwrap();
        assert!(report.valid(), "{:#?}", report.findings);
        assert_eq!((report.records, report.chain_length), (5, 5));
    }
    let unknown = db.verify(&Scope::Session("elsewhere".into())).unwrap_err();
    assert_eq!(unknown.to_string(), "no session `elsewhere`");
}

#[test]
fn edited_content_is_a_content_hash_mismatch_at_that_record() {
    let db = branching();
    db.tamper("UPDATE thought SET content = 'decision C' WHERE id = 'r3'");
    for scope in [Scope::All, Scope::Session("s".into()), Scope::Task("s".into())] {
        let report = db.verify(&scope).unwrap();
        assert_eq!(first(&report), (Reason::ContentHashMismatch, Some("r3"), Some("content_hash")));
        let finding = &report.findings[0];
        // Expected is what the log says, and found is what is stored; the forged text is never called the right one.
        assert_eq!(finding.expected.as_deref(), Some(&*cairn::Sha::of(b"decision A").to_string()));
        assert_eq!(finding.actual.as_deref(), Some(&*cairn::Sha::of(b"decision C").to_string()));
        assert_eq!(finding.step_index, Some(2));
        assert!(finding.message.starts_with("`content` of thought `r3` does not match its recorded hash"));
        assert_eq!(report.findings_total, 1, "{:#?}", report.findings);
    }
}

#[test]
fn an_edited_link_of_the_tree_is_a_chain_hash_mismatch() {
    let db = branching();
    db.tamper("UPDATE thought SET chain_hash = zeroblob(32) WHERE id = 'r2'");
    let report = db.verify(&Scope::Session("s".into())).unwrap();
    assert_eq!(first(&report), (Reason::ChainHashMismatch, Some("r2"), Some("chain_hash")));
}

#[test]
fn content_and_its_hash_edited_together_are_found_by_the_log() {
    let db = branching();
    let hash = cairn::Sha::of(b"other");
    db.tamper(&format!("UPDATE thought SET content = 'other', content_hash = x'{hash}' WHERE id = 'r5'"));
    let report = db.verify(&Scope::All).unwrap();
    assert_eq!(first(&report), (Reason::LeafMismatch, Some("r5"), Some("leaf_hash")));
    assert!(report.findings[0].message.contains("so it is one of content, id"), "{}", report.message());
}

#[test]
fn fields_outside_both_chains_are_covered_by_the_log() {
    for (column, value) in [("agent_id", "'mallory'"), ("action_id", "'deploy'"), ("metadata", "'{}'")] {
        let db = branching();
        db.tamper(&format!("UPDATE thought SET {column} = {value} WHERE id = 'r4'"));
        let report = db.verify(&Scope::All).unwrap();
        let (reason, id, field) = first(&report);
        assert_eq!((reason, id), (Reason::LeafMismatch, Some("r4")), "{column}");
        assert!(field == Some("leaf_hash") || (column == "metadata" && field == Some("salt")), "{field:?}");
        let vouched = report.findings[0].message.contains("its `hash` still fits content");
        assert!(vouched || column == "metadata", "{}", report.message());
    }
}

#[test]
fn a_session_cut_short_is_a_missing_record() {
    let db = branching();
    db.tamper("DELETE FROM thought WHERE id = 'r5'");
    let whole = db.verify(&Scope::All).unwrap();
    assert_eq!(first(&whole), (Reason::MissingRecord, None, None));
    assert!(whole.message().contains("session `s` has 4 thoughts, and 5 are noted"), "{}", whole.message());
    assert_eq!(first(&db.verify(&Scope::Session("s".into())).unwrap()).0, Reason::MissingRecord);
}

#[test]
fn a_dropped_trigger_is_reported() {
    let db = branching();
    let (drop, name) = match on_postgres() {
        false => ("DROP TRIGGER entry_no_update", "entry_no_update"),
        true => ("DROP TRIGGER entry_no_change ON entry", "entry_no_change on entry"),
    };
    db.sql().execute_batch(drop).unwrap();
    let report = db.verify(&Scope::All).unwrap();
    assert_eq!(report.message(), format!("the trigger {name} is missing from the schema"));
}

#[test]
fn triggers_refuse_changes_in_words() {
    let db = branching();
    let refused = |sql: &str| db.sql().execute_batch(sql).unwrap_err().to_string();
    assert!(
        refused("UPDATE thought SET content = 'x'")
            .starts_with("thoughts are write-once: record a reflection that corrects it instead")
    );
    assert!(refused("DELETE FROM thought").starts_with("thoughts are write-once: they cannot be deleted"));
    for table in ["entry", "log", "task", "session"] {
        assert!(refused(&format!("DELETE FROM {table}")).contains("append-only"), "{table}");
    }
    assert!(refused("UPDATE log SET size = 1").contains("it can only grow"));
    assert!(refused("UPDATE task SET name = 'x'").contains("it can only grow"));
    db.check();
}

#[test]
fn a_report_names_a_hundred_findings_and_counts_the_rest() {
    let db = TestCairn::new();
    let all: Vec<_> = (0..300).map(|i| db.record_async(plan("t", &i.to_string()))).collect();
    drop(all);
    db.cairn.clone().close();
    db.tamper("UPDATE thought SET agent_id = 'mallory'");
    let report = db.verify(&Scope::All).unwrap();
    assert_eq!(report.findings.len(), 100);
    assert_eq!(report.findings_total, 300);
    assert!(report.findings.windows(2).all(|pair| pair[0].seq <= pair[1].seq));
    assert!(report.message().ends_with("(and 299 more findings)"), "{}", report.message());
}

#[test]
fn verify_is_silent_while_others_write() {
    let db = TestCairn::real();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let cairn = db.another();
                scope.spawn(move || {
                    let mut parent = None;
                    for _ in 0..1000 {
                        let mut draft = NewThought::new(ThoughtType::Analysis, "busy").agent("ada");
                        draft.parent_id = parent;
                        let draft = draft.session(format!("s{writer}")).task("shared").action("act");
                        parent = Some(cairn.record(draft).unwrap().id.to_string());
                    }
                })
            })
            .collect();
        let checked = db.another();
        let mut rounds = 0;
        while rounds < 3 || !writers.iter().all(|writer| writer.is_finished()) {
            let report = checked.verify(&Scope::All).unwrap();
            assert!(report.valid(), "{:#?}", report.findings);
            if report.records > 0 {
                let report = checked.verify(&Scope::Task("shared".into())).unwrap();
                assert!(report.valid(), "{:#?}", report.findings);
            }
            rounds += 1;
        }
    });
    assert_eq!(db.check().records, 2000);
}

#[test]
fn several_chunks_of_the_log_make_one_tree() {
    let db = TestCairn::new();
    let all: Vec<_> = (0..9000).map(|i| db.record_async(plan("t", &i.to_string()))).collect();
    drop(all);
    db.cairn.clone().close();
    let report = db.check();
    assert_eq!((report.records, report.log_size), (9000, 9001));
    db.another().rebuild().unwrap();
    assert!(db.check().valid());
    let sql = Sql::open(&db.copy("copy.db"));
    let tiles: Vec<(u8, u64, u64)> = sql
        .query("SELECT level, idx, length(hashes) FROM tile", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(tiles, [(1, 0, 35 * 32)], "one hash for each 256 entries");
    if on_postgres() {
        return;
    }
    for (change, tables) in [
        ("UPDATE tile SET hashes = zeroblob(35 * 32)", &["tile"][..]),
        ("UPDATE tile SET hashes = CAST(substr(hashes, 33) || substr(hashes, 1, 32) AS BLOB)", &["tile"]),
        ("UPDATE tile SET hashes = CAST(hashes || zeroblob(32) AS BLOB)", &["tile"]),
        ("UPDATE tile SET hashes = CAST(hashes || x'00' AS BLOB)", &["tile"]),
        ("UPDATE tile SET hashes = substr(hashes, 1, 34 * 32)", &["tile"]),
        ("UPDATE tile SET idx = 1", &["tile"]),
        ("UPDATE tile SET level = 2", &["tile"]),
        ("DELETE FROM tile", &["tile"]),
        ("INSERT INTO tile VALUES (2, 0, zeroblob(32))", &["tile"]),
        ("UPDATE log SET edge = zeroblob(length(edge))", &["log"]),
        ("UPDATE log SET root = zeroblob(32)", &["log"]),
    ] {
        let path = db.copy("copy.db");
        Sql::open(&path).unprotected(|sql| sql.execute_batch(change).unwrap());
        let report = cairn::Cairn::open(path).unwrap().verify(&Scope::All).unwrap();
        let found: Vec<&str> = report.findings.iter().map(|finding| finding.table).collect();
        assert_eq!(found, tables, "{change}: {:#?}", report.findings);
    }
}
