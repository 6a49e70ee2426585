//! Working memory: events of sessions, the contents they name, stored briefs.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;

use super::append::PostgresAppend;
use super::connect::{Link, Values};
use super::record::{self, Ask};
use super::redact::redaction_leaf;
use super::row::{at, get, number, number_or_none};
use super::{PostgresStore, Result};
use crate::store::tables;
use crate::store::{FoldRow, MemoryAppend, MemoryHead, MemoryReader, ReadBody, Visit};

/// How far a session's memory has come; none if it has none.
async fn head(link: &Link, session_id: &str) -> Result<Option<MemoryHead>> {
    let row = link
        .one(
            "SELECT m.session_no, m.length, m.newest, coalesce((SELECT max(seq) FROM redaction), 0) FROM memory m JOIN session s ON s.no = m.session_no
             WHERE s.name = $1",
            &[&session_id],
        )
        .await?;
    row.map(|row| {
        Ok(MemoryHead {
            session_no: get(&row, 0)?,
            length: number(&row, 1)?,
            newest: number(&row, 2)?,
            redaction: number(&row, 3)?,
        })
    })
    .transpose()
}

/// Runs a query for which `condition` follows the selection of records of one kind.
fn each(
    store: &PostgresStore,
    kind: EntryKind,
    condition: &str,
    values: &Values<'_>,
    visit: Visit<'_>,
) -> Result<()> {
    let sql = format!("{} {condition}", tables::select(kind, true));
    record::each(&mut |queries| store.several(queries), kind, &sql, values, visit)
}

impl MemoryReader for PostgresStore {
    fn memory(&self, session_id: &str) -> Result<Option<MemoryHead>> {
        self.read(async |link| head(link, session_id).await)
    }

    fn events(&self, session_id: &str, after: u64, to: u64, visit: Visit<'_>) -> Result<()> {
        // `after` is nearly always an event of this session: then the index leads there, past all earlier ones.
        let sql = format!(
            "{} WHERE t.session_no = (SELECT no FROM session WHERE name = $3) AND t.seq > $1 AND t.seq <= $4
               AND t.position >= coalesce((SELECT a.position FROM event a JOIN session n ON n.no = a.session_no
                 WHERE a.seq = $1 AND n.name = $3), 0)
             ORDER BY t.position LIMIT $2",
            tables::select(EntryKind::Event, true)
        );
        let ask: Ask<'_> = &mut |queries| self.several(queries);
        record::pages(ask, EntryKind::Event, &sql, at(after), &[&session_id, &at(to)], visit)
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

    fn event_by_key(&self, key: &str, visit: Visit<'_>) -> Result<()> {
        each(self, EntryKind::Event, "WHERE t.idempotency_key = $1", &[&key], visit)
    }

    fn body(&self, digest: &Sha) -> Result<Option<ReadBody>> {
        self.read(async |link| {
            let sql =
                "SELECT b.data, e.seq, e.leaf, e.leaf_hash FROM body b LEFT JOIN entry e ON e.seq = b.redaction
                       WHERE b.sha256 = $1";
            let row = link.one(sql, &[&&digest.0[..]]).await?;
            row.map(|row| match get(&row, 0)? {
                Some(data) => Ok(ReadBody::Data(data)),
                None => Ok(ReadBody::Gone(redaction_leaf(&row, 1)?)),
            })
            .transpose()
        })
    }

    fn brief(&self, id: &str, visit: Visit<'_>) -> Result<()> {
        each(self, EntryKind::Brief, "WHERE t.id = $1", &[&id], visit)
    }

    fn briefs(&self, session_id: Option<&str>, limit: u64, visit: Visit<'_>) -> Result<()> {
        let condition = match session_id {
            Some(_) => {
                "WHERE t.session_no = (SELECT no FROM session WHERE name = $2) ORDER BY t.seq DESC LIMIT $1"
            }
            None => "WHERE $2::text IS NULL ORDER BY t.seq DESC LIMIT $1",
        };
        each(self, EntryKind::Brief, condition, &[&at(limit), &session_id], visit)
    }
}

impl MemoryAppend for PostgresAppend {
    fn memory(&mut self, session_id: &str) -> Result<Option<MemoryHead>> {
        if let Some(found) = self.found.memory(session_id) {
            return Ok(found);
        }
        // The newest redaction is part of the answer.
        if self.batch.has_session(session_id) || self.batch.has_memories() || self.batch.has_statements() {
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

    fn body_redaction(&mut self, digest: &Sha) -> Result<Option<u64>> {
        self.flush()?;
        let sql = "SELECT redaction FROM body WHERE sha256 = $1 AND data IS NULL";
        let row = self.one(sql, &[&&digest.0[..]])?;
        row.map_or(Ok(None), |row| number_or_none(&row, 0))
    }

    fn naming(&mut self, digest: &Sha) -> Result<Vec<u64>> {
        self.flush()?;
        let quoted = format!("\"{digest}\"");
        self.wait(async |link| {
            let sql = "SELECT seq FROM event WHERE strpos(body COLLATE \"C\", $1) > 0 ORDER BY seq";
            let rows = link.all(sql, &[&quoted]).await?;
            rows.iter().map(|row| number(row, 0)).collect()
        })
    }

    fn brief_session(&mut self, id: &str) -> Result<Option<i64>> {
        if let Some(found) = self.found.brief(id) {
            return Ok(found);
        }
        if self.batch.has_id(EntryKind::Brief, id) {
            self.flush()?;
        }
        let row = self.one("SELECT session_no FROM brief WHERE id = $1", &[&id])?;
        row.map(|row| get(&row, 0)).transpose()
    }

    fn insert_body(&mut self, digest: &Sha, seq: u64, data: &str) -> Result<()> {
        self.found.body(digest);
        self.bytes += data.len();
        self.batch.body(digest, seq, data);
        Ok(())
    }

    fn set_memory(&mut self, head: &MemoryHead) -> Result<()> {
        self.batch.memory(head);
        Ok(())
    }
}
