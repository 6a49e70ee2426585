use std::path::Path;

use cairn::{
    BriefRequest, Cairn, Error, Filter, NewSession, NewThought, Redact, Redacted, Scope, SearchQuery,
    Thought, ThoughtType,
};
use serde_json::json;

use crate::harness::{Sql, TestCairn, issues, on_postgres, plan, sqlites_own, tables};

/// Whether the bytes stand in the database file or in what waits beside it, in any case of the letters. On PostgreSQL, where
/// files are the server's, whether they stand in any row.
pub fn stands(path: &Path, needle: &str) -> bool {
    if on_postgres() {
        let sql = Sql::open(path);
        let stands = |table: &String| {
            let count =
                format!("SELECT count(*) FROM {table} AS t WHERE strpos(lower(t::TEXT), lower(?1)) > 0");
            sql.query_row(&count, [needle], |row| row.get::<i64>(0)).unwrap() > 0
        };
        return tables(&sql).iter().any(stands);
    }
    ["", "-wal", "-shm", "-journal"].iter().any(|end| {
        let bytes = std::fs::read(format!("{}{end}", path.display())).unwrap_or_default();
        let (bytes, needle) = (bytes.to_ascii_lowercase(), needle.to_ascii_lowercase());
        memchr::memmem::find(&bytes, needle.as_bytes()).is_some()
    })
}

pub fn redact(cairn: &Cairn, id: &str) -> Result<Redacted, Error> {
    let (actor, reason) = ("ann".to_string(), "a person's name (GDPR art. 17)".to_string());
    cairn.redact(&Redact { target: id.to_string(), actor, reason })
}

/// What is said to be left, but for what is always said on PostgreSQL: that the server's files were not looked through.
pub fn left(done: &Redacted) -> Vec<&str> {
    let servers = |remnant: &&str| remnant.starts_with("the server's own files were not looked through");
    assert_eq!(
        done.remnants.iter().filter(|remnant| servers(&remnant.as_str())).count(),
        usize::from(on_postgres())
    );
    done.remnants.iter().map(String::as_str).filter(|remnant| !servers(remnant)).collect()
}

fn found(cairn: &Cairn, query: &str) -> usize {
    let query = SearchQuery { query: query.into(), ..Default::default() };
    cairn.search(&query).unwrap().results.len()
}

/// A thought with a person's data in its text and in its metadata.
fn secret(text: &str) -> NewThought {
    plan("t", text).metadata(json!({"mail": "Zoltan.Quixley@example.org"}).as_object().unwrap().clone())
}

#[test]
fn the_text_goes_and_everything_else_stays() {
    let db = TestCairn::new();
    let before = db.think(ThoughtType::Plan, "before", None);
    let draft =
        secret("Ask Zoltan Quixley about the Gummibaerchen").session("s").parent(&before.id).action("call-1");
    let draft = NewThought { kind: ThoughtType::Decision, ..draft.idempotency_key("k") };
    let told = db.record(draft.rejects(&before.id).applies_to("src/auth/**")).unwrap();
    let after = db.record(plan("t", "after").session("s").parent(&told.id)).unwrap();
    assert_eq!((found(&db, "gummibaerchen"), found(&db, "quixley")), (1, 1));

    let done = redact(&db, told.id.as_str()).unwrap();
    assert_eq!((done.kind.as_str(), &done.fields[..]), ("thought", &["content", "metadata"][..]));
    assert_eq!((done.target_seq, done.seq, done.content_hash), (told.seq, after.seq + 1, told.content_hash));
    assert!(left(&done).is_empty() && done.also_in.is_empty(), "{done:?}");

    let now = db.get(told.id.as_str()).unwrap().unwrap();
    let redaction = now.redacted.clone().unwrap();
    assert_eq!(
        redaction.to_string(),
        format!("[redacted by ann on {}: a person's name (GDPR art. 17)]", done.at)
    );
    let blanked =
        Thought { content: String::new(), metadata: None, redacted: Some(redaction), ..told.clone() };
    assert_eq!(now, blanked);
    let shown = serde_json::to_value(&now).unwrap();
    assert_eq!((&shown["content"], &shown["metadata"]), (&json!(""), &json!(null)));
    assert_eq!(shown["redacted"]["by"], "ann");
    assert!(serde_json::to_value(&after).unwrap().get("redacted").is_none(), "only where there is one");

    assert_eq!((found(&db, "gummibaerchen"), found(&db, "quixley"), found(&db, "after")), (0, 0, 1));
    let listed = db.list(&Filter::default()).unwrap().records;
    assert_eq!(listed[1], now);
    for path in [
        db.tree("s", false).unwrap().records,
        db.tree("s", true).unwrap().records,
        db.trail(after.id.as_str(), None).unwrap().records,
        db.reasoning_trail("call-1").unwrap().records.remove(0),
    ] {
        assert_eq!((path[1].content.as_str(), path[1].redacted.is_some()), ("", true));
        assert!(path[0].redacted.is_none());
    }
    assert_eq!(db.for_action("call-1").unwrap()[0].thought.redacted, now.redacted);

    let report = db.check();
    assert_eq!((report.redacted_total, report.records), (1, 3));
    assert_eq!(report.redacted[0].id, told.id.as_str());
    assert!(report.notes[0].starts_with("1 record is redacted (r2 by ann on "), "{:?}", report.notes);
    for scope in [Scope::Session("s".into()), Scope::Task("t".into())] {
        let report = db.verify(&scope).unwrap();
        assert!(report.valid() && report.redacted_total == 1, "{report:#?}");
    }
    assert!(db.verify(&Scope::Task("s".into())).unwrap().redacted.is_empty());

    // The chain goes on, also below it, and from another process.
    let child = db.another().record(plan("t", "child").session("s").parent(&told.id)).unwrap();
    assert_eq!(child.prev_hash, after.hash);
    db.think(ThoughtType::Plan, "and on", None);
    db.rebuild().unwrap();
    db.check();
}

#[test]
fn what_cannot_be_redacted_is_refused_with_the_reason() {
    let db = TestCairn::new();
    let thought = db.think(ThoughtType::Plan, "a secret", None);
    let attempt = |target: &str, actor: &str, reason: &str| {
        db.redact(&Redact { target: target.into(), actor: actor.into(), reason: reason.into() })
    };
    assert_eq!(
        issues(attempt("", " ", "\n")),
        [
            "id: must not be empty",
            "by: who redacts it? It must not be empty",
            "reason: why is it redacted? It must not be empty, and stays for ever"
        ]
    );
    assert_eq!(issues(attempt("r1", "ann", "a\0b")), ["reason: must not contain a NUL character"]);
    assert_eq!(attempt("r1", "ann", &"x".repeat(2001)).unwrap_err().code(), "TOO_LARGE");
    assert_eq!(attempt("r9", "ann", "why").unwrap_err().to_string(), "no thought, brief or review `r9`");
    let session = issues(attempt("s", "ann", "why")).remove(0);
    assert!(
        session.contains("`s` is a session: redact its thoughts, its briefs and its events one by one"),
        "{session}"
    );

    std::fs::create_dir(db.folder().join("roadmaps")).unwrap();
    std::fs::write(
        db.folder().join("roadmaps/p.json"),
        r#"{"title": "P", "nodes": [{"id": "a", "label": "A"}]}"#,
    )
    .unwrap();
    db.context_create("p", None).unwrap();
    let snapshot = issues(attempt("1", "ann", "why")).remove(0);
    assert!(snapshot.contains("`1` is the number of a snapshot: name it `context:1`"), "{snapshot}");

    assert_eq!(attempt("context:2", "ann", "why").unwrap_err().to_string(), "no context `2`");
    assert_eq!(
        issues(attempt("context:one", "ann", "why")),
        ["id: a snapshot is named `context:` and its number"]
    );

    let entries = db.status().unwrap().entries;
    let done = attempt(thought.id.as_str(), "ann", "why").unwrap();
    assert_eq!(db.status().unwrap().entries, entries + 1, "refusals wrote nothing");
    let again = attempt(thought.id.as_str(), "bob", "again").unwrap_err();
    assert_eq!(again.code(), "CONFLICT");
    assert_eq!(again.to_string(), format!("thought `r1` was redacted already, by ann on {}: why", done.at));
    db.check();
}

/// Content over several pages, short content, content in the middle of many that were indexed and merged; each with
/// others reading and writing through connections of their own.
#[test]
fn nothing_of_it_is_left_in_the_files() {
    let filler = |i: usize| {
        let words: Vec<String> = (0..30).map(|w| format!("w{}", (i * 31 + w * 7919) % 9973)).collect();
        plan("filler", &format!("Filler {i}: {}", words.join(" ")))
    };
    let long: String = (0..3000).map(|i| format!("Vexilloxid{i} ")).collect();
    let cases = [
        ("short", "Pumpernickelium".to_string(), vec!["Pumpernickelium", "pernickeliu"], 0),
        ("long", long, vec!["Vexilloxid0 ", "vexilloxid1777", "exilloxid", "Vexilloxid2999"], 40),
        ("merged", "Brontosaurhead met Xylophagous42".to_string(), vec!["brontosaurhead", "phagous42"], 1500),
    ];
    for (case, text, needles, others) in cases {
        let db = TestCairn::real();
        for i in 0..others / 2 {
            db.record(filler(i)).unwrap();
            if i % 25 == 0 {
                found(&db, "filler");
            }
        }
        let other = db.another();
        let thought = other.record(secret(&text)).unwrap();
        assert_eq!(found(&other, "quixley"), 1);
        for i in others / 2..others {
            db.record(filler(i)).unwrap();
            if i % 25 == 0 {
                found(&db, "filler");
            }
        }
        let needles: Vec<&str> = needles.into_iter().chain(["Zoltan.Quixley", "quixley", "zoltan"]).collect();
        // In the index only what its neighbours do not begin with; somewhere each of them is.
        for needle in &needles {
            assert!(stands(&db.path(), needle), "{case}: {needle} is there before");
        }
        let done = redact(&db, thought.id.as_str()).unwrap();
        assert!(left(&done).is_empty(), "{case}: {:?}", done.remnants);
        for needle in &needles {
            assert!(
                !stands(&db.path(), needle),
                "{case}: {needle} is still there (vacuumed: {})",
                done.vacuumed
            );
        }
        db.check();
        // Both go on, and neither brings it back.
        other.record(filler(1)).unwrap();
        db.record(filler(2)).unwrap();
        assert_eq!((found(&db, "quixley"), found(&other, "quixley")), (0, 0));
        assert!(!stands(&db.path(), "quixley"));
        db.check();
    }
}

/// A page that was given back without being overwritten, as B-trees leave them, is found and overwritten.
#[test]
fn copies_in_unused_parts_of_the_file_go_as_well() {
    sqlites_own!("the bytes of the file");
    let db = TestCairn::real();
    let thought = db.record(plan("t", "Pumpernickelium in an unused page")).unwrap();
    let sql = db.sql();
    // In the slack of a page that stays in use: what no bookkeeping of SQLite knows of.
    sql.execute_batch(
        "CREATE TABLE copy (id INTEGER PRIMARY KEY, x); INSERT INTO copy VALUES (1, 'stays');
         INSERT INTO copy SELECT 2, content FROM thought; DELETE FROM copy WHERE id = 2; DROP TABLE copy;
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    assert!(stands(&db.path(), "pumpernickelium"));
    let done = redact(&db, thought.id.as_str()).unwrap();
    assert_eq!((done.remnants, stands(&db.path(), "pumpernickelium")), (vec![], false));

    let db = TestCairn::real();
    let kept = db.record(plan("t", "a first row")).unwrap();
    let thought = db.record(plan("t", "Pumpernickelium in the slack of a page")).unwrap();
    drop(db.sql());
    // Behind SQLite's back, between the cells of a page: only making the file anew is rid of it.
    db.sql().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(db.path()).unwrap();
    let page: i64 = db
        .sql()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'brief'", [], |row| row.get(0))
        .unwrap();
    let slack = (page as usize - 1) * 4096 + 2000;
    let piece = b"Pumpernickelium in the slack of a page";
    bytes[slack..slack + piece.len()].copy_from_slice(piece);
    let path = db.path();
    let copy = db.folder().join("copy.db");
    std::fs::write(&copy, bytes).unwrap();
    let copied = Cairn::open(&copy).unwrap();
    let done = redact(&copied, thought.id.as_str()).unwrap();
    assert!(done.vacuumed && done.remnants.is_empty(), "{done:?}");
    assert!(!stands(&copy, "pumpernickelium") && stands(&path, "pumpernickelium"));
    assert!(copied.get(kept.id.as_str()).unwrap().is_some() && copied.verify(&Scope::All).unwrap().valid());
}

#[test]
fn what_cannot_be_erased_now_is_said() {
    sqlites_own!("on PostgreSQL it is said each time");
    let db = TestCairn::real();
    let thought = db.record(plan("t", "Pumpernickelium for a reader")).unwrap();
    let reader = db.sql();
    reader.execute_batch("BEGIN; SELECT count(*) FROM thought;").unwrap();
    let done = redact(&db, thought.id.as_str()).unwrap();
    assert_eq!(done.remnants.len(), 1, "{done:?}");
    assert!(done.remnants[0].contains("another program was reading an older state"), "{done:?}");
    assert!(stands(&db.path(), "pumpernickelium"), "which is true");
    assert!(
        db.get(thought.id.as_str()).unwrap().unwrap().redacted.is_some(),
        "for everybody else it is gone"
    );
    reader.execute_batch("COMMIT").unwrap();
    // The next one takes the rest along.
    let next = db.record(plan("t", "Something else entirely")).unwrap();
    assert!(redact(&db, next.id.as_str()).unwrap().remnants.is_empty());
    assert!(!stands(&db.path(), "pumpernickelium"));
    db.check();
}

#[test]
fn what_others_say_as_well_is_theirs() {
    let db = TestCairn::new();
    let text = "The same long sentence, word for word, in two records";
    let one = db.record(plan("t", text)).unwrap();
    db.record(plan("t", text)).unwrap();
    let done = redact(&db, one.id.as_str()).unwrap();
    // A server is not looked through.
    assert!(on_postgres() || left(&done)[0].contains("stand in other records as well"), "{done:?}");
    assert!(!done.vacuumed);
    assert_eq!(found(&db, "sentence"), 1);
    db.check();
}

#[test]
fn a_retry_after_the_redaction_gets_the_redacted_record() {
    let db = TestCairn::new();
    let draft = secret("a text").idempotency_key("k");
    let first = db.record(draft.clone()).unwrap();
    redact(&db, first.id.as_str()).unwrap();
    let again = db.record(draft.clone()).unwrap();
    assert_eq!((again.id.clone(), again.content.as_str(), again.metadata.as_ref()), (first.id, "", None));
    assert!(again.redacted.is_some());
    // What can still be compared is.
    let other = db.record(NewThought { content: "another".into(), ..draft.clone() }).unwrap_err();
    assert!(other.to_string().contains("with another content"), "{other}");
    let other = db.record(NewThought { metadata: None, ..draft.clone() }).unwrap_err();
    assert!(other.to_string().contains("with another metadata"), "{other}");
    let values = json!({"mail": "somebody else"}).as_object().unwrap().clone();
    assert!(db.record(draft.metadata(values)).is_ok(), "which metadata it was, nobody knows any more");
    db.check();
}

/// A session in its first turn, with a thought that its brief for Think shows.
fn told(db: &TestCairn, text: &str) -> (Thought, String) {
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    db.turn_begin("s", "hello", None).unwrap();
    let thought = db.record(plan("t", text).session("s")).unwrap();
    (thought, think(db))
}

fn think(db: &TestCairn) -> String {
    let request = BriefRequest { session_id: "s".into(), node: "think".into(), ..BriefRequest::default() };
    db.brief_build(&request, true).unwrap().brief_id.unwrap().to_string()
}

#[test]
fn briefs_that_repeat_it_are_named_and_can_be_redacted_too() {
    let db = TestCairn::new();
    let (thought, brief) = told(&db, "\nSay \"Gummibaerchen\" to\tZoltan\nand more");
    let text = |id: &str| db.brief(id).unwrap().unwrap().brief["text"].as_str().unwrap().to_string();
    assert!(text(&brief).contains("Say \"Gummibaerchen\" to\tZoltan"), "{}", text(&brief));
    assert_eq!(db.brief_verify(&brief).unwrap().valid, Some(true));

    let done = redact(&db, thought.id.as_str()).unwrap();
    assert_eq!(done.also_in.iter().map(|id| id.as_str()).collect::<Vec<_>>(), [brief.as_str()]);
    let verdict = db.brief_verify(&brief).unwrap();
    assert_eq!((verdict.valid, verdict.redacted.len()), (None, 1), "{verdict:?}");
    assert!(verdict.message.contains("because thought `r1` was redacted by ann on "), "{}", verdict.message);

    // A brief made now says so, and can be built again.
    let later = think(&db);
    assert!(text(&later).contains("thought, plan: (redacted)"), "{}", text(&later));
    assert_eq!(db.brief_verify(&later).unwrap().valid, Some(true));

    let done = redact(&db, &brief).unwrap();
    assert_eq!((done.kind.as_str(), &done.fields[..], left(&done)), ("brief", &["data"][..], vec![]));
    let view = db.brief(&brief).unwrap().unwrap();
    assert!(view.brief.is_null() && view.redacted.unwrap().by == "ann");
    let verdict = db.brief_verify(&brief).unwrap();
    assert!(verdict.valid.is_none() && verdict.message.contains("it was redacted by ann"), "{verdict:?}");
    assert_eq!(db.brief_compare(&brief, &later).unwrap_err().code(), "CONFLICT");
    assert!(!stands(&db.path(), "gummibaerchen"));
    let report = db.check();
    assert_eq!(
        report.redacted.iter().map(|record| record.kind.as_str()).collect::<Vec<_>>(),
        ["thought", "brief"]
    );
    // A thought can still name it.
    db.record(NewThought { brief_id: Some(brief), ..plan("t", "x").session("s") }).unwrap();
    db.check();
}

/// Case 18 of the matrix, and its relatives.
#[test]
fn a_redaction_that_is_none_is_found() {
    let db = TestCairn::new();
    let (thought, brief) = told(&db, "a text");
    db.record(plan("t", "another")).unwrap();
    let wrong = |db: &TestCairn, change: &str, scope: &Scope| {
        let path = db.copy("copy.db");
        Sql::open(&path).unprotected(|sql| sql.execute_batch(change).unwrap());
        let report = Cairn::open(&path).unwrap().verify(scope).unwrap();
        let finding = report.findings.into_iter().next();
        finding.map(|finding| (finding.reason.as_str(), finding.table, finding.message)).unwrap_or_default()
    };
    let session = Scope::Session("s".into());
    for scope in [&Scope::All, &session] {
        let erased = wrong(&db, "UPDATE thought SET content = NULL WHERE id = 'r1'", scope);
        assert_eq!((erased.0, erased.1), ("missing_record", "thought"));
        assert!(erased.2.contains("erased without a redaction record"), "{}", erased.2);
    }
    let erased = wrong(&db, "UPDATE brief SET data = NULL", &Scope::All);
    assert_eq!((erased.0, erased.1), ("missing_record", "brief"));

    redact(&db, thought.id.as_str()).unwrap();
    redact(&db, &brief).unwrap();
    db.check();
    for (change, table, scopes) in [
        ("UPDATE thought SET content = 'a text' WHERE id = 'r1'", "thought", 2),
        ("UPDATE thought SET metadata = '{}' WHERE id = 'r1'", "thought", 2),
        ("UPDATE brief SET data = '{}'", "brief", 1),
        ("UPDATE brief SET data = CAST(x'ff' AS TEXT)", "brief", 1),
        (
            "DELETE FROM redaction WHERE target_seq = (SELECT seq FROM thought WHERE id = 'r1')",
            "redaction",
            2,
        ),
        ("UPDATE thought SET content = NULL WHERE id = 'r2'", "thought", 1),
        ("UPDATE thought SET hash = zeroblob(32) WHERE id = 'r1'", "thought", 2),
    ] {
        if on_postgres() && change.contains("CAST") {
            continue; // A text there is always a text.
        }
        for scope in [&Scope::All, &session].iter().take(scopes) {
            let found = wrong(&db, change, scope);
            assert_eq!(found.1, table, "{change} {scope:?}: {found:?}");
        }
    }
}

/// The database itself allows nothing but what a redaction does.
#[test]
fn the_triggers_let_nothing_else_through() {
    let db = TestCairn::new();
    let (thought, brief) = told(&db, "a text");
    db.record(plan("t", "another").seal()).unwrap();
    redact(&db, thought.id.as_str()).unwrap();
    let sql = db.sql();
    for statement in [
        "UPDATE thought SET content = NULL WHERE id = 'r2'".to_string(),
        "UPDATE thought SET content = 'x' WHERE id = 'r1'".to_string(),
        "UPDATE thought SET agent_id = 'x' WHERE id = 'r1'".to_string(),
        format!("UPDATE brief SET data = NULL WHERE id = '{brief}'"),
        "UPDATE redaction SET target_seq = 1".to_string(),
        "DELETE FROM redaction".to_string(),
        "DELETE FROM seal".to_string(),
        "UPDATE seal SET key = zeroblob(32)".to_string(),
    ] {
        assert!(sql.execute(&statement, []).is_err(), "{statement}");
    }
}
