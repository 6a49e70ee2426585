//! The floor for appends: a bare loop that writes the same rows of thoughts, unhashed, with the same settings.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use rusqlite::{Connection, TransactionBehavior, params};

use crate::text::{self, Draft};

const ZERO: [u8; 32] = [0; 32];

/// A row, ready to be written.
pub struct Row {
    pub id: String,
    pub kind: &'static str,
    pub session: i64,
    pub follows: bool,
    pub agent_id: String,
    pub action_id: Option<String>,
    pub timestamp: String,
    pub content: String,
    pub metadata: Option<String>,
}

/// The rows for some drafts. Made before the clock starts, as the drafts for Cairn are.
pub fn rows(drafts: Vec<Draft>) -> Vec<Row> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let row = |(number, draft): (usize, Draft)| {
        let (high, low) = (now >> 16, now & 0xffff);
        Row {
            // Ordered by time, as UUIDs of version 7 are.
            id: format!("{high:08x}-{low:04x}-7000-8000-{number:012x}"),
            kind: draft.kind.as_str(),
            session: draft.session as i64 + 1,
            follows: draft.follows,
            agent_id: text::agent_name(draft.session),
            action_id: draft.action,
            timestamp: "2026-04-17T09:30:00.000Z".to_string(),
            content: draft.content,
            metadata: draft.metadata.map(|map| serde_json::Value::Object(map).to_string()),
        }
    };
    drafts.into_iter().enumerate().map(row).collect()
}

/// A file with nothing but the table of thoughts and its indexes.
pub struct Bare {
    connection: Connection,
    next: i64,
    /// For each session its length and its newest row; a task is as long as its session here.
    sessions: Vec<(i64, Option<i64>)>,
}

impl Bare {
    /// Makes or opens a file; the table is the one in `like`, a database of Cairn.
    pub fn open(path: &Path, like: &Path) -> Result<Bare> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // As in the library.
        connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
        if !connection.table_exists(None, "thought")? {
            let model = Connection::open(like)?;
            let mut statements = model.prepare(
                "SELECT sql FROM sqlite_schema WHERE tbl_name = 'thought' AND type IN ('table', 'index')
                   AND sql IS NOT NULL ORDER BY type DESC",
            )?;
            let statements = statements.query_map([], |row| row.get::<_, String>(0))?;
            for statement in statements {
                connection.execute_batch(&statement?)?;
            }
            // Cairn fills two tables with these later; a bare loop that finds the thoughts of a task or session has indexes.
            connection.execute_batch(
                "CREATE UNIQUE INDEX thought_task ON thought (task_no, position);
                 CREATE UNIQUE INDEX thought_session ON thought (session_no, step_index)",
            )?;
        }
        let next =
            connection.query_row("SELECT coalesce(max(seq), 0) + 1 FROM thought", [], |row| row.get(0))?;
        let mut sessions = vec![(0, None); text::SESSIONS + 2];
        let mut lengths = connection.prepare(
            "SELECT session_no, max(step_index, position), seq FROM thought t
             WHERE seq IN (SELECT max(seq) FROM thought GROUP BY session_no)",
        )?;
        let mut found = lengths.query([])?;
        while let Some(row) = found.next()? {
            if let Some(session) = sessions.get_mut(row.get::<_, i64>(0)? as usize) {
                *session = (row.get::<_, i64>(1)? + 1, Some(row.get(2)?));
            }
        }
        drop(found);
        drop(lengths);
        Ok(Bare { connection, next, sessions })
    }

    /// Copies the thoughts of a database of Cairn, without their hashes.
    pub fn fill_from(&self, path: &Path) -> Result<()> {
        self.connection.execute("ATTACH ?1 AS model", [path.to_string_lossy()])?;
        self.connection.execute(
            "INSERT INTO thought
             SELECT seq, id, type, task_no, position, session_no, step_index, parent_seq, agent_id, action_id,
               context_id, brief_id, supersedes, rejects, applies_to, source, timestamp, content, metadata, salt,
               idempotency_key, zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32) FROM model.thought ORDER BY seq",
            [],
        )?;
        self.connection.execute_batch("DETACH model")?;
        Ok(())
    }

    /// Writes rows in transactions of `group`; returns how long that took.
    pub fn write(&mut self, rows: &[Row], group: usize) -> Result<Duration> {
        let started = Instant::now();
        for rows in rows.chunks(group) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO thought (seq, id, type, task_no, position, session_no, step_index, parent_seq, agent_id,
                   action_id, context_id, brief_id, source, timestamp, content, metadata, salt, idempotency_key,
                   prev_hash, hash, content_hash, chain_hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?5, ?6, ?7, ?8, NULL, NULL, 'agent', ?9, ?10, ?11, ?12, NULL, ?13,
                   ?13, ?13, ?13)",
            )?;
            for row in rows {
                let session = &mut self.sessions[row.session as usize];
                let (seq, (length, newest)) = (self.next, *session);
                insert.execute(params![
                    seq,
                    row.id,
                    row.kind,
                    row.session,
                    length,
                    newest.filter(|_| row.follows),
                    row.agent_id,
                    row.action_id,
                    row.timestamp,
                    row.content,
                    row.metadata,
                    row.metadata.as_ref().map(|_| ZERO),
                    ZERO,
                ])?;
                *session = (length + 1, Some(seq));
                self.next += 1;
            }
            drop(insert);
            transaction.commit()?;
        }
        Ok(started.elapsed())
    }
}
