use cairn::core::log::leaf_hash;
use cairn::{BriefRequest, NewSession, NewThought, Redact, ThoughtType};
use serde_json::{Value, json};

use crate::harness::{TestCairn, plan};

/// One entry of every kind that an ordinary log has.
fn of_every_kind() -> TestCairn {
    let db = TestCairn::signing();
    let roadmaps = db.folder().join("roadmaps");
    std::fs::create_dir(&roadmaps).unwrap();
    std::fs::write(
        roadmaps.join("import.json"),
        json!({"title": "P", "nodes": [{"id": "n", "label": "N"}]}).to_string(),
    )
    .unwrap();
    let context = db.context_create("import", None).unwrap().context.context_id;
    let thought = NewThought::new(ThoughtType::Decision, "n").session("s").task("t").agent("ada");
    let thought = db.record(NewThought { context_id: Some(context), ..thought }).unwrap();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    db.brief_build(&request, true).unwrap();
    let redact = Redact { target: thought.id.to_string(), actor: "ann".into(), reason: "a name".into() };
    db.redact(&redact).unwrap();
    db.checkpoint().unwrap();
    db
}

#[test]
fn each_entry_tells_what_it_is_about() {
    let db = of_every_kind();
    let entries = db.entries_since(0, 100).unwrap();
    assert_eq!(entries.len() as u64, db.log_size().unwrap());
    assert!(entries.iter().enumerate().all(|(i, entry)| entry.seq == i as u64 && entry.timestamp.is_some()));
    let one = |kind: &str| {
        entries.iter().find(|entry| entry.kind.as_str() == kind).unwrap_or_else(|| panic!("{kind}"))
    };
    let thought = one("thought");
    assert_eq!((thought.session_id.as_deref(), thought.task_id.as_deref()), (Some("s"), Some("t")));
    assert_eq!(thought.context_id, Some(1));
    assert!(entries.iter().all(|entry| entry.thought_type.is_some() == (entry.kind.as_str() == "thought")));
    let recorded = db.get(thought.id.as_deref().unwrap()).unwrap().unwrap();
    assert_eq!(thought.thought_type, Some(recorded.kind));
    assert_eq!(
        (recorded.seq, Some(recorded.timestamp.to_string())),
        (thought.seq, thought.timestamp.clone())
    );
    let snapshot = one("snapshot");
    assert_eq!((snapshot.roadmap_id.as_deref(), snapshot.context_id), (Some("import"), Some(1)));
    let brief = one("brief");
    assert!(db.brief(brief.id.as_deref().unwrap()).unwrap().is_some());
    assert_eq!(one("redaction").id, thought.id);
    assert_eq!(one("event").session_id.as_deref(), Some("s"));
    assert_eq!((one("genesis").seq, one("key").id.as_deref()), (0, None));
}

#[test]
fn an_entry_shows_the_bytes_that_its_proof_is_about() {
    let db = of_every_kind();
    for seq in 0..db.log_size().unwrap() {
        let entry = db.entry(seq).unwrap().unwrap();
        let proof = db.prove(seq).unwrap();
        assert_eq!((&entry.leaf, entry.head.leaf_hash), (&proof.leaf, proof.leaf_hash));
        assert_eq!(leaf_hash(entry.leaf.as_bytes()), entry.head.leaf_hash);
        let shown = serde_json::to_value(&entry).unwrap();
        let leaf: Value = serde_json::from_str(&entry.leaf).unwrap();
        assert_eq!((&shown["seq"], &shown["kind"]), (&leaf["seq"], &leaf["kind"]));
    }
}

#[test]
fn entries_come_in_pages_and_end_where_the_log_ends() {
    let db = TestCairn::new();
    (0..9).for_each(|i| drop(db.record(plan("t", &i.to_string())).unwrap()));
    let size = db.log_size().unwrap();
    let seqs = |from, limit| -> Vec<u64> {
        db.entries_since(from, limit).unwrap().iter().map(|entry| entry.seq).collect()
    };
    assert_eq!(seqs(3, 2), [3, 4]);
    assert_eq!(seqs(size - 1, 5), [size - 1]);
    assert!(seqs(size, 5).is_empty() && seqs(u64::MAX, u64::MAX).is_empty() && seqs(0, 0).is_empty());
    assert_eq!(db.entry(size).unwrap(), None);
    assert_eq!(db.entry(u64::MAX).unwrap(), None);
}

#[test]
fn an_entry_that_is_missing_or_no_entry_is_named() {
    let db = TestCairn::new();
    (0..4).for_each(|i| drop(db.record(plan("t", &i.to_string())).unwrap()));
    db.tamper("UPDATE thought SET agent_id = 'bob' WHERE seq = 2");
    for error in [db.entries_since(1, 9).err(), db.entry(2).err()] {
        assert!(error.unwrap().to_string().contains("log entry 2 is damaged"));
    }
    assert!(db.entries_since(3, 9).is_ok() && db.entry(1).is_ok());
    db.tamper("DELETE FROM thought WHERE seq = 3");
    assert!(db.entries_since(3, 9).unwrap_err().to_string().contains("log entry 3 is damaged"));
}
