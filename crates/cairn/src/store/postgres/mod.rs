//! A PostgreSQL database that any number of servers share: every line of its SQL is in this folder and in
//! `migrations/postgres`.
//!
//! The rest of the library waits for a store; here connections are served by a small runtime of the store's own, and
//! whoever calls waits on the thread it calls from (`wait`).

mod address;
mod append;
mod audit;
mod batch;
mod check;
mod connect;
mod context;
mod derived;
mod error;
mod memory;
mod needs;
mod read;
mod record;
mod redact;
mod replica;
mod review;
mod row;
mod schema;
mod search;
mod sessions;
mod statement;
mod stored;
mod structures;
mod suitable;
mod thoughts;
mod tls;
mod token;
mod transaction;
mod wait;
mod written;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio_postgres::Row;

use crate::store::{OpenError, Opening, StoreError};

pub use address::Address;
use connect::{Link, Pool, Query};
use replica::{Needs, Replica};

type Result<T> = std::result::Result<T, StoreError>;

/// A log in a PostgreSQL database.
pub struct PostgresStore {
    address: Address,
    /// The address as what is remembered outside names it.
    place: PathBuf,
    pool: Arc<Pool>,
    replica: Option<Replica>,
    /// None only while it is dropped.
    runtime: Option<Arc<Runtime>>,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date; makes it if `birth` is given and there is none.
    pub fn open(address: Address, opening: &Opening) -> std::result::Result<PostgresStore, OpenError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cairn-postgres")
            .enable_all()
            .build()
            .map_err(|error| {
                address.failed(StoreError::Other(format!("no thread for the connection: {error}")))
            })?;
        let pool = Arc::new(Pool::new(address.clone()));
        wait::wait(&runtime, schema::prepare(&pool, opening)).map_err(|error| error.at(&address))?;
        Ok(PostgresStore {
            place: PathBuf::from(address.to_string()),
            address,
            pool,
            replica: None,
            runtime: Some(Arc::new(runtime)),
        })
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    fn runtime(&self) -> &Arc<Runtime> {
        self.runtime.as_ref().expect("taken only when the store is dropped")
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        wait::wait(self.runtime(), work)
    }

    /// Adds a copy of the database to read from.
    pub fn reading_from(mut self, address: Address) -> std::result::Result<PostgresStore, String> {
        let replica = Replica::new(address);
        self.wait(replica.greet(&self.pool))?;
        self.replica = Some(replica);
        Ok(self)
    }

    /// Runs `work`, which only reads what was written with entries of the log, on the replica or else here.
    fn read<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        self.wait(self.read_from(Needs::Entries, work))
    }

    /// The same for what reads the derived tables.
    fn read_derived<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        self.wait(self.read_from(Needs::Derived, work))
    }

    /// Sends queries at once, and returns the rows of each.
    fn several(&self, queries: &[Query<'_>]) -> Result<Vec<Vec<Row>>> {
        self.read(async |link| link.several(queries).await)
    }

    /// Runs `work` here: what it reads must be as it is now.
    fn read_here<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        self.wait(self.pool.run(work))
    }

    async fn read_from<T>(&self, needs: Needs, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        let Some(replica) = &self.replica else { return self.pool.run(work).await };
        if let Some(link) = replica.link(&self.pool, needs).await {
            match work(&link).await {
                Ok(done) => {
                    replica.answered();
                    return Ok(done);
                }
                Err(error) => replica.failed(link, &error),
            }
        }
        replica.passed_over();
        self.pool
            .run(async |link| {
                let done = work(link).await?;
                // The replica is asked again when it has all that was seen here.
                replica::see(&self.pool, link).await;
                Ok(done)
            })
            .await
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        // A runtime must not be waited for inside another one.
        if let Some(runtime) = self.runtime.take().and_then(Arc::into_inner) {
            runtime.shutdown_background();
        }
    }
}
