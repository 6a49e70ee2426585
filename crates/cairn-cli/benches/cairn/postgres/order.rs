//! Ways to give records of many servers their places in one log and in the chains of their tasks, in bare SQL: what each
//! costs with one hot task and a thousand cold ones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::future::{join, join3, join4, try_join_all};
use tokio::sync::Notify;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, Statement};

use super::place::Place;
use crate::stats::{Sample, number};
use crate::{Sizes, table};

/// Servers, each with one connection that writes.
const SERVERS: usize = 4;
/// Tasks, of which the first is hot: every other record is of it.
const TASKS: i64 = 1_001;
const CONTENT: &str = "Check the retry of the request because the cache was cold when the worker began, and the answer that \
    it gave was not the one that the test expects; before the next change, measure which of the two reads is slower, since \
    the index of the table is larger than the memory that the server may use for it.";

const TABLES: &str = "DROP SCHEMA IF EXISTS ordering CASCADE; CREATE SCHEMA ordering; SET search_path = ordering;
    CREATE TABLE head (one INT PRIMARY KEY, size BIGINT NOT NULL) WITH (fillfactor = 50);
    INSERT INTO head VALUES (1, 0);
    CREATE TABLE task (no BIGINT PRIMARY KEY, length BIGINT NOT NULL) WITH (fillfactor = 80);
    INSERT INTO task SELECT no, 0 FROM generate_series(0, 1000) AS no;
    CREATE TABLE record (seq BIGINT PRIMARY KEY, task_no BIGINT NOT NULL, position BIGINT NOT NULL, content TEXT NOT NULL,
      hash BYTEA NOT NULL, UNIQUE (task_no, position));
    CREATE TABLE unplaced (task_no BIGINT NOT NULL, position BIGINT NOT NULL, content TEXT NOT NULL, hash BYTEA NOT NULL,
      PRIMARY KEY (task_no, position));
    CREATE TABLE waiting (task_no BIGINT NOT NULL, position BIGINT NOT NULL);
    CREATE TABLE place (seq BIGINT PRIMARY KEY, task_no BIGINT NOT NULL, position BIGINT NOT NULL,
      UNIQUE (task_no, position));
    ANALYZE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    HeadRow,
    Advisory,
    Unique,
    Serializable,
    Sequencer,
}

const WAYS: [(Way, &str); 5] = [
    (Way::HeadRow, "the log's head row, FOR UPDATE"),
    (Way::Advisory, "an advisory lock, no heads kept"),
    (Way::Unique, "unique places, and retry"),
    (Way::Serializable, "SERIALIZABLE, and retry"),
    (Way::Sequencer, "a lock a task, then a sequencer"),
];

/// The statements of one connection.
struct Server {
    client: Client,
    lock_head: Statement,
    lock_log: Statement,
    head: Statement,
    newest: Statement,
    lengths: Statement,
    longest: Statement,
    lock_tasks: Statement,
    insert: Statement,
    insert_unplaced: Statement,
    insert_waiting: Statement,
    set_tasks: Statement,
    set_head: Statement,
    random: u64,
}

/// Records of one transaction: how many of each task.
type Wanted = HashMap<i64, i64>;

/// Who waits for the sequencer, by the task and position of its last records.
#[derive(Default)]
struct Waiting(Mutex<HashMap<(i64, i64), Arc<Notify>>>);

impl Server {
    async fn new(client: Client, number: u64) -> Result<Server, Error> {
        let plan =
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
            SET enable_mergejoin = off; SET jit = off";
        client.batch_execute(plan).await?;
        Ok(Server {
            lock_head: client.prepare("SELECT 1 FROM head FOR UPDATE").await?,
            lock_log: client.prepare("SELECT pg_advisory_xact_lock(4711)").await?,
            head: client.prepare("SELECT size FROM head").await?,
            newest: client.prepare("SELECT coalesce(max(seq), 0) FROM record").await?,
            lengths: client.prepare("SELECT no, length FROM task WHERE no = ANY($1)").await?,
            longest: client
                .prepare(
                    "SELECT no, (SELECT coalesce(max(position) + 1, 0) FROM record WHERE task_no = no)
                     FROM unnest($1::bigint[]) AS no",
                )
                .await?,
            lock_tasks: client
                .prepare("SELECT no, length FROM task WHERE no = ANY($1) ORDER BY no FOR UPDATE")
                .await?,
            insert: client
                .prepare(
                    "INSERT INTO record SELECT seq, task_no, position, $4::text, decode(repeat('ab', 32), 'hex')
                     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r (seq, task_no, position)",
                )
                .await?,
            insert_unplaced: client
                .prepare(
                    "INSERT INTO unplaced SELECT task_no, position, $3::text, decode(repeat('ab', 32), 'hex')
                     FROM unnest($1::bigint[], $2::bigint[]) AS r (task_no, position)",
                )
                .await?,
            insert_waiting: client
                .prepare("INSERT INTO waiting SELECT * FROM unnest($1::bigint[], $2::bigint[])")
                .await?,
            set_tasks: client
                .prepare(
                    "UPDATE task SET length = moved.length FROM unnest($1::bigint[], $2::bigint[]) AS moved (no, length)
                     WHERE task.no = moved.no",
                )
                .await?,
            set_head: client.prepare("UPDATE head SET size = $1").await?,
            client,
            random: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        })
    }

    fn wanted(&mut self, count: usize) -> Wanted {
        let mut wanted = Wanted::new();
        for n in 0..count {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let cold = 1 + (self.random % (TASKS as u64 - 1)) as i64;
            let is_hot = if count == 1 { self.random >> 63 == 0 } else { n % 2 == 0 };
            *wanted.entry(if is_hot { 0 } else { cold }).or_default() += 1;
        }
        wanted
    }

    /// One attempt. If somebody else had the place, it fails.
    async fn append(&self, way: Way, wanted: &Wanted, waiting: &Waiting) -> Result<(), Error> {
        let client = &self.client;
        let names: Vec<i64> = wanted.keys().copied().collect();
        let (size, lengths) = match way {
            Way::HeadRow | Way::Advisory => {
                let (lock, newest, lengths) = match way {
                    Way::HeadRow => (&self.lock_head, &self.head, &self.lengths),
                    _ => (&self.lock_log, &self.newest, &self.longest),
                };
                let (begun, locked, size, lengths) = join4(
                    client.batch_execute("BEGIN"),
                    client.query(lock, &[]),
                    client.query_one(newest, &[]),
                    client.query(lengths, &[&names]),
                )
                .await;
                begun?;
                locked?;
                (size?.get::<_, i64>(0), lengths?)
            }
            Way::Unique | Way::Serializable => {
                let begin = match way {
                    Way::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
                    _ => "BEGIN",
                };
                let (begun, size, lengths) = join3(
                    client.batch_execute(begin),
                    client.query_one(&self.newest, &[]),
                    client.query(&self.longest, &[&names]),
                )
                .await;
                begun?;
                (size?.get(0), lengths?)
            }
            Way::Sequencer => {
                let (begun, lengths) =
                    join(client.batch_execute("BEGIN"), client.query(&self.lock_tasks, &[&names])).await;
                begun?;
                (0, lengths?)
            }
        };
        let (mut seqs, mut tasks, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let (mut moved, mut ends) = (Vec::new(), Vec::new());
        for row in lengths {
            let (task, length): (i64, i64) = (row.get(0), row.get(1));
            for position in length..length + wanted[&task] {
                seqs.push(size + 1 + seqs.len() as i64);
                tasks.push(task);
                positions.push(position);
            }
            moved.push(task);
            ends.push(length + wanted[&task]);
        }
        let (written, heads, placed): (_, _, Result<_, Error>) = match way {
            Way::HeadRow => {
                let last = size + seqs.len() as i64;
                let (written, heads, set, committed) = join4(
                    client.execute(&self.insert, &[&seqs, &tasks, &positions, &CONTENT]),
                    client.execute(&self.set_tasks, &[&moved, &ends]),
                    client.execute(&self.set_head, &[&last]),
                    client.batch_execute("COMMIT"),
                )
                .await;
                (written, heads.and(set), committed)
            }
            Way::Advisory | Way::Unique | Way::Serializable => {
                let (written, committed) = join(
                    client.execute(&self.insert, &[&seqs, &tasks, &positions, &CONTENT]),
                    client.batch_execute("COMMIT"),
                )
                .await;
                (written, Ok(0), committed)
            }
            Way::Sequencer => {
                let bell = Arc::new(Notify::new());
                let newest: Vec<(i64, i64)> =
                    moved.iter().copied().zip(ends.iter().map(|end| end - 1)).collect();
                for place in &newest {
                    waiting.0.lock().expect("nobody panics").insert(*place, bell.clone());
                }
                let (written, queued, heads, committed) = join4(
                    client.execute(&self.insert_unplaced, &[&tasks, &positions, &CONTENT]),
                    client.execute(&self.insert_waiting, &[&tasks, &positions]),
                    client.execute(&self.set_tasks, &[&moved, &ends]),
                    client.batch_execute("COMMIT"),
                )
                .await;
                let written = written.and(queued).and(heads).and_then(|_| committed.map(|()| 0));
                if written.is_ok() {
                    // What one transaction wrote, the sequencer takes as a whole.
                    bell.notified().await;
                }
                (written, Ok(0), Ok(()))
            }
        };
        written?;
        heads?;
        placed
    }
}

fn is_collision(error: &Error) -> bool {
    let codes = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::IN_FAILED_SQL_TRANSACTION,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}

/// Gives what waits its places, batch after batch, until nobody can come any more.
async fn sequence(client: &Client, waiting: &Waiting, end: Instant) -> Result<(), Error> {
    let place = client
        .prepare(
            "WITH taken AS (DELETE FROM waiting RETURNING task_no, position)
             INSERT INTO place SELECT (SELECT coalesce(max(seq), 0) FROM place)
               + row_number() OVER (ORDER BY task_no, position), task_no, position FROM taken
             RETURNING task_no, position",
        )
        .await?;
    while Instant::now() < end {
        let rows = client.query(&place, &[]).await?;
        if rows.is_empty() {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        let mut waiting = waiting.0.lock().expect("nobody panics");
        for row in rows {
            if let Some(bell) = waiting.remove(&(row.get(0), row.get(1))) {
                bell.notify_one();
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Measured {
    rate: Sample,
    p50: Sample,
    p99: Sample,
    attempts: Sample,
}

async fn serve(
    mut server: Server,
    way: Way,
    batch: usize,
    waiting: &Waiting,
    until: Instant,
) -> Result<(u64, u64, Sample)> {
    let (mut commits, mut attempts, mut times) = (0, 0, Sample::default());
    while Instant::now() < until {
        let wanted = server.wanted(batch);
        let started = Instant::now();
        loop {
            attempts += 1;
            match server.append(way, &wanted, waiting).await {
                Ok(()) => break,
                Err(error) if is_collision(&error) => server.client.batch_execute("ROLLBACK").await?,
                Err(error) => return Err(error.into()),
            }
        }
        times.add_ms(started.elapsed());
        commits += 1;
    }
    Ok((commits, attempts, times))
}

/// One round. With `reader` somebody holds an old state of the database all the time, as who verifies or dumps it does.
fn measure(
    place: &Place,
    way: Way,
    batch: usize,
    seconds: f64,
    reader: bool,
    measured: &mut Measured,
) -> Result<()> {
    place.run("public", TABLES)?;
    let old = place.connect("ordering")?;
    if reader {
        let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM head";
        place.wait(old.batch_execute(hold))?;
    }
    let clients: Vec<Client> = (0..=SERVERS).map(|_| place.connect("ordering")).collect::<Result<_>>()?;
    let (commits, took) = place.wait(async {
        let waiting = Arc::new(Waiting::default());
        let mut servers = Vec::new();
        let mut clients = clients.into_iter();
        let sequencer = clients.next().context("one more than servers")?;
        for (number, client) in clients.enumerate() {
            servers.push(Server::new(client, number as u64 + 1).await?);
        }
        let started = Instant::now();
        let until = started + Duration::from_secs_f64(seconds);
        let sequenced = {
            let waiting = waiting.clone();
            // Longer than anyone appends, so that nobody waits in vain.
            let end = if way == Way::Sequencer { until + Duration::from_secs(5) } else { started };
            tokio::spawn(async move { sequence(&sequencer, &waiting, end).await })
        };
        let served = servers.into_iter().map(|server| serve(server, way, batch, &waiting, until));
        let served = try_join_all(served).await?;
        let took = started.elapsed();
        sequenced.abort();
        let (mut commits, mut attempts) = (0, 0);
        let mut all = Sample::default();
        for (done, tried, times) in served {
            commits += done;
            attempts += tried;
            all.extend(times);
        }
        measured.attempts.add(attempts as f64 / commits.max(1) as f64);
        measured.p50.add(all.quantile(0.5));
        measured.p99.add(all.quantile(0.99));
        Ok::<_, anyhow::Error>((commits, took))
    })?;
    let records = commits * batch as u64;
    measured.rate.add(records as f64 / took.as_secs_f64());
    // Every record has its place: in the log without a gap, and in its task.
    let table = if way == Way::Sequencer { "ordering.place" } else { "ordering.record" };
    let is_whole: bool = place.value(&format!(
        "SELECT (SELECT count(*) = {records} AND min(seq) = 1 AND max(seq) = {records} FROM {table}) AND bool_and(whole)
         FROM (SELECT min(position) = 0 AND max(position) + 1 = count(*) AS whole FROM {table} GROUP BY task_no) AS chains"
    ))?;
    ensure!(is_whole, "{way:?} left a gap, or a fork");
    Ok(())
}

/// Prints what each way costs.
pub fn run(sizes: &Sizes, place: &Place) -> Result<()> {
    for batch in [1, 16] {
        let mut measured: [Measured; 5] = Default::default();
        for _ in 0..sizes.rounds {
            for ((way, _), measured) in WAYS.into_iter().zip(&mut measured) {
                measure(place, way, batch, sizes.ordering, false, measured)?;
            }
        }
        let rows: Vec<[String; 6]> = WAYS
            .iter()
            .zip(&measured)
            .map(|((_, name), way)| {
                [
                    name.to_string(),
                    way.rate.show(),
                    way.rate.over(&measured[0].rate).show(),
                    number(way.p50.median()),
                    number(way.p99.median()),
                    number(way.attempts.median()),
                ]
            })
            .collect();
        let what = format!("{SERVERS} servers, {batch} a commit");
        table::print([&what, "records/s", "to the first", "p50 ms", "p99 ms", "attempts"], &rows);
    }
    beside_a_reader(sizes, place)?;
    place.run("public", "DROP SCHEMA ordering CASCADE")
}

/// What an old state that somebody reads costs those who append: rows that change leave versions behind which cannot be
/// removed meanwhile.
fn beside_a_reader(sizes: &Sizes, place: &Place) -> Result<()> {
    let ways = &WAYS[..2];
    let mut measured: [[Measured; 2]; 2] = Default::default();
    for _ in 0..sizes.rounds.min(3) {
        for ((way, _), [without, with]) in ways.iter().zip(&mut measured) {
            measure(place, *way, 16, 4.0 * sizes.ordering, false, without)?;
            measure(place, *way, 16, 4.0 * sizes.ordering, true, with)?;
        }
    }
    let rows: Vec<[String; 4]> = ways
        .iter()
        .zip(&measured)
        .map(|((_, name), [without, with])| {
            let cost = with.rate.over(&without.rate);
            [name.to_string(), without.rate.show(), with.rate.show(), cost.show()]
        })
        .collect();
    table::print(["16 a commit, four times as long", "records/s", "beside a long reader", "ratio"], &rows);
    Ok(())
}
