//! SHA-256 values: 32 bytes in memory and in databases, 64 lower-case hex digits everywhere a person or a
//! program reads them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A SHA-256 hash.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha(pub [u8; 32]);

impl Sha {
    /// What stands for "no predecessor": 64 zeros.
    pub const ZERO: Sha = Sha([0; 32]);

    /// Hashes `bytes`.
    pub fn of(bytes: &[u8]) -> Sha {
        Sha(Sha256::digest(bytes).into())
    }

    /// Hashes the concatenation of `parts`.
    pub fn of_parts(parts: &[&[u8]]) -> Sha {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Sha(hasher.finalize().into())
    }

    /// The 64 lower-case hex digits, without an allocation.
    pub fn hex(&self) -> Hex {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut out = [0; 64];
        for (pair, byte) in out.chunks_exact_mut(2).zip(self.0) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Hex(out)
    }
}

/// The hex form of a [`Sha`].
pub struct Hex([u8; 64]);

impl Hex {
    /// The digits as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("hex digits are ASCII")
    }

    /// The digits as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A text that is not 64 lower-case hex digits.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is 64 lower-case hex digits")]
pub struct NotAHash;

impl FromStr for Sha {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Sha, NotAHash> {
        /// The value of each digit; 255 for what is none.
        const DIGITS: [u8; 256] = {
            let (mut table, mut value) = ([255; 256], 0);
            while value < 16 {
                table[b"0123456789abcdef"[value] as usize] = value as u8;
                value += 1;
            }
            table
        };
        let text: &[u8; 64] = text.as_bytes().try_into().map_err(|_| NotAHash)?;
        let mut out = [0; 32];
        let mut wrong = 0;
        for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
            let [high, low] = [DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]];
            wrong |= high | low;
            *byte = high << 4 | low & 15;
        }
        if wrong > 15 { Err(NotAHash) } else { Ok(Sha(out)) }
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.hex().as_str())
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.hex().as_str())
    }
}

impl Serialize for Sha {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.hex().as_str())
    }
}

impl<'de> Deserialize<'de> for Sha {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sha, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

/// Reads a hash from its digits, without a copy of them.
struct Digits;

impl serde::de::Visitor<'_> for Digits {
    type Value = Sha;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 hex digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sha, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_nothing_is_the_published_one() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Sha::of(b"").to_string(), empty);
        assert_eq!(empty.parse(), Ok(Sha::of(b"")));
    }

    #[test]
    fn parts_hash_like_their_concatenation() {
        assert_eq!(Sha::of_parts(&[b"ab", b"", b"c"]), Sha::of(b"abc"));
    }

    #[test]
    fn upper_case_short_and_foreign_digits_are_refused() {
        let good = Sha::of(b"x").to_string();
        for bad in [good.to_uppercase(), good[1..].to_string(), good.replace('0', "g") + "g"] {
            assert_eq!(bad.parse::<Sha>(), Err(NotAHash));
        }
    }
}
