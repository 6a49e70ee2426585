//! The division of docs/postgres-roles.sql: an owner who migrates, a server that records, one who may redact.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::cluster::Cluster;
use super::load::Served;
use crate::it::http::agent::Agent;

/// What is refused to the server for want of a right, and to the owner by a trigger.
const FORBIDDEN: [&str; 8] = [
    "UPDATE cairn.entry SET leaf = leaf",
    "DELETE FROM cairn.entry",
    "TRUNCATE cairn.entry",
    "DELETE FROM cairn.thought",
    "UPDATE cairn.event SET body = 'x'",
    "DELETE FROM cairn.review",
    "DELETE FROM cairn.checkpoint",
    "DELETE FROM cairn.log",
];

struct Place {
    cluster: Cluster,
    state: tempfile::TempDir,
}

impl Place {
    fn start() -> Option<Place> {
        let cluster = Cluster::start("")?;
        cluster.sql(
            "CREATE ROLE cairn_owner LOGIN; CREATE ROLE cairn_server LOGIN; CREATE ROLE cairn_redactor LOGIN;
             GRANT CREATE ON DATABASE postgres TO cairn_owner; REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
        );
        Some(Place { cluster, state: tempfile::tempdir().unwrap() })
    }

    fn command(&self, role: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
        command
            .args(args)
            .env("CAIRN_DB", self.cluster.address_as(role))
            .env("CAIRN_STATE", self.state.path());
        command.env("XDG_DATA_HOME", self.state.path());
        command
    }

    #[track_caller]
    fn fine(&self, role: &str, args: &[&str]) -> String {
        let output = self.command(role, args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    #[track_caller]
    fn refused(&self, role: &str, args: &[&str]) -> String {
        let output = self.command(role, args).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// As the owner, once the schema is there.
    fn grant(&self) -> Output {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/postgres-roles.sql");
        self.cluster.file_as("cairn_owner", &std::fs::read_to_string(file).unwrap())
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_string()
}

#[test]
fn ten_processes_that_start_at_once_make_the_schema_once() {
    let Some(place) = Place::start() else { return };
    let refused = place.refused("cairn_server", &["record", "plan", "too early", "-t", "t"]);
    assert!(refused.contains("there is no log in schema `cairn` of `postgres://"), "{refused}");
    assert!(
        refused.contains("and this role may not make one\n\nhint: let the role that is to own it"),
        "{refused}"
    );
    let children: Vec<_> = (0..10)
        .map(|number| {
            let content = format!("process {number}");
            place
                .command("cairn_owner", &["record", "plan", &content, "-t", "t"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let count = "SELECT (SELECT count(*) FROM cairn.cairn_version), (SELECT count(*) FROM cairn.entry WHERE kind = 'genesis'),
                   (SELECT count(*) FROM cairn.thought), (SELECT count(DISTINCT position) FROM cairn.thought)";
    assert_eq!(place.cluster.sql(count), "1|1|10|10");
    place.fine("cairn_owner", &["verify"]);
}

#[test]
fn a_server_lives_its_whole_life_without_a_right_to_change_what_is_recorded() {
    let Some(place) = Place::start() else { return };
    place.fine("cairn_owner", &["mcp"]);
    for _ in 0..2 {
        let granted = place.grant();
        assert!(granted.status.success(), "{}", text(&granted.stderr));
    }

    let server = Served::start(&place.cluster.address_as("cairn_server"), place.state.path());
    let mut agent = Agent::new(server.addr);
    agent.data(
        "roadmap_register",
        json!({ "roadmap_id": "import", "title": "Import", "nodes": [{ "id": "read", "label": "Read the harvest" }] }),
    );
    let context = agent.data("context_ensure", json!({ "roadmap_id": "import" }));
    let on_plan = json!({ "type": "decision", "content": "harvest by hand", "task_id": "t", "action_id": "a",
        "session_id": "s", "context_id": context["context"]["context_id"], "metadata": { "why": "rain" } });
    let thought = agent.data("thought_record", on_plan);
    let secret =
        json!({ "type": "plan", "content": "a secret", "task_id": "t", "session_id": "s", "seal": true });
    let sealed = agent.data("thought_record", secret);
    agent.data("session_open", json!({ "session_id": "s" }));
    agent.data("turn_begin", json!({ "session_id": "s", "message": "What is ripe?" }));
    let ops = json!([{ "op": "generate", "type": "crop", "label": "Apples", "body": { "ripe": true } }]);
    agent.data("entity_apply", json!({ "session_id": "s", "ops": ops }));
    agent.data("turn_end", json!({ "session_id": "s", "reply": "Apples." }));
    agent.data("brief_build", json!({ "session_id": "s", "node": "think", "store": true }));
    assert_eq!(
        agent.data("thought_search", json!({ "query": "harvest" }))["results"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        agent.data("context_search", json!({ "query": "harvest" }))["results"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        agent.data("thought_for_action", json!({ "action_id": "a" }))["thoughts"].as_array().unwrap().len(),
        1
    );
    agent.data("log_checkpoint", json!({}));
    let token = place.fine("cairn_server", &["token", "add", "test", "--scope", "write"]);
    let listed = place.fine("cairn_server", &["token", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let id = listed["tokens"][0]["id"].as_str().unwrap_or_else(|| panic!("{listed} {token}")).to_string();
    place.fine("cairn_server", &["token", "revoke", &id]);
    place.fine("cairn_server", &["verify"]);
    place.fine("cairn_server", &["doctor", "--rebuild"]);

    // What it may not.
    let redact = |id: &serde_json::Value| {
        let id = id.as_str().unwrap().to_string();
        ["redact", &id, "--by", "ada", "--reason", "a person asked", "--yes"].map(str::to_string)
    };
    let arguments = redact(&thought["id"]);
    let told = place.refused("cairn_server", &arguments.each_ref().map(String::as_str));
    assert!(told.contains("refuses this to the role") && told.contains("docs/storage.md"), "{told}");
    assert_eq!(agent.data("thought_get", json!({ "id": thought["id"] }))["content"], "harvest by hand");
    for sql in FORBIDDEN {
        let tried = place.cluster.try_sql_as("cairn_server", sql);
        assert!(text(&tried.stderr).contains("permission denied"), "{sql}: {}", text(&tried.stderr));
        let tried = place.cluster.try_sql_as("cairn_owner", sql);
        let told = text(&tried.stderr);
        assert!(told.contains("append-only") || told.contains("write-once"), "{sql}: {told}");
    }
    let shortened = place.cluster.try_sql_as("cairn_server", "UPDATE cairn.log SET size = 0");
    assert!(text(&shortened.stderr).contains("it can only grow"), "{}", text(&shortened.stderr));
    let brought = place.cluster.try_sql_as("cairn_server", "ALTER TABLE cairn.entry DISABLE TRIGGER ALL");
    assert!(text(&brought.stderr).contains("must be owner"), "{}", text(&brought.stderr));

    // What the redactor may.
    for id in [&thought["id"], &sealed["id"]] {
        place.fine("cairn_redactor", &redact(id).each_ref().map(String::as_str));
    }
    let left = "SELECT count(content), count(metadata), (SELECT count(*) FROM cairn.seal) FROM cairn.thought";
    assert_eq!(place.cluster.sql(left), "1|0|0", "of a sealed one its key is gone");
    let tried = place.cluster.try_sql_as("cairn_redactor", "UPDATE cairn.entry SET leaf = leaf");
    assert!(text(&tried.stderr).contains("permission denied"), "{}", text(&tried.stderr));
    drop(server);
    place.fine("cairn_redactor", &["verify"]);
}

#[test]
fn a_log_from_before_the_first_release_is_refused() {
    let Some(place) = Place::start() else { return };
    place.fine("cairn_owner", &["record", "plan", "before", "-t", "t"]);
    place.cluster.sql("UPDATE cairn.cairn_version SET version = 2");
    for command in [&["list"][..], &["record", "plan", "after", "-t", "t"], &["verify"]] {
        let refused = place.refused("cairn_owner", command);
        assert!(
            refused.contains("before the first release") && refused.contains("?schema=NAME"),
            "{refused}"
        );
    }
    assert_eq!(place.cluster.sql("SELECT count(*) FROM cairn.thought"), "1");
}

#[test]
fn a_server_that_may_not_move_the_fence_records_nothing() {
    let Some(place) = Place::start() else { return };
    place.fine("cairn_owner", &["record", "plan", "before", "-t", "t"]);
    assert!(place.grant().status.success());
    place.fine("cairn_server", &["record", "plan", "after", "-t", "t"]);
    assert!(place.fine("cairn_server", &["doctor"]).contains("the server takes records of this role"));
    // After a lost connection nobody could tell what became of a record.
    place.cluster.sql("REVOKE UPDATE (fence) ON cairn.log FROM cairn_server");
    let refused = place.refused("cairn_server", &["record", "plan", "refused", "-t", "t"]);
    assert!(refused.contains("refuses this to the role"), "{refused}");
    let doctor = place.command("cairn_server", &["doctor"]).output().unwrap();
    assert!(text(&doctor.stdout).contains("refuses this to the role"), "{}", text(&doctor.stdout));
    assert_eq!(
        place.cluster.sql("SELECT string_agg(content, ' ' ORDER BY seq) FROM cairn.thought"),
        "before after"
    );
}

#[test]
fn a_project_is_set_up_on_a_server_that_is_named() {
    let Some(place) = Place::start() else { return };
    let project = tempfile::tempdir().unwrap();
    let init = |place: &Place| {
        let output = place.command("cairn_owner", &["init"]).current_dir(project.path()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("agents are started with CAIRN_DB set"),
            "{}",
            text(&output.stderr)
        );
        text(&output.stdout)
    };
    let made = init(&place);
    assert!(made.starts_with("Made postgres://") && made.contains(".mcp.json"), "{made}");
    assert!(init(&place).starts_with("Found postgres://"));
    assert!(!project.path().join(".cairn/cairn.db").exists());
    assert_eq!(place.cluster.sql("SELECT size FROM cairn.log"), "1");
}
