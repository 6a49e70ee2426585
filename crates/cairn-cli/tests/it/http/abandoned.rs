//! Clients that ask for long work and leave: nobody does it for them.

use cairn::{NewThought, Options, ThoughtType};
use serde_json::json;

use super::agent::Agent;
use super::harness::{Server, database};
use super::wire::get;
use crate::it::database::open;

const CALLS: u64 = 300;

/// A figure of `/metrics`.
fn figure(server: &Server, name: &str) -> Option<u64> {
    let page = get(server.addr, "/metrics").text();
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

fn begun(server: &Server) -> u64 {
    figure(server, "cairn_verifications_total").unwrap()
}

/// A server on a log that takes a while to verify, verified once.
fn server() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let cairn = open(Options::new(), &database(folder.path()));
    std::thread::scope(|scope| {
        for session in 0..16 {
            let cairn = &cairn;
            scope.spawn(move || {
                for n in 0..200 {
                    let text = format!("thought {n} of {session}");
                    let thought = NewThought::new(ThoughtType::Plan, text).session(format!("s{session}"));
                    cairn.record(thought.task("t").agent("a")).unwrap();
                }
            });
        }
    });
    cairn.close();
    let server = Server::in_folder(folder, &["--quiet"]);
    while figure(&server, "cairn_log_valid") != Some(1) {}
    server
}

#[test]
fn verifications_of_clients_that_have_left_never_begin() {
    let server = server();
    let (before, mut other) = (begun(&server), server.agent());
    let call = json!({ "name": "log_verify", "arguments": {} });
    for _ in 0..CALLS {
        let mut agent = Agent::new(server.addr);
        agent.send("tools/call", call.clone()).unwrap();
    }
    // Reading waits behind none of them.
    assert_eq!(other.data("session_list", json!({}))["sessions"].as_array().unwrap().len(), 16);
    // Until the server has taken every connection and noticed that nobody is there.
    while {
        assert_eq!(other.data("log_verify", json!({}))["valid"], true);
        figure(&server, "cairn_requests_in_flight") != Some(1)
    } {}
    let since = begun(&server);
    assert!(since - before < CALLS / 2, "{} verifications ran for {CALLS} callers", since - before);
    assert_eq!(other.data("thought_verify", json!({}))["valid"], true);
    assert_eq!(begun(&server), since + 1, "one more, for the one who asked");
}

#[test]
fn everyone_who_asks_at_once_gets_a_whole_answer() {
    let server = server();
    let before = begun(&server);
    let answers: Vec<u64> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..24)
            .map(|n| {
                let addr = server.addr;
                scope.spawn(move || {
                    let mut agent = Agent::new(addr);
                    let made = json!({ "session_id": "mine", "plan_description": format!("{n}") });
                    let seq = agent.data("thought_plan", made)["seq"].as_u64().unwrap();
                    let verdict = agent.data("log_verify", json!({}));
                    assert_eq!(verdict["valid"], true, "{verdict}");
                    assert!(
                        verdict["log_size"].as_u64().unwrap() > seq,
                        "an answer from before the question"
                    );
                    seq
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    assert_eq!(answers.len(), 24);
    assert!((1..=24).contains(&(begun(&server) - before)));
}
