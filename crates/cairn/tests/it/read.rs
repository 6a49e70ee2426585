use cairn::core::tree::nest;
use cairn::{Error, Filter, NewThought, ThoughtType};

use crate::harness::{TestCairn, issues, plan, sqlites_own};

fn contents(page: &cairn::Page) -> Vec<&str> {
    page.records.iter().map(|record| record.content.as_str()).collect()
}

#[test]
fn b15_a_missing_id_is_none() {
    assert_eq!(TestCairn::new().get("no-such-id").unwrap(), None);
}

#[test]
fn b16_b17_a_record_comes_back_whole_whatever_its_task() {
    let db = TestCairn::new();
    let a = db.record(plan("t1", "a").action("act")).unwrap();
    let b = db.record(plan("t2", "b")).unwrap();
    assert_eq!(db.get(a.id.as_str()).unwrap(), Some(a));
    assert_eq!(db.get(b.id.as_str()).unwrap(), Some(b));
}

#[test]
fn b18_an_empty_database_lists_nothing() {
    let page = TestCairn::new().list(&Filter::default()).unwrap();
    assert!(page.records.is_empty() && page.next_cursor.is_none());
}

#[test]
fn b19_to_b23_listings_filter_limit_and_keep_the_order() {
    let db = TestCairn::new();
    for i in 0..6 {
        db.record(plan(if i % 2 == 0 { "t1" } else { "t2" }, &i.to_string())).unwrap();
    }
    let list = |task: Option<&str>, limit| {
        db.list(&Filter { task_id: task.map(str::to_string), limit, ..Filter::default() }).unwrap()
    };
    assert_eq!(contents(&list(None, None)), ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(contents(&list(Some("t1"), None)), ["0", "2", "4"]);
    assert_eq!(contents(&list(None, Some(2))), ["0", "1"]);
    assert_eq!(contents(&list(Some("t2"), Some(2))), ["1", "3"]);
    assert!(list(Some("nowhere"), None).records.is_empty());
    assert_eq!(
        issues(db.list(&Filter { limit: Some(0), ..Filter::default() })),
        ["limit: must be at least 1, found 0"]
    );
}

#[test]
fn b24_a_listed_chain_is_linked() {
    let db = TestCairn::new();
    for i in 0..5 {
        db.record(plan("t1", &i.to_string())).unwrap();
        db.record(plan("t2", &i.to_string())).unwrap();
    }
    let chain = db.list(&Filter { task_id: Some("t1".into()), ..Filter::default() }).unwrap().records;
    assert!(chain.windows(2).all(|pair| pair[1].prev_hash == pair[0].hash));
}

#[test]
fn filters_by_session_type_and_author_combine() {
    let db = TestCairn::new();
    for (i, kind) in ThoughtType::ALL.into_iter().cycle().take(16).enumerate() {
        let session = if i % 3 == 0 { "s1" } else { "s2" };
        let agent = if i < 8 { "ada" } else { "bob" };
        db.record(NewThought::new(kind, i.to_string()).session(session).agent(agent)).unwrap();
    }
    let filter = Filter {
        session_id: Some("s1".into()),
        agent_id: Some("bob".into()),
        kind: Some(ThoughtType::Plan),
        ..Filter::default()
    };
    assert_eq!(contents(&db.list(&filter).unwrap()), ["12"]);
}

#[test]
fn pages_follow_each_other_without_gap_or_overlap() {
    let db = TestCairn::new();
    for i in 0..30 {
        db.record(plan(&format!("t{}", i % 3), &i.to_string()).session(format!("s{}", i % 2))).unwrap();
    }
    let all: Vec<usize> = (0..30).collect();
    for (task, session) in [(None, None), (Some("t1"), None), (None, Some("s1")), (Some("t2"), Some("s0"))] {
        let matches = |i: &usize| {
            task.is_none_or(|task: &str| task == format!("t{}", i % 3))
                && session.is_none_or(|session: &str| session == format!("s{}", i % 2))
        };
        let expected: Vec<String> = all.iter().filter(|i| matches(i)).map(|i| i.to_string()).collect();
        let mut filter = Filter {
            task_id: task.map(str::to_string),
            session_id: session.map(str::to_string),
            limit: Some(4),
            ..Filter::default()
        };
        let mut seen = Vec::new();
        loop {
            let page = db.list(&filter).unwrap();
            seen.extend(page.records.iter().map(|record| record.content.clone()));
            filter.cursor = page.next_cursor;
            if filter.cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{task:?} {session:?}");
        // Any position will do as a cursor, also one of another chain.
        filter.cursor = Some("20".to_string());
        filter.limit = None;
        let rest = db.list(&filter).unwrap().records.len();
        assert_eq!(rest, all[20..].iter().filter(|i| matches(i)).count(), "{task:?} {session:?}");
    }
    let bad = Filter { cursor: Some("x".into()), ..Filter::default() };
    assert_eq!(issues(db.list(&bad)), ["cursor: must be the next_cursor of an earlier page"]);
}

#[test]
fn a_listing_of_large_records_is_cut_at_eight_mebibytes() {
    let db = TestCairn::new();
    for _ in 0..12 {
        db.record(plan("t", &"x".repeat(1 << 20))).unwrap();
    }
    let page = db.list(&Filter::default()).unwrap();
    assert!(page.next_cursor.is_some());
    assert!((8..=9).contains(&page.records.len()), "{}", page.records.len());
    let rest = db.list(&Filter { cursor: page.next_cursor, ..Filter::default() }).unwrap();
    assert_eq!((page.records.len() + rest.records.len(), rest.next_cursor), (12, None));
}

#[test]
fn ids_are_found_by_a_unique_prefix() {
    let db = TestCairn::new();
    for i in 0..12 {
        db.record(plan("t", &i.to_string())).unwrap();
    }
    assert_eq!(db.resolve("r12").unwrap().as_str(), "r12");
    assert_eq!(db.resolve("r1").unwrap().as_str(), "r1", "a whole id wins over longer ones");
    assert!(matches!(db.resolve("x"), Err(Error::NotFound { .. })));
    assert!(matches!(db.resolve(""), Err(Error::NotFound { .. })));
    assert!(matches!(db.resolve("%"), Err(Error::NotFound { .. })), "no pattern characters");
    assert_eq!(
        issues(db.resolve("r")),
        ["id: `r` could be any of r1, r10, r11, r12, r2, …; give more of it"]
    );
}

#[test]
fn the_tree_has_the_shape_of_the_reasoning() {
    let db = TestCairn::new();
    let root = db.think(ThoughtType::Plan, "root", None);
    let analysis = db.think(ThoughtType::Analysis, "analysis 1", Some(&root));
    db.think(ThoughtType::Decision, "decision A", Some(&analysis));
    db.think(ThoughtType::Decision, "decision B", Some(&analysis));
    db.think(ThoughtType::Analysis, "analysis 2", Some(&root));
    db.think(ThoughtType::Plan, "another root", None);
    let forest = nest(db.tree("s", false).unwrap().records);
    let roots: Vec<&str> = forest.tree.iter().map(|branch| branch.thought.content.as_str()).collect();
    assert_eq!(roots, ["root", "another root"]);
    let below: Vec<&str> = forest.tree[0].children.iter().map(|b| b.thought.content.as_str()).collect();
    assert_eq!(below, ["analysis 1", "analysis 2"]);
    let decisions = &forest.tree[0].children[0].children;
    assert_eq!(decisions.len(), 2);
    assert_eq!(decisions[1].thought.content, "decision B");
    assert!(db.tree("elsewhere", false).unwrap().is_empty());
}

#[test]
fn previews_are_cut_at_100_200_and_150_characters_of_any_script() {
    let db = TestCairn::new();
    for letter in ["a", "ß", "字", "🦀"] {
        let text = letter.repeat(201);
        let cut = |chars: usize| letter.repeat(chars) + "…";
        let session = format!("session {letter}");
        let recorded = db.record(plan("t", &text).session(&session).action(letter)).unwrap();
        assert_eq!(db.tree(&session, false).unwrap()[0].content, cut(100));
        assert_eq!(db.tree(&session, true).unwrap()[0].content, text);
        assert_eq!(db.for_action(letter).unwrap()[0].thought.content, cut(200));
        assert_eq!(db.trail(recorded.id.as_str(), None).unwrap()[0].content, cut(150));
        assert_eq!(db.reasoning_trail(letter).unwrap()[0][0].content, cut(150));
    }
    for (session, chars) in [("exactly", 100), ("one less", 99)] {
        db.record(plan("t", &"é".repeat(chars)).session(session)).unwrap();
        assert_eq!(db.tree(session, false).unwrap()[0].content, "é".repeat(chars));
    }
}

#[test]
fn a_trail_leads_from_the_root_to_the_thought() {
    let db = TestCairn::new();
    let root = db.think(ThoughtType::Plan, "root", None);
    let middle = db.think(ThoughtType::Analysis, "middle", Some(&root));
    db.think(ThoughtType::Analysis, "aside", Some(&root));
    let leaf = db.think(ThoughtType::Decision, "leaf", Some(&middle));
    let path: Vec<String> =
        db.trail(leaf.id.as_str(), Some("s")).unwrap().records.into_iter().map(|step| step.content).collect();
    assert_eq!(path, ["root", "middle", "leaf"]);
    assert_eq!(db.trail("r99", None).unwrap_err().to_string(), "no thought `r99`");
    assert_eq!(
        issues(db.trail(leaf.id.as_str(), Some("other"))),
        ["session_id: thought `r4` belongs to session `s`, not to `other`"]
    );
}

#[test]
fn an_action_leads_back_to_every_path_that_led_to_it() {
    let db = TestCairn::new();
    let record = |content: &str, session: &str, parent: Option<&cairn::Thought>, action: Option<&str>| {
        let mut draft = NewThought::new(ThoughtType::Analysis, content).session(session).agent("ada");
        draft.parent_id = parent.map(|parent| parent.id.to_string());
        draft.action_id = action.map(str::to_string);
        db.record(draft).unwrap()
    };
    let a = record("a", "one", None, None);
    record("b", "one", Some(&a), Some("deploy-7"));
    record("c", "two", None, Some("deploy-7"));
    record("d", "two", None, Some("deploy-8"));
    let thoughts = db.for_action("deploy-7").unwrap();
    let found: Vec<(&str, &str)> =
        thoughts.iter().map(|found| (found.thought.content.as_str(), found.session_id.as_str())).collect();
    assert_eq!(found, [("b", "one"), ("c", "two")]);
    let trails: Vec<Vec<String>> = db
        .reasoning_trail("deploy-7")
        .unwrap()
        .iter()
        .map(|trail| trail.iter().map(|step| step.content.clone()).collect())
        .collect();
    assert_eq!(trails, [vec!["a".to_string(), "b".to_string()], vec!["c".to_string()]]);
    assert!(db.reasoning_trail("never happened").unwrap().is_empty());
    db.check();
}

#[test]
fn a_backup_is_a_whole_database_that_verifies() {
    sqlites_own!("backups of PostgreSQL are its own tools' work");
    let db = TestCairn::new();
    for i in 0..50 {
        db.record(plan("t", &i.to_string())).unwrap();
    }
    let copy = db.folder().join("copy.db");
    let mut last = 0;
    db.backup(&copy, &mut |progress| last = progress.done).unwrap();
    assert!(last > 0);
    assert!(!db.folder().join("copy.db-wal").exists());
    let copy = cairn::Cairn::open(copy).unwrap();
    assert_eq!(copy.list(&Filter::default()).unwrap().records, db.list(&Filter::default()).unwrap().records);
    assert!(copy.verify(&cairn::Scope::All).unwrap().valid());
    assert_eq!(copy.record(plan("t", "goes on")).unwrap().seq, 51);
}

#[test]
fn a_backup_never_replaces_a_file_and_leaves_no_half_one() {
    sqlites_own!("backups of PostgreSQL are its own tools' work");
    let db = TestCairn::new();
    let taken = db.folder().join("taken.db");
    std::fs::write(&taken, "precious").unwrap();
    assert_eq!(issues(db.backup(&taken, &mut |_| {})).len(), 1);
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "precious");
    assert_eq!(
        issues(db.backup(&db.folder().join("nowhere/copy.db"), &mut |_| {})),
        ["to: the folder does not exist"]
    );
    let left: Vec<_> =
        std::fs::read_dir(db.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("part")), "{left:?}");
}
