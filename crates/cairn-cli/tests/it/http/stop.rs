//! A server that is asked to end while it is being used.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cairn::Options;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::agent::Agent;
use super::harness::{Server, database, ignores_hangup, program};
use super::wire::{Wire, get};
use crate::it::database::{Holder, open};

const CLIENTS: usize = 32;

/// Ids and contents of all thoughts, as the command line tells them.
fn stored(folder: &Path) -> HashMap<String, String> {
    let output = program(folder).args(["list", "--json", "--limit", "1000000"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_string();
    let records = listed["records"].as_array().unwrap();
    records.iter().map(|record| (text(record, "id"), text(record, "content"))).collect()
}

#[test]
fn whatever_was_acknowledged_is_there_after_the_end() {
    let server = Server::with_args(&["--quiet"]);
    let mut watching = Wire::open(server.addr);
    watching.request("GET", "/events", &[], b"").unwrap();
    assert_eq!(watching.head().unwrap().0, 200);
    let mut listening = Agent::new(server.addr);
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["cairn://session/s1/tree"] } });
    listening.send("subscriptions/listen", wanted).unwrap();
    let mut listening = listening.into_wire();
    assert_eq!(listening.head().unwrap().0, 200);
    let idle = Wire::open(server.addr);

    let acknowledged = Mutex::new(HashMap::new());
    let count = AtomicUsize::new(0);
    let addr = server.addr;
    let end = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (acknowledged, count) = (&acknowledged, &count);
            scope.spawn(move || {
                let mut agent = Agent::new(addr);
                for n in 0.. {
                    let content = format!("{client}/{n}");
                    let arguments =
                        json!({ "session_id": format!("s{}", client % 3), "plan_description": content });
                    let call = json!({ "name": "thought_plan", "arguments": arguments });
                    // Either an answer or a closed connection: anything else takes longer than a test waits.
                    let Ok(answer) = agent.send("tools/call", call).and_then(|()| agent.receive()) else {
                        break;
                    };
                    assert_eq!(answer.status, 200, "{}", answer.whole());
                    let envelope = answer.json()["result"]["structuredContent"].take();
                    assert_eq!(envelope["ok"], true, "{envelope}");
                    let id = envelope["data"]["id"].as_str().unwrap().to_string();
                    acknowledged.lock().unwrap().insert(id, content);
                    count.fetch_add(1, Ordering::Relaxed);
                    if answer.header("connection") == Some("close") {
                        break;
                    }
                }
            });
        }
        let began = Instant::now();
        while count.load(Ordering::Relaxed) < 400 {
            assert!(began.elapsed() < Duration::from_secs(60), "nothing is recorded");
            std::thread::sleep(Duration::from_millis(2));
        }
        server.stop()
    });
    assert!(end.status.success(), "{:?}: {}", end.status, end.said);
    // The streams were ended, not left open.
    watching.rest();
    listening.rest();
    drop(idle);
    let (acknowledged, stored) = (acknowledged.into_inner().unwrap(), stored(end.folder.path()));
    for (id, content) in &acknowledged {
        assert_eq!(stored.get(id), Some(content), "acknowledged and lost");
    }
    let verified = program(end.folder.path()).arg("verify").output().unwrap();
    let told = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{told}\n{}", String::from_utf8_lossy(&verified.stderr));
}

#[test]
fn a_server_that_was_stopped_can_be_started_again_on_its_address() {
    let server = Server::start();
    let addr = server.addr.to_string();
    server.agent().data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    let end = server.stop();
    let again = Server::in_folder(end.folder, &["--addr", &addr]);
    assert_eq!(again.addr.to_string(), addr);
    let listed = again.agent().data("thought_record_list", json!({ "session_id": "s" }));
    assert_eq!(listed["records"].as_array().unwrap().len(), 1);
}

/// The size of the log, and what its newest checkpoint covers.
fn covered(folder: &Path) -> (u64, u64) {
    let cairn = open(Options::new().create(false), &database(folder));
    let checkpoint = cairn.newest_checkpoint().unwrap();
    (cairn.status().unwrap().entries, checkpoint.map_or(0, |checkpoint| checkpoint.size))
}

#[test]
fn each_signal_that_asks_for_the_end_leaves_a_checkpoint_of_the_whole_log() {
    // Tests that were started under `nohup` cannot show what SIGHUP does.
    let hangup = Some(Signal::HUP).filter(|_| !ignores_hangup());
    for signal in [Signal::TERM, Signal::INT].into_iter().chain(hangup) {
        let server = Server::start();
        server.agent().data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
        server.signal(signal);
        let end = server.ended();
        assert!(end.status.success(), "{signal:?}: {:?}: {}", end.status, end.said);
        let (entries, checkpoint) = covered(end.folder.path());
        assert!(entries >= 2 && entries == checkpoint, "{signal:?}: {checkpoint} of {entries}");
        let verified = program(end.folder.path()).args(["verify", "--json"]).output().unwrap();
        let verdict: Value = serde_json::from_slice(&verified.stdout).unwrap();
        assert_eq!(verdict["coverage"]["outside"]["size"], json!(entries), "{signal:?}: {verdict}");
    }
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let server = Server::start();
    server.agent().data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    // The last checkpoint waits for the other writer, longer than a test does.
    let holder = Holder::of(&database(server.path()));
    server.signal(Signal::TERM);
    server.signal(Signal::INT);
    let end = server.ended();
    assert!(matches!(end.status.code(), Some(130 | 143)), "{:?}: {}", end.status, end.said);
    drop(holder);
}

/// `nohup` has a program ignore that its terminal is gone.
#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let server = Server::under_nohup();
    server.signal(Signal::HUP);
    assert_eq!(get(server.addr, "/healthz").status, 200);
    assert!(server.stop().status.success());
}
