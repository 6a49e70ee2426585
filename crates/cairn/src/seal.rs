//! Sealed contents: encrypted before they are hashed, each with a key of its own, so that deleting the key erases
//! the text and leaves every hash and every proof as it was.
//!
//! The stored text is `sealed:v1:` and the base64 of nonce and ciphertext: ChaCha20-Poly1305 (RFC 8439) with the
//! thought's id as associated data, so that a sealed text opens at its own place only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairn_core::thought::SEALED;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, KeyInit, Nonce};

use crate::error::Result;
use crate::store::StoreError;

/// The key of one content.
pub(crate) type SealKey = [u8; 32];

const NONCE: usize = 12;
const TAG: usize = 16;

/// A sealed text and what opens it.
pub(crate) struct Sealed {
    /// What is stored and hashed.
    pub text: String,
    /// What is stored apart, and deleted to erase it.
    pub key: SealKey,
}

/// Seals the content of a thought with a new key.
pub(crate) fn seal(id: &str, content: &str) -> Result<Sealed> {
    let (mut key, mut bytes) = (SealKey::default(), [0; NONCE].to_vec());
    for random in [&mut key[..], &mut bytes[..]] {
        getrandom::fill(random)
            .map_err(|error| StoreError::Other(format!("the system gave no random numbers: {error}")))?;
    }
    let payload = Payload { msg: content.as_bytes(), aad: id.as_bytes() };
    let nonce = Nonce::try_from(&bytes[..]).map_err(|_| failed())?;
    let cipher = ChaCha20Poly1305::new(&Key::from(key));
    bytes.extend(cipher.encrypt(&nonce, payload).map_err(|_| failed())?);
    Ok(Sealed { text: format!("{SEALED}{}", STANDARD.encode(bytes)), key })
}

fn failed() -> StoreError {
    StoreError::Other("the content could not be sealed".into())
}

/// The content of a sealed text; none if the key, the id or the text is another.
pub(crate) fn open(id: &str, text: &str, key: &[u8]) -> Option<String> {
    let bytes = bytes(text)?;
    let (nonce, ciphertext) = bytes.split_at_checked(NONCE)?;
    let cipher = ChaCha20Poly1305::new(&Key::try_from(key).ok()?);
    let payload = Payload { msg: ciphertext, aad: id.as_bytes() };
    let content = cipher.decrypt(&Nonce::try_from(nonce).ok()?, payload).ok()?;
    String::from_utf8(content).ok()
}

/// Whether a stored content is a sealed one. A text that merely begins like one, from the time before there were
/// any, is not.
pub(crate) fn is_sealed(text: &str) -> bool {
    length(text).is_some()
}

/// The bytes of the content of a sealed text, which can be told without its key.
pub(crate) fn length(text: &str) -> Option<usize> {
    bytes(text)?.len().checked_sub(NONCE + TAG)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.strip_prefix(SEALED)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_with_its_key_at_its_place_alone() {
        for content in ["", "a", "Grüße 字 🦀", &"long ".repeat(1000)] {
            let Sealed { text, key } = seal("r1", content).unwrap();
            assert!(is_sealed(&text) && !text.contains("long"));
            assert_eq!(length(&text), Some(content.len()));
            assert_eq!(open("r1", &text, &key).as_deref(), Some(content));
            assert_eq!(open("r2", &text, &key), None, "another thought");
            assert_eq!(open("r1", &text, &[7; 32]), None, "another key");
            assert_eq!(open("r1", &text, &key[..31]), None, "no key at all");
            let changed = if text.ends_with("A") { "B" } else { "A" };
            assert_eq!(open("r1", &(text[..text.len() - 4].to_string() + changed + "AAA"), &key), None);
        }
    }

    /// The same content twice shares nothing: nobody can tell that it is the same.
    #[test]
    fn keys_and_nonces_are_never_the_same() {
        let (one, other) = (seal("r1", "yes").unwrap(), seal("r1", "yes").unwrap());
        assert!(one.key != other.key && one.text != other.text);
    }

    #[test]
    fn what_only_looks_like_a_sealed_text_is_none() {
        for text in ["", "sealed:v1:", "sealed:v1:no base64", "sealed:v1:AAAA", "hello"] {
            assert!(!is_sealed(text), "{text}");
            assert_eq!(open("r1", text, &[0; 32]), None);
        }
    }

    /// RFC 8439, section 2.8.2: the cipher is the one everybody means, so that others can open what is stored.
    #[test]
    fn the_cipher_is_that_of_the_rfc() {
        let key: Vec<u8> = (0x80..=0x9f).collect();
        let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
        let aad = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
        let text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
                    sunscreen would be it.";
        let cipher = ChaCha20Poly1305::new(&Key::try_from(&key[..]).unwrap());
        let sealed = cipher
            .encrypt(&Nonce::try_from(&nonce[..]).unwrap(), Payload { msg: text.as_bytes(), aad: &aad })
            .unwrap();
        assert_eq!(sealed[..8], [0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb]);
        assert_eq!(sealed[sealed.len() - 16..][..4], [0x1a, 0xe1, 0x0b, 0x59]);
    }
}
