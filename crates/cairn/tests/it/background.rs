//! No work grows with the log: a start, an append, a checkpoint, a search and a brief read as much of the file when the log has
//! 100,000 entries as when it has 1,000.
//!
//! A process of its own does each of them, and its bytes read are those that Linux counts for it: every page that SQLite
//! reads is among them, whatever asked for it.

use std::path::Path;
use std::process::Command;

use cairn::{
    BriefRequest, Cairn, Durability, KeyFolder, NewSession, NewThought, Options, SearchQuery, ThoughtType,
};

use crate::harness::{Folder, sqlites_own};

const CHILD: &str = "CAIRN_TEST_GROWTH";
/// The measured steps, in this order.
const STEPS: [&str; 5] = ["start", "append", "checkpoint", "search", "brief"];
/// A larger log has deeper trees, so a few more pages are read, and never a part of the log itself: 99,000 more entries
/// have more than 80 MB.
const ALLOWANCE: u64 = 128 << 10;
const BATCH: u64 = 1000;

fn options(folder: &Path, signed: bool) -> Options {
    let options = Options::new().durability(Durability::Normal).automatic_checkpoints(false);
    if signed { options.signer(KeyFolder::new(folder.join("keys"))) } else { options }
}

fn think(number: u64) -> NewThought {
    let text = format!("thought number {number} of a long log");
    let draft = NewThought::new(ThoughtType::Plan, text).agent("ada");
    draft.session(format!("session {}", number / 50)).task(format!("task {}", number / 50))
}

/// A log with this many thoughts, a session with a brief, and a word that is found once.
fn build(path: &Path, folder: &Path, signed: bool, thoughts: u64) {
    let cairn = options(folder, signed).open(path).unwrap();
    cairn.session_open(NewSession { session_id: Some("memory".into()), ..NewSession::default() }).unwrap();
    cairn.turn_begin("memory", "What is there?", None).unwrap();
    let rare = NewThought::new(ThoughtType::Plan, "a marmalade").session("memory").agent("ada");
    cairn.record(rare).unwrap();
    for from in (0..thoughts).step_by(BATCH as usize) {
        let waiting: Vec<_> = (from..from + BATCH).map(|number| cairn.record_async(think(number))).collect();
        for recorded in waiting {
            pollster(recorded).unwrap();
        }
    }
    search(&cairn);
    cairn.checkpoint().unwrap();
    cairn.close();
}

fn pollster<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn search(cairn: &Cairn) {
    let query = SearchQuery { query: "marmalade".into(), ..SearchQuery::default() };
    assert_eq!(cairn.search(&query).unwrap().results.len(), 1);
}

/// The bytes that this process has read so far.
fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
#[ignore = "started by the test that compares"]
fn reads_what_each_step_needs() {
    let Ok(place) = std::env::var(CHILD) else { return };
    let (signed, path) = place.split_once(' ').unwrap();
    let path = Path::new(path);
    let folder = path.parent().unwrap();
    let mut last = bytes_read();
    let mut told = |step: &str| {
        let now = bytes_read();
        println!("STEP {step} {}", now - std::mem::replace(&mut last, now));
    };
    let cairn = options(folder, signed == "signed").open(path).unwrap();
    cairn.log_size().unwrap();
    told("start");
    cairn.record(think(7)).unwrap();
    told("append");
    cairn.checkpoint().unwrap();
    told("checkpoint");
    search(&cairn);
    told("search");
    let request = BriefRequest { session_id: "memory".into(), node: "act".into(), ..BriefRequest::default() };
    cairn.brief_build(&request, true).unwrap();
    told("brief");
    cairn.close();
}

/// How much each step reads.
fn measured(path: &Path, signed: bool) -> Vec<u64> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "background::reads_what_each_step_needs"])
        .env(CHILD, format!("{} {}", if signed { "signed" } else { "unsigned" }, path.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let of = |step: &&str| {
        let found = said.lines().find_map(|line| line.split_once(&format!("STEP {step} ")));
        found.unwrap_or_else(|| panic!("{step}: {said}")).1.parse().unwrap()
    };
    STEPS.iter().map(of).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn no_step_reads_more_in_a_long_log() {
    sqlites_own!("the bytes that a process reads of its file");
    for signed in [true, false] {
        let [short, long] = [1_000, 100_000].map(|thoughts| {
            let folder = Folder::new();
            let path = folder.database("cairn.db");
            build(&path, folder.path(), signed, thoughts);
            measured(&path, signed)
        });
        println!("signed: {signed}, 1,000: {short:?}, 100,000: {long:?} bytes for {STEPS:?}");
        for (step, (short, long)) in STEPS.iter().zip(short.iter().zip(&long)) {
            assert!(*long <= short + ALLOWANCE, "{step}: {short} bytes, then {long}");
        }
    }
}
