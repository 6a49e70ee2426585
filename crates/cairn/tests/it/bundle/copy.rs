//! Logs copied from database to database: from a file to where the tests run, and back into a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cairn::bundle::{Copied, CopyError, Selection};
use cairn::core::entry::KeyOp;
use cairn::core::log::Checkpoint;
use cairn::core::note::SigningKey;
use cairn::{
    BriefRequest, Cairn, Durability, KeyChange, KeyFolder, NewSession, NewThought, NewToken, Options,
    Progress, Scope, SearchQuery, Source, ThoughtType, TokenScope,
};
use serde_json::json;

use super::redacted::with_keys;
use crate::harness::{Folder, Sql, on_postgres};
use crate::redact::redact;

fn copy(from: &Cairn, to: &Path) -> Result<Copied, CopyError> {
    from.copy(to, Durability::Full, &|_| {})
}

fn refusal(result: Result<Copied, CopyError>) -> String {
    match result {
        Err(CopyError::Refused(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn think(session: &str, text: &str) -> NewThought {
    NewThought::new(ThoughtType::Decision, text).session(session).task("t").agent("ada")
}

/// Opens a database with the keys and the heads of its folder.
fn open(folder: &Folder, path: &Path) -> Cairn {
    let keys = KeyFolder::new(folder.path().join("keys"));
    let options = Options::new().signer(keys).heads(folder.path().join("heads")).keep_states_after(2);
    options.roadmaps(folder.path().join("roadmaps")).open(path).unwrap()
}

/// A few hundred records of every kind there is, of which some were redacted, signed with a key and then with another.
fn everything(folder: &Folder, path: &Path) -> Cairn {
    std::fs::create_dir_all(folder.path().join("roadmaps")).unwrap();
    let log = open(folder, path);
    let origin = log.status().unwrap().origin;
    let metadata = |n: usize| {
        json!({"n": n, "mail": "q@example.org", "\u{1f600}": [null, 1.5]}).as_object().unwrap().clone()
    };
    let mut parent = None;
    for n in 0..120 {
        let session = ["s", "memory", "third"][n % 3];
        let mut draft = think(session, &format!("thought {n} 😀 \u{fb33} \"quoted\"\n\u{1}\u{7f}"));
        draft = match n % 5 {
            0 => draft.metadata(metadata(n)).action(format!("call-{n}")),
            1 => draft.seal(),
            2 => draft.idempotency_key(format!("key-{n}")),
            3 => draft.seal().metadata(metadata(n)),
            _ => draft,
        };
        if session == "s"
            && let Some(parent) = &parent
        {
            draft = draft.parent(parent);
        }
        let thought = log.record(draft).unwrap();
        if session == "s" {
            parent = Some(thought.id);
        }
    }
    let mut decided = Vec::new();
    for n in 0..4 {
        let plan = json!({"title": "Plan", "nodes": [{"id": "a", "label": format!("A {}", n % 3)}, {"id": "b", "label": "B"}]});
        std::fs::write(folder.path().join("roadmaps/plan.json"), plan.to_string()).unwrap();
        let context = log.context_create("plan", (n % 2 == 0).then(|| metadata(n))).unwrap().context;
        let mut based = think("s", "based on it").applies_to(format!("src/{n}/**"));
        based.kind = ThoughtType::Decision;
        based = decided.iter().fold(based, |based, id| based.supersedes(id).rejects(id));
        let based = NewThought { context_id: Some(context.context_id), ..based };
        decided.push(log.record_as(Source::Person, based).unwrap().id);
    }
    for session in ["s", "memory"] {
        log.session_open(NewSession { session_id: Some(session.into()), ..NewSession::default() }).unwrap();
        for n in 0..20 {
            log.turn_begin(session, &format!("What is there? {n} 😀"), None).unwrap();
            // The same content in both sessions is stored once.
            let read = json!({"op": "read", "type": "recipe", "id": format!("r{n}"), "body": {"for": n}});
            log.entity_apply(session, vec![read], None, Some(format!("{session} {n}"))).unwrap();
        }
        let request =
            BriefRequest { session_id: session.into(), node: "act".into(), ..BriefRequest::default() };
        for n in 0..3 {
            let brief = log.brief_build(&request, true).unwrap().brief_id.unwrap().to_string();
            match n {
                0 => drop(redact(&log, &brief).unwrap()),
                _ => drop(
                    log.record(NewThought { brief_id: Some(brief), ..think(session, "as it says") }).unwrap(),
                ),
            }
        }
    }
    let ids: Vec<_> =
        log.list(&Default::default()).unwrap().records.into_iter().map(|thought| thought.id).collect();
    // With metadata, sealed, with a key, sealed with metadata, plain.
    ids.iter().skip(30).take(5).for_each(|id| drop(redact(&log, id.as_str()).unwrap()));
    log.checkpoint().unwrap();
    // A witness adds its line to a checkpoint.
    let stated = log.newest_checkpoint().unwrap().unwrap();
    let witness = SigningKey::from_seed("witness.example/one", [9; 32]).unwrap();
    let cosigned =
        Checkpoint::new(&origin, stated.size, stated.root).unwrap().signed(&[&witness]).unwrap().to_string();
    let line = cosigned.lines().last().unwrap();
    let add = "UPDATE checkpoint SET note = ?1 WHERE size = ?2";
    Sql::open(path).execute(add, (format!("{}{line}\n", stated.note), stated.size)).unwrap();

    let keys = KeyFolder::new(folder.path().join("keys"));
    let [old] = &log.key_changes().unwrap()[..] else { panic!("one key") };
    let old = old.vkey.parse().unwrap();
    let change =
        |op, key, last_trusted_size| KeyChange { op, key, last_trusted_size, reason: Some("a year".into()) };
    log.change_key(change(KeyOp::Add, keys.make_next(&origin).unwrap(), None)).unwrap();
    let bridge = log.checkpoint().unwrap();
    log.change_key(change(KeyOp::Retire, old, Some(bridge.size))).unwrap();
    log.close();
    keys.replace(&origin).unwrap();
    let log = open(folder, path);
    log.record(think("s", "after the change of keys")).unwrap();
    log.token_add(NewToken { name: "ci".into(), scope: TokenScope::Read, agent_id: None }).unwrap();
    log.checkpoint().unwrap();
    log
}

fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.starts_with("back"));
    names.sort();
    names
}

#[test]
fn a_log_that_went_there_and_back_is_the_same_to_the_byte() {
    let folder = Folder::new();
    let (file, there, back) =
        (folder.path().join("a.db"), folder.database("there"), folder.path().join("back.db"));
    let log = everything(&folder, &file);
    let before = with_keys(&log, Selection::All);
    let copied = copy(&log, &there).unwrap();
    let status = log.status().unwrap();
    assert_eq!((copied.size, copied.added, copied.newer), (status.entries, status.entries, 0));
    assert!(copied.checkpoints >= 3 && copied.report.valid());
    assert_eq!((Some(copied.root), copied.origin), (log.verify(&Scope::All).unwrap().root, status.origin));

    let middle = open(&folder, &there);
    assert!(with_keys(&middle, Selection::All) == before, "byte for byte");
    copy(&middle, &back).unwrap();
    assert_eq!(names(folder.path()), ["back.db"], "nothing is left beside it");
    let returned = open(&folder, &back);
    assert!(with_keys(&returned, Selection::All) == before, "byte for byte");
    assert!(with_keys(&log, Selection::All) == before, "the source is as it was");

    for copy in [&middle, &returned] {
        let now = copy.status().unwrap();
        assert_eq!((now.thoughts, now.sessions, now.tasks), (status.thoughts, status.sessions, status.tasks));
        assert_eq!((now.events, now.briefs, now.contexts), (status.events, status.briefs, status.contexts));
        let query = SearchQuery { query: "thought quoted".into(), ..SearchQuery::default() };
        assert_eq!(copy.search(&query).unwrap().results.len(), log.search(&query).unwrap().results.len());
        assert_eq!(copy.for_action("call-5").unwrap().len(), 1);
        assert!(copy.tokens().unwrap().is_empty(), "who may enter one may not enter the other");
        let all = |cairn: &Cairn| cairn.list(&Default::default()).unwrap().records;
        assert_eq!(all(copy), all(&log));
        // A key that was used is used.
        let first = copy
            .record(think("third", "thought 2 😀 \u{fb33} \"quoted\"\n\u{1}\u{7f}").idempotency_key("key-2"));
        assert_eq!(first.unwrap().id, all(&log)[2].id);
    }
    // It goes on where the log ended.
    returned.record(think("s", "more")).unwrap();
    assert!(returned.verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_copy_is_brought_up_to_date_by_doing_it_again() {
    let folder = Folder::new();
    let log = everything(&folder, &folder.path().join("a.db"));
    for (number, to) in [folder.database("there"), folder.path().join("file.db")].into_iter().enumerate() {
        copy(&log, &to).unwrap();
        assert_eq!(copy(&log, &to).unwrap().added, 0);
        let told = log.record(think("s", "Ask Zoltan Quixley")).unwrap();
        let sealed = log.record(think("s", "Gummibaerchen for Quixley").seal()).unwrap();
        assert_eq!(copy(&log, &to).unwrap().added, 2);
        assert_eq!(
            Cairn::open(&to).unwrap().get(told.id.as_str()).unwrap().unwrap().content,
            "Ask Zoltan Quixley"
        );
        redact(&log, told.id.as_str()).unwrap();
        redact(&log, sealed.id.as_str()).unwrap();
        let copied = copy(&log, &to).unwrap();
        assert_eq!((copied.added, copied.erased), (2, 2), "{number}");
        let there = Cairn::open(&to).unwrap();
        assert_eq!(there.get(told.id.as_str()).unwrap().unwrap().content, "");
        assert!(with_keys(&there, Selection::All) == with_keys(&log, Selection::All));
    }
}

#[test]
fn what_is_recorded_meanwhile_is_left_for_the_next_time() {
    let folder = Folder::new();
    let log = everything(&folder, &folder.path().join("a.db"));
    let to = folder.database("there");
    let size = log.status().unwrap().entries;
    let (once, ids) = (AtomicBool::new(true), log.list(&Default::default()).unwrap().records);
    let copied = log
        .copy(&to, Durability::Full, &|done| {
            if done.what == "copying" && once.swap(false, Ordering::Relaxed) {
                log.record(think("s", "meanwhile")).unwrap();
                // What is copied was read before it was erased, and is erased there the next time.
                redact(&log, ids[0].id.as_str()).unwrap();
            }
        })
        .unwrap();
    assert_eq!((copied.size, copied.newer), (size, 2));
    let copied = copy(&log, &to).unwrap();
    assert_eq!((copied.added, copied.newer, copied.erased), (2, 0, 1));
    let there = open(&folder, &to);
    assert!(with_keys(&there, Selection::All) == with_keys(&log, Selection::All));
}

#[test]
fn a_target_that_is_no_beginning_of_the_log_is_refused_and_stays_as_it_was() {
    let folder = Folder::new();
    let log = everything(&folder, &folder.path().join("a.db"));
    let foreign = folder.database("foreign");
    let other = Cairn::open(&foreign).unwrap();
    other.record(think("s", "of another log")).unwrap();
    let message = refusal(copy(&log, &foreign));
    assert!(message.contains("holds another log") && message.contains("does not exist yet"), "{message}");
    assert_eq!(other.status().unwrap().entries, 2);

    let there = folder.database("there");
    copy(&log, &there).unwrap();
    let apart = Options::new().open(&there).unwrap();
    apart.record(think("s", "there")).unwrap();
    let message = refusal(copy(&log, &there));
    assert!(message.contains("copy the other way round"), "{message}");
    let size = log.status().unwrap().entries;
    log.record(think("s", "here")).unwrap();
    log.record(think("s", "and here")).unwrap();
    let message = refusal(copy(&log, &there));
    assert!(message.contains(&format!("log entry {size} of the target")), "{message}");
    assert!(apart.verify(&Scope::All).unwrap().valid());

    let itself = refusal(copy(&log, &folder.path().join("a.db")));
    assert!(itself.contains("the same database"), "{itself}");
    let itself = refusal(copy(&apart, &there));
    assert!(itself.contains("the same database"), "{itself}");
    let nowhere = folder.path().join("nowhere/a.db");
    assert!(matches!(copy(&log, &nowhere), Err(CopyError::Open(_))));
    std::fs::write(folder.path().join("text.db"), "something").unwrap();
    assert!(matches!(copy(&log, &folder.path().join("text.db")), Err(CopyError::Open(_))));
    assert_eq!(std::fs::read(folder.path().join("text.db")).unwrap(), b"something");
}

/// Whether there is a log.
fn exists(path: &Path) -> bool {
    Options::new().create(false).open(path).is_ok()
}

#[test]
fn of_a_source_that_was_tampered_with_nothing_is_copied() {
    let folder = Folder::new();
    let tampered = [
        "UPDATE thought SET content = 'other' WHERE seq = 5",
        "UPDATE thought SET leaf_hash = (SELECT leaf_hash FROM thought WHERE seq = 5) WHERE seq = 6",
        "UPDATE event SET body = '{}' WHERE seq = (SELECT max(seq) FROM event)",
        "DELETE FROM seal WHERE seq = (SELECT max(seq) FROM seal)",
        "UPDATE checkpoint SET note = replace(note, 'cairn/', 'cairm/')",
    ];
    drop(everything(&folder, &folder.database("a.db")));
    for (number, change) in tampered.into_iter().enumerate() {
        let path = folder.database(&format!("tampered{number}"));
        crate::harness::copy(&folder.database("a.db"), &path);
        Sql::open(&path).unprotected(|sql| sql.execute_batch(change).unwrap());
        let log = open(&folder, &path);
        let places =
            [folder.database(&format!("to{number}")), folder.path().join(format!("file{number}.db"))];
        for to in places {
            let Err(CopyError::Source(report)) = copy(&log, &to) else { panic!("{change}") };
            assert!(!report.findings.is_empty());
            assert!(!exists(&to) && !to.with_extension("db.copying").exists(), "{change}");
        }
    }
}

#[test]
fn a_copy_that_was_tampered_with_is_not_passed_off_as_one() {
    let folder = Folder::new();
    let log = everything(&folder, &folder.path().join("a.db"));
    let to = folder.database("there");
    copy(&log, &to).unwrap();
    Sql::open(&to).unprotected(|sql| {
        sql.execute_batch("UPDATE thought SET content = 'other' WHERE seq = 5").unwrap();
    });
    let Err(CopyError::Copy(report)) = copy(&log, &to) else { panic!() };
    assert_eq!(report.findings[0].seq, Some(5));
    let one = "UPDATE checkpoint SET note = replace(note, 'cairn/', 'cairm/') WHERE size = (SELECT min(size) FROM checkpoint)";
    Sql::open(&to).unprotected(|sql| sql.execute_batch(one).unwrap());
    assert!(refusal(copy(&log, &to)).contains("another checkpoint"));
}

/// Several transactions' worth of thoughts, each following from the one before.
fn long(path: &Path) -> Cairn {
    let log = Cairn::open(path).unwrap();
    let waiting: Vec<_> =
        (0..5000).map(|n| log.record_async(think(&format!("s{}", n % 7), &format!("thought {n}")))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    waiting.into_iter().for_each(|done| drop(runtime.block_on(done).unwrap()));
    log.checkpoint().unwrap();
    log
}

const CHILD: &str = "CAIRN_TEST_COPY";

/// What is killed below: it copies, and stops in the middle of it.
#[test]
#[ignore = "started by the test that kills it"]
fn copies_until_it_is_killed() {
    let Ok(places) = std::env::var(CHILD) else { return };
    let (from, to) = places.split_once(' ').unwrap();
    let stop = |done: Progress| {
        if done.what == "copying" {
            println!("\ncopied {}", done.done);
            std::thread::sleep(std::time::Duration::from_secs(600));
        }
    };
    let _ = Cairn::open(from).unwrap().copy(to, Durability::Full, &stop);
}

#[test]
fn a_copy_that_was_killed_goes_on_where_it_was() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    let file = folder.path().join("a.db");
    let log = long(&file);
    let size = log.status().unwrap().entries;
    for to in [folder.database("there"), folder.path().join("file.db")] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "bundle::copy::copies_until_it_is_killed"])
            .env(CHILD, format!("{} {}", file.display(), to.display()))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("copied ")), "it never came so far");
        child.kill().unwrap();
        child.wait().unwrap();
        let is_file = !on_postgres() || to.extension().is_some_and(|end| end == "db");
        let unfinished =
            if is_file { PathBuf::from(format!("{}.copying", to.display())) } else { to.clone() };
        assert_eq!(exists(&to), !is_file, "a file has its name when it is whole");
        let half = Cairn::open(&unfinished).unwrap().status().unwrap().entries;
        assert!(half > 2000 && half < size, "{half}");
        let copied = copy(&log, &to).unwrap();
        assert_eq!((copied.added, copied.size), (size - half, size));
        assert!(with_keys(&Cairn::open(&to).unwrap(), Selection::All) == with_keys(&log, Selection::All));
    }
}

#[test]
fn a_copy_bears_lost_connections_or_goes_on_when_it_is_asked_again() {
    let folder = Folder::new();
    let there = folder.database("there");
    let Some((server, _)) = there.to_str().unwrap().split_once("?schema=").filter(|_| on_postgres()) else {
        eprintln!("PostgreSQL's own: connections can be lost");
        return;
    };
    // A database of its own, so that nobody else's connections are cut.
    let name = format!("copy_{}", std::process::id());
    let sql = Sql::on(server);
    sql.execute_batch(&format!("CREATE DATABASE {name}")).unwrap();
    let there = PathBuf::from(format!("{}/{name}", server.rsplit_once('/').unwrap().0));
    let log = everything(&folder, &folder.path().join("a.db"));
    let cut = |when: &'static str| {
        let (once, server) = (AtomicBool::new(true), server.to_string());
        move |done: Progress| {
            if done.what == when && once.swap(false, Ordering::Relaxed) {
                let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname";
                Sql::on(&server).execute_batch(&format!("{all} = 'copy_{}'", std::process::id())).unwrap();
            }
        }
    };
    let copied = log.copy(&there, Durability::Full, &cut("copying")).unwrap();
    assert_eq!(copied.size, log.status().unwrap().entries);
    let middle = open(&folder, &there);
    assert!(with_keys(&middle, Selection::All) == with_keys(&log, Selection::All));
    log.record(think("s", "later")).unwrap();
    assert_eq!(copy(&log, &there).unwrap().added, 1);

    let back = folder.path().join("back.db");
    let failed = middle.copy(&back, Durability::Full, &cut("verifying the source"));
    assert!(matches!(failed, Err(CopyError::Reading(_))), "{failed:?}");
    assert!(!back.exists());
    copy(&middle, &back).unwrap();
    assert!(with_keys(&open(&folder, &back), Selection::All) == with_keys(&middle, Selection::All));
    drop(middle);
    sql.execute_batch(&format!("DROP DATABASE {name} WITH (FORCE)")).unwrap();
}
