//! `log_checkpoint`, `log_prove`, `log_verify`, and the checkpoint as a resource.

use cairn::core::log::{CheckpointNote, Growth, Receipt};
use cairn::core::note::{Verdict, VerifyingKey};
use serde_json::json;

use super::harness::Server;

/// The log's key, as the log itself names it.
fn key(server: &mut Server) -> VerifyingKey {
    let verdict = server.data("log_verify", json!({}));
    let by = verdict["coverage"]["signed_by"].as_str().unwrap();
    by.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_log_is_stated_and_a_record_is_proved_by_it() {
    let mut server = Server::start();
    let plan = server.data("thought_plan", json!({"plan_description": "prove it", "session_id": "s"}));
    let stated = server.data("log_checkpoint", json!({}));
    assert_eq!(stated["size"], 3);
    assert_eq!(server.data("log_checkpoint", json!({})), stated);
    let key = key(&mut server);
    let note: CheckpointNote = stated["note"].as_str().unwrap().parse().unwrap();
    assert_eq!(note.verdict(&key), Verdict::Signed);

    let proof = server.data("log_prove", json!({"id": plan["id"]}));
    assert_eq!(proof, server.data("log_prove", json!({"seq": plan["seq"]})));
    let receipt: Receipt = proof["receipt"].as_str().unwrap().parse().unwrap();
    receipt.verify(proof["leaf"].as_str().unwrap().as_bytes(), &key).unwrap();

    server.data("thought_plan", json!({"plan_description": "and more", "session_id": "s"}));
    server.data("log_checkpoint", json!({}));
    let grown = server.data("log_prove", json!({"old_size": 3}));
    let report: Growth = grown["report"].as_str().unwrap().parse().unwrap();
    assert!(report.extends(&stated["root"].as_str().unwrap().parse().unwrap()));

    let verdict = server.data("log_verify", json!({}));
    assert_eq!((&verdict["valid"], &verdict["log_size"]), (&json!(true), &json!(4)));
    assert_eq!((&verdict["coverage"]["signed"], &verdict["coverage"]["checkpoints"]), (&json!(4), &json!(2)));
}

#[test]
fn the_newest_checkpoint_is_a_resource() {
    let mut server = Server::start();
    server.data("thought_plan", json!({"plan_description": "p", "session_id": "s"}));
    let stated = server.data("log_checkpoint", json!({}));
    for uri in ["cairn://checkpoint/latest", "cairn://checkpoint/3", "cairn://checkpoint/99"] {
        let read = server.request("resources/read", json!({ "uri": uri }));
        assert_eq!(read["result"]["contents"][0]["text"], stated["note"], "{uri}");
        assert_eq!(read["result"]["contents"][0]["mimeType"], "text/plain");
    }
    let listed = server.request("resources/list", json!({}))["result"]["resources"].take();
    assert!(
        listed.as_array().unwrap().iter().any(|one| one["uri"] == "cairn://checkpoint/latest"),
        "{listed}"
    );
}

#[test]
fn what_cannot_be_proved_is_told_in_words() {
    let mut server = Server::start();
    server.data("thought_plan", json!({"plan_description": "p", "session_id": "s"}));
    for (arguments, code, words) in [
        (json!({}), "INVALID_PARAMS", "give exactly one of id, seq and old_size"),
        (json!({"id": "x", "seq": 1}), "INVALID_PARAMS", "give exactly one of"),
        (json!({"id": "x"}), "NOT_FOUND", "no thought `x`"),
        (json!({"seq": 99}), "NOT_FOUND", "no log entry `99`; log_checkpoint tells how many there are"),
        (json!({"seq": -1}), "INVALID_PARAMS", "seq"),
        (json!({"seq": 1.5}), "INVALID_PARAMS", "seq"),
        (json!({"seq": "1e400"}), "INVALID_PARAMS", "seq"),
        (json!({"old_size": 99}), "INVALID_PARAMS", "the size of the log"),
        (json!({"old_size": 18_446_744_073_709_551_615_u64}), "INVALID_PARAMS", ""),
        (json!({"leaf": 1}), "INVALID_PARAMS", "leaf"),
    ] {
        let envelope = server.call("log_prove", arguments.clone());
        assert_eq!(envelope["error"]["code"], code, "{arguments}: {envelope}");
        assert!(envelope["error"].to_string().contains(words), "{arguments}: {envelope}");
    }
}
