//! Silence means truth: if `cairn verify` finds nothing in a file, every reader shows what was recorded, or says that it
//! is damaged.
//!
//! A file with one of everything is changed in thousands of ways. Each time `verify` is run as the program runs it; if it
//! finds nothing, every reader is asked again. This is no integration test, because all of it runs in one process.
//!
//! - `CAIRN_DECEIVE=long` makes 20,000 random changes of single bytes and all others that there are, from another seed
//!   each time; it names the seed.
//! - `CAIRN_DECEIVE_SEED=7` sets the seed.
//! - `CAIRN_DECEIVE_ONLY='page 3'` makes only those changes of a run that have these words in their names, and `CAIRN_DECEIVE_FILE=before.db`
//!   makes them in the file that a failure has left behind.

mod btree;
mod changes;
mod ground;
mod readers;
#[path = "../../../cairn-core/tests/seeded.rs"]
#[allow(dead_code, reason = "shared with the tests of other crates, which use other parts of it")]
mod seeded;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use changes::{Amount, Change};
use ground::Ground;
use readers::{Place, Reader};
use serde_json::Value;

/// Of the test command.
const SHORT: Amount = Amount { bytes: 1300, in_use: true, pages: 160, keys: 16, rows: 1 };
/// Of the long run.
const LONG: Amount = Amount { bytes: 20_000, in_use: false, pages: usize::MAX, keys: 400, rows: 8 };
/// No change takes as long as this, however busy the machine is.
const HANGS: Duration = Duration::from_secs(300);

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Met {
    /// SQLite refused the change, or it changed nothing.
    NotMade,
    /// `verify` named something, or said that the file cannot be read.
    Found,
    /// `verify` was silent, and all readers said what they had said before.
    Same,
    /// `verify` was silent, and some readers said that something is damaged.
    Damaged,
}

/// A reader showed something else while `verify` was silent.
struct Deceived(String);

#[test]
fn if_verification_is_silent_every_reader_shows_what_was_recorded() {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let long = variable("CAIRN_DECEIVE").is_some_and(|how| how == "long");
    let seed =
        variable("CAIRN_DECEIVE_SEED").map(|seed| seed.parse().expect("CAIRN_DECEIVE_SEED is a number"));
    let seed = seed.unwrap_or_else(|| if long { clock_seed() } else { 1 });
    let only = variable("CAIRN_DECEIVE_ONLY");
    let ground = Ground::new(variable("CAIRN_DECEIVE_FILE").as_deref().map(Path::new));
    let readers = readers::all(&ground);
    assert!(readers.len() >= 20, "{}", readers.len());
    let before = baseline(&ground, &readers);
    let amount = if long { LONG } else { SHORT };
    let mut changes = changes::all(&ground.path(), &ground.image, amount, seed);
    if let Some(words) = &only {
        changes.retain(|change| change.name.contains(words.as_str()));
    }
    eprintln!(
        "{} changes, {} readers, {} bytes, seed {seed}",
        changes.len(),
        readers.len(),
        ground.image.len()
    );
    let trial = Trial { ground: &ground, readers: &readers, before: &before, changes: &changes };
    let (met, failures) = trial.run();
    eprintln!("{met:?}");
    if !failures.is_empty() {
        let kept = keep(&ground, &changes, &failures);
        let list: Vec<&str> = failures.iter().map(|(index, _)| changes[*index].name.as_str()).collect();
        panic!(
            "verification was silent about {} of {} changes (seed {seed}); the files are in {}:\n{}",
            failures.len(),
            changes.len(),
            kept.display(),
            list.join("\n")
        );
    }
}

fn clock_seed() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |since| since.as_secs())
}

/// Reads the unchanged file twice: both times the readers say the same.
fn baseline(ground: &Ground, readers: &[Reader]) -> Vec<String> {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [first, second] = folders.map(|folder| {
        let place = Place { folder: folder.path().to_path_buf(), roadmaps: ground.roadmaps() };
        fs::write(place.file(), &ground.image).unwrap();
        let (code, said) = verify(&place);
        assert_eq!(code, 0, "{said}");
        let opened = place.open().unwrap();
        readers.iter().map(|reader| reader.read(&opened)).collect::<Vec<String>>()
    });
    let mut unfit = Vec::new();
    for ((reader, first), second) in readers.iter().zip(&first).zip(&second) {
        if first != second {
            unfit.push(format!(
                "{} says something else each time: {}",
                reader.name(),
                difference(first, second)
            ));
        }
        if is_failure(first) {
            unfit.push(format!("{} shows nothing: {first}", reader.name()));
        }
    }
    assert!(unfit.is_empty(), "{}", unfit.join("\n"));
    first
}

fn verify(place: &Place) -> (u8, String) {
    place.command(&["verify".to_string()])
}

struct Trial<'t> {
    ground: &'t Ground,
    readers: &'t [Reader],
    before: &'t [String],
    changes: &'t [Change],
}

impl Trial<'_> {
    /// Makes all changes, on as many threads as there are cores; counts how they went, and lists those that deceived.
    fn run(&self) -> (BTreeMap<Met, usize>, Vec<(usize, Deceived)>) {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
        let (next, met) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let failures = Mutex::new(Vec::new());
        let at_work: Vec<Mutex<Option<(usize, Instant)>>> = (0..threads).map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            let workers: Vec<_> = at_work
                .iter()
                .map(|at_work| {
                    scope.spawn(|| {
                        let folder = tempfile::tempdir().unwrap();
                        let folder = folder.path().to_path_buf();
                        let place = Place { folder, roadmaps: self.ground.roadmaps() };
                        loop {
                            let index = next.fetch_add(1, Ordering::Relaxed);
                            if index >= self.changes.len() {
                                *at_work.lock().unwrap() = None;
                                return;
                            }
                            *at_work.lock().unwrap() = Some((index, Instant::now()));
                            match self.one(&self.changes[index], &place) {
                                Ok(how) => *met.lock().unwrap().entry(how).or_insert(0) += 1,
                                Err(deceived) => {
                                    eprintln!("deceived: {}: {}", self.changes[index].name, deceived.0);
                                    failures.lock().unwrap().push((index, deceived));
                                }
                            }
                        }
                    })
                })
                .collect();
            while workers.iter().any(|worker| !worker.is_finished()) {
                for at_work in &at_work {
                    if let Some((index, since)) = *at_work.lock().unwrap()
                        && since.elapsed() > HANGS
                    {
                        eprintln!("no end after {HANGS:?}: {}", self.changes[index].name);
                        std::process::abort();
                    }
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        let mut failures = failures.into_inner().unwrap();
        failures.sort_by_key(|(index, _)| *index);
        (met.into_inner().unwrap(), failures)
    }

    fn one(&self, change: &Change, place: &Place) -> Result<Met, Deceived> {
        readers::clear(&place.file());
        if !change.make(&self.ground.image, &place.file()) {
            return Ok(Met::NotMade);
        }
        let (code, said) = quietly("verify", || verify(place))?;
        if code != 0 {
            return if said.is_empty() {
                Err(Deceived(format!("verify: exit {code} without a word")))
            } else {
                Ok(Met::Found)
            };
        }
        let opened = match quietly("opening it", || place.open())? {
            Ok(opened) => opened,
            Err(error) => {
                return Err(Deceived(format!("verify was silent, and then it cannot be opened: {error}")));
            }
        };
        let mut met = Met::Same;
        for (reader, before) in self.readers.iter().zip(self.before) {
            let now = quietly(&reader.name(), || reader.read(&opened))?;
            if now == *before {
                continue;
            }
            if !is_told(before, &now) {
                return Err(Deceived(format!("{}: {}", reader.name(), difference(before, &now))));
            }
            met = Met::Damaged;
        }
        Ok(met)
    }
}

/// A panic is no answer.
fn quietly<T>(what: &str, run: impl FnOnce() -> T) -> Result<T, Deceived> {
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|panic| Deceived(format!("{what} panics: {}", words(&*panic))))
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

/// Whether an answer is an error, and not what was asked for.
fn is_failure(answer: &str) -> bool {
    ["\"ok\":false", "\"isError\":true", "NOT_FOUND", "INVALID_PARAMS"]
        .iter()
        .any(|sign| answer.contains(sign))
}

/// Whether an answer says that something is damaged, and shows nothing else than before.
fn is_told(before: &str, now: &str) -> bool {
    if !now.contains("DAMAGED") && !now.contains("damaged") {
        return false;
    }
    let shown = |answer: &str| {
        let mut records = BTreeSet::new();
        answer
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .for_each(|line| collect(&line, &mut records));
        records
    };
    shown(now).is_subset(&shown(before))
}

/// Collects each record in an answer, without what is nested in it.
fn collect(answer: &Value, records: &mut BTreeSet<String>) {
    match answer {
        Value::Array(list) => list.iter().for_each(|value| collect(value, records)),
        Value::Object(members) => {
            if members.contains_key("id") && !members.contains_key("damaged") {
                let own = members.iter().filter(|(_, value)| !value.is_array() && !value.is_object());
                records.insert(own.map(|(name, value)| format!("{name}: {value}\n")).collect());
            }
            members
                .iter()
                .filter(|(name, _)| *name != "damaged")
                .for_each(|(_, value)| collect(value, records));
        }
        // The text of a tool's answer is JSON as well.
        Value::String(text) if text.starts_with('{') => {
            serde_json::from_str(text).into_iter().for_each(|value| collect(&value, records));
        }
        _ => {}
    }
}

/// The first place where two answers differ.
fn difference(before: &str, now: &str) -> String {
    let at = before.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let (start, end) = (at.saturating_sub(60), (at + 100).min(text.len()));
        String::from_utf8_lossy(&text.as_bytes()[start.min(end)..end]).into_owned()
    };
    format!("before: …{:?}… now: …{:?}…", part(before), part(now))
}

/// Leaves the file before and after each change that deceived, for the next look.
fn keep(ground: &Ground, changes: &[Change], failures: &[(usize, Deceived)]) -> PathBuf {
    let folder = tempfile::Builder::new().prefix("cairn-deceived-").tempdir().unwrap().keep();
    fs::write(folder.join("before.db"), &ground.image).unwrap();
    for (index, _) in failures.iter().take(50) {
        changes[*index].make(&ground.image, &folder.join(format!("after-{index}.db")));
    }
    folder
}
