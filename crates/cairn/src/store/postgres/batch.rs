//! Rows of a transaction that wait to be written together: one statement a table, however many rows.

use std::collections::HashSet;

use cairn_core::Sha;
use cairn_core::log::Node;
use tokio_postgres::types::ToSql;

use crate::store::{EventRow, MemoryHead, SessionHead, TaskHead, ThoughtRow};

const THOUGHTS: &str = "INSERT INTO thought (seq, id, type, task_no, position, session_no, step_index, parent_seq,
    agent_id, action_id, context_id, brief_id, timestamp, content, metadata, salt, idempotency_key, prev_hash, hash,
    content_hash, chain_hash)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[],
    $16::bytea[], $17::text[], $18::bytea[], $19::bytea[], $20::bytea[], $21::bytea[])";
const ENTRIES: &str = "INSERT INTO entry (seq, kind, leaf, hash)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[])";
const NODES: &str =
    "INSERT INTO node (level, idx, hash) SELECT * FROM unnest($1::int[], $2::bigint[], $3::bytea[])";
const EVENTS: &str = "INSERT INTO event (seq, session_no, position, turn, kind, v, created_at, body, idempotency_key)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::text[],
    $8::text[], $9::text[])";
const BODIES: &str =
    "INSERT INTO body (sha256, seq, data) SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::text[])";
const MEMORIES: &str = "INSERT INTO memory (session_no, length, newest)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
  ON CONFLICT (session_no) DO UPDATE SET length = excluded.length, newest = excluded.newest";
const NEW_TASKS: &str = "INSERT INTO task (no, name, length, head)
  SELECT no, name, 0, decode(repeat('00', 32), 'hex') FROM unnest($1::bigint[], $2::text[]) AS new (no, name)";
const NEW_SESSIONS: &str = "INSERT INTO session (no, name, length) SELECT no, name, 0 FROM unnest($1::bigint[], $2::text[]) AS new (no, name)";
const TASK_HEADS: &str = "UPDATE task SET length = moved.length, head = moved.head
  FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS moved (no, length, head) WHERE task.no = moved.no";
const SESSION_HEADS: &str = "UPDATE session SET length = moved.length
  FROM unnest($1::bigint[], $2::bigint[]) AS moved (no, length) WHERE session.no = moved.no";
const LOG: &str = "UPDATE log SET size = $1, root = $2";
/// What every thought needs, as one statement: each one that is sent alone wakes the server and whoever waits once more.
const RECORDED: &str = "WITH
  thoughts AS (INSERT INTO thought (seq, id, type, task_no, position, session_no, step_index, parent_seq, agent_id,
      action_id, context_id, brief_id, timestamp, content, metadata, salt, idempotency_key, prev_hash, hash, content_hash,
      chain_hash)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[],
      $16::bytea[], $17::text[], $18::bytea[], $19::bytea[], $20::bytea[], $21::bytea[])),
  entries AS (INSERT INTO entry (seq, kind, leaf, hash)
    SELECT * FROM unnest($22::bigint[], $23::text[], $24::bytea[], $25::bytea[])),
  nodes AS (INSERT INTO node (level, idx, hash) SELECT * FROM unnest($26::int[], $27::bigint[], $28::bytea[])),
  tasks AS (UPDATE task SET length = moved.length, head = moved.head
    FROM unnest($29::bigint[], $30::bigint[], $31::bytea[]) AS moved (no, length, head) WHERE task.no = moved.no),
  sessions AS (UPDATE session SET length = moved.length
    FROM unnest($32::bigint[], $33::bigint[]) AS moved (no, length) WHERE session.no = moved.no)
  UPDATE log SET size = $34, root = $35";

/// What waits.
#[derive(Default)]
pub struct Batch {
    thoughts: Thoughts,
    entries: Entries,
    nodes: (Vec<i32>, Vec<i64>, Vec<Vec<u8>>),
    events: Events,
    bodies: (Vec<Vec<u8>>, Vec<i64>, Vec<String>),
    /// By the number of the session: of several heads of one only the last is written.
    memories: (Vec<i64>, Vec<i64>, Vec<i64>),
    tasks: (Vec<i64>, Vec<String>),
    sessions: (Vec<i64>, Vec<String>),
    task_heads: (Vec<i64>, Vec<i64>, Vec<Vec<u8>>),
    session_heads: (Vec<i64>, Vec<i64>),
    log: Option<(i64, Vec<u8>)>,
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

/// A statement and its values.
pub struct Statement<'b> {
    pub sql: &'static str,
    pub values: Vec<&'b (dyn ToSql + Sync)>,
}

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_string)
}

fn add<'b>(all: &mut Vec<Statement<'b>>, has: bool, sql: &'static str, values: Vec<&'b (dyn ToSql + Sync)>) {
    if has {
        all.push(Statement { sql, values });
    }
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

    pub fn node(&mut self, node: &Node) {
        self.nodes.0.push(i32::from(node.level));
        self.nodes.1.push(node.index as i64);
        self.nodes.2.push(node.hash.0.to_vec());
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
    }

    pub fn session(&mut self, no: i64, name: &str) {
        self.sessions.0.push(no);
        self.sessions.1.push(name.to_string());
    }

    pub fn task_head(&mut self, head: &TaskHead) {
        self.task_heads.0.push(head.no);
        self.task_heads.1.push(head.length as i64);
        self.task_heads.2.push(head.head.0.to_vec());
    }

    pub fn session_head(&mut self, head: &SessionHead) {
        self.session_heads.0.push(head.no);
        self.session_heads.1.push(head.length as i64);
    }

    pub fn log(&mut self, size: u64, root: &Sha) {
        self.log = Some((size as i64, root.0.to_vec()));
    }

    /// Entries that the log has with what waits; 0 if that adds none.
    pub fn size(&self) -> u64 {
        self.log.as_ref().map_or(0, |(size, _)| *size as u64)
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

    /// What it takes to write it all.
    pub fn statements(&self) -> Vec<Statement<'_>> {
        let Batch { thoughts: t, entries: e, nodes: n, events: v, .. } = self;
        let mut all: Vec<Statement<'_>> = Vec::new();
        add(&mut all, !self.tasks.0.is_empty(), NEW_TASKS, vec![&self.tasks.0, &self.tasks.1]);
        add(&mut all, !self.sessions.0.is_empty(), NEW_SESSIONS, vec![&self.sessions.0, &self.sessions.1]);
        let thoughts: Vec<&(dyn ToSql + Sync)> = vec![
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
            &t.timestamp,
            &t.content,
            &t.metadata,
            &t.salt,
            &t.idempotency_key,
            &t.prev_hash,
            &t.hash,
            &t.content_hash,
            &t.chain_hash,
        ];
        let (tasks, sessions) = (&self.task_heads, &self.session_heads);
        let is_whole = !t.seq.is_empty() && self.log.is_some();
        add(&mut all, !t.seq.is_empty() && !is_whole, THOUGHTS, thoughts.clone());
        let events: Vec<&(dyn ToSql + Sync)> = vec![
            &v.seq,
            &v.session_no,
            &v.position,
            &v.turn,
            &v.kind,
            &v.v,
            &v.created_at,
            &v.body,
            &v.idempotency_key,
        ];
        add(&mut all, !v.seq.is_empty(), EVENTS, events);
        let bodies = &self.bodies;
        add(&mut all, !bodies.0.is_empty(), BODIES, vec![&bodies.0, &bodies.1, &bodies.2]);
        let heads = &self.memories;
        add(&mut all, !heads.0.is_empty(), MEMORIES, vec![&heads.0, &heads.1, &heads.2]);
        if let (true, Some((size, root))) = (is_whole, &self.log) {
            let mut values = thoughts;
            values.extend::<[&(dyn ToSql + Sync); 14]>([
                &e.seq,
                &e.kind,
                &e.leaf,
                &e.hash,
                &n.0,
                &n.1,
                &n.2,
                &tasks.0,
                &tasks.1,
                &tasks.2,
                &sessions.0,
                &sessions.1,
                size,
                root,
            ]);
            all.push(Statement { sql: RECORDED, values });
            return all;
        }
        add(&mut all, !e.seq.is_empty(), ENTRIES, vec![&e.seq, &e.kind, &e.leaf, &e.hash]);
        add(&mut all, !n.0.is_empty(), NODES, vec![&n.0, &n.1, &n.2]);
        add(&mut all, !tasks.0.is_empty(), TASK_HEADS, vec![&tasks.0, &tasks.1, &tasks.2]);
        add(&mut all, !sessions.0.is_empty(), SESSION_HEADS, vec![&sessions.0, &sessions.1]);
        if let Some((size, root)) = &self.log {
            add(&mut all, true, LOG, vec![size, root]);
        }
        all
    }
}
