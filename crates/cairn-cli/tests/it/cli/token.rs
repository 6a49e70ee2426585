//! Tokens: made, listed, revoked.

use cairn::{Options, Timestamp, TokenScope};

use super::harness::Place;
use crate::it::database;

#[test]
fn a_new_token_stands_alone_on_stdout_and_the_rest_beside_it() {
    let place = Place::with_story();
    let run = place.on_story(&["token", "add", "the build", "--scope", "write", "--agent", "builder"]);
    assert_eq!(run.code, 0);
    let token = run.out.strip_suffix('\n').unwrap();
    let known = database::open(Options::new(), &place.path("cairn.db")).token_check(token).unwrap().unwrap();
    assert_eq!((known.name.as_str(), known.scope), ("the build", TokenScope::Write));
    assert_eq!(known.agent_id.as_deref(), Some("builder"));
    for told in [
        "may read and record, as the agent builder",
        "the build",
        "this once",
        "Authorization: Bearer",
        "viewer",
        &format!("cairn token revoke {}", known.id),
    ] {
        assert!(run.err.contains(told), "{told}: {}", run.err);
    }
    assert!(!run.err.contains(token));
    place.on_story(&["verify"]).fine();
}

#[test]
fn json_has_what_was_made_and_a_list_never_has_a_token() {
    let place = Place::with_story();
    let added = place.on_story(&["--json", "token", "add", "ci"]);
    assert_eq!(added.err, "");
    let added = added.json();
    let mut keys: Vec<&str> = added.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, ["agent_id", "created_at", "id", "name", "scope", "token"]);
    assert_eq!((&added["scope"], &added["agent_id"]), (&"read".into(), &serde_json::Value::Null));
    let listed = place.on_story(&["--json", "token", "list"]);
    assert!(!listed.out.contains(added["token"].as_str().unwrap()));
    assert_eq!((&listed.json()["count"], &listed.json()["tokens"][0]["id"]), (&1.into(), &added["id"]));
}

#[test]
fn the_list_tells_what_each_is_for_and_whether_it_still_works() {
    let place = Place::with_story();
    let empty = place.on_story(&["token", "list"]);
    assert_eq!((empty.code, empty.out.as_str()), (0, ""));
    assert_eq!(empty.err, "No tokens yet: `cairn token add NAME` makes one.\n");
    let id = |run: super::harness::Run| run.out.split('_').nth(1).unwrap().to_string();
    let first = id(place.on_story(&["token", "add", "the viewer"]));
    let second = id(place.on_story(&["token", "add", "ci", "--scope", "admin", "--agent", "bot"]));
    let cairn = database::open(Options::new(), &place.path("cairn.db"));
    cairn.token_used(&second, Timestamp::parse("2026-04-17T12:34:56Z").unwrap()).unwrap();
    cairn.close();
    place.on_story(&["token", "revoke", &first]).fine();
    let list = place.on_story(&["token", "list"]).fine();
    let lines: Vec<&str> = list.lines().collect();
    for head in ["id", "name", "scope", "agent", "created", "last used", "state"] {
        assert!(lines[0].contains(head), "{list}");
    }
    assert!(lines[1].starts_with(&first) && lines[1].ends_with("revoked"), "{list}");
    assert!(
        lines[2].contains("admin  bot")
            && lines[2].contains("2026-04-17 12:34")
            && lines[2].ends_with("active")
    );
}

#[test]
fn a_token_is_revoked_by_a_beginning_of_its_id_or_by_its_name() {
    let place = Place::with_story();
    let token = place.on_story(&["token", "add", "ci"]).out;
    let id = token.split('_').nth(1).unwrap();
    let out = place.on_story(&["token", "revoke", &id[..8]]).fine();
    assert!(out.starts_with(&format!("Revoked ci ({id}), since ")), "{out}");
    assert_eq!(place.on_story(&["token", "revoke", "ci"]).fine(), out, "the first time is kept");
    place.on_story(&["token", "add", "ci"]);
    let other = place.on_story(&["--json", "token", "revoke", "ci"]).json();
    assert!(other["id"] != id && other["revoked_at"].is_string());
    let cairn = database::open(Options::new(), &place.path("cairn.db"));
    assert!(cairn.token_check(token.trim()).unwrap().unwrap().revoked_at.is_some());
}

#[test]
fn what_is_meant_must_be_clear() {
    let place = Place::with_story();
    let tokens = [0, 1].map(|_| place.on_story(&["token", "add", "ci"]).out);
    let run = place.on_story(&["token", "revoke", "ci"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(tokens.iter().all(|token| run.err.contains(token.split('_').nth(1).unwrap())), "{}", run.err);
    let run = place.on_story(&["--json", "token", "revoke", "nobody"]);
    assert_eq!((run.code, &run.json()["error"]["code"]), (1, &"NOT_FOUND".into()));
    assert_eq!(place.on_story(&["token", "add", "x", "--scope", "root"]).code, 2);
    assert_eq!(place.on_story(&["token", "add", ""]).code, 1);
    assert_eq!(place.run(&["--db", "nowhere.db", "token", "revoke", "ci"]).code, 1);
    assert!(!place.path("nowhere.db").exists());
}
