//! The password of a database's address, where the address names none: looked for where PostgreSQL's own programs do.

use std::path::{Path, PathBuf};

use cairn::Address;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Where the password of an address was found, or looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// None if it stands nowhere before an `@`.
    user: Option<String>,
    password: Password,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Password {
    InAddress,
    InEnvironment,
    InFile(PathBuf),
    /// It was not found; what there is to say of the file.
    Nowhere(String),
}

/// An address with the password from PGPASSWORD, or from the file that PGPASSFILE names, or from `~/.pgpass`. One that
/// names a password, or no user, stays as it is.
pub(crate) fn with_password(address: &str) -> (String, Login) {
    let user = user_of(address);
    let Some(parts) = Parts::of(address) else {
        let password = if is_in(address) { Password::InAddress } else { Password::Nowhere(String::new()) };
        return (address.to_string(), Login { user, password });
    };
    if let Ok(given) = std::env::var("PGPASSWORD")
        && !given.is_empty()
    {
        return (parts.with(&given), Login { user, password: Password::InEnvironment });
    }
    let Some(file) = file() else {
        return (address.to_string(), Login { user, password: Password::Nowhere(String::new()) });
    };
    match read(&file).map(|text| parts.find_in(&text)) {
        Ok(Some(password)) => (parts.with(&password), Login { user, password: Password::InFile(file) }),
        Ok(None) => {
            let about = format!("`{}`, which has no line about it", file.display());
            (address.to_string(), Login { user, password: Password::Nowhere(about) })
        }
        // Only a server that asks for a password needs the file: PostgreSQL's own programs go on without it, too.
        Err(about) => (address.to_string(), Login { user, password: Password::Nowhere(about) }),
    }
}

impl Login {
    /// Who was not let in.
    pub(crate) fn who(&self) -> String {
        match &self.user {
            Some(user) => format!("the user is `{user}`"),
            None => "the address names no user before an @: `postgres://USER@HOST/DATABASE`".to_string(),
        }
    }

    /// The same, and where the password was found or looked for.
    pub(crate) fn whole(&self) -> String {
        let Some(user) = &self.user else {
            return format!("{}; so no password was looked for", self.who());
        };
        match &self.password {
            Password::InAddress => format!("the user is `{user}`, and the password that of the address"),
            Password::InEnvironment => {
                format!("the user is `{user}`, and the password that of PGPASSWORD")
            }
            Password::InFile(file) => {
                format!("the user is `{user}`, and the password that of `{}`", file.display())
            }
            Password::Nowhere(file) if file.is_empty() => {
                format!(
                    "the user is `{user}`; no password is in the address or PGPASSWORD, and there is no `~/.pgpass`, where one can stand"
                )
            }
            Password::Nowhere(file) => {
                format!("the user is `{user}`; no password is in the address, PGPASSWORD or {file}")
            }
        }
    }
}

/// Whether an address holds a password.
pub(crate) fn is_in(address: &str) -> bool {
    let in_front = authority(address)
        .and_then(|authority| authority.rsplit_once('@'))
        .is_some_and(|(credentials, _)| credentials.contains(':'));
    Address::is_one(address) && (in_front || address.contains("?password=") || address.contains("&password="))
}

/// Whoever it is who is to be let in.
fn user_of(address: &str) -> Option<String> {
    let (credentials, _) = authority(address)?.rsplit_once('@')?;
    let user = credentials.split(':').next().filter(|user| !user.is_empty())?;
    Some(percent_decode_str(user).decode_utf8_lossy().to_string())
}

/// What stands between the scheme and the database.
fn authority(address: &str) -> Option<&str> {
    let (_, rest) = address.split_once("://")?;
    rest.split(['/', '?']).next()
}

/// The file of passwords; none if there is none.
fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").filter(|named| !named.is_empty()).map(PathBuf::from);
    // One that somebody named and that is not there is worth a word.
    named.or_else(|| Some(std::env::home_dir()?.join(".pgpass")).filter(|path| path.is_file()))
}

/// Its text, if nobody else can read it; else what there is to say of it.
fn read(path: &Path) -> Result<String, String> {
    let name = path.display();
    #[cfg(unix)]
    if let Ok(about) = path.metadata()
        && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
    {
        return Err(format!(
            "`{name}`, which was passed over since others can read it; `chmod 600 '{name}'` makes it yours alone"
        ));
    }
    std::fs::read_to_string(path).map_err(|error| format!("`{name}`, which cannot be read: {error}"))
}

/// An address that has a user and no password, taken apart.
#[derive(Debug, PartialEq, Eq)]
struct Parts<'a> {
    /// The scheme, up to the user.
    before: &'a str,
    user: &'a str,
    /// From the `@` on.
    after: &'a str,
    /// Hosts with their ports, as they are written.
    hosts: &'a str,
    database: &'a str,
}

impl<'a> Parts<'a> {
    fn of(address: &'a str) -> Option<Parts<'a>> {
        let begin = address.find("://")? + 3;
        let (before, rest) = address.split_at(begin);
        let authority = authority(address)?;
        let (user, hosts) = authority.rsplit_once('@')?;
        let path = rest[authority.len()..].strip_prefix('/').unwrap_or("");
        let database = path.split('?').next().filter(|name| !name.is_empty()).unwrap_or(user);
        let is_bare = !user.is_empty() && !user.contains(':') && !is_in(address);
        is_bare.then(|| Parts { before, user, after: &rest[user.len()..], hosts, database })
    }

    fn with(&self, password: &str) -> String {
        let password = utf8_percent_encode(password, NON_ALPHANUMERIC);
        format!("{}{}:{password}{}", self.before, self.user, self.after)
    }

    /// The password of the first line that is about one of the hosts.
    fn find_in(&self, text: &str) -> Option<String> {
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().to_string();
        // The brackets of an IPv6 host are the address's, not the file's.
        let host_of = |text: &str| plain(text.trim_matches(['[', ']']));
        let [user, database] = [self.user, self.database].map(plain);
        let hosts: Vec<(String, String)> = self
            .hosts
            .split(',')
            .map(|host| {
                match host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())) {
                    Some((host, port)) => (host_of(host), port.to_string()),
                    None => (host_of(host), "5432".to_string()),
                }
            })
            .collect();
        text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
            let [host, port, of_database, of_user, password] = fields(line)?;
            let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
            let about_host = |known: &(String, String)| fits(&host, &known.0) && fits(&port, &known.1);
            let found =
                hosts.iter().any(about_host) && fits(&of_database, &database) && fits(&of_user, &user);
            found.then_some(password)
        })
    }
}

/// The five fields of a line; `\` takes the meaning from the sign behind it.
fn fields(line: &str) -> Option<[String; 5]> {
    let mut fields = vec![String::new()];
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        let field = fields.last_mut()?;
        match sign {
            '\\' => field.push(signs.next()?),
            ':' => fields.push(String::new()),
            sign => field.push(sign),
        }
    }
    fields.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_put_where_one_is_missing_and_nowhere_else() {
        let bare = Parts::of("postgres://ann@db.example:5433,db2/trail?schema=x").unwrap();
        assert_eq!(bare.with("a:b/c"), "postgres://ann:a%3Ab%2Fc@db.example:5433,db2/trail?schema=x");
        for other in
            ["postgres://ann:pw@db/trail", "postgres://db/trail", "postgres://ann@db/trail?password=x"]
        {
            assert_eq!(Parts::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_password_is_seen_wherever_an_address_holds_it() {
        for (address, holds) in [
            ("postgres://ann:pw@db/trail", true),
            ("POSTGRESQL://ann:pw@db", true),
            ("postgres://db/trail?user=ann&password=pw", true),
            ("postgres://ann@db:5432/trail?application_name=a:b", false),
            ("postgres://db:5432/trail", false),
            ("trail:pw@db", false),
        ] {
            assert_eq!(is_in(address), holds, "{address}");
        }
    }

    #[test]
    fn the_first_line_that_fits_counts() {
        let file =
            "# old\ndb:5432:trail:bob:no\nother:*:*:ann:no\ndb:5433:*:ann:x\\:y\\\\\n*:*:*:*:rest\nshort\n";
        let find = |address: &str| Parts::of(address).unwrap().find_in(file);
        assert_eq!(find("postgres://ann@db:5433/trail").as_deref(), Some("x:y\\"));
        assert_eq!(find("postgres://ann@first,db:5433/trail").as_deref(), Some("x:y\\"));
        assert_eq!(find("postgres://ann@db/trail").as_deref(), Some("rest"));
        assert_eq!(
            Parts::of("postgres://ann@%2Ftmp/trail").unwrap().find_in("/tmp:5432:trail:ann:s").as_deref(),
            Some("s")
        );
        let of_ipv6 = "\\:\\:1:5432:*:ann:six";
        for address in ["postgres://ann@[::1]/trail", "postgres://ann@[::1]:5432/trail"] {
            assert_eq!(Parts::of(address).unwrap().find_in(of_ipv6).as_deref(), Some("six"));
        }
        assert_eq!(
            Parts::of("postgres://ann@db").unwrap().find_in("db:*:ann:ann:own").as_deref(),
            Some("own")
        );
        assert_eq!(Parts::of("postgres://ann@db/trail").unwrap().find_in("db:*:other:ann:no"), None);
    }
}
