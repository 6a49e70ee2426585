//! Tables that are derived from the records: the search index, the list of actions, the documents of nodes, the tiles of
//! the tree.

use std::time::Duration;

use cairn_core::Sha;
use cairn_core::log::{TILE_WIDTH, subtree};
use rusqlite::{Connection, TransactionBehavior, params};

use super::append::SqliteWriter;
use super::error::store_error;
use super::{context, fts5, read, wait_for_turn};
use crate::store::{DerivedWriter, FoldRow, Result};

/// How long others are waited for before something is kept that can be done without.
const PATIENCE: Duration = Duration::from_millis(100);

impl DerivedWriter for SqliteWriter {
    fn catch_up(&mut self, rows: u64) -> Result<u64> {
        catch_up(&mut self.connection, rows).map_err(store_error)
    }

    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>) -> Result<()> {
        // Nobody needs it so much that a program should wait for others before it can end.
        let FoldRow { seq, v, sha256, state } = fold;
        let kept = self.connection.busy_timeout(PATIENCE).and_then(|()| {
            self.connection
                .prepare_cached(
                    "INSERT INTO fold (session_no, seq, v, sha256, state)
                     SELECT e.session_no, e.seq, ?3, ?4, ?5 FROM event e JOIN session s ON s.no = e.session_no
                     WHERE s.name = ?1 AND e.seq = ?2
                     ON CONFLICT (session_no) DO UPDATE
                     SET seq = excluded.seq, v = excluded.v, sha256 = excluded.sha256, state = excluded.state
                     WHERE excluded.seq > fold.seq OR excluded.v IS NOT fold.v",
                )?
                .execute(params![session_id, seq, v, sha256, state])
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
            transaction.execute("DELETE FROM fold", [])?;
            context::clear_nodes(&transaction)?;
            transaction.execute("UPDATE derived SET through = 0", [])?;
            fts5::note_parts(&transaction, &fts5::SEARCH)?;
            transaction.commit()
        };
        clear(&mut self.connection).map_err(store_error)
    }
}

/// Covers up to `rows` more entries; returns how many are left.
fn catch_up(connection: &mut Connection, rows: u64) -> rusqlite::Result<u64> {
    let behind = |connection: &Connection| -> rusqlite::Result<(u64, u64)> {
        connection
            .prepare_cached("SELECT through, (SELECT size FROM log) - 1 FROM derived")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let (through, newest) = behind(connection)?;
    if through >= newest {
        return Ok(0);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let (through, newest) = behind(&transaction)?;
    let to = newest.min(through + rows);
    // First the watermark: the search index reads its source through a view that stops there.
    transaction.prepare_cached("UPDATE derived SET through = ?1")?.execute([to])?;
    transaction
        .prepare_cached(
            "INSERT INTO search (rowid, content, metadata, scope)
             SELECT seq, content, metadata, scope FROM search_source WHERE seq > ?1",
        )?
        .execute([through])?;
    transaction
        .prepare_cached(
            "INSERT INTO action (action_id, seq)
             SELECT action_id, seq FROM thought WHERE seq > ?1 AND seq <= ?2 AND action_id IS NOT NULL",
        )?
        .execute([through, to])?;
    context::index_nodes(&transaction, through, to)?;
    fill_tiles(&transaction, through, to)?;
    fts5::note_parts(&transaction, &fts5::SEARCH)?;
    transaction.commit()?;
    Ok(newest - to)
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
