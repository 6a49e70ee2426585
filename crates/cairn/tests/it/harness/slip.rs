//! Entries about keys that somebody writes into a database without Cairn.

use std::borrow::Cow;
use std::path::Path;

use cairn::core::entry::{KeyEntry, KeyOp, KeyStatement};
use cairn::core::log::{Edge, leaf_hash};
use cairn::core::note::{SigningKey, VerifyingKey};
use rusqlite::params;

use super::Sql;

/// Appends a change of `key`, with a signature by `by` over the statement that belongs to it.
pub fn slip(
    path: &Path,
    op: KeyOp,
    key: &VerifyingKey,
    last_trusted_size: Option<u64>,
    by: Option<&SigningKey>,
) -> u64 {
    let vkey = key.to_string();
    let statement = KeyStatement { origin: key.name(), op, vkey: &vkey, last_trusted_size };
    let signature = by.map(|by| by.sign(&statement.text()).to_string());
    slip_with(path, op, key, last_trusted_size, signature)
}

/// Likewise, with any signature line; the tree fits afterwards.
pub fn slip_with(
    path: &Path,
    op: KeyOp,
    key: &VerifyingKey,
    last_trusted_size: Option<u64>,
    signature: Option<String>,
) -> u64 {
    let sql = Sql::open(path);
    let seq: u64 = sql.query_row("SELECT size FROM log", [], |row| row.get(0)).unwrap();
    let mut leaf = Vec::new();
    KeyEntry {
        created_at: "2026-04-17T00:00:00.000Z".into(),
        last_trusted_size,
        op,
        reason: None,
        seq,
        signature: signature.map(Cow::Owned),
        vkey: key.to_string().into(),
    }
    .write(&mut leaf);
    sql.unprotected(|sql| {
        let insert = "INSERT INTO entry (seq, kind, leaf, leaf_hash) VALUES (?1, 'key', ?2, ?3)";
        let text = std::str::from_utf8(&leaf).unwrap();
        sql.execute(insert, params![seq, text, leaf_hash(&leaf).0]).unwrap();
        rebuild_tree(sql);
    });
    seq
}

/// The leaf hash of every record, in the order of the log.
pub fn leaf_hashes(sql: &Sql) -> Vec<[u8; 32]> {
    let tables = ["thought", "context", "event", "brief", "review", "entry"];
    let tables = tables.map(|table| format!("SELECT seq, leaf_hash FROM {table}")).join(" UNION ALL ");
    sql.query(&format!("{tables} ORDER BY seq"), [], |row| row.get(1)).unwrap()
}

/// Makes the tree and the head fit the entries again.
pub fn rebuild_tree(sql: &Sql) {
    let hashes = leaf_hashes(sql);
    let mut edge = Edge::empty();
    hashes.into_iter().for_each(|hash| edge.push(cairn::Sha(hash), &mut |_| {}));
    assert!(edge.size() < 256, "there is no tile to be made anew");
    sql.execute(
        "UPDATE log SET size = ?1, root = ?2, edge = ?3",
        params![edge.size(), edge.root().0, edge.to_bytes()],
    )
    .unwrap();
}
