//! Where the database is, and how it is reached.

use std::fmt;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Result;
use super::connect::{PATIENCE, STATEMENT};
use super::error::{connect_error, store_error};
use super::suitable::{ASK, Triggers, suitable, without_triggers};
use super::tls::tls;
use super::written::{Written, is_address, mistaken};
use crate::store::{OpenError, StoreError};

/// How long a server may take to accept a connection, and to answer on it, if nothing is said.
const CONNECT: Duration = Duration::from_secs(5);
/// What a database with several logs is told apart by, if nothing is said.
const SCHEMA: &str = "cairn";
/// What may stand behind the `?` of an address.
const PARAMETERS: [&str; 19] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "options",
    "password",
    "port",
    "schema",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Where a log is: servers, database, schema. Its `Display` says so without the password.
#[derive(Clone)]
pub struct Address {
    /// One for each server, in the order in which they are named.
    servers: Vec<Config>,
    /// The one that is tried first: the last that took a connection.
    first: Arc<AtomicUsize>,
    tls: Option<MakeRustlsConnect>,
    /// How long each may take to accept a connection, and to answer on it.
    time: Duration,
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

/// What an address is for.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// It is written to.
    Database,
    /// It is only read from.
    Replica,
}

impl Address {
    /// Whether a name is an address and not a file.
    pub fn is_one(text: &str) -> bool {
        is_address(text)
    }

    /// Why a name is neither an address nor a file: it looks like an address that is written wrongly, and a file of that
    /// name would show its password. Nothing of it is repeated.
    pub fn mistaken(name: &str) -> Option<String> {
        mistaken(name)
    }

    /// The address that a path is, none if it is a file. What is neither is refused.
    pub fn in_path(path: &Path) -> std::result::Result<Option<&str>, OpenError> {
        match mistaken(&path.to_string_lossy()) {
            Some(why) => Err(OpenError::Address { why }),
            None => Ok(path.to_str().filter(|text| is_address(text))),
        }
    }

    /// Reads `postgres://user:password@host,host2/database?schema=name&sslmode=verify-full&sslrootcert=FILE&…`.
    pub fn parse(text: &str) -> std::result::Result<Address, String> {
        let (written, asked) = Asked::read(text, Purpose::Database)?;
        Address::new(written, asked)
    }

    /// Reads the address of a replica of this database: the same schema in any server of those that are named.
    pub fn of_replica(&self, text: &str) -> std::result::Result<Address, String> {
        let (written, mut asked) = Asked::read(text, Purpose::Replica)?;
        match &asked.schema {
            Some(found) if *found != self.schema => {
                return Err(format!(
                    "schema: must be that of the database, `{}`, found `{found}`",
                    self.schema
                ));
            }
            _ => asked.schema = Some(self.schema.clone()),
        }
        Address::new(written, asked)
    }

    fn new(written: Written, asked: Asked) -> std::result::Result<Address, String> {
        let Asked { mut config, schema, roots, mode, time, .. } = asked;
        let schema = schema.unwrap_or_else(|| SCHEMA.to_string());
        // A socket of this machine is never encrypted, whatever is asked for; PostgreSQL's own clients do the same.
        let is_remote = |host: &Host| matches!(host, Host::Tcp(_));
        let is_any_remote = written.servers.iter().any(|(host, _)| is_remote(host));
        let tls = match mode {
            Mode::Disable => None,
            _ if !is_any_remote => None,
            mode => Some(tls(roots.as_deref(), mode == Mode::VerifyFull)?),
        };
        written.user.as_ref().map(|user| config.user(user));
        written.password.as_ref().map(|password| config.password(password));
        written.database.as_ref().map(|database| config.dbname(database));
        config.connect_timeout(time);
        let server = |(host, port): &(Host, u16)| {
            let mut one = config.clone();
            match host {
                Host::Tcp(name) => one.host(name).ssl_mode(mode.on_the_network()),
                #[cfg(unix)]
                Host::Unix(folder) => one.host_path(folder).ssl_mode(SslMode::Disable),
            };
            one.port(*port);
            one
        };
        let shown = shown(&written, &schema);
        let servers = written.servers.iter().map(server).collect();
        Ok(Address { servers, first: Arc::default(), tls, time, schema, shown })
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
            match timeout(self.time, self.connect_to(&self.servers[index])).await {
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
        let encrypted = server.get_ssl_mode() != SslMode::Disable;
        let opened = match self.tls.as_ref().filter(|_| encrypted) {
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
            "{ASK}; SET search_path = \"{}\", pg_temp; SET lock_timeout = {}; SET statement_timeout = {}; \
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

/// How connections are encrypted.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyFull,
}

impl Mode {
    fn read(text: &str) -> std::result::Result<Mode, String> {
        let instead = match text {
            "disable" => return Ok(Mode::Disable),
            "prefer" => return Ok(Mode::Prefer),
            "require" => return Ok(Mode::Require),
            "verify-full" => return Ok(Mode::VerifyFull),
            "allow" => "; take prefer, which encrypts if the server can",
            "verify-ca" => "; take verify-full, which compares the name of the host as well",
            _ => "",
        };
        Err(format!("sslmode: must be disable, prefer, require or verify-full, found `{text}`{instead}"))
    }

    fn on_the_network(self) -> SslMode {
        match self {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyFull => SslMode::Require,
        }
    }
}

/// What the parameters of an address ask for.
struct Asked {
    /// What the driver does, for any of the servers.
    config: Config,
    schema: Option<String>,
    roots: Option<PathBuf>,
    mode: Mode,
    time: Duration,
    /// Which kind of server is taken.
    target: Option<TargetSessionAttrs>,
}

impl Asked {
    fn read(text: &str, purpose: Purpose) -> std::result::Result<(Written, Asked), String> {
        let written = Written::read(text)?;
        let mut config = Config::new();
        config.application_name("cairn").keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(PATIENCE);
        let mut asked =
            Asked { config, schema: None, roots: None, mode: Mode::Prefer, time: CONNECT, target: None };
        for (name, value) in &written.parameters {
            asked.take(name, value, purpose)?;
        }
        // Of several servers only the primary takes records.
        let usual = match purpose {
            Purpose::Database if written.servers.len() > 1 => TargetSessionAttrs::ReadWrite,
            _ => TargetSessionAttrs::Any,
        };
        asked.config.target_session_attrs(asked.target.unwrap_or(usual));
        Ok((written, asked))
    }

    fn take(&mut self, name: &str, value: &str, purpose: Purpose) -> std::result::Result<(), String> {
        let number = |least: u32, most: u32| {
            let number = value.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("{name}: must be a number from {least} to {most}"))
        };
        let seconds = || Ok::<_, String>(Duration::from_secs(number(1, 86_400)?.into()));
        let must_be = |what: &str| Err(format!("{name}: must be {what}, found `{value}`"));
        match name {
            "schema" => {
                let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                if value.is_empty() || value.len() > 63 || !value.chars().all(plain) {
                    return must_be("up to 63 lower-case letters, digits and _");
                }
                self.schema = Some(value.to_string());
            }
            "sslmode" => self.mode = Mode::read(value)?,
            "sslrootcert" => self.roots = Some(PathBuf::from(value)),
            "sslnegotiation" => match value {
                "postgres" => drop(self.config.ssl_negotiation(SslNegotiation::Postgres)),
                "direct" => drop(self.config.ssl_negotiation(SslNegotiation::Direct)),
                _ => return must_be("postgres or direct"),
            },
            "channel_binding" => match value {
                "disable" => drop(self.config.channel_binding(ChannelBinding::Disable)),
                "prefer" => drop(self.config.channel_binding(ChannelBinding::Prefer)),
                "require" => drop(self.config.channel_binding(ChannelBinding::Require)),
                _ => return must_be("disable, prefer or require"),
            },
            "target_session_attrs" => self.target = Some(target(value, purpose)?),
            "application_name" => drop(self.config.application_name(value)),
            "options" => drop(self.config.options(value)),
            "connect_timeout" => self.time = Duration::from_secs(number(1, 600)?.into()),
            "keepalives" => drop(self.config.keepalives(number(0, 1)? == 1)),
            "keepalives_idle" => drop(self.config.keepalives_idle(seconds()?)),
            "keepalives_interval" => drop(self.config.keepalives_interval(seconds()?)),
            "keepalives_count" => drop(self.config.keepalives_retries(number(1, 1000)?)),
            "tcp_user_timeout" => {
                let time = Duration::from_millis(number(1, 86_400_000)?.into());
                self.config.tcp_user_timeout(time);
            }
            // What is done anyway.
            "load_balance_hosts" if value == "disable" => {}
            "load_balance_hosts" => {
                return Err(
                    "load_balance_hosts: cannot be used; the servers are asked in the order in which they \
                            are named, beginning with the last that answered"
                        .to_string(),
                );
            }
            "hostaddr" => {
                return Err(
                    "hostaddr: cannot be used; name the host, or its number, before the database".to_string()
                );
            }
            _ => {
                return Err(format!(
                    "`{name}` is no parameter that is understood here; those that are: {}",
                    PARAMETERS.join(", ")
                ));
            }
        }
        Ok(())
    }
}

/// Which kind of server is taken.
fn target(value: &str, purpose: Purpose) -> std::result::Result<TargetSessionAttrs, String> {
    match (value, purpose) {
        ("read-write" | "primary", _) => Ok(TargetSessionAttrs::ReadWrite),
        ("any" | "read-only" | "standby" | "prefer-standby", Purpose::Database) => {
            Err("target_session_attrs: this database is written to, so it must be read-write or primary; reads go \
                 elsewhere with --read-db"
                .to_string())
        }
        ("any", _) => Ok(TargetSessionAttrs::Any),
        ("read-only" | "standby", _) => Ok(TargetSessionAttrs::ReadOnly),
        (_, Purpose::Database) => {
            Err(format!("target_session_attrs: must be read-write or primary, found `{value}`"))
        }
        (_, Purpose::Replica) => Err(format!(
            "target_session_attrs: must be any, read-only, standby, read-write or primary, found `{value}`"
        )),
    }
}

/// Servers, database and schema, as they may be shown. What is remembered of a log outside is found by this name again, so
/// the order in which servers are named does not count.
fn shown(written: &Written, schema: &str) -> String {
    let host = |(host, port): &(Host, u16)| match host {
        Host::Tcp(name) if name.contains(':') => format!("[{name}]:{port}"),
        Host::Tcp(name) => format!("{name}:{port}"),
        #[cfg(unix)]
        Host::Unix(folder) => format!("{}:{port}", folder.display().to_string().replace('/', "%2F")),
    };
    let mut hosts: Vec<String> = written.servers.iter().map(host).collect();
    hosts.sort();
    hosts.dedup();
    let database = written.database.as_deref().or(written.user.as_deref()).unwrap_or_default();
    format!("postgres://{}/{database}?schema={schema}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        Address::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    fn why(text: &str) -> String {
        Address::parse(text).err().unwrap_or_else(|| panic!("{text} was read"))
    }

    #[test]
    fn what_is_asked_for_is_done_by_each_server() {
        let address = read(
            "postgres://u@one,two/db?application_name=mine&connect_timeout=2&keepalives_idle=7&keepalives_interval=3\
             &keepalives_count=4&tcp_user_timeout=1500&options=-cx%3Dy&channel_binding=require",
        );
        assert_eq!((address.time, address.servers.len()), (Duration::from_secs(2), 2));
        for server in &address.servers {
            assert_eq!(server.get_application_name(), Some("mine"));
            assert_eq!(server.get_connect_timeout(), Some(&Duration::from_secs(2)));
            assert_eq!(server.get_keepalives_idle(), Duration::from_secs(7));
            assert_eq!(server.get_keepalives_interval(), Some(Duration::from_secs(3)));
            assert_eq!(server.get_keepalives_retries(), Some(4));
            assert_eq!(server.get_tcp_user_timeout(), Some(&Duration::from_millis(1500)));
            assert_eq!(server.get_options(), Some("-cx=y"));
            assert_eq!(server.get_channel_binding(), ChannelBinding::Require);
        }
        let usual = read("postgres://u@one/db");
        assert_eq!(usual.time, CONNECT);
        assert_eq!(usual.servers[0].get_application_name(), Some("cairn"));
        assert!(!read("postgres://u@one/db?keepalives=0").servers[0].get_keepalives());
    }

    #[test]
    fn a_socket_is_never_encrypted_and_a_host_beside_it_is() {
        let modes = |text: &str| -> Vec<SslMode> {
            read(text).servers.iter().map(|server| server.get_ssl_mode()).collect()
        };
        assert_eq!(modes("postgres://u@%2Frun,h/db"), [SslMode::Disable, SslMode::Prefer]);
        assert_eq!(modes("postgres://u@h,%2Frun/db?sslmode=require"), [SslMode::Require, SslMode::Disable]);
        assert_eq!(modes("postgres://u@h,%2Frun/db?sslmode=disable"), [SslMode::Disable; 2]);
        assert!(read("postgres://u@%2Frun/db?sslmode=verify-full").tls.is_none());
        for (mode, words) in [
            ("bogus", "must be disable, prefer, require or verify-full, found `bogus`"),
            ("verify-ca", "take verify-full"),
            ("allow", "take prefer"),
        ] {
            for host in ["h", "%2Frun"] {
                let why = why(&format!("postgres://u@{host}/db?sslmode={mode}"));
                assert!(why.contains(words), "{why}");
            }
        }
    }

    #[test]
    fn a_database_is_written_to_and_a_replica_is_any_server() {
        use TargetSessionAttrs::{Any, ReadOnly, ReadWrite};
        let target = |address: Address| address.servers[0].get_target_session_attrs();
        let of_replica = |text: &str| read("postgres://u@h/db?schema=s").of_replica(text);
        assert_eq!(target(read("postgres://u@h/db")), Any);
        assert_eq!(target(read("postgres://u@h,i/db")), ReadWrite);
        for value in ["read-write", "primary"] {
            assert_eq!(target(read(&format!("postgres://u@h/db?target_session_attrs={value}"))), ReadWrite);
        }
        for value in ["any", "read-only", "standby", "prefer-standby"] {
            let why = why(&format!("postgres://u@h/db?target_session_attrs={value}"));
            assert!(why.contains("this database is written to") && why.contains("--read-db"), "{why}");
        }
        assert!(why("postgres://u@h/db?target_session_attrs=x").contains("found `x`"));
        assert_eq!(of_replica("postgres://u@h,i/db").map(target), Ok(Any));
        for (value, expected) in
            [("any", Any), ("read-only", ReadOnly), ("standby", ReadOnly), ("primary", ReadWrite)]
        {
            let text = format!("postgres://u@h,i/db?target_session_attrs={value}");
            assert_eq!(of_replica(&text).map(target), Ok(expected));
        }
        let refused = of_replica("postgres://u@h/db?target_session_attrs=prefer-standby").map(target);
        assert!(refused.is_err_and(|why| why.contains("must be any, read-only")));
        let schema = |text: &str| of_replica(text).map(|address| address.to_string());
        assert_eq!(schema("postgres://h/db"), Ok("postgres://h:5432/db?schema=s".to_string()));
        assert_eq!(schema("postgres://h/db?schema=%73"), Ok("postgres://h:5432/db?schema=s".to_string()));
        assert!(schema("postgres://h/db?schema=t").is_err());
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_its_name() {
        for (parameter, words) in [
            ("shema=x", "`shema` is no parameter that is understood here"),
            ("schema=No", "schema: must be up to 63 lower-case letters, digits and _, found `No`"),
            ("schema=", "schema: must be"),
            ("load_balance_hosts=random", "in the order in which they are named"),
            ("hostaddr=127.0.0.1", "hostaddr: cannot be used"),
            ("connect_timeout=soon", "connect_timeout: must be a number from 1 to 600"),
            ("connect_timeout=0", "connect_timeout: must be a number from 1 to 600"),
            ("sslmode=require&sslrootcert=%2Fno%20where", "`/no where` cannot be used"),
            ("sslmode=verify-full", "needs sslrootcert"),
            ("channel_binding=x", "channel_binding: must be disable, prefer or require"),
        ] {
            let why = why(&format!("postgres://u:secret@h/db?{parameter}"));
            assert!(why.contains(words), "{why}");
        }
        read("postgres://h/db?load_balance_hosts=disable");
    }

    #[test]
    fn an_ipv6_host_is_shown_in_brackets() {
        assert_eq!(read("postgres://u:pw@[::1]:1/db").to_string(), "postgres://[::1]:1/db?schema=cairn");
    }

    #[test]
    fn every_parameter_that_is_named_is_understood() {
        for name in PARAMETERS {
            let said = Address::parse(&format!("postgres://h/db?{name}=~")).err().unwrap_or_default();
            assert!(!said.contains("understood"), "{name}: {said}");
        }
    }
}
