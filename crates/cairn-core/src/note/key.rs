//! Public keys: a name, an Ed25519 key, and the id that stands for both in a note.

use std::fmt;
use std::str::FromStr;

use super::encoding::{base64, from_base64};
use crate::hash::Sha;

/// Marks Ed25519 signatures over the text of a note.
pub(super) const ED25519: u8 = 1;
/// Marks Ed25519 signatures of witnesses, which cover the time as well.
pub(super) const COSIGNATURE: u8 = 4;

/// Four bytes that tell keys of one name apart. They identify, they do not authenticate: the key does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub [u8; 4]);

impl KeyId {
    fn of(name: &str, kind: u8, key: &[u8; 32]) -> KeyId {
        let hash = Sha::of_parts(&[name.as_bytes(), b"\n", &[kind], key]);
        KeyId([hash.0[0], hash.0[1], hash.0[2], hash.0[3]])
    }
}

/// Eight lower-case hex digits.
impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not a key. No message repeats what was given: it may be a secret in the wrong place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not the three parts of a public key.
    #[error("a public key is written name+id+key, the id as 8 lower-case hex digits, the key in base64")]
    NotAPublicKey,
    /// Not the five parts of a secret key.
    #[error(
        "a secret key is written PRIVATE+KEY+name+id+key, the id as 8 lower-case hex digits, the key in base64"
    )]
    NotASecretKey,
    /// The name cannot stand in a note.
    #[error("a key name is not empty and holds no white space, no plus sign and no control character")]
    Name,
    /// The part after the id has the wrong length or alphabet.
    #[error("the key after the id is not the base64 of 33 bytes: one for the type, 32 for an Ed25519 key")]
    Encoding,
    /// A key for something else.
    #[error("the key is of type {found}, {expected} is expected (1 signs notes, 4 cosigns as a witness)")]
    Type {
        /// The type that was asked for.
        expected: u8,
        /// The type it has.
        found: u8,
    },
    /// The id belongs to another name or key.
    #[error("the id says {found}, but name and key give {expected}: one of the three was changed")]
    Id {
        /// What name and key give.
        expected: KeyId,
        /// What the text says.
        found: KeyId,
    },
    /// The bytes are no key, or one that would accept forged signatures.
    #[error("the 32 bytes are not a usable Ed25519 public key")]
    Unusable,
}

/// Tells whether `name` can stand in a signature line.
pub(super) fn is_key_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '+' || c < ' ')
}

/// Reads `id+base64` and returns the id, the type and the 32 bytes.
pub(super) fn split_key(rest: &str, malformed: KeyError) -> Result<(KeyId, u8, [u8; 32]), KeyError> {
    let (id, key) = rest.split_once('+').ok_or_else(|| malformed.clone())?;
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if id.len() != 8 || !id.bytes().all(hex) {
        return Err(malformed);
    }
    let id = KeyId(u32::from_str_radix(id, 16).map_err(|_| malformed)?.to_be_bytes());
    let bytes = from_base64(key).ok_or(KeyError::Encoding)?;
    let (&kind, key) = bytes.split_first().ok_or(KeyError::Encoding)?;
    Ok((id, kind, key.try_into().map_err(|_| KeyError::Encoding)?))
}

/// A named public key of one type: what [`VerifyingKey`] and [`WitnessKey`](super::WitnessKey) have in common.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct NamedKey {
    name: String,
    id: KeyId,
    kind: u8,
    key: ed25519_dalek::VerifyingKey,
}

impl NamedKey {
    pub(super) fn new(name: &str, kind: u8, key: ed25519_dalek::VerifyingKey) -> Result<NamedKey, KeyError> {
        if !is_key_name(name) {
            return Err(KeyError::Name);
        }
        // Of such a key a signature can be made for any text.
        if key.is_weak() {
            return Err(KeyError::Unusable);
        }
        Ok(NamedKey { name: name.to_string(), id: KeyId::of(name, kind, key.as_bytes()), kind, key })
    }

    pub(super) fn parse(text: &str, expected: u8) -> Result<NamedKey, KeyError> {
        let (name, rest) = text.split_once('+').ok_or(KeyError::NotAPublicKey)?;
        let (id, kind, key) = split_key(rest, KeyError::NotAPublicKey)?;
        if kind != expected {
            return Err(KeyError::Type { expected, found: kind });
        }
        let key = ed25519_dalek::VerifyingKey::from_bytes(&key).map_err(|_| KeyError::Unusable)?;
        let named = NamedKey::new(name, kind, key)?;
        named.check_id(id)?;
        Ok(named)
    }

    pub(super) fn check_id(&self, found: KeyId) -> Result<(), KeyError> {
        if self.id == found { Ok(()) } else { Err(KeyError::Id { expected: self.id, found }) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn id(&self) -> KeyId {
        self.id
    }

    /// Tells whether `signature`, of any length, is this key's over `message`.
    pub(super) fn accepts(&self, message: &[u8], signature: &[u8]) -> bool {
        ed25519_dalek::Signature::from_slice(signature)
            .is_ok_and(|signature| self.key.verify_strict(message, &signature).is_ok())
    }
}

impl fmt::Display for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = base64(&[&[self.kind], self.key.as_bytes().as_slice()].concat());
        write!(f, "{}+{}+{key}", self.name, self.id)
    }
}

/// A public key that verifies notes. Its text is the `vkey` of C2SP signed-note, `name+id+base64`.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey(pub(super) NamedKey);

impl VerifyingKey {
    /// Whose key it is; for the key of a log, the origin of that log.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Tells it apart from other keys of that name.
    pub fn id(&self) -> KeyId {
        self.0.id()
    }
}

impl FromStr for VerifyingKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<VerifyingKey, KeyError> {
        NamedKey::parse(text, ED25519).map(VerifyingKey)
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example key of Go's package `golang.org/x/mod/sumdb/note`.
    const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn the_published_key_is_read_and_written() {
        let key: VerifyingKey = PETER.parse().unwrap();
        assert_eq!(key.name(), "PeterNeumann");
        assert_eq!(key.id(), KeyId([0xc7, 0x4f, 0x20, 0xa3]));
        assert_eq!(key.to_string(), PETER);
        assert_eq!(format!("{key:?}"), PETER);
    }

    #[test]
    fn every_part_and_every_change_of_it_is_refused() {
        for start in 0..PETER.len() {
            for end in start..PETER.len() {
                assert!(PETER[start..end].parse::<VerifyingKey>().is_err());
            }
        }
        for place in 0..PETER.len() {
            for byte in b'!'..=b'~' {
                let mut bytes = PETER.as_bytes().to_vec();
                bytes[place] = byte;
                let text = String::from_utf8(bytes).unwrap();
                assert!(text == PETER || text.parse::<VerifyingKey>().is_err(), "{text}");
            }
        }
    }

    #[track_caller]
    fn refused(text: &str, expected: KeyError) {
        assert_eq!(text.parse::<VerifyingKey>(), Err(expected), "{text}");
    }

    #[test]
    fn a_refusal_says_what_was_expected() {
        let key = "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        refused("", KeyError::NotAPublicKey);
        refused("PeterNeumann", KeyError::NotAPublicKey);
        refused(&format!("PeterNeumann+C74F20A3+{key}"), KeyError::NotAPublicKey);
        refused(&format!("PeterNeumann+c74f20a+{key}"), KeyError::NotAPublicKey);
        refused(&format!("PeterNeumann+c74f20é+{key}"), KeyError::NotAPublicKey);
        refused("PeterNeumann+c74f20a3+", KeyError::Encoding);
        refused("PeterNeumann+c74f20a3+AR", KeyError::Encoding);
        refused(&format!("{PETER}AA=="), KeyError::Encoding);
        refused(&format!("{PETER}\n"), KeyError::Encoding);
        // A type that is not assigned, with the id that goes with it; and a witness's key.
        let other = "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        refused(other, KeyError::Type { expected: ED25519, found: 0x65 });
        let (expected, found) = (KeyId([0xc7, 0x4f, 0x20, 0xa3]), KeyId([0xc7, 0x4f, 0x20, 0xa4]));
        refused(&PETER.replace("0a3", "0a4"), KeyError::Id { expected, found });
        for name in ["", "Peter Neumann", "Peter\u{a0}Neumann", "Peter\nNeumann", "Peter\u{1b}"] {
            refused(&format!("{name}+c74f20a3+{key}"), KeyError::Name);
        }
    }

    #[test]
    fn keys_that_accept_forgeries_are_refused() {
        // The neutral element and a point of order 4; and 32 bytes that are no point.
        let (mut neutral, mut no_point) = ([0; 32], [0; 32]);
        neutral[0] = 1;
        no_point[0] = 2;
        for key in [neutral, [0; 32], no_point] {
            let id = KeyId::of("n", ED25519, &key);
            let text = format!("n+{id}+{}", base64(&[&[ED25519], key.as_slice()].concat()));
            refused(&text, KeyError::Unusable);
        }
    }
}
