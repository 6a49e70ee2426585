use cairn::core::tree::{Branch as Nested, nest};
use cairn::{Branch, Error, NewThought, Redact, ThoughtType};

use crate::harness::{TestCairn, issues, plan};

/// A tree that is neither flat nor a line, made without chance: each thought follows from one before it.
fn grown(db: &TestCairn, thoughts: usize) -> Vec<cairn::Thought> {
    let mut all: Vec<cairn::Thought> = Vec::new();
    for i in 0..thoughts {
        let mut draft =
            NewThought::new(ThoughtType::ALL[i % 4], format!("thought {i}")).session("s").agent("a");
        if i % 7 != 0 {
            draft = draft.parent(&all[(i * 5 + 3) % i].id);
        }
        all.push(db.record(draft).unwrap());
    }
    all
}

fn size(branch: &Nested) -> u64 {
    branch.children.iter().map(|child| size(child) + 1).sum()
}

/// The branch at a place must be what the whole tree has there.
fn compare(db: &TestCairn, of: Option<&str>, whole: &[Nested]) {
    let Branch { thoughts, next, .. } = db.branch("s", of, None, 1000).unwrap();
    assert_eq!(next, None);
    assert_eq!(thoughts.len(), whole.len());
    for (one, whole) in thoughts.iter().zip(whole) {
        assert_eq!(one.thought, whole.thought);
        assert_eq!((one.children, one.descendants), (whole.children.len() as u64, Some(size(whole))));
        compare(db, Some(whole.thought.id.as_str()), &whole.children);
    }
}

#[test]
fn the_branches_together_are_the_tree() {
    let db = TestCairn::new();
    // Another session in between, whose thoughts are no part of it.
    db.record(plan("t", "elsewhere").session("other")).unwrap();
    grown(&db, 120);
    let forest = nest(db.tree("s", false).unwrap().records);
    assert!(forest.continued.is_empty());
    compare(&db, None, &forest.tree);
}

#[test]
fn a_branch_comes_in_pages() {
    let db = TestCairn::new();
    grown(&db, 60);
    let all = db.branch("s", None, None, 1000).unwrap().thoughts;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = db.branch("s", None, after, 2).unwrap();
        assert_eq!(page.next, page.next.and(page.thoughts.last().map(|last| last.seq)));
        seen.extend(page.thoughts);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(db.branch("s", None, None, all.len() as u64).unwrap().next, None);
    assert_eq!(issues(db.branch("s", None, None, 0)), ["limit: must be at least 1, found 0"]);
}

#[test]
fn a_branch_of_what_is_not_there_is_told_apart_from_an_empty_one() {
    let db = TestCairn::new();
    let root = db.record(plan("t", "root").session("s")).unwrap();
    assert!(db.branch("nowhere", None, None, 9).unwrap().thoughts.is_empty());
    assert!(db.branch("s", Some(root.id.as_str()), None, 9).unwrap().thoughts.is_empty());
    assert!(matches!(db.branch("s", Some("r99"), None, 9), Err(Error::NotFound { what: "thought", .. })));
    assert_eq!(
        issues(db.branch("other", Some(root.id.as_str()), None, 9)),
        ["session_id: thought `r1` belongs to session `s`, not to `other`"]
    );
}

#[test]
fn a_blanked_thought_keeps_its_place_in_a_branch() {
    let db = TestCairn::new();
    let all = grown(&db, 20);
    let redact = Redact { target: all[0].id.to_string(), actor: "ann".into(), reason: "a name".into() };
    db.redact(&redact).unwrap();
    let root = db.branch("s", None, None, 1).unwrap().thoughts.remove(0);
    assert_eq!((root.thought.content.as_str(), root.thought.redacted.is_some()), ("", true));
    assert!(root.children > 0);
}
