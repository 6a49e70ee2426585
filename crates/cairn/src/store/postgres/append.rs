//! What a transaction reads and writes.

use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::log::Node;
use tokio::runtime::Runtime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::batch::Batch;
use super::connect::{Link, answered, in_time};
use super::needs::Found;
use super::row::{get, number, sha};
use super::transaction::{Head, begin, ready, send};
use super::wait::wait;
use super::{Result, context, memory, read, redact, review, thoughts, token};
use crate::store::{
    Append, BriefRow, ContextRow, EventRow, MemoryHead, Needs, ParentLink, Read, ReadContext, ReadThought,
    RedactionLeaf, ReviewRow, RoadmapHead, SessionHead, StoreError, Target, TaskHead, ThoughtRow, TokenRow,
};

/// The most bytes of text in one transaction, more or less: others wait for it, and a message has at most a gigabyte.
const MAX_BYTES: usize = 16 << 20;

/// A transaction under way. What is written waits, and is sent at the end.
pub struct PostgresAppend {
    pub link: Link,
    pub runtime: Arc<Runtime>,
    pub head: Head,
    pub found: Found,
    pub batch: Batch,
    /// The first entry of the transaction: where, and its hash.
    pub first: Option<(u64, Sha)>,
    /// Bytes of text that were written.
    pub bytes: usize,
    /// Whether the log's head is locked. If it is not, what is asked for was read before, and nothing is sent to the server
    /// but one statement at the end.
    pub is_locked: bool,
}

impl PostgresAppend {
    /// Locks the log's head, if it is not yet; it must still be where it was.
    pub fn lock(&mut self) -> Result<()> {
        if self.is_locked {
            return Ok(());
        }
        self.is_locked = true;
        let (head, _) = wait(&self.runtime, in_time(begin(&self.link, &Needs::default())))?;
        if head.place() != self.head.place() {
            return Err(StoreError::NotWritten);
        }
        self.head.fence = head.fence;
        Ok(())
    }

    fn wait<T>(&mut self, work: impl AsyncFnOnce(&Link) -> Result<T>) -> Result<T> {
        self.lock()?;
        wait(&self.runtime, work(&self.link))
    }

    /// Writes what waits, so that it can be read.
    fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.wait(async |link| answered(send(link, ready(link, &batch).await?, false)).await).map(drop)
    }

    fn one(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        self.wait(async |link| link.one(sql, values).await)
    }

    fn execute(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        self.wait(async |link| link.run(sql, values).await).map(drop)
    }
}

/// Whether an id is a UUID of version 7, 74 bits of which are random.
fn is_random(id: &str) -> bool {
    uuid::Uuid::try_parse(id).is_ok_and(|id| id.get_version_num() == 7)
}

impl Append for PostgresAppend {
    fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    fn head(&mut self) -> Result<(u64, Sha)> {
        Ok(self.head.place())
    }

    fn nodes(&mut self, places: &[(u8, u64)]) -> Result<Vec<Sha>> {
        let found: Option<Vec<Sha>> = places.iter().map(|place| self.found.node(place)).collect();
        match found {
            Some(found) => Ok(found),
            None => self.wait(async |link| read::nodes(link, places).await),
        }
    }

    fn task(&mut self, name: &str) -> Result<Option<TaskHead>> {
        if let Some(found) = self.found.task(name) {
            return Ok(found);
        }
        if self.batch.has_task(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length, head FROM task WHERE name = $1", &[&name])?;
        row.map(|row| Ok(TaskHead { no: get(&row, 0)?, length: number(&row, 1)?, head: sha(&row, 2)? }))
            .transpose()
    }

    fn session(&mut self, name: &str) -> Result<Option<SessionHead>> {
        if let Some(found) = self.found.session(name) {
            return Ok(found);
        }
        if self.batch.has_session(name) {
            self.flush()?;
        }
        let row = self.one("SELECT no, length FROM session WHERE name = $1", &[&name])?;
        row.map(|row| Ok(SessionHead { no: get(&row, 0)?, length: number(&row, 1)? })).transpose()
    }

    fn parent(&mut self, id: &str) -> Result<Option<ParentLink>> {
        if let Some(found) = self.found.parent(id) {
            return Ok(found);
        }
        if self.batch.has_id(id) {
            self.flush()?;
        }
        let row = self.one("SELECT seq, session_no, chain_hash FROM thought WHERE id = $1", &[&id])?;
        row.map(|row| {
            Ok(ParentLink { seq: number(&row, 0)?, session_no: get(&row, 1)?, chain_hash: sha(&row, 2)? })
        })
        .transpose()
    }

    fn has_thought(&mut self, id: &str) -> Result<bool> {
        // That no two ids of random numbers are the same goes without asking; of any others it must be known.
        let is_there = "SELECT 1 FROM thought WHERE id = $1";
        Ok(self.batch.has_id(id) || (!is_random(id) && self.one(is_there, &[&id])?.is_some()))
    }

    fn by_key(&mut self, key: &str) -> Result<Option<Read<ReadThought>>> {
        if self.found.is_free(key) {
            return Ok(None);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        self.wait(async |link| thoughts::one(link, "t.idempotency_key = $1", &key).await)
    }

    fn contexts(&mut self) -> Result<u64> {
        Ok(self.head.contexts)
    }

    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>> {
        self.wait(async |link| context::roadmap(link, name).await)
    }

    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<Read<ReadContext>>> {
        let newest = self.wait(async |link| context::history(link, roadmap_id, None, 1).await)?;
        Ok(newest.into_iter().next())
    }

    fn snapshot(&mut self, hash: &Sha, data: &str) -> Result<Option<(i64, bool)>> {
        self.wait(async |link| context::snapshot(link, hash, data).await)
    }

    fn add_roadmap(&mut self, name: &str) -> Result<i64> {
        let row = self.one(
            "INSERT INTO roadmap (no, name, length) SELECT coalesce(max(no), 0) + 1, $1, 0 FROM roadmap RETURNING no",
            &[&name],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn add_snapshot(&mut self, hash: &Sha, data: &str) -> Result<i64> {
        let row = self.one(
            "INSERT INTO snapshot (no, content_hash, data) SELECT coalesce(max(no), 0) + 1, $1, $2 FROM snapshot
             RETURNING no",
            &[&&hash.0[..], &data],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn insert_context(&mut self, row: &ContextRow<'_>) -> Result<()> {
        self.head.contexts = self.head.contexts.max(row.id);
        self.bytes += row.metadata.map_or(0, str::len);
        self.wait(async |link| context::insert(link, row).await)
    }

    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()> {
        self.execute("UPDATE roadmap SET length = $2 WHERE no = $1", &[&head.no, &(head.length as i64)])
    }

    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        if let Some(found) = self.found.memory(session_id) {
            return Ok(found);
        }
        if self.batch.has_session(session_id) || self.batch.has_memories() {
            self.flush()?;
        }
        self.wait(async |link| memory::head(link, session_id).await)
    }

    fn has_event_key(&mut self, key: &str) -> Result<bool> {
        if self.found.is_free_for_event(key) {
            return Ok(false);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        self.wait(async |link| memory::has_key(link, key).await)
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        if let Some(found) = self.found.body(digest) {
            return Ok(found);
        }
        if self.batch.has_body(digest) {
            self.flush()?;
        }
        self.wait(async |link| memory::has_body(link, digest, data).await)
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        if let Some(found) = self.found.brief(id) {
            return Ok(found);
        }
        self.wait(async |link| memory::brief_session(link, id).await)
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        if let Some(key) = row.idempotency_key {
            self.found.is_free_for_event(key);
        }
        self.bytes += row.body.len();
        self.batch.event(row);
        Ok(())
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.found.body(digest);
        self.bytes += data.len();
        self.batch.body(digest, seq, data);
        Ok(())
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        self.found.brief(row.id);
        self.bytes += row.data.map_or(0, str::len);
        self.wait(async |link| memory::insert_brief(link, row).await)
    }

    fn insert_review(&mut self, row: &ReviewRow<'_>) -> Result<()> {
        self.bytes += row.text.map_or(0, str::len);
        self.wait(async |link| review::insert(link, row).await)
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        self.batch.memory(head);
        Ok(())
    }

    fn add_task(&mut self, name: &str) -> Result<i64> {
        self.found.task(name);
        self.head.tasks += 1;
        self.batch.task(self.head.tasks, name);
        Ok(self.head.tasks)
    }

    fn add_session(&mut self, name: &str) -> Result<i64> {
        self.found.session(name);
        self.head.sessions += 1;
        self.batch.session(self.head.sessions, name);
        Ok(self.head.sessions)
    }

    fn insert_thought(&mut self, row: &ThoughtRow<'_>) -> Result<()> {
        // Before the rows are written, where a collision would end the transaction.
        if self.has_thought(row.id)? {
            return Err(StoreError::Taken("id"));
        }
        self.found.parent(row.id);
        if let Some(key) = row.idempotency_key {
            self.found.is_free(key);
        }
        self.bytes += row.content.map_or(0, str::len) + row.metadata.map_or(0, str::len);
        self.batch.thought(row);
        Ok(())
    }

    fn insert_entry(&mut self, seq: u64, kind: EntryKind, leaf: &[u8], hash: &Sha) -> Result<()> {
        self.first.get_or_insert((seq, *hash));
        self.batch.entry(seq, kind.as_str(), leaf, hash);
        Ok(())
    }

    fn insert_node(&mut self, node: &Node) -> Result<()> {
        self.batch.node(node);
        Ok(())
    }

    fn set_task(&mut self, head: &TaskHead) -> Result<()> {
        self.batch.task_head(head);
        Ok(())
    }

    fn set_session(&mut self, head: &SessionHead) -> Result<()> {
        self.batch.session_head(head);
        Ok(())
    }

    fn set_log(&mut self, size: u64, root: &Sha) -> Result<()> {
        self.batch.log(&self.head, size, root);
        Ok(())
    }

    fn is_keyed(&mut self) -> Result<bool> {
        // The second condition lets the small index be used.
        let sql =
            "SELECT 1 FROM entry WHERE kind = 'key' AND kind IN ('continuation', 'key', 'redaction') LIMIT 1";
        self.one(sql, &[]).map(|found| found.is_some())
    }

    fn target(&mut self, id: &str) -> Result<Option<Target>> {
        self.flush()?;
        self.wait(async |link| redact::target(link, id).await)
    }

    fn leaf(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.flush()?;
        let row = self.one("SELECT leaf FROM entry WHERE seq = $1", &[&(seq as i64)])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.flush()?;
        self.wait(async |link| redact::redaction(link, target_seq).await)
    }

    fn insert_redaction(&mut self, seq: u64, target_seq: u64) -> Result<()> {
        self.execute(
            "INSERT INTO redaction (seq, target_seq) VALUES ($1, $2)",
            &[&(seq as i64), &(target_seq as i64)],
        )
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.flush()?;
        self.wait(async |link| redact::blank(link, target).await)
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.wait(async |link| redact::seal_key(link, seq).await)
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES ($1, $2)", &[&(seq as i64), &key])
    }

    fn insert_checkpoint(&mut self, size: u64, note: &str) -> Result<()> {
        self.execute(
            "INSERT INTO checkpoint (size, note) VALUES ($1, $2)
             ON CONFLICT (size) DO UPDATE SET note = excluded.note
               WHERE length(excluded.note) > length(checkpoint.note) AND starts_with(excluded.note, checkpoint.note)",
            &[&(size as i64), &note],
        )
    }

    fn token(&mut self, id: &str) -> Result<Option<TokenRow>> {
        self.wait(async |link| token::token(link, id).await)
    }

    fn insert_token(&mut self, row: &TokenRow) -> Result<()> {
        self.wait(async |link| token::insert(link, row).await)
    }

    fn set_token_times(
        &mut self,
        id: &str,
        revoked_at: Option<&str>,
        last_used_at: Option<&str>,
    ) -> Result<()> {
        self.wait(async |link| token::set_times(link, id, revoked_at, last_used_at).await)
    }
}
