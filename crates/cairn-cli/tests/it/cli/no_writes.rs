//! Readers change no byte: not of the database and its write-ahead log, not of the keys, not of the remembered heads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cairn::{
    BriefRequest, Cairn, KeyFolder, NewSession, NewThought, NewToken, Options, Redact, ThoughtType,
    TokenScope,
};
use serde_json::{Value, json};

use super::harness::Place;
use super::served::Served;
use crate::it::database::sqlites_own;
use crate::it::http::agent::Agent;
use crate::it::http::wire::get;

/// The names that readers ask for.
struct Names {
    thought: String,
    brief: String,
    other_brief: String,
}

/// A folder with a database `data/cairn.db` that has one of everything, and keys and heads in `state`.
fn everything() -> (Place, Names) {
    let place = Place::new();
    for folder in ["data/roadmaps", "state", "out"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    let cairn = open(&place);
    let of = |kind, text: &str| NewThought::new(kind, text).session("s").task("t").agent("ada");
    let root = cairn.record(of(ThoughtType::Plan, "the first plan")).unwrap();
    let branch = cairn.record(of(ThoughtType::Analysis, "a branch").parent(&root.id)).unwrap();
    let metadata = json!({"branch": "main"}).as_object().unwrap().clone();
    let acted = of(ThoughtType::Decision, "acted").parent(&root.id).action("commit-4f2a").metadata(metadata);
    let acted = cairn.record(acted).unwrap();
    cairn.record(of(ThoughtType::Reflection, "sealed").seal()).unwrap();
    for label in ["Read", "Read twice"] {
        let plan = json!({"title": "Plan", "nodes": [{"id": "a", "label": label}, {"id": "b", "label": "B"}],
                          "connections": [{"from": "a", "to": "b"}]});
        std::fs::write(place.path("data/roadmaps/import.json"), plan.to_string()).unwrap();
        let context = cairn.context_create("import", None).unwrap().context;
        let decision = of(ThoughtType::Decision, "on the plan");
        cairn.record(NewThought { context_id: Some(context.context_id), ..decision }).unwrap();
    }
    cairn.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    let mut briefs = Vec::new();
    for number in 0..3 {
        cairn.turn_begin("s", &format!("What is {number}?"), None).unwrap();
        let read = json!({"op": "read", "type": "recipe", "id": format!("r{number}"), "body": {"n": number}});
        cairn.entity_apply("s", vec![read], None, None).unwrap();
        let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
        briefs.push(cairn.brief_build(&request, true).unwrap().brief_id.unwrap().to_string());
    }
    let (actor, reason) = ("ada".to_string(), "a name in it".to_string());
    cairn.redact(&Redact { target: branch.id.to_string(), actor, reason }).unwrap();
    cairn.token_add(NewToken { name: "t".into(), scope: TokenScope::Read, agent_id: None }).unwrap();
    cairn.catch_up().unwrap();
    cairn.checkpoint().unwrap();
    cairn.close();
    let names =
        Names { thought: acted.id.to_string(), brief: briefs[0].clone(), other_brief: briefs[1].clone() };
    (place, names)
}

fn options(place: &Place) -> Options {
    Options::new()
        .signer(KeyFolder::new(place.path("state/keys")))
        .heads(place.path("state/heads"))
        .roadmaps(place.path("data/roadmaps"))
        .keep_states_after(2)
}

fn open(place: &Place) -> Cairn {
    options(place).open(place.path("data/cairn.db")).unwrap()
}

/// Every byte that evidence rests on. SQLite may make an empty write-ahead log, which is as good as none.
fn bytes(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![place.path("data"), place.path("state")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.to_string_lossy().ends_with("-shm") => {}
                false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found.retain(|path, bytes| !(bytes.is_empty() && path.to_string_lossy().ends_with("-wal")));
    found
}

#[track_caller]
fn unchanged(place: &Place, before: &BTreeMap<PathBuf, Vec<u8>>, what: &str) {
    let after = bytes(place);
    let names = |found: &BTreeMap<PathBuf, Vec<u8>>| found.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&after), names(before), "{what}");
    for (path, bytes) in before {
        assert!(after[path] == *bytes, "{what} changed {}", path.display());
    }
}

/// Every command that only reads.
fn readers(names: &Names) -> Vec<Vec<String>> {
    let Names { thought, brief, other_brief } = names;
    let lines = [
        "verify".to_string(),
        "verify --session s".to_string(),
        "verify --task t --json".to_string(),
        "list".to_string(),
        "list --json -s s".to_string(),
        format!("show {thought}"),
        "tree s".to_string(),
        format!("trail {thought}"),
        "trail --action commit-4f2a".to_string(),
        format!("why {thought}"),
        "search plan".to_string(),
        "drift".to_string(),
        "export -o out/all.jsonl --force".to_string(),
        "export -s s -o out/part.jsonl --force".to_string(),
        "verify-bundle out/all.jsonl".to_string(),
        "doctor".to_string(),
        "doctor --json".to_string(),
        "log".to_string(),
        "key show".to_string(),
        "token list".to_string(),
        "witness list".to_string(),
        format!("prove {thought}"),
        "prove --since 2".to_string(),
        "session list".to_string(),
        "session show s".to_string(),
        "session events s".to_string(),
        "context history import".to_string(),
        "context show 1".to_string(),
        "context latest import".to_string(),
        "context diff 1 2".to_string(),
        "context verify 1".to_string(),
        "context search Read".to_string(),
        "brief list".to_string(),
        format!("brief show {brief}"),
        format!("brief verify {brief}"),
        format!("brief diff {brief} {other_brief}"),
        "brief build s act".to_string(),
        "roadmap list".to_string(),
        "roadmap show import".to_string(),
    ];
    lines.iter().map(|line| line.split(' ').map(str::to_string).collect()).collect()
}

fn on(place: &Place, args: &[String]) -> std::process::Output {
    let args: Vec<&str> =
        ["--db", "data/cairn.db"].into_iter().chain(args.iter().map(String::as_str)).collect();
    place.command(&args).env("CAIRN_STATE", place.path("state")).output().unwrap()
}

/// Runs every reading command, and looks at the bytes after each.
fn run_readers(place: &Place, names: &Names) {
    let before = bytes(place);
    for args in readers(names) {
        let output = on(place, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        unchanged(place, &before, &args.join(" "));
    }
}

fn serve(place: &Place) -> Served {
    let mut command = place.command(&["--db", "data/cairn.db"]);
    command.env("CAIRN_STATE", place.path("state"));
    Served::start(command)
}

impl Served {
    /// Every page that the first one leads to, and the JSON twin of each.
    fn crawl(&self) -> usize {
        let mut known = BTreeSet::from(["/".to_string()]);
        let mut waiting = vec!["/".to_string()];
        while let Some(path) = waiting.pop() {
            let answer = get(self.addr, &path);
            assert!(answer.status < 500, "{path}: {}", answer.status);
            let (page, query) = path.split_once('?').unwrap_or((&path, ""));
            let twin = if page == "/" { "/index" } else { page };
            assert!(get(self.addr, &format!("{twin}.json?{query}")).status < 500, "{path}");
            for link in answer.text().split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let link = link.split('#').next().unwrap().replace("&amp;", "&");
                let is_page =
                    link.starts_with('/') && !link.starts_with("/assets") && !link.ends_with(".json");
                if is_page && known.len() < 120 && known.insert(link.clone()) {
                    waiting.push(link);
                }
            }
        }
        known.len()
    }

    /// Every tool that says of itself that it only reads.
    fn call_tools(&self, names: &Names) {
        let mut agent = Agent::new(self.addr);
        let tools = agent.request("tools/list", json!({})).json()["result"]["tools"].clone();
        let arguments = |name: &str| match name {
            "thought_get" | "thought_record_get" => json!({"id": names.thought}),
            "thought_trail" => json!({"record_id": names.thought}),
            "log_prove" => json!({"seq": 1}),
            "thought_tree" | "thought_verify_chain" => json!({"session_id": "s"}),
            "thought_for_action" | "thought_reasoning_trail" => json!({"action_id": "commit-4f2a"}),
            "thought_search" | "context_search" => json!({"query": "plan"}),
            "thought_record_list"
            | "thought_verify"
            | "log_verify"
            | "session_list"
            | "roadmap_list"
            | "context_drift" => {
                json!({})
            }
            "roadmap_get" | "roadmap_validate" | "context_history" | "context_latest" => {
                json!({"roadmap_id": "import"})
            }
            "context_get" | "context_verify" => json!({"context_id": 1}),
            "context_compare" => json!({"context_id1": 1, "context_id2": 2}),
            "session_state" | "session_events" => json!({"session_id": "s"}),
            "entity_get" => json!({"session_id": "s", "ref": "recipe_1"}),
            "brief_get" | "brief_verify" => json!({"brief_id": names.brief}),
            "brief_compare" => json!({"brief_id": names.brief, "brief_id2": names.other_brief}),
            other => panic!("what does the reading tool `{other}` ask for?"),
        };
        let reads = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
        let tools: Vec<&str> = tools
            .as_array()
            .unwrap()
            .iter()
            .filter(reads)
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(tools.len() > 20, "{tools:?}");
        for name in tools {
            let answer = agent.call(name, arguments(name));
            assert_eq!(answer["ok"], true, "{name}: {answer}");
        }
    }
}

/// The viewer, the reading tools and the verification of a server, from its start to its end.
#[cfg(unix)]
fn serve_readers(place: &Place, names: &Names) {
    let before = bytes(place);
    let served = serve(place);
    assert!(served.crawl() > 25);
    served.call_tools(names);
    assert_eq!(get(served.addr, "/healthz").json()["writable"], true);
    unchanged(place, &before, "the viewer or a reading tool");
    served.stop();
    unchanged(place, &before, "the end of the server");
}

#[cfg(unix)]
#[test]
fn no_reader_changes_a_byte() {
    sqlites_own!("about the bytes of files");
    let (place, names) = everything();
    run_readers(&place, &names);
    serve_readers(&place, &names);
}

/// A writer was killed: what it wrote waits in the write-ahead log, where no reader folds it into the file.
#[cfg(unix)]
#[test]
fn no_reader_folds_a_write_ahead_log_that_a_killed_writer_left() {
    sqlites_own!("about the bytes of files");
    let (place, names) = everything();
    let served = serve(&place);
    let mut agent = Agent::new(served.addr);
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "not folded yet" }));
    agent.data("thought_search", json!({ "query": "folded" }));
    drop(served);
    assert!(place.path("data/cairn.db-wal").metadata().unwrap().len() > 0);
    let listed = on(&place, &["list".to_string()]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("not folded yet"));
    run_readers(&place, &names);
    serve_readers(&place, &names);
}

/// Runs the program as somebody who may read the folder and nothing else.
#[cfg(unix)]
fn as_stranger(place: &Place, db: &Path, args: &[&str]) -> Option<std::process::Output> {
    let is_root = rustix::process::geteuid().is_root();
    let mut command = match is_root {
        // Permissions do not hold for the superuser, so the program runs as somebody else.
        true => {
            let mut command = std::process::Command::new("setpriv");
            command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            command.arg(place.path("cairn"));
            if !place.path("cairn").exists() {
                // Copied by another process: a file that this one has open for writing could not be run.
                let mut copy = std::process::Command::new("install");
                copy.args(["-m", "755", env!("CARGO_BIN_EXE_cairn")]).arg(place.path("cairn"));
                assert!(copy.status().unwrap().success());
            }
            command
        }
        false => std::process::Command::new(env!("CARGO_BIN_EXE_cairn")),
    };
    command.env_clear().env("PATH", "/usr/bin:/bin").env("CAIRN_STATE", place.path("nobody/state"));
    command.current_dir(place.path("data")).arg("--db").arg(db).args(args).output().ok()
}

/// Everyone may read and nobody may write, in the folder and below it.
#[cfg(unix)]
fn read_only(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        match path.is_dir() {
            true => read_only(&path),
            false => std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap(),
        }
    }
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o555)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_without_write_permission_is_read_and_verified() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    sqlites_own!("about permissions of files");
    let (place, names) = everything();
    let db = place.path("data/cairn.db");
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    symlink(&db, place.path("data/link.db")).unwrap();
    std::fs::set_permissions(place.path("state"), PermissionsExt::from_mode(0o700)).unwrap();
    read_only(&place.path("data"));
    let before = bytes(&place);
    let show = ["show", &names.thought];
    for db in [&db, &place.path("data/link.db")] {
        for args in [&["verify"][..], &["list"], &show, &["tree", "s"], &["search", "plan"], &["doctor"]] {
            let Some(output) = as_stranger(&place, db, args) else { return };
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        }
    }
    unchanged(&place, &before, "a stranger");
    std::fs::set_permissions(place.path("data"), PermissionsExt::from_mode(0o755)).unwrap();
}

/// A stranger who cannot use the write-ahead log is refused, through a link as well, and never shown an older state.
#[cfg(unix)]
#[test]
fn an_unfolded_write_ahead_log_is_not_passed_over_through_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    sqlites_own!("about permissions of files");
    let (place, _) = everything();
    let served = serve(&place);
    let mut agent = Agent::new(served.addr);
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "not folded yet" }));
    drop(served);
    std::fs::remove_file(place.path("data/cairn.db-shm")).unwrap();
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    symlink("cairn.db", place.path("data/link.db")).unwrap();
    read_only(&place.path("data"));
    for db in ["cairn.db", "link.db"] {
        let Some(output) = as_stranger(&place, &place.path("data").join(db), &["list"]) else { return };
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && !shown.contains("the first plan"), "{db}: {shown}");
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains("SQLite must write a `-shm` file") && why.contains("read the copy"), "{why}");
    }
    std::fs::set_permissions(place.path("data"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_from_before_the_first_release_is_refused_and_not_touched() {
    sqlites_own!("about the version of a file");
    let (place, _) = everything();
    let sql = rusqlite::Connection::open(place.path("data/cairn.db")).unwrap();
    sql.pragma_update(None, "user_version", 4).unwrap();
    sql.close().unwrap();
    let before = bytes(&place);
    for args in
        [&["verify"][..], &["list"], &["doctor"], &["record", "plan", "x", "-t", "t"], &["checkpoint"]]
    {
        let output = on(&place, &args.iter().map(|arg| arg.to_string()).collect::<Vec<_>>());
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!output.status.success() && said.contains("before the first release"), "{args:?}: {said}");
        unchanged(&place, &before, args[0]);
    }
}

#[cfg(unix)]
#[test]
fn a_server_that_only_notes_tokens_makes_no_checkpoint() {
    sqlites_own!("about the bytes of files");
    let (place, _) = everything();
    let added = on(&place, &["token", "add", "reader", "--scope", "read"].map(str::to_string));
    let token = String::from_utf8(added.stdout).unwrap().trim().to_string();
    // Entries that no checkpoint covers.
    let cairn = options(&place).automatic_checkpoints(false).open(place.path("data/cairn.db")).unwrap();
    cairn.record(NewThought::new(ThoughtType::Plan, "uncovered").session("s").agent("ada")).unwrap();
    cairn.close();
    let log = || {
        serde_json::from_slice::<Value>(&on(&place, &["log", "--json"].map(str::to_string)).stdout).unwrap()
    };
    let before = log();
    let served = serve(&place);
    Agent::with_token(served.addr, &token).data("thought_record_list", json!({}));
    served.stop();
    assert_eq!(log()["checkpoints"], before["checkpoints"]);
    assert_eq!(log()["size"], before["size"]);
}

#[test]
fn an_interrupted_write_is_taken_back_by_a_writer_and_never_read_over() {
    sqlites_own!("about the journal of SQLite");
    let (place, _) = everything();
    let sql = rusqlite::Connection::open(place.path("data/cairn.db")).unwrap();
    // As a backup is, before anybody records in it.
    sql.pragma_update(None, "journal_mode", "DELETE").unwrap();
    sql.pragma_update(None, "cache_size", 1).unwrap();
    sql.execute_batch("BEGIN IMMEDIATE; CREATE TABLE half (x); INSERT INTO half VALUES (zeroblob(500000));")
        .unwrap();
    let copied = ["data/half.db", "data/half.db-journal"].map(|name| place.path(name));
    std::fs::copy(place.path("data/cairn.db"), &copied[0]).unwrap();
    std::fs::copy(place.path("data/cairn.db-journal"), &copied[1]).unwrap();
    drop(sql);
    let run = |args: &[&str]| {
        let args = [&["--db", "data/half.db"], args].concat();
        place.command(&args).env("CAIRN_STATE", place.path("state")).output().unwrap()
    };
    let before = std::fs::read(&copied[0]).unwrap();
    let verified = run(&["verify"]);
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(!verified.status.success() && said.contains("was interrupted"), "{said}");
    assert!(std::fs::read(&copied[0]).unwrap() == before && copied[1].exists());
    assert!(run(&["checkpoint"]).status.success());
    let verified = run(&["verify"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}
