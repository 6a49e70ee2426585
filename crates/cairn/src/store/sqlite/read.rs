//! Reading: each call on a connection of its own, beside the writer.

use std::ops::ControlFlow;
use std::path::Path;

use cairn_core::Sha;
use cairn_core::id::{BriefId, ThoughtId};
use cairn_core::thought::ThoughtType;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, params};

use super::{SqliteStore, context, memory, redact, review, sessions, sweep, thoughts, token};
use crate::context::NodeHit;
use crate::options::Durability;
use crate::redact::Pieces;
use crate::search::Terms;
use crate::store::{
    Audit, ChainOf, Counts, EventText, FoldRow, FoundThought, LogHead, MemoryHead, Read, ReadBrief,
    ReadContext, ReadEvent, ReadThought, RedactionLeaf, SearchScope, SessionCounts, Store, StoreError,
    StoreWriter, StoredReview, Swept, Thoughts, TokenRow,
};
use crate::token::TokenInfo;
use crate::verify::Progress;

type Result<T> = std::result::Result<T, StoreError>;

/// Takes a stored text as one of our types; what does not fit was not written by us.
pub fn typed<T, E: std::error::Error + Send + Sync + 'static>(
    text: String,
    make: impl FnOnce(String) -> std::result::Result<T, E>,
) -> rusqlite::Result<T> {
    make(text).map_err(|error| FromSqlError::Other(Box::new(error)).into())
}

/// The same for a text that may be absent.
pub fn typed_or_none<T, E: std::error::Error + Send + Sync + 'static>(
    text: Option<String>,
    make: impl FnOnce(String) -> std::result::Result<T, E>,
) -> rusqlite::Result<Option<T>> {
    text.map(|text| typed(text, make)).transpose()
}

impl Store for SqliteStore {
    fn writer(&self) -> Result<Box<dyn StoreWriter>> {
        self.open_writer()
    }

    fn head(&self) -> Result<LogHead> {
        self.read(|connection| {
            connection.prepare_cached("SELECT origin, size, root FROM log")?.query_row([], |row| {
                Ok(LogHead { origin: row.get(0)?, size: row.get(1)?, root: Sha(row.get(2)?) })
            })
        })
    }

    fn thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.read(|connection| thoughts::visit(connection, which, visit))
    }

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        self.read(|connection| sessions::chain_length(connection, of))
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(|connection| redact::seal_key(connection, seq))
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.read(|connection| redact::redaction(connection, target_seq))
    }

    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>> {
        self.read(|connection| redact::briefs_with(connection, session_id, text, limit))
    }

    fn sweep(&self, pieces: &Pieces) -> Result<Swept> {
        sweep::sweep(self, pieces)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT id FROM thought WHERE id >= ?1 AND substr(id, 1, length(?1)) = ?1
                       AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2",
                )?
                .query_map(params![prefix, limit as i64], |row| typed(row.get(0)?, ThoughtId::new))?
                .collect()
        })
    }

    fn derived_through(&self) -> Result<u64> {
        self.read(|connection| {
            connection.prepare_cached("SELECT through FROM derived")?.query_row([], |row| row.get(0))
        })
    }

    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<FoundThought>, bool)> {
        self.read(|connection| super::search::search(connection, terms, scope, limit, newest))
    }

    fn context(&self, id: u64) -> Result<Option<Read<ReadContext>>> {
        self.read(|connection| context::head(connection, id))
    }

    fn context_history(
        &self,
        roadmap_id: &str,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Vec<Read<ReadContext>>> {
        self.read(|connection| context::history(connection, roadmap_id, before, limit))
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(|connection| Ok(context::roadmap(connection, roadmap_id)?.map_or(0, |head| head.length)))
    }

    fn count_on(&self, context_id: u64) -> Result<u64> {
        self.read(|connection| context::count_on(connection, context_id))
    }

    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<Read<ReadContext>>> {
        self.read(|connection| context::current(connection, roadmap_id))
    }

    fn snapshot(&self, context_id: u64) -> Result<Option<String>> {
        self.read(|connection| context::data(connection, context_id))
    }

    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>> {
        self.read(|connection| context::search_nodes(connection, terms, roadmap_id, limit))
    }

    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)> {
        self.read(|connection| context::count_decisions(connection, roadmap_id))
    }

    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(|connection| memory::head(connection, session_id))
    }

    fn events(
        &self,
        session_id: &str,
        after: u64,
        to: u64,
        visit: &mut dyn FnMut(EventText<'_>) -> bool,
    ) -> Result<()> {
        self.read(|connection| memory::events(connection, session_id, after, to, visit))
    }

    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool> {
        self.read(|connection| memory::fold(connection, session_id, to, visit))
    }

    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>> {
        self.read(|connection| memory::event_by_key(connection, key))
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(|connection| memory::body(connection, digest))
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(|connection| memory::newest_thought(connection, session_id, to))
    }

    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>> {
        self.read(|connection| memory::brief(connection, id))
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>> {
        self.read(|connection| memory::briefs(connection, session_id, limit))
    }

    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>> {
        self.read(|connection| review::of(connection, target_id))
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(|connection| sessions::newest_first(connection, before, limit))
    }

    fn steps(
        &self,
        session_id: &str,
        from: u64,
        before: u64,
        visit: &mut dyn FnMut(ThoughtType, &str),
    ) -> Result<()> {
        self.read(|connection| sessions::steps(connection, session_id, from, before, visit))
    }

    fn shape(&self, session_id: &str, visit: &mut dyn FnMut(u64, Option<u64>)) -> Result<()> {
        self.read(|connection| sessions::shape(connection, session_id, visit))
    }

    fn token(&self, id: &str) -> Result<Option<TokenRow>> {
        self.read(|connection| token::token(connection, id))
    }

    fn tokens(&self) -> Result<Vec<TokenInfo>> {
        self.read(token::tokens)
    }

    fn place(&self) -> Option<&Path> {
        Some(self.path())
    }

    fn sync(&self) -> Result<()> {
        match self.durability {
            Durability::Full => Ok(()),
            Durability::Normal => self.sync_log(),
        }
    }

    fn node(&self, level: u8, index: u64) -> Result<Sha> {
        let found = self.read(|connection| {
            if level == 0 {
                connection
                    .prepare_cached("SELECT hash FROM entry WHERE seq = ?1")?
                    .query_row([index], |row| row.get(0))
            } else {
                connection
                    .prepare_cached("SELECT hash FROM node WHERE level = ?1 AND idx = ?2")?
                    .query_row(params![level, index], |row| row.get(0))
            }
            .optional()
        })?;
        found.map(Sha).ok_or_else(|| StoreError::Damaged(format!("node {index} of level {level} is missing")))
    }

    fn leaves(&self, from: u64, to: u64, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT leaf, hash FROM entry WHERE seq >= ?1 AND seq < ?2 ORDER BY seq")?;
            let mut rows = statement.query([from, to])?;
            while let Some(row) = rows.next()? {
                let blob = |column| row.get_ref(column).map(|value| value.as_blob().unwrap_or_default());
                visit(blob(0)?, blob(1)?);
            }
            Ok(())
        })
    }

    fn checkpoint(&self, at_most: u64) -> Result<Option<(u64, String)>> {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT size, note FROM checkpoint WHERE size <= ?1 ORDER BY size DESC LIMIT 1",
                )?
                .query_row([at_most], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })
    }

    fn checkpoints(&self, limit: u64) -> Result<Vec<String>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|connection| {
            connection
                .prepare_cached("SELECT note FROM checkpoint ORDER BY size DESC LIMIT ?1")?
                .query_map([limit], |row| row.get(0))?
                .collect()
        })
    }

    fn counts(&self) -> Result<Counts> {
        self.read(|connection| {
            let schema = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            connection.query_row(
                // Lengths instead of rows: a page of the viewer asks for this, however many there are.
                "SELECT (SELECT coalesce(sum(length), 0) FROM session), (SELECT count(*) FROM task),
                   (SELECT count(*) FROM session),
                   (SELECT max(0, coalesce(sum(length), 0) - (SELECT count(*) FROM thought
                     WHERE seq > (SELECT through FROM derived))) FROM session),
                   (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),
                   (SELECT timestamp FROM thought ORDER BY seq DESC LIMIT 1), sqlite_version(),
                   (SELECT count(*) FROM roadmap), (SELECT count(*) FROM context),
                   (SELECT coalesce(sum(length), 0) FROM memory), (SELECT count(*) FROM brief)",
                [],
                |row| {
                    Ok(Counts {
                        schema,
                        thoughts: row.get(0)?,
                        tasks: row.get(1)?,
                        sessions: row.get(2)?,
                        indexed: row.get(3)?,
                        bytes: row.get(4)?,
                        newest: row.get(5)?,
                        engine: row.get::<_, String>(6).map(|version| format!("SQLite {version}"))?,
                        roadmaps: row.get(7)?,
                        contexts: row.get(8)?,
                        events: row.get(9)?,
                        briefs: row.get(10)?,
                    })
                },
            )
        })
    }

    fn backup(&self, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        self.read(|connection| {
            let mut target = Connection::open(to)?;
            let backup = Backup::new(connection, &mut target)?;
            loop {
                // One step of all pages would be the quickest, and show no progress.
                let step = backup.step(4096)?;
                let state = backup.progress();
                let done = state.pagecount - state.remaining;
                progress(Progress { done: done as u64, total: state.pagecount as u64, what: "pages" });
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    _ => std::thread::sleep(std::time::Duration::from_millis(5)),
                }
            }
            drop(backup);
            // A copy is one file: nothing of it may wait in a log beside it.
            target.pragma_update(None, "journal_mode", "DELETE")?;
            target.close().map_err(|(_, error)| error)
        })
    }

    fn audit(&self) -> Result<Box<dyn Audit>> {
        self.audits(1)?.pop().ok_or_else(|| StoreError::Other("no state was opened".into()))
    }

    fn audits(&self, count: usize) -> Result<Vec<Box<dyn Audit>>> {
        let audits = super::audit::begin_all(self, count)?;
        Ok(audits.into_iter().map(|audit| Box::new(audit) as Box<dyn Audit>).collect())
    }
}
