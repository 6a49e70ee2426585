use cairn::{NewSession, NewThought, Redact, SessionsPage, ThoughtType, TypeCounts};

use crate::harness::{TestCairn, issues};

fn think(db: &TestCairn, session: &str, kind: ThoughtType, agent: &str, text: &str) -> cairn::Thought {
    db.record(NewThought::new(kind, text).session(session).agent(agent)).unwrap()
}

fn names(page: &SessionsPage) -> Vec<&str> {
    page.sessions.iter().map(|session| session.session_id.as_str()).collect()
}

#[test]
fn a_session_is_listed_with_what_is_in_it() {
    let db = TestCairn::new();
    assert_eq!(
        db.sessions_page(None, 50).unwrap(),
        SessionsPage { sessions: vec![], damaged: vec![], next: None }
    );
    let first = think(&db, "s", ThoughtType::Plan, "ada", &"long ".repeat(40));
    for (i, agent) in ["bob", "cleo", "dan", "eve", "fay", "bob", "ada"].into_iter().enumerate() {
        think(&db, "s", ThoughtType::ALL[i % 3], agent, "x");
    }
    let last = think(&db, "s", ThoughtType::Reflection, "eve", "x");
    let page = db.sessions_page(None, 50).unwrap();
    let session = &page.sessions[0];
    assert_eq!(session.thoughts, 9);
    assert_eq!(session.types, TypeCounts { plan: 4, analysis: 2, decision: 2, reflection: 1 });
    assert_eq!(session.agents, ["eve", "ada", "bob", "fay", "dan"]);
    assert_eq!((&session.first_at, &session.last_at), (&first.timestamp, &last.timestamp));
    assert_eq!((session.last_seq, session.turns), (last.seq, None));
    assert_eq!(session.first_thought, db.tree("s", false).unwrap().records.into_iter().next());
    assert!(session.first_thought.as_ref().unwrap().content.ends_with('…'));
}

#[test]
fn what_comes_later_is_counted_with_what_was_counted_before() {
    let db = TestCairn::new();
    let other = db.another();
    for i in 0..6 {
        let agent = ["ada", "bob"][i % 2];
        let draft = NewThought::new(ThoughtType::ALL[i % 4], "x").session("s").agent(agent);
        if i % 3 == 0 {
            other.record(draft).unwrap()
        } else {
            db.record(draft).unwrap()
        };
        let again = db.another().sessions_page(None, 1).unwrap();
        assert_eq!(db.sessions_page(None, 1).unwrap(), again);
        assert_eq!((again.sessions[0].thoughts, again.sessions[0].agents[0].as_str()), (i as u64 + 1, agent));
    }
}

#[test]
fn sessions_with_memory_alone_are_listed_too() {
    let db = TestCairn::new();
    think(&db, "thoughts", ThoughtType::Plan, "ada", "x");
    db.session_open(NewSession { session_id: Some("memory".into()), ..NewSession::default() }).unwrap();
    db.turn_begin("memory", "hello", None).unwrap();
    db.turn_begin("memory", "again", None).unwrap();
    let page = db.sessions_page(None, 50).unwrap();
    assert_eq!(names(&page), ["memory", "thoughts"]);
    let memory = &page.sessions[0];
    assert_eq!((memory.thoughts, memory.turns, memory.first_thought.as_ref()), (0, Some(2), None));
    assert!(memory.first_at != memory.last_at && memory.agents.is_empty());
    // A thought makes the other one the newest, and leaves memory what it is.
    let thought = think(&db, "memory", ThoughtType::Plan, "ada", "y");
    think(&db, "thoughts", ThoughtType::Plan, "ada", "z");
    let page = db.sessions_page(None, 50).unwrap();
    assert_eq!(names(&page), ["thoughts", "memory"]);
    assert_eq!((page.sessions[1].last_seq, page.sessions[1].turns), (thought.seq, Some(2)));
    assert_eq!(page.sessions[1].first_at, memory.first_at);
}

#[test]
fn pages_follow_each_other_from_the_newest_to_the_oldest() {
    let db = TestCairn::new();
    for i in 0..25 {
        think(&db, &format!("s{}", i % 10), ThoughtType::Plan, "ada", "x");
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = db.sessions_page(before, 3).unwrap();
        seen.extend(names(&page).into_iter().map(str::to_string));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["s4", "s3", "s2", "s1", "s0", "s9", "s8", "s7", "s6", "s5"]);
    assert_eq!(db.sessions_page(None, 10).unwrap().next, None);
    assert_eq!(issues(db.sessions_page(None, 0)), ["limit: must be between 1 and 1000, found 0"]);
}

#[test]
fn a_first_thought_that_was_blanked_or_sealed_is_shown_as_in_the_tree() {
    let db = TestCairn::new();
    for session in ["plain", "sealed", "sealed and gone"] {
        let draft = NewThought::new(ThoughtType::Plan, "a secret").session(session).agent("ada");
        let draft = if session == "plain" { draft } else { draft.seal() };
        let id = db.record(draft).unwrap().id;
        if session != "sealed" {
            let redact = Redact { target: id.to_string(), actor: "ann".into(), reason: "a name".into() };
            db.redact(&redact).unwrap();
        }
    }
    for session in db.sessions_page(None, 9).unwrap().sessions {
        let first = session.first_thought.unwrap();
        assert_eq!(first, db.tree(session.session_id.as_str(), false).unwrap()[0]);
        assert_eq!(first.content.is_empty(), session.session_id.as_str() != "sealed");
    }
}
