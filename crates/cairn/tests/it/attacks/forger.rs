//! What somebody can do who has the database, its tools, and this very code: edit rows, and make everything fit again.

use cairn::Sha;
use cairn::core::entry::{Text, ThoughtEntry, commitment};
use cairn::core::log::{Checkpoint, Edge, leaf_hash};
use cairn::core::note::SigningKey;
use cairn::core::thought::{TaskLink, chain_hash, task_hash};
use rusqlite::params;

use crate::harness::Sql;
use crate::harness::slip::leaf_hashes;

/// One thought, as its row has it.
#[derive(Clone)]
pub struct Row {
    pub seq: i64,
    pub id: String,
    pub kind: String,
    pub task_no: i64,
    pub task: String,
    pub position: i64,
    pub session: String,
    pub step_index: i64,
    pub parent_seq: Option<i64>,
    pub agent_id: String,
    pub action_id: Option<String>,
    pub supersedes: Option<String>,
    pub rejects: Option<String>,
    pub applies_to: Option<String>,
    pub source: String,
    pub timestamp: String,
    pub content: Option<String>,
    pub metadata: Option<String>,
    pub salt: Option<Vec<u8>>,
    pub prev_hash: Sha,
    pub hash: Sha,
    pub content_hash: Sha,
    pub chain_hash: Sha,
}

pub fn rows(sql: &Sql) -> Vec<Row> {
    let sha = |bytes: Vec<u8>| Sha(bytes.try_into().unwrap());
    sql.query(
        "SELECT t.seq, t.id, t.type, t.task_no, k.name, t.position, s.name, t.step_index, t.parent_seq, t.agent_id,
           t.action_id, t.timestamp, t.content, t.metadata, t.salt, t.prev_hash, t.hash, t.content_hash, t.chain_hash,
           t.supersedes, t.rejects, t.applies_to, t.source
         FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no ORDER BY t.seq",
        [],
        |row| {
        Ok(Row {
            seq: row.get(0)?,
            id: row.get(1)?,
            kind: row.get(2)?,
            task_no: row.get(3)?,
            task: row.get(4)?,
            position: row.get(5)?,
            session: row.get(6)?,
            step_index: row.get(7)?,
            parent_seq: row.get(8)?,
            agent_id: row.get(9)?,
            action_id: row.get(10)?,
            timestamp: row.get(11)?,
            content: row.get(12)?,
            metadata: row.get(13)?,
            salt: row.get(14)?,
            prev_hash: sha(row.get(15)?),
            hash: sha(row.get(16)?),
            content_hash: sha(row.get(17)?),
            chain_hash: sha(row.get(18)?),
            supersedes: row.get(19)?,
            rejects: row.get(20)?,
            applies_to: row.get(21)?,
            source: row.get(22)?,
        })
    })
    .unwrap()
}

fn own_hash(row: &Row, prev_hash: Sha) -> Sha {
    let link = TaskLink {
        content: row.content.as_deref().unwrap_or_default(),
        id: &row.id,
        prev_hash,
        task_id: &row.task,
        timestamp: &row.timestamp,
        kind: &row.kind,
    };
    task_hash(&link, &mut Vec::new())
}

/// Whether the task chains alone, read from the rows, show that something is wrong.
pub fn chains_are_broken(sql: &Sql) -> bool {
    let mut heads: std::collections::HashMap<i64, (i64, Sha)> = std::collections::HashMap::new();
    rows(sql).iter().any(|row| {
        let (position, head) = heads.get(&row.task_no).copied().unwrap_or((-1, Sha::ZERO));
        heads.insert(row.task_no, (row.position, row.hash));
        row.content.is_none()
            || row.position != position + 1
            || row.prev_hash != head
            || row.hash != own_hash(row, row.prev_hash)
    })
}

/// Whether the session trees alone, read from the rows, show that something is wrong.
pub fn trees_are_broken(sql: &Sql) -> bool {
    let rows = rows(sql);
    rows.iter().any(|row| {
        let parent = row.parent_seq.map(|seq| rows.iter().find(|other| other.seq == seq));
        let content_differs =
            row.content.as_ref().is_some_and(|content| Sha::of(content.as_bytes()) != row.content_hash);
        match parent {
            Some(None) => true,
            parent => {
                let parent = parent.flatten().map(|parent| &parent.chain_hash);
                content_differs || row.chain_hash != chain_hash(&row.content_hash, parent)
            }
        }
    })
}

/// Makes both chains fit the rows again.
pub fn relink(sql: &Sql) {
    let mut rows = rows(sql);
    let mut heads: std::collections::HashMap<i64, Sha> = std::collections::HashMap::new();
    for index in 0..rows.len() {
        let prev_hash = heads.get(&rows[index].task_no).copied().unwrap_or(Sha::ZERO);
        let parent = rows[index].parent_seq.and_then(|seq| rows.iter().find(|row| row.seq == seq));
        let parent = parent.map(|parent| parent.chain_hash);
        let row = &mut rows[index];
        row.prev_hash = prev_hash;
        row.content_hash = Sha::of(row.content.as_deref().unwrap_or_default().as_bytes());
        row.hash = own_hash(row, prev_hash);
        row.chain_hash = chain_hash(&row.content_hash, parent.as_ref());
        heads.insert(row.task_no, row.hash);
        sql.execute(
            "UPDATE thought SET prev_hash = ?2, hash = ?3, content_hash = ?4, chain_hash = ?5 WHERE seq = ?1",
            params![row.seq, row.prev_hash.0, row.hash.0, row.content_hash.0, row.chain_hash.0],
        )
        .unwrap();
    }
    for (task_no, head) in heads {
        sql.execute("UPDATE task SET head = ?2 WHERE no = ?1", params![task_no, head.0]).unwrap();
    }
}

/// Makes the log fit the rows again: every leaf, the edge of the tree, the root.
pub fn rebuild_log(sql: &Sql) -> (u64, Sha) {
    let rows = rows(sql);
    for row in &rows {
        let hash = leaf_hash(&leaf(row, &rows));
        sql.execute("UPDATE thought SET leaf_hash = ?2 WHERE seq = ?1", params![row.seq, hash.0]).unwrap();
    }
    let mut edge = Edge::empty();
    for hash in leaf_hashes(sql) {
        edge.push(Sha(hash), &mut |_| {});
    }
    assert!(edge.size() < 256, "there is no tile to be made anew");
    sql.execute(
        "UPDATE log SET size = ?1, root = ?2, edge = ?3",
        params![edge.size(), edge.root().0, edge.to_bytes()],
    )
    .unwrap();
    (edge.size(), edge.root())
}

fn leaf(row: &Row, rows: &[Row]) -> Vec<u8> {
    let parent = row.parent_seq.and_then(|seq| rows.iter().find(|other| other.seq == seq));
    let salt: Option<[u8; 32]> = row.salt.clone().map(|salt| salt.try_into().unwrap());
    let commitment = row.metadata.as_ref().zip(salt).map(|(text, salt)| commitment(&salt, text.as_bytes()));
    let list = |column: &Option<String>| -> Vec<Text<'static>> {
        let texts: Vec<String> =
            column.as_deref().map_or(Vec::new(), |json| serde_json::from_str(json).unwrap());
        texts.into_iter().map(Text::from).collect()
    };
    let mut bytes = Vec::new();
    ThoughtEntry {
        action_id: row.action_id.as_deref().map(Into::into),
        agent_id: row.agent_id.as_str().into(),
        applies_to: list(&row.applies_to),
        brief_id: None,
        chain_hash: row.chain_hash,
        content_hash: row.content_hash,
        content_length: row.content.as_deref().unwrap_or_default().len() as u64,
        context_id: None,
        hash: row.hash,
        id: row.id.as_str().into(),
        idempotency_key: None,
        metadata_commitment: commitment,
        parent_id: parent.map(|parent| parent.id.as_str().into()),
        position: row.position as u64,
        prev_hash: row.prev_hash,
        rejects: list(&row.rejects),
        seq: row.seq as u64,
        session_id: row.session.as_str().into(),
        source: row.source.parse().unwrap(),
        step_index: row.step_index as u64,
        supersedes: list(&row.supersedes),
        task_id: row.task.as_str().into(),
        timestamp: row.timestamp.as_str().into(),
        kind: row.kind.parse().unwrap(),
    }
    .write(&mut bytes);
    bytes
}

/// States the log anew, with whatever keys there are, in the place of everything that was stated before.
pub fn restate(sql: &Sql, size: u64, root: Sha, keys: &[&SigningKey]) {
    let origin: String = sql.query_row("SELECT origin FROM log", [], |row| row.get(0)).unwrap();
    let note = Checkpoint::new(&origin, size, root).unwrap().signed(keys).unwrap();
    sql.execute_batch("DELETE FROM checkpoint").unwrap();
    sql.execute("INSERT INTO checkpoint (size, note) VALUES (?1, ?2)", params![size, note.to_string()])
        .unwrap();
}
