//! Several processes on one file, and processes that are killed in mid-write.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cairn::{Cairn, Filter, KeyFolder, Options, Report, Scope, Standing, Thought};
use serde_json::{Value, json};

use super::database::Holder;
use super::http::harness::Server;
use super::http::wire::get;
use super::seeded::Seeded;

/// Starts a server that records everything it is sent; requests are written by a thread of their own.
fn start(database: &Path, requests: Vec<String>) -> Child {
    start_with(database, &database.with_extension("state"), requests)
}

/// Likewise, with keys and heads in this folder.
pub fn start_with(database: &Path, state: &Path, requests: Vec<String>) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .arg("--db")
        .arg(database)
        .arg("mcp")
        .env("CAIRN_STATE", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::spawn(move || {
        // A server that is killed closes its end; that is what some of these tests are about.
        let _ = requests.iter().try_for_each(|line| writeln!(stdin, "{line}"));
    });
    child
}

/// As such a server opens it: with its key, and with what is remembered of the log.
fn open(database: &Path) -> Cairn {
    let state = database.with_extension("state");
    let options = Options::new().signer(KeyFolder::new(state.join("keys"))).heads(state.join("heads"));
    let cairn = options.open(database).unwrap();
    let standing = cairn.standing();
    assert!(matches!(standing, Standing::Unknown | Standing::Extends(_)), "{standing:?}");
    cairn
}

pub fn hello() -> Vec<String> {
    let client = json!({"name": "many", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    vec![
        json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}).to_string(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
    ]
}

pub fn record(id: usize, task: &str, content: &str) -> String {
    let arguments = json!({"type": "analysis", "content": content, "task_id": task});
    let params = json!({"name": "thought_record", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Ids and contents of the thoughts that a server acknowledged before it ended.
fn acknowledged(child: &mut Child) -> HashMap<String, String> {
    acknowledged_until(child, usize::MAX)
}

/// Likewise, killing the server after so many; what it had already said is still read.
pub fn acknowledged_until(child: &mut Child, kill_after: usize) -> HashMap<String, String> {
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = HashMap::new();
    for line in stdout.lines().map_while(Result::ok) {
        // The last line of a killed server may be cut off: then it was not acknowledged.
        let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
        if answer["id"] == "hello" {
            continue;
        }
        let envelope = &answer["result"]["structuredContent"];
        assert_eq!(envelope["ok"], true, "{line}");
        let text = |field: &str| envelope["data"][field].as_str().unwrap().to_string();
        acknowledged.insert(text("id"), text("content"));
        if acknowledged.len() == kill_after {
            child.kill().unwrap();
        }
    }
    acknowledged
}

/// Every thought of the file, by task; each task one unforked line.
fn chains(cairn: &Cairn) -> HashMap<String, Vec<Thought>> {
    let mut chains: HashMap<String, Vec<Thought>> = HashMap::new();
    let mut filter = Filter::default();
    loop {
        let page = cairn.list(&filter).unwrap();
        for thought in page.records {
            let chain = chains.entry(thought.task_id.to_string()).or_default();
            let before = chain.last().map_or(cairn::Sha::ZERO, |before| before.hash);
            assert_eq!(thought.prev_hash, before, "task {} forks at {}", thought.task_id, thought.id);
            chain.push(thought);
        }
        filter.cursor = page.next_cursor;
        if filter.cursor.is_none() {
            return chains;
        }
    }
}

fn assert_verifies(cairn: &Cairn) -> Report {
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{:#?}", report.findings);
    report
}

#[test]
fn eight_processes_write_three_unforked_chains() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("cairn.db");
    let mut children: Vec<Child> = (0..8)
        .map(|process| {
            let mut requests = hello();
            for i in 0..500 {
                requests.push(record(i, &format!("task {}", (process + i) % 3), &format!("{process}/{i}")));
            }
            start(&database, requests)
        })
        .collect();
    let mut all = HashMap::new();
    for child in &mut children {
        let acknowledged = acknowledged(child);
        assert_eq!(acknowledged.len(), 500);
        assert!(child.wait().unwrap().success());
        all.extend(acknowledged);
    }
    let cairn = open(&database);
    let chains = chains(&cairn);
    assert_eq!(chains.len(), 3);
    let stored: HashSet<&str> = chains.values().flatten().map(|thought| thought.id.as_str()).collect();
    assert_eq!(stored, all.keys().map(String::as_str).collect());
    assert_eq!(stored.len(), 4000);
    let report = assert_verifies(&cairn);
    let coverage = report.coverage.unwrap();
    assert_eq!((coverage.signed, coverage.outside.unwrap().size), (report.log_size, report.log_size));
}

#[test]
fn nobody_cries_wolf_while_two_processes_write() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("cairn.db");
    Cairn::open(&database).unwrap();
    let children = [0, 1].map(|process| {
        let mut requests = hello();
        requests.extend((0..3000).map(|i| record(i, "shared", &format!("{process}/{i}"))));
        let mut child = start(&database, requests);
        std::thread::spawn(move || (acknowledged(&mut child).len(), child.wait().unwrap().success()))
    });
    let mut looked = 0;
    while !children.iter().all(|child| child.is_finished()) {
        let cairn = open(&database);
        assert_verifies(&cairn);
        // Whoever looks may state what there is, too.
        if looked % 4 == 0 {
            cairn.checkpoint().unwrap();
        }
        cairn.close();
        looked += 1;
    }
    assert_eq!(children.map(|child| child.join().unwrap()), [(3000, true), (3000, true)]);
    assert!(looked > 0, "they were done before anybody looked");
    let report = assert_verifies(&open(&database));
    let coverage = report.coverage.unwrap();
    assert_eq!(coverage.signed, report.log_size);
    // Some while they wrote, and one at the end. How many is a matter of speed: each covers all that was written meanwhile.
    assert!(coverage.checkpoints >= 2, "{coverage:?}");
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("cairn.db");
    let mut kept: HashMap<String, String> = HashMap::new();
    // Seeded, so that a failure can be seen again; the exact moments still vary with the machine.
    let mut random = Seeded(20_260_417);
    for round in 0..50 {
        let mut requests = hello();
        for i in 0..4000 {
            requests.push(record(i, &format!("task {}", i % 5), &format!("{round}/{i}")));
        }
        let mut child = start(&database, requests);
        kept.extend(acknowledged_until(&mut child, 1 + random.index(300)));
        assert!(!child.wait().unwrap().success(), "it was killed in mid-work");

        let cairn = open(&database);
        let report = assert_verifies(&cairn);
        // Most were killed before they came to a checkpoint, and some after it.
        let coverage = report.coverage.unwrap();
        let stated = cairn.newest_checkpoint().unwrap().is_some();
        let remembered = matches!(cairn.standing(), Standing::Extends(_));
        assert!(coverage.signed > 0 || !stated, "{coverage:?}");
        assert!(coverage.outside.is_some() || !remembered, "{coverage:?}");
        if round % 10 == 9 {
            let stored: HashMap<String, String> = chains(&cairn)
                .into_values()
                .flatten()
                .map(|thought| (thought.id.to_string(), thought.content))
                .collect();
            for (id, content) in &kept {
                assert_eq!(
                    stored.get(id),
                    Some(content),
                    "acknowledged in or before round {round}, and lost"
                );
            }
        }
    }
    // Each round ends after at least one acknowledgement, most after many.
    assert!(kept.len() > 2000, "too little was recorded to show anything: {}", kept.len());

    // One that is not killed covers all of it.
    let mut last = hello();
    last.push(record(0, "task 0", "the last"));
    let mut child = start(&database, last);
    assert_eq!(acknowledged(&mut child).len(), 1);
    assert!(child.wait().unwrap().success());
    let report = assert_verifies(&open(&database));
    let coverage = report.coverage.unwrap();
    assert_eq!((coverage.signed, coverage.outside.unwrap().size), (report.log_size, report.log_size));
}

#[test]
fn a_process_waits_for_another_that_holds_the_file() {
    let server = Server::start();
    let plan = |text: &str| json!({ "session_id": "s", "plan_description": text });
    server.agent().data("thought_plan", plan("before"));
    let holder = Holder::of(&server.path().join("cairn.db"));
    let waiting = std::thread::spawn({
        let (mut agent, plan) = (server.agent(), plan("waited"));
        move || agent.data("thought_plan", plan)
    });
    let began = Instant::now();
    while !get(server.addr, "/metrics").text().contains("\ncairn_write_queue 1\n") {
        assert!(began.elapsed() < Duration::from_secs(60), "it is not asked to write");
    }
    // It is more patient than three who look, one after the other, whether anything can be written.
    for _ in 0..3 {
        assert_eq!(get(server.addr, "/healthz").status, 503);
    }
    assert!(!waiting.is_finished(), "it did not wait");
    drop(holder);
    assert_eq!(waiting.join().unwrap()["content"], "waited");
}

#[test]
fn eight_processes_that_ensure_at_once_make_one_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("cairn.db");
    std::fs::create_dir(folder.path().join("roadmaps")).unwrap();
    let cairn = Cairn::open(&database).unwrap();
    for round in 1..=4 {
        let plan = format!("title: Round {round}\nnodes: [{{id: a, label: A}}]\n");
        std::fs::write(folder.path().join("roadmaps/import.yaml"), plan).unwrap();
        let children: Vec<Child> = (0..8)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
                command.arg("--db").arg(&database).args(["context", "ensure", "import", "--json"]);
                command.env("CAIRN_STATE", database.with_extension("state"));
                command.stdout(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let answers: Vec<Value> = children
            .into_iter()
            .map(|child| {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success());
                serde_json::from_slice(&output.stdout).unwrap()
            })
            .collect();
        let made = answers.iter().filter(|answer| answer["is_existing"] == false).count();
        assert_eq!(made, 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer["context"]["context_id"] == round), "{answers:?}");
    }
    assert_eq!(cairn.context_history("import", None).unwrap().len(), 4);
    assert!(cairn.verify(&Scope::All).unwrap().valid());
}
