use cairn::{Cairn, Filter, NewThought, Scope, SearchQuery, Sha, ThoughtType};
use serde_json::json;

use crate::harness::{Sql, TestCairn, issues, plan, sqlites_own};
use crate::redact::{left, redact, stands};

fn sealed(text: &str) -> NewThought {
    plan("t", text)
        .session("s")
        .seal()
        .metadata(json!({"ticket": "Marmoset-4711"}).as_object().unwrap().clone())
}

#[test]
fn a_sealed_content_is_read_as_it_was_said_and_stored_as_nobody_can_read_it() {
    let db = TestCairn::new();
    let root = db.record(plan("t", "root").session("s")).unwrap();
    let thought = db.record(sealed("Ask Zoltan Quixley").parent(&root.id).action("call-1")).unwrap();
    assert!(thought.sealed && thought.content == "Ask Zoltan Quixley");
    assert_ne!(
        thought.content_hash,
        Sha::of(b"Ask Zoltan Quixley"),
        "the hash cannot be guessed from the text"
    );
    let stored: String =
        db.sql().query_row("SELECT content FROM thought WHERE id = 'r2'", [], |row| row.get(0)).unwrap();
    assert!(stored.starts_with("sealed:v1:"));
    assert_eq!(thought.content_hash, Sha::of(stored.as_bytes()));
    assert!(!stands(&db.path(), "quixley"));

    assert_eq!(db.get("r2").unwrap().unwrap(), thought);
    assert_eq!(serde_json::to_value(&thought).unwrap()["sealed"], json!(true));
    assert!(serde_json::to_value(&root).unwrap().get("sealed").is_none());
    assert_eq!(db.list(&Filter::default()).unwrap().records[1], thought);
    for path in [
        db.tree("s", false).unwrap().records,
        db.tree("s", true).unwrap().records,
        db.trail("r2", None).unwrap().records,
        db.reasoning_trail("call-1").unwrap().records.remove(0),
    ] {
        assert_eq!((path[1].content.as_str(), path[1].sealed), ("Ask Zoltan Quixley", true));
    }
    let long = db.record(sealed(&"long ".repeat(500))).unwrap();
    let tree = db.tree("s", false).unwrap();
    assert_eq!(tree[2].content.chars().count(), 101, "cut like any other");
    assert_eq!(db.tree("s", true).unwrap()[2].content, long.content);
    db.check();
}

/// Its words would stand in the index in the clear.
#[test]
fn a_sealed_content_is_not_searchable_but_its_metadata_is() {
    let db = TestCairn::new();
    db.record(sealed("Ask Zoltan Quixley")).unwrap();
    let search =
        |query: &str| db.search(&SearchQuery { query: query.into(), ..Default::default() }).unwrap().results;
    assert!(search("quixley").is_empty());
    let hit = search("marmoset").remove(0);
    assert_eq!(hit.thought.content, "Ask Zoltan Quixley");
    assert!(!hit.snippet.contains("sealed:v1"));
    db.check();
    db.rebuild().unwrap();
    db.check();
}

#[test]
fn deleting_the_key_is_erasure_with_every_hash_intact() {
    let db = TestCairn::new();
    for metadata in [true, false] {
        let mut draft = sealed("Ask Zoltan Quixley");
        draft.metadata = draft.metadata.filter(|_| metadata);
        let thought = db.record(draft).unwrap();
        db.record(plan("t", "after")).unwrap();
        db.search(&SearchQuery { query: "after".into(), ..Default::default() }).unwrap();
        let done = redact(&db, thought.id.as_str()).unwrap();
        let fields: &[&str] = if metadata { &["seal_key", "metadata"] } else { &["seal_key"] };
        assert_eq!((&done.fields[..], left(&done)), (fields, vec![]));
        let now = db.get(thought.id.as_str()).unwrap().unwrap();
        assert!(now.sealed && now.content.is_empty() && now.metadata.is_none() && now.redacted.is_some());
        assert!(!stands(&db.path(), "marmoset"));
        let report = db.check();
        assert!(report.redacted.iter().all(|record| record.sealed));
        assert!(db.verify(&Scope::Session("s".into())).unwrap().valid());
        assert!(db.verify(&Scope::Task("t".into())).unwrap().valid());
    }
    assert_eq!(db.tree("s", false).unwrap()[0].content, "");
    assert_eq!(redact(&db, "r1").unwrap_err().code(), "CONFLICT");
}

/// The key itself is looked for in the files as well.
#[test]
fn the_key_is_gone_from_the_files() {
    sqlites_own!("the bytes of the file");
    let db = TestCairn::real();
    let thought = db.record(sealed("x")).unwrap();
    let key: Vec<u8> = db.sql().query_row("SELECT key FROM seal", [], |row| row.get(0)).unwrap();
    let stands = || {
        ["", "-wal"].iter().any(|end| {
            let bytes = std::fs::read(format!("{}{end}", db.path().display())).unwrap_or_default();
            memchr::memmem::find(&bytes, &key).is_some()
        })
    };
    assert!(stands());
    assert!(redact(&db, thought.id.as_str()).unwrap().remnants.is_empty());
    assert!(!stands());
}

#[test]
fn limits_and_marks() {
    let db =
        TestCairn::with(crate::harness::counting().limits(cairn::Limits { content: 100, metadata: 100 }));
    assert!(db.record(plan("t", &"x".repeat(100)).seal()).is_ok(), "the limit is that of the text itself");
    assert_eq!(db.record(plan("t", &"x".repeat(101)).seal()).unwrap_err().code(), "TOO_LARGE");
    for draft in [plan("t", "sealed:v1:AAAA"), plan("t", "sealed:v1:AAAA").seal()] {
        let issue = issues(db.record(draft)).remove(0);
        assert!(issue.starts_with("content: must not begin with `sealed:v1:`"), "{issue}");
    }
    assert!(db.record(plan("t", " sealed:v1:AAAA")).is_ok());
    assert!(db.record(plan("t", "").seal()).is_ok());
    db.check();
}

#[test]
fn a_retry_is_compared_with_the_opened_text() {
    let db = TestCairn::new();
    let draft = sealed("a secret").idempotency_key("k");
    let first = db.record(draft.clone()).unwrap();
    assert_eq!(db.record(draft.clone()).unwrap(), first);
    let refused = |draft: NewThought| db.record(draft).unwrap_err().to_string();
    assert!(
        refused(NewThought { content: "b secret".into(), ..draft.clone() }).contains("with another content;")
    );
    assert!(refused(NewThought { seal: false, ..draft.clone() }).contains("with another seal;"));
    redact(&db, first.id.as_str()).unwrap();
    let again = db.record(draft.clone()).unwrap();
    assert!(again.redacted.is_some() && again.content.is_empty() && again.id == first.id);
    assert!(
        refused(NewThought { content: "a longer one".into(), ..draft }).contains("with another content;")
    );
    db.check();
}

/// A stored brief would keep what was sealed in the clear.
#[test]
fn a_brief_shows_that_it_is_sealed_and_nothing_of_it() {
    let db = TestCairn::new();
    db.session_open(cairn::NewSession { session_id: Some("s".into()), ..Default::default() }).unwrap();
    db.turn_begin("s", "hello", None).unwrap();
    let thought = db.record(sealed("Ask Zoltan Quixley")).unwrap();
    let request = cairn::BriefRequest { session_id: "s".into(), node: "think".into(), ..Default::default() };
    let brief = db.brief_build(&request, true).unwrap();
    assert!(brief.brief.text.contains("thought, plan: (sealed)"), "{}", brief.brief.text);
    let id = brief.brief_id.unwrap();
    assert!(redact(&db, thought.id.as_str()).unwrap().also_in.is_empty());
    assert_eq!(db.brief_verify(id.as_str()).unwrap().valid, Some(true), "nothing it shows has changed");
}

#[test]
fn keys_that_are_wrong_or_missing_are_found() {
    let db = TestCairn::new();
    db.record(plan("t", "open")).unwrap();
    db.record(sealed("one")).unwrap();
    db.record(sealed("two")).unwrap();
    for (change, reason, table) in [
        ("UPDATE seal SET key = zeroblob(32) WHERE seq = 2", "content_hash_mismatch", "seal"),
        ("UPDATE seal SET key = x'00' WHERE seq = 2", "content_hash_mismatch", "seal"),
        ("DELETE FROM seal WHERE seq = 2", "missing_record", "seal"),
        ("INSERT INTO seal VALUES (1, zeroblob(32))", "leaf_mismatch", "seal"),
        ("INSERT INTO seal VALUES (99, zeroblob(32))", "leaf_mismatch", "seal"),
        // The key of the other, with the other's text: it opens at its own place alone.
        (
            "UPDATE thought SET content = (SELECT content FROM thought WHERE seq = 3), content_hash =
               (SELECT content_hash FROM thought WHERE seq = 3) WHERE seq = 2;
             UPDATE seal SET key = (SELECT key FROM seal WHERE seq = 3) WHERE seq = 2",
            "leaf_mismatch",
            "thought",
        ),
    ] {
        let path = db.copy("copy.db");
        Sql::open(&path).unprotected(|sql| sql.execute_batch(change).unwrap());
        let copy = Cairn::open(&path).unwrap();
        let report = copy.verify(&Scope::All).unwrap();
        let finding = &report.findings[0];
        assert_eq!((finding.reason.as_str(), finding.table), (reason, table), "{change}");
        // Reading says it too, and reads the others.
        if finding.seq == Some(2) {
            assert_eq!(copy.get("r2").unwrap_err().code(), "DAMAGED", "{change}");
        }
        assert_eq!(copy.get("r1").unwrap().unwrap().kind, ThoughtType::Plan);
    }
}
