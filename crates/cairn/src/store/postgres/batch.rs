//! Rows of a transaction that wait to be written together: one statement, however many rows of however many tables.

use std::collections::HashSet;

use cairn_core::Sha;
use cairn_core::log::Edge;

use super::statement::{Part, Statement};
use super::transaction::Head;
use crate::store::{EventRow, MemoryHead, SessionHead, TaskHead, ThoughtRow};

const THOUGHTS: Part = Part {
    sql: "INSERT INTO thought (seq, id, type, task_no, position, session_no, step_index, parent_seq, agent_id, action_id,
        context_id, brief_id, supersedes, rejects, applies_to, source, timestamp, content, metadata, salt, idempotency_key,
        prev_hash, hash, content_hash, chain_hash)
      SELECT * FROM {rows} AS new WHERE {if}",
    types: &[
        "bigint", "text", "text", "bigint", "bigint", "bigint", "bigint", "bigint", "text", "text", "bigint", "text",
        "text", "text", "text", "text", "text", "text", "text", "bytea", "text", "bytea", "bytea", "bytea", "bytea",
    ],
};
const ENTRIES: Part = Part {
    sql: "INSERT INTO entry (seq, kind, leaf, hash) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "bytea", "bytea"],
};
const EVENTS: Part = Part {
    sql: "INSERT INTO event (seq, session_no, position, turn, kind, v, created_at, body, idempotency_key)
      SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "bigint", "bigint", "bigint", "text", "bigint", "text", "text", "text"],
};
const BODIES: Part = Part {
    sql: "INSERT INTO body (sha256, seq, data) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bytea", "bigint", "text"],
};
const MEMORIES: Part = Part {
    sql: "INSERT INTO memory (session_no, length, newest) SELECT * FROM {rows} AS new WHERE {if}
      ON CONFLICT (session_no) DO UPDATE SET length = excluded.length, newest = excluded.newest",
    types: &["bigint", "bigint", "bigint"],
};
const NEW_TASKS: Part = Part {
    sql: "INSERT INTO task (no, name, length, head) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "bigint", "bytea"],
};
const NEW_SESSIONS: Part = Part {
    sql: "INSERT INTO session (no, name, length) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "bigint"],
};
const TASK_HEADS: Part = Part {
    sql: "UPDATE task SET length = moved.length, head = moved.head FROM {rows} AS moved (no, length, head)
      WHERE task.no = moved.no AND {if}",
    types: &["bigint", "bigint", "bytea"],
};
const SESSION_HEADS: Part = Part {
    sql: "UPDATE session SET length = moved.length FROM {rows} AS moved (no, length)
      WHERE session.no = moved.no AND {if}",
    types: &["bigint", "bigint"],
};
/// The log moves on, if it still is the one that the rest was made for. The fence stays; but a role that may not move it, as
/// it has to when a connection is lost, is told now and not then.
const LOG: &str = "UPDATE log SET size = $1, root = $2, edge = $3, fence = fence WHERE one = 1 AND size = $4 AND root = $5 AND fence = $6 RETURNING 1";

/// What waits.
#[derive(Default)]
pub struct Batch {
    thoughts: Thoughts,
    entries: Entries,
    events: Events,
    bodies: (Vec<Vec<u8>>, Vec<i64>, Vec<String>),
    /// By the number of the session: of several heads of one only the last is written.
    memories: (Vec<i64>, Vec<i64>, Vec<i64>),
    /// New ones, each with its head.
    tasks: (Vec<i64>, Vec<String>, Vec<i64>, Vec<Vec<u8>>),
    sessions: (Vec<i64>, Vec<String>, Vec<i64>),
    task_heads: (Vec<i64>, Vec<i64>, Vec<Vec<u8>>),
    session_heads: (Vec<i64>, Vec<i64>),
    log: Option<Growth>,
    /// What is asked for by these is among what waits.
    ids: HashSet<String>,
    keys: HashSet<String>,
}

#[derive(Default)]
struct Thoughts {
    seq: Vec<i64>,
    id: Vec<String>,
    kind: Vec<String>,
    task_no: Vec<i64>,
    position: Vec<i64>,
    session_no: Vec<i64>,
    step_index: Vec<i64>,
    parent_seq: Vec<Option<i64>>,
    agent_id: Vec<String>,
    action_id: Vec<Option<String>>,
    context_id: Vec<Option<i64>>,
    brief_id: Vec<Option<String>>,
    supersedes: Vec<Option<String>>,
    rejects: Vec<Option<String>>,
    applies_to: Vec<Option<String>>,
    source: Vec<&'static str>,
    timestamp: Vec<String>,
    content: Vec<Option<String>>,
    metadata: Vec<Option<String>>,
    salt: Vec<Option<Vec<u8>>>,
    idempotency_key: Vec<Option<String>>,
    prev_hash: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
    content_hash: Vec<Vec<u8>>,
    chain_hash: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Entries {
    seq: Vec<i64>,
    kind: Vec<String>,
    leaf: Vec<Vec<u8>>,
    hash: Vec<Vec<u8>>,
}

#[derive(Default)]
struct Events {
    seq: Vec<i64>,
    session_no: Vec<i64>,
    position: Vec<i64>,
    turn: Vec<i64>,
    kind: Vec<String>,
    v: Vec<i64>,
    created_at: Vec<String>,
    body: Vec<String>,
    idempotency_key: Vec<Option<String>>,
}

/// How the log moves on, and from where.
struct Growth {
    head: Head,
    root: Vec<u8>,
    edge: Vec<u8>,
    old_size: i64,
    old_root: Vec<u8>,
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_string)
}

impl Batch {
    pub fn thought(&mut self, row: &ThoughtRow<'_>) {
        let t = &mut self.thoughts;
        t.seq.push(row.seq as i64);
        t.id.push(row.id.to_string());
        t.kind.push(row.kind.to_string());
        t.task_no.push(row.task_no);
        t.position.push(row.position as i64);
        t.session_no.push(row.session_no);
        t.step_index.push(row.step_index as i64);
        t.parent_seq.push(row.parent_seq.map(|seq| seq as i64));
        t.agent_id.push(row.agent_id.to_string());
        t.action_id.push(owned(row.action_id));
        t.context_id.push(row.context_id.map(|id| id as i64));
        t.brief_id.push(owned(row.brief_id));
        t.supersedes.push(row.supersedes.clone());
        t.rejects.push(row.rejects.clone());
        t.applies_to.push(row.applies_to.clone());
        t.source.push(row.source.as_str());
        t.timestamp.push(row.timestamp.to_string());
        t.content.push(owned(row.content));
        t.metadata.push(owned(row.metadata));
        t.salt.push(row.salt.map(|salt| salt.to_vec()));
        t.idempotency_key.push(owned(row.idempotency_key));
        t.prev_hash.push(row.prev_hash.0.to_vec());
        t.hash.push(row.hash.0.to_vec());
        t.content_hash.push(row.content_hash.0.to_vec());
        t.chain_hash.push(row.chain_hash.0.to_vec());
        self.ids.insert(row.id.to_string());
        self.keys.extend(owned(row.idempotency_key));
    }

    pub fn entry(&mut self, seq: u64, kind: &str, leaf: &[u8], hash: &Sha) {
        self.entries.seq.push(seq as i64);
        self.entries.kind.push(kind.to_string());
        self.entries.leaf.push(leaf.to_vec());
        self.entries.hash.push(hash.0.to_vec());
    }

    pub fn event(&mut self, row: &EventRow<'_>) {
        let e = &mut self.events;
        e.seq.push(row.seq as i64);
        e.session_no.push(row.session_no);
        e.position.push(row.position as i64);
        e.turn.push(row.turn as i64);
        e.kind.push(row.kind.to_string());
        e.v.push(row.v as i64);
        e.created_at.push(row.created_at.to_string());
        e.body.push(row.body.to_string());
        e.idempotency_key.push(owned(row.idempotency_key));
        self.keys.extend(owned(row.idempotency_key));
    }

    pub fn body(&mut self, digest: &Sha, seq: u64, data: &str) {
        self.bodies.0.push(digest.0.to_vec());
        self.bodies.1.push(seq as i64);
        self.bodies.2.push(data.to_string());
    }

    pub fn memory(&mut self, head: &MemoryHead) {
        let (sessions, lengths, newest) = &mut self.memories;
        match sessions.iter().position(|known| *known == head.session_no) {
            Some(place) => {
                lengths[place] = head.length as i64;
                newest[place] = head.newest as i64;
            }
            None => {
                sessions.push(head.session_no);
                lengths.push(head.length as i64);
                newest.push(head.newest as i64);
            }
        }
    }

    pub fn task(&mut self, no: i64, name: &str) {
        self.tasks.0.push(no);
        self.tasks.1.push(name.to_string());
        self.tasks.2.push(0);
        self.tasks.3.push(Sha::ZERO.0.to_vec());
    }

    pub fn session(&mut self, no: i64, name: &str) {
        self.sessions.0.push(no);
        self.sessions.1.push(name.to_string());
        self.sessions.2.push(0);
    }

    /// A head of a task that is new here goes with it: a statement does not change what it adds.
    pub fn task_head(&mut self, head: &TaskHead) {
        if let Some(place) = self.tasks.0.iter().position(|new| *new == head.no) {
            self.tasks.2[place] = head.length as i64;
            self.tasks.3[place] = head.head.0.to_vec();
            return;
        }
        self.task_heads.0.push(head.no);
        self.task_heads.1.push(head.length as i64);
        self.task_heads.2.push(head.head.0.to_vec());
    }

    pub fn session_head(&mut self, head: &SessionHead) {
        if let Some(place) = self.sessions.0.iter().position(|new| *new == head.no) {
            self.sessions.2[place] = head.length as i64;
            return;
        }
        self.session_heads.0.push(head.no);
        self.session_heads.1.push(head.length as i64);
    }

    pub fn log(&mut self, from: &Head, edge: &Edge) {
        let root = edge.root();
        self.log = Some(Growth {
            head: Head { size: edge.size() as i64, root, edge: edge.clone(), ..*from },
            root: root.0.to_vec(),
            edge: edge.to_bytes(),
            old_size: from.size,
            old_root: from.root.0.to_vec(),
        });
    }

    /// The head that the log will have, if it grows.
    pub fn grown(&self) -> Option<Head> {
        self.log.as_ref().map(|growth| growth.head.clone())
    }

    /// Whether a thought of that id waits.
    pub fn has_id(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Whether a thought or an event under that key waits.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }

    /// Whether a content of that digest waits.
    pub fn has_body(&self, digest: &Sha) -> bool {
        self.bodies.0.iter().any(|known| known[..] == digest.0[..])
    }

    /// Whether the head of a session's memory waits.
    pub fn has_memories(&self) -> bool {
        !self.memories.0.is_empty()
    }

    /// Whether a task of that name waits.
    pub fn has_task(&self, name: &str) -> bool {
        self.tasks.1.iter().any(|known| known == name)
    }

    /// Whether a session of that name waits.
    pub fn has_session(&self, name: &str) -> bool {
        self.sessions.1.iter().any(|known| known == name)
    }

    /// What it takes to write it all: one statement, since each one that is sent alone wakes the server and whoever waits
    /// once more. Where the log grows, it returns a row; if it returns none, the log was another, and nothing was written.
    pub fn statement(&self) -> Option<Statement<'_>> {
        let Batch { thoughts: t, entries: e, events: v, bodies: b, memories: m, .. } = self;
        let (tasks, sessions) = (&self.tasks, &self.sessions);
        let mut all = Statement::new(e.seq.len() == 1);
        if let Some(Growth { head, root, edge, old_size, old_root }) = &self.log {
            all.begin(LOG, &[&head.size, root, edge, old_size, old_root, &head.fence]);
        }
        all.add("tasks", &NEW_TASKS, &[&tasks.0, &tasks.1, &tasks.2, &tasks.3]);
        all.add("sessions", &NEW_SESSIONS, &[&sessions.0, &sessions.1, &sessions.2]);
        all.add(
            "thoughts",
            &THOUGHTS,
            &[
                &t.seq,
                &t.id,
                &t.kind,
                &t.task_no,
                &t.position,
                &t.session_no,
                &t.step_index,
                &t.parent_seq,
                &t.agent_id,
                &t.action_id,
                &t.context_id,
                &t.brief_id,
                &t.supersedes,
                &t.rejects,
                &t.applies_to,
                &t.source,
                &t.timestamp,
                &t.content,
                &t.metadata,
                &t.salt,
                &t.idempotency_key,
                &t.prev_hash,
                &t.hash,
                &t.content_hash,
                &t.chain_hash,
            ],
        );
        all.add(
            "events",
            &EVENTS,
            &[
                &v.seq,
                &v.session_no,
                &v.position,
                &v.turn,
                &v.kind,
                &v.v,
                &v.created_at,
                &v.body,
                &v.idempotency_key,
            ],
        );
        all.add("bodies", &BODIES, &[&b.0, &b.1, &b.2]);
        all.add("memories", &MEMORIES, &[&m.0, &m.1, &m.2]);
        all.add("entries", &ENTRIES, &[&e.seq, &e.kind, &e.leaf, &e.hash]);
        let moved = &self.task_heads;
        all.add("task_heads", &TASK_HEADS, &[&moved.0, &moved.1, &moved.2]);
        let moved = &self.session_heads;
        all.add("session_heads", &SESSION_HEADS, &[&moved.0, &moved.1]);
        all.end()
    }
}
