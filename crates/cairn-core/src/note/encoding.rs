//! Numbers and bytes as the texts of transparency logs write them: one spelling each, every other refused.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::canonical::MAX_INTEGER;
use crate::hash::Sha;

/// Writes `bytes` in the standard alphabet, padded.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Reads the standard alphabet; missing padding and bits that stand for nothing are refused, so that equal bytes
/// have equal texts.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Reads a hash in base64.
pub(crate) fn hash_from_base64(text: &str) -> Option<Sha> {
    Some(Sha(from_base64(text)?.try_into().ok()?))
}

/// Reads decimal digits without sign or leading zeros, up to 2^53 - 1.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if !digits || leading_zero {
        return None;
    }
    text.parse().ok().filter(|&number| number <= MAX_INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_spelling() {
        for (text, number) in [("0", 0), ("1", 1), ("10", 10), ("9007199254740991", MAX_INTEGER)] {
            assert_eq!(decimal(text), Some(number));
        }
        for text in
            ["", "00", "01", "+1", "-1", " 1", "1 ", "1\n", "1_0", "0x1", "1.0", "１", "9007199254740992"]
        {
            assert_eq!(decimal(text), None, "{text}");
        }
        assert_eq!(decimal(&"9".repeat(100)), None);
    }

    #[test]
    fn bytes_have_one_spelling() {
        assert_eq!(from_base64("AA=="), Some(vec![0]));
        for text in ["AA", "AA=", "AB==", "AA==\n", "A A=", "AA==AA==", "_w==", "é"] {
            assert_eq!(from_base64(text), None, "{text}");
        }
        let hash = Sha::of(b"x");
        assert_eq!(hash_from_base64(&base64(&hash.0)), Some(hash));
        assert_eq!(hash_from_base64(&base64(&hash.0[1..])), None);
        assert_eq!(hash_from_base64(&base64(&[&hash.0[..], &[0]].concat())), None);
    }
}
