//! A database with one of everything, small, and with interior pages in the b-trees that matter.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::core::entry::KeyOp;
use cairn::core::session::event::SummaryKind;
use cairn::{
    BriefRequest, Cairn, Durability, Filter, KeyChange, KeyFolder, LostLog, NewReview, NewSession,
    NewThought, NewToken, Options, Redact, SearchQuery, Sha, Source, ThoughtType, Timestamp, TokenScope,
};
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// A database that nobody has changed yet.
pub(super) struct Ground {
    /// The bytes of its file. Nothing waits in a write-ahead log.
    pub(super) image: Vec<u8>,
    pub(super) names: Names,
    folder: TempDir,
}

/// Ids and names that the readers ask for.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) plain: String,
    pub(super) child: String,
    pub(super) acted: String,
    pub(super) on_context: String,
    pub(super) on_brief: String,
    pub(super) redacted: String,
    pub(super) sealed: String,
    pub(super) unsealed: String,
    pub(super) briefs: Vec<String>,
    pub(super) redacted_brief: String,
    pub(super) checkpoint: u64,
}

/// The sessions that readers ask for, the action, the roadmaps.
pub(super) const ALPHA: &str = "alpha";
pub(super) const BETA: &str = "beta";
pub(super) const TALK: &str = "talk";
pub(super) const TASK: &str = "payments";
pub(super) const ACTION: &str = "commit-12";
pub(super) const PLAN: &str = "import";

impl Ground {
    /// Builds it, or takes the file that a failure has left behind.
    pub(super) fn new(kept: Option<&Path>) -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cairn.db");
        fs::create_dir(folder.path().join("roadmaps")).unwrap();
        build(folder.path(), &path);
        if let Some(kept) = kept {
            fs::copy(kept, &path).unwrap();
        }
        let cairn = Options::new().create(false).automatic_checkpoints(false).open(&path).unwrap();
        let names = Names::of(&cairn);
        drop(cairn);
        Ground { image: fs::read(&path).unwrap(), names, folder }
    }

    /// The roadmaps on disk.
    pub(super) fn roadmaps(&self) -> PathBuf {
        self.folder.path().join("roadmaps")
    }

    /// Its file, as it was made.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("cairn.db")
    }
}

/// Ids and times that count, so that two runs differ in their random bytes alone.
fn options(folder: &Path) -> Options {
    let (ids, seconds) = (AtomicU64::new(1), AtomicU64::new(0));
    Options::new()
        .ids(move || format!("019e0000-0000-7000-8000-{:012}", ids.fetch_add(1, Ordering::Relaxed)))
        .clock(move || {
            let now = seconds.fetch_add(1, Ordering::Relaxed);
            let text = format!("2026-04-17T{:02}:{:02}:{:02}.000Z", now / 3600, now / 60 % 60, now % 60);
            Timestamp::parse(text).unwrap()
        })
        .durability(Durability::Normal)
        .signer(KeyFolder::new(folder.join("keys")))
        .roadmaps(folder.join("roadmaps"))
        .automatic_checkpoints(false)
        .keep_states_after(8)
}

fn build(folder: &Path, path: &Path) {
    let cairn = options(folder).open(path).unwrap();
    let lost = LostLog {
        origin: "cairn/lost".into(),
        size: 7,
        root: Sha::of(b"lost"),
        reason: "the disk was lost".into(),
        actor: "ann".into(),
    };
    cairn.continue_log(lost).unwrap();
    thoughts(&cairn);
    plans(&cairn, folder);
    memory(&cairn);
    for thought in cairn.list(&Filter::default()).unwrap().records.iter().take(3) {
        let (target, text) = (thought.id.to_string(), format!("seen: {}", thought.id));
        let verdict = cairn::core::entry::ReviewVerdict::Noted;
        cairn.add_review(NewReview { target, verdict, text, actor: "ann".into() }).unwrap();
    }
    cairn.checkpoint().unwrap();
    // One key takes over from another.
    let origin = cairn.status().unwrap().origin;
    let keys = KeyFolder::new(folder.join("keys"));
    let old: cairn::core::note::SigningKey =
        fs::read_to_string(keys.path(&origin)).unwrap().trim().parse().unwrap();
    let new = keys.make_next(&origin).unwrap();
    let change = |op, key, last_trusted_size| {
        cairn.change_key(KeyChange { op, key, last_trusted_size, reason: Some("yearly".into()) }).unwrap()
    };
    change(KeyOp::Add, new, None);
    let bridge = cairn.checkpoint().unwrap();
    change(KeyOp::Retire, old.verifying_key().clone(), Some(bridge.size));
    keys.replace(&origin).unwrap();
    redactions(&cairn);
    enough_for_a_tile(&cairn, folder);
    for scope in [TokenScope::Read, TokenScope::Write] {
        cairn.token_add(NewToken { name: scope.as_str().into(), scope, agent_id: None }).unwrap();
    }
    found(&cairn, "thought");
    cairn.checkpoint().unwrap();
    // Some thoughts are covered by no checkpoint; a second search puts them into a segment of their own.
    for i in 0..3 {
        let draft = NewThought::new(ThoughtType::Plan, format!("payment after the checkpoint {i}"));
        cairn.record(draft.session(ALPHA).task(TASK).agent("ada")).unwrap();
    }
    found(&cairn, "payment");
    wait_for_kept_states(path, 2);
    cairn.close();
    tidy(path);
}

fn found(cairn: &Cairn, query: &str) {
    let query = SearchQuery { query: query.into(), ..SearchQuery::default() };
    assert!(!cairn.search(&query).unwrap().results.is_empty());
}

/// Waits for the writer to keep the states of so many sessions, which it does when it is idle.
fn wait_for_kept_states(path: &Path, sessions: u64) {
    let sql = Connection::open(path).unwrap();
    for _ in 0..6000 {
        let kept: u64 = sql.query_row("SELECT count(*) FROM fold", [], |row| row.get(0)).unwrap();
        if kept >= sessions {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the states of {sessions} sessions are not kept");
}

/// Leaves a file with small pages, so that few rows make b-trees of several levels, with some free pages and with nothing
/// beside it.
fn tidy(path: &Path) {
    let sql = Connection::open(path).unwrap();
    sql.execute_batch(
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM; PRAGMA journal_mode = WAL;
         CREATE TABLE gone (x); INSERT INTO gone VALUES (randomblob(3000)); DROP TABLE gone;
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    sql.close().unwrap();
    assert!(!path.with_file_name("cairn.db-wal").exists());
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn thoughts(cairn: &Cairn) {
    let long = |name: &str, i: usize| format!("{name} {i} {}", "with a long name ".repeat(7));
    let mut parents: Vec<Option<String>> = vec![None; 2];
    let mut decided: Vec<String> = Vec::new();
    for i in 0..96 {
        let session = i % 2;
        let text =
            format!("thought {i} about the payment of order {} and its number {}", i % 7, i * 37 % 101);
        let mut draft = NewThought::new(ThoughtType::ALL[i % 4], text)
            .session([ALPHA, BETA][session])
            .task([TASK, "orders", "shop"][i % 3])
            .agent(["ada", "bob"][i % 5 / 3]);
        if i % 4 == 0 {
            draft = draft.action(format!("commit-{}", i / 2 % 20)).idempotency_key(format!("key {i}"));
        }
        if i % 5 == 0 {
            draft = draft.metadata(object(json!({"branch": "main", "number": i})));
        }
        if draft.kind == ThoughtType::Decision {
            draft = decided.iter().rev().take(2).fold(draft, NewThought::supersedes);
            draft = parents[session].iter().fold(draft, NewThought::rejects);
            draft = draft.applies_to(format!("src/{}/**", i % 3)).applies_to("area:payment");
        }
        // A root now and then, and branches from older thoughts.
        draft.parent_id = parents[session].clone().filter(|_| i % 9 != 0);
        let thought = cairn.record_as(Source::ALL[i % 3], draft).unwrap();
        if thought.kind == ThoughtType::Decision {
            decided.push(thought.id.to_string());
        }
        if i % 6 < 4 {
            parents[session] = Some(thought.id.to_string());
        }
    }
    for i in 0..14 {
        let draft = NewThought::new(ThoughtType::Plan, format!("alone {i}"));
        cairn.record(draft.session(long("session", i)).task(long("task", i)).agent("ada")).unwrap();
    }
    for i in 0..4 {
        let draft = NewThought::new(ThoughtType::Analysis, format!("secret {i}")).session(BETA).agent("ada");
        cairn.record(draft.seal()).unwrap();
    }
}

fn plans(cairn: &Cairn, folder: &Path) {
    for (i, name) in [PLAN, PLAN, "export", PLAN, PLAN, "export"].into_iter().enumerate() {
        // The same content comes twice: as snapshots 4 and 5.
        let version = if i == 4 { 3 } else { i };
        let nodes: Vec<Value> = (0..8)
            .filter(|n| version == 0 || *n != version)
            .map(|n| {
                json!({"id": format!("n{n}"), "label": format!("Step {n} of version {}", version * (n % 2)),
                       "phase": "first", "scope": "everything about the payment",
                       "dependencies": if n == 1 { vec!["n0"] } else { vec![] }})
            })
            .collect();
        let plan = json!({"title": format!("Plan {}", version / 2), "nodes": nodes, "phases": [{"id": "first"}],
                          "connections": [{"from": "n0", "to": "n7"}]});
        fs::write(folder.join(format!("roadmaps/{name}.json")), plan.to_string()).unwrap();
        let metadata = (i > 0).then(|| object(json!({"version": i})));
        let context = cairn.context_create(name, metadata).unwrap().context;
        let mut draft = NewThought::new(ThoughtType::Decision, "begin with n1, then n3").session(ALPHA);
        draft.context_id = Some(context.context_id);
        cairn.record(draft.task(TASK).agent("ada")).unwrap();
    }
    // Two that share what is redacted later.
    let plan = json!({"title": "Gone", "nodes": [{"id": "g", "label": "Ask somebody"}]});
    fs::write(folder.join("roadmaps/gone.json"), plan.to_string()).unwrap();
    for version in 0..2 {
        cairn.context_create("gone", Some(object(json!({"version": version})))).unwrap();
    }
}

/// Grows the log until it has a tile.
fn enough_for_a_tile(cairn: &Cairn, folder: &Path) {
    let plan = json!({"title": "Small", "nodes": [{"id": "n0", "label": "Only one"}]});
    fs::write(folder.join("roadmaps/small.json"), plan.to_string()).unwrap();
    while cairn.log_size().unwrap() < 260 {
        cairn.context_create("small", None).unwrap();
    }
}

fn memory(cairn: &Cairn) {
    for session in [TALK, BETA, "quiet"] {
        cairn.session_open(NewSession { session_id: Some(session.into()), ..NewSession::default() }).unwrap();
    }
    for turn in 0..5_u64 {
        for session in [TALK, BETA] {
            let key = Some(format!("turn {turn} of {session}"));
            cairn.turn_begin(session, &format!("question {turn}: what is there to cook?"), key).unwrap();
            let body = json!({"name": format!("Soup {turn}"), "steps": ["cut", "boil", format!("wait {turn} minutes")]});
            let ops = vec![
                json!({"op": "read", "type": "recipe", "id": format!("r{turn}"), "label": format!("Soup {turn}"),
                       "body": body, "links": [{"type": "author", "id": "a1"}]}),
                json!({"op": "generate", "type": "menu", "label": format!("Menu {turn}"), "body": {"of": turn}}),
                json!({"op": "retain", "ref": "recipe_1", "reason": "the favourite"}),
            ];
            cairn.entity_apply(session, ops, None, Some(format!("ops {turn} of {session}"))).unwrap();
            let step = json!({"step_num": 1, "type": "read", "description": "look it up", "outcome": "found",
                              "entities_involved": ["recipe_1"]});
            cairn.turn_step(session, step).unwrap();
            let note = json!({"decision": "plan_direct", "goal": format!("goal {turn}"),
                              "constraints": [{"key": "guests", "value": turn}]});
            cairn.turn_note(session, object(note)).unwrap();
            cairn.turn_end(session, &format!("answer {turn}"), Some(format!("short {turn}")), None).unwrap();
        }
    }
    cairn.summary_apply(TALK, SummaryKind::History, 1, 3, "they talked about soup").unwrap();
    for (session, node) in [(TALK, "think"), (TALK, "act"), (BETA, "reply"), (TALK, "understand")] {
        let request =
            BriefRequest { session_id: session.into(), node: node.into(), ..BriefRequest::default() };
        let brief = cairn.brief_build(&request, true).unwrap();
        let draft = NewThought::new(ThoughtType::Decision, "as the brief says").session(session).agent("ada");
        let brief_id = brief.brief_id.map(|id| id.to_string());
        cairn.record(NewThought { brief_id, ..draft }).unwrap();
    }
}

fn redactions(cairn: &Cairn) {
    let all = cairn.list(&Filter::default()).unwrap().records;
    let sealed = all.iter().find(|thought| is_sealed(thought)).unwrap();
    let plain = all.iter().filter(|thought| thought.seq % 31 == 30).take(2);
    let mut targets: Vec<String> = plain.chain([sealed]).map(|thought| thought.id.to_string()).collect();
    targets.push(cairn.briefs(None, None).unwrap()[0].brief_id.to_string());
    targets.push(cairn.reviews(all[0].id.as_str()).unwrap()[0].id.clone());
    let gone = cairn.context_history("gone", None).unwrap();
    targets.push(format!("context:{}", gone[0].context_id));
    targets.push(format!("event:{}", cairn.turn_begin("quiet", "a name", None).unwrap().seq));
    for target in targets {
        cairn.redact(&Redact { target, actor: "ann".into(), reason: "a name".into() }).unwrap();
    }
}

fn is_sealed(thought: &cairn::Thought) -> bool {
    thought.content.starts_with("secret") && thought.redacted.is_none()
}

impl Names {
    fn of(cairn: &Cairn) -> Names {
        let all = cairn.list(&Filter::default()).unwrap().records;
        let first = |which: &dyn Fn(&cairn::Thought) -> bool| {
            all.iter().find(|thought| which(thought)).expect("one of each").id.to_string()
        };
        let briefs = cairn.briefs(None, None).unwrap();
        let gone = |id: &str| cairn.brief(id).unwrap().is_none_or(|brief| brief.redacted.is_some());
        let (redacted, kept): (Vec<_>, Vec<_>) =
            briefs.iter().map(|brief| brief.brief_id.to_string()).partition(|id| gone(id));
        Names {
            plain: first(&|thought| thought.action_id.is_none()),
            child: first(&|thought| thought.parent_id.is_some() && thought.seq > 20),
            acted: first(&|thought| thought.action_id.as_ref().is_some_and(|id| id.as_str() == ACTION)),
            on_context: first(&|thought| thought.context_id.is_some()),
            on_brief: first(&|thought| thought.brief_id.is_some()),
            redacted: first(&|thought| thought.redacted.is_some()),
            sealed: first(&is_sealed),
            unsealed: first(&|thought| thought.redacted.is_some() && thought.session_id.as_str() == BETA),
            briefs: kept,
            redacted_brief: redacted[0].clone(),
            checkpoint: cairn.checkpoints(10).unwrap().last().unwrap().size,
        }
    }
}
