//! Tables that are derived from the records: the search index, the list of actions, the documents of nodes, the chains of
//! tasks and sessions, the tiles of the tree.

use std::time::Duration;

use cairn_core::Sha;
use cairn_core::log::{TILE_WIDTH, subtree};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::append::SqliteWriter;
use super::error::store_error;
use super::{chains, context, fts5, read, wait_for_turn};
use crate::store::{DerivedWriter, FoldRow, Result};

/// How long others are waited for before something is kept that can be done without.
const PATIENCE: Duration = Duration::from_millis(100);

impl DerivedWriter for SqliteWriter {
    fn catch_up(&mut self, rows: u64) -> Result<u64> {
        catch_up(&mut self.connection, rows).map_err(store_error)
    }

    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>, redaction: u64) -> Result<()> {
        // Nobody needs it so much that a program should wait for others before it can end.
        let FoldRow { seq, v, sha256, state } = fold;
        let kept = self.connection.busy_timeout(PATIENCE).and_then(|()| {
            self.connection
                .prepare_cached(
                    "INSERT INTO fold (session_no, seq, v, sha256, state)
                     SELECT e.session_no, e.seq, ?3, ?4, ?5 FROM event e JOIN session s ON s.no = e.session_no
                     WHERE s.name = ?1 AND e.seq = ?2
                       AND NOT EXISTS (SELECT 1 FROM redaction r JOIN event o ON o.seq = r.target_seq
                                       WHERE r.seq > ?6 AND o.session_no = e.session_no)
                     ON CONFLICT (session_no) DO UPDATE
                     SET seq = excluded.seq, v = excluded.v, sha256 = excluded.sha256, state = excluded.state
                     WHERE excluded.seq > fold.seq OR excluded.v IS NOT fold.v",
                )?
                .execute(params![session_id, seq, v, sha256, state, redaction])
        });
        self.connection.busy_handler(Some(wait_for_turn)).and(kept).map(drop).map_err(store_error)
    }

    fn clear_derived(&mut self) -> Result<()> {
        let clear = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // The index may be the damaged part, so it is made anew rather than asked to empty itself.
            transaction.execute("INSERT INTO search (search) VALUES ('delete-all')", [])?;
            transaction.execute("DELETE FROM action", [])?;
            transaction.execute("DELETE FROM tile", [])?;
            chains::clear(&transaction)?;
            transaction.execute("DELETE FROM fold", [])?;
            context::clear_nodes(&transaction)?;
            transaction.execute("UPDATE derived SET through = 0, chained = 0", [])?;
            fts5::note_parts(&transaction, &fts5::SEARCH)?;
            transaction.commit()
        };
        clear(&mut self.connection).map_err(store_error)
    }
}

/// Covers up to `rows` more entries; returns how many are left.
fn catch_up(connection: &mut Connection, rows: u64) -> rusqlite::Result<u64> {
    let behind = |connection: &Connection| -> rusqlite::Result<(u64, u64, u64)> {
        connection
            .prepare_cached("SELECT chained, through, (SELECT size FROM log) - 1 FROM derived")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    };
    let (chained, through, newest) = behind(connection)?;
    if through.min(chained) >= newest {
        return Ok(0);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let (chained, through, newest) = behind(&transaction)?;
    let left = cover_chains(&transaction, chained, newest, rows)?;
    if through < newest {
        cover_texts(&transaction, through, newest.min(through + rows))?;
    }
    transaction.commit()?;
    Ok(left.max(newest.saturating_sub(through + rows)))
}

/// Covers up to `rows` more entries in the tables that `chained` is about; returns how many are left.
pub fn cover_chains(connection: &Connection, chained: u64, newest: u64, rows: u64) -> rusqlite::Result<u64> {
    let to = newest.min(chained + rows);
    if chained < to {
        chains::fill(connection, chained, to)?;
        fill_tiles(connection, chained, to)?;
        connection.prepare_cached("UPDATE derived SET chained = ?1")?.execute([to])?;
    }
    Ok(newest.saturating_sub(to))
}

/// Covers the entries after `through` and up to `to` in the tables that `through` is about.
fn cover_texts(connection: &Transaction<'_>, through: u64, to: u64) -> rusqlite::Result<()> {
    // First the watermark: the search index reads its source through a view that stops there.
    connection.prepare_cached("UPDATE derived SET through = ?1")?.execute([to])?;
    connection
        .prepare_cached(
            "INSERT INTO search (rowid, content, metadata, scope)
             SELECT seq, content, metadata, scope FROM search_source WHERE seq > ?1",
        )?
        .execute([through])?;
    connection
        .prepare_cached(
            "INSERT INTO action (action_id, seq)
             SELECT action_id, seq FROM thought WHERE seq > ?1 AND seq <= ?2 AND action_id IS NOT NULL",
        )?
        .execute([through, to])?;
    context::index_nodes(connection, through, to)?;
    fts5::note_parts(connection, &fts5::SEARCH)
}

/// Adds to the tiles the nodes that entries after `through` and up to `to` complete.
fn fill_tiles(connection: &Connection, through: u64, to: u64) -> rusqlite::Result<()> {
    let mut complete = Vec::new();
    for block in (through + 1) / TILE_WIDTH..(to + 1) / TILE_WIDTH {
        let leaves = read::leaf_hashes(connection, block * TILE_WIDTH, (block + 1) * TILE_WIDTH)?;
        if leaves.len() as u64 != TILE_WIDTH {
            // An entry is missing; verification says so.
            return Ok(());
        }
        complete.push((block, subtree(leaves)));
    }
    for (index, hash) in complete {
        push_to_tile(connection, 1, index, hash)?;
    }
    Ok(())
}

/// Adds hash `index` of a level to its tile; where that completes it, its root to the tile above.
fn push_to_tile(connection: &Connection, level: u8, index: u64, hash: Sha) -> rusqlite::Result<()> {
    let tile = index / TILE_WIDTH;
    connection
        .prepare_cached(
            "INSERT INTO tile (level, idx, hashes) VALUES (?1, ?2, ?3)
             ON CONFLICT (level, idx) DO UPDATE SET hashes = CAST(hashes || excluded.hashes AS BLOB)",
        )?
        .execute(params![level, tile, &hash.0[..]])?;
    if (index + 1).is_multiple_of(TILE_WIDTH) {
        let hashes = read::tile(connection, level, tile)?;
        if hashes.len() as u64 == TILE_WIDTH {
            return push_to_tile(connection, level + 1, tile, subtree(hashes));
        }
    }
    Ok(())
}
