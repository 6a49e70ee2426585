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

#[test]
fn links_are_kept_as_they_were_given() {
    let draft = NewThought::new(ThoughtType::Decision, "Use tokens").task("t").agent("a");
    let draft = draft.supersedes("d1").supersedes("d2").rejects("r1").applies_to("src/auth/**");
    let checked = draft.applies_to("area:billing").check(&Limits::default()).unwrap();
    let texts = |ids: &[ThoughtId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(texts(&checked.supersedes), ["d1", "d2"]);
    assert_eq!(texts(&checked.rejects), ["r1"]);
    assert_eq!(
        checked.applies_to.iter().map(Subject::as_str).collect::<Vec<_>>(),
        ["src/auth/**", "area:billing"]
    );
    assert_eq!(checked.source, Source::Agent);
    assert_eq!(checked.from_source(Source::Person).source, Source::Person);
}

#[test]
fn only_decisions_and_reflections_supersede_and_reject() {
    for kind in ThoughtType::ALL {
        let draft = || NewThought::new(kind, "x").task("t").agent("a").applies_to("src");
        assert!(draft().check(&Limits::default()).is_ok(), "{kind}");
        let links = draft().supersedes("d").rejects("r");
        match kind {
            ThoughtType::Plan | ThoughtType::Analysis => {
                let said = format!(
                    "only a decision or a reflection can have this, not {}",
                    if kind == ThoughtType::Plan { "a plan" } else { "an analysis" }
                );
                let both = ["supersedes", "rejects"].map(|field| (field.to_string(), said.clone()));
                assert_eq!(issues(links), both);
            }
            ThoughtType::Decision | ThoughtType::Reflection => {
                assert!(links.check(&Limits::default()).is_ok(), "{kind}");
            }
        }
    }
}

#[test]
fn wrong_links_are_reported_at_their_places() {
    let decision = || NewThought::new(ThoughtType::Decision, "x").task("t").agent("a");
    let ids = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let full = NewThought { supersedes: ids(16), rejects: ids(16), applies_to: ids(32), ..decision() };
    assert!(full.check(&Limits::default()).is_ok());
    let over = NewThought { supersedes: ids(17), rejects: ids(17), applies_to: ids(33), ..decision() };
    let at_most = |limit| format!("must have at most {limit} entries, found {}", limit + 1);
    assert_eq!(
        issues(over),
        [("supersedes", 16), ("rejects", 16), ("applies_to", 32)]
            .map(|(field, limit)| (field.to_string(), at_most(limit)))
    );
    let long = "字".repeat(301);
    let wrong = decision().supersedes("d").supersedes("d").rejects("").applies_to("a\nb").applies_to(long);
    let found = issues(wrong);
    let found: Vec<(&str, &str)> = found.iter().map(|(path, message)| (&**path, &**message)).collect();
    let control =
        "must not contain control characters, found U+000A (a NUL may stand for an unpaired surrogate)";
    assert_eq!(
        found,
        [
            ("supersedes[1]", "must be named once, found `d` again"),
            ("rejects[0]", "must not be empty"),
            ("applies_to[0]", control),
            ("applies_to[1]", "must have at most 300 characters, found 301"),
        ]
    );
}

#[test]
fn a_source_is_read_from_its_word_alone() {
    for source in Source::ALL {
        assert_eq!(source.as_str().parse(), Ok(source));
        assert_eq!(serde_json::to_value(source).unwrap(), source.as_str());
    }
    assert!("Agent".parse::<Source>().is_err() && "".parse::<Source>().is_err());
}
