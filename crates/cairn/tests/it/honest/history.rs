//! One history: what happens is drawn from a seed, and told if something goes wrong.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use cairn::core::entry::KeyOp;
use cairn::core::note::SigningKey;
use cairn::{
    BriefRequest, Cairn, Error, Filter, KeyChange, KeyFolder, NewSession, NewThought, NewToken, Options,
    Redact, Scope, SearchQuery, Source, Standing, ThoughtType, Timestamp, TokenScope,
};
use serde_json::json;
use tempfile::TempDir;

use crate::seeded::Seeded;

/// A machine on which databases, copies and clones are used.
pub struct History {
    folder: TempDir,
    random: Seeded,
    /// Seconds since 1970; it jumps.
    clock: Arc<AtomicI64>,
    /// Where the database is now; it moves.
    path: PathBuf,
    /// Two programs that have it open.
    open: [Option<Cairn>; 2],
    copies: Vec<PathBuf>,
    told: Vec<String>,
    number: u64,
}

/// The last second of 9998, and the first of 1971.
const CLOCKS: std::ops::Range<i64> = 31_536_000..253_370_764_800;

impl History {
    pub fn begin(seed: u64) -> History {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("roadmaps")).unwrap();
        let path = folder.path().join("cairn.db");
        let clock = Arc::new(AtomicI64::new(1_776_000_000));
        let told = vec![format!("seed {seed}")];
        let random = Seeded(seed);
        History { folder, random, clock, path, open: [None, None], copies: Vec::new(), told, number: 0 }
    }

    fn options(&self) -> Options {
        let clock = self.clock.clone();
        Options::new()
            .clock(move || time(clock.fetch_add(1, Ordering::Relaxed)))
            .signer(KeyFolder::new(self.folder.path().join("keys")))
            .heads(self.folder.path().join("heads"))
            .roadmaps(self.folder.path().join("roadmaps"))
            .keep_states_after(4)
    }

    /// One of the programs; it opens the database if it has not.
    fn program(&mut self) -> Cairn {
        let which = self.random.index(2);
        if self.open[which].is_none() {
            let opened =
                self.options().open(&self.path).unwrap_or_else(|error| self.fail(&error.to_string()));
            self.open[which] = Some(opened);
        }
        self.open[which].clone().expect("it was just opened")
    }

    fn fail(&self, why: &str) -> ! {
        panic!("{why}\nwhat happened:\n  {}", self.told.join("\n  "))
    }

    fn tell(&mut self, what: impl Into<String>) {
        self.told.push(what.into());
    }

    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Something happens.
    pub fn go_on(&mut self) {
        match self.random.index(22) {
            0..=3 => self.think(),
            4 => self.think_at_once(),
            5..=6 => self.talk(),
            7 => self.plan(),
            8 => self.redact(),
            9 => self.search(),
            10 => self.rebuild(),
            11 => self.checkpoint(),
            12 => self.rotate(),
            13 => self.access(),
            14 => self.clock_jumps(),
            15 => self.back_up_while_writing(),
            16 => self.copy_with_log(),
            17 => self.copy_closed(),
            18 => self.move_away(),
            19 => self.clone_goes_on(),
            20 => self.close_one(),
            _ => self.verify(),
        }
    }

    /// Closes everything, and looks at all there is once more.
    pub fn end(mut self) {
        self.verify();
        self.close();
        self.tell("the end");
        self.verify();
        for copy in std::mem::take(&mut self.copies) {
            self.verify_file(&copy);
        }
    }

    fn draft(&mut self) -> NewThought {
        let number = self.next();
        let mut draft =
            NewThought::new(ThoughtType::ALL[self.random.index(4)], format!("thought {number} of many"))
                .session(format!("session {}", self.random.index(3)))
                .task(format!("task {}", self.random.index(3)))
                .agent("ada");
        if self.random.index(4) == 0 {
            draft = draft
                .action(format!("commit {}", self.random.index(9)))
                .idempotency_key(format!("key {number}"));
        }
        if self.random.index(4) == 0 {
            draft = draft.metadata(json!({"number": number}).as_object().unwrap().clone());
        }
        if self.random.index(9) == 0 { draft.seal() } else { draft }
    }

    fn think(&mut self) {
        let cairn = self.program();
        let count = 1 + self.random.index(6);
        self.tell(format!("{count} thoughts"));
        for _ in 0..count {
            let mut draft = self.draft();
            let session = draft.session_id.clone().unwrap_or_default();
            let before = cairn.tree(&session, false).unwrap();
            if !before.is_empty() && self.random.index(3) > 0 {
                draft.parent_id = Some(before[self.random.index(before.len())].id.to_string());
            }
            if matches!(draft.kind, ThoughtType::Decision | ThoughtType::Reflection) {
                let filter = Filter { kind: Some(ThoughtType::Decision), ..Filter::default() };
                let decisions = cairn.list(&filter).unwrap().records;
                draft.supersedes = self.some_of(decisions.iter().map(|thought| thought.id.to_string()));
                draft.rejects = self.some_of(before.iter().map(|thought| thought.id.to_string()));
            }
            draft.applies_to = self.some_of((0..3).map(|n| format!("src/{n}/**")));
            let source = Source::ALL[self.random.below(3) as usize];
            cairn.record_as(source, draft).unwrap_or_else(|error| self.fail(&error.to_string()));
        }
    }

    /// A few of these, or none.
    fn some_of(&mut self, of: impl Iterator<Item = String>) -> Vec<String> {
        of.filter(|_| self.random.below(6) == 0).take(3).collect()
    }

    /// Four threads, through both programs.
    fn think_at_once(&mut self) {
        self.tell("four threads record");
        let programs = [self.program(), self.program()];
        let drafts: Vec<Vec<NewThought>> = (0..4).map(|_| (0..8).map(|_| self.draft()).collect()).collect();
        std::thread::scope(|scope| {
            for (index, drafts) in drafts.into_iter().enumerate() {
                let cairn = programs[index % 2].clone();
                scope.spawn(move || drafts.into_iter().for_each(|draft| drop(cairn.record(draft).unwrap())));
            }
        });
    }

    fn talk(&mut self) {
        let (cairn, number) = (self.program(), self.next());
        let session = format!("session {}", self.random.index(3));
        self.tell(format!("a turn of {session}"));
        let new = NewSession { session_id: Some(session.clone()), ..NewSession::default() };
        cairn.session_open(new).unwrap();
        cairn.turn_begin(&session, "What is there?", Some(format!("turn {number}"))).unwrap();
        let read = json!({"op": "read", "type": "recipe", "id": format!("r{}", number % 5), "body": {"n": number % 7}});
        cairn.entity_apply(&session, vec![read], None, None).unwrap();
        let step = json!({"step_num": 1, "type": "read", "description": "find", "outcome": "found"});
        cairn.turn_step(&session, step).unwrap();
        if self.random.index(2) == 0 {
            let request =
                BriefRequest { session_id: session.clone(), node: "act".into(), ..BriefRequest::default() };
            let brief = cairn.brief_build(&request, true).unwrap();
            let draft =
                NewThought::new(ThoughtType::Decision, "as the brief says").session(&session).agent("ada");
            let brief_id = brief.brief_id.map(|id| id.to_string());
            cairn.record(NewThought { brief_id, ..draft }).unwrap();
        }
        cairn.turn_end(&session, "an answer", None, None).unwrap();
    }

    fn plan(&mut self) {
        let cairn = self.program();
        let (name, version) = (["import", "export"][self.random.index(2)], self.random.index(3));
        self.tell(format!("a snapshot of {name}"));
        let plan = json!({"title": "Plan", "nodes": [{"id": "a", "label": format!("A {version}")}, {"id": "b", "label": "B"}]});
        fs::write(self.folder.path().join(format!("roadmaps/{name}.json")), plan.to_string()).unwrap();
        let context = match self.random.index(2) {
            0 => cairn.context_create(name, None),
            _ => cairn.context_ensure(name, None),
        };
        let mut draft =
            NewThought::new(ThoughtType::Decision, "begin with a").session("session 0").agent("ada");
        draft.context_id = Some(context.unwrap().context.context_id);
        cairn.record(draft).unwrap();
    }

    fn redact(&mut self) {
        let cairn = self.program();
        let mut ids: Vec<String> = cairn
            .tree(&format!("session {}", self.random.index(3)), false)
            .unwrap()
            .iter()
            .map(|thought| thought.id.to_string())
            .collect();
        ids.extend(cairn.briefs(None, None).unwrap().iter().map(|brief| brief.brief_id.to_string()));
        if ids.is_empty() {
            return;
        }
        let target = ids.swap_remove(self.random.index(ids.len()));
        self.tell(format!("{target} is redacted"));
        match cairn.redact(&Redact { target, actor: "ann".into(), reason: "a name".into() }) {
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn search(&mut self) {
        self.tell("a search");
        let query = SearchQuery { query: "thought many".into(), ..SearchQuery::default() };
        self.program().search(&query).unwrap();
    }

    fn rebuild(&mut self) {
        self.tell("a rebuild");
        self.program().rebuild().unwrap();
    }

    fn checkpoint(&mut self) {
        self.tell("a checkpoint");
        self.program().checkpoint().unwrap_or_else(|error| self.fail(&error.to_string()));
    }

    /// As `cairn key rotate` does.
    fn rotate(&mut self) {
        let cairn = self.program();
        cairn.checkpoint().unwrap();
        let origin = cairn.status().unwrap().origin;
        let keys = KeyFolder::new(self.folder.path().join("keys"));
        let old: SigningKey = fs::read_to_string(keys.path(&origin)).unwrap().trim().parse().unwrap();
        self.tell("the key is replaced");
        let new = keys.make_next(&origin).unwrap();
        let change = |op, key, last_trusted_size| {
            cairn.change_key(KeyChange { op, key, last_trusted_size, reason: None }).unwrap();
        };
        change(KeyOp::Add, new, None);
        let bridge = cairn.checkpoint().unwrap();
        change(KeyOp::Retire, old.verifying_key().clone(), Some(bridge.size));
        keys.replace(&origin).unwrap();
    }

    fn access(&mut self) {
        self.tell("tokens come and go");
        let cairn = self.program();
        let new = NewToken { name: "reader".into(), scope: TokenScope::Read, agent_id: None };
        let added = cairn.token_add(new).unwrap();
        cairn.token_used(&added.info.id, cairn.now()).unwrap();
        if self.random.index(2) == 0 {
            cairn.token_revoke(&added.info.id).unwrap();
        }
    }

    fn clock_jumps(&mut self) {
        let reach = [60, 86_400, 31_536_000, 60 * 31_536_000][self.random.index(4)];
        let by = self.random.index(2 * reach) as i64 - reach as i64;
        self.tell(format!("the clock jumps by {by} seconds"));
        let now = self.clock.load(Ordering::Relaxed) + by;
        self.clock.store(now.clamp(CLOCKS.start, CLOCKS.end), Ordering::Relaxed);
    }

    fn back_up_while_writing(&mut self) {
        self.tell("a backup while others write");
        let (cairn, writer) = (self.program(), self.program());
        let drafts: Vec<NewThought> = (0..4).map(|_| self.draft()).collect();
        let (copy, done) = (self.copy_to(), AtomicBool::new(false));
        let written = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Keys of their own, so that each is a new thought.
                while !done.load(Ordering::Relaxed) {
                    for draft in &drafts {
                        writer.record(NewThought { idempotency_key: None, ..draft.clone() }).unwrap();
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            while written.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            let backed_up = cairn.backup(&copy, &mut |_| {});
            done.store(true, Ordering::Relaxed);
            backed_up.unwrap();
        });
        self.look_at_copy(copy);
    }

    fn copy_to(&mut self) -> PathBuf {
        let number = self.next();
        let folder = self.folder.path().join(format!("copy {number}"));
        fs::create_dir(&folder).unwrap();
        folder.join("cairn.db")
    }

    /// The file with the log beside it, while programs have it open and do nothing.
    fn copy_with_log(&mut self) {
        if !self.path.exists() {
            return;
        }
        self.tell("the files are copied while they are open");
        // Programs that are idle may still catch up with what they derive, or state the log: they end first, and others open it.
        self.close();
        let reader = Options::new().create(false).automatic_checkpoints(false).open(&self.path).unwrap();
        let copy = self.copy_to();
        for end in ["", "-wal"] {
            let from = PathBuf::from(format!("{}{end}", self.path.display()));
            if from.exists() {
                fs::copy(from, format!("{}{end}", copy.display())).unwrap();
            }
        }
        drop(reader);
        self.look_at_copy(copy);
    }

    fn copy_closed(&mut self) {
        if !self.path.exists() {
            return;
        }
        self.tell("the file alone is copied after everybody closed it");
        self.close();
        let copy = self.copy_to();
        fs::copy(&self.path, &copy).unwrap();
        self.look_at_copy(copy);
    }

    fn move_away(&mut self) {
        if !self.path.exists() {
            return;
        }
        self.tell("the database is moved");
        self.close();
        let to = self.copy_to();
        fs::rename(&self.path, &to).unwrap();
        self.path = to;
        self.verify();
    }

    /// A clone on another machine, with the same key, where somebody goes on.
    fn clone_goes_on(&mut self) {
        if !self.path.exists() {
            return;
        }
        self.tell("a clone goes on elsewhere");
        self.close();
        let clone = self.copy_to();
        fs::copy(&self.path, &clone).unwrap();
        let elsewhere = clone.with_file_name("heads");
        for _ in 0..2 {
            let cairn = self.options().heads(&elsewhere).open(&clone).unwrap();
            for _ in 0..3 {
                let draft = self.draft();
                cairn.record(NewThought { idempotency_key: None, ..draft }).unwrap();
            }
            cairn.checkpoint().unwrap();
            self.silent(&cairn, "the clone");
            cairn.close();
        }
        self.verify();
    }

    fn close_one(&mut self) {
        self.tell("a program ends");
        if let Some(cairn) = self.open[self.random.index(2)].take() {
            cairn.close();
        }
    }

    fn close(&mut self) {
        for open in &mut self.open {
            open.take().into_iter().for_each(Cairn::close);
        }
    }

    fn look_at_copy(&mut self, copy: PathBuf) {
        self.verify_file(&copy);
        self.verify();
        self.copies.push(copy);
        // Old copies are looked at later as well, when the original has gone on.
        if self.copies.len() > 6 {
            let old = self.copies.swap_remove(self.random.index(6));
            self.verify_file(&old);
            fs::remove_dir_all(old.parent().expect("a folder of its own")).unwrap();
        }
    }

    fn verify(&mut self) {
        let cairn = self.program();
        if !matches!(cairn.standing(), Standing::Unknown | Standing::Extends(_)) {
            self.fail(&format!("the database is suspect: {:?}", cairn.standing()));
        }
        self.silent(&cairn, "the database");
    }

    fn verify_file(&self, file: &Path) {
        let cairn = self.options().create(false).automatic_checkpoints(false).open(file);
        let cairn = cairn.unwrap_or_else(|error| self.fail(&format!("a copy cannot be opened: {error}")));
        self.silent(&cairn, "a copy");
    }

    fn silent(&self, cairn: &Cairn, what: &str) {
        let report = cairn.verify(&Scope::All).unwrap_or_else(|error| self.fail(&error.to_string()));
        if !report.valid() {
            self.fail(&format!("{what}: {:#?}", report.findings));
        }
    }
}

/// UTC, without a calendar's help: days since 1970 as <https://howardhinnant.github.io/date_algorithms.html> has it.
fn time(seconds: i64) -> Timestamp {
    let (days, second) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Timestamp::parse(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z")).unwrap()
}
