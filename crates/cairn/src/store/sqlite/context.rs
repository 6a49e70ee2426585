//! Snapshots of roadmaps: writing them, reading them, and the documents of their nodes.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Node;
use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, params};

use super::SqliteStore;
use super::append::SqliteAppend;
use super::error::store_error;
use super::fts5;
use super::read::typed;
use super::record;
use super::search::any_of;
use crate::store::tables;
use crate::store::{
    Contexts, MATCH_END, MATCH_START, NodeHit, PlanAppend, PlanReader, Result, RoadmapHead, Terms, Visit,
    passage,
};

/// Visits snapshots without their contents.
fn contexts(connection: &Connection, which: &Contexts<'_>, visit: Visit<'_>) -> rusqlite::Result<()> {
    let select = tables::select(EntryKind::Snapshot, false);
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut each = |condition: &str, values: &[&dyn ToSql]| {
        record::each(connection, EntryKind::Snapshot, &format!("{select} {condition}"), values, visit)
            .map(drop)
    };
    match which {
        Contexts::Id(id) => each("WHERE t.id = ?1", &[&number(*id)]),
        Contexts::History { roadmap_id, before, limit } => each(
            "WHERE t.roadmap_no = (SELECT no FROM roadmap WHERE name = ?1) AND (?2 IS NULL OR t.id < ?2)
             ORDER BY t.position DESC LIMIT ?3",
            &[roadmap_id, &before.map(number), &number(*limit)],
        ),
        Contexts::Current(roadmap_id) => each(
            "WHERE t.position = r.length - 1 AND (?1 IS NULL OR r.name = ?1) ORDER BY r.name",
            &[roadmap_id],
        ),
    }
}

/// Decisions that name a snapshot: `c` is that, `l` the newest of the same roadmap.
pub const DECISIONS: &str = "FROM roadmap r
    JOIN context l ON l.roadmap_no = r.no AND l.position = r.length - 1
    JOIN context c ON c.roadmap_no = r.no
    CROSS JOIN thought t ON t.context_id = c.id
  WHERE t.type = 'decision' AND (?1 IS NULL OR r.name = ?1)";

/// A roadmap's head.
fn roadmap(connection: &Connection, name: &str) -> rusqlite::Result<Option<RoadmapHead>> {
    connection
        .prepare_cached("SELECT no, length FROM roadmap WHERE name = ?1")?
        .query_row([name], |row| Ok(RoadmapHead { no: row.get(0)?, length: row.get(1)? }))
        .optional()
}

/// Makes the nodes of the snapshots in the range `(from, to]` of the log the documents of their roadmaps, and
/// prunes those of older snapshots.
pub fn index_nodes(transaction: &Transaction<'_>, from: u64, to: u64) -> rusqlite::Result<()> {
    // Of several snapshots of one roadmap only the newest counts.
    let newest: Vec<(i64, i64)> = transaction
        .prepare_cached(
            "SELECT roadmap_no, snapshot_no FROM context c WHERE seq > ?1 AND seq <= ?2
               AND position = (SELECT max(position) FROM context WHERE roadmap_no = c.roadmap_no AND seq <= ?2)",
        )?
        .query_map([from, to], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (roadmap, snapshot) in newest {
        let indexed: Option<i64> = transaction
            .prepare_cached("SELECT snapshot_no FROM rag_documents WHERE roadmap_no = ?1 LIMIT 1")?
            .query_row([roadmap], |row| row.get(0))
            .optional()?;
        if indexed != Some(snapshot) {
            index_roadmap(transaction, roadmap, snapshot)?;
            fts5::note_parts(transaction, &fts5::RAG_SEARCH)?;
        }
    }
    Ok(())
}

fn index_roadmap(transaction: &Transaction<'_>, roadmap: i64, snapshot: i64) -> rusqlite::Result<()> {
    let fts5::Index { table, source, rowid, columns, .. } = fts5::RAG_SEARCH;
    let of_roadmap = format!("WHERE {rowid} IN (SELECT no FROM rag_documents WHERE roadmap_no = ?1)");
    transaction
        .prepare_cached(&format!(
            "INSERT INTO {table} ({table}, rowid, {columns})
             SELECT 'delete', {rowid}, {columns} FROM {source} {of_roadmap}"
        ))?
        .execute([roadmap])?;
    transaction.prepare_cached("DELETE FROM rag_documents WHERE roadmap_no = ?1")?.execute([roadmap])?;
    transaction
        .prepare_cached(
            "INSERT INTO rag_documents (roadmap_no, snapshot_no, node)
             SELECT ?1, ?2, j.value FROM snapshot s, json_each(s.data, '$.nodes') j WHERE s.no = ?2 ORDER BY j.key",
        )?
        .execute([roadmap, snapshot])?;
    transaction
        .prepare_cached(&format!(
            "INSERT INTO {table} (rowid, {columns}) SELECT {rowid}, {columns} FROM {source} {of_roadmap}"
        ))?
        .execute([roadmap])
        .map(drop)
}

/// Removes the documents of a snapshot's nodes, and writes their index anew without them.
pub fn forget_nodes(connection: &Connection, snapshot: i64) -> rusqlite::Result<()> {
    let fts5::Index { table, source, rowid, columns, .. } = fts5::RAG_SEARCH;
    let of_snapshot = format!("WHERE {rowid} IN (SELECT no FROM rag_documents WHERE snapshot_no = ?1)");
    let sql = format!(
        "INSERT INTO {table} ({table}, rowid, {columns}) SELECT 'delete', {rowid}, {columns} FROM {source} {of_snapshot}"
    );
    if connection.execute(&sql, [snapshot])? == 0 {
        return Ok(());
    }
    connection.execute("DELETE FROM rag_documents WHERE snapshot_no = ?1", [snapshot])?;
    connection.execute(&format!("INSERT INTO {table} ({table}) VALUES ('optimize')"), [])?;
    fts5::note_parts(connection, &fts5::RAG_SEARCH)
}

/// The numbers and positions of the snapshots that share a content.
pub const SHARING: &str = "SELECT id, seq FROM context WHERE snapshot_no = (SELECT no FROM snapshot WHERE content_hash = ?1) ORDER BY seq";

/// Empties the documents of nodes and their index.
pub fn clear_nodes(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute("INSERT INTO rag_search (rag_search) VALUES ('delete-all')", [])?;
    transaction.execute("DELETE FROM rag_documents", [])?;
    fts5::note_parts(transaction, &fts5::RAG_SEARCH)
}

impl PlanReader for SqliteStore {
    fn contexts(&self, which: &Contexts<'_>, visit: Visit<'_>) -> Result<()> {
        self.read(|connection| contexts(connection, which, visit))
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(|connection| Ok(roadmap(connection, roadmap_id)?.map_or(0, |head| head.length)))
    }

    fn count_on(&self, context_id: u64) -> Result<u64> {
        self.read(|connection| {
            let context_id = i64::try_from(context_id).unwrap_or(i64::MAX);
            connection
                .prepare_cached("SELECT count(*) FROM thought WHERE context_id = ?1")?
                .query_row([context_id], |row| row.get(0))
        })
    }

    fn snapshot(&self, context_id: u64) -> Result<Option<String>> {
        self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT s.data FROM context c JOIN snapshot s ON s.no = c.snapshot_no WHERE c.id = ?1",
                )?
                .query_row([context_id], |row| row.get(0))
                .optional()
                .map(Option::flatten)
        })
    }

    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>> {
        self.read(|connection| {
            // A match in what people call a node counts most.
            connection
                .prepare_cached(
                    "SELECT r.name, (
                         SELECT max(c.id) FROM context c
                         WHERE c.roadmap_no = d.roadmap_no AND c.snapshot_no = d.snapshot_no),
                       d.node, bm25(rag_search, 2.0, 4.0, 1.0, 0.5) AS best, snippet(rag_search, -1, ?3, ?4, '…', 24)
                     FROM rag_search JOIN rag_documents d ON d.no = rag_search.rowid JOIN roadmap r ON r.no = d.roadmap_no
                     WHERE rag_search MATCH ?1 AND (?2 IS NULL OR r.name = ?2) ORDER BY best, d.no LIMIT ?5",
                )?
                .query_map(
                    params![
                        any_of(terms),
                        roadmap_id,
                        MATCH_START.to_string(),
                        MATCH_END.to_string(),
                        limit as i64
                    ],
                    |row| {
                        Ok(NodeHit {
                            roadmap_id: typed(row.get(0)?, RoadmapId::new)?,
                            context_id: row.get(1)?,
                            node: typed(row.get::<_, String>(2)?, |text| serde_json::from_str::<Node>(&text))?,
                            rank: row.get(3)?,
                            snippet: passage(row.get(4)?),
                        })
                    },
                )?
                .collect()
        })
    }

    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)> {
        self.read(|connection| {
            connection
                .prepare_cached(&format!(
                    "SELECT count(*), coalesce(sum(c.snapshot_no <> l.snapshot_no), 0) {DECISIONS}"
                ))?
                .query_row([roadmap_id], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }
}

impl PlanAppend for SqliteAppend<'_> {
    fn contexts(&mut self) -> Result<u64> {
        self.one("SELECT coalesce(max(id), 0) FROM context", [], |row| row.get(0))
            .map(Option::unwrap_or_default)
    }

    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>> {
        roadmap(self.transaction, name).map_err(store_error)
    }

    fn newest_context(&mut self, roadmap_id: &str, visit: Visit<'_>) -> Result<()> {
        let newest = Contexts::History { roadmap_id, before: None, limit: 1 };
        contexts(self.transaction, &newest, visit).map_err(store_error)
    }

    fn snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<Option<(i64, bool)>> {
        self.one(
            "SELECT no, data IS ?2 FROM snapshot WHERE content_hash = ?1",
            params![&hash.0[..], data],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
    }

    fn sharing(&mut self, hash: &Sha) -> Result<Vec<(u64, u64)>> {
        let read = || {
            let mut statement = self.transaction.prepare_cached(SHARING)?;
            let rows = statement.query_map([&hash.0[..]], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<_>>()
        };
        read().map_err(store_error)
    }

    fn add_roadmap(&mut self, name: &str) -> Result<i64> {
        self.execute("INSERT INTO roadmap (name, length) VALUES (?1, 0)", [name])?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn add_snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<i64> {
        self.execute(
            "INSERT INTO snapshot (content_hash, data) VALUES (?1, ?2)",
            params![&hash.0[..], data],
        )?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()> {
        self.execute("UPDATE roadmap SET length = ?2 WHERE no = ?1", params![head.no, head.length])
    }
}
