//! The name of a client that says it only once.
//!
//! Before revision 2026-07-28 a client names itself in `initialize` and not again. Nothing is kept here between two
//! requests, so the name is given back to the client as its session id, which it sends along from then on.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const FORM: &str = "client.";
/// Longer names are no use as the name of an agent.
const LONGEST: usize = 200;

/// A client's name, as it was given in `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientName(pub(crate) String);

impl ClientName {
    /// As a session id.
    pub(crate) fn session_id(&self) -> String {
        let name: String = self.0.chars().take(LONGEST).collect();
        format!("{FORM}{}", URL_SAFE_NO_PAD.encode(name))
    }

    /// Reads it back; none if the id was not made here.
    pub(crate) fn of_session(id: &str) -> Option<ClientName> {
        let name = URL_SAFE_NO_PAD.decode(id.strip_prefix(FORM)?).ok()?;
        let name = String::from_utf8(name).ok().filter(|name| name.chars().count() <= LONGEST)?;
        Some(ClientName(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_from_the_session_id() {
        for name in ["", "claude-code", "naïve 字\n"] {
            let id = ClientName(name.to_string()).session_id();
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
            assert_eq!(ClientName::of_session(&id), Some(ClientName(name.to_string())));
        }
        for id in ["", "client", "client.%", "client._w", "other.YQ"] {
            assert_eq!(ClientName::of_session(id), None, "{id}");
        }
    }
}
