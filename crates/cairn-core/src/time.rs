//! Timestamps, kept as the text that was hashed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment in UTC, as ISO 8601 text that ends in `Z`.
///
/// The text itself goes into the hash, so it is never reformatted: `…00Z` and `…00.000Z` name the same
/// moment and are different timestamps.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Timestamp(String);

/// A text that is not a UTC timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a timestamp looks like 2026-04-17T09:30:00.000Z, found `{0}`")]
pub struct NotATimestamp(String);

impl Timestamp {
    /// Checks `text` and keeps it as it is.
    pub fn parse(text: impl Into<String>) -> Result<Timestamp, NotATimestamp> {
        let text = text.into();
        if is_utc_timestamp(text.as_bytes()) { Ok(Timestamp(text)) } else { Err(NotATimestamp(text)) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// `YYYY-MM-DDThh:mm:ss`, up to nine digits of a fraction, `Z`; every field within its range.
fn is_utc_timestamp(text: &[u8]) -> bool {
    let Some((seconds, fraction)) = text.strip_suffix(b"Z").and_then(|t| t.split_at_checked(19)) else {
        return false;
    };
    let shape = seconds.iter().zip(b"0000-00-00T00:00:00").all(|(c, pattern)| match pattern {
        b'0' => c.is_ascii_digit(),
        _ => c == pattern,
    });
    let fraction_fits = match fraction {
        [] => true,
        [b'.', digits @ ..] => (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !shape || !fraction_fits {
        return false;
    }
    let number = |at: usize| (seconds[at] - b'0') * 10 + (seconds[at + 1] - b'0');
    (1..=12).contains(&number(5))
        && (1..=31).contains(&number(8))
        && number(11) < 24
        && number(14) < 60
        && number(17) <= 60
}

impl TryFrom<String> for Timestamp {
    type Error = NotATimestamp;

    fn try_from(text: String) -> Result<Timestamp, NotATimestamp> {
        Timestamp::parse(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_texts_are_kept_to_the_letter() {
        for good in ["2026-04-17T00:00:00Z", "2026-04-17T00:00:00.000Z", "2026-12-31T23:59:60.123456789Z"] {
            assert_eq!(Timestamp::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            "Z",
            "2026-04-17",
            "2026-04-17T00:00:00",
            "2026-04-17T00:00:00+00:00",
            "2026-04-17 00:00:00Z",
            "2026-13-17T00:00:00Z",
            "2026-04-32T00:00:00Z",
            "2026-04-17T24:00:00Z",
            "2026-04-17T00:00:00.Z",
            "2026-04-17T00:00:00.1234567890Z",
            "2026-04-17T00:00:0éZ",
        ] {
            assert!(Timestamp::parse(bad).is_err(), "{bad}");
        }
    }
}
