//! Where the database is, and how it is reached.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Result;
use super::connect::PATIENCE;
use super::error::store_error;
use super::tls::tls;
use crate::error::OpenError;
use crate::store::StoreError;

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

    /// Opens a connection.
    pub async fn connect(&self) -> Result<Client> {
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
