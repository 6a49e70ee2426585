//! How a client opens, and how it ends.

use std::collections::HashSet;
use std::io::Write;
use std::process::Stdio;

use cairn::{Filter, Options, Scope};
use serde_json::{Value, json};

use super::harness::{Server, command, envelope, initialize, meta};
use crate::it::database;
#[cfg(unix)]
use crate::it::http::harness::ignores_hangup;

#[test]
fn a_client_is_answered_under_the_revision_it_asks_for() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut server = Server::silent();
        let answer = server.request("initialize", initialize(asked));
        assert_eq!(answer["result"]["protocolVersion"], answered);
        assert_eq!(answer["result"]["serverInfo"]["name"], "cairn");
        assert!(answer["result"]["instructions"].as_str().unwrap().contains("thought_decision"));
        let answer = server.request("tools/list", json!({}));
        assert_eq!(answer["result"]["resultType"], Value::Null, "{asked}: only the newest revision has it");
    }
}

#[test]
fn a_client_of_the_newest_revision_needs_no_handshake() {
    let mut server = Server::silent();
    let answer = server.request("server/discover", json!({ "_meta": meta() }));
    let versions = answer["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2024-11-05")), "{answer}");
    assert!(answer["result"]["instructions"].is_string());

    let answer = server.request("tools/list", json!({ "_meta": meta() }));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 44);

    let arguments = json!({ "plan_description": "p", "session_id": "s" });
    let params = json!({ "name": "thought_plan", "arguments": arguments, "_meta": meta() });
    let answer = server.request("tools/call", params);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(envelope(&answer)["data"]["agent_id"], "modern-client");

    let bad = json!({ "name": "thought_plan", "arguments": {}, "_meta": meta() });
    let answer = server.request("tools/call", bad);
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(envelope(&answer)["error"]["code"], "INVALID_PARAMS");

    let mut unknown = meta();
    unknown["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let answer = server.request("tools/list", json!({ "_meta": unknown }));
    assert_eq!(answer["error"]["code"], -32022);
}

#[test]
fn a_call_without_a_revision_is_told_what_is_missing() {
    let mut server = Server::silent();
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    for method in ["tools/list", "tools/call"] {
        let answer = server.request(method, json!({ "name": "thought_get", "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["message"].as_str().unwrap().contains("initialize"), "{answer}");
    }
    assert!(server.is_alive());
}

#[test]
fn the_end_of_input_ends_the_server() {
    for server in [Server::silent(), Server::start()] {
        let end = server.end();
        assert!(end.status.success(), "{:?}", end.status);
        assert!(end.answers.is_empty(), "{:?}", end.answers);
    }
}

#[test]
fn half_a_message_at_the_end_is_answered_and_a_whole_one_served() {
    let mut server = Server::start();
    server.send_part(r#"{"jsonrpc":"2.0","id":5,"method":"tools/ca"#);
    let end = server.end();
    assert_eq!((&end.answers[0]["id"], &end.answers[0]["error"]["code"]), (&json!(5), &json!(-32700)));
    assert!(end.status.success());

    let mut server = Server::start();
    server.send_part(r#"{"jsonrpc":"2.0","id":6,"method":"ping"}"#);
    assert_eq!(server.end().answers, [json!({ "jsonrpc": "2.0", "id": 6, "result": {} })]);
}

#[test]
fn ten_thousand_calls_and_the_end_of_input_are_all_answered_and_on_disk() {
    const CALLS: usize = 10_000;
    let mut server = Server::start();
    let mut lines = String::new();
    for id in 1000..1000 + CALLS {
        let arguments = json!({ "decision": format!("number {id}"), "session_id": format!("s{}", id % 7) });
        let params = json!({ "name": "thought_decision", "arguments": arguments });
        lines += &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string();
        lines += "\n";
    }
    server.send(lines.trim_end());
    let end = server.end();
    assert!(end.status.success());
    let acknowledged: HashSet<&str> = end
        .answers
        .iter()
        .map(|answer| answer["result"]["structuredContent"]["data"]["id"].as_str().unwrap())
        .collect();
    assert_eq!(acknowledged.len(), CALLS);

    let cairn = database::open(Options::new(), &end.folder.path().join("cairn.db"));
    let stored = cairn.list(&Filter { limit: Some(10_000), ..Filter::default() }).unwrap().records;
    assert_eq!(stored.len(), CALLS);
    assert!(stored.iter().all(|thought| acknowledged.contains(thought.id.as_str())));
    assert!(cairn.verify(&Scope::All).unwrap().valid());
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let mut server = Server::start();
    let params =
        json!({ "name": "thought_plan", "arguments": { "plan_description": "p", "session_id": "s" } });
    let call = json!({ "jsonrpc": "2.0", "id": "twice", "method": "tools/call", "params": params });
    server.send(format!("{call}\n{call}"));
    let (first, second) = (server.receive(), server.receive());
    assert_eq!((&first["id"], &first["error"]["code"]), (&json!("twice"), &json!(-32600)), "{first}");
    assert_eq!(envelope(&second)["ok"], true);
}

#[test]
fn a_client_that_leaves_without_reading_ends_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(&folder.path().join("cairn.db"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    writeln!(stdin, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn input_from_a_file_and_output_to_a_file_work_too() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25") });
    std::fs::write(&input, format!("{request}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}"))
        .unwrap();
    let status = command(&folder.path().join("cairn.db"))
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(std::fs::File::create(&output).unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(std::fs::read_to_string(&output).unwrap().lines().count(), 2);
}

#[cfg(unix)]
#[test]
fn a_parent_that_gives_sockets_is_served() {
    use std::io::{BufRead, BufReader};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let folder = tempfile::tempdir().unwrap();
    let (mut input, theirs_in) = UnixStream::pair().unwrap();
    let (output, theirs_out) = UnixStream::pair().unwrap();
    let mut child = command(&folder.path().join("cairn.db"))
        .stdin(OwnedFd::from(theirs_in))
        .stdout(OwnedFd::from(theirs_out))
        .spawn()
        .unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
#[cfg(unix)]
fn each_signal_that_asks_for_the_end_leaves_a_checkpoint_of_the_whole_log() {
    use rustix::process::Signal;
    // Tests that were started under `nohup` cannot show what SIGHUP does.
    let hangup = Some(Signal::HUP).filter(|_| !ignores_hangup());
    for signal in [Signal::TERM, Signal::INT].into_iter().chain(hangup) {
        let mut server = Server::start();
        server.data("thought_plan", json!({ "plan_description": "p", "session_id": "s" }));
        let end = server.signalled(&[signal]);
        assert!(end.status.success(), "{signal:?}: {:?}", end.status);
        let cairn = database::open(Options::new().create(false), &end.folder.path().join("cairn.db"));
        let (entries, checkpoint) = (cairn.status().unwrap().entries, cairn.newest_checkpoint().unwrap());
        assert!(entries >= 2 && checkpoint.is_some_and(|made| made.size == entries), "{signal:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_second_signal_ends_the_server_at_once() {
    use rustix::process::Signal;
    let mut server = Server::start();
    server.data("thought_plan", json!({ "plan_description": "p", "session_id": "s" }));
    // The last checkpoint waits for the other writer, longer than a test does.
    let holder = database::Holder::of(&server.folder.path().join("cairn.db"));
    let end = server.signalled(&[Signal::TERM, Signal::INT]);
    assert!(matches!(end.status.code(), Some(130 | 143)), "{:?}", end.status);
    drop(holder);
}
