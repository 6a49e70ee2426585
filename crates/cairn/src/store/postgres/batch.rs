//! Rows of a transaction that wait to be written together: one statement, however many rows of however many tables.

use std::collections::{HashMap, HashSet};

use cairn_core::Sha;
use cairn_core::entry::{Column, ColumnType, Entry, EntryKind, Record};
use cairn_core::log::Edge;

use super::row::at;
use super::statement::{List, Part, Statement};
use super::transaction::Head;
use crate::store::tables::{Table, table};
use crate::store::{Keys, MemoryHead, SessionHead, TaskHead};

const STATEMENTS: Part<'_> = Part {
    sql: "INSERT INTO entry (seq, kind, leaf, leaf_hash) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "text", "bytea"],
};
const REDACTIONS: Part<'_> = Part {
    sql: "INSERT INTO redaction (seq, target_seq) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "bigint"],
};
const BODIES: Part<'_> = Part {
    sql: "INSERT INTO body (sha256, seq, data) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bytea", "bigint", "text"],
};
const MEMORIES: Part<'_> = Part {
    sql: "INSERT INTO memory (session_no, length, newest) SELECT * FROM {rows} AS new WHERE {if}
      ON CONFLICT (session_no) DO UPDATE SET length = excluded.length, newest = excluded.newest",
    types: &["bigint", "bigint", "bigint"],
};
const NEW_TASKS: Part<'_> = Part {
    sql: "INSERT INTO task (no, name, length, head) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "bigint", "bytea"],
};
const NEW_SESSIONS: Part<'_> = Part {
    sql: "INSERT INTO session (no, name, length) SELECT * FROM {rows} AS new WHERE {if}",
    types: &["bigint", "text", "bigint"],
};
const TASK_HEADS: Part<'_> = Part {
    sql: "UPDATE task SET length = moved.length, head = moved.head FROM {rows} AS moved (no, length, head)
      WHERE task.no = moved.no AND {if}",
    types: &["bigint", "bigint", "bytea"],
};
const SESSION_HEADS: Part<'_> = Part {
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
    /// By their tables, as far as rows of these wait.
    records: Vec<Rows>,
    statements: Statements,
    redactions: (Vec<i64>, Vec<i64>),
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
    ids: HashMap<EntryKind, HashSet<String>>,
    keys: HashSet<String>,
}

/// Entries that have no table of their own.
#[derive(Default)]
struct Statements {
    seq: Vec<i64>,
    kind: Vec<&'static str>,
    leaf: Vec<String>,
    leaf_hash: Vec<Vec<u8>>,
}

/// Rows of one table of records that wait.
struct Rows {
    table: &'static Table,
    sql: String,
    types: Vec<&'static str>,
    columns: Vec<Values>,
}

impl Rows {
    fn new(table: &'static Table) -> Rows {
        let written = table.written();
        let names: Vec<&str> = written.iter().map(|(name, _)| *name).collect();
        Rows {
            table,
            sql: format!(
                "INSERT INTO {} ({}) SELECT * FROM {{rows}} AS new WHERE {{if}}",
                table.name,
                names.join(", ")
            ),
            types: written.iter().map(|(_, column_type)| type_name(*column_type)).collect(),
            columns: written.iter().map(|(_, column_type)| Values::new(*column_type)).collect(),
        }
    }

    fn add(&mut self, record: &Record<'_>, keys: &Keys, leaf_hash: &Sha) {
        let mut columns = self.columns.iter_mut();
        self.table.values(record, keys, leaf_hash, &mut |value| {
            if let Some(column) = columns.next() {
                column.push(value);
            }
        });
    }

    fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.list().rows())
    }
}

/// PostgreSQL's name of a type.
fn type_name(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Number => "bigint",
        ColumnType::Text => "text",
        ColumnType::Bytes => "bytea",
    }
}

/// The values of one column.
enum Values {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Bytes(Vec<Option<Vec<u8>>>),
}

impl Values {
    fn new(column_type: ColumnType) -> Values {
        match column_type {
            ColumnType::Number => Values::Numbers(Vec::new()),
            ColumnType::Text => Values::Texts(Vec::new()),
            ColumnType::Bytes => Values::Bytes(Vec::new()),
        }
    }

    fn push(&mut self, value: Column<'_>) {
        match (self, value) {
            (Values::Numbers(list), Column::Number(number)) => list.push(Some(number)),
            (Values::Texts(list), Column::Text(text)) => list.push(Some(text.into_owned())),
            (Values::Bytes(list), Column::Bytes(bytes)) => list.push(Some(bytes.into_owned())),
            // A declared field gives values of its own type, or none.
            (Values::Numbers(list), _) => list.push(None),
            (Values::Texts(list), _) => list.push(None),
            (Values::Bytes(list), _) => list.push(None),
        }
    }

    fn list(&self) -> &dyn List {
        match self {
            Values::Numbers(list) => list,
            Values::Texts(list) => list,
            Values::Bytes(list) => list,
        }
    }
}

/// How the log moves on, and from where.
struct Growth {
    head: Head,
    root: Vec<u8>,
    edge: Vec<u8>,
    old_size: i64,
    old_root: Vec<u8>,
}

impl Batch {
    /// Adds a record.
    pub fn record(&mut self, record: &Record<'_>, keys: &Keys, leaf_hash: &Sha) {
        let kind = record.entry.kind();
        match table(kind) {
            Some(table) => self.rows(table).add(record, keys, leaf_hash),
            None => self.statement_of(&record.entry, leaf_hash),
        }
        let (id, key) = match &record.entry {
            Entry::Thought(thought) => (Some(&thought.id), thought.idempotency_key.as_ref()),
            Entry::Event(event) => (None, event.idempotency_key.as_ref()),
            Entry::Brief(brief) => (Some(&brief.brief_id), None),
            Entry::Review(review) => (Some(&review.review_id), None),
            Entry::Snapshot(_)
            | Entry::Genesis(_)
            | Entry::Key(_)
            | Entry::Redaction(_)
            | Entry::Continuation(_) => (None, None),
        };
        if let Some(id) = id {
            self.ids.entry(kind).or_default().insert(id.to_string());
        }
        self.keys.extend(key.map(|key| key.to_string()));
    }

    /// The rows of a table.
    fn rows(&mut self, table: &'static Table) -> &mut Rows {
        let place = match self.records.iter().position(|rows| rows.table.kind == table.kind) {
            Some(place) => place,
            None => {
                self.records.push(Rows::new(table));
                self.records.len() - 1
            }
        };
        &mut self.records[place]
    }

    /// Adds an entry that has no table of its own.
    fn statement_of(&mut self, entry: &Entry<'_>, leaf_hash: &Sha) {
        let mut leaf = Vec::new();
        entry.write(&mut leaf);
        self.statements.seq.push(at(entry.seq()));
        self.statements.kind.push(entry.kind().as_str());
        self.statements.leaf.push(String::from_utf8_lossy(&leaf).into_owned());
        self.statements.leaf_hash.push(leaf_hash.0.to_vec());
        if let Entry::Redaction(redaction) = entry {
            self.redactions.0.push(at(redaction.seq));
            self.redactions.1.push(at(redaction.target_seq));
        }
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

    /// Whether a record of that kind and id waits.
    pub fn has_id(&self, kind: EntryKind, id: &str) -> bool {
        self.ids.get(&kind).is_some_and(|ids| ids.contains(id))
    }

    /// Whether an entry waits that has no table of its own.
    pub fn has_statements(&self) -> bool {
        !self.statements.seq.is_empty()
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
        let Batch { tasks, sessions, bodies: b, memories: m, statements: s, redactions: r, .. } = self;
        let records: usize = self.records.iter().map(Rows::len).sum();
        let mut all = Statement::new(records + s.seq.len() == 1);
        if let Some(Growth { head, root, edge, old_size, old_root }) = &self.log {
            all.begin(LOG, &[&head.size, root, edge, old_size, old_root, &head.fence]);
        }
        all.add("tasks", &NEW_TASKS, &[&tasks.0, &tasks.1, &tasks.2, &tasks.3]);
        all.add("sessions", &NEW_SESSIONS, &[&sessions.0, &sessions.1, &sessions.2]);
        for rows in &self.records {
            let columns: Vec<&dyn List> = rows.columns.iter().map(Values::list).collect();
            let part = Part { sql: &rows.sql, types: &rows.types };
            all.add(&format!("new_{}", rows.table.name), &part, &columns);
        }
        all.add("bodies", &BODIES, &[&b.0, &b.1, &b.2]);
        all.add("memories", &MEMORIES, &[&m.0, &m.1, &m.2]);
        all.add("statements", &STATEMENTS, &[&s.seq, &s.kind, &s.leaf, &s.leaf_hash]);
        all.add("redactions", &REDACTIONS, &[&r.0, &r.1]);
        let moved = &self.task_heads;
        all.add("task_heads", &TASK_HEADS, &[&moved.0, &moved.1, &moved.2]);
        let moved = &self.session_heads;
        all.add("session_heads", &SESSION_HEADS, &[&moved.0, &moved.1]);
        all.end()
    }
}
