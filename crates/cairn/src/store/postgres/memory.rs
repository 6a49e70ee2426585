//! Working memory: events of sessions, the contents they name, stored briefs.

use cairn_core::Sha;
use cairn_core::id::{BriefId, SessionId};
use tokio_postgres::Row;

use super::append::PostgresAppend;
use super::connect::Link;
use super::read::{FIRST_PAGE, next_page};
use super::redact::{LEAVES, leaves};
use super::row::{at, get, in_row, number, sha, sha_or_none, typed};
use super::{PostgresStore, Result};
use crate::store::{
    BriefRow, EventRow, EventText, FoldRow, MemoryAppend, MemoryHead, MemoryReader, Read, ReadBrief,
    ReadEvent, StoreError,
};

/// How far a session's memory has come; none if it has none.
async fn head(link: &Link, session_id: &str) -> Result<Option<MemoryHead>> {
    let row = link
        .one(
            "SELECT m.session_no, m.length, m.newest FROM memory m JOIN session s ON s.no = m.session_no
             WHERE s.name = $1",
            &[&session_id],
        )
        .await?;
    row.map(|row| {
        Ok(MemoryHead { session_no: get(&row, 0)?, length: number(&row, 1)?, newest: number(&row, 2)? })
    })
    .transpose()
}

/// The columns of an event that readers get.
const EVENT: &str =
    "SELECT e.seq, s.name, e.position, e.turn, e.kind, e.v, e.created_at, e.body, e.idempotency_key,
    l.hash
  FROM event e LEFT JOIN session s ON s.no = e.session_no LEFT JOIN entry l ON l.seq = e.seq";

/// Reads a row of [`EVENT`]. A value that is no text becomes an empty one, which no hash of an entry matches.
fn event_text(row: &Row) -> Result<EventText<'_>> {
    let text = |column| row.try_get::<_, &str>(column).unwrap_or_default();
    Ok(EventText {
        seq: number(row, 0)?,
        session_id: text(1),
        position: number(row, 2)?,
        turn: number(row, 3)?,
        kind: text(4),
        v: number(row, 5)?,
        created_at: text(6),
        body: text(7),
        idempotency_key: get(row, 8)?,
        entry_hash: row.try_get(9).unwrap_or_default(),
    })
}

/// A query of the columns that [`read_brief`] reads.
fn brief_where(condition: &str) -> String {
    format!(
        "SELECT b.seq, b.id, s.name, b.node, b.turn, b.created_at, b.hash, b.data, e.hash, {LEAVES}
         FROM brief b LEFT JOIN session s ON s.no = b.session_no LEFT JOIN entry e ON e.seq = b.seq
           LEFT JOIN redaction r ON r.target_seq = b.seq AND b.data IS NULL LEFT JOIN entry l ON l.seq = r.seq
         {condition}"
    )
}

fn read_brief(row: &Row) -> Result<Read<ReadBrief>> {
    let values = || {
        Ok(ReadBrief {
            seq: number(row, 0)?,
            id: typed(get(row, 1)?, BriefId::new)?,
            session_id: typed(get(row, 2)?, SessionId::new)?,
            node: get(row, 3)?,
            turn: number(row, 4)?,
            created_at: typed(get(row, 5)?, TryFrom::try_from)?,
            hash: sha(row, 6)?,
            data: get(row, 7)?,
            entry_hash: sha_or_none(row, 8)?,
            leaves: leaves(row, 9)?,
        })
    };
    in_row(row, values())
}

impl MemoryReader for PostgresStore {
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(async |link| head(link, session_id).await)
    }

    fn events(
        &self,
        session_id: &str,
        after: u64,
        to: u64,
        visit: &mut dyn FnMut(EventText<'_>) -> bool,
    ) -> Result<()> {
        let mut after = after;
        let mut page = FIRST_PAGE;
        loop {
            let rows = self.read(async |link| {
                // `after` is nearly always an event of this session: then the index leads there, past all earlier ones.
                let sql = format!(
                    "{EVENT} WHERE e.session_no = (SELECT no FROM session WHERE name = $1) AND e.seq > $2 AND e.seq <= $3
                       AND e.position >= coalesce((SELECT a.position FROM event a JOIN session n ON n.no = a.session_no
                         WHERE a.seq = $2 AND n.name = $1), 0)
                     ORDER BY e.position LIMIT $4"
                );
                link.all(&sql, &[&session_id, &at(after), &at(to), &page]).await
            })?;
            let mut bytes = 0;
            for row in &rows {
                let event = event_text(row)?;
                after = event.seq;
                bytes += event.body.len();
                if !visit(event) {
                    return Ok(());
                }
            }
            if (rows.len() as i64) < page {
                return Ok(());
            }
            page = next_page(page, bytes);
        }
    }

    fn fold(&self, session_id: &str, to: u64, visit: &mut dyn FnMut(FoldRow<'_>)) -> Result<bool> {
        let row = self.read(async |link| {
            link.one(
                "SELECT seq, v, sha256, state FROM fold
                 WHERE session_no = (SELECT no FROM session WHERE name = $1) AND seq <= $2",
                &[&session_id, &at(to)],
            )
            .await
        })?;
        let Some(row) = row else { return Ok(false) };
        // What cannot be read is no state; the events are there.
        let (Ok(seq), Ok(v), Ok(sha256), Ok(state)) =
            (number(&row, 0), number(&row, 1), get(&row, 2), get(&row, 3))
        else {
            return Ok(false);
        };
        visit(FoldRow { seq, v, sha256, state });
        Ok(true)
    }

    fn event_by_key(&self, key: &str) -> Result<Option<Read<ReadEvent>>> {
        self.read(async |link| {
            let read = |row: &Row| {
                Ok(ReadEvent {
                    seq: number(row, 0)?,
                    session_id: typed(get(row, 1)?, SessionId::new)?,
                    position: number(row, 2)?,
                    turn: number(row, 3)?,
                    kind: get(row, 4)?,
                    v: number(row, 5)?,
                    created_at: typed(get(row, 6)?, TryFrom::try_from)?,
                    body: get::<Option<String>>(row, 7)?.unwrap_or_default(),
                    idempotency_key: get(row, 8)?,
                    entry_hash: get::<Option<Vec<u8>>>(row, 9)?.unwrap_or_default(),
                })
            };
            let row = link.one(&format!("{EVENT} WHERE e.idempotency_key = $1"), &[&key]).await?;
            row.map(|row| in_row(&row, read(&row))).transpose()
        })
    }

    fn body(&self, digest: &Sha) -> Result<Option<String>> {
        self.read(async |link| {
            let row = link.one("SELECT data FROM body WHERE sha256 = $1", &[&&digest.0[..]]).await?;
            row.map_or(Ok(None), |row| get(&row, 0))
        })
    }

    fn brief(&self, id: &str) -> Result<Option<Read<ReadBrief>>> {
        self.read(async |link| {
            link.one(&brief_where("WHERE b.id = $1"), &[&id]).await?.as_ref().map(read_brief).transpose()
        })
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64) -> Result<Vec<Read<ReadBrief>>> {
        self.read(async |link| {
            let of_session = match session_id {
                Some(_) => "WHERE b.session_no = (SELECT no FROM session WHERE name = $2)",
                None => "WHERE $2::text IS NULL",
            };
            let sql = brief_where(&format!("{of_session} ORDER BY b.seq DESC LIMIT $1"));
            link.all(&sql, &[&at(limit), &session_id]).await?.iter().map(read_brief).collect()
        })
    }
}

impl MemoryAppend for PostgresAppend {
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        if let Some(found) = self.found.memory(session_id) {
            return Ok(found);
        }
        if self.batch.has_session(session_id) || self.batch.has_memories() {
            self.flush()?;
        }
        self.wait(async |link| head(link, session_id).await)
    }

    fn has_event_key(&mut self, key: &str) -> Result<bool> {
        if self.found.is_free_for_event(key) {
            return Ok(false);
        }
        if self.batch.has_key(key) {
            self.flush()?;
        }
        Ok(self.one("SELECT 1 FROM event WHERE idempotency_key = $1", &[&key])?.is_some())
    }

    fn body(&mut self, digest: &Sha, data: &str) -> Result<Option<bool>> {
        if let Some(found) = self.found.body(digest) {
            return Ok(found);
        }
        if self.batch.has_body(digest) {
            self.flush()?;
        }
        let sql = "SELECT data IS NOT DISTINCT FROM $2::text COLLATE \"C\" FROM body WHERE sha256 = $1";
        let row = self.one(sql, &[&&digest.0[..], &data])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        if let Some(found) = self.found.brief(id) {
            return Ok(found);
        }
        let row = self.one("SELECT session_no FROM brief WHERE id = $1", &[&id])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn insert_event(&mut self, row: &EventRow<'_>) -> Result<()> {
        if let Some(key) = row.idempotency_key {
            self.found.is_free_for_event(key);
        }
        self.bytes += row.body.len();
        self.batch.event(row);
        Ok(())
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.found.body(digest);
        self.bytes += data.len();
        self.batch.body(digest, seq, data);
        Ok(())
    }

    fn insert_brief(&mut self, row: &BriefRow<'_>) -> Result<()> {
        self.found.brief(row.id);
        self.bytes += row.data.map_or(0, str::len);
        self.wait(async |link| {
            let added = link
                .run(
                    "INSERT INTO brief (seq, id, session_no, node, turn, created_at, hash, data)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
                    &[
                        &at(row.seq),
                        &row.id,
                        &row.session_no,
                        &row.node,
                        &at(row.turn),
                        &row.created_at,
                        &&row.hash.0[..],
                        &row.data,
                    ],
                )
                .await?;
            if added == 0 { Err(StoreError::Taken("id")) } else { Ok(()) }
        })
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        self.batch.memory(head);
        Ok(())
    }
}
