//! What is derived from the records: the search index, the list of actions, the documents of nodes. Caught up in chunks,
//! by whichever server comes first; the row that says how far is locked meanwhile.

use cairn_core::Sha;
use cairn_core::log::{TILE_WIDTH, subtree};
use cairn_core::roadmap::Node;

use super::connect::Link;
use super::row::{at, get, number, typed, wrong_form};
use super::search::{scope_words, searchable};
use super::transaction::PostgresWriter;
use super::{Result, read};
use crate::store::words;
use crate::store::{DerivedWriter, FoldRow};

/// Thoughts that are read at a time.
const AT_A_TIME: i64 = 256;
/// Bytes of texts after which a chunk ends early.
const MOST_BYTES: usize = 16 << 20;

/// How far the derived tables have come.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// The last entry they cover.
    pub through: u64,
    /// Thoughts up to there.
    pub documents: u64,
    /// Words of them, those of their scope included.
    pub words: u64,
}

/// A thought as it stands in the search index.
#[derive(Debug, Clone)]
pub struct Document {
    pub seq: i64,
    pub content: Option<String>,
    pub metadata: Option<String>,
    pub scope: [String; 3],
}

impl Document {
    /// What the index holds of it, and how many words it has.
    pub fn vector(&self) -> (String, u64) {
        let texts = [searchable(self.content.as_deref()), self.metadata.as_deref()];
        let (vector, words) = words::vector(&texts, &self.scope);
        (vector, words + self.scope.len() as u64)
    }
}

/// The columns that [`to_document`] reads.
pub const DOCUMENT: &str = "SELECT seq, content, metadata, session_no, task_no, type FROM thought";

/// Reads a row of [`DOCUMENT`].
pub fn to_document(row: &tokio_postgres::Row) -> Result<Document> {
    Ok(Document {
        seq: get(row, 0)?,
        content: get(row, 1)?,
        metadata: get(row, 2)?,
        scope: scope_words(get(row, 3)?, get(row, 4)?, get(row, 5)?),
    })
}

/// A thought as the index holds it, or will.
pub async fn document(link: &Link, seq: u64) -> Result<Option<Document>> {
    let row = link.one(&format!("{DOCUMENT} WHERE seq = $1"), &[&at(seq)]).await?;
    row.as_ref().map(to_document).transpose()
}

/// Keeps everyone else from the derived tables until the transaction ends.
pub async fn lock(link: &Link) -> Result<Covered> {
    let row = link.one("SELECT through, documents, words FROM derived FOR UPDATE", &[]).await?;
    let row = row.ok_or_else(wrong_form)?;
    Ok(Covered { through: number(&row, 0)?, documents: number(&row, 1)?, words: number(&row, 2)? })
}

async fn set(link: &Link, covered: Covered) -> Result<()> {
    let Covered { through, documents, words } = covered;
    let sql = "UPDATE derived SET through = $1, documents = $2, words = $3";
    link.run(sql, &[&at(through), &at(documents), &at(words)]).await.map(drop)
}

/// Puts another document in the place of one; `covered` is what [`lock`] returned.
pub async fn replace(link: &Link, covered: Covered, before: &Document, after: &Document) -> Result<()> {
    let (vector, words) = after.vector();
    link.run("DELETE FROM search WHERE seq = $1", &[&before.seq]).await?;
    link.run("INSERT INTO search (seq, words) VALUES ($1, $2::text::tsvector)", &[&after.seq, &vector])
        .await?;
    let all = (covered.words + words).saturating_sub(before.vector().1);
    set(link, Covered { words: all, ..covered }).await
}

/// Takes some thoughts into the search index; returns how many bytes of text that were.
async fn index_some(link: &Link, covered: &mut Covered, end: u64) -> Result<usize> {
    let sql = format!("{DOCUMENT} WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3");
    let rows = link.all(&sql, &[&at(covered.through), &at(end), &AT_A_TIME]).await?;
    let (mut seqs, mut vectors, mut bytes) = (Vec::new(), Vec::new(), 0);
    for row in &rows {
        let document = to_document(row)?;
        let (vector, words) = document.vector();
        bytes += vector.len();
        covered.documents += 1;
        covered.words += words;
        seqs.push(document.seq);
        vectors.push(vector);
    }
    covered.through = match rows.last() {
        Some(row) if rows.len() as i64 == AT_A_TIME => number(row, 0)?,
        _ => end,
    };
    link.run(
        "INSERT INTO search (seq, words)
         SELECT seq, words::tsvector FROM unnest($1::bigint[], $2::text[]) AS new (seq, words)",
        &[&seqs, &vectors],
    )
    .await?;
    Ok(bytes)
}

/// Makes the nodes of the snapshots in the range `(from, to]` of the log the documents of their roadmaps, and prunes those
/// of older snapshots.
async fn index_nodes(link: &Link, from: u64, to: u64) -> Result<()> {
    // Of several snapshots of one roadmap only the newest counts.
    let newest = link
        .all(
            "SELECT roadmap_no, snapshot_no FROM context c WHERE seq > $1 AND seq <= $2
               AND position = (SELECT max(position) FROM context WHERE roadmap_no = c.roadmap_no AND seq <= $2)",
            &[&at(from), &at(to)],
        )
        .await?;
    for row in newest {
        let (roadmap, snapshot): (i64, i64) = (get(&row, 0)?, get(&row, 1)?);
        let sql = "SELECT snapshot_no FROM rag_documents WHERE roadmap_no = $1 LIMIT 1";
        let indexed: Option<i64> = link.one(sql, &[&roadmap]).await?.map(|row| get(&row, 0)).transpose()?;
        if indexed != Some(snapshot) {
            index_roadmap(link, roadmap, snapshot).await?;
        }
    }
    Ok(())
}

/// Adds to the tiles the nodes that entries after `through` and up to `to` complete.
async fn fill_tiles(link: &Link, through: u64, to: u64) -> Result<()> {
    for block in (through + 1) / TILE_WIDTH..(to + 1) / TILE_WIDTH {
        let leaves = read::leaf_hashes(link, block * TILE_WIDTH, (block + 1) * TILE_WIDTH).await?;
        if leaves.len() as u64 != TILE_WIDTH {
            // An entry is missing; verification says so.
            return Ok(());
        }
        push_to_tiles(link, block, subtree(leaves)).await?;
    }
    Ok(())
}

/// Adds hash `index` of level 1 to its tile; where that completes it, its root to the tile above, and so on.
async fn push_to_tiles(link: &Link, mut index: u64, mut hash: Sha) -> Result<()> {
    for level in 1.. {
        let tile = index / TILE_WIDTH;
        link.run(
            "INSERT INTO tile (level, idx, hashes) VALUES ($1, $2, $3)
             ON CONFLICT (level, idx) DO UPDATE SET hashes = tile.hashes || excluded.hashes",
            &[&i32::from(level), &at(tile), &&hash.0[..]],
        )
        .await?;
        if !(index + 1).is_multiple_of(TILE_WIDTH) {
            break;
        }
        let hashes = read::tile(link, level, tile).await?;
        if hashes.len() as u64 != TILE_WIDTH {
            break;
        }
        (index, hash) = (tile, subtree(hashes));
    }
    Ok(())
}

async fn index_roadmap(link: &Link, roadmap: i64, snapshot: i64) -> Result<()> {
    link.run("DELETE FROM rag_documents WHERE roadmap_no = $1", &[&roadmap]).await?;
    // As they stand in the snapshot, to the letter.
    let rows = link
        .all(
            "SELECT node.value::text FROM snapshot s,
               json_array_elements(s.data::json -> 'nodes') WITH ORDINALITY AS node (value, place)
             WHERE s.no = $1 ORDER BY node.place",
            &[&snapshot],
        )
        .await?;
    let mut nodes = Vec::with_capacity(rows.len());
    let mut vectors = Vec::with_capacity(rows.len());
    for row in &rows {
        let text: String = get(row, 0)?;
        vectors.push(node_vector(&text)?);
        nodes.push(text);
    }
    link.run(
        "INSERT INTO rag_documents (roadmap_no, snapshot_no, node, words)
         SELECT $1, $2, node, words::tsvector
         FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS new (node, words, place) ORDER BY place",
        &[&roadmap, &snapshot, &nodes, &vectors],
    )
    .await
    .map(drop)
}

/// What the index holds of a node.
pub fn node_vector(node: &str) -> Result<String> {
    let node = typed(node.to_string(), |text| serde_json::from_str::<Node>(&text))?;
    Ok(words::vector(&node_texts(&node).map(Some), &[]).0)
}

/// The texts of a node that are searched: id, label, scope, phase.
pub fn node_texts(node: &Node) -> [&str; 4] {
    [&node.id, &node.label, node.scope.as_deref().unwrap_or(""), node.phase.as_deref().unwrap_or("")]
}

impl DerivedWriter for PostgresWriter {
    fn catch_up(&mut self, rows: u64) -> Result<u64> {
        self.run(async |link| {
            let row = link.one("SELECT through, (SELECT size FROM log) - 1 FROM derived", &[]).await?;
            let row = row.ok_or_else(wrong_form)?;
            if number(&row, 0)? >= number(&row, 1)? {
                return Ok(0);
            }
            link.begin().await?;
            let mut covered = lock(link).await?;
            // Another server may have been faster.
            let row = link.one("SELECT size - 1 FROM log", &[]).await?.ok_or_else(wrong_form)?;
            let newest = number(&row, 0)?;
            let from = covered.through;
            let end = newest.min(from + rows);
            while covered.through < end {
                let texts = index_some(link, &mut covered, end).await?;
                if texts > MOST_BYTES {
                    break;
                }
            }
            link.run(
                "INSERT INTO action (action_id, seq)
                 SELECT action_id, seq FROM thought WHERE seq > $1 AND seq <= $2 AND action_id IS NOT NULL
                 ON CONFLICT DO NOTHING",
                &[&at(from), &at(covered.through)],
            )
            .await?;
            index_nodes(link, from, covered.through).await?;
            fill_tiles(link, from, covered.through).await?;
            set(link, covered).await?;
            link.commit().await?;
            Ok(newest.saturating_sub(covered.through))
        })
    }

    fn keep_fold(&mut self, session_id: &str, fold: FoldRow<'_>, redaction: u64) -> Result<()> {
        self.run(async |link| {
            let FoldRow { seq, v, sha256, state } = fold;
            // A redaction takes the same lock before it deletes the states of a session, so none comes in between.
            link.begin().await?;
            lock(link).await?;
            link.run(
                "INSERT INTO fold (session_no, seq, v, sha256, state)
                 SELECT e.session_no, e.seq, $3::bigint, $4::bytea, $5::text
                 FROM event e JOIN session s ON s.no = e.session_no WHERE s.name = $1 AND e.seq = $2
                   AND NOT EXISTS (SELECT 1 FROM redaction r JOIN event o ON o.seq = r.target_seq
                                   WHERE r.seq > $6 AND o.session_no = e.session_no)
                 ON CONFLICT (session_no) DO UPDATE
                 SET seq = excluded.seq, v = excluded.v, sha256 = excluded.sha256, state = excluded.state
                 WHERE excluded.seq > fold.seq OR excluded.v <> fold.v",
                &[&session_id, &at(seq), &at(v), &sha256, &state, &at(redaction)],
            )
            .await?;
            link.commit().await
        })
    }

    fn clear_derived(&mut self) -> Result<()> {
        self.run(async |link| {
            link.begin().await?;
            lock(link).await?;
            for table in ["search", "action", "fold", "rag_documents", "tile"] {
                link.run(&format!("DELETE FROM {table}"), &[]).await?;
            }
            set(link, Covered { through: 0, documents: 0, words: 0 }).await?;
            link.commit().await
        })
    }
}
