use cairn::{Cairn, Error, NewToken, Timestamp, TokenAdded, TokenScope};

use crate::harness::{TestCairn, issues, on_postgres, plan, sqlites_own};

fn new(name: &str, scope: TokenScope) -> NewToken {
    NewToken { name: name.into(), scope, agent_id: None }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn add(db: &Cairn, name: &str) -> TokenAdded {
    db.token_add(new(name, TokenScope::Read)).unwrap()
}

#[test]
fn a_token_is_known_by_whoever_opens_the_file() {
    let db = TestCairn::new();
    let ci = NewToken { agent_id: Some("builder".into()), ..new("ci", TokenScope::Write) };
    let added = db.token_add(ci).unwrap();
    assert_eq!((added.info.scope, added.info.agent_id.as_deref()), (TokenScope::Write, Some("builder")));
    for handle in [&db.cairn, &db.another()] {
        assert_eq!(handle.token_check(&added.token).unwrap().as_ref(), Some(&added.info));
    }
    db.check();
}

#[test]
fn what_is_not_the_token_to_the_letter_is_nothing() {
    let db = TestCairn::new();
    let (one, other) = (add(&db, "one"), add(&db, "other"));
    for place in 0..one.token.len() {
        let letter = if one.token.as_bytes()[place] == b'a' { "b" } else { "a" };
        let wrong = format!("{}{letter}{}", &one.token[..place], &one.token[place + 1..]);
        assert_eq!(db.token_check(&wrong).unwrap(), None, "{place}");
    }
    let mixed = format!("{}{}", &one.token[..18], &other.token[18..]);
    for wrong in ["", "cairn_", &one.info.id, &mixed, &one.token.to_uppercase()] {
        assert_eq!(db.token_check(wrong).unwrap(), None, "{wrong}");
    }
    assert_eq!(TestCairn::new().token_check(&one.token).unwrap(), None, "another database");
}

#[test]
fn the_file_does_not_hold_the_token_and_nothing_prints_it() {
    sqlites_own!("the bytes of the file");
    let db = TestCairn::new();
    let added = add(&db, "ci");
    let secret = &added.token[19..];
    db.sql().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for file in std::fs::read_dir(db.folder()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
    let listed = serde_json::to_string(&db.tokens().unwrap()).unwrap();
    let printed = format!("{added:?} {:?} {listed}", db.tokens().unwrap());
    assert!(printed.contains(&added.info.id) && !printed.contains(secret) && !printed.contains("sha256"));
}

#[test]
fn tokens_are_listed_in_the_order_in_which_they_were_made() {
    let db = TestCairn::new();
    assert!(db.tokens().unwrap().is_empty());
    let names = ["zeta", "alpha", "alpha", "mid"];
    let added = names.map(|name| add(&db, name).info);
    assert_eq!(db.tokens().unwrap(), added);
}

#[test]
fn a_revoked_token_is_still_known_and_keeps_its_first_time() {
    let db = TestCairn::new();
    let added = add(&db, "ci");
    let revoked = db.token_revoke(&added.info.id).unwrap();
    assert!(revoked.revoked_at.is_some());
    assert_eq!(db.token_revoke(&added.info.id).unwrap(), revoked);
    assert_eq!(db.token_check(&added.token).unwrap(), Some(revoked.clone()));
    assert_eq!(db.tokens().unwrap(), [revoked]);
    assert!(matches!(db.token_revoke("nosuchtoken0"), Err(Error::NotFound { what: "token", .. })));
}

#[test]
fn the_time_of_use_only_moves_forward() {
    let db = TestCairn::new();
    let added = add(&db, "ci");
    let used = |text: &str| {
        db.token_used(&added.info.id, at(text)).unwrap();
        db.token_check(&added.token).unwrap().unwrap().last_used_at.unwrap().to_string()
    };
    assert_eq!(used("2026-04-17T12:00:00Z"), "2026-04-17T12:00:00Z");
    assert_eq!(used("2026-04-17T11:59:59.999Z"), "2026-04-17T12:00:00Z");
    assert_eq!(used("2026-04-17T12:00:00.500Z"), "2026-04-17T12:00:00.500Z");
    assert_eq!(used("2026-04-17T12:00:00Z"), "2026-04-17T12:00:00.500Z");
    db.token_revoke(&added.info.id).unwrap();
    used("2026-04-17T13:00:00Z");
    assert!(db.tokens().unwrap()[0].revoked_at.is_some(), "use does not bring it back");
    let unknown = db.token_used("nosuchtoken0", at("2026-04-17T12:00:00Z"));
    assert!(matches!(unknown, Err(Error::NotFound { what: "token", .. })));
}

#[test]
fn every_problem_of_a_new_token_is_named() {
    let db = TestCairn::new();
    let bad = NewToken { agent_id: Some("a\nb".into()), ..new("", TokenScope::Read) };
    let found = issues(db.token_add(bad));
    assert_eq!(found[0], "name: must not be empty");
    assert!(found[1].starts_with("agent_id: must not contain control characters"), "{found:?}");
    assert_eq!(
        issues(db.token_add(new(&"x".repeat(201), TokenScope::Read))),
        ["name: must have at most 200 characters, found 201"]
    );
    assert!(db.tokens().unwrap().is_empty());
}

/// Tokens are access, not evidence.
#[test]
fn tokens_are_no_part_of_the_log_nor_of_what_is_verified_or_exported() {
    let db = TestCairn::new();
    db.record(plan("t", "x")).unwrap();
    let size = db.log_size().unwrap();
    let added = add(&db, "ci");
    db.token_revoke(&added.info.id).unwrap();
    assert_eq!(db.log_size().unwrap(), size);
    db.sql().execute("UPDATE token SET revoked_at = NULL, scope = 'admin'", []).unwrap();
    db.check();
    let mut bundle = Vec::new();
    db.export(&cairn::bundle::ExportOptions::default(), &mut bundle, &mut |_| {}).unwrap();
    assert!(!String::from_utf8(bundle).unwrap().contains(&added.info.id));
    let copy = Cairn::open(db.copy("copy.db")).unwrap();
    assert_eq!(copy.token_check(&added.token).unwrap().unwrap().scope, TokenScope::Admin);
}

/// A trigger that nobody sees in a list of the schema drops what is written.
fn with_trigger(db: &TestCairn, event: &str) {
    let attacked = match on_postgres() {
        true => format!(
            "CREATE FUNCTION dropped() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER hidden BEFORE {event} ON token FOR EACH ROW EXECUTE FUNCTION dropped();
             UPDATE pg_trigger SET tgisinternal = true WHERE tgname = 'hidden' AND tgrelid = 'token'::regclass"
        ),
        false => format!(
            "PRAGMA writable_schema = ON;
             INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('trigger', 'sqlite_stat9', 'token', 0,
               'CREATE TRIGGER sqlite_stat9 BEFORE {event} ON token BEGIN SELECT RAISE(IGNORE); END');"
        ),
    };
    db.sql().execute_batch(&attacked).unwrap();
}

#[test]
fn a_revocation_that_is_not_stored_is_not_reported_as_one() {
    let db = TestCairn::new();
    let added = add(&db, "ci");
    db.cairn.clone().close();
    with_trigger(&db, "UPDATE");
    let cairn = db.options().create(false).open(db.path()).unwrap();
    let refused = cairn.token_revoke(&added.info.id).unwrap_err().to_string();
    assert!(refused.contains(&added.info.id) && refused.contains("did not store"), "{refused}");
    assert_eq!(cairn.token_check(&added.token).unwrap(), Some(added.info), "it is still in force");
}

#[test]
fn a_token_that_is_not_stored_is_not_handed_out() {
    let db = TestCairn::new();
    db.cairn.clone().close();
    with_trigger(&db, "INSERT");
    let cairn = db.options().create(false).open(db.path()).unwrap();
    let refused = cairn.token_add(new("ci", TokenScope::Read)).unwrap_err().to_string();
    assert!(refused.contains("did not store"), "{refused}");
    assert!(cairn.tokens().unwrap().is_empty());
}
