use cairn::{Cairn, NewThought, SearchQuery, ThoughtType};
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{Folder, TestCairn, issues, on_postgres, plan};

fn found(db: &TestCairn, query: &str) -> Vec<String> {
    let query = SearchQuery { query: query.into(), ..SearchQuery::default() };
    let mut found: Vec<String> =
        db.search(&query).unwrap().results.into_iter().map(|hit| hit.thought.content).collect();
    found.sort();
    found
}

fn object(value: serde_json::Value) -> serde_json::Map<String, serde_json::Value> {
    value.as_object().unwrap().clone()
}

fn library() -> TestCairn {
    let db = TestCairn::new();
    for text in
        ["fast cache in memory", "slow cache on disk", "group commit is fast", "Über die Zwischenablage"]
    {
        db.record(plan("t", text)).unwrap();
    }
    db
}

#[test]
fn all_words_must_match_and_words_fold_case_and_accents() {
    let db = library();
    assert_eq!(found(&db, "CACHE"), ["fast cache in memory", "slow cache on disk"]);
    assert_eq!(found(&db, "fast cache"), ["fast cache in memory"]);
    assert_eq!(found(&db, "uber"), ["Über die Zwischenablage"]);
    assert!(found(&db, "cache commit").is_empty());
}

#[test]
fn phrases_prefixes_exclusions_and_alternatives() {
    let db = library();
    assert_eq!(found(&db, "\"group commit\""), ["group commit is fast"]);
    assert!(found(&db, "\"commit group\"").is_empty());
    assert_eq!(found(&db, "zwisch*"), ["Über die Zwischenablage"]);
    assert_eq!(found(&db, "cache -disk"), ["fast cache in memory"]);
    assert_eq!(found(&db, "disk OR commit"), ["group commit is fast", "slow cache on disk"]);
    assert_eq!(found(&db, "fast cache OR commit"), ["fast cache in memory", "group commit is fast"]);
}

#[test]
fn a_thought_is_found_the_moment_it_is_recorded() {
    let db = TestCairn::new();
    for i in 0..20 {
        db.record(plan("t", &format!("needle{i}"))).unwrap();
        assert_eq!(found(&db, &format!("needle{i}")).len(), 1);
    }
    // And by another process, which knows nothing of this one's writer.
    db.record(plan("t", "fresh")).unwrap();
    let query = SearchQuery { query: "fresh".into(), ..SearchQuery::default() };
    assert_eq!(db.another().search(&query).unwrap().results.len(), 1);
    db.check();
}

#[test]
fn metadata_is_searched_too() {
    let db = TestCairn::new();
    let metadata = json!({"branch": "feature-walrus"}).as_object().unwrap().clone();
    db.record(plan("t", "nothing here").metadata(metadata)).unwrap();
    assert_eq!(found(&db, "walrus"), ["nothing here"]);
    assert!(found(&db, "s1 OR t1 OR kplan").is_empty(), "words of the index itself are not found");
}

#[test]
fn the_better_match_comes_first_with_its_rank_and_snippet() {
    let db = TestCairn::new();
    db.record(plan("t", &format!("queue {}", "filler ".repeat(80)))).unwrap();
    db.record(plan("t", "queue queue queue")).unwrap();
    for i in 0..8 {
        db.record(plan("t", &format!("something else {i}"))).unwrap();
    }
    let query = SearchQuery { query: "queue".into(), ..SearchQuery::default() };
    let hits = db.search(&query).unwrap().results;
    assert_eq!(hits[0].thought.content, "queue queue queue");
    assert!(hits[0].rank < hits[1].rank && hits[1].rank < 0.0);
    assert!(hits[1].snippet.starts_with("\u{2}queue\u{3} filler"), "{:?}", hits[1].snippet);
    assert!(hits[1].snippet.ends_with('…'));
}

#[test]
fn a_search_is_narrowed_by_session_task_and_type() {
    let db = TestCairn::new();
    for (i, kind) in ThoughtType::ALL.into_iter().enumerate() {
        for session in ["s1", "s2"] {
            let draft = NewThought::new(kind, format!("word {i} {session}")).agent("ada");
            db.record(draft.session(session).task(if i < 2 { "early" } else { "late" })).unwrap();
        }
    }
    let search = |query: SearchQuery| {
        let query = SearchQuery { query: "word".into(), ..query };
        let mut found: Vec<String> =
            db.search(&query).unwrap().results.into_iter().map(|hit| hit.thought.content).collect();
        found.sort();
        found
    };
    let session_id = Some("s2".to_string());
    assert_eq!(search(SearchQuery { session_id: session_id.clone(), ..Default::default() }).len(), 4);
    assert_eq!(
        search(SearchQuery {
            session_id: session_id.clone(),
            task_id: Some("late".into()),
            ..Default::default()
        }),
        ["word 2 s2", "word 3 s2"]
    );
    assert_eq!(
        search(SearchQuery { session_id, kind: Some(ThoughtType::Plan), ..Default::default() }),
        ["word 0 s2"]
    );
    assert!(search(SearchQuery { session_id: Some("none".into()), ..Default::default() }).is_empty());
}

#[test]
fn a_narrowed_search_shows_the_text_and_not_what_narrowed_it() {
    let db = TestCairn::new();
    let draft = NewThought::new(ThoughtType::Decision, "Привет МИР").session("s").task("t").agent("ada");
    db.record(draft.metadata(object(json!({ "branch": "main" })))).unwrap();
    for (query, snippet) in [("привет", "\u{2}Привет\u{3} МИР"), ("main", "\u{2}main\u{3}")] {
        let query = SearchQuery {
            query: query.into(),
            session_id: Some("s".into()),
            task_id: Some("t".into()),
            kind: Some(ThoughtType::Decision),
            ..SearchQuery::default()
        };
        let hits = db.search(&query).unwrap().results;
        assert!(hits[0].snippet.contains(snippet), "{:?}", hits[0].snippet);
    }
}

/// The same records in a file and on the server, and the same answers.
#[test]
fn a_file_and_a_server_find_the_same_in_the_same_order() {
    if !on_postgres() {
        return;
    }
    let folder = Folder::new();
    let file = Cairn::open(folder.path().join("file.db")).unwrap();
    let server = Cairn::open(folder.database("server")).unwrap();
    let texts = [
        "the art of the possible",
        "the state of the art",
        "art, the first: a café in Paris",
        "Cafe CAFÉ café",
        "a queue that is full drops nothing",
        "queue queue queue",
        "drop the queue, and the art with it",
        "e-mail to ops@example.org about v1.2.3",
        "Über Größe und Straße",
        "数据库 迁移 完成",
        "naïve façade — résumé",
        "x",
        "",
        "NOT OR AND \"quoted\" * ( )",
        "snake_case_name and camelCaseName",
        "1 22 333 4444 2026-11-16",
    ];
    for (i, text) in texts.iter().cycle().take(64).enumerate() {
        let padding = "filler ".repeat(i % 7);
        let draft = || {
            NewThought::new(ThoughtType::ALL[i % 4], format!("{text} {padding}"))
                .session(format!("s{}", i % 3))
                .task(format!("t{}", i % 2))
                .agent("ada")
                .metadata(object(
                    json!({ "branch": format!("topic/{}", i % 5), "note": texts[(i * 7) % texts.len()] }),
                ))
        };
        file.record(draft()).unwrap();
        server.record(draft()).unwrap();
    }
    let queries = [
        "art",
        "the art",
        "\"the art\"",
        "\"the art\" OR cafe",
        "queue -drop",
        "que* drop*",
        "café",
        "CAFE",
        "\"of the\" art",
        "strasse",
        "straße",
        "grösse",
        "数据库",
        "迁移",
        "e-mail",
        "ops@example.org",
        "v1.2.3",
        "1.2.3",
        "snake_case_name",
        "snake",
        "camelcasename",
        "2026-11-16",
        "\"2026 11\"",
        "x OR 333",
        "-queue art",
        "topic",
        "topic/3",
        "filler",
        "\"filler filler\"",
        "\"art of\" OR \"queue queue\"",
        "naive facade",
        "quoted",
        "NOT",
        "a b c d e",
        "\"state of the art\" -paris",
        "fill* \"the queue\"",
        "resume OR \"drops nothing\"",
    ];
    let scopes = [
        (None, None, None),
        (Some("s1"), None, None),
        (Some("s2"), Some("t1"), None),
        (Some("s0"), None, Some(ThoughtType::Decision)),
    ];
    for query in queries {
        for (session, task, kind) in scopes {
            let query = SearchQuery {
                query: query.into(),
                session_id: session.map(str::to_string),
                task_id: task.map(str::to_string),
                kind,
                limit: Some(100),
            };
            let found = |cairn: &Cairn| -> Vec<(u64, String, String)> {
                let hits = cairn.search(&query).unwrap().results;
                hits.into_iter()
                    .map(|hit| (hit.thought.seq, format!("{:.6}", hit.rank), hit.snippet))
                    .collect()
            };
            assert_eq!(found(&server), found(&file), "{query:?}");
        }
    }
}

#[test]
fn a_very_common_word_is_ranked_among_the_newest_and_that_is_said() {
    let db = TestCairn::new();
    let recorded: Vec<_> = (0..2101).map(|i| db.record_async(plan("t", &format!("common {i}")))).collect();
    drop(recorded);
    db.cairn.clone().close();
    let db = db.another();
    let query = SearchQuery { query: "common".into(), limit: Some(100), ..SearchQuery::default() };
    let results = db.search(&query).unwrap();
    assert_eq!((results.results.len(), results.ranked_newest), (100, Some(2000)));
    let query = SearchQuery { query: "common 7".into(), ..SearchQuery::default() };
    assert_eq!(db.search(&query).unwrap().ranked_newest, None);
}

#[test]
fn limits_and_empty_queries_are_refused_in_words() {
    let db = library();
    for limit in [0, 101] {
        let query = SearchQuery { query: "fast".into(), limit: Some(limit), ..SearchQuery::default() };
        assert_eq!(issues(db.search(&query)), [format!("limit: must be between 1 and 100, found {limit}")]);
    }
    let query = SearchQuery { query: " ( ".into(), ..SearchQuery::default() };
    assert_eq!(issues(db.search(&query)), ["query: has no word to search for"]);
}

#[test]
fn no_query_makes_the_search_engine_speak() {
    let db = library();
    let search = |query: &str| {
        let query = SearchQuery { query: query.into(), ..SearchQuery::default() };
        match db.search(&query) {
            Ok(_) => {}
            Err(cairn::Error::Invalid(issues)) => assert_eq!(issues[0].path, "query"),
            Err(other) => panic!("{:?}: {other}", query.query),
        }
    };
    for query in [
        "\"",
        "a\"b",
        "a AND",
        "NEAR(a b, 5)",
        "^a",
        "content : a",
        "{a b} : c",
        "a NOT",
        "(a",
        "a)",
        "*",
        "-",
        "--a",
        "a*b*",
        "+a",
        "a:b",
        "''",
        "a'b",
        "\\",
        "%",
        "_",
        "-\"x",
        "OR OR",
        "a OR -b",
        "-a OR b",
        "😀",
        "\u{301}",
    ] {
        search(query);
    }
    proptest!(ProptestConfig::with_cases(300), |(query in "[a-c \"*()+:^{}'\\-ORANDT\\u{0}-\\u{ff}]{0,40}")| {
        search(&query);
    });
}

#[test]
fn a_rebuilt_index_finds_the_same() {
    let db = library();
    let before = found(&db, "cache");
    db.rebuild().unwrap();
    assert_eq!(found(&db, "cache"), before);
    db.check();
}

#[test]
fn question_words_neither_hide_a_thought_nor_empty_a_search() {
    let db = library();
    assert_eq!(found(&db, "where is the slow cache?"), ["slow cache on disk"]);
    assert_eq!(found(&db, "how does group commit do"), ["group commit is fast"]);
    assert_eq!(
        found(&db, "is"),
        ["group commit is fast"],
        "a search for nothing else takes them at their word"
    );
}
