//! Making rows of entries that were recorded elsewhere: everything keeps its place, its hashes and its bytes.
//!
//! Whoever calls this has checked the entries; here they are only written down.

use std::collections::HashMap;

use cairn_core::entry::{
    BriefEntry, EntryKind, EventEntry, RedactionEntry, SnapshotEntry, ThoughtEntry, to_column,
};
use cairn_core::log::{Edge, leaf_hash};

use super::entry::{Entry, Leaf, SnapshotParts, ThoughtParts};
use crate::store::{
    Append, BriefRow, ContextRow, EventRow, MemoryHead, ReviewRow, RoadmapHead, SessionHead, StoreError,
    Target, TaskHead, ThoughtRow,
};

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
        let kind = match &entry.leaf {
            Leaf::Genesis(_) => EntryKind::Genesis,
            Leaf::Thought(leaf, parts) => self.thought(leaf, parts).map(|()| EntryKind::Thought)?,
            Leaf::Snapshot(leaf, parts) => self.snapshot(leaf, parts).map(|()| EntryKind::Snapshot)?,
            Leaf::Event(leaf, body, bodies) => {
                for (digest, data) in bodies {
                    self.tx.insert_body(digest, leaf.seq, data)?;
                }
                self.event(leaf, body.as_deref().unwrap_or_default()).map(|()| EntryKind::Event)?
            }
            Leaf::Brief(leaf, data) => self.brief(leaf, data.as_deref()).map(|()| EntryKind::Brief)?,
            Leaf::Key(_) => EntryKind::Key,
            Leaf::Redaction(leaf) => {
                self.tx.insert_redaction(leaf.seq, leaf.target_seq)?;
                EntryKind::Redaction
            }
            Leaf::Review(leaf, text, salt) => {
                self.tx.insert_review(&ReviewRow {
                    seq: leaf.seq,
                    id: &leaf.review_id,
                    target_kind: leaf.target_kind.as_str(),
                    target_id: &leaf.target_id,
                    target_seq: leaf.target_seq,
                    verdict: leaf.verdict.as_str(),
                    actor: &leaf.actor,
                    created_at: &leaf.created_at,
                    text: text.as_deref(),
                    salt: salt.as_ref().map(|salt| &salt[..]),
                })?;
                EntryKind::Review
            }
            Leaf::Continuation(_) => EntryKind::Continuation,
            Leaf::Unknown => return Err(StoreError::Other("there is no such kind of entry".into())),
        };
        let hash = leaf_hash(entry.bytes.as_bytes());
        self.tx.insert_entry(self.edge.size(), kind, entry.bytes.as_bytes(), &hash)?;
        self.edge.push(hash, &mut |_| {});
        Ok(())
    }

    /// Erases what was written before the redaction that was just inserted; returns what it was.
    pub fn erase(&mut self, redaction: &RedactionEntry<'_>) -> Result<Option<Target>> {
        let target = self.tx.target(&redaction.target_id)?;
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

    fn thought(&mut self, leaf: &ThoughtEntry<'_>, parts: &ThoughtParts) -> Result<()> {
        let session = self.session(&leaf.session_id)?;
        let task = match self.known.tasks.get(&*leaf.task_id) {
            Some(task) => *task,
            None => match self.tx.task(&leaf.task_id)? {
                Some(task) => task,
                None => TaskHead { no: self.tx.add_task(&leaf.task_id)?, length: 0, head: leaf.prev_hash },
            },
        };
        let parent_seq = match &leaf.parent_id {
            None => None,
            Some(id) => match self.known.thoughts.get(&**id) {
                Some(seq) => Some(*seq),
                None => {
                    let gone = || StoreError::Damaged(format!("thought `{id}` is missing"));
                    Some(self.tx.parent(id)?.ok_or_else(gone)?.seq)
                }
            },
        };
        let row = ThoughtRow {
            seq: leaf.seq,
            id: &leaf.id,
            kind: leaf.kind.as_str(),
            task_no: task.no,
            position: leaf.position,
            session_no: session.no,
            step_index: leaf.step_index,
            parent_seq,
            agent_id: &leaf.agent_id,
            action_id: leaf.action_id.as_deref(),
            context_id: leaf.context_id,
            brief_id: leaf.brief_id.as_deref(),
            supersedes: to_column(&leaf.supersedes),
            rejects: to_column(&leaf.rejects),
            applies_to: to_column(&leaf.applies_to),
            source: leaf.source,
            timestamp: &leaf.timestamp,
            content: parts.content.as_deref(),
            metadata: parts.metadata.as_deref(),
            salt: parts.salt.as_ref(),
            idempotency_key: leaf.idempotency_key.as_deref(),
            prev_hash: leaf.prev_hash,
            hash: leaf.hash,
            content_hash: leaf.content_hash,
            chain_hash: leaf.chain_hash,
        };
        self.tx.insert_thought(&row)?;
        if let Some(key) = &parts.seal_key {
            self.tx.insert_seal(leaf.seq, key)?;
        }
        let task = TaskHead { length: leaf.position + 1, head: leaf.hash, ..task };
        self.tasks.insert(task.no, task);
        self.known.tasks.insert(leaf.task_id.to_string(), task);
        let session = SessionHead { length: leaf.step_index + 1, ..session };
        self.sessions.insert(session.no, session);
        self.known.sessions.insert(leaf.session_id.to_string(), session);
        self.known.thoughts.insert(leaf.id.to_string(), leaf.seq);
        Ok(())
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

    fn snapshot(&mut self, leaf: &SnapshotEntry<'_>, parts: &SnapshotParts) -> Result<()> {
        let data = parts.data.as_deref().unwrap_or_default();
        let snapshot_no = match self.tx.snapshot(&leaf.content_hash, data)? {
            Some((no, true)) => no,
            Some((_, false)) => {
                let hash = leaf.content_hash;
                return Err(StoreError::Damaged(format!("the snapshot stored under {hash} is another")));
            }
            None => self.tx.add_snapshot(&leaf.content_hash, data)?,
        };
        let roadmap = match self.tx.roadmap(&leaf.roadmap_id)? {
            Some(roadmap) => roadmap,
            None => RoadmapHead { no: self.tx.add_roadmap(&leaf.roadmap_id)?, length: 0 },
        };
        self.tx.insert_context(&ContextRow {
            id: leaf.context_id,
            seq: leaf.seq,
            roadmap_no: roadmap.no,
            position: leaf.position,
            snapshot_no,
            node_count: leaf.node_count,
            created_at: &leaf.created_at,
            metadata: parts.metadata.as_deref(),
            salt: parts.salt.as_ref(),
        })?;
        self.tx.set_roadmap(&RoadmapHead { length: leaf.position + 1, ..roadmap })
    }

    fn event(&mut self, leaf: &EventEntry<'_>, body: &str) -> Result<()> {
        let session_no = self.session(&leaf.session_id)?.no;
        self.tx.insert_event(&EventRow {
            seq: leaf.seq,
            session_no,
            position: leaf.position,
            turn: leaf.turn,
            kind: &leaf.event,
            v: leaf.event_v,
            created_at: &leaf.created_at,
            body,
            idempotency_key: leaf.idempotency_key.as_deref(),
        })?;
        let head = MemoryHead { session_no, length: leaf.position + 1, newest: leaf.seq };
        self.memories.insert(session_no, head);
        Ok(())
    }

    fn brief(&mut self, leaf: &BriefEntry<'_>, data: Option<&str>) -> Result<()> {
        let session_no = self.session(&leaf.session_id)?.no;
        self.tx.insert_brief(&BriefRow {
            seq: leaf.seq,
            id: &leaf.brief_id,
            session_no,
            node: &leaf.node,
            turn: leaf.turn,
            created_at: &leaf.created_at,
            hash: leaf.hash,
            data,
        })
    }
}
