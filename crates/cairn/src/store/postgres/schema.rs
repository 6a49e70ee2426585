//! The schema: recognising a log, making a new one, bringing an old one up to date, refusing the rest.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cairn_core::entry::{Entry, Genesis, Parts, Record};
use cairn_core::log::{Edge, leaf_hash};
use tokio::time::sleep;
use tokio_postgres::{Client, Error, GenericClient};

use super::address::Address;
use super::batch::Batch;
use super::connect::{AGAIN, Pool};
use super::error::store_error;
use crate::store::{Birth, Keys, OpenError, Opening, StoreError};

/// The first makes [`FIRST`] of nothing, each of the others the next version. Never edited once released.
const MIGRATIONS: [&str; 1] = [include_str!("../../../migrations/postgres/0011_cairn.sql")];

/// The oldest version that can be read. Those before it were never released.
const FIRST: i64 = 11;

/// For how long it is tried to bring a schema up to date that others are using.
const MIGRATING: Duration = Duration::from_secs(60);

/// Lists everything that stands in the schema.
pub const OBJECTS: &str = include_str!("../../../migrations/postgres/objects.sql");

/// What that list says of a schema that this program made.
pub const EXPECTED: &str = include_str!("../../../migrations/postgres/expected.txt");

/// The version this program writes.
pub const VERSION: i64 = FIRST + MIGRATIONS.len() as i64 - 1;

/// Why a database cannot be used.
pub enum PrepareError {
    /// PostgreSQL reported something, or could not be reached.
    Store(StoreError),
    /// It holds something else.
    NotOurs,
    /// It was written by a later version.
    Newer(i64),
    /// It was written by an earlier version, and this role may not bring it up to date.
    Older(i64),
    /// There is no log, and none was asked to be made.
    Empty,
    /// There is no log, and this role may not make one.
    Barred,
}

impl From<Error> for PrepareError {
    fn from(error: Error) -> PrepareError {
        PrepareError::Store(store_error(error))
    }
}

impl From<StoreError> for PrepareError {
    fn from(error: StoreError) -> PrepareError {
        PrepareError::Store(error)
    }
}

impl PrepareError {
    /// Names the database.
    pub fn at(self, address: &Address) -> OpenError {
        let path = PathBuf::from(address.to_string());
        match self {
            PrepareError::Store(source) => OpenError::Store { path, source },
            PrepareError::NotOurs => {
                let found = format!("its schema `{}` holds tables of another program", address.schema());
                OpenError::NotOurs { path, found }
            }
            PrepareError::Newer(found) => OpenError::Newer { path, found, known: VERSION },
            PrepareError::Older(found) => OpenError::Older { path, found, known: VERSION },
            PrepareError::Empty => OpenError::Missing { path },
            PrepareError::Barred => OpenError::Barred { path, schema: address.schema().to_string() },
        }
    }
}

/// Makes sure that the database is ours and current. A new one gets its schema and its first entry, once, however many
/// servers start at the same time.
pub async fn prepare(pool: &Pool, opening: &Opening) -> Result<(), PrepareError> {
    let mut link = pool.open_now().await?;
    let schema = pool.address().schema().to_string();
    let client: &mut Client = link.client_mut();
    let version = recognise(client, &schema).await?;
    if version == VERSION {
        return Ok(());
    }
    let birth = match opening {
        Opening::Create(birth) => Some(birth),
        _ if version == 0 => return Err(PrepareError::Empty),
        Opening::Read => return Err(PrepareError::Older(version)),
        Opening::Write => None,
    };
    let started = Instant::now();
    loop {
        match migrate(client, &schema, birth).await {
            Err(PrepareError::Store(StoreError::Overloaded { .. })) if started.elapsed() < MIGRATING => {
                sleep(AGAIN).await;
            }
            done => return done,
        }
    }
}

/// Brings the schema up to date, in one transaction. `Overloaded` if somebody is using what has to be changed.
async fn migrate(client: &mut Client, schema: &str, birth: Option<&Birth>) -> Result<(), PrepareError> {
    let transaction = client.transaction().await?;
    // Everyone who finds the schema old waits here for the first to bring it up to date, which takes as long as it takes.
    transaction.batch_execute("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0").await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock(hashtextextended('cairn ' || $1, 0))", &[&schema])
        .await?;
    let version = recognise(&transaction, schema).await?;
    if version == VERSION {
        return Ok(());
    }
    // A table that is being read, as by a verification, cannot be changed, and whoever waits to change it holds up everyone
    // who comes after: so that is not waited for, but tried again.
    transaction.batch_execute("SET LOCAL lock_timeout = '500ms'").await?;
    match bring_up_to_date(&transaction, schema, version, birth).await {
        Err(PrepareError::Store(StoreError::NotAllowed)) => {
            return Err(if version > 0 { PrepareError::Older(version) } else { PrepareError::Barred });
        }
        done => done?,
    }
    transaction.commit().await?;
    Ok(())
}

async fn bring_up_to_date(
    client: &impl GenericClient,
    schema: &str,
    version: i64,
    birth: Option<&Birth>,
) -> Result<(), PrepareError> {
    if version == 0 {
        // Even asking for one that is there takes a right that whoever made it for us may not have given.
        let there = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)";
        if !client.query_one(there, &[&schema]).await?.get::<_, bool>(0) {
            client.batch_execute(&format!("CREATE SCHEMA \"{schema}\"")).await?;
        }
        client.batch_execute("CREATE TABLE cairn_version (version BIGINT NOT NULL)").await?;
        client.batch_execute("INSERT INTO cairn_version VALUES (0)").await?;
    }
    for (makes, migration) in (FIRST..).zip(MIGRATIONS) {
        if makes > version {
            client.batch_execute(migration).await?;
        }
    }
    if version == 0 {
        begin_log(client, birth.ok_or(PrepareError::Empty)?).await?;
    }
    client.execute("UPDATE cairn_version SET version = $1", &[&VERSION]).await?;
    Ok(())
}

/// The version of our schema, 0 if there is none yet.
async fn recognise(client: &impl GenericClient, schema: &str) -> Result<i64, PrepareError> {
    // In this order: another server that makes the schema meanwhile makes all of it at once.
    let anything = "SELECT EXISTS (
                      SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)";
    let anything: bool = client.query_one(anything, &[&schema]).await?.try_get(0)?;
    let ours = "SELECT to_regclass(format('%I.cairn_version', $1::text)) IS NOT NULL";
    let ours: bool = client.query_one(ours, &[&schema]).await?.try_get(0)?;
    match (ours, anything) {
        (false, false) => return Ok(0),
        (false, true) => return Err(PrepareError::NotOurs),
        (true, _) => {}
    }
    let rows = client.query("SELECT version FROM cairn_version", &[]).await?;
    let [row] = &rows[..] else {
        return Err(StoreError::Damaged("its version is not noted once".into()).into());
    };
    let version: i64 = row.try_get(0)?;
    match version {
        newer if newer > VERSION => Err(PrepareError::Newer(newer)),
        older if older < FIRST => Err(PrepareError::Older(older)),
        known => Ok(known),
    }
}

async fn begin_log(client: &impl GenericClient, birth: &Birth) -> Result<(), Error> {
    let entry = Entry::Genesis(Genesis {
        origin: birth.origin.as_str().into(),
        seq: 0,
        timestamp: birth.timestamp.as_str().into(),
    });
    let mut leaf = Vec::new();
    entry.write(&mut leaf);
    let hash = leaf_hash(&leaf);
    let mut edge = Edge::empty();
    edge.push(hash, &mut |_| {});
    let mut batch = Batch::default();
    batch.record(&Record { entry, parts: Parts::default() }, &Keys::default(), &hash);
    if let Some(statement) = batch.statement() {
        client.execute(&statement.sql, &statement.values).await?;
    }
    client
        .execute(
            "INSERT INTO log (one, origin, size, root, edge) VALUES (1, $1, 1, $2, $3)",
            &[&birth.origin, &&edge.root().0[..], &edge.to_bytes()],
        )
        .await?;
    client.batch_execute("INSERT INTO derived (one, through, documents, words) VALUES (1, 0, 0, 0)").await
}
