//! Where the database is, and the connections to it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Result;
use super::error::store_error;
use crate::error::OpenError;
use crate::store::StoreError;

/// Connections of one process. More would not be faster, and a server has only so many.
const MOST_LINKS: usize = 16;
/// How long a call waits for a connection, and for others' locks, before it gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// What a database with several logs is told apart by, if nothing is said.
const SCHEMA: &str = "cairn";

/// Where a log is: servers, database, schema. Its `Display` says so without the password.
#[derive(Clone)]
pub struct Address {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: String,
    shown: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Whether a name is an address and not a file.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Reads `postgres://user:password@host,host2/database?schema=name&sslmode=verify-full&sslrootcert=FILE&…`.
    pub fn parse(text: &str) -> std::result::Result<Address, String> {
        let (rest, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut ours = Ours::default();
        let mut theirs = Vec::new();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", name)) => ours.schema = Some(name.to_string()),
                Some(("sslrootcert", file)) => ours.roots = Some(PathBuf::from(file.replace("%2F", "/"))),
                Some(("sslmode", mode)) => ours.mode = Some(mode.to_string()),
                _ => theirs.push(parameter),
            }
        }
        let config =
            if theirs.is_empty() { rest.to_string() } else { format!("{rest}?{}", theirs.join("&")) };
        // What the parser says may repeat the address, and with it the password.
        let mut config: Config = config
            .parse()
            .map_err(|_| "it cannot be read; it must be postgres://USER@HOST/DATABASE".to_string())?;
        let schema = ours.schema.unwrap_or_else(|| SCHEMA.to_string());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if schema.is_empty() || schema.len() > 63 || !schema.chars().all(plain) {
            return Err(format!(
                "schema: must be up to 63 lower-case letters, digits and _, found `{schema}`"
            ));
        }
        // A socket of this machine is never encrypted, whatever is asked for; PostgreSQL's own clients do the same.
        let is_remote = |host: &Host| matches!(host, Host::Tcp(_));
        if !config.get_hosts().is_empty() && !config.get_hosts().iter().any(is_remote) {
            ours.mode = Some("disable".to_string());
        }
        let tls = match ours.mode.as_deref() {
            Some("disable") => None,
            None | Some("prefer" | "require" | "verify-full") => {
                Some(tls(ours.roots.as_deref(), ours.mode.as_deref())?)
            }
            Some(other) => {
                return Err(format!(
                    "sslmode: must be disable, prefer, require or verify-full, found `{other}`"
                ));
            }
        };
        config.ssl_mode(match ours.mode.as_deref() {
            Some("disable") => SslMode::Disable,
            None | Some("prefer") => SslMode::Prefer,
            _ => SslMode::Require,
        });
        config.application_name("cairn").connect_timeout(CONNECT).keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(PATIENCE);
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            // Of several servers only the primary takes records.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let shown = shown(&config, &schema);
        Ok(Address { config, tls, schema, shown })
    }

    /// The schema that the tables are in.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// That it cannot be opened.
    pub fn failed(&self, source: StoreError) -> OpenError {
        OpenError::Store { path: PathBuf::from(&self.shown), source }
    }

    async fn connect(&self) -> Result<Client> {
        let client = match &self.tls {
            None => {
                let (client, connection) = self.config.connect(NoTls).await.map_err(unreachable_server)?;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
            Some(tls) => {
                let (client, connection) =
                    self.config.connect(tls.clone()).await.map_err(unreachable_server)?;
                tokio::spawn(async move { drop(connection.await) });
                client
            }
        };
        let set = format!(
            "SET search_path = \"{}\"; SET lock_timeout = {}; SET statement_timeout = {}; SET client_min_messages = error; \
             SET standard_conforming_strings = on; SET timezone = 'UTC'",
            self.schema,
            PATIENCE.as_millis(),
            10 * 60 * 1000
        );
        client.batch_execute(&set).await.map_err(store_error)?;
        Ok(client)
    }
}

#[derive(Default)]
struct Ours {
    schema: Option<String>,
    roots: Option<PathBuf>,
    mode: Option<String>,
}

/// A server that refuses says why; one that is not there is not reachable.
fn unreachable_server(error: tokio_postgres::Error) -> StoreError {
    match error.as_db_error() {
        Some(_) => store_error(error),
        None => StoreError::Unreachable,
    }
}

/// Servers, database and schema, as they may be shown.
fn shown(config: &Config, schema: &str) -> String {
    let host = |(index, host): (usize, &Host)| {
        let port = config.get_ports().get(index).or(config.get_ports().first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{port}", folder.display()),
        }
    };
    let hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}?schema={schema}", hosts.join(","))
}

/// Encryption. Without a file of roots, `require` encrypts and believes whoever answers, as PostgreSQL's own clients do.
fn tls(
    roots: Option<&std::path::Path>,
    mode: Option<&str>,
) -> std::result::Result<MakeRustlsConnect, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("no encryption: {error}"))?;
    let config = match (roots, mode) {
        (Some(file), _) => {
            let mut store = rustls::RootCertStore::empty();
            let unusable = |why: String| format!("sslrootcert: `{}` cannot be used: {why}", file.display());
            let certs = CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
            for cert in certs {
                let cert = cert.map_err(|error| unusable(error.to_string()))?;
                store.add(cert).map_err(|error| unusable(error.to_string()))?;
            }
            builder.with_root_certificates(store).with_no_client_auth()
        }
        (None, Some("verify-full")) => return Err("sslmode=verify-full needs sslrootcert=FILE".to_string()),
        (None, _) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

/// Believes any certificate: encryption against those who listen, not against those who stand between.
#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &rustls::pki_types::ServerName<'_>,
        _ocsp: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> std::result::Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

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
