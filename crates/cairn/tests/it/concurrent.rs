use std::collections::HashSet;

use cairn::{Cairn, Filter, NewThought, Scope, Thought, ThoughtType};

use crate::harness::{TestCairn, on_postgres};

/// Every task's chain is one line, and every acknowledged thought is in it.
fn assert_unforked(cairn: &Cairn, tasks: &[&str], acknowledged: &HashSet<String>) {
    let mut seen = HashSet::new();
    for task in tasks {
        let chain: Vec<Thought> =
            cairn.list(&Filter { task_id: Some(task.to_string()), ..Filter::default() }).unwrap().records;
        assert!(chain.windows(2).all(|pair| pair[1].prev_hash == pair[0].hash && pair[1].seq > pair[0].seq));
        seen.extend(chain.into_iter().map(|thought| thought.id.to_string()));
    }
    assert_eq!(&seen, acknowledged);
}

#[test]
fn many_threads_on_one_handle_never_fork_a_chain() {
    let db = TestCairn::real();
    let acknowledged: HashSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|i| {
                let cairn = db.cairn.clone();
                scope.spawn(move || record_some(&cairn, i, 25))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(acknowledged.len(), 800);
    assert_unforked(&db, &["t0", "t1", "t2"], &acknowledged);
    db.check();
}

#[test]
fn several_handles_on_one_file_never_fork_a_chain() {
    let db = TestCairn::real();
    let acknowledged: HashSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|i| {
                let cairn = db.another();
                scope.spawn(move || record_some(&cairn, i, 60))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(acknowledged.len(), 480);
    assert_unforked(&db, &["t0", "t1", "t2"], &acknowledged);
    assert!(db.verify(&Scope::All).unwrap().valid());
}

fn record_some(cairn: &Cairn, writer: usize, count: usize) -> Vec<String> {
    (0..count)
        .map(|i| {
            let task = format!("t{}", (writer + i) % 3);
            let draft = NewThought::new(ThoughtType::Analysis, format!("{writer}/{i}"));
            cairn.record(draft.task(task).agent(format!("a{writer}"))).unwrap().id.to_string()
        })
        .collect()
}

#[test]
fn one_key_used_by_many_at_once_makes_one_record() {
    let db = TestCairn::real();
    let ids: HashSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|i| {
                let cairn = if i % 2 == 0 { db.cairn.clone() } else { db.another() };
                let draft =
                    NewThought::new(ThoughtType::Plan, "once").task("t").agent("a").idempotency_key("k");
                scope.spawn(move || cairn.record(draft).unwrap().id.to_string())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1);
    assert_eq!(db.check().records, 1);
}

#[test]
fn a_reader_sees_what_was_acknowledged() {
    let db = TestCairn::real();
    let reader = db.another();
    for i in 0..50 {
        let draft = NewThought::new(ThoughtType::Plan, i.to_string()).task("t").agent("a");
        let id = db.record(draft).unwrap().id;
        assert!(reader.get(id.as_str()).unwrap().is_some());
    }
}

#[test]
fn long_texts_that_wait_go_in_several_transactions_on_postgres() {
    if !on_postgres() {
        return;
    }
    let db = TestCairn::real();
    let before = db.record(NewThought::new(ThoughtType::Plan, "first").task("t").agent("a")).unwrap();
    let commits = db.cairn.activity().commits;
    let holder = db.sql();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let content = "x".repeat(1 << 20);
    std::thread::scope(|scope| {
        for _ in 0..40 {
            let (cairn, content) = (db.cairn.clone(), content.clone());
            scope.spawn(move || {
                cairn.record(NewThought::new(ThoughtType::Plan, content).task("t").agent("a")).unwrap()
            });
        }
        while db.cairn.activity().queued < 40 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        holder.execute_batch("COMMIT").unwrap();
    });
    // The first of them may have been alone when it was taken; what came meanwhile is 39 MiB.
    let commits = db.cairn.activity().commits - commits;
    assert!((3..=6).contains(&commits), "{commits}");
    assert_eq!(db.get(before.id.as_str()).unwrap().unwrap().seq, before.seq);
    assert_eq!(db.check().log_size, before.seq + 41);
}
