use cairn::{Activity, Durability, Error, Options};

use crate::harness::{TestCairn, on_postgres, plan, sqlites_own};

#[test]
fn nothing_written_counts_nothing_and_starts_no_writer() {
    let db = TestCairn::new();
    assert_eq!(db.activity(), Activity::default());
    db.tree("s", false).unwrap();
    assert_eq!(db.activity(), Activity::default());
}

#[test]
fn what_is_committed_is_counted_before_anyone_is_answered() {
    let db = TestCairn::with(Options::new().automatic_checkpoints(false));
    for i in 1..=5 {
        db.record(plan("t", &i.to_string())).unwrap();
        let activity = db.activity();
        assert_eq!((activity.commits, activity.committed_writes, activity.queued), (i, i, 0));
    }
    let activity = db.activity();
    assert!(activity.commit_micros > 0);
    assert_eq!((activity.largest_batch, activity.failed_commits, activity.last_failure), (1, 0, None));
}

#[test]
fn writes_that_come_at_once_share_commits() {
    let db = TestCairn::with(Options::new().durability(Durability::Normal).automatic_checkpoints(false));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..50).for_each(|i| drop(db.record(plan("t", &i.to_string())).unwrap())));
        }
    });
    let activity = db.activity();
    assert_eq!((activity.committed_writes, activity.queued), (400, 0));
    assert!(activity.largest_batch <= 8 && activity.commits <= 400, "{activity:?}");
    assert!(activity.commits * activity.largest_batch >= 400, "{activity:?}");
}

#[test]
fn a_commit_that_fails_is_counted_and_its_reason_kept() {
    let db = TestCairn::with(Options::new().automatic_checkpoints(false));
    db.record(plan("t", "before")).unwrap();
    let no_luck = match on_postgres() {
        false => "CREATE TRIGGER no_luck BEFORE INSERT ON thought BEGIN SELECT raise(ABORT, 'no luck'); END",
        true => "CREATE TRIGGER no_luck BEFORE INSERT ON thought EXECUTE FUNCTION refuse('no luck')",
    };
    db.sql().execute_batch(no_luck).unwrap();
    db.record(plan("t", "lost")).unwrap_err();
    let activity = db.activity();
    assert_eq!((activity.commits, activity.failed_commits, activity.queued), (1, 1, 0));
    assert!(activity.last_failure.is_some_and(|why| why.contains("no luck")));
    db.sql()
        .execute_batch(if on_postgres() { "DROP TRIGGER no_luck ON thought" } else { "DROP TRIGGER no_luck" })
        .unwrap();
    db.ready_to_write().unwrap();
    db.record(plan("t", "after")).unwrap();
    assert!(db.activity().last_failure.is_some(), "it did fail");
    db.check();
}

#[test]
fn whether_it_can_write_is_found_out_without_writing() {
    let db = TestCairn::new();
    db.record(plan("t", "x")).unwrap();
    let before = db.status().unwrap();
    let activity = db.activity();
    for _ in 0..3 {
        db.ready_to_write().unwrap();
    }
    assert_eq!(db.activity(), activity);
    assert_eq!(db.status().unwrap().entries, before.entries);
    db.check();
}

#[test]
fn a_database_that_another_holds_is_busy_and_free_again_afterwards() {
    let db = TestCairn::new();
    let other = db.sql();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = std::time::Instant::now();
    std::thread::scope(|scope| {
        let asks: Vec<_> = (0..4).map(|_| scope.spawn(|| db.ready_to_write())).collect();
        for ask in asks {
            assert_eq!(ask.join().unwrap().unwrap_err().code(), "BUSY");
        }
    });
    assert!(started.elapsed().as_secs() < 60);
    other.execute_batch("ROLLBACK").unwrap();
    db.ready_to_write().unwrap();
    db.record(plan("t", "x")).unwrap();
}

#[test]
#[cfg(unix)]
fn a_file_that_cannot_be_written_is_read_only() {
    use std::os::unix::fs::PermissionsExt;
    sqlites_own!("the rights of a file");
    let db = TestCairn::new();
    let path = db.folder().join("copy.db");
    db.backup(&path, &mut |_| {}).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return; // Permissions do not hold for this user.
    }
    let copy = Options::new().create(false).open(&path).unwrap();
    assert!(copy.ready_to_write().unwrap_err().to_string().contains("read-only"));
}

#[test]
fn a_log_that_was_put_back_is_refused() {
    let db = TestCairn::signing();
    db.record(plan("t", "old")).unwrap();
    let old = db.copy("old.db");
    db.record(plan("t", "new")).unwrap();
    db.checkpoint().unwrap();
    let (options, path) = (db.options(), db.path());
    assert!(options.clone().open(&old).unwrap().ready_to_write().is_ok(), "a copy elsewhere may go on");
    crate::harness::copy(&old, &path);
    assert!(matches!(options.open(&path).unwrap().ready_to_write(), Err(Error::Forbidden(_))));
}
