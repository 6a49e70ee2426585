//! Making rows of entries that were recorded elsewhere: everything keeps its place, its hashes and its bytes.
//!
//! Whoever calls this has checked the entries; here they are only written down.

use std::collections::HashMap;

use cairn_core::entry::{Entry as Logged, EntryKind, Record, RedactionEntry, ThoughtEntry};
use cairn_core::log::{Edge, leaf_hash};

use super::entry::Entry;
use crate::store::{Append, Keys, MemoryHead, RoadmapHead, SessionHead, StoreError, Target, TaskHead};

type Result<T> = std::result::Result<T, StoreError>;

/// How many labels and thoughts are remembered at most.
const MAX_KNOWN: usize = 1 << 16;

/// What was learned of the log while entries were written: asking a server for each parent and each session would take
/// longer than writing them. True for as long as nobody else writes, of which whoever keeps it must make sure.
#[derive(Default)]
pub struct Known {
    tasks: HashMap<String, TaskHead>,
    sessions: HashMap<String, SessionHead>,
    /// Where the newest thoughts stand.
    thoughts: HashMap<String, u64>,
}

/// Writes entries into one transaction, in the order of the log.
pub struct Rows<'a> {
    tx: &'a mut dyn Append,
    edge: Edge,
    known: &'a mut Known,
    /// Heads that have moved in this transaction, by their numbers.
    tasks: HashMap<i64, TaskHead>,
    sessions: HashMap<i64, SessionHead>,
    memories: HashMap<i64, MemoryHead>,
}

impl<'a> Rows<'a> {
    /// Begins where the log of the transaction ends.
    pub fn begin(tx: &'a mut dyn Append, known: &'a mut Known) -> Result<Rows<'a>> {
        if known.tasks.len().max(known.sessions.len()).max(known.thoughts.len()) > MAX_KNOWN {
            *known = Known::default();
        }
        let edge = tx.edge()?;
        let (tasks, sessions, memories) = (HashMap::new(), HashMap::new(), HashMap::new());
        Ok(Rows { tx, edge, known, tasks, sessions, memories })
    }

    /// Where the next entry will stand.
    pub fn next(&self) -> u64 {
        self.edge.size()
    }

    /// Writes an entry and what it records.
    pub fn insert(&mut self, entry: &Entry) -> Result<()> {
        let Some(record) = &entry.record else {
            return Err(StoreError::Other("there is no such kind of entry".into()));
        };
        for (digest, data) in &entry.bodies {
            self.tx.insert_body(digest, record.entry.seq(), data)?;
        }
        let keys = self.keys(record)?;
        let hash = leaf_hash(entry.bytes.as_bytes());
        self.tx.insert(record, &keys, &hash)?;
        self.edge.push(hash, &mut |_| {});
        if let Some(key) = &entry.seal_key {
            self.tx.insert_seal(record.entry.seq(), key)?;
        }
        if let Logged::Redaction(redaction) = &record.entry {
            for digest in &redaction.bodies {
                self.tx.take_body(digest, redaction.seq)?;
            }
        }
        self.move_heads(record, &keys)
    }

    /// The rows that a record names: those that are new are added.
    fn keys(&mut self, record: &Record<'_>) -> Result<Keys> {
        let mut keys = Keys::default();
        match &record.entry {
            Logged::Thought(thought) => {
                keys.session_no = self.session(&thought.session_id)?.no;
                keys.task_no = self.task(thought)?.no;
                keys.parent_seq = match &thought.parent_id {
                    None => None,
                    Some(id) => Some(self.place(id)? as i64),
                };
            }
            Logged::Event(event) => keys.session_no = self.session(&event.session_id)?.no,
            Logged::Brief(brief) => keys.session_no = self.session(&brief.session_id)?.no,
            Logged::Snapshot(snapshot) => {
                let data = record.parts.text.as_deref();
                keys.snapshot_no = match self.tx.snapshot(&snapshot.content_hash, data)? {
                    // A content that was redacted since is erased when its redaction is written.
                    Some((no, same)) if same || data.is_none() => no,
                    Some(_) => {
                        let hash = snapshot.content_hash;
                        return Err(StoreError::Damaged(format!(
                            "the snapshot stored under {hash} is another"
                        )));
                    }
                    None => self.tx.add_snapshot(&snapshot.content_hash, data)?,
                };
                keys.roadmap_no = match self.tx.roadmap(&snapshot.roadmap_id)? {
                    Some(roadmap) => roadmap.no,
                    None => self.tx.add_roadmap(&snapshot.roadmap_id)?,
                };
            }
            Logged::Genesis(_)
            | Logged::Key(_)
            | Logged::Redaction(_)
            | Logged::Review(_)
            | Logged::Continuation(_) => {}
        }
        Ok(keys)
    }

    /// Moves the heads of the chains that a record continues.
    fn move_heads(&mut self, record: &Record<'_>, keys: &Keys) -> Result<()> {
        match &record.entry {
            Logged::Thought(thought) => {
                let task = TaskHead { no: keys.task_no, length: thought.position + 1, head: thought.hash };
                self.tasks.insert(task.no, task);
                self.known.tasks.insert(thought.task_id.to_string(), task);
                let session = SessionHead { no: keys.session_no, length: thought.step_index + 1 };
                self.sessions.insert(session.no, session);
                self.known.sessions.insert(thought.session_id.to_string(), session);
                self.known.thoughts.insert(thought.id.to_string(), thought.seq);
                Ok(())
            }
            Logged::Event(event) => {
                let (session_no, length) = (keys.session_no, event.position + 1);
                let head = MemoryHead { session_no, length, newest: event.seq, redaction: 0 };
                self.memories.insert(session_no, head);
                Ok(())
            }
            Logged::Snapshot(snapshot) => {
                self.tx.set_roadmap(&RoadmapHead { no: keys.roadmap_no, length: snapshot.position + 1 })
            }
            _ => Ok(()),
        }
    }

    /// Erases what was written before the redaction that was just inserted; returns what it was.
    pub fn erase(&mut self, redaction: &RedactionEntry<'_>) -> Result<Option<Target>> {
        if redaction.target_kind == EntryKind::Event {
            return Err(StoreError::Other(format!(
                "log entry {} redacts the event at {}, which this database still holds in full: import the bundle into a \
                 new database, and delete this one",
                redaction.seq, redaction.target_seq
            )));
        }
        let target = self.tx.target(redaction.target_kind, &redaction.target_id)?;
        let Some(target) = target.filter(|target| target.seq == redaction.target_seq) else {
            let message = format!("what log entry {} redacts is missing", redaction.seq);
            return Err(StoreError::Damaged(message));
        };
        // Whatever came out of the bundle came without what is redacted there. Without its key, a sealed text would
        // be taken for one that has to go.
        let left = target.key.is_some() || target.metadata.is_some() || target.text.is_some();
        let sealed = redaction.fields.iter().any(|field| field == "seal_key");
        if !left || (sealed && target.key.is_none()) {
            return Ok(None);
        }
        self.tx.blank(&target)?;
        Ok(Some(target))
    }

    /// Writes the heads that have moved.
    pub fn finish(self) -> Result<()> {
        for head in self.tasks.values() {
            self.tx.set_task(head)?;
        }
        for head in self.sessions.values() {
            self.tx.set_session(head)?;
        }
        for head in self.memories.values() {
            self.tx.set_memory(head)?;
        }
        self.tx.set_log(&self.edge)
    }

    fn task(&mut self, thought: &ThoughtEntry<'_>) -> Result<TaskHead> {
        if let Some(task) = self.known.tasks.get(&*thought.task_id) {
            return Ok(*task);
        }
        match self.tx.task(&thought.task_id)? {
            Some(task) => Ok(task),
            None => {
                Ok(TaskHead { no: self.tx.add_task(&thought.task_id)?, length: 0, head: thought.prev_hash })
            }
        }
    }

    /// Where the thought of that id stands.
    fn place(&mut self, id: &str) -> Result<u64> {
        if let Some(seq) = self.known.thoughts.get(id) {
            return Ok(*seq);
        }
        let gone = || StoreError::Damaged(format!("thought `{id}` is missing"));
        Ok(self.tx.parent(id)?.ok_or_else(gone)?.seq)
    }

    fn session(&mut self, name: &str) -> Result<SessionHead> {
        if let Some(session) = self.known.sessions.get(name) {
            return Ok(*session);
        }
        let session = match self.tx.session(name)? {
            Some(session) => session,
            None => SessionHead { no: self.tx.add_session(name)?, length: 0 },
        };
        self.known.sessions.insert(name.to_string(), session);
        Ok(session)
    }
}
