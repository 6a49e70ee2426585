//! What later entries of a bundle refer to, remembered while it is read: about 100 bytes a thought.

use std::collections::{BTreeMap, HashMap, HashSet};

use cairn_core::Sha;
use cairn_core::entry::{EntryKind, ThoughtEntry};
use cairn_core::thought::ThoughtType;

use super::Selection;

/// How a position follows from the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is the next.
    Next,
    /// Those between are not part of the bundle.
    Outside,
    /// Those between should be part of the bundle.
    Missing,
    /// It was there before.
    Back,
}

/// A thought that others can follow from.
#[derive(Clone, Copy)]
pub struct Parent {
    /// Its position in the log.
    pub seq: u64,
    /// Its link in the session tree.
    pub chain_hash: Sha,
    /// The number of its session.
    pub session: u32,
    /// Its type.
    pub kind: ThoughtType,
}

/// How far a session has come.
#[derive(Clone, Copy, Default)]
pub struct Session {
    /// Its number in this bundle.
    pub no: u32,
    /// The step that is expected next.
    pub steps: u64,
    /// The position of the event that is expected next.
    pub events: u64,
}

/// What has been seen.
pub struct Links {
    full: bool,
    selection: Selection,
    thoughts: HashMap<u128, Parent>,
    tasks: HashMap<String, (u64, Sha)>,
    sessions: HashMap<String, Session>,
    roadmaps: HashMap<String, u64>,
    /// The largest number of a snapshot, and in a partial bundle all of them.
    newest_context: u64,
    contexts: HashSet<u64>,
    /// Snapshots of a partial bundle that no thought has named yet, by number, with their places in the log.
    unnamed: BTreeMap<u64, u64>,
    /// The number of the session of each, and where it stands.
    briefs: HashMap<String, (u32, u64)>,
    bodies: HashSet<Sha>,
    /// Links that could not be followed.
    pub outside: u64,
}

impl Links {
    /// Nothing has been seen yet.
    pub fn new(full: bool, selection: Selection) -> Links {
        Links {
            full,
            selection,
            thoughts: HashMap::new(),
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            roadmaps: HashMap::new(),
            newest_context: 0,
            contexts: HashSet::new(),
            unnamed: BTreeMap::new(),
            briefs: HashMap::new(),
            bodies: HashSet::new(),
            outside: 0,
        }
    }

    /// The field of a record that says that it is not part of the selection, and what it should say.
    pub fn outside_selection(&self, session_id: &str, task_id: Option<&str>) -> Option<(&'static str, &str)> {
        match &self.selection {
            Selection::Session(name) if name != session_id => Some(("session_id", name)),
            Selection::Task(name) if task_id != Some(name) => Some(("task_id", name)),
            _ => None,
        }
    }

    /// Whether everything of the log is in the bundle.
    pub fn has_all(&self) -> bool {
        self.full
    }

    /// Whether everything of this session is in the bundle.
    pub fn has_session(&self, name: &str) -> bool {
        self.full || matches!(&self.selection, Selection::Session(of) if of == name)
    }

    /// How a thought follows in its task, the position expected, and the link expected of its predecessor.
    pub fn task(&self, leaf: &ThoughtEntry<'_>) -> (Step, u64, Sha) {
        let whole = self.full || matches!(&self.selection, Selection::Task(of) if leaf.task_id == *of);
        let (expected, head) = self.tasks.get(&*leaf.task_id).copied().unwrap_or((0, Sha::ZERO));
        (step(expected, leaf.position, whole), expected, head)
    }

    /// How far a session has come.
    pub fn session(&mut self, name: &str) -> Session {
        match self.sessions.get(name) {
            Some(session) => *session,
            None => {
                let session = Session { no: self.sessions.len() as u32, ..Session::default() };
                self.sessions.insert(name.to_string(), session);
                session
            }
        }
    }

    /// A thought by its id.
    pub fn thought(&self, id: &str) -> Option<Parent> {
        self.thoughts.get(&key(id)).copied()
    }

    /// Remembers a thought, right or wrong.
    pub fn add_thought(&mut self, leaf: &ThoughtEntry<'_>) {
        if let Some(id) = leaf.context_id {
            self.unnamed.remove(&id);
        }
        let session = self.session(&leaf.session_id);
        let (seq, chain_hash, kind) = (leaf.seq, leaf.chain_hash, leaf.kind);
        let parent = Parent { seq, chain_hash, session: session.no, kind };
        self.thoughts.insert(key(&leaf.id), parent);
        put(&mut self.tasks, &leaf.task_id, (leaf.position + 1, leaf.hash));
        put(&mut self.sessions, &leaf.session_id, Session { steps: leaf.step_index + 1, ..session });
    }

    /// How an event follows in its session, and the position expected.
    pub fn event(&mut self, session_id: &str, position: u64) -> (Step, u64) {
        let session = self.session(session_id);
        put(&mut self.sessions, session_id, Session { events: position + 1, ..session });
        (step(session.events, position, self.has_session(session_id)), session.events)
    }

    /// How a snapshot follows in its roadmap, and the position expected.
    pub fn roadmap(&mut self, roadmap_id: &str, position: u64) -> (Step, u64) {
        let expected = self.roadmaps.get(roadmap_id).copied().unwrap_or(0);
        put(&mut self.roadmaps, roadmap_id, position + 1);
        (step(expected, position, self.full), expected)
    }

    /// How a snapshot follows by its number, and the number expected.
    pub fn add_context(&mut self, id: u64, seq: u64) -> (Step, u64) {
        let expected = self.newest_context + 1;
        let step = step(expected, id, self.full);
        self.newest_context = self.newest_context.max(id);
        if !self.full {
            self.contexts.insert(id);
            self.unnamed.insert(id, seq);
        }
        (step, expected)
    }

    /// Number and place of the snapshots that a partial bundle has for no thought.
    pub fn unnamed(&self) -> impl Iterator<Item = (u64, u64)> {
        self.unnamed.iter().map(|(id, seq)| (*id, *seq))
    }

    /// Whether a snapshot of this number has been seen.
    pub fn has_context(&self, id: u64) -> bool {
        if self.full { (1..=self.newest_context).contains(&id) } else { self.contexts.contains(&id) }
    }

    /// Remembers a brief.
    pub fn add_brief(&mut self, id: &str, session_id: &str, seq: u64) {
        let session = self.session(session_id).no;
        self.briefs.insert(id.to_string(), (session, seq));
    }

    /// Where the thought or the brief of that id stands.
    pub fn place(&self, kind: EntryKind, id: &str) -> Option<u64> {
        match kind {
            EntryKind::Brief => self.briefs.get(id).map(|(_, seq)| *seq),
            _ => self.thought(id).map(|thought| thought.seq),
        }
    }

    /// The number of the session of a brief.
    pub fn brief(&self, id: &str) -> Option<u32> {
        self.briefs.get(id).map(|(session, _)| *session)
    }

    /// Whether this is the first event that names this content.
    pub fn is_new_body(&mut self, digest: Sha) -> bool {
        self.bodies.insert(digest)
    }
}

fn step(expected: u64, found: u64, whole: bool) -> Step {
    match found {
        _ if found == expected => Step::Next,
        _ if found < expected => Step::Back,
        _ if whole => Step::Missing,
        _ => Step::Outside,
    }
}

/// Half of a hash is enough to tell ids apart.
fn key(id: &str) -> u128 {
    let hash = Sha::of(id.as_bytes()).0;
    u128::from_be_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
}

/// Overwrites without allocating the key again.
fn put<T>(map: &mut HashMap<String, T>, name: &str, value: T) {
    match map.get_mut(name) {
        Some(slot) => *slot = value,
        None => drop(map.insert(name.to_string(), value)),
    }
}
