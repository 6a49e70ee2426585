//! What whoever verifies entries will ask for next, read with one question a page instead of one an entry.

use std::collections::HashMap;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::stored::{Values, get, value};
use crate::store::StoreError;

/// The columns of an event, as [`super::audit`] reads them.
pub const OF_EVENT: &str =
    "s.name, e.position, e.turn, e.kind, e.v, e.created_at, e.body, e.idempotency_key FROM event e
       LEFT JOIN session s ON s.no = e.session_no";

/// Events that are held at most, by the length of their texts; others are asked for one by one.
const MOST_BYTES: i64 = 4 << 20;

/// What belongs to a page of entries.
#[derive(Default)]
pub struct Ahead {
    events: HashMap<i64, Vec<Row>>,
    /// Whether the action of a thought is listed.
    actions: HashMap<i64, bool>,
}

impl Ahead {
    /// Reads what belongs to the entries of a page, which has position, kind and action in these columns.
    pub fn of(
        page: &[Row],
        [kind, action]: [usize; 2],
        read: impl Fn(&str, &Values<'_>) -> Result<Vec<Row>, StoreError>,
    ) -> Result<Ahead, StoreError> {
        let mut ahead = Ahead::default();
        let is_event =
            |row: &&Row| value::<&str>(row, kind) == Some(cairn_core::entry::EntryKind::Event.as_str());
        let mut events = page.iter().filter(is_event);
        if let Some(first) = events.next() {
            let (first, last): (i64, i64) = (get(first, 0)?, get(events.last().unwrap_or(first), 0)?);
            let sql = format!(
                "SELECT e.seq, {OF_EVENT} JOIN (
                   SELECT seq, sum(octet_length(body)) OVER (ORDER BY seq) AS bytes FROM event WHERE seq >= $1 AND seq <= $2
                 ) AS sized ON sized.seq = e.seq WHERE bytes <= $3"
            );
            for row in read(&sql, &[&first, &last, &MOST_BYTES])? {
                // Without a position of its own nobody asks for it.
                let Some(seq) = value(&row, 0) else { continue };
                ahead.events.entry(seq).or_default().push(row);
            }
        }
        let acted = |row: &Row| Some((value::<&str>(row, action)?.to_string(), value::<i64>(row, 0)?));
        let (actions, seqs): (Vec<String>, Vec<i64>) = page.iter().filter_map(acted).unzip();
        if !seqs.is_empty() {
            let sql = "SELECT seq, EXISTS (SELECT 1 FROM action a WHERE a.action_id = t.action_id AND a.seq = t.seq)
                       FROM unnest($1::text[], $2::bigint[]) AS t (action_id, seq)";
            let values: [&(dyn ToSql + Sync); 2] = [&actions, &seqs];
            for row in read(sql, &values)? {
                ahead.actions.insert(get(&row, 0)?, get(&row, 1)?);
            }
        }
        Ok(ahead)
    }

    /// The event of an entry, with its position before its columns; none if it is not held.
    pub fn event(&mut self, seq: i64) -> Option<Vec<Row>> {
        self.events.remove(&seq)
    }

    /// Whether the action of a thought is listed, if that is known.
    pub fn action_is_listed(&self, seq: i64) -> Option<bool> {
        self.actions.get(&seq).copied()
    }
}
