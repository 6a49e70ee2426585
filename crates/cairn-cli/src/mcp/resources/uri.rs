//! Addresses of what is recorded: `cairn://` and percent-encoded parts.

use crate::mcp::sets::Set;

const SCHEME: &str = "cairn://";

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A thought, by its id.
    Thought(String),
    /// The tree of a session.
    Tree(String),
    /// The brief that a session's node would get now.
    SessionBrief(String, String),
    /// A stored brief, by its id.
    Brief(String),
    /// A roadmap, by its id.
    Roadmap(String),
    /// A snapshot, by its number.
    Context(String),
    /// The newest checkpoint, or the newest of at most a size.
    Checkpoint(String),
}

impl Place {
    /// Reads an address; none if it cannot be one of ours.
    pub fn parse(uri: &str) -> Option<Place> {
        let parts: Option<Vec<String>> = uri.strip_prefix(SCHEME)?.split('/').map(decode).collect();
        let mut parts = parts?.into_iter();
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let (kind, id) = (next()?, next()?);
        // An empty part is a part: a slash at the end leads nowhere.
        let place = match (kind.as_str(), parts.next().as_deref()) {
            ("thought", None) => Place::Thought(id),
            ("session", Some("tree")) => Place::Tree(id),
            ("session", Some("brief")) => {
                Place::SessionBrief(id, parts.next().filter(|part| !part.is_empty())?)
            }
            ("brief", None) => Place::Brief(id),
            ("roadmap", None) => Place::Roadmap(id),
            ("context", None) => Place::Context(id),
            ("checkpoint", None) => Place::Checkpoint(id),
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }

    /// The address.
    pub fn uri(&self) -> String {
        match self {
            Place::Thought(id) => format!("{SCHEME}thought/{}", encode(id)),
            Place::Tree(id) => format!("{SCHEME}session/{}/tree", encode(id)),
            Place::SessionBrief(id, node) => format!("{SCHEME}session/{}/brief/{}", encode(id), encode(node)),
            Place::Brief(id) => format!("{SCHEME}brief/{}", encode(id)),
            Place::Roadmap(id) => format!("{SCHEME}roadmap/{}", encode(id)),
            Place::Context(id) => format!("{SCHEME}context/{}", encode(id)),
            Place::Checkpoint(size) => format!("{SCHEME}checkpoint/{}", encode(size)),
        }
    }

    /// The tools it belongs to.
    pub fn set(&self) -> Set {
        match self {
            Place::Thought(_) | Place::Tree(_) => Set::Trail,
            Place::SessionBrief(..) | Place::Brief(_) => Set::Memory,
            Place::Roadmap(_) | Place::Context(_) => Set::Snapshot,
            Place::Checkpoint(_) => Set::Proof,
        }
    }
}

/// Everything but the letters that RFC 3986 calls unreserved.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte as char),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let odd = "a/b c%ü?#{}".to_string();
        for place in [
            Place::Thought(odd.clone()),
            Place::Tree(odd.clone()),
            Place::SessionBrief(odd.clone(), "think".into()),
            Place::Brief(odd.clone()),
            Place::Roadmap(odd.clone()),
            Place::Context("7".into()),
            Place::Checkpoint("latest".into()),
        ] {
            assert_eq!(Place::parse(&place.uri()), Some(place));
        }
        assert_eq!(Place::Tree("a/b".into()).uri(), "cairn://session/a%2Fb/tree");
        // Clients do not always encode what they must.
        assert_eq!(Place::parse("cairn://session/a b:ü/tree"), Some(Place::Tree("a b:ü".into())));
    }

    #[test]
    fn anything_else_is_no_address() {
        for uri in [
            "",
            "cairn:",
            "cairn://",
            "cairn://thought",
            "cairn://thought/",
            "cairn://thought/a/b",
            "cairn://thought/a/",
            "cairn://brief/a/",
            "cairn://session/s/tree/",
            "cairn://session/s",
            "cairn://session/s/brief",
            "cairn://session/s/brief/",
            "cairn://session/s/tree/x",
            "cairn://session//tree",
            "cairn://planet/x",
            "cairn://checkpoint",
            "cairn://thought/%",
            "cairn://thought/%2",
            "cairn://thought/%zz",
            "cairn://thought/%ff",
            "cairn://thought/a%00",
            "CAIRN://thought/x",
            "file:///etc/passwd",
        ] {
            assert_eq!(Place::parse(uri), None, "{uri}");
        }
    }
}
