use cairn::{Filter, NewThought, Scope, ThoughtType};

use crate::harness::{TestCairn, sqlites_own};

const TASKS: u64 = 3;
const SESSIONS: u64 = 4;

fn thought(number: u64) -> NewThought {
    let draft = NewThought::new(ThoughtType::Plan, format!("thought {number}")).agent("ada");
    draft.task(format!("task {}", number % TASKS)).session(format!("session {}", number % SESSIONS))
}

/// What every reader of a task or session answers, pages of three at a time included.
fn answers(db: &TestCairn) -> String {
    let mut all = String::new();
    let mut list = |filter: Filter| {
        let mut filter = filter;
        loop {
            let page = db.list(&filter).unwrap();
            assert!(page.damaged.is_empty(), "{:?}", page.damaged);
            all.push_str(
                &page.records.iter().map(|record| format!(" {}", record.content)).collect::<String>(),
            );
            match page.next_cursor {
                Some(cursor) => filter.cursor = Some(cursor),
                None => break all.push('\n'),
            }
        }
    };
    for limit in [None, Some(3)] {
        for number in 0..TASKS {
            let task_id = Some(format!("task {number}"));
            list(Filter { task_id: task_id.clone(), limit, ..Filter::default() });
            list(Filter { task_id, session_id: Some("session 1".into()), limit, ..Filter::default() });
        }
        for number in 0..SESSIONS {
            list(Filter { session_id: Some(format!("session {number}")), limit, ..Filter::default() });
        }
    }
    for number in 0..SESSIONS {
        let session = format!("session {number}");
        all.push_str(&format!("{:?}\n", db.tree(&session, true).unwrap()));
        all.push_str(&format!("{:?}\n", db.verify(&Scope::Session(session)).unwrap().records));
    }
    for number in 0..TASKS {
        let report = db.verify(&Scope::Task(format!("task {number}"))).unwrap();
        assert!(report.valid(), "{:#?}", report.findings);
    }
    all.push_str(&format!("{:?}\n", db.sessions_page(None, 10).unwrap()));
    all
}

#[test]
fn readers_answer_the_same_however_far_the_lists_of_thoughts_reach() {
    sqlites_own!("PostgreSQL has indexes instead");
    let db = TestCairn::new();
    for number in 0..40 {
        db.record(thought(number)).unwrap();
    }
    db.catch_up().unwrap();
    let (expected, sql) = (answers(&db), db.sql());
    assert!(expected.contains("thought 39"));
    for chained in (0..=40).rev() {
        sql.execute_batch(&format!(
            "DELETE FROM task_thought WHERE seq > {chained}; DELETE FROM session_thought WHERE seq > {chained};
             UPDATE derived SET chained = {chained}"
        ))
        .unwrap();
        assert_eq!(answers(&db), expected, "covered up to entry {chained}");
        let report = db.verify(&Scope::All).unwrap();
        assert!(report.valid(), "{chained}: {:#?}", report.findings);
    }
}

#[test]
fn an_append_never_leaves_more_than_1024_entries_that_no_list_covers() {
    sqlites_own!("PostgreSQL has indexes instead");
    let db = TestCairn::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let sql = db.sql();
    for from in (0..4000).step_by(500) {
        let waiting: Vec<_> = (from..from + 500).map(|number| db.record_async(thought(number))).collect();
        runtime.block_on(async {
            for recorded in waiting {
                recorded.await.unwrap();
            }
        });
        let sql_text = "SELECT size - 1 - chained FROM log, derived";
        let uncovered: i64 = sql.query_row(sql_text, [], |row| row.get(0)).unwrap();
        assert!((0..=1024).contains(&uncovered), "{uncovered}");
    }
    let task = Filter { task_id: Some("task 0".into()), ..Filter::default() };
    assert_eq!(db.list(&task).unwrap().records.len(), 1334);
    let report = db.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{:#?}", report.findings);
}

#[test]
fn a_changed_list_of_thoughts_is_named() {
    sqlites_own!("PostgreSQL has indexes instead");
    for (change, table) in [
        ("DELETE FROM task_thought WHERE seq = 7", "task_thought"),
        ("UPDATE session_thought SET seq = 8 WHERE seq = 4", "session_thought"),
        ("INSERT INTO session_thought VALUES (1, 1000, 5)", "session_thought"),
        ("INSERT INTO task_thought VALUES (77, 0, 5)", "task_thought"),
        ("UPDATE derived SET chained = 3", "task_thought"),
        ("UPDATE derived SET chained = 900", "derived"),
    ] {
        let db = TestCairn::new();
        for number in 0..12 {
            db.record(thought(number)).unwrap();
        }
        db.catch_up().unwrap();
        db.sql().execute_batch(change).unwrap();
        let report = db.verify(&Scope::All).unwrap();
        assert!(
            report.findings.iter().any(|finding| finding.table == table),
            "{change}: {:#?}",
            report.findings
        );
        db.rebuild().unwrap();
        let report = db.verify(&Scope::All).unwrap();
        assert!(report.valid(), "{change}: {:#?}", report.findings);
    }
}
