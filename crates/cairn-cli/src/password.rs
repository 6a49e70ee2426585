//! The password of a database's address, where the address names none: looked for where PostgreSQL's own programs do.

use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::error::CliError;

/// An address with the password from PGPASSWORD, or from the file that PGPASSFILE names, or from `~/.pgpass`. One that
/// names a password, or no user, stays as it is.
pub(crate) fn with_password(address: &str) -> Result<String, CliError> {
    let Some(parts) = Parts::of(address) else { return Ok(address.to_string()) };
    let given = std::env::var("PGPASSWORD").ok().filter(|given| !given.is_empty());
    let password = match given {
        Some(password) => Some(password),
        None => match file() {
            Some(path) => parts.find_in(&read(&path)?),
            None => None,
        },
    };
    Ok(password.map_or_else(|| address.to_string(), |password| parts.with(&password)))
}

/// The file of passwords; none if there is none.
fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").filter(|named| !named.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(std::env::home_dir()?.join(".pgpass"))).filter(|path| path.is_file())
}

/// Its text, if nobody else can read it: PostgreSQL's programs pass over one that others can.
fn read(path: &Path) -> Result<String, CliError> {
    let name = path.display();
    #[cfg(unix)]
    if let Ok(about) = path.metadata()
        && std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
    {
        return Err(CliError::refused(format!("the file of passwords `{name}` can be read by others"))
            .hint(format!("`chmod 600 '{name}'` makes it yours alone")));
    }
    std::fs::read_to_string(path).map_err(|error| CliError::io(format!("cannot read `{name}`"), &error))
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
        let authority = rest.find(['/', '?']).map_or(rest, |end| &rest[..end]);
        let (user, hosts) = authority.rsplit_once('@')?;
        let path = rest[authority.len()..].strip_prefix('/').unwrap_or("");
        let database = path.split('?').next().filter(|name| !name.is_empty()).unwrap_or(user);
        let is_bare = !user.is_empty() && !user.contains(':') && !address.contains("password=");
        is_bare.then(|| Parts { before, user, after: &rest[user.len()..], hosts, database })
    }

    fn with(&self, password: &str) -> String {
        let password = utf8_percent_encode(password, NON_ALPHANUMERIC);
        format!("{}{}:{password}{}", self.before, self.user, self.after)
    }

    /// The password of the first line that is about one of the hosts.
    fn find_in(&self, text: &str) -> Option<String> {
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().to_string();
        let [user, database] = [self.user, self.database].map(plain);
        let hosts: Vec<(String, String)> = self
            .hosts
            .split(',')
            .map(|host| {
                match host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())) {
                    Some((host, port)) => (plain(host), port.to_string()),
                    None => (plain(host), "5432".to_string()),
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
        assert_eq!(
            Parts::of("postgres://ann@db").unwrap().find_in("db:*:ann:ann:own").as_deref(),
            Some("own")
        );
        assert_eq!(Parts::of("postgres://ann@db/trail").unwrap().find_in("db:*:other:ann:no"), None);
    }
}
