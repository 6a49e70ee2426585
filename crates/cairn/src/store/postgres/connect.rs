//! The connections to the database.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::Result;
use super::address::Address;
use super::error::store_error;
use crate::store::StoreError;

/// Connections of one process. More would not be faster, and a server has only so many.
const MOST_LINKS: usize = 16;
/// How long a call waits for a connection, and for others' locks, before it gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Connections, lent out in the order in which they are asked for.
pub struct Pool {
    address: Address,
    idle: Arc<Mutex<VecDeque<Session>>>,
    turns: Arc<Semaphore>,
}

/// A connection and the statements that were prepared on it.
struct Session {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Pool {
    pub fn new(address: Address) -> Pool {
        Pool { address, idle: Arc::default(), turns: Arc::new(Semaphore::new(MOST_LINKS)) }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Lends a connection out; waits its turn if all are lent.
    pub async fn take(&self) -> Result<Link> {
        let turn = self.turn().await?;
        loop {
            let idle = self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop_front();
            match idle {
                Some(session) if session.client.is_closed() => {}
                Some(session) => {
                    return Ok(Link { session: Some(session), idle: self.idle.clone(), _turn: turn });
                }
                None => return self.connect(turn).await,
            }
        }
    }

    /// The same, after one was lost: those that wait here may be as well.
    pub async fn take_new(&self) -> Result<Link> {
        let turn = self.turn().await?;
        self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
        self.connect(turn).await
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let turn = timeout(PATIENCE, self.turns.clone().acquire_owned()).await;
        turn.map_err(|_| StoreError::Busy)?.map_err(|_| StoreError::Stopped)
    }

    async fn connect(&self, turn: OwnedSemaphorePermit) -> Result<Link> {
        let session = Session { client: self.address.connect().await?, statements: Mutex::default() };
        Ok(Link { session: Some(session), idle: self.idle.clone(), _turn: turn })
    }

    /// Opens a connection that is not shared.
    pub async fn open(&self) -> Result<Link> {
        let turn = Arc::new(Semaphore::new(1)).acquire_owned().await.map_err(|_| StoreError::Stopped)?;
        let session = Session { client: self.address.connect().await?, statements: Mutex::default() };
        Ok(Link { session: Some(session), idle: Arc::default(), _turn: turn })
    }
}

/// A connection that is lent out. Dropped, it goes back.
pub struct Link {
    session: Option<Session>,
    idle: Arc<Mutex<VecDeque<Session>>>,
    _turn: OwnedSemaphorePermit,
}

impl Link {
    fn session(&self) -> &Session {
        self.session.as_ref().expect("taken only when the link is dropped")
    }

    pub fn client(&self) -> &Client {
        &self.session().client
    }

    /// The connection, for a transaction that has it alone.
    pub fn client_mut(&mut self) -> &mut Client {
        &mut self.session.as_mut().expect("taken only when the link is dropped").client
    }

    /// A statement, prepared once for this connection.
    pub async fn prepared(&self, sql: &str) -> std::result::Result<Statement, tokio_postgres::Error> {
        let known = self.session().statements.lock().ok().and_then(|known| known.get(sql).cloned());
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client().prepare(sql).await?;
        if let Ok(mut known) = self.session().statements.lock() {
            known.insert(sql.to_string(), statement.clone());
        }
        Ok(statement)
    }

    /// The same, for those who speak of stores.
    pub async fn statement(&self, sql: &str) -> Result<Statement> {
        self.prepared(sql).await.map_err(store_error)
    }

    /// The one row that there is at most. Where somebody has added another, those who verify find it.
    pub async fn one(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        let statement = self.statement(sql).await?;
        let rows = self.client().query(&statement, values).await.map_err(store_error)?;
        Ok(rows.into_iter().next())
    }

    /// All rows.
    pub async fn all(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let statement = self.statement(sql).await?;
        self.client().query(&statement, values).await.map_err(store_error)
    }

    /// Writes; returns how many rows that were.
    pub async fn run(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let statement = self.statement(sql).await?;
        self.client().execute(&statement, values).await.map_err(store_error)
    }

    /// Begins a transaction. If it does not come to its end, the connection must be given up.
    pub async fn begin(&self) -> Result<()> {
        self.client().batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED").await.map_err(store_error)
    }

    /// Ends it.
    pub async fn commit(&self) -> Result<()> {
        self.client().batch_execute("COMMIT").await.map_err(store_error)
    }

    /// Does not hand the connection back: something is wrong with it.
    pub fn give_up(mut self) {
        self.session = None;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(session) = self.session.take().filter(|session| !session.client.is_closed()) {
            self.idle.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push_front(session);
        }
    }
}
