//! Where the database is, and how it is reached.

use std::fmt;
use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Result;
use super::connect::{PATIENCE, STATEMENT};
use super::error::{connect_error, store_error};
use super::suitable::{ASK, Triggers, suitable, without_triggers};
use super::tls::tls;
use crate::error::OpenError;
use crate::store::StoreError;

/// How long a server may take to accept a connection, and to answer on it.
const CONNECT: Duration = Duration::from_secs(5);
/// What a database with several logs is told apart by, if nothing is said.
const SCHEMA: &str = "cairn";

/// Where a log is: servers, database, schema. Its `Display` says so without the password.
#[derive(Clone)]
pub struct Address {
    /// One for each server, in the order in which they are named.
    servers: Vec<Config>,
    /// The one that is tried first: the last that took a connection.
    first: Arc<AtomicUsize>,
    tls: Option<MakeRustlsConnect>,
    schema: String,
    shown: String,
}

/// A connection that was just opened.
pub struct Opened {
    pub client: Client,
    /// Set when the server has warned of something.
    pub warned: Arc<AtomicBool>,
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
        for parameter in &theirs {
            if format!("postgres://user@host/database?{parameter}").parse::<Config>().is_err() {
                let name = parameter.split_once('=').map_or(*parameter, |(name, _)| name);
                return Err(format!("`{name}` is no parameter of an address, or its value cannot be used"));
            }
        }
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
        Ok(Address { servers: one_by_one(&config)?, first: Arc::default(), tls, schema, shown })
    }

    /// Reads the address of a replica of this database: the same schema in any server of those that are named.
    pub fn of_replica(&self, text: &str) -> std::result::Result<Address, String> {
        let mut replica = Address::parse(text)?;
        let names_one = text
            .split_once('?')
            .is_some_and(|(_, rest)| rest.split('&').any(|one| one.starts_with("schema=")));
        if names_one && replica.schema != self.schema {
            return Err(format!(
                "schema: must be that of the database, `{}`, found `{}`",
                self.schema, replica.schema
            ));
        }
        if !text.contains("target_session_attrs=") {
            for server in &mut replica.servers {
                server.target_session_attrs(TargetSessionAttrs::Any);
            }
        }
        let servers = replica.shown.trim_end_matches(&*replica.schema);
        replica.shown = format!("{servers}{}", self.schema);
        replica.schema = self.schema.clone();
        Ok(replica)
    }

    /// The schema that the tables are in.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// That it cannot be opened.
    pub fn failed(&self, source: StoreError) -> OpenError {
        OpenError::Store { path: PathBuf::from(&self.shown), source }
    }

    /// Opens a connection to the first server that takes one, beginning with the one that did last time. Each has its own
    /// time: one that hangs does not keep the others from being asked.
    pub async fn connect(&self) -> Result<Opened> {
        let (count, first) = (self.servers.len(), self.first.load(Ordering::Relaxed));
        let mut why = StoreError::Unreachable;
        for index in (first..first + count).map(|index| index % count) {
            match timeout(CONNECT, self.connect_to(&self.servers[index])).await {
                Ok(Ok(opened)) => {
                    self.first.store(index, Ordering::Relaxed);
                    return Ok(opened);
                }
                // One that answers has more to say than one that does not.
                Ok(Err(error)) if error != StoreError::Unreachable => why = error,
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Err(why)
    }

    /// Has another server asked first next time: this one was lost.
    pub fn pass_on(&self) {
        let next = (self.first.load(Ordering::Relaxed) + 1) % self.servers.len();
        self.first.store(next, Ordering::Relaxed);
    }

    async fn connect_to(&self, server: &Config) -> Result<Opened> {
        let opened = match &self.tls {
            None => {
                let (client, connection) = server.connect(NoTls).await.map_err(connect_error)?;
                Opened { client, warned: serve(connection) }
            }
            Some(tls) => {
                let (client, connection) = server.connect(tls.clone()).await.map_err(connect_error)?;
                Opened { client, warned: serve(connection) }
            }
        };
        let set = format!(
            "{ASK}; SET search_path = \"{}\"; SET lock_timeout = {}; SET statement_timeout = {}; \
             SET client_min_messages = warning; SET standard_conforming_strings = on; SET timezone = 'UTC'",
            self.schema,
            PATIENCE.as_millis(),
            STATEMENT.as_millis(),
        );
        let told = opened.client.simple_query(&set).await.map_err(store_error)?;
        if suitable(&told)? == Triggers::Off {
            // Only a superuser may.
            let set = "SET session_replication_role = origin";
            opened.client.batch_execute(set).await.map_err(|_| without_triggers())?;
        }
        Ok(opened)
    }
}

/// Drives a connection until it ends. What it returns is set by the time that whoever waits for a statement is told of
/// its end, if the server has warned of something meanwhile.
fn serve<S, T>(mut connection: Connection<S, T>) -> Arc<AtomicBool>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let warned = Arc::new(AtomicBool::new(false));
    let seen = warned.clone();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notice(notice) = message
                && *notice.code() == SqlState::WARNING
            {
                seen.store(true, Ordering::Release);
            }
        }
    });
    warned
}

/// The same, for each server by itself.
fn one_by_one(config: &Config) -> std::result::Result<Vec<Config>, String> {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    if hosts.is_empty() {
        return Err("it names no host; the folder of a socket on this machine is one, written as \
                    %2Fvar%2Frun%2Fpostgresql"
            .to_string());
    }
    if !config.get_hostaddrs().is_empty() {
        return Err("hostaddr: cannot be used; name the host, or its number, before the database".to_string());
    }
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(format!("it names {} servers and {} ports", hosts.len(), ports.len()));
    }
    let one = |(index, host): (usize, &Host)| {
        let mut one = Config::new();
        match host {
            Host::Tcp(name) => one.host(name),
            #[cfg(unix)]
            Host::Unix(folder) => one.host_path(folder),
        };
        one.port(ports.get(index).or(ports.first()).copied().unwrap_or(5432));
        config.get_user().map(|user| one.user(user));
        config.get_password().map(|password| one.password(password));
        config.get_dbname().map(|database| one.dbname(database));
        config.get_options().map(|options| one.options(options));
        config.get_application_name().map(|name| one.application_name(name));
        config.get_connect_timeout().map(|time| one.connect_timeout(*time));
        config.get_tcp_user_timeout().map(|time| one.tcp_user_timeout(*time));
        one.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
        one.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
        one.channel_binding(config.get_channel_binding());
        one.target_session_attrs(config.get_target_session_attrs());
        one
    };
    Ok(hosts.iter().enumerate().map(one).collect())
}

#[derive(Default)]
struct Ours {
    schema: Option<String>,
    roots: Option<PathBuf>,
    mode: Option<String>,
}

/// Servers, database and schema, as they may be shown. What is remembered of a log outside is found by this name again, so
/// the order in which servers are named does not count.
fn shown(config: &Config, schema: &str) -> String {
    let host = |(index, host): (usize, &Host)| {
        let port = config.get_ports().get(index).or(config.get_ports().first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{port}", folder.display().to_string().replace('/', "%2F")),
        }
    };
    let mut hosts: Vec<String> = config.get_hosts().iter().enumerate().map(host).collect();
    hosts.sort();
    hosts.dedup();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}?schema={schema}", hosts.join(","))
}
