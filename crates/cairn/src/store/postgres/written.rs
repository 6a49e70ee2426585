//! An address as it is written, taken apart. Whoever writes a password as it is, with signs that mean something in an
//! address, has parts of it stand anywhere: so nothing is repeated that may be one.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::Host;

/// The port of a server that is named without one.
const PORT: u16 = 5432;

/// What an address looks like.
const SHAPE: &str = "postgres://USER@HOST/DATABASE";

/// How signs are written that mean something in an address.
const ENCODED: &str =
    "in a password or a value, @ is written as %40, / as %2F, ? as %3F, : as %3A, # as %23 and % as %25";

/// What PostgreSQL's own programs also take: words of a name, `=` and a value.
const KEYWORDS: [&str; 11] = [
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "passfile",
    "password",
    "port",
    "service",
    "sslmode",
    "user",
];

/// The parts of an address, decoded.
pub struct Written {
    pub user: Option<String>,
    pub password: Option<Vec<u8>>,
    pub servers: Vec<(Host, u16)>,
    pub database: Option<String>,
    /// The other parameters, in the order in which they stand.
    pub parameters: Vec<(String, String)>,
}

/// What follows the scheme of an address; none if it has not that scheme.
fn after_scheme(text: &str) -> Option<&str> {
    ["postgres://", "postgresql://"].iter().find_map(|scheme| {
        let (begin, rest) = text.split_at_checked(scheme.len())?;
        begin.eq_ignore_ascii_case(scheme).then_some(rest)
    })
}

/// Whether a name is an address and not a file.
pub fn is_address(text: &str) -> bool {
    after_scheme(text).is_some()
}

/// Why a name is no address, and looks too much like one to be taken for a file: the file would be named by a password.
pub fn mistaken(name: &str) -> Option<String> {
    if is_address(name) || name.starts_with("./") || name.starts_with("../") {
        return None;
    }
    if let Some((scheme, _)) = name.split_once("://") {
        let is_plain = (1..=20).contains(&scheme.len()) && scheme.bytes().all(|b| b.is_ascii_lowercase());
        let named = if is_plain { &format!("`{scheme}://`") } else { "what stands before its ://" };
        return Some(format!("no database is named by {named}; it must be a file or {SHAPE}"));
    }
    let text = name.trim_start_matches([' ', '\t', '"', '\'']).to_ascii_lowercase();
    if ["postgres:", "postgresql:", "postgres//", "postgresql//"].iter().any(|begin| text.starts_with(begin))
    {
        return Some(format!("it begins like the address of a server and is none; it must be {SHAPE}"));
    }
    let keyword = text.split_once('=').map(|(name, _)| name.trim_end());
    let has_password = text.replace(" =", "=").split_whitespace().any(|word| word.starts_with("password="));
    if has_password || keyword.is_some_and(|keyword| KEYWORDS.contains(&keyword)) {
        return Some(format!("it looks like the keywords of PostgreSQL's own programs; it must be {SHAPE}"));
    }
    let authority = text.strip_prefix("//").unwrap_or(&text).split('/').next().unwrap_or_default();
    let credentials = authority.rsplit_once('@').map(|(credentials, _)| credentials);
    if credentials.is_some_and(|credentials| credentials.contains(':') && !credentials.contains(":\\")) {
        return Some(format!(
            "it looks like the address of a server without its beginning; it must be {SHAPE}"
        ));
    }
    None
}

impl Written {
    /// Takes an address apart.
    pub fn read(text: &str) -> Result<Written, String> {
        let rest = after_scheme(text).ok_or_else(|| format!("it cannot be read; it must be {SHAPE}"))?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let [everywhere, here] = [rest, authority].map(|part| part.matches('@').count());
        if everywhere > 1 || here < everywhere {
            return Err(format!("one @ may stand in it, between the user and the hosts; {ENCODED}"));
        }
        let (credentials, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(percent_decode_str(password).collect())),
            None => (credentials, None),
        };
        let mut written = Written {
            user: some("the user", user)?,
            password,
            servers: Vec::new(),
            database: some("the database", database)?,
            parameters: Vec::new(),
        };
        let (mut hosts, ports) = hosts_of(hosts)?;
        let (mut more_hosts, mut more_ports) = (Vec::new(), Vec::new());
        for (name, value) in parameters(query)? {
            match name {
                "user" => written.user = Some(value.into_owned()),
                "password" => written.password = Some(value.into_owned().into_bytes()),
                "dbname" => written.database = Some(value.into_owned()),
                "host" => {
                    more_hosts = value
                        .split(',')
                        .map(|host| host_of(host.as_bytes().to_vec()))
                        .collect::<Result<_, _>>()?;
                }
                "port" => more_ports = value.split(',').map(port_of).collect::<Result<_, _>>()?,
                _ => written.parameters.push((name.to_string(), value.into_owned())),
            }
        }
        if !more_hosts.is_empty() && !hosts.is_empty() {
            return Err("host: hosts stand before the database already; name all of them there".to_string());
        }
        if !more_ports.is_empty() && ports.iter().any(Option::is_some) {
            return Err("port: a port stands behind a host already; write each behind its host, \
                        HOST:PORT"
                .to_string());
        }
        hosts.append(&mut more_hosts);
        if hosts.is_empty() {
            return Err(no_host());
        }
        if more_ports.len() > 1 && more_ports.len() != hosts.len() {
            return Err("port: must be one for all hosts, or as many as there are hosts".to_string());
        }
        let port = |index: usize| match ports.get(index).copied().flatten() {
            Some(port) => port,
            None => more_ports.get(index).or(more_ports.first()).copied().unwrap_or(PORT),
        };
        written.servers = hosts.into_iter().enumerate().map(|(index, host)| (host, port(index))).collect();
        Ok(written)
    }
}

fn no_host() -> String {
    "it names no host; the folder of a socket on this machine is one, written as %2Fvar%2Frun%2Fpostgresql"
        .to_string()
}

/// The hosts between `@` and the database, and the ports behind them.
fn hosts_of(text: &str) -> Result<(Vec<Host>, Vec<Option<u16>>), String> {
    let mut found = (Vec::new(), Vec::new());
    for one in text.split(',').filter(|_| !text.is_empty()) {
        let (host, port) = match one.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) = rest
                    .split_once(']')
                    .filter(|(_, behind)| behind.is_empty() || behind.starts_with(':'))
                    .ok_or_else(in_brackets)?;
                (host, behind.strip_prefix(':'))
            }
            None => match one.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(in_brackets()),
                Some((host, port)) => (host, Some(port)),
                None => (one, None),
            },
        };
        found.0.push(host_of(percent_decode_str(host).collect())?);
        found.1.push(port.map(port_of).transpose()?);
    }
    Ok(found)
}

fn in_brackets() -> String {
    "the number of an IPv6 host stands in brackets, [::1]:5432, and a password before an @".to_string()
}

fn host_of(bytes: Vec<u8>) -> Result<Host, String> {
    if bytes.is_empty() {
        return Err(no_host());
    }
    #[cfg(unix)]
    if bytes.starts_with(b"/") {
        let folder: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
        return Ok(Host::Unix(folder.into()));
    }
    String::from_utf8(bytes).map(Host::Tcp).map_err(|_| "a host is no text in UTF-8".to_string())
}

fn port_of(text: &str) -> Result<u16, String> {
    if text.is_empty() {
        return Ok(PORT);
    }
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
        "behind a host and : belongs its port, a number up to 65535; a password stands before an @"
            .to_string()
    })
}

/// The parameters behind `?`, their values decoded.
fn parameters(query: &str) -> Result<Vec<(&str, Cow<'_, str>)>, String> {
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    parameters
        .map(|parameter| {
            let is_name =
                |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let (name, value) =
                parameter.split_once('=').filter(|(name, _)| is_name(name)).ok_or_else(|| {
                    format!("behind ? belong parameters, NAME=VALUE, with & between them; {ENCODED}")
                })?;
            Ok((name, decoded(name, value)?))
        })
        .collect()
}

fn decoded<'a>(what: &str, text: &'a str) -> Result<Cow<'a, str>, String> {
    percent_decode_str(text).decode_utf8().map_err(|_| format!("{what}: must be text in UTF-8"))
}

fn some(what: &str, text: &str) -> Result<Option<String>, String> {
    match text.is_empty() {
        true => Ok(None),
        false => Ok(Some(decoded(what, text)?.into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        Written::read(text).err().unwrap_or_else(|| panic!("{text} was read"))
    }

    #[test]
    fn a_password_that_is_written_as_it_is_stands_in_no_message() {
        for address in [
            "postgres://u:hun@s3cr3tPW@127.0.0.1:1/db",
            "postgres://u:s3cr3tPW@hun@127.0.0.1:1/db",
            "postgres://u:hun?s3cr3tPW@h/db",
            "postgres://u:hun?s3cr3tPW=x@h/db",
            "postgres://u:hun?schema=s3cr3tPW@h/db",
            "postgres://u:hun?s3cr3tPW",
            "postgres://u@h/db?s3cr3tPW",
            "postgres://u@h/db?s3cr3tPW=1",
            "postgres://u:hun/s3cr3tPW@h/db",
            "postgres://u:s3cr3tPW/hun@h/db",
            "postgres://u:s3cr3tPW/db",
            "postgres://u:hun:s3cr3tPW/db",
            "postgres://u:hun#s3cr3tPW/db",
            "postgres://u:hun%40s3cr3tPW",
            "postgres://h/db?user=u&password=hun@s3cr3tPW",
        ] {
            let why = why(address);
            assert!(!why.contains("s3cr3t") && !why.contains("hun"), "{address}: {why}");
        }
        assert!(why("postgres://u:hun@ter@h/db").contains("@ is written as %40"));
        assert!(why("postgres://u:hun/ter@h/db").contains("/ as %2F"));
        assert!(why("postgres://u:hun?ter@h/db").contains("? as %3F"));
    }

    #[test]
    fn an_address_is_taken_apart_as_postgresqls_own_programs_do() {
        let read = |text: &str| Written::read(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        let written =
            read("POSTGRES://a%40b:p#:w%2F@one,[::1]:5433,%2Frun%2Fpg/my%20db?application_name=x%26y&");
        assert_eq!(written.user.as_deref(), Some("a@b"));
        assert_eq!(written.password.as_deref(), Some(&b"p#:w/"[..]));
        assert_eq!(written.database.as_deref(), Some("my db"));
        let servers = [
            (Host::Tcp("one".into()), 5432),
            (Host::Tcp("::1".into()), 5433),
            (Host::Unix("/run/pg".into()), 5432),
        ];
        assert_eq!(written.servers, servers);
        assert_eq!(written.parameters, [("application_name".to_string(), "x&y".to_string())]);

        let written = read("postgresql:///db?host=/run/pg,two&port=1,2&user=u&password=%40");
        assert_eq!(written.servers, [(Host::Unix("/run/pg".into()), 1), (Host::Tcp("two".into()), 2)]);
        assert_eq!((written.user.as_deref(), written.password.as_deref()), (Some("u"), Some(&b"@"[..])));
        assert_eq!(read("postgres://h/db?port=7").servers, [(Host::Tcp("h".into()), 7)]);
        assert_eq!(read("postgres://h:/db").servers, [(Host::Tcp("h".into()), 5432)]);
    }

    #[test]
    fn hosts_and_ports_that_do_not_go_together_are_refused_in_words() {
        for (address, words) in [
            ("postgres://h:5433/db?port=5432", "port: a port stands behind a host already"),
            ("postgres://h,i/db?port=1,2,3", "port: must be one for all hosts"),
            ("postgres://h/db?host=i", "host: hosts stand before the database already"),
            ("postgres://::1:5432/db", "stands in brackets"),
            ("postgres://[::1/db", "stands in brackets"),
            ("postgres://h:0/db", "a number up to 65535"),
            ("postgres://u@/db", "it names no host"),
            ("postgres://u@h,,i/db", "it names no host"),
            ("postgres://h/db?schema", "NAME=VALUE"),
        ] {
            assert!(why(address).contains(words), "{address}: {}", why(address));
        }
    }

    #[test]
    fn a_name_that_looks_like_an_address_is_no_file() {
        for name in [
            "postgres:u:s3cr3tPW@h",
            "postgres:/u:s3cr3tPW@h/db",
            "PostgreSQL:u:s3cr3tPW@h",
            "postgres//u:s3cr3tPW@h/db",
            " postgres://u:s3cr3tPW@h/db",
            "\"postgres://u:s3cr3tPW@h/db\"",
            "jdbc:postgresql://h/db?password=s3cr3tPW",
            "s3cr3tPW://h",
            "host=x user=postgres password=s3cr3tPW",
            "dbname = x password = s3cr3tPW",
            "fallback=1 password=s3cr3tPW",
            "u:s3cr3tPW@h/db",
            "//u:s3cr3tPW@h/db",
        ] {
            let why = mistaken(name).unwrap_or_else(|| panic!("{name} is a file"));
            assert!(!why.to_lowercase().contains("s3cr3tpw"), "{name}: {why}");
        }
        for name in [
            "cairn.db",
            "postgres.db",
            "./postgres:x",
            "./a:b@c",
            "../x password=y",
            "a/host=x",
            "/home/a:b@c/x.db",
            "me@work.db",
            "at 12:30.db",
            "C:\\me@work\\x.db",
            "postgres://u@h/db",
            "Postgresql://u@h/db",
        ] {
            assert_eq!(mistaken(name), None, "{name}");
        }
    }
}
