//! Snapshots of roadmaps: writing them, reading them, and searching their nodes.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Node;
use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::{Link, Values};
use super::derived::node_texts;
use super::record::{self, Ask};
use super::row::{at, get, number, typed, wrong_form};
use super::search::count;
use super::{PostgresStore, Result};
use crate::store::tables;
use crate::store::words::{Counted, Query, Weights, Words};
use crate::store::{Contexts, NodeHit, PlanAppend, PlanReader, RoadmapHead, StoreError, Terms, Visit};

/// How much a match counts in a node's id, label, scope and phase: most in what people call it.
const WEIGHTS: [f64; 4] = [2.0, 4.0, 1.0, 0.5];

/// Visits snapshots without their contents.
fn contexts(ask: Ask<'_>, which: &Contexts<'_>, visit: Visit<'_>) -> Result<()> {
    let select = tables::select(EntryKind::Snapshot, false);
    let mut each = |condition: &str, values: &Values<'_>| {
        record::each(ask, EntryKind::Snapshot, &format!("{select} {condition}"), values, visit)
    };
    match which {
        Contexts::Id(id) => each("WHERE t.id = $1", &[&at(*id)]),
        Contexts::History { roadmap_id, before, limit } => each(
            "WHERE t.roadmap_no = (SELECT no FROM roadmap WHERE name = $1) AND t.id < $2
             ORDER BY t.position DESC LIMIT $3",
            &[roadmap_id, &before.map_or(i64::MAX, at), &at(*limit)],
        ),
        Contexts::Current(roadmap_id) => each(
            "WHERE t.position = r.length - 1 AND ($1::text IS NULL OR r.name = $1) ORDER BY r.name",
            &[roadmap_id],
        ),
    }
}

/// The numbers and positions of the snapshots that share a content.
pub const SHARING: &str = "SELECT id, seq FROM context WHERE snapshot_no = (SELECT no FROM snapshot WHERE content_hash = $1) ORDER BY seq";

/// Decisions that name a snapshot: `c` is that, `l` the newest of the same roadmap.
pub const DECISIONS: &str = "FROM roadmap r
    JOIN context l ON l.roadmap_no = r.no AND l.position = r.length - 1
    JOIN context c ON c.roadmap_no = r.no
    JOIN thought t ON t.context_id = c.id
  WHERE t.type = 'decision' AND t.context_id IS NOT NULL AND ($1::text IS NULL OR r.name = $1)";

async fn node_weights(link: &Link, query: &Query, found: &[(&Row, Node, Counted)]) -> Result<Weights> {
    // Hardly any word stands twice in a node, so the index knows well enough how long they are.
    let sql = "SELECT count(*), coalesce(sum(length(words)), 0)::bigint FROM rag_documents";
    let row = link.one(sql, &[]).await?.ok_or_else(wrong_form)?;
    let mut holding = Vec::with_capacity(query.phrases.len());
    for (index, phrase) in query.phrases.iter().enumerate() {
        holding.push(match phrase.query() {
            Some(words) if !phrase.is_several() => count(link, "rag_documents", &words).await?,
            _ => found.iter().filter(|(.., counted)| counted.found[index] > 0.0).count() as u64,
        });
    }
    Ok(Weights::new(number(&row, 0)?, number(&row, 1)?, &holding))
}

/// A roadmap's head.
async fn roadmap(link: &Link, name: &str) -> Result<Option<RoadmapHead>> {
    let row = link.one("SELECT no, length FROM roadmap WHERE name = $1", &[&name]).await?;
    row.map(|row| Ok(RoadmapHead { no: get(&row, 0)?, length: number(&row, 1)? })).transpose()
}

impl PlanReader for PostgresStore {
    fn contexts(&self, which: &Contexts<'_>, visit: Visit<'_>) -> Result<()> {
        contexts(&mut |queries| self.several(queries), which, visit)
    }

    fn context_count(&self, roadmap_id: &str) -> Result<u64> {
        self.read(async |link| Ok(roadmap(link, roadmap_id).await?.map_or(0, |head| head.length)))
    }

    fn count_on(&self, context_id: u64) -> Result<u64> {
        self.read(async |link| {
            let total =
                link.one("SELECT count(*) FROM thought WHERE context_id = $1", &[&at(context_id)]).await?;
            total.map_or(Ok(0), |row| number(&row, 0))
        })
    }

    fn snapshot(&self, context_id: u64) -> Result<Option<String>> {
        self.read(async |link| {
            let sql = "SELECT s.data FROM context c JOIN snapshot s ON s.no = c.snapshot_no WHERE c.id = $1";
            link.one(sql, &[&at(context_id)]).await?.map_or(Ok(None), |row| get(&row, 0))
        })
    }

    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>> {
        self.read_derived(async |link| {
            let query = Query::new(terms);
            let Some(candidates) = query.candidates(&[]) else { return Ok(Vec::new()) };
            let rows = link
                .all(
                    "SELECT d.no, r.name, d.roadmap_no, d.snapshot_no, d.node
                     FROM rag_documents d JOIN roadmap r ON r.no = d.roadmap_no
                     WHERE d.words @@ $1::text::tsquery AND ($2::text IS NULL OR r.name = $2)",
                    &[&candidates, &roadmap_id],
                )
                .await?;
            let mut words = Words::default();
            let mut found: Vec<(&Row, Node, Counted)> = Vec::new();
            for row in &rows {
                let node = typed(get(row, 4)?, |text: String| serde_json::from_str::<Node>(&text))?;
                let texts = node_texts(&node);
                let columns: Vec<(&str, f64)> = texts.into_iter().zip(WEIGHTS).collect();
                if let Some(counted) = query.count(&columns, &mut words) {
                    found.push((row, node, counted));
                }
            }
            if found.is_empty() {
                return Ok(Vec::new());
            }
            let weights = node_weights(link, &query, &found).await?;
            let mut ranked: Vec<(f64, i64, &Row, Node)> = Vec::with_capacity(found.len());
            for (row, node, counted) in found {
                ranked.push((weights.rank(&counted), get(row, 0)?, row, node));
            }
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ranked.truncate(limit);
            let mut hits = Vec::with_capacity(ranked.len());
            for (rank, _, row, node) in ranked {
                let sql = "SELECT max(id) FROM context WHERE roadmap_no = $1 AND snapshot_no = $2";
                let newest = link
                    .one(sql, &[&get::<i64>(row, 2)?, &get::<i64>(row, 3)?])
                    .await?
                    .ok_or_else(wrong_form)?;
                hits.push(NodeHit {
                    roadmap_id: typed(get(row, 1)?, RoadmapId::new)?,
                    context_id: number(&newest, 0)?,
                    rank,
                    snippet: query.snippet(&node_texts(&node)),
                    node,
                });
            }
            Ok(hits)
        })
    }

    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)> {
        self.read(async |link| {
            let sql = format!(
                "SELECT count(*), count(*) FILTER (WHERE c.snapshot_no <> l.snapshot_no) {DECISIONS}"
            );
            let row = link.one(&sql, &[&roadmap_id]).await?.ok_or_else(wrong_form)?;
            Ok((number(&row, 0)?, number(&row, 1)?))
        })
    }
}

impl PlanAppend for PostgresAppend {
    fn contexts(&mut self) -> Result<u64> {
        Ok(self.head.contexts)
    }

    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>> {
        self.wait(async |link| roadmap(link, name).await)
    }

    fn newest_context(&mut self, roadmap_id: &str, visit: Visit<'_>) -> Result<()> {
        // One that was made in this transaction still waits to be sent.
        self.flush()?;
        let newest = Contexts::History { roadmap_id, before: None, limit: 1 };
        contexts(&mut |queries| self.several(queries), &newest, visit)
    }

    fn snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<Option<(i64, bool)>> {
        let sql = "SELECT no, data IS NOT DISTINCT FROM $2::text COLLATE \"C\" FROM snapshot WHERE content_hash = $1";
        let row = self.one(sql, &[&&hash.0[..], &data])?;
        row.map(|row| Ok((get(&row, 0)?, get(&row, 1)?))).transpose()
    }

    fn sharing(&mut self, hash: &Sha) -> Result<Vec<(u64, u64)>> {
        self.flush()?;
        let rows = self.wait(async |link| link.all(SHARING, &[&&hash.0[..]]).await)?;
        rows.iter().map(|row| Ok((number(row, 0)?, number(row, 1)?))).collect()
    }

    fn add_roadmap(&mut self, name: &str) -> Result<i64> {
        let row = self.one(
            "INSERT INTO roadmap (no, name, length) SELECT coalesce(max(no), 0) + 1, $1, 0 FROM roadmap RETURNING no",
            &[&name],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn add_snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<i64> {
        let row = self.one(
            "INSERT INTO snapshot (no, content_hash, data) SELECT coalesce(max(no), 0) + 1, $1, $2 FROM snapshot
             RETURNING no",
            &[&&hash.0[..], &data],
        )?;
        get(&row.ok_or(StoreError::Lost)?, 0)
    }

    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()> {
        self.execute("UPDATE roadmap SET length = $2 WHERE no = $1", &[&head.no, &(head.length as i64)])
    }
}
