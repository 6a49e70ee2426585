//! Erasing texts, and what is known of those that were erased or sealed.

use cairn_core::entry::EntryKind;
use cairn_core::id::BriefId;
use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::{Link, STATEMENT};
use super::derived::{self, Document};
use super::row::{at, get, number, typed, wrong_form};
use super::{PostgresStore, Result};
use crate::store::{Leaves, Pieces, RedactionAppend, RedactionLeaf, RedactionReader, Swept, Target};

/// The tables that an erased text was in.
const ERASED_FROM: [&str; 4] = ["thought", "brief", "seal", "search"];

/// The entry that records the redaction of the record at a position.
async fn redaction(link: &Link, target_seq: u64) -> Result<Option<RedactionLeaf>> {
    let sql =
        "SELECT e.seq, e.leaf, e.hash FROM redaction r JOIN entry e ON e.seq = r.seq WHERE r.target_seq = $1";
    let row = link.one(sql, &[&at(target_seq)]).await?;
    row.map(|row| Ok(RedactionLeaf { seq: number(&row, 0)?, leaf: get(&row, 1)?, hash: get(&row, 2)? }))
        .transpose()
}

/// The columns that [`leaves`] reads: `e` is a record's own entry, `r` its redaction and `l` the entry of that.
pub const LEAVES: &str = "CASE WHEN l.seq IS NOT NULL THEN e.leaf END, l.seq, l.leaf, l.hash";

/// The entries of a record: its own, and that of its redaction. None without a redaction.
pub fn leaves(row: &Row, first: usize) -> Result<Option<Leaves>> {
    let Some(own) = get::<Option<Vec<u8>>>(row, first)? else { return Ok(None) };
    let redaction = RedactionLeaf {
        seq: number(row, first + 1)?,
        leaf: get(row, first + 2)?,
        hash: get(row, first + 3)?,
    };
    Ok(Some(Leaves { own, redaction }))
}

/// The key of a sealed content.
pub async fn seal_key(link: &Link, seq: u64) -> Result<Option<Vec<u8>>> {
    let row = link.one("SELECT key FROM seal WHERE seq = $1", &[&at(seq)]).await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// Whether the place of what was erased from a table can be used again. That takes as long as the table is large.
async fn vacuum(link: &Link, table: &str) -> bool {
    let client = link.client();
    let vacuumed = match client.batch_execute("SET statement_timeout = 0").await {
        Ok(()) => client.batch_execute(&format!("VACUUM {table}")).await.is_ok(),
        Err(_) => false,
    };
    let limit = format!("SET statement_timeout = {}", STATEMENT.as_millis());
    client.batch_execute(&limit).await.is_ok() && vacuumed
}

impl RedactionReader for PostgresStore {
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.read(async |link| seal_key(link, seq).await)
    }

    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.read(async |link| redaction(link, target_seq).await)
    }

    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>> {
        self.read(async |link| {
            let rows = link
                .all(
                    "SELECT id FROM brief WHERE session_no = (SELECT no FROM session WHERE name = $1)
                       AND strpos(data COLLATE \"C\", $2) > 0 ORDER BY seq LIMIT $3",
                    &[&session_id, &text, &at(limit)],
                )
                .await?;
            rows.iter().map(|row| typed(get(row, 0)?, BriefId::new)).collect()
        })
    }

    fn sweep(&self, _pieces: &Pieces) -> Result<Swept> {
        // Lets PostgreSQL reuse the place of erased texts. Its files cannot be searched from here, so the notes say what the
        // person who runs the server has to do.
        self.read_here(async |link| {
            let mut kept = Vec::new();
            for table in ERASED_FROM {
                let sql = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass($1::text)";
                let owned = link.one(sql, &[&table]).await?.map_or(Ok(false), |row| get(&row, 0))?;
                let vacuumed = match owned {
                    true => vacuum(link, table).await,
                    false => false,
                };
                if !vacuumed {
                    kept.push(table);
                }
            }
            let mut notes = Vec::new();
            if !kept.is_empty() {
                notes.push(format!(
                    "this role may not clean up behind itself: the text stands in the server's files until VACUUM has run on {}",
                    kept.join(", ")
                ));
            }
            let row = link.one("SELECT quote_ident(current_schema())", &[]).await?.ok_or_else(wrong_form)?;
            let schema: &str = get(&row, 0)?;
            notes.push(format!(
                "the server's own files were not looked through: pages that were written before stand in its write-ahead log, in \
                 archives of it, on standbys and in base backups until those are recycled or expire, and words of the text may \
                 stay keys of the search index until its owner has run `REINDEX INDEX {schema}.search_words`"
            ));
            Ok(Swept { notes, ..Swept::default() })
        })
    }
}

impl RedactionAppend for PostgresAppend {
    fn target(&mut self, id: &str) -> Result<Option<Target>> {
        self.flush()?;
        self.wait(async |link| {
            let thought = link
                .one(
                    "SELECT t.seq, s.name, t.content, t.metadata, k.key FROM thought t JOIN session s ON s.no = t.session_no
                       LEFT JOIN seal k ON k.seq = t.seq WHERE t.id = $1",
                    &[&id],
                )
                .await?;
            if let Some(row) = thought {
                return Ok(Some(Target {
                    kind: EntryKind::Thought,
                    seq: number(&row, 0)?,
                    session_id: get(&row, 1)?,
                    text: get(&row, 2)?,
                    metadata: get(&row, 3)?,
                    key: get(&row, 4)?,
                }));
            }
            let brief = link
                .one(
                    "SELECT b.seq, s.name, b.data FROM brief b JOIN session s ON s.no = b.session_no WHERE b.id = $1",
                    &[&id],
                )
                .await?;
            brief
                .map(|row| {
                    Ok(Target {
                        kind: EntryKind::Brief,
                        seq: number(&row, 0)?,
                        session_id: get(&row, 1)?,
                        text: get(&row, 2)?,
                        metadata: None,
                        key: None,
                    })
                })
                .transpose()
        })
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.flush()?;
        self.wait(async |link| redaction(link, target_seq).await)
    }

    fn insert_redaction(&mut self, seq: u64, target_seq: u64) -> Result<()> {
        self.execute(
            "INSERT INTO redaction (seq, target_seq) VALUES ($1, $2)",
            &[&(seq as i64), &(target_seq as i64)],
        )
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.flush()?;
        self.wait(async |link| {
            // Locks the derived tables: a process that fills them has done so before, and the words are removed here, or
            // does so later and finds no text.
            let covered = derived::lock(link).await?;
            let seq = at(target.seq);
            if target.kind == EntryKind::Brief {
                return link.run("UPDATE brief SET data = NULL WHERE seq = $1", &[&seq]).await.map(drop);
            }
            let indexed =
                derived::document(link, target.seq).await?.filter(|_| target.seq <= covered.through);
            if target.key.is_some() {
                link.run("DELETE FROM seal WHERE seq = $1", &[&seq]).await?;
                link.run("UPDATE thought SET metadata = NULL, salt = NULL WHERE seq = $1", &[&seq]).await?;
            } else {
                let sql = "UPDATE thought SET content = NULL, metadata = NULL, salt = NULL WHERE seq = $1";
                link.run(sql, &[&seq]).await?;
            }
            let Some(before) = indexed else { return Ok(()) };
            let after = Document { content: None, metadata: None, ..before.clone() };
            derived::replace(link, covered, &before, &after).await
        })
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.wait(async |link| seal_key(link, seq).await)
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES ($1, $2)", &[&(seq as i64), &key])
    }
}
