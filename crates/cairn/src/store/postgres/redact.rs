//! Erasing texts, and what is known of those that were erased or sealed.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::BriefId;
use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::{Link, STATEMENT};
use super::derived::{self, Document};
use super::row::{at, get, number, number_or_none, typed, wrong_form};
use super::{PostgresStore, Result};
use crate::store::{Pieces, RedactionAppend, RedactionLeaf, RedactionReader, Swept, Target};

/// The tables that an erased text was in.
const ERASED_FROM: [&str; 11] = [
    "thought",
    "brief",
    "seal",
    "search",
    "event",
    "body",
    "fold",
    "context",
    "snapshot",
    "rag_documents",
    "review",
];

/// Erases the metadata of a snapshot, the nodes of it that are searched, and its content.
const BLANK_SNAPSHOT: [&str; 3] = [
    "UPDATE context SET metadata = NULL, salt = NULL WHERE seq = $1",
    "DELETE FROM rag_documents WHERE snapshot_no = (SELECT snapshot_no FROM context WHERE seq = $1)",
    "UPDATE snapshot SET data = NULL
     WHERE no = (SELECT snapshot_no FROM context WHERE seq = $1) AND data IS NOT NULL",
];

/// Selects a record by its id: position, session, text, metadata and the key of a sealed content.
fn target_sql(kind: EntryKind) -> Option<&'static str> {
    Some(match kind {
        EntryKind::Thought => {
            "SELECT t.seq, s.name, t.content, t.metadata, k.key FROM thought t JOIN session s ON s.no = t.session_no
               LEFT JOIN seal k ON k.seq = t.seq WHERE t.id = $1"
        }
        EntryKind::Brief => {
            "SELECT b.seq, s.name, b.data, NULL::text, NULL::bytea FROM brief b JOIN session s ON s.no = b.session_no
               WHERE b.id = $1"
        }
        EntryKind::Snapshot => {
            "SELECT c.seq, ''::text, s.data, c.metadata, NULL::bytea FROM context c JOIN snapshot s ON s.no = c.snapshot_no
               WHERE c.id = $1::text::bigint"
        }
        EntryKind::Review => "SELECT seq, ''::text, text, NULL::text, NULL::bytea FROM review WHERE id = $1",
        EntryKind::Event
        | EntryKind::Genesis
        | EntryKind::Key
        | EntryKind::Redaction
        | EntryKind::Continuation => return None,
    })
}

/// The entries that record the redactions of the records at some positions, each behind the position.
pub const REDACTIONS: &str =
    "SELECT r.target_seq, e.seq, e.leaf, e.leaf_hash FROM redaction r JOIN entry e ON e.seq = r.seq
  WHERE r.target_seq = ANY ($1)";

/// The entry that records the redaction of the record at a position.
async fn redaction(link: &Link, target_seq: u64) -> Result<Option<RedactionLeaf>> {
    let row = link.one(REDACTIONS, &[&[at(target_seq)].as_slice()]).await?;
    row.map_or(Ok(None), |row| redaction_leaf(&row, 1))
}

/// The entry of a redaction: its position, bytes and hash from a column on; none if there is none.
pub fn redaction_leaf(row: &Row, first: usize) -> Result<Option<RedactionLeaf>> {
    let Some(seq) = number_or_none(row, first)? else { return Ok(None) };
    let leaf: String = get(row, first + 1)?;
    Ok(Some(RedactionLeaf { seq, leaf: leaf.into_bytes(), hash: get(row, first + 2)? }))
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
    fn target(&mut self, kind: EntryKind, id: &str) -> Result<Option<Target>> {
        let Some(sql) = target_sql(kind) else { return Ok(None) };
        self.flush()?;
        self.wait(async |link| {
            let Some(row) = link.one(sql, &[&id]).await? else { return Ok(None) };
            Ok(Some(Target {
                kind,
                seq: number(&row, 0)?,
                session_id: get(&row, 1)?,
                text: get(&row, 2)?,
                metadata: get(&row, 3)?,
                key: get(&row, 4)?,
            }))
        })
    }

    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>> {
        self.flush()?;
        self.wait(async |link| redaction(link, target_seq).await)
    }

    fn blank(&mut self, target: &Target) -> Result<()> {
        self.flush()?;
        self.wait(async |link| {
            // Locks the derived tables: a process that fills them has done so before, and the words are removed here, or
            // does so later and finds no text.
            let covered = derived::lock(link).await?;
            let seq = at(target.seq);
            let others: &[&str] = match target.kind {
                EntryKind::Brief => &["UPDATE brief SET data = NULL WHERE seq = $1"],
                EntryKind::Review => &["UPDATE review SET text = NULL, salt = NULL WHERE seq = $1"],
                EntryKind::Snapshot => &BLANK_SNAPSHOT,
                _ => &[],
            };
            if !others.is_empty() {
                for sql in others {
                    link.run(sql, &[&seq]).await?;
                }
                return Ok(());
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

    fn blank_event(&mut self, seq: u64, remains: &str) -> Result<()> {
        self.flush()?;
        self.wait(async |link| {
            derived::lock(link).await?;
            let sql = "UPDATE event SET body = $2, salt = NULL WHERE seq = $1";
            link.run(sql, &[&at(seq), &remains]).await?;
            let sql = "DELETE FROM fold WHERE session_no = (SELECT session_no FROM event WHERE seq = $1)";
            link.run(sql, &[&at(seq)]).await.map(drop)
        })
    }

    fn take_body(&mut self, digest: &Sha, redaction: u64) -> Result<()> {
        self.flush()?;
        let quoted = format!("\"{digest}\"");
        self.wait(async |link| {
            let sql = "UPDATE body SET data = NULL, redaction = $2 WHERE sha256 = $1 AND redaction IS NULL";
            if link.run(sql, &[&&digest.0[..], &at(redaction)]).await? == 0 {
                let sql = "INSERT INTO body (sha256, seq, redaction)
                           SELECT $1::bytea, min(seq), $2::bigint FROM event
                           WHERE strpos(body COLLATE \"C\", $3) > 0
                           HAVING count(*) > 0 ON CONFLICT (sha256) DO NOTHING";
                link.run(sql, &[&&digest.0[..], &at(redaction), &quoted]).await?;
            }
            Ok(())
        })
    }

    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>> {
        self.wait(async |link| seal_key(link, seq).await)
    }

    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()> {
        self.execute("INSERT INTO seal (seq, key) VALUES ($1, $2)", &[&(seq as i64), &key])
    }
}
