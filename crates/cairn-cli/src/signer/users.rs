//! Who may ask: users by name or number.

/// Reads a user id, or looks a name up among the users of this machine.
pub(crate) fn parse_user(text: &str) -> Result<u32, String> {
    if let Ok(uid) = text.parse() {
        return Ok(uid);
    }
    let users = std::fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("cannot look up users: {error}; give the number of the user"))?;
    uid_of(&users, text)
        .ok_or_else(|| format!("no user `{text}` in /etc/passwd; give the number that `id -u {text}` prints"))
}

fn uid_of(users: &str, name: &str) -> Option<u32> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_and_numbers() {
        assert_eq!(parse_user("1234"), Ok(1234));
        let users = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbad\nx:y\n";
        assert_eq!(uid_of(users, "ada"), Some(1000));
        assert_eq!((uid_of(users, "bob"), uid_of(users, "bad"), uid_of(users, "x")), (None, None, None));
        assert!(parse_user("no such user").is_err());
    }
}
