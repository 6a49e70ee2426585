//! Reading: each call on a connection of its own, beside the writer.
//!
//! What can be long is read a page at a time, so that no connection is held while somebody looks at rows, and a connection
//! that is lost costs one page. The log only grows, so pages fit together.

use std::ops::ControlFlow;
use std::path::Path;

use cairn_core::Sha;
use cairn_core::id::{BriefId, ThoughtId};
use cairn_core::thought::ThoughtType;
use tokio_postgres::Row;

use super::connect::Link;
use super::replica::Replica;
use super::row::{at, get, number, number_or_none, sha, typed, wrong_form};
use super::{PostgresStore, Result, context, memory, redact, review, search, sessions, thoughts, token};
use crate::context::NodeHit;
use crate::redact::Pieces;
use crate::search::Terms;
use crate::store::{
    Audit, ChainOf, Counts, EventText, FoldRow, FoundThought, LogHead, MemoryHead, Read, ReadBrief,
    ReadContext, ReadEvent, ReadThought, RedactionLeaf, ReplicaStatus, SearchScope, SessionCounts, Store,
    StoreError, StoreWriter, StoredReview, Swept, Thoughts, TokenRow,
};
use crate::token::TokenInfo;
use crate::verify::Progress;

/// Rows of a page that hold no texts.
const SHORT_ROWS: i64 = 4096;
/// Rows of a first page that hold texts, and of the longest.
pub const FIRST_PAGE: i64 = 32;
const LONGEST_PAGE: i64 = 1024;
/// Bytes of texts that a page should have.
const PAGE_BYTES: usize = 2 << 20;

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

/// How many rows the next page should have, after one of `rows` with so many bytes of texts.
pub fn next_page(rows: i64, bytes: usize) -> i64 {
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

    fn thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<ReadThought>) -> ControlFlow<()>,
    ) -> Result<()> {
        thoughts::visit(self, which, visit)
    }

    fn chain_length(&self, of: ChainOf<'_>) -> Result<Option<u64>> {
        self.read(async |link| sessions::chain_length(link, of).await)
    }

    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(async |link| redact::seal_key(link, seq).await)
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
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
    ) -> Result<(Vec<FoundThought>, bool)> {
        self.read_derived(async |link| search::search(link, terms, scope, limit, newest).await)
    }

    fn context(&self, id: u64) -> Result<Option<Read<ReadContext>>> {
        self.read(async |link| context::head(link, id).await)
    }

    fn context_history(
        &self,
        roadmap_id: &str,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Vec<Read<ReadContext>>> {
        self.read(async |link| context::history(link, roadmap_id, before, limit).await)
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(async |link| Ok(context::roadmap(link, roadmap_id).await?.map_or(0, |head| head.length)))
    }

    fn count_on(&self, context_id: u64) -> Result<u64> {
        self.read(async |link| context::count_on(link, context_id).await)
    }

    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<Read<ReadContext>>> {
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
                let event = memory::event_text(row)?;
                after = event.seq;
                bytes += event.body.len();
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

    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>> {
        self.read(async |link| memory::event_by_key(link, key).await)
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(async |link| memory::body(link, digest).await)
    }

    fn newest_thought(&self, session_id: &str, to: u64) -> Result<Option<u64>> {
        self.read(async |link| memory::newest_thought(link, session_id, to).await)
    }

    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>> {
        self.read(async |link| memory::brief(link, id).await)
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>> {
        self.read(async |link| memory::briefs(link, session_id, limit).await)
    }

    fn reviews(&self, target_id: &str) -> Result<Vec<StoredReview>> {
        self.read(async |link| review::of(link, target_id).await)
    }

    fn sessions(&self, before: Option<u64>, limit: u64) -> Result<Vec<SessionCounts>> {
        self.read(async |link| sessions::newest_first(link, before, limit).await)
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
