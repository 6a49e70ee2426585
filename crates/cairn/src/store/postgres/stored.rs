//! Values as they are stored, for verification: nothing in them is believed.

use cairn_core::Sha;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::Result;
use crate::store::{Scanned, StoreError, StoredEntry, StoredThought};

/// The columns that [`scanned`] reads.
pub const COLUMNS: &str = "e.seq, e.kind, e.leaf, e.hash, t.seq, t.id, t.type, t.task_no, t.position, t.session_no,
    t.step_index, t.parent_seq, t.agent_id, t.action_id, t.context_id, t.brief_id, t.supersedes, t.rejects,
    t.applies_to, t.source, t.timestamp, t.content, t.metadata, t.salt, t.idempotency_key, t.prev_hash, t.hash, t.content_hash, t.chain_hash";

/// Values of a query.
pub type Values<'a> = [&'a (dyn ToSql + Sync)];

/// A value that has to be there in order to go on.
pub fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|_| StoreError::Damaged("a stored value has the wrong form".into()))
}

/// A number that cannot be negative.
pub fn unsigned(row: &Row, column: usize) -> Result<u64> {
    let wrong = |_| StoreError::Damaged("a stored value has the wrong form".into());
    get::<i64>(row, column)?.try_into().map_err(wrong)
}

/// A value, if it is there and has the form that it should have.
pub fn value<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Option<T> {
    row.try_get::<_, Option<T>>(column).ok().flatten()
}

/// Whether a value is not there. What cannot be read must not pass for nothing.
pub fn is_null(row: &Row, column: usize) -> bool {
    row.try_get::<_, Option<Anything>>(column).is_ok_and(|found| found.is_none())
}

/// A value of whatever type.
struct Anything;

impl<'a> FromSql<'a> for Anything {
    fn from_sql(
        _: &Type,
        _: &'a [u8],
    ) -> std::result::Result<Anything, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Anything)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A hash as stored; none if it does not even have the length of one.
pub fn sha(row: &Row, column: usize) -> Option<Sha> {
    value::<&[u8]>(row, column).and_then(|bytes| bytes.try_into().ok()).map(Sha)
}

/// A position, as PostgreSQL has numbers: beyond the greatest there is nothing.
pub fn number(position: u64) -> i64 {
    i64::try_from(position).unwrap_or(i64::MAX)
}

/// Reads columns one after the other and remembers the first that does not hold what it should.
struct Columns<'r> {
    row: &'r Row,
    next: usize,
    malformed: Option<(&'static str, &'static str)>,
}

impl<'r> Columns<'r> {
    fn required<T: FromSql<'r> + Default>(&mut self, table: &'static str, name: &'static str) -> T {
        self.next += 1;
        let found = value(self.row, self.next - 1);
        if found.is_none() {
            self.malformed = self.malformed.or(Some((table, name)));
        }
        found.unwrap_or_default()
    }

    /// Like the other, for a column that may be NULL.
    fn optional<T: FromSql<'r>>(&mut self, name: &'static str) -> Option<T> {
        self.next += 1;
        let found = value(self.row, self.next - 1);
        if found.is_none() && !is_null(self.row, self.next - 1) {
            self.malformed = self.malformed.or(Some(("thought", name)));
        }
        found
    }
}

/// Reads an entry with its thought; `from` is the first of [`COLUMNS`].
pub fn scanned(row: &Row, seq: u64, from: usize) -> Scanned<'_> {
    let mut columns = Columns { row, next: from + 1, malformed: None };
    let entry = (!is_null(row, from)).then(|| StoredEntry {
        kind: columns.required("entry", "kind"),
        leaf: columns.required("entry", "leaf"),
        hash: columns.required("entry", "hash"),
    });
    columns.next = from + 5;
    let thought = (!is_null(row, from + 4)).then(|| StoredThought {
        id: columns.required("thought", "id"),
        kind: columns.required("thought", "type"),
        task_no: columns.required("thought", "task_no"),
        position: columns.required("thought", "position"),
        session_no: columns.required("thought", "session_no"),
        step_index: columns.required("thought", "step_index"),
        parent_seq: columns.optional("parent_seq"),
        agent_id: columns.required("thought", "agent_id"),
        action_id: columns.optional("action_id"),
        context_id: columns.optional("context_id"),
        brief_id: columns.optional("brief_id"),
        supersedes: columns.optional("supersedes"),
        rejects: columns.optional("rejects"),
        applies_to: columns.optional("applies_to"),
        source: columns.required("thought", "source"),
        timestamp: columns.required("thought", "timestamp"),
        content: columns.optional("content"),
        metadata: columns.optional("metadata"),
        salt: columns.optional("salt"),
        idempotency_key: columns.optional("idempotency_key"),
        prev_hash: columns.required("thought", "prev_hash"),
        hash: columns.required("thought", "hash"),
        content_hash: columns.required("thought", "content_hash"),
        chain_hash: columns.required("thought", "chain_hash"),
    });
    Scanned { seq, entry, thought, malformed: columns.malformed }
}
