//! `--read-db`: a server that reads from a replica.
//!
//! The replica here is a copy in another database of the same server, which nobody may write to. It follows when the test
//! says so, which makes a replica that is behind, as one that follows by itself seldom is for long.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::harness::{Server, database, program};
use super::wire::get;
use crate::it::database::{self as databases, Replica};

/// What the server says of its replica.
fn state(server: &Server) -> String {
    let answer = get(server.addr, "/healthz");
    assert_eq!(answer.status, 200, "{}", answer.whole());
    answer.json()["replica"].as_str().unwrap().to_string()
}

/// How many reads the replica has answered, and how many it was passed over for.
fn reads(server: &Server) -> (u64, u64) {
    let figures = get(server.addr, "/metrics").text();
    let one = |name: &str| {
        let line = figures.lines().find_map(|line| line.strip_prefix(name)).expect("the figure");
        line.trim().parse().unwrap()
    };
    (one("cairn_replica_reads_total "), one("cairn_replica_passed_over_total "))
}

fn record(folder: &Path, text: &str) {
    let status =
        program(folder).args(["record", "plan", text, "-s", "s", "--agent", "ada"]).output().unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
}

#[test]
fn reads_go_to_a_replica_that_has_all_that_was_recorded_here_and_nowhere_else() {
    if !databases::on_postgres() {
        eprintln!("PostgreSQL's own: there are no replicas of a file");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), "before the copy");
    assert!(program(folder.path()).args(["search", "copy"]).output().unwrap().status.success());
    let replica = Replica::of(&database(folder.path()));
    let server = Server::in_folder(folder, &["--read-db", &replica.address]);
    let mut agent = server.agent();
    let tree = json!({ "session_id": "s" });
    assert_eq!(agent.data("thought_search", json!({ "query": "copy" }))["count"], 1);
    assert_eq!(agent.data("thought_tree", tree.clone())["tree"].as_array().unwrap().len(), 1);
    assert_eq!(state(&server), "used");
    let (read, _) = reads(&server);
    assert!(read > 0);

    // Behind: what was recorded here is seen at once, in every way.
    let new = agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "zebra" }));
    assert_eq!(agent.data("thought_get", json!({ "id": new["id"] }))["content"], "zebra");
    assert_eq!(agent.data("thought_search", json!({ "query": "zebra" }))["count"], 1);
    assert!(get(server.addr, "/sessions/s.json").text().contains("zebra"));
    assert_eq!(state(&server), "behind");
    let (_, passed) = reads(&server);
    assert!(passed > 0);

    // It has followed.
    replica.follow();
    let (before, _) = reads(&server);
    assert_eq!(agent.data("thought_search", json!({ "query": "zebra" }))["count"], 1);
    assert_eq!(state(&server), "used");
    assert!(reads(&server).0 > before);
    // What is verified is the database itself, and that is said.
    let verdict = agent.data("thought_verify", json!({}));
    assert_eq!(verdict["valid"], true);
    assert!(verdict["notes"].to_string().contains("the replica that is read from"), "{verdict}");

    // Gone: nobody notices.
    drop(replica);
    assert_eq!(agent.data("thought_search", json!({ "query": "zebra" }))["count"], 1);
    assert_eq!(agent.data("thought_get", json!({ "id": new["id"] }))["content"], "zebra");
    assert_eq!(state(&server), "unreachable");
}

#[test]
fn what_is_no_replica_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |address: &str| {
        let output = program(folder.path())
            .args(["serve", "--addr", "127.0.0.1:0", "--read-db", address])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    record(folder.path(), "one");
    if !databases::on_postgres() {
        let said = refused("postgres://ann:secret@127.0.0.1:1/cairn");
        assert!(said.contains("the database itself is a file"), "{said}");
        assert!(said.contains("hint: `--read-db`") && !said.contains("secret"), "{said}");
        return;
    }
    assert!(refused("/a/file.db").contains("it is no address of a server"));
    let replica = Replica::of(&database(folder.path()));
    assert!(
        refused(&format!("{}?schema=other", replica.address))
            .contains("schema: must be that of the database")
    );
    // Another past: the same beginning, and then something else on each side.
    replica.writable();
    let elsewhere = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(["--db", &replica.with_schema(), "record", "plan", "elsewhere", "-s", "s", "--agent", "eve"])
        .env("CAIRN_STATE", folder.path().join("elsewhere"))
        .output()
        .unwrap();
    assert!(elsewhere.status.success(), "{}", String::from_utf8_lossy(&elsewhere.stderr));
    assert!(refused(&replica.address).contains("it holds another past of this log"));
    record(folder.path(), "two");
    record(folder.path(), "three");
    assert!(refused(&replica.address).contains("it holds another past of this log"));
    // Another log, and none.
    replica.empty();
    assert!(refused(&replica.address).contains("there is no log in it"));
    let other = tempfile::tempdir().unwrap();
    record(other.path(), "of another log");
    replica.follow_other(&database(other.path()));
    assert!(refused(&replica.address).contains("it holds another log, `cairn/"));
}
