//! Reading: each call on a connection of its own, beside the writer.

use std::ops::ControlFlow;
use std::path::Path;

use cairn_core::Sha;
use cairn_core::brief::TraceThought;
use cairn_core::id::{ActionId, BriefId, ThoughtId};
use cairn_core::thought::{SEALED, Thought, ThoughtType};
use cairn_core::tree::Summary;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::{SqliteStore, context, memory, redact, sessions, sweep, token};
use crate::context::{ContextHead, NodeHit};
use crate::options::Durability;
use crate::read::ActionThought;
use crate::redact::Pieces;
use crate::search::{SearchHit, Terms};
use crate::store::{
    Audit, BriefHead, Counts, EventText, FoldRow, ListFilter, LogHead, MemoryHead, ReadBrief, ReadEvent,
    SearchScope, SessionCounts, Store, StoreError, StoreWriter, Swept, TokenRow,
};
use crate::token::TokenInfo;
use crate::verify::Progress;

type Result<T> = std::result::Result<T, StoreError>;

/// The columns that [`to_thought`] reads.
pub const THOUGHT: &str =
    "SELECT t.seq, t.id, t.type, k.name, s.name, t.step_index, p.id, t.agent_id, t.action_id,
    t.context_id, t.brief_id, t.timestamp, t.content, t.metadata, t.prev_hash, t.hash, t.content_hash,
    t.chain_hash
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
    LEFT JOIN thought p ON p.seq = t.parent_seq";

/// The columns that [`to_summary`] reads, content cut to `?1` characters (all of it if that is negative).
const SUMMARY: &str =
    "SELECT t.id, t.type, iif(?1 < 0, t.content, substr(t.content, 1, ?1)), t.step_index, k.name,
    t.agent_id, p.id, t.action_id, t.context_id, t.brief_id, t.timestamp, s.name, t.seq
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
    LEFT JOIN thought p ON p.seq = t.parent_seq";

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

/// Reads a row of [`THOUGHT`].
pub fn to_thought(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Thought> {
    let metadata: Option<String> = row.get(13)?;
    let (content, redacted) = match row.get(12)? {
        Some(content) => (content, None),
        None => (String::new(), Some(redact::why(connection, row.get(0)?)?)),
    };
    Ok(Thought {
        seq: row.get(0)?,
        id: typed(row.get(1)?, ThoughtId::new)?,
        kind: typed(row.get(2)?, |word| word.parse())?,
        task_id: typed(row.get(3)?, TryFrom::try_from)?,
        session_id: typed(row.get(4)?, TryFrom::try_from)?,
        step_index: row.get(5)?,
        parent_id: typed_or_none(row.get(6)?, ThoughtId::new)?,
        agent_id: typed(row.get(7)?, TryFrom::try_from)?,
        action_id: typed_or_none(row.get(8)?, ActionId::new)?,
        context_id: row.get(9)?,
        brief_id: typed_or_none(row.get(10)?, BriefId::new)?,
        timestamp: typed(row.get(11)?, TryFrom::try_from)?,
        sealed: content.starts_with(SEALED),
        content,
        redacted,
        metadata: typed_or_none(metadata, |text| serde_json::from_str(&text))?,
        prev_hash: Sha(row.get(14)?),
        hash: Sha(row.get(15)?),
        content_hash: Sha(row.get(16)?),
        chain_hash: Sha(row.get(17)?),
    })
}

fn to_summary(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Summary> {
    let (content, redacted) = match row.get::<_, Option<String>>(2)? {
        Some(content) => (content, None),
        None => (String::new(), Some(redact::why(connection, row.get(12)?)?)),
    };
    Ok(Summary {
        id: typed(row.get(0)?, ThoughtId::new)?,
        kind: typed(row.get(1)?, |word| word.parse())?,
        sealed: content.starts_with(SEALED),
        content,
        redacted,
        step_index: row.get(3)?,
        task_id: typed(row.get(4)?, TryFrom::try_from)?,
        agent_id: typed(row.get(5)?, TryFrom::try_from)?,
        parent_id: typed_or_none(row.get(6)?, ThoughtId::new)?,
        action_id: typed_or_none(row.get(7)?, ActionId::new)?,
        context_id: row.get(8)?,
        brief_id: typed_or_none(row.get(9)?, BriefId::new)?,
        timestamp: typed(row.get(10)?, TryFrom::try_from)?,
    })
}

/// The one thought for which `condition` holds.
pub fn thought_where(
    connection: &Connection,
    condition: &str,
    value: impl ToSql,
) -> rusqlite::Result<Option<Thought>> {
    connection
        .prepare_cached(&format!("{THOUGHT} WHERE {condition}"))?
        .query_row([value], |row| to_thought(connection, row))
        .optional()
}

/// Lets a later page of a chain start at its place in the chain's index, instead of passing over all before it.
///
/// The plus sign keeps SQLite from that index inside: going back through the log from the cursor finds the
/// place at once, since the cursor is the last record of the page before.
fn starts_behind(after: Option<u64>, chain: &str, place: &str) -> String {
    match after {
        None => String::new(),
        Some(_) => format!(
            " AND t.{place} > coalesce((SELECT {place} FROM thought WHERE seq <= :after AND +{chain} = t.{chain}
                ORDER BY seq DESC LIMIT 1), -1)"
        ),
    }
}

/// One more than is shown, so that the caller sees whether anything was cut.
fn cut(chars: Option<usize>) -> i64 {
    chars.and_then(|chars| i64::try_from(chars + 1).ok()).unwrap_or(-1)
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

    fn thought(&self, id: &str) -> Result<Option<Thought>> {
        self.read(|connection| thought_where(connection, "t.id = ?1", id))
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(|connection| redact::seal_key(connection, seq))
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<Vec<u8>>> {
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

    fn list(&self, filter: &ListFilter<'_>, visit: &mut dyn FnMut(Thought) -> ControlFlow<()>) -> Result<()> {
        let mut sql = THOUGHT.to_string();
        let kind = filter.kind.map(|kind| kind.as_str());
        let after = filter.after.map_or(-1, |after| after as i64);
        let mut values: Vec<(&str, &dyn ToSql)> = vec![(":after", &after)];
        sql.push_str(" WHERE t.seq > :after");
        if let Some(task_id) = &filter.task_id {
            sql.push_str(" AND t.task_no = (SELECT no FROM task WHERE name = :task)");
            sql.push_str(&starts_behind(filter.after, "task_no", "position"));
            values.push((":task", task_id));
        }
        if let Some(session_id) = &filter.session_id {
            sql.push_str(" AND t.session_no = (SELECT no FROM session WHERE name = :session)");
            sql.push_str(&starts_behind(filter.after, "session_no", "step_index"));
            values.push((":session", session_id));
        }
        if let Some(kind) = &kind {
            sql.push_str(" AND t.type = :type");
            values.push((":type", kind));
        }
        if let Some(agent_id) = &filter.agent_id {
            sql.push_str(" AND t.agent_id = :agent");
            values.push((":agent", agent_id));
        }
        // Both chains grow in log order, so their index gives that order without sorting.
        sql.push_str(match (filter.task_id, filter.session_id) {
            (Some(_), _) => " ORDER BY t.task_no, t.position",
            (None, Some(_)) => " ORDER BY t.session_no, t.step_index",
            (None, None) => " ORDER BY t.seq",
        });
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(&values[..])?;
            while let Some(row) = rows.next()? {
                if visit(to_thought(connection, row)?).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn session(&self, session_id: &str, chars: Option<usize>) -> Result<Vec<Summary>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "{SUMMARY} WHERE t.session_no = (SELECT no FROM session WHERE name = ?2) ORDER BY t.step_index"
                ))?
                .query_map(params![cut(chars), session_id], |row| to_summary(connection, row))?
                .collect()
        })
    }

    fn path(&self, id: &str, chars: usize) -> Result<Vec<Summary>> {
        self.read(|connection| {
            let mut path: Vec<Summary> = Vec::new();
            let mut by_id = connection.prepare_cached(&format!("{SUMMARY} WHERE t.id = ?2"))?;
            let mut next = Some(id.to_string());
            while let Some(id) = next.take() {
                let read = |row: &Row<'_>| to_summary(connection, row);
                let step = by_id.query_row(params![cut(Some(chars)), id], read).optional()?;
                if let Some(step) = step {
                    // A parent is always older; anything else is tampering and would not end.
                    if path.last().is_some_and(|child| child.step_index <= step.step_index) {
                        break;
                    }
                    next = step.parent_id.as_ref().map(|id| id.to_string());
                    path.push(step);
                }
            }
            path.reverse();
            Ok(path)
        })
    }

    fn for_action(&self, action_id: &str, chars: usize) -> Result<Vec<ActionThought>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "{SUMMARY} WHERE t.seq IN (SELECT seq FROM action WHERE action_id = ?2)
                       AND t.action_id = ?2 ORDER BY t.seq"
                ))?
                .query_map(params![cut(Some(chars)), action_id], |row| {
                    Ok(ActionThought {
                        thought: to_summary(connection, row)?,
                        session_id: typed(row.get(11)?, TryFrom::try_from)?,
                    })
                })?
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
    ) -> Result<(Vec<SearchHit>, bool)> {
        self.read(|connection| super::search::search(connection, terms, scope, limit, newest))
    }

    fn context(&self, id: u64) -> Result<Option<ContextHead>> {
        self.read(|connection| context::head(connection, id))
    }

    fn context_history(&self, roadmap_id: &str, before: Option<u64>, limit: u64) -> Result<Vec<ContextHead>> {
        self.read(|connection| context::history(connection, roadmap_id, before, limit))
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(|connection| Ok(context::roadmap(connection, roadmap_id)?.map_or(0, |head| head.length)))
    }

    fn thoughts_on(&self, context_id: u64, limit: u64) -> Result<(u64, Vec<Thought>)> {
        self.read(|connection| context::thoughts_on(connection, context_id, limit))
    }

    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<ContextHead>> {
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

    fn drifted(&self, roadmap_id: Option<&str>, limit: u64) -> Result<Vec<Thought>> {
        self.read(|connection| context::drifted(connection, roadmap_id, limit))
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

    fn event_by_key(&self, key: &str) -> Result<Option<ReadEvent>> {
        self.read(|connection| memory::event_by_key(connection, key))
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(|connection| memory::body(connection, digest))
    }

    fn trace(&self, session_id: &str, after: u64, to: u64) -> Result<Vec<TraceThought>> {
        self.read(|connection| memory::trace(connection, session_id, after, to))
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(|connection| memory::newest_thought(connection, session_id, to))
    }

    fn brief(&self, id: &str) -> Result<Option<ReadBrief>> {
        self.read(|connection| memory::brief(connection, id))
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<BriefHead>> {
        self.read(|connection| memory::briefs(connection, session_id, limit))
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(|connection| sessions::newest_first(connection, before, limit))
    }

    fn first_thought(&self, session_id: &str, chars: usize) -> Result<Option<Summary>> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "{SUMMARY} WHERE t.session_no = (SELECT no FROM session WHERE name = ?2) AND t.step_index = 0"
                ))?
                .query_row(params![cut(Some(chars)), session_id], |row| to_summary(connection, row))
                .optional()
        })
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

    fn thoughts_at(&self, seqs: &[u64], chars: usize) -> Result<Vec<(u64, Summary)>> {
        self.read(|connection| {
            let mut at = connection.prepare_cached(&format!("{SUMMARY} WHERE t.seq = ?2"))?;
            let mut found = Vec::with_capacity(seqs.len());
            for seq in seqs {
                let read = |row: &Row<'_>| to_summary(connection, row);
                let thought = at.query_row(params![cut(Some(chars)), seq], read).optional()?;
                found.extend(thought.map(|thought| (*seq, thought)));
            }
            Ok(found)
        })
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
