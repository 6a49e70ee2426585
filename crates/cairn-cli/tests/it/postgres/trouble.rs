//! A server that is full, locked, or has no place for another connection.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use cairn::{Cairn, Error, NewThought, Scope, ThoughtType};

use super::cluster::{Cluster, give, new_folder};
use crate::it::seeded::Seeded;

fn thought(content: impl Into<String>) -> NewThought {
    NewThought::new(ThoughtType::Plan, content).task("t").agent("a")
}

const TOO_MANY: &str = "sorry, too many clients already";

#[track_caller]
fn await_change(or: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < Duration::from_secs(60), "{or}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Ends a program when it is dropped.
struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_takes_no_more_connections_is_waited_for() {
    let Some(cluster) =
        Cluster::start("-c max_connections=4 -c superuser_reserved_connections=0 -c max_wal_senders=0")
    else {
        return;
    };
    // Whoever looks whether there is a place takes one for a moment, and a holder may come just then.
    let (mut holders, began, mut full): (Vec<Holder>, _, _) = (Vec::new(), Instant::now(), 0);
    while full < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "there is a place for another connection");
        holders.retain_mut(|holder| holder.0.try_wait().unwrap().is_none());
        full = match holders.len() {
            4 if !cluster.try_sql("SELECT 1").status.success() => full + 1,
            4 => 0,
            _ => {
                holders.push(Holder(cluster.hold("SELECT pg_sleep(600)")));
                0
            }
        };
        std::thread::sleep(Duration::from_millis(100));
    }
    let (address, refused) = (cluster.address(), cluster.said(TOO_MANY));
    let opening = std::thread::spawn(move || Cairn::open(address).map(|cairn| cairn.record(thought("x"))));
    await_change("it does not try again", || cluster.said(TOO_MANY) >= refused + 3);
    assert!(!opening.is_finished(), "it did not wait");
    // One to open it, one to write.
    holders.truncate(2);
    opening.join().unwrap().unwrap().unwrap();
}

#[test]
fn whoever_holds_the_log_for_too_long_makes_others_busy_and_they_go_on_afterwards() {
    let Some(cluster) = Cluster::start("") else { return };
    let cairn = Cairn::open(cluster.address()).unwrap();
    cairn.record(thought("before")).unwrap();
    let holder = Holder(cluster.hold("BEGIN; SELECT 1 FROM cairn.log FOR UPDATE; SELECT pg_sleep(600)"));
    cluster.await_sql(
        "SELECT count(*) FROM pg_locks WHERE relation = 'cairn.log'::regclass AND mode = 'RowShareLock'",
        "1",
    );
    let refused = cairn.record(thought("refused")).unwrap_err();
    assert_eq!(refused.code(), "BUSY");
    assert!(
        refused.to_string().contains("others kept the database locked for 20 s; nothing was written"),
        "{refused}"
    );
    drop(holder);
    cluster.await_sql(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'BEGIN; %'",
        "0",
    );
    cairn.record(thought("after")).unwrap();
    assert_eq!(
        cluster.sql("SELECT string_agg(content, ' ' ORDER BY seq) FROM cairn.thought"),
        "before after"
    );
}

#[test]
fn a_server_that_takes_no_writes_for_a_while_is_waited_for_and_read_meanwhile() {
    let Some(cluster) = Cluster::start("") else { return };
    let cairn = Cairn::open(cluster.address()).unwrap();
    cairn.record(thought("before")).unwrap();
    // Also for the connections that are there: each asks when a transaction begins.
    cluster.sql("ALTER SYSTEM SET default_transaction_read_only = on");
    cluster.sql("SELECT pg_reload_conf()");
    cluster.await_sql("SHOW default_transaction_read_only", "on");
    let recording = std::thread::spawn({
        let cairn = cairn.clone();
        move || cairn.record(thought("meanwhile"))
    });
    for _ in 0..3 {
        let before = cluster.last_asked();
        await_change("it does not try again", || cluster.last_asked() != before);
    }
    assert!(!recording.is_finished(), "it did not wait");
    assert_eq!(cairn.list(&Default::default()).unwrap().records.len(), 1);
    cluster.sql("ALTER SYSTEM RESET default_transaction_read_only");
    cluster.sql("SELECT pg_reload_conf()");
    recording.join().unwrap().unwrap();
}

#[test]
fn more_readers_than_connections_come_one_after_the_other() {
    let Some(cluster) = Cluster::start("") else { return };
    let cairn = Cairn::open(cluster.address()).unwrap();
    let id = cairn.record(thought("x")).unwrap().id.to_string();
    let holder = Holder(cluster.hold("BEGIN; LOCK TABLE cairn.thought; SELECT pg_sleep(600)"));
    cluster.await_sql("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'cairn.thought'::regclass", "1");
    let readers: Vec<_> = (0..64)
        .map(|_| {
            let (cairn, id) = (cairn.clone(), id.clone());
            std::thread::spawn(move || cairn.get(&id).map(|thought| thought.unwrap().content))
        })
        .collect();
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn' AND wait_event_type = 'Lock'";
    cluster.await_sql(waiting, "16");
    drop(holder);
    for reader in readers {
        assert_eq!(reader.join().unwrap().unwrap(), "x");
    }
    let connections = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cairn'";
    assert!(cluster.sql(connections).parse::<u32>().unwrap() <= 17);
}

/// A small disk, where this user can make one.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new(size: &str) -> Option<Disk> {
        let disk = Disk(new_folder(None));
        let mounted = Disk::mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], &disk);
        if !mounted {
            eprintln!("no small disk can be made here: a full one is not tested");
            return None;
        }
        give(disk.0.path());
        Some(disk)
    }

    fn mount(args: &[&str], disk: &Disk) -> bool {
        let status =
            Command::new("mount").args(args).arg(disk.0.path()).stderr(std::process::Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ =
            Command::new("umount").arg("-l").arg(self.0.path()).stderr(std::process::Stdio::null()).status();
    }
}

#[test]
fn a_full_disk_of_the_server_leaves_nothing_half_written_and_is_over_when_there_is_room() {
    let Some(disk) = Disk::new("4m") else { return };
    let Some(cluster) = Cluster::start("") else { return };
    let cairn = Cairn::open(cluster.address()).unwrap();
    cluster.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", disk.0.path().display()));
    cluster.sql("ALTER TABLE cairn.thought SET TABLESPACE small");
    // Not to be squeezed.
    let noise = |seed: u64| -> String {
        let mut random = Seeded(seed);
        (0..200_000).map(|_| char::from(b'!' + random.below(90) as u8)).collect()
    };
    let mut kept = 0;
    let refused = loop {
        match cairn.record(thought(noise(kept))) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "the disk is not full");
    };
    assert!(matches!(refused, Error::Store(_)), "{refused}");
    assert_eq!(refused.to_string(), "the disk is full: nothing was written; free some space and try again");
    assert!(cairn.ready_to_write().is_err() || cairn.record(thought(noise(kept))).is_err());
    assert!(cairn.verify(&Scope::All).unwrap().valid());
    assert_eq!(cluster.sql("SELECT count(*) FROM cairn.thought"), kept.to_string());
    assert!(Disk::mount(&["-o", "remount,size=64m"], &disk));
    cairn.record(thought(noise(kept))).unwrap();
    assert!(cairn.verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_server_that_hangs_makes_callers_busy_and_they_go_on_afterwards() {
    let Some(cluster) = Cluster::start("") else { return };
    let cairn = Cairn::open(cluster.address()).unwrap();
    cairn.record(thought("before")).unwrap();
    // Later than this what is sent first is no commit, so it is known that nothing was written. That is a matter of time
    // alone.
    std::thread::sleep(Duration::from_secs(6));
    cluster.freeze();
    let refused = cairn.record(thought("refused")).unwrap_err();
    assert_eq!(refused.code(), "BUSY", "{refused}");
    assert!(refused.to_string().contains("nothing was written"), "{refused}");
    cluster.thaw();
    cairn.record(thought("after")).unwrap();
    let contents = "SELECT string_agg(content, ' ' ORDER BY seq) FROM cairn.thought";
    assert_eq!(cluster.sql(contents), "before after");
    assert!(cairn.verify(&Scope::All).unwrap().valid());
}
