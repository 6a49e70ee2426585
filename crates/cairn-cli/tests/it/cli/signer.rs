//! `cairn signer`: what it signs, what it never signs, and who may ask.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cairn::Sha;
use cairn::core::log::{Checkpoint, CheckpointNote, Growth, consistency, leaf_hash, node_hash, root};
use cairn::core::note::{Signature, Verdict, VerifyingKey};

use super::harness::{Place, Run};
use crate::it::database::{self, sqlites_own};
use crate::it::seeded::Seeded;

/// A log of which everything is known.
#[derive(Clone)]
struct Log {
    origin: &'static str,
    leaves: Vec<Sha>,
}

impl Log {
    fn new(origin: &'static str, words: &[&str], size: u64) -> Log {
        let word = |n: u64| words.get(n as usize).copied().unwrap_or("leaf");
        Log { origin, leaves: (0..size).map(|n| leaf_hash(format!("{} {n}", word(n)).as_bytes())).collect() }
    }

    /// That shares the first `common` entries.
    fn branch(&self, common: u64) -> Log {
        let mut other = self.clone();
        for (n, leaf) in other.leaves.iter_mut().enumerate().skip(common as usize) {
            *leaf = leaf_hash(format!("other {n}").as_bytes());
        }
        other
    }

    fn node(&self, level: u8, index: u64) -> Sha {
        match level {
            0 => self.leaves[index as usize],
            _ => node_hash(&self.node(level - 1, 2 * index), &self.node(level - 1, 2 * index + 1)),
        }
    }

    fn at(&self, size: u64) -> Checkpoint {
        let root = root(size, &mut |level, index| Ok::<_, ()>(self.node(level, index))).unwrap();
        Checkpoint::new(self.origin, size, root).unwrap()
    }

    fn growth(&self, old: u64, new: u64) -> String {
        let proof = consistency(old, new, &mut |level, index| Ok::<_, ()>(self.node(level, index))).unwrap();
        Growth::new(old, proof, CheckpointNote::from(self.at(new))).unwrap().to_string()
    }
}

/// A running signer, ended when it is dropped.
struct Signer {
    child: Child,
    socket: PathBuf,
}

impl Signer {
    fn start(place: &Place, more: &[&str]) -> Signer {
        let socket = place.path("s.sock");
        let path = |name: &str| place.path(name).display().to_string();
        let (socket_arg, keys, heads) = (path("s.sock"), path("signer/keys"), path("signer/heads"));
        let args = ["signer", "--socket", &socket_arg, "--keys", &keys, "--heads", &heads];
        let log = std::fs::OpenOptions::new().append(true).create(true).open(place.path("log")).unwrap();
        let child = place.command(&[&args, more].concat()).stderr(log).stdout(Stdio::null()).spawn().unwrap();
        let signer = Signer { child, socket };
        let begun = Instant::now();
        while UnixStream::connect(&signer.socket).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{}", place.read("log"));
            std::thread::sleep(Duration::from_millis(5));
        }
        signer
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn ask(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(request).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn sign(&self, growth: &str) -> String {
        self.ask(format!("SIGN {}\n{growth}", growth.len()).as_bytes())
    }

    #[track_caller]
    fn signs(&self, log: &Log, old: u64, new: u64) {
        let answer = self.sign(&log.growth(old, new));
        let lines = answer.strip_prefix("OK 1\n").unwrap_or_else(|| panic!("{answer}"));
        let key = self.key(log.origin).unwrap();
        let mut note = CheckpointNote::from(log.at(new));
        Signature::parse_lines(lines).unwrap().into_iter().for_each(|line| note.add(line).unwrap());
        assert_eq!(note.verdict(&key), Verdict::Signed);
    }

    #[track_caller]
    fn refuses(&self, log: &Log, old: u64, new: u64, its: u64) {
        let answer = self.sign(&log.growth(old, new));
        assert!(answer.starts_with(&format!("REFUSED {its} ")), "{answer}");
    }

    fn key(&self, origin: &str) -> Option<VerifyingKey> {
        let answer = self.ask(format!("KEY {origin}\n").as_bytes());
        assert!(answer.starts_with("OK "), "{answer}");
        answer.lines().nth(1).map(|line| line.parse().unwrap())
    }

    /// Has the first key of a log made, or shown if it is there.
    #[track_caller]
    fn make(&self, origin: &str) -> VerifyingKey {
        let answer = self.ask(format!("MAKE {origin}\n").as_bytes());
        let key = answer.strip_prefix("OK 1\n").and_then(|line| line.strip_suffix('\n'));
        let key: VerifyingKey = key.unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
        assert_eq!(key.name(), origin);
        key
    }

    fn end(mut self, signal: rustix::process::Signal) -> bool {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        self.child.wait().unwrap().success()
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_signs_growth_and_refuses_to_go_back_or_sideways_even_after_a_restart() {
    let place = Place::new();
    let mut signer = Signer::start(&place, &[]);
    let log = Log::new("cairn/one", &[], 40);
    assert_eq!(signer.key("cairn/one"), None);
    let keys = ["cairn/one", "cairn/two"].map(|origin| signer.make(origin));
    signer.signs(&log, 0, 5);
    assert!(place.read("log").contains("first sight of cairn/one: 5 entries"), "{}", place.read("log"));
    for round in 0..2 {
        // Again the same, a smaller one, one without a proof, one from elsewhere.
        signer.signs(&log, 5, 5);
        signer.refuses(&log, 0, 5, 5);
        signer.refuses(&log, 0, 4, 5);
        signer.refuses(&log, 3, 4, 5);
        signer.refuses(&log, 0, 9, 5);
        signer.refuses(&log, 4, 9, 5);
        let branch = log.branch(4);
        signer.refuses(&branch, 5, 5, 5);
        signer.refuses(&branch, 5, 9, 5);
        signer.refuses(&branch, 0, 9, 5);
        // Another log is another matter.
        let other = Log::new("cairn/two", &["x"], 10);
        signer.signs(&other, if round == 0 { 0 } else { 3 }, 3);
        if round == 0 {
            assert!(signer.end(rustix::process::Signal::TERM));
            assert!(!place.path("s.sock").exists());
            signer = Signer::start(&place, &[]);
            assert_eq!(["cairn/one", "cairn/two"].map(|origin| signer.key(origin).unwrap()), keys);
        }
    }
    for (old, new) in [(5, 6), (6, 8), (8, 33), (33, 40)] {
        signer.signs(&log, old, new);
    }
    signer.refuses(&log, 33, 39, 40);
    assert!(signer.end(rustix::process::Signal::INT));
}

/// What is in the signer's folders, but for its locks.
fn memory(place: &Place) -> Vec<String> {
    let names = |folder: &str| {
        let entries = std::fs::read_dir(place.path(folder)).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut all = [names("signer/keys"), names("signer/heads")].concat();
    all.retain(|name| name != "signer.lock");
    all.sort();
    all
}

#[test]
fn a_key_is_made_when_it_is_asked_for_once_and_never_by_looking_or_signing() {
    let place = Place::new();
    let signer = Signer::start(&place, &[]);
    let log = Log::new("cairn/one", &[], 9);
    for origin in ["cairn/one", "", "../one", "a b", "a+b"] {
        assert_eq!(signer.ask(format!("KEY {origin}\n").as_bytes()), "OK 0\n", "{origin}");
    }
    // Nor is a head remembered that was not signed.
    let answer = signer.sign(&log.growth(0, 5));
    assert!(answer.starts_with("ERROR there is no key of `cairn/one`"), "{answer}");
    assert_eq!(memory(&place), [""; 0]);
    assert!(!place.read("log").contains("first sight"), "{}", place.read("log"));

    let key = signer.make("cairn/one");
    assert_eq!(memory(&place).len(), 1);
    assert_eq!((signer.make("cairn/one"), signer.key("cairn/one")), (key.clone(), Some(key.clone())));
    assert_eq!((memory(&place).len(), signer.key("cairn/two")), (1, None));
    let other = signer.make("cairn/two");
    assert_ne!((other.id(), other.to_string()), (key.id(), key.to_string()));
    // Many at once get one key.
    let asking = || signer.make("cairn/three").to_string();
    let made: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(asking)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(made.iter().all(|key| *key == made[0]), "{made:?}");
    for origin in ["", "a b", "a+b"] {
        let answer = signer.ask(format!("MAKE {origin}\n").as_bytes());
        assert!(answer.starts_with("ERROR "), "{origin}: {answer}");
    }
    assert_eq!(memory(&place).len(), 3);
    // The one that was refused before was not taken for the log's past.
    signer.signs(&log.branch(2), 0, 4);
    assert!(signer.end(rustix::process::Signal::TERM));
    let signer = Signer::start(&place, &[]);
    assert_eq!(signer.make("cairn/one"), key);
}

#[test]
fn what_is_no_request_gets_an_error_and_no_signature() {
    let place = Place::new();
    let signer = Signer::start(&place, &[]);
    let log = Log::new("cairn/one", &[], 9);
    let growth = log.growth(0, 5);
    let broken = growth.replacen("old 0", "old 00", 1);
    let requests: Vec<Vec<u8>> = vec![
        b"HELLO\n".to_vec(),
        b"SIGN\n".to_vec(),
        b"SIGN -1\n".to_vec(),
        b"SIGN 99999999\n".to_vec(),
        b"SIGN 18446744073709551616\n".to_vec(),
        b"SIGN 10\nabc".to_vec(),
        b"SIGN 3\nabc".to_vec(),
        vec![0xff; 100],
        vec![b'a'; 100_000],
        b"KEY x".to_vec(),
        b"MAKE x".to_vec(),
        b"MAKE\n".to_vec(),
        format!("SIGN {}\n{broken}", broken.len()).into_bytes(),
    ];
    for request in requests {
        let mut stream = signer.connect();
        // It may have closed its end by the time that all is sent.
        let _ = stream.write_all(&request).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut line = String::new();
        let read = BufReader::new(stream).read_line(&mut line);
        assert!(read.is_err() || line.starts_with("ERROR "), "{line}");
    }
    assert_eq!(memory(&place), [""; 0]);
    signer.make("cairn/one");
    signer.signs(&log, 0, 5);
    // Several on one connection, one after the other.
    let growth = log.growth(5, 9);
    let both = format!("KEY cairn/one\nSIGN {}\n{growth}KEY cairn/none\n", growth.len());
    let answer = signer.ask(both.as_bytes());
    assert!(answer.starts_with("OK 1\ncairn/one+") && answer.ends_with("\nOK 0\n"), "{answer}");
    // Those who only hold a connection are in nobody's way.
    let idle: Vec<UnixStream> = (0..20).map(|_| signer.connect()).collect();
    signer.signs(&log, 9, 9);
    drop(idle);
}

#[test]
fn only_those_who_are_named_may_ask() {
    let place = Place::new();
    let own = rustix::process::geteuid().as_raw();
    let other = (own + 1).to_string();
    let signer = Signer::start(&place, &["--allow-user", &other]);
    let answer = signer.sign(&Log::new("cairn/one", &[], 3).growth(0, 3));
    assert_eq!(answer, format!("ERROR user {own} may not ask\n"));
    assert_eq!(signer.ask(b"MAKE cairn/one\n"), format!("ERROR user {own} may not ask\n"));
    assert_eq!(memory(&place), [""; 0]);
    assert!(place.read("log").contains("asked and may not"));
    drop(signer);
    let signer = Signer::start(&place, &["--allow-user", &other, "--allow-user", &own.to_string()]);
    signer.make("cairn/one");
    signer.signs(&Log::new("cairn/one", &[], 3), 0, 3);
    let mode = place.path("s.sock").metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o660);
}

#[test]
fn folders_sockets_and_memories_that_cannot_be_trusted_are_refused() {
    let place = Place::new();
    let run = |socket: &str| {
        let arg = |name: &str| place.path(name).display().to_string();
        let (socket, keys, heads) = (arg(socket), arg("signer/keys"), arg("signer/heads"));
        place.run(&["signer", "--socket", &socket, "--keys", &keys, "--heads", &heads])
    };
    let refused = |run: Run, words: &str| {
        assert_eq!(run.code, 1);
        assert!(run.err.contains(words), "{words}: {}", run.err);
    };
    std::fs::create_dir(place.path("open")).unwrap();
    std::fs::set_permissions(place.path("open"), std::fs::Permissions::from_mode(0o777)).unwrap();
    refused(run("open/s.sock"), "everybody can write into the folder");
    place.write("file", "mine");
    refused(run("file"), "is no socket");
    assert_eq!(place.read("file"), "mine");

    let signer = Signer::start(&place, &[]);
    let log = Log::new("cairn/one", &[], 9);
    signer.make("cairn/one");
    signer.signs(&log, 0, 5);
    refused(run("t.sock"), "another signer uses the folder");
    assert!(!signer.end(rustix::process::Signal::KILL));
    assert!(place.path("s.sock").exists());
    let signer = Signer::start(&place, &[]);
    signer.refuses(&log, 0, 4, 5);

    // A memory that was damaged does not pass for none.
    let heads = std::fs::read_dir(place.path("signer/heads")).unwrap().flatten();
    let head = heads.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "head"));
    std::fs::write(head.unwrap(), "").unwrap();
    let answer = signer.sign(&log.growth(0, 4));
    assert!(answer.starts_with("ERROR "), "{answer}");
    drop(signer);
    std::fs::set_permissions(place.path("signer/keys"), std::fs::Permissions::from_mode(0o755)).unwrap();
    refused(run("s.sock"), "others can look into it");
}

#[test]
fn killed_at_any_moment_it_never_signs_two_roots_of_one_size() {
    let place = Place::new();
    let log = Log::new("cairn/one", &[], 400);
    let branches = [log.clone(), log.branch(3), log.branch(100)];
    Signer::start(&place, &[]).make("cairn/one");
    let (mut signed, mut random): (HashMap<u64, Sha>, _) = (HashMap::new(), Seeded(7));
    let mut answers = 0;
    for _ in 0..60 {
        let signer = Signer::start(&place, &[]);
        let pid = rustix::process::Pid::from_raw(signer.child.id() as i32).unwrap();
        // Some answers, and then an end at any moment of those that follow.
        let (start, wait) = std::sync::mpsc::channel();
        let (patience, delay) = (1 + random.below(6), Duration::from_micros(random.below(5000)));
        let killer = std::thread::spawn(move || {
            let _ = wait.recv_timeout(Duration::from_secs(60));
            std::thread::sleep(delay);
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        });
        let mut round = 0;
        let mut old = 0;
        while let Ok(mut stream) = UnixStream::connect(&signer.socket) {
            let branch = random.pick(&branches);
            let new = (old + random.below(5)).min(400);
            let growth = branch.growth(old, new);
            let asked = stream.write_all(format!("SIGN {}\n{growth}", growth.len()).as_bytes());
            let (mut line, mut input) = (String::new(), BufReader::new(stream));
            if asked.is_err() || input.read_line(&mut line).is_err() || !line.ends_with('\n') {
                break;
            }
            match line.trim_end().split(' ').collect::<Vec<_>>()[..] {
                ["OK", "1"] => {
                    let root = branch.at(new).root();
                    assert_eq!(*signed.entry(new).or_insert(root), root, "two roots at {new}");
                    old = new;
                    (answers, round) = (answers + 1, round + 1);
                    if round == patience {
                        start.send(()).unwrap();
                    }
                }
                ["REFUSED", its, ..] => old = its.parse().unwrap(),
                _ => panic!("{line}"),
            }
        }
        killer.join().unwrap();
    }
    assert!(answers >= 60, "too little was signed to show anything: {answers}");
    let signer = Signer::start(&place, &[]);
    let newest = *signed.keys().max().unwrap();
    for branch in branches.iter().filter(|branch| branch.at(newest).root() != signed[&newest]) {
        let answer = signer.sign(&branch.growth(newest, newest));
        assert!(answer.starts_with("REFUSED "), "{answer}");
    }
}

/// Runs the program on `data/cairn.db` with the signer.
fn run(place: &Place, args: &[&str]) -> Run {
    let mut command = place.command(args);
    command
        .env("CAIRN_DB", database::named(&place.path("data/cairn.db")))
        .env("CAIRN_STATE", place.path("state"));
    command.env("CAIRN_SIGNER", format!("unix:{}", place.path("s.sock").display()));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn commands_have_their_checkpoints_signed_and_a_database_put_back_is_not() {
    sqlites_own!("a file is put back");
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    let signer = Signer::start(&place, &[]);
    for text in ["one", "two"] {
        assert_eq!(run(&place, &["record", "plan", text, "-s", "s"]).code, 0);
    }
    let database = place.path("data/cairn.db");
    let newest = || cairn::Cairn::open(&database).unwrap().newest_checkpoint().unwrap().unwrap();
    let stated = newest();
    let note: CheckpointNote = stated.note.parse().unwrap();
    // The beginning of the log, its key, and two plans.
    let key = signer.key(&stated.origin).unwrap();
    assert_eq!((stated.size, note.verdict(&key)), (4, Verdict::Signed));
    let introduced = cairn::Cairn::open(&database).unwrap().key_changes().unwrap();
    let introduced: Vec<(&str, &str)> =
        introduced.iter().map(|change| (change.op.as_str(), change.vkey.as_str())).collect();
    assert_eq!(introduced, [("add", key.to_string().as_str())]);

    std::fs::copy(&database, place.path("old.db")).unwrap();
    assert_eq!(run(&place, &["record", "plan", "three", "-s", "s"]).code, 0);
    std::fs::copy(place.path("old.db"), &database).unwrap();
    let _ = std::fs::remove_dir_all(place.path("state"));
    let again = run(&place, &["record", "plan", "another three", "-s", "s"]);
    assert_eq!(again.code, 0, "{}", again.err);
    let publish = run(&place, &["witness", "publish"]);
    assert_eq!(publish.code, 1);
    assert!(publish.err.contains("the signer has signed another past of this log"), "{}", publish.err);
    assert_eq!(newest(), stated);
}

#[test]
fn without_its_signer_a_database_is_still_recorded_to() {
    let place = Place::new();
    std::fs::create_dir(place.path("data")).unwrap();
    assert_eq!(run(&place, &["record", "plan", "one", "-s", "s"]).code, 0);
    // One that takes connections and says nothing.
    let silent = std::os::unix::net::UnixListener::bind(place.path("s.sock")).unwrap();
    assert_eq!(run(&place, &["record", "plan", "two", "-s", "s"]).code, 0);
    // Each time it is asked is waited for: a command asks once.
    silent.set_nonblocking(true).unwrap();
    assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
    silent.set_nonblocking(false).unwrap();
    let publish = run(&place, &["witness", "publish"]);
    assert!(publish.code == 1 && publish.err.contains("did not answer in time"), "{}", publish.err);

    // When it is back, all of it is signed.
    drop(silent);
    let signer = Signer::start(&place, &[]);
    assert_eq!(run(&place, &["record", "plan", "three", "-s", "s"]).code, 0);
    let cairn = database::open(cairn::Options::new(), &place.path("data/cairn.db"));
    let newest = cairn.newest_checkpoint().unwrap().unwrap();
    let note: CheckpointNote = newest.note.parse().unwrap();
    assert_eq!(newest.size, cairn.status().unwrap().entries);
    assert_eq!(note.verdict(&signer.key(&newest.origin).unwrap()), Verdict::Signed);
}
