//! Four servers on one log, one of them killed now and then, and their connections cut.

use std::time::Duration;

use super::cluster::Cluster;
use super::load::{Load, Served, check, show};

/// How long it goes on; `CAIRN_TEST_SECONDS=60` for a long look.
fn seconds() -> u64 {
    std::env::var("CAIRN_TEST_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(20)
}

#[test]
fn four_servers_write_one_log_while_one_is_killed_and_connections_are_cut() {
    let Some(cluster) = Cluster::start("") else { return };
    let state = tempfile::tempdir().unwrap();
    let database = cluster.address();
    let mut servers: Vec<Served> = (0..4).map(|_| Served::start(&database, state.path())).collect();
    let addresses: Vec<_> = servers.iter().map(|server| server.addr).collect();
    let load = Load::start(&addresses, 32);
    // However slow the machine is, each server has recorded something between two disturbances.
    let pause = || {
        std::thread::sleep(Duration::from_secs(seconds()) / 5);
        load.await_more(10);
    };
    let mut back = Vec::new();
    pause();
    for _ in 0..2 {
        servers[0].kill_and_restart(&database, state.path());
        back.push(load.await_all());
        pause();
        assert_ne!(cluster.cut_connections(), "0");
        back.push(load.await_all());
        pause();
    }
    let counts = load.counts();
    let told = load.stop();
    drop(servers);
    let stored = check(&database, state.path(), &told);
    eprintln!("{} s, {stored} stored, by server {counts:?}, back after {back:?}\n{}", seconds(), show(&told));
}
