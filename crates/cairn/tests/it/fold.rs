//! States of long sessions that the file keeps: used by readers, never believed by verification.

use std::time::{Duration, Instant};

use cairn::core::Sha;
use cairn::core::session::kept::VERSION;
use cairn::{BriefRequest, Cairn, NewSession, Options, Scope};
use rusqlite::params;
use serde_json::{Value, json};

use crate::harness::{Sql, TestCairn, counting, on_postgres};

fn early() -> Options {
    counting().keep_states_after(8)
}

fn turn(db: &Cairn, session: &str, number: usize) {
    db.turn_begin(session, &format!("What about {number}?"), None).unwrap();
    let read = json!({"op": "read", "type": "recipe", "id": number % 5, "label": format!("Recipe {number}")});
    let draft = json!({"op": "generate", "type": "plan", "body": {"name": number}});
    db.entity_apply(session, vec![read, draft], None, None).unwrap();
    db.turn_end(session, "It is fine.", None, None).unwrap();
}

/// A session of some turns, closed, so that what was to be kept is kept.
fn filled(options: Options, turns: usize) -> TestCairn {
    let db = TestCairn::with(options);
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    (0..turns).for_each(|number| turn(&db, "s", number));
    db.cairn.clone().close();
    db
}

fn kept(sql: &Sql) -> Option<(u64, String)> {
    let row = sql.query_row("SELECT seq, state FROM fold", [], |row| Ok((row.get(0)?, row.get(1)?)));
    row.ok()
}

/// Puts another state in place of what is kept, with the digest that belongs to it.
fn forge(sql: &Sql, change: impl Fn(&str) -> String) {
    let (seq, state) = kept(sql).unwrap();
    let changed = change(&state);
    assert_ne!(changed, state);
    let digest = Sha::of(format!("{VERSION} {seq} s\n{changed}").as_bytes());
    sql.execute("UPDATE fold SET state = ?1, sha256 = ?2", params![changed, &digest.0[..]]).unwrap();
}

/// All that is said of a session by a handle that was just opened.
fn told(db: &TestCairn) -> Vec<Value> {
    let cairn = early().open(db.path()).unwrap();
    let mut told = vec![cairn.session_state("s", None, None).unwrap()];
    for node in ["understand", "think", "act", "reply"] {
        let request = BriefRequest { session_id: "s".into(), node: node.into(), ..BriefRequest::default() };
        told.push(json!(cairn.brief_build(&request, false).unwrap().brief.text));
    }
    told
}

#[test]
fn what_is_kept_gives_what_the_events_give() {
    let db = filled(early(), 10);
    let (seq, _) = kept(&db.sql()).unwrap();
    assert!(seq > 8 && seq < 31, "{seq}");
    let with = told(&db);
    db.sql().execute("DELETE FROM fold", []).unwrap();
    assert_eq!(told(&db), with);
    // A reader that had to fold all of it keeps nothing: only a handle that records writes.
    assert_eq!(kept(&db.sql()), None);
    let cairn = early().open(db.path()).unwrap();
    cairn.record(crate::harness::plan("t", "recorded")).unwrap();
    cairn.session_state("s", None, None).unwrap();
    cairn.close();
    let (seq, _) = kept(&db.sql()).unwrap();
    assert_eq!(seq, 31);
    assert_eq!(told(&db), with);
    db.check();
}

#[test]
fn a_short_session_is_not_kept() {
    assert_eq!(kept(&filled(Options::new(), 10).sql()), None);
}

/// One write each time the session has grown by a third: a long session is not written again and again.
#[test]
fn states_are_kept_ever_more_rarely() {
    let db = TestCairn::with(early());
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    let sql = db.sql();
    sql.execute_batch(match on_postgres() {
        false => {
            "CREATE TABLE written (seq);
             CREATE TRIGGER noted AFTER INSERT ON fold BEGIN INSERT INTO written VALUES (new.seq); END;
             CREATE TRIGGER changed AFTER UPDATE ON fold BEGIN INSERT INTO written VALUES (new.seq); END;"
        }
        true => {
            "CREATE TABLE written (seq BIGINT);
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql
               AS $$ BEGIN INSERT INTO written VALUES (new.seq); RETURN new; END $$;
             CREATE TRIGGER noted AFTER INSERT OR UPDATE ON fold FOR EACH ROW EXECUTE FUNCTION note()"
        }
    })
    .unwrap();
    for number in 0..60 {
        // A new handle each time: how long ago the last was kept must be seen from the file.
        let cairn = early().open(db.path()).unwrap();
        turn(&cairn, "s", number);
        cairn.close();
    }
    let seqs: Vec<u64> = sql.query("SELECT seq FROM written", [], |row| row.get(0)).unwrap();
    assert!(seqs.len() >= 6 && seqs.len() <= 14, "{seqs:?}");
    assert!(seqs.is_sorted(), "{seqs:?}");
}

#[test]
fn damage_is_not_taken_for_a_state() {
    let db = filled(early(), 10);
    let sound = told(&db);
    for change in [
        "UPDATE fold SET state = replace(state, 'What about 2', 'What about 9')",
        "UPDATE fold SET sha256 = x'00'",
        "UPDATE fold SET seq = seq - 1",
        "UPDATE fold SET seq = 9999",
        "UPDATE fold SET v = v + 1",
        "UPDATE fold SET state = ''",
        "UPDATE fold SET state = CAST(x'ff' AS TEXT)",
    ] {
        if on_postgres() && change.contains("CAST") {
            continue; // A text there is always a text.
        }
        let copy = filled(early(), 10);
        assert_eq!(copy.sql().execute(change, []).unwrap(), 1);
        let report = copy.verify(&Scope::All).unwrap();
        assert!(report.findings.iter().all(|finding| finding.table == "fold"), "{:?}", report.findings);
        assert_eq!(report.findings.len(), 1, "{change}");
        assert_eq!(told(&copy), sound, "{change}");
    }
}

#[test]
fn a_forged_state_is_found_by_verification_and_removed_by_a_rebuild() {
    let db = filled(early(), 10);
    let sound = told(&db);
    let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    let brief_id = db.another().brief_build(&request, true).unwrap().brief_id.unwrap().to_string();
    forge(&db.sql(), |state| state.replace("What about 2?", "Another?"));
    // Readers believe it, and for that it is found.
    assert_ne!(told(&db), sound);
    let cairn = early().open(db.path()).unwrap();
    let report = cairn.verify(&Scope::All).unwrap();
    let found: Vec<_> =
        report.findings.iter().map(|f| (f.reason.to_string(), f.table, f.field.as_deref())).collect();
    assert_eq!(found, [("index_mismatch".to_string(), "fold", Some("state"))]);
    // What was built before is built again from the events.
    assert_eq!(cairn.brief_verify(&brief_id).unwrap().valid, Some(true));
    cairn.rebuild().unwrap();
    assert_eq!(kept(&db.sql()), None);
    assert!(cairn.verify(&Scope::All).unwrap().valid());
    assert_eq!(cairn.session_state("s", None, None).unwrap(), sound[0]);
    assert_eq!(told(&db), sound);
}

#[test]
fn a_writer_holds_up_no_reader_and_a_reader_keeps_no_state() {
    let db = filled(early(), 10);
    let sound = told(&db);
    // With the search index up to date, and without a kept state.
    db.another().rebuild().unwrap();
    let sql = db.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    assert_eq!(told(&db), sound);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    sql.execute_batch("ROLLBACK").unwrap();
    assert_eq!(told(&db), sound);
    assert_eq!(kept(&sql), None);
}

#[test]
fn the_state_of_nothing_is_found() {
    for (change, field) in [
        ("INSERT INTO fold SELECT 99, seq, v, sha256, state FROM fold", "session_no"),
        ("UPDATE fold SET seq = (SELECT size - 1 FROM log)", "seq"),
        ("UPDATE fold SET v = -1", "v"),
    ] {
        let db = filled(early(), 10);
        db.another().record(crate::harness::plan("t", "something else")).unwrap();
        db.sql().execute(change, []).unwrap();
        let report = db.verify(&Scope::All).unwrap();
        let found: Vec<_> = report.findings.iter().map(|f| (f.table, f.field.as_deref())).collect();
        assert_eq!(found, [("fold", Some(field))], "{change}");
    }
}
