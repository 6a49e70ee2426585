//! Secret keys.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::Signer;

use super::key::{ED25519, KeyError, NamedKey, VerifyingKey, split_key};
use super::signature::Signature;
use crate::note::encoding::base64;

/// A named secret key that signs notes. Its memory is cleared when it is dropped.
pub struct SigningKey {
    public: VerifyingKey,
    secret: ed25519_dalek::SigningKey,
}

impl SigningKey {
    /// Makes the key of a seed: 32 random bytes, which are the secret.
    pub fn from_seed(name: &str, seed: [u8; 32]) -> Result<SigningKey, KeyError> {
        let secret = ed25519_dalek::SigningKey::from_bytes(&seed);
        let public = VerifyingKey(NamedKey::new(name, ED25519, secret.verifying_key())?);
        Ok(SigningKey { public, secret })
    }

    /// The secret itself, as Go's `sumdb/note` writes it: `PRIVATE+KEY+name+id+base64`. [`str::parse`] reads it.
    pub fn to_secret_string(&self) -> String {
        let seed = base64(&[&[ED25519], self.secret.as_bytes().as_slice()].concat());
        format!("PRIVATE+KEY+{}+{}+{seed}", self.public.name(), self.public.id())
    }

    /// The key that verifies what this one signs.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.public
    }

    /// Signs the text of a note, which ends with a newline.
    pub fn sign(&self, text: &str) -> Signature {
        let signature = self.secret.sign(text.as_bytes());
        Signature::new(self.public.name(), self.public.id(), signature.to_bytes().to_vec())
    }
}

impl FromStr for SigningKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<SigningKey, KeyError> {
        let rest = text.strip_prefix("PRIVATE+KEY+").ok_or(KeyError::NotASecretKey)?;
        let (name, rest) = rest.split_once('+').ok_or(KeyError::NotASecretKey)?;
        let (id, kind, seed) = split_key(rest, KeyError::NotASecretKey)?;
        if kind != ED25519 {
            return Err(KeyError::Type { expected: ED25519, found: kind });
        }
        let key = SigningKey::from_seed(name, seed)?;
        key.public.0.check_id(id)?;
        Ok(key)
    }
}

/// Shows the public half only.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example key of Go's package `golang.org/x/mod/sumdb/note`.
    const PETER: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

    #[test]
    fn the_published_key_is_read_and_written() {
        let key: SigningKey = PETER.parse().unwrap();
        assert_eq!(key.to_secret_string(), PETER);
        assert_eq!(
            key.verifying_key().to_string(),
            "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
        );
    }

    #[test]
    fn every_part_and_every_change_of_it_is_refused() {
        for place in 0..PETER.len() {
            assert!(PETER[..place].parse::<SigningKey>().is_err());
            let mut bytes = PETER.as_bytes().to_vec();
            bytes[place] ^= 1;
            assert!(String::from_utf8(bytes).unwrap().parse::<SigningKey>().is_err());
        }
    }

    #[test]
    fn the_secret_is_in_no_message() {
        let key: SigningKey = PETER.parse().unwrap();
        let secret = &PETER[35..];
        assert!(!format!("{key:?}").contains(secret));
        for text in [format!("{PETER} "), PETER.replace("0a3", "0a4"), PETER.replace("PRIVATE", "private")] {
            let error = text.parse::<SigningKey>().unwrap_err();
            assert!(!format!("{error}{error:?}").contains(&secret[..8]), "{error:?}");
        }
        let misplaced = PETER.parse::<VerifyingKey>().unwrap_err();
        assert!(!format!("{misplaced}{misplaced:?}").contains(&secret[..8]), "{misplaced:?}");
    }

    #[test]
    fn a_name_that_cannot_stand_in_a_note_is_refused() {
        for name in ["", "a b", "a+b", "a\nb", "a\0"] {
            assert_eq!(SigningKey::from_seed(name, [7; 32]).unwrap_err(), KeyError::Name);
        }
    }

    #[test]
    fn another_type_of_key_is_refused() {
        // The first byte, in base64 the first digit and a bit of the second, says the type.
        let text = PETER.replace("+AY", "+BI");
        let expected = KeyError::Type { expected: 1, found: 4 };
        assert_eq!(text.parse::<SigningKey>().unwrap_err(), expected);
    }
}
