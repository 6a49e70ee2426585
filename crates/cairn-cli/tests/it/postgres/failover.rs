//! A primary and a standby that every commit waits for.

use std::time::Instant;

use cairn::{Cairn, NewThought, Scope, ThoughtType};

use super::cluster::Cluster;
use super::load::{Load, Served, check, show};
use crate::it::http::wire::get;

/// Given when it is started and not in its files, so that the standby, once it is the primary, waits for nobody.
const SYNCHRONOUS: &str = "-c synchronous_standby_names=*";

fn pair() -> Option<(Cluster, Cluster)> {
    let primary = Cluster::start(SYNCHRONOUS)?;
    let standby = primary.standby();
    primary.await_sql("SELECT sync_state FROM pg_stat_replication", "sync");
    Some((primary, standby))
}

#[test]
fn nothing_acknowledged_is_lost_when_a_standby_takes_over_and_servers_go_on_by_themselves() {
    let Some((primary, standby)) = pair() else { return };
    let state = tempfile::tempdir().unwrap();
    let database = primary.address_with(&standby);
    let servers: Vec<Served> = (0..2).map(|_| Served::start(&database, state.path())).collect();
    let addresses: Vec<_> = servers.iter().map(|server| server.addr).collect();
    let load = Load::start(&addresses, 32);
    load.await_more(200);

    primary.kill();
    let before = load.counts();
    // They have noticed.
    for addr in addresses {
        assert_eq!(get(addr, "/healthz").status, 503);
    }
    let killed = Instant::now();
    standby.promote();
    let promoted = killed.elapsed();
    let back = load.await_all();
    load.await_more(200);
    let after = load.counts();
    let told = load.stop();
    drop(servers);
    let stored = check(&database, state.path(), &told);
    eprintln!(
        "promoted in {promoted:?}, back {back:?} later, {stored} stored, by server {before:?} and {after:?}\n{}",
        show(&told)
    );
}

/// PostgreSQL answers a commit that was told not to wait for the standby any more with success, and a warning.
#[test]
fn a_commit_that_was_told_not_to_wait_for_the_standby_is_acknowledged_when_the_standby_has_it() {
    let Some((primary, standby)) = pair() else { return };
    let cairn = Cairn::open(primary.address()).unwrap();
    let thought = |content: &str| NewThought::new(ThoughtType::Plan, content).task("t").agent("a");
    cairn.record(thought("with a standby")).unwrap();
    // What follows behind the answer is done.
    primary.await_sql("SELECT through - size FROM cairn.derived, cairn.log", "-1");
    standby.stop();
    let recording = std::thread::spawn({
        let (cairn, thought) = (cairn.clone(), thought("without one"));
        move || cairn.record(thought)
    });
    let waiting = "FROM pg_stat_activity WHERE application_name = 'cairn' AND wait_event = 'SyncRep'";
    primary.await_sql(&format!("SELECT count(*) {waiting}"), "1");
    assert_eq!(primary.sql(&format!("SELECT count(pg_cancel_backend(pid)) {waiting}")), "1");
    // It stands there now, and whoever looks can see it.
    primary.await_sql("SELECT count(*) FROM cairn.thought", "2");
    // Who asks whether it does waits for the standby as well.
    primary.await_sql(&format!("SELECT count(*) {waiting}"), "1");
    assert!(!recording.is_finished(), "it was acknowledged, and the standby does not have it");
    standby.resume();
    let recorded = recording.join().unwrap().unwrap();
    assert_eq!(
        standby.sql(&format!("SELECT content FROM cairn.thought WHERE id = '{}'", recorded.id)),
        "without one"
    );
}

/// A standby that no commit waits for can lack the newest of them when it takes over. Once others have written as much again,
/// the log is as long as a server has left it, and another.
#[test]
fn a_log_that_lost_its_end_is_not_continued_from_what_is_remembered_of_it() {
    let Some(primary) = Cluster::start("") else { return };
    let standby = primary.standby();
    let thought = |content: &str| NewThought::new(ThoughtType::Plan, content).task("t").agent("a");
    let cairn = Cairn::open(primary.address_with(&standby)).unwrap();
    cairn.record(thought("kept")).unwrap();
    standby.await_sql("SELECT count(*) FROM cairn.thought", "1");
    standby.stop();
    cairn.record(thought("lost")).unwrap();
    primary.kill();
    standby.resume();
    standby.promote();
    Cairn::open(standby.address()).unwrap().record(thought("another's")).unwrap();
    cairn.record(thought("mine")).unwrap();
    let all = standby.sql("SELECT string_agg(content, ' ' ORDER BY position) FROM cairn.thought");
    assert_eq!(all, "kept another's mine");
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{:#?}", report.findings);
}
