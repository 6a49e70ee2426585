//! Reading: each call on a connection of its own, beside the writer.
//!
//! What can be long is read a page at a time, so that no connection is held while somebody looks at rows, and a connection
//! that is lost costs one page. The log only grows, so pages fit together.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use cairn_core::Sha;
use cairn_core::brief::TraceThought;
use cairn_core::id::{ActionId, BriefId, ThoughtId};
use cairn_core::thought::{SEALED, Thought, ThoughtType};
use cairn_core::tree::Summary;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connect::Link;
use super::replica::Replica;
use super::row::{at, get, number, number_or_none, sha, typed, typed_or_none, wrong_form};
use super::{PostgresStore, Result, context, memory, redact, search, sessions, token};
use crate::context::{ContextHead, NodeHit};
use crate::read::ActionThought;
use crate::redact::{Pieces, Said};
use crate::search::{SearchHit, Terms};
use crate::store::{
    Audit, BriefHead, Counts, EventText, FoldRow, ListFilter, LogHead, MemoryHead, ReadBrief, ReadEvent,
    ReplicaStatus, SearchScope, SessionCounts, Store, StoreError, StoreWriter, Swept, TokenRow,
};
use crate::token::TokenInfo;
use crate::verify::Progress;

/// Rows of a page that hold no texts.
const SHORT_ROWS: i64 = 4096;
/// Rows of a first page that hold texts, and of the longest.
const FIRST_PAGE: i64 = 32;
const LONGEST_PAGE: i64 = 1024;
/// Bytes of texts that a page should have.
const PAGE_BYTES: usize = 2 << 20;

/// The columns that [`to_thought`] reads. The last says why a text is not there.
pub const THOUGHT: &str =
    "SELECT t.seq, t.id, t.type, k.name, s.name, t.step_index, p.id, t.agent_id, t.action_id,
    t.context_id, t.brief_id, t.timestamp, t.content, t.metadata, t.prev_hash, t.hash, t.content_hash,
    t.chain_hash, CASE WHEN t.content IS NULL THEN
      (SELECT e.leaf FROM redaction r JOIN entry e ON e.seq = r.seq WHERE r.target_seq = t.seq) END
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
    LEFT JOIN thought p ON p.seq = t.parent_seq";

/// The columns that [`to_summary`] reads, content cut to `$1` characters (all of it if that is negative).
const SUMMARY: &str =
    "SELECT t.id, t.type, CASE WHEN $1::int < 0 THEN t.content ELSE left(t.content, $1::int) END, t.step_index, k.name,
    t.agent_id, p.id, t.action_id, t.context_id, t.brief_id, t.timestamp, s.name,
    CASE WHEN t.content IS NULL THEN
      (SELECT e.leaf FROM redaction r JOIN entry e ON e.seq = r.seq WHERE r.target_seq = t.seq) END, t.seq
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
    LEFT JOIN thought p ON p.seq = t.parent_seq";

/// The content, or why it is not there. Without a redaction it was not Cairn that took it.
fn content_of(
    row: &Row,
    content: usize,
    leaf: usize,
) -> Result<(String, Option<cairn_core::redaction::Redaction>)> {
    match get::<Option<String>>(row, content)? {
        Some(content) => Ok((content, None)),
        None => {
            let said = get::<Option<&[u8]>>(row, leaf)?.and_then(Said::read).ok_or_else(wrong_form)?;
            Ok((String::new(), Some(said.redaction())))
        }
    }
}

/// Reads a row of [`THOUGHT`].
pub fn to_thought(row: &Row) -> Result<Thought> {
    let (content, redacted) = content_of(row, 12, 18)?;
    Ok(Thought {
        seq: number(row, 0)?,
        id: typed(get(row, 1)?, ThoughtId::new)?,
        kind: typed(get(row, 2)?, |word: String| word.parse())?,
        task_id: typed(get(row, 3)?, TryFrom::try_from)?,
        session_id: typed(get(row, 4)?, TryFrom::try_from)?,
        step_index: number(row, 5)?,
        parent_id: typed_or_none(get(row, 6)?, ThoughtId::new)?,
        agent_id: typed(get(row, 7)?, TryFrom::try_from)?,
        action_id: typed_or_none(get(row, 8)?, ActionId::new)?,
        context_id: number_or_none(row, 9)?,
        brief_id: typed_or_none(get(row, 10)?, BriefId::new)?,
        timestamp: typed(get(row, 11)?, TryFrom::try_from)?,
        sealed: content.starts_with(SEALED),
        content,
        redacted,
        metadata: typed_or_none(get(row, 13)?, |text| serde_json::from_str(&text))?,
        prev_hash: sha(row, 14)?,
        hash: sha(row, 15)?,
        content_hash: sha(row, 16)?,
        chain_hash: sha(row, 17)?,
    })
}

fn to_summary(row: &Row) -> Result<Summary> {
    let (content, redacted) = content_of(row, 2, 12)?;
    Ok(Summary {
        id: typed(get(row, 0)?, ThoughtId::new)?,
        kind: typed(get(row, 1)?, |word: String| word.parse())?,
        sealed: content.starts_with(SEALED),
        content,
        redacted,
        step_index: number(row, 3)?,
        task_id: typed(get(row, 4)?, TryFrom::try_from)?,
        agent_id: typed(get(row, 5)?, TryFrom::try_from)?,
        parent_id: typed_or_none(get(row, 6)?, ThoughtId::new)?,
        action_id: typed_or_none(get(row, 7)?, ActionId::new)?,
        context_id: number_or_none(row, 8)?,
        brief_id: typed_or_none(get(row, 9)?, BriefId::new)?,
        timestamp: typed(get(row, 10)?, TryFrom::try_from)?,
    })
}

/// The one thought for which `condition` holds.
pub async fn thought_where(
    link: &Link,
    condition: &str,
    value: &(dyn ToSql + Sync),
) -> Result<Option<Thought>> {
    link.one(&format!("{THOUGHT} WHERE {condition}"), &[value]).await?.as_ref().map(to_thought).transpose()
}

/// Thoughts by their positions in the log, each with its metadata as it is stored.
pub async fn thoughts_at(link: &Link, seqs: &[i64]) -> Result<HashMap<i64, (Thought, Option<String>)>> {
    let rows = link.all(&format!("{THOUGHT} WHERE t.seq = ANY ($1)"), &[&seqs]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, (to_thought(row)?, get(row, 13)?)))).collect()
}

/// One node of the tree; level 0 is the hash of an entry.
pub async fn node(link: &Link, level: u8, index: u64) -> Result<Sha> {
    let row = if level == 0 {
        link.one("SELECT hash FROM entry WHERE seq = $1", &[&at(index)]).await?
    } else {
        let sql = "SELECT hash FROM node WHERE level = $1 AND idx = $2";
        link.one(sql, &[&i32::from(level), &at(index)]).await?
    };
    let missing = || StoreError::Damaged(format!("node {index} of level {level} is missing"));
    sha(&row.ok_or_else(missing)?, 0)
}

/// Nodes of the tree, in the order in which they are asked for.
pub async fn nodes(link: &Link, places: &[(u8, u64)]) -> Result<Vec<Sha>> {
    let levels: Vec<i32> = places.iter().map(|(level, _)| i32::from(*level)).collect();
    let indexes: Vec<i64> = places.iter().map(|(_, index)| at(*index)).collect();
    let rows = link
        .all(
            "SELECT p.level, p.idx, CASE WHEN p.level = 0 THEN (SELECT hash FROM entry WHERE seq = p.idx)
               ELSE (SELECT hash FROM node WHERE level = p.level AND idx = p.idx) END
             FROM unnest($1::int[], $2::bigint[]) WITH ORDINALITY AS p (level, idx, place) ORDER BY p.place",
            &[&levels, &indexes],
        )
        .await?;
    let hash = |row: &Row| match get::<Option<&[u8]>>(row, 2)? {
        Some(_) => sha(row, 2),
        None => {
            let (level, index): (i32, i64) = (get(row, 0)?, get(row, 1)?);
            Err(StoreError::Damaged(format!("node {index} of level {level} is missing")))
        }
    };
    rows.iter().map(hash).collect()
}

/// Lets a later page of a chain start at its place in the chain's index: the cursor is nearly always a record of it.
fn starts_behind(of: &str, chain: &str, place: &str, name: usize) -> String {
    format!(
        " AND t.{chain} = (SELECT no FROM {of} WHERE name = ${name}) AND t.{place} > coalesce(
            (SELECT a.{place} FROM thought a JOIN {of} n ON n.no = a.{chain} WHERE a.seq = $1 AND n.name = ${name}), -1)"
    )
}

/// One more than is shown, so that the caller sees whether anything was cut.
fn cut(chars: Option<usize>) -> i32 {
    chars.and_then(|chars| i32::try_from(chars + 1).ok()).unwrap_or(-1)
}

/// How many rows the next page should have, after one of `rows` with so many bytes of texts.
fn next_page(rows: i64, bytes: usize) -> i64 {
    if bytes > PAGE_BYTES { (rows / 2).max(1) } else { (rows * 2).min(LONGEST_PAGE) }
}

impl Store for PostgresStore {
    fn writer(&self) -> Result<Box<dyn StoreWriter>> {
        self.open_writer()
    }

    fn head(&self) -> Result<LogHead> {
        self.read(async |link| {
            let row = link.one("SELECT origin, size, root FROM log", &[]).await?.ok_or_else(wrong_form)?;
            Ok(LogHead { origin: get(&row, 0)?, size: number(&row, 1)?, root: sha(&row, 2)? })
        })
    }

    fn thought(&self, id: &str) -> Result<Option<Thought>> {
        self.read(async |link| thought_where(link, "t.id = $1", &id).await)
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(async |link| redact::seal_key(link, seq).await)
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(async |link| redact::redaction(link, target_seq).await)
    }

    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>> {
        self.read(async |link| redact::briefs_with(link, session_id, text, limit).await)
    }

    fn sweep(&self, pieces: &Pieces) -> Result<Swept> {
        self.read_here(async |link| redact::sweep(link, pieces).await)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ThoughtId>> {
        self.read(async |link| {
            // Ids are compared byte by byte, so all that begin so stand behind one another.
            let sql =
                "SELECT id FROM thought WHERE id >= $1 AND starts_with(id, $1) AND id < $1 || chr(1114111)
                       ORDER BY id LIMIT $2";
            let rows = link.all(sql, &[&prefix, &(limit as i64)]).await?;
            rows.iter().map(|row| typed(get(row, 0)?, ThoughtId::new)).collect()
        })
    }

    fn list(&self, filter: &ListFilter<'_>, visit: &mut dyn FnMut(Thought) -> ControlFlow<()>) -> Result<()> {
        let kind = filter.kind.map(|kind| kind.as_str());
        let mut sql = format!("{THOUGHT} WHERE t.seq > $1");
        let mut names: Vec<&(dyn ToSql + Sync)> = Vec::new();
        if let Some(task_id) = &filter.task_id {
            names.push(task_id);
            sql.push_str(&starts_behind("task", "task_no", "position", names.len() + 2));
        }
        if let Some(session_id) = &filter.session_id {
            names.push(session_id);
            sql.push_str(&starts_behind("session", "session_no", "step_index", names.len() + 2));
        }
        if let Some(kind) = &kind {
            names.push(kind);
            sql.push_str(&format!(" AND t.type = ${}", names.len() + 2));
        }
        if let Some(agent_id) = &filter.agent_id {
            names.push(agent_id);
            sql.push_str(&format!(" AND t.agent_id = ${}", names.len() + 2));
        }
        // Both chains grow in log order, so their index gives that order without sorting.
        sql.push_str(match (filter.task_id, filter.session_id) {
            (Some(_), _) => " ORDER BY t.position LIMIT $2",
            (None, Some(_)) => " ORDER BY t.step_index LIMIT $2",
            (None, None) => " ORDER BY t.seq LIMIT $2",
        });
        let mut after = filter.after.map_or(-1, at);
        let mut page = FIRST_PAGE;
        loop {
            let rows = self.read(async |link| {
                let mut values: Vec<&(dyn ToSql + Sync)> = vec![&after, &page];
                values.extend(&names);
                link.all(&sql, &values).await
            })?;
            let mut bytes = 0;
            for row in &rows {
                let thought = to_thought(row)?;
                after = get(row, 0)?;
                bytes += thought.content.len();
                if visit(thought).is_break() {
                    return Ok(());
                }
            }
            if (rows.len() as i64) < page {
                return Ok(());
            }
            page = next_page(page, bytes);
        }
    }

    fn session(&self, session_id: &str, chars: Option<usize>) -> Result<Vec<Summary>> {
        let sql = format!(
            "{SUMMARY} WHERE t.session_no = (SELECT no FROM session WHERE name = $2) ORDER BY t.step_index"
        );
        self.read(async |link| {
            link.all(&sql, &[&cut(chars), &session_id]).await?.iter().map(to_summary).collect()
        })
    }

    fn path(&self, id: &str, chars: usize) -> Result<Vec<Summary>> {
        // A parent is always older; anything else is tampering and would not end.
        let sql = format!(
            "WITH RECURSIVE path AS (
               SELECT seq, parent_seq, step_index FROM thought WHERE id = $2
               UNION ALL SELECT t.seq, t.parent_seq, t.step_index FROM path JOIN thought t ON t.seq = path.parent_seq
               WHERE t.step_index < path.step_index)
             {SUMMARY} WHERE t.seq IN (SELECT seq FROM path) ORDER BY t.step_index"
        );
        self.read(async |link| {
            link.all(&sql, &[&cut(Some(chars)), &id]).await?.iter().map(to_summary).collect()
        })
    }

    fn for_action(&self, action_id: &str, chars: usize) -> Result<Vec<ActionThought>> {
        let sql = format!(
            "{SUMMARY} WHERE t.seq IN (SELECT seq FROM action WHERE action_id = $2) AND t.action_id = $2
             ORDER BY t.seq"
        );
        let found = |row: &Row| {
            let session_id = typed(get(row, 11)?, TryFrom::try_from)?;
            Ok(ActionThought { thought: to_summary(row)?, session_id })
        };
        self.read_derived(async |link| {
            link.all(&sql, &[&cut(Some(chars)), &action_id]).await?.iter().map(found).collect()
        })
    }

    fn derived_through(&self) -> Result<u64> {
        self.read(async |link| {
            number(&link.one("SELECT through FROM derived", &[]).await?.ok_or_else(wrong_form)?, 0)
        })
    }

    fn search(
        &self,
        terms: &Terms,
        scope: &SearchScope<'_>,
        limit: usize,
        newest: usize,
    ) -> Result<(Vec<SearchHit>, bool)> {
        self.read_derived(async |link| search::search(link, terms, scope, limit, newest).await)
    }

    fn context(&self, id: u64) -> Result<Option<ContextHead>> {
        self.read(async |link| context::head(link, id).await)
    }

    fn context_history(&self, roadmap_id: &str, before: Option<u64>, limit: u64) -> Result<Vec<ContextHead>> {
        self.read(async |link| context::history(link, roadmap_id, before, limit).await)
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(async |link| Ok(context::roadmap(link, roadmap_id).await?.map_or(0, |head| head.length)))
    }

    fn thoughts_on(&self, context_id: u64, limit: u64) -> Result<(u64, Vec<Thought>)> {
        self.read(async |link| context::thoughts_on(link, context_id, limit).await)
    }

    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<ContextHead>> {
        self.read(async |link| context::current(link, roadmap_id).await)
    }

    fn snapshot(&self, context_id: u64) -> Result<Option<String>> {
        self.read(async |link| context::data(link, context_id).await)
    }

    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>> {
        self.read_derived(async |link| context::search_nodes(link, terms, roadmap_id, limit).await)
    }

    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)> {
        self.read(async |link| context::count_decisions(link, roadmap_id).await)
    }

    fn drifted(&self, roadmap_id: Option<&str>, limit: u64) -> Result<Vec<Thought>> {
        self.read(async |link| context::drifted(link, roadmap_id, limit).await)
    }

    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(async |link| memory::head(link, session_id).await)
    }

    fn events(
        &self,
        session_id: &str,
        after: u64,
        to: u64,
        visit: &mut dyn FnMut(EventText<'_>) -> bool,
    ) -> Result<()> {
        let mut after = after;
        let mut page = FIRST_PAGE;
        loop {
            let rows = self.read(async |link| memory::events(link, session_id, after, to, page).await)?;
            let mut bytes = 0;
            for row in &rows {
                // Others than the whole numbers and texts that were written are left to those who verify.
                let text = |column| row.try_get::<_, &str>(column).unwrap_or_default();
                after = number(row, 0)?;
                bytes += text(5).len();
                let event = EventText {
                    seq: after,
                    turn: number(row, 1)?,
                    kind: text(2),
                    v: number(row, 3)?,
                    created_at: text(4),
                    body: text(5),
                };
                if !visit(event) {
                    return Ok(());
                }
            }
            if (rows.len() as i64) < page {
                return Ok(());
            }
            page = next_page(page, bytes);
        }
    }

    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool> {
        let Some(row) = self.read(async |link| memory::fold(link, session_id, to).await)? else {
            return Ok(false);
        };
        // What cannot be read is no state; the events are there.
        let (Ok(seq), Ok(v), Ok(sha256), Ok(state)) =
            (number(&row, 0), number(&row, 1), get(&row, 2), get(&row, 3))
        else {
            return Ok(false);
        };
        visit(FoldRow { seq, v, sha256, state });
        Ok(true)
    }

    fn event_by_key(&self, key: &str) -> Result<Option<ReadEvent>> {
        self.read(async |link| memory::event_by_key(link, key).await)
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(async |link| memory::body(link, digest).await)
    }

    fn trace(&self, session_id: &str, after: u64, to: u64) -> Result<Vec<TraceThought>> {
        self.read(async |link| memory::trace(link, session_id, after, to).await)
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(async |link| memory::newest_thought(link, session_id, to).await)
    }

    fn brief(&self, id: &str) -> Result<Option<ReadBrief>> {
        self.read(async |link| memory::brief(link, id).await)
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<BriefHead>> {
        self.read(async |link| memory::briefs(link, session_id, limit).await)
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(async |link| sessions::newest_first(link, before, limit).await)
    }

    fn first_thought(&self, session_id: &str, chars: usize) -> Result<Option<Summary>> {
        let sql = format!(
            "{SUMMARY} WHERE t.session_no = (SELECT no FROM session WHERE name = $2) AND t.step_index = 0"
        );
        self.read(async |link| {
            link.one(&sql, &[&cut(Some(chars)), &session_id]).await?.as_ref().map(to_summary).transpose()
        })
    }

    fn steps(
        &self,
        session_id: &str,
        from: u64,
        before: u64,
        visit: &mut dyn FnMut(ThoughtType, &str),
    ) -> Result<()> {
        let mut from = from;
        loop {
            let rows =
                self.read(async |link| sessions::steps(link, session_id, from, before, SHORT_ROWS).await)?;
            for row in &rows {
                visit(typed(get(row, 1)?, |word: String| word.parse())?, get(row, 2)?);
                from = number(row, 0)? + 1;
            }
            if (rows.len() as i64) < SHORT_ROWS {
                return Ok(());
            }
        }
    }

    fn shape(&self, session_id: &str, visit: &mut dyn FnMut(u64, Option<u64>)) -> Result<()> {
        let mut from = 0;
        loop {
            let rows = self.read(async |link| sessions::shape(link, session_id, from, SHORT_ROWS).await)?;
            for row in &rows {
                visit(number(row, 1)?, number_or_none(row, 2)?);
                from = number(row, 0)? + 1;
            }
            if (rows.len() as i64) < SHORT_ROWS {
                return Ok(());
            }
        }
    }

    fn thoughts_at(&self, seqs: &[u64], chars: usize) -> Result<Vec<(u64, Summary)>> {
        let wanted: Vec<i64> = seqs.iter().map(|seq| at(*seq)).collect();
        let rows = self.read(async |link| {
            link.all(&format!("{SUMMARY} WHERE t.seq = ANY ($2)"), &[&cut(Some(chars)), &wanted]).await
        })?;
        let mut found: HashMap<u64, Summary> =
            rows.iter().map(|row| Ok((number(row, 13)?, to_summary(row)?))).collect::<Result<_>>()?;
        Ok(seqs.iter().filter_map(|seq| found.remove(seq).map(|thought| (*seq, thought))).collect())
    }

    fn token(&self, id: &str) -> Result<Option<TokenRow>> {
        self.read_here(async |link| token::token(link, id).await)
    }

    fn tokens(&self) -> Result<Vec<TokenInfo>> {
        self.read_here(async |link| token::tokens(link).await)
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.place)
    }

    fn sync(&self) -> Result<()> {
        // The server answered a commit when it was durable, as far as it is told to wait for that.
        Ok(())
    }

    fn node(&self, level: u8, index: u64) -> Result<Sha> {
        self.read(async |link| node(link, level, index).await)
    }

    fn leaves(&self, from: u64, to: u64, visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<()> {
        let sql = "SELECT leaf, hash FROM entry WHERE seq >= $1 AND seq < $2 ORDER BY seq";
        let mut from = from;
        while from < to {
            // An entry holds hashes and labels, no texts.
            let end = to.min(from + LONGEST_PAGE as u64);
            let rows = self.read(async |link| link.all(sql, &[&at(from), &at(end)]).await)?;
            for row in &rows {
                let bytes = |column| row.try_get::<_, &[u8]>(column).unwrap_or_default();
                visit(bytes(0), bytes(1));
            }
            from = end;
        }
        Ok(())
    }

    fn checkpoint(&self, at_most: u64) -> Result<Option<(u64, String)>> {
        self.read_here(async |link| {
            let sql = "SELECT size, note FROM checkpoint WHERE size <= $1 ORDER BY size DESC LIMIT 1";
            let row = link.one(sql, &[&at(at_most)]).await?;
            row.map(|row| Ok((number(&row, 0)?, get(&row, 1)?))).transpose()
        })
    }

    fn checkpoints(&self, limit: u64) -> Result<Vec<String>> {
        self.read_here(async |link| {
            let rows =
                link.all("SELECT note FROM checkpoint ORDER BY size DESC LIMIT $1", &[&at(limit)]).await?;
            rows.iter().map(|row| get(row, 0)).collect()
        })
    }

    fn counts(&self) -> Result<Counts> {
        self.read(async |link| {
            let row = link
                .one(
                    // Lengths instead of rows: a page of the viewer asks for this, however many there are.
                    "SELECT (SELECT coalesce(sum(length), 0)::bigint FROM session), (SELECT count(*) FROM task),
                       (SELECT count(*) FROM session),
                       (SELECT greatest(0, coalesce(sum(length), 0) - (SELECT count(*) FROM thought
                         WHERE seq > (SELECT through FROM derived)))::bigint FROM session),
                       (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
                        WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind IN ('r', 'p')),
                       (SELECT timestamp FROM thought ORDER BY seq DESC LIMIT 1), current_setting('server_version'),
                       (SELECT count(*) FROM roadmap), (SELECT count(*) FROM context),
                       (SELECT coalesce(sum(length), 0)::bigint FROM memory), (SELECT count(*) FROM brief),
                       (SELECT version FROM cairn_version)",
                    &[&self.address.schema()],
                )
                .await?
                .ok_or_else(wrong_form)?;
            // What follows the number is how it was packaged.
            let version = get::<String>(&row, 6)?;
            let version = version.split_whitespace().next().unwrap_or_default();
            Ok(Counts {
                schema: get(&row, 11)?,
                thoughts: number(&row, 0)?,
                tasks: number(&row, 1)?,
                sessions: number(&row, 2)?,
                indexed: number(&row, 3)?,
                bytes: number(&row, 4)?,
                newest: get(&row, 5)?,
                engine: format!("PostgreSQL {version}"),
                roadmaps: number(&row, 7)?,
                contexts: number(&row, 8)?,
                events: number(&row, 9)?,
                briefs: number(&row, 10)?,
            })
        })
    }

    fn backup(&self, _to: &Path, _progress: &mut dyn FnMut(Progress)) -> Result<()> {
        Err(StoreError::Other(
            "a database on a PostgreSQL server is not copied to a file from here; use `pg_dump`, or `cairn export` for \
             the evidence; docs/storage.md says how"
                .into(),
        ))
    }

    fn audit(&self) -> Result<Box<dyn Audit>> {
        self.open_audits(1)?.pop().ok_or(StoreError::Stopped)
    }

    fn audits(&self, count: usize) -> Result<Vec<Box<dyn Audit>>> {
        self.open_audits(count)
    }

    fn replica(&self) -> Option<ReplicaStatus> {
        self.replica.as_ref().map(Replica::status)
    }
}
