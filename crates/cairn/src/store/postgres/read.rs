//! Reading: each call on a connection of its own, beside the writer.
//!
//! What can be long is read a page at a time, so that no connection is held while somebody looks at rows, and a connection
//! that is lost costs one page. The log only grows, so pages fit together.

use std::path::Path;

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::log::{TileSource, Tiles, root};

use super::connect::Link;
use super::record::{IN_RANGE, LEAVES};
use super::replica::Replica;
use super::row::{at, get, number, sha, wrong_form};
use super::{PostgresStore, Result};
use crate::store::{
    Audit, Counts, LogHead, LogReader, Progress, ReplicaStatus, Store, StoreError, StoreWriter,
};

/// Rows of a page that hold no texts.
pub const SHORT_ROWS: i64 = 4096;
/// Rows of a first page that hold texts, and of the longest.
pub const FIRST_PAGE: i64 = 32;
const LONGEST_PAGE: i64 = 1024;
/// Bytes of texts that a page should have.
const PAGE_BYTES: usize = 2 << 20;

/// The stored hashes of the entries in a range of the log, in order.
pub async fn leaf_hashes(link: &Link, from: u64, to: u64) -> Result<Vec<Sha>> {
    let sql = format!("SELECT leaf_hash FROM {} WHERE {IN_RANGE} ORDER BY seq", *LEAVES);
    link.all(&sql, &[&at(from), &at(to)]).await?.iter().map(|row| sha(row, 0)).collect()
}

/// The hashes of a tile, as far as there are.
pub async fn tile(link: &Link, level: u8, index: u64) -> Result<Vec<Sha>> {
    let sql = "SELECT hashes FROM tile WHERE level = $1 AND idx = $2";
    let Some(row) = link.one(sql, &[&i32::from(level), &at(index)]).await? else { return Ok(Vec::new()) };
    Ok(get::<&[u8]>(&row, 0)?.as_chunks::<32>().0.iter().map(|hash| Sha(*hash)).collect())
}

/// The root of the first `size` entries.
pub async fn root_at(link: &Link, size: u64) -> Result<Sha> {
    let mut fetched = Fetched::default();
    loop {
        match root(size, &mut Tiles::new(&fetched)) {
            Ok(root) => return Ok(root),
            Err(Wanted::Leaves(from, to)) => {
                fetched.leaves.insert(from, leaf_hashes(link, from, to).await?);
            }
            Err(Wanted::Tile(level, index)) => {
                fetched.tiles.insert((level, index), tile(link, level, index).await?);
            }
            Err(Wanted::Missing) => return Err(StoreError::Damaged("entries of the log are missing".into())),
        }
    }
}

/// Parts of the tree that were read.
#[derive(Default)]
struct Fetched {
    leaves: HashMap<u64, Vec<Sha>>,
    tiles: HashMap<(u8, u64), Vec<Sha>>,
}

/// The next part that has to be read.
enum Wanted {
    Leaves(u64, u64),
    Tile(u8, u64),
    /// It was read, and does not hold what it should.
    Missing,
}

impl TileSource for &Fetched {
    type Error = Wanted;

    fn leaves(&mut self, from: u64, to: u64) -> std::result::Result<Vec<Sha>, Wanted> {
        self.leaves.get(&from).cloned().ok_or(Wanted::Leaves(from, to))
    }

    fn tile(&mut self, level: u8, index: u64) -> std::result::Result<Vec<Sha>, Wanted> {
        self.tiles.get(&(level, index)).cloned().ok_or(Wanted::Tile(level, index))
    }

    fn missing(&self, _level: u8, _index: u64) -> Wanted {
        Wanted::Missing
    }
}

/// How many rows the next page should have, after one of `rows` with so many bytes of texts.
pub fn next_page(rows: i64, bytes: usize) -> i64 {
    if bytes > PAGE_BYTES { (rows / 2).max(1) } else { (rows * 2).min(LONGEST_PAGE) }
}

impl LogReader for PostgresStore {
    fn head(&self) -> Result<LogHead> {
        self.read(async |link| {
            let row = link.one("SELECT origin, size, root FROM log", &[]).await?.ok_or_else(wrong_form)?;
            Ok(LogHead { origin: get(&row, 0)?, size: number(&row, 1)?, root: sha(&row, 2)? })
        })
    }

    fn leaf_hashes(&self, from: u64, to: u64) -> Result<Vec<Sha>> {
        self.read(async |link| leaf_hashes(link, from, to).await)
    }

    fn tile(&self, level: u8, index: u64) -> Result<Vec<Sha>> {
        self.read(async |link| tile(link, level, index).await)
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
}

impl Store for PostgresStore {
    fn writer(&self) -> Result<Box<dyn StoreWriter>> {
        self.open_writer()
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.place)
    }

    fn sync(&self) -> Result<()> {
        // The server answered a commit when it was durable, as far as it is told to wait for that.
        Ok(())
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
