//! What later entries of a bundle refer to, remembered while it is read: about 100 bytes a thought.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cairn_core::Sha;
use cairn_core::entry::{
    Entry, EntryKind, EventEntry, RedactionEntry, ReviewEntry, SnapshotEntry, ThoughtEntry,
};
use cairn_core::session::op::Body;
use cairn_core::thought::ThoughtType;

use super::Selection;
use super::redactions::Redactions;
use crate::check::{Before, Follows, Known, Other, Result};
use crate::verify::{Finding, Reason};

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
    /// Contents that did not come with the first event that names them, with the places of all events that do.
    pub gone: BTreeMap<Sha, Vec<u64>>,
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
            gone: BTreeMap::new(),
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

    /// The places of the events before `seq` other than `target` that name one of these contents, which are gone; none
    /// if not all events are in the bundle.
    pub fn sharing(&self, digests: &[Sha], seq: u64, target: u64) -> Option<Vec<u64>> {
        let naming = digests.iter().filter_map(|digest| self.gone.get(digest)).flatten().copied();
        let sharing: BTreeSet<u64> = naming.filter(|place| *place < seq && *place != target).collect();
        self.full.then(|| sharing.into_iter().collect())
    }

    /// Whether everything of this session is in the bundle.
    pub fn has_session(&self, name: &str) -> bool {
        self.full || matches!(&self.selection, Selection::Session(of) if of == name)
    }

    /// How a thought follows in its task, the position expected, and the link expected of its predecessor.
    pub fn task(&self, leaf: &ThoughtEntry<'_>) -> (Follows, u64, Sha) {
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
    pub fn event(&mut self, session_id: &str, position: u64) -> (Follows, u64) {
        let session = self.session(session_id);
        put(&mut self.sessions, session_id, Session { events: position + 1, ..session });
        (step(session.events, position, self.has_session(session_id)), session.events)
    }

    /// How a snapshot follows in its roadmap, and the position expected.
    pub fn roadmap(&mut self, roadmap_id: &str, position: u64) -> (Follows, u64) {
        let expected = self.roadmaps.get(roadmap_id).copied().unwrap_or(0);
        put(&mut self.roadmaps, roadmap_id, position + 1);
        (step(expected, position, self.full), expected)
    }

    /// How a snapshot follows by its number, and the number expected.
    pub fn add_context(&mut self, id: u64, seq: u64) -> (Follows, u64) {
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
            EntryKind::Thought => self.thought(id).map(|thought| thought.seq),
            _ => None,
        }
    }

    /// The number of the session of a brief.
    pub fn brief(&self, id: &str) -> Option<u32> {
        self.briefs.get(id).map(|(session, _)| *session)
    }

    /// The first thing wrong with the contents that came with an event, given those that it names.
    fn wrong_bodies(&mut self, seq: u64, named: &[Body], came: &BTreeMap<Sha, String>) -> Option<Finding> {
        let finding = |reason, message: String| Some(Finding::new(reason, "body", message).at(seq));
        let mut first = 0;
        for body in named {
            let digest = body.sha256;
            if !self.bodies.insert(digest) {
                if let Some(naming) = self.gone.get_mut(&digest).filter(|naming| naming.last() != Some(&seq))
                {
                    naming.push(seq);
                }
                continue;
            }
            match came.get(&digest) {
                // It must have been redacted.
                None => drop(self.gone.insert(digest, vec![seq])),
                Some(data) if Sha::of(data.as_bytes()) != digest || data.len() as u64 != body.bytes => {
                    return finding(
                        Reason::ContentHashMismatch,
                        format!("the content under {digest} is another"),
                    );
                }
                Some(_) => first += 1,
            }
        }
        if came.len() > first {
            return finding(
                Reason::LeafMismatch,
                "there are contents that the event is not the first to name".into(),
            );
        }
        None
    }

    /// Remembers the record of an entry, right or wrong, for those after it.
    pub fn remember(&mut self, entry: &Entry<'_>) {
        match entry {
            Entry::Thought(thought) => self.add_thought(thought),
            Entry::Brief(brief) => self.add_brief(&brief.brief_id, &brief.session_id, brief.seq),
            _ => {}
        }
    }
}

fn step(expected: u64, found: u64, whole: bool) -> Follows {
    match found {
        _ if found == expected => Follows::Next,
        _ if found < expected => Follows::Back,
        _ if whole => Follows::Missing,
        _ => Follows::Outside,
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

/// The entries of a bundle before one of them.
pub struct Earlier<'b> {
    /// The entries before it.
    pub links: &'b mut Links,
    /// Blanked records and their redactions.
    pub redactions: &'b mut Redactions,
    /// What came with it.
    pub bodies: &'b BTreeMap<Sha, String>,
    /// The key of its content.
    pub seal_key: Option<&'b [u8]>,
}

impl Earlier<'_> {
    fn outside<T>(&mut self) -> Known<T> {
        self.links.outside += 1;
        Known::Outside
    }
}

impl Before for Earlier<'_> {
    fn in_task(&mut self, entry: &ThoughtEntry<'_>) -> Result<(Follows, u64)> {
        let (step, expected, _) = self.links.task(entry);
        Ok((step, expected))
    }

    fn in_session(&mut self, entry: &ThoughtEntry<'_>) -> Result<(Follows, u64)> {
        let expected = self.links.session(&entry.session_id).steps;
        let whole = self.links.has_session(&entry.session_id);
        Ok((step(expected, entry.step_index, whole), expected))
    }

    fn task_hash(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Sha>> {
        Ok(match self.links.task(entry) {
            (Follows::Outside, ..) => self.outside(),
            (_, _, hash) => Known::Is(hash),
        })
    }

    fn parent(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Other>> {
        self.named(entry, "parent_id", entry.parent_id.as_deref().unwrap_or_default())
    }

    fn named(&mut self, entry: &ThoughtEntry<'_>, field: &str, id: &str) -> Result<Known<Other>> {
        let session = self.links.session(&entry.session_id).no;
        Ok(match self.links.thought(id) {
            Some(Parent { chain_hash, kind, session: of, .. }) => {
                Known::Is(Other { chain_hash, kind, same_session: of == session })
            }
            None if self.links.has_all() => Known::Missing,
            // A superseded decision may belong to another session; a parent may not.
            None if self.links.has_session(&entry.session_id) && field != "supersedes" => Known::Missing,
            None => self.outside(),
        })
    }

    fn context(&mut self, _: &ThoughtEntry<'_>, id: u64) -> Result<Known<()>> {
        Ok(if self.links.has_context(id) { Known::Is(()) } else { Known::Missing })
    }

    fn brief(&mut self, entry: &ThoughtEntry<'_>, id: &str) -> Result<Known<()>> {
        let session = self.links.session(&entry.session_id).no;
        Ok(match self.links.brief(id) {
            Some(of) if of == session => Known::Is(()),
            None if !self.links.has_session(&entry.session_id) => self.outside(),
            _ => Known::Missing,
        })
    }

    fn seal_key(&mut self, _: &ThoughtEntry<'_>) -> Result<Known<Vec<u8>>> {
        // A bundle can come without keys.
        Ok(self.seal_key.map_or(Known::Outside, |key| Known::Is(key.to_vec())))
    }

    fn in_roadmap(&mut self, entry: &SnapshotEntry<'_>) -> Result<[(Follows, u64); 2]> {
        let number = self.links.add_context(entry.context_id, entry.seq);
        Ok([number, self.links.roadmap(&entry.roadmap_id, entry.position)])
    }

    fn in_memory(&mut self, entry: &EventEntry<'_>) -> Result<(Follows, u64)> {
        Ok(self.links.event(&entry.session_id, entry.position))
    }

    fn bodies(&mut self, seq: u64, named: &[Body]) -> Result<Option<Finding>> {
        Ok(self.links.wrong_bodies(seq, named, self.bodies))
    }

    fn review_target(&mut self, entry: &ReviewEntry<'_>) -> Result<Known<()>> {
        let targets = [EntryKind::Thought, EntryKind::Brief];
        let is_there = targets.contains(&entry.target_kind)
            && self.links.place(entry.target_kind, &entry.target_id) == Some(entry.target_seq);
        Ok(if is_there { Known::Is(()) } else { Known::Missing })
    }

    fn redaction(&mut self, entry: &RedactionEntry<'_>) -> Result<Option<Finding>> {
        Ok(self.redactions.add(self.links, entry))
    }
}
