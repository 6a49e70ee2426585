use serde_json::json;

use super::*;

fn draft() -> NewThought {
    NewThought::new(ThoughtType::Plan, "hello").task("t1").agent("a1")
}

fn issues(draft: NewThought) -> Vec<(String, String)> {
    match draft.check(&Limits::default()) {
        Err(Refusal::Invalid(issues)) => issues.into_iter().map(|i| (i.path, i.message)).collect(),
        other => panic!("expected issues, got {other:?}"),
    }
}

#[test]
fn the_pinned_hash_of_the_specification() {
    let link = TaskLink {
        content: "hello",
        id: "r1",
        prev_hash: Sha::ZERO,
        task_id: "t1",
        timestamp: "2026-04-17T00:00:00Z",
        kind: "plan",
    };
    assert_eq!(
        task_hash(&link, &mut Vec::new()).to_string(),
        "6a2f9597f563d5515cfa69891a51806d0f93bfbe222997d3ba37c365ceee3f1a"
    );
}

#[test]
fn the_chain_hash_is_taken_over_two_hex_texts() {
    let content = Sha::of(b"root");
    let root = chain_hash(&content, None);
    assert_eq!(root, Sha::of(format!("{content}{}", "0".repeat(64)).as_bytes()));
    assert_eq!(chain_hash(&content, Some(&root)), Sha::of(format!("{content}{root}").as_bytes()));
}

#[test]
fn one_label_serves_for_task_and_session() {
    let checked = draft().check(&Limits::default()).unwrap();
    assert_eq!((checked.task_id.as_str(), checked.session_id.as_str()), ("t1", "t1"));
    let checked =
        NewThought::new(ThoughtType::Plan, "").session("s1").agent("a").check(&Limits::default()).unwrap();
    assert_eq!((checked.task_id.as_str(), checked.session_id.as_str()), ("s1", "s1"));
}

#[test]
fn the_author_may_stand_in_the_metadata() {
    let map = json!({"agent_id": "from-metadata"}).as_object().unwrap().clone();
    let draft = NewThought::new(ThoughtType::Plan, "x").task("t").metadata(map);
    assert_eq!(draft.clone().check(&Limits::default()).unwrap().agent_id.as_str(), "from-metadata");
    assert_eq!(draft.agent("given").check(&Limits::default()).unwrap().agent_id.as_str(), "given");
}

#[test]
fn every_problem_is_reported_at_its_path() {
    let map = json!({"a": [{"b": "x\0"}], "n": 9007199254740993u64}).as_object().unwrap().clone();
    let found = issues(NewThought::new(ThoughtType::Plan, "a\0").agent("").parent("").metadata(map));
    let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["task_id", "agent_id", "parent_id", "content", "metadata.a[0].b", "metadata"]);
}

#[test]
fn a_bad_label_is_reported_once_where_it_was_given() {
    let draft = || NewThought::new(ThoughtType::Plan, "x").agent("a");
    let empty = |path: &str| vec![(path.to_string(), "must not be empty".to_string())];
    assert_eq!(issues(draft().task("")), empty("task_id"));
    assert_eq!(issues(draft().session("")), empty("session_id"));
    assert_eq!(issues(draft().task("t").session("")), empty("session_id"));
}

#[test]
fn content_and_metadata_have_limits() {
    let limits = Limits { content: 5, metadata: 10 };
    assert!(draft().check(&limits).is_ok());
    let long = NewThought { content: "hello!".into(), ..draft() };
    assert_eq!(long.check(&limits), Err(Refusal::TooLarge { field: "content", actual: 6, limit: 5 }));
    let map = json!({"a": "bcdef"}).as_object().unwrap().clone();
    assert_eq!(
        draft().metadata(map).check(&limits),
        Err(Refusal::TooLarge { field: "metadata", actual: 13, limit: 10 })
    );
}
