//! Clocks that cannot be right, and records whose times are beyond any clock.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cairn::bundle::{ExportOptions, Selection};
use cairn::core::canonical;
use cairn::core::thought::{TaskLink, task_hash};
use cairn::{
    Cairn, Filter, NewSession, NewThought, NewToken, OpenError, Options, Scope, Sha, ThoughtType, Timestamp,
    TokenScope,
};
use serde_json::{Value, json};

use crate::harness::{Folder, sqlites_own};

fn thought() -> NewThought {
    NewThought::new(ThoughtType::Plan, "now").session("s").task("t").agent("ada")
}

/// A clock that can be set back to before 1970.
fn clock(wrong: &Arc<AtomicBool>) -> impl Fn() -> Timestamp + Send + Sync + 'static {
    let wrong = wrong.clone();
    move || {
        let year = if wrong.load(Ordering::SeqCst) { 1969 } else { 2026 };
        Timestamp::parse(format!("{year}-12-31T23:59:59.000Z")).unwrap()
    }
}

#[test]
fn while_the_clock_is_before_1970_nothing_is_written() {
    let folder = Folder::new();
    let (path, wrong) = (folder.database("cairn.db"), Arc::new(AtomicBool::new(true)));
    let open = || Options::new().clock(clock(&wrong)).automatic_checkpoints(false).open(&path);
    if !crate::harness::on_postgres() {
        let refused = open().err().expect("no log begins with such a time");
        let OpenError::Store { source, .. } = &refused else { panic!("{refused:?}") };
        assert!(source.to_string().contains("says 1969-12-31T23:59:59.000Z"), "{source}");
        assert!(!path.exists());
    }
    wrong.store(false, Ordering::SeqCst);
    let db = open().unwrap();
    db.record(thought()).unwrap();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    let before = db.status().unwrap();

    wrong.store(true, Ordering::SeqCst);
    let new = NewToken { name: "t".into(), scope: TokenScope::Read, agent_id: None };
    let refusals = [
        db.record(thought()).unwrap_err(),
        db.record(thought().session("new").task("new")).unwrap_err(),
        db.turn_begin("s", "hello", None).unwrap_err(),
        db.token_add(new).unwrap_err(),
    ];
    for refusal in refusals {
        let words = refusal.to_string();
        assert!(words.contains("1969-12-31") && words.contains("from 1970 to 9999"), "{words}");
        assert!(words.contains("nothing was written"), "{words}");
    }
    let after = db.status().unwrap();
    assert_eq!((after.entries, after.sessions, after.tasks), (before.entries, before.sessions, before.tasks));
    assert!(db.tokens().unwrap().is_empty());
    assert_eq!(db.now().as_str(), "1970-01-01T00:00:00.000Z");
    // The records can be read and verified, also by a handle that is opened now.
    assert!(open().unwrap().verify(&Scope::All).unwrap().valid());
    wrong.store(false, Ordering::SeqCst);
    db.record(thought()).unwrap();
    assert!(db.verify(&Scope::All).unwrap().valid());
}

/// A bundle of one thought, with another time in it, and all hashes made again.
fn at(time: &str) -> Vec<u8> {
    let folder = Folder::new();
    let db = Options::new().automatic_checkpoints(false).open(folder.database("cairn.db")).unwrap();
    db.record(thought()).unwrap();
    let mut bytes = Vec::new();
    let options = ExportOptions { selection: Selection::All, with_keys: false };
    db.export(&options, &mut bytes, &mut |_| {}).unwrap();
    let mut lines: Vec<Value> =
        String::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut leaf: Value = serde_json::from_str(lines[2]["leaf"].as_str().unwrap()).unwrap();
    leaf["timestamp"] = json!(time);
    let link = TaskLink {
        content: "now",
        id: leaf["id"].as_str().unwrap(),
        prev_hash: Sha::ZERO,
        task_id: "t",
        timestamp: time,
        kind: "plan",
    };
    let hash = task_hash(&link, &mut Vec::new());
    leaf["hash"] = json!(hash.to_string());
    lines[2]["leaf"] = json!(String::from_utf8(canonical::to_bytes(&leaf).unwrap()).unwrap());
    crate::bundle::rebuilt(lines)
}

#[test]
fn a_record_of_any_time_is_shown_and_verified() {
    sqlites_own!("an import makes a file");
    for time in ["0000-01-01T00:00:00Z", "1969-12-31T23:59:60.5Z", "9999-12-31T23:59:59.999Z"] {
        let folder = Folder::new();
        let path = folder.path().join("copy.db");
        Options::new().import(&path, &mut Cursor::new(at(time)), &[], &|_| {}).unwrap();
        let db = Cairn::open(&path).unwrap();
        assert!(db.verify(&Scope::All).unwrap().valid(), "{time}");
        let page = db.list(&Filter::default()).unwrap();
        assert_eq!(page.records[0].timestamp.as_str(), time);
        assert!(db.status().unwrap().newest.is_some());
        db.record(thought()).unwrap();
        assert!(db.verify(&Scope::All).unwrap().valid(), "{time}");
    }
}
