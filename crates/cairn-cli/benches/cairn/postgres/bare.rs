//! The floor: the same rows of thoughts, unhashed, in a table with the same indexes and no other.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::{join, join_all};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use super::place::Place;
use crate::bare::Row;
use crate::stats::Sample;

const ZERO: &[u8] = &[0; 32];
const COLUMNS: &str =
    "seq, id, type, task_no, position, session_no, step_index, agent_id, action_id, timestamp, content,
    metadata, salt, prev_hash, hash, content_hash, chain_hash, source";

/// How a transaction's rows are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// One `INSERT` a row, all of them and the commit sent without waiting.
    Rows,
    /// One `INSERT` for all rows, which commits by itself.
    Together,
}

/// A table of its own.
pub struct Bare {
    client: Client,
    insert: Statement,
    together: Statement,
    next: i64,
    lengths: Vec<i64>,
}

impl Bare {
    /// Makes the schema and its table like that of a log of Cairn, or opens it.
    pub fn open(place: &Place, schema: &str, like: &str) -> Result<Bare> {
        place.run(
            "public",
            &format!(
                "CREATE SCHEMA IF NOT EXISTS {schema};
                 CREATE TABLE IF NOT EXISTS {schema}.thought (LIKE {like}.thought INCLUDING ALL)"
            ),
        )?;
        let client = place.connect(schema)?;
        let (insert, together, next, lengths) = place.wait(async {
            let values = (1..=17).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
            let insert = client.prepare(&format!("INSERT INTO thought ({COLUMNS}) VALUES ({values}, 'agent')")).await?;
            let types = "bigint text text bigint bigint bigint bigint text text text text text bytea bytea bytea bytea bytea";
            let arrays: Vec<String> = types.split(' ').enumerate().map(|(n, kind)| format!("${}::{kind}[]", n + 1)).collect();
            let together =
                format!("INSERT INTO thought ({COLUMNS}) SELECT *, 'agent' FROM unnest({})", arrays.join(", "));
            let together = client.prepare(&together).await?;
            let next = client.query_one("SELECT coalesce(max(seq), 0) + 1 FROM thought", &[]).await?.try_get(0)?;
            let mut lengths = vec![0; crate::text::SESSIONS + 2];
            for row in client.query("SELECT session_no, max(step_index) + 1 FROM thought GROUP BY 1", &[]).await? {
                if let Some(length) = lengths.get_mut(row.try_get::<_, i64>(0)? as usize) {
                    *length = row.try_get(1)?;
                }
            }
            Ok::<_, anyhow::Error>((insert, together, next, lengths))
        })?;
        Ok(Bare { client, insert, together, next, lengths })
    }

    /// Writes rows in transactions of `group`; returns how long that took.
    pub fn write(&mut self, place: &Place, rows: &[Row], group: usize, way: Way) -> Result<Duration> {
        let started = Instant::now();
        for rows in rows.chunks(group) {
            let columns = self.columns(rows);
            place.wait(async {
                match way {
                    Way::Together => self.client.execute(&self.together, &columns.whole()).await.map(drop),
                    Way::Rows => self.one_by_one(&columns).await,
                }
            })?;
        }
        Ok(started.elapsed())
    }

    /// Writes rows one by one, each durable before the next; returns how long each took, in milliseconds.
    pub fn single(&mut self, place: &Place, rows: &[Row]) -> Result<Sample> {
        let mut times = Sample::default();
        for row in rows.chunks(1) {
            let columns = self.columns(row);
            let started = Instant::now();
            place.wait(self.client.execute(&self.insert, &columns.row(0)))?;
            times.add_ms(started.elapsed());
        }
        Ok(times)
    }

    async fn one_by_one(&self, columns: &Columns<'_>) -> std::result::Result<(), tokio_postgres::Error> {
        let (begun, (written, committed)) = join(
            self.client.batch_execute("BEGIN"),
            join(
                join_all(
                    (0..columns.seq.len())
                        .map(|row| async move { self.client.execute(&self.insert, &columns.row(row)).await }),
                ),
                self.client.batch_execute("COMMIT"),
            ),
        )
        .await;
        begun?;
        for written in written {
            written?;
        }
        committed
    }

    fn columns<'r>(&mut self, rows: &'r [Row]) -> Columns<'r> {
        let mut columns = Columns::default();
        for row in rows {
            let length = &mut self.lengths[row.session as usize];
            columns.seq.push(self.next);
            columns.id.push(&row.id);
            columns.kind.push(row.kind);
            columns.session.push(row.session);
            columns.position.push(*length);
            columns.agent_id.push(&row.agent_id);
            columns.action_id.push(row.action_id.as_deref());
            columns.timestamp.push(&row.timestamp);
            columns.content.push(&row.content);
            columns.metadata.push(row.metadata.as_deref());
            columns.salt.push(row.metadata.as_ref().map(|_| ZERO));
            columns.hash.push(ZERO);
            *length += 1;
            self.next += 1;
        }
        columns
    }
}

#[derive(Default)]
struct Columns<'r> {
    seq: Vec<i64>,
    id: Vec<&'r str>,
    kind: Vec<&'r str>,
    session: Vec<i64>,
    position: Vec<i64>,
    agent_id: Vec<&'r str>,
    action_id: Vec<Option<&'r str>>,
    timestamp: Vec<&'r str>,
    content: Vec<&'r str>,
    metadata: Vec<Option<&'r str>>,
    salt: Vec<Option<&'r [u8]>>,
    hash: Vec<&'r [u8]>,
}

impl Columns<'_> {
    fn whole(&self) -> [&(dyn ToSql + Sync); 17] {
        [
            &self.seq,
            &self.id,
            &self.kind,
            &self.session,
            &self.position,
            &self.session,
            &self.position,
            &self.agent_id,
            &self.action_id,
            &self.timestamp,
            &self.content,
            &self.metadata,
            &self.salt,
            &self.hash,
            &self.hash,
            &self.hash,
            &self.hash,
        ]
    }

    fn row(&self, row: usize) -> [&(dyn ToSql + Sync); 17] {
        [
            &self.seq[row],
            &self.id[row],
            &self.kind[row],
            &self.session[row],
            &self.position[row],
            &self.session[row],
            &self.position[row],
            &self.agent_id[row],
            &self.action_id[row],
            &self.timestamp[row],
            &self.content[row],
            &self.metadata[row],
            &self.salt[row],
            &self.hash[row],
            &self.hash[row],
            &self.hash[row],
            &self.hash[row],
        ]
    }
}
