//! A PostgreSQL database that any number of servers share: every line of its SQL is in this folder and in
//! `migrations/postgres`.
//!
//! The rest of the library waits for a store; here connections are served by a small runtime of the store's own, and
//! whoever calls waits on the thread it calls from (`wait`).

mod address;
mod ahead;
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
mod redact;
mod row;
mod schema;
mod search;
mod sessions;
mod stored;
mod tls;
mod token;
mod wait;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Runtime;

use crate::error::OpenError;
use crate::store::{Birth, StoreError};

pub use address::Address;
use connect::{Link, Pool};

type Result<T> = std::result::Result<T, StoreError>;

/// A log in a PostgreSQL database.
pub struct PostgresStore {
    address: Address,
    /// The address as what is remembered outside names it.
    place: PathBuf,
    pool: Arc<Pool>,
    /// None only while it is dropped.
    runtime: Option<Arc<Runtime>>,
}

impl PostgresStore {
    /// Connects, and brings the schema up to date; makes it if `birth` is given and there is none.
    pub fn open(address: Address, birth: Option<Birth>) -> std::result::Result<PostgresStore, OpenError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("cairn-postgres")
            .enable_all()
            .build()
            .map_err(|error| {
                address.failed(StoreError::Other(format!("no thread for the connection: {error}")))
            })?;
        let pool = Arc::new(Pool::new(address.clone()));
        wait::wait(&runtime, schema::prepare(&pool, birth.as_ref())).map_err(|error| error.at(&address))?;
        Ok(PostgresStore {
            place: PathBuf::from(address.to_string()),
            address,
            pool,
            runtime: Some(Arc::new(runtime)),
        })
    }

    fn runtime(&self) -> &Arc<Runtime> {
        self.runtime.as_ref().expect("taken only when the store is dropped")
    }

    fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        wait::wait(self.runtime(), work)
    }

    /// Runs `work`, which only reads, on a connection.
    fn read<T>(&self, work: impl AsyncFn(&Link) -> Result<T>) -> Result<T> {
        self.wait(self.pool.run(work))
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
