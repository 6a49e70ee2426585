//! Signed notes (C2SP signed-note): a text, a blank line, and a line for each signature.
//!
//! ```text
//! The text, which may have several lines.
//!
//! — example.org/log base64(key id ++ signature)
//! ```
//!
//! Anybody may add lines. Those of unknown keys say nothing, so a note is only ever judged with the key of somebody
//! in particular: see [`Note::verdict`].

mod cosignature;
pub(crate) mod encoding;
mod key;
mod signature;
mod signing;

pub use cosignature::{Cosigned, WitnessKey};
pub use key::{KeyError, KeyId, VerifyingKey};
pub use signature::Signature;
pub use signing::SigningKey;

use std::fmt;
use std::str::FromStr;

/// The longest note that is read, in bytes.
pub const MAX_NOTE: usize = 1_000_000;
/// The most signatures on one note.
pub const MAX_SIGNATURES: usize = 100;

/// Why a text is not a signed note.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Longer than [`MAX_NOTE`].
    #[error("a note has at most {MAX_NOTE} bytes")]
    TooLong,
    /// More signatures than [`MAX_SIGNATURES`].
    #[error("a note has at most {MAX_SIGNATURES} signatures")]
    TooManySignatures,
    /// A tab, a carriage return or the like.
    #[error("line {line} holds a control character; a note holds none but newlines")]
    ControlCharacter {
        /// Which line, from 1.
        line: usize,
    },
    /// The end was cut off.
    #[error("the last line does not end with a newline")]
    NoFinalNewline,
    /// Nothing separates a text from signatures.
    #[error("there is no blank line followed by signatures")]
    NoSignatures,
    /// A line after the blank one is something else.
    #[error("`{0}` is not a signature line: — name base64(id and signature)")]
    SignatureLine(String),
}

/// What a note says about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The key signed this text.
    Signed,
    /// There is no line of this key.
    NotSigned,
    /// A line with the name and id of this key was not made by it over this text.
    Forged,
}

/// A text with at least one signature, right or wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    /// Signs a text, which ends with a newline.
    pub fn sign(text: &str, key: &SigningKey) -> Result<Note, NoteError> {
        check_text(text)?;
        Ok(Note { text: text.to_string(), signatures: vec![key.sign(text)] })
    }

    /// What is signed, with its final newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All signatures, in the order of their lines.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Adds a line, see [`add_signature`].
    pub fn add(&mut self, signature: Signature) -> Result<(), NoteError> {
        add_signature(&mut self.signatures, signature)
    }

    /// Looks for a signature of `key`.
    pub fn verdict(&self, key: &VerifyingKey) -> Verdict {
        verdict(&self.text, &self.signatures, key)
    }
}

/// Adds a signature; one by the same key makes way for it.
pub(crate) fn add_signature(signatures: &mut Vec<Signature>, new: Signature) -> Result<(), NoteError> {
    if let Some(old) = signatures.iter_mut().find(|old| old.is_of_same_key(&new)) {
        *old = new;
    } else if signatures.len() < MAX_SIGNATURES {
        signatures.push(new);
    } else {
        return Err(NoteError::TooManySignatures);
    }
    Ok(())
}

/// Looks for `key` among `signatures` over `text`. Each line that claims to be of it must be right: a wrong one
/// beside a right one is somebody's attempt, worth more attention than silence.
pub(crate) fn verdict(text: &str, signatures: &[Signature], key: &VerifyingKey) -> Verdict {
    let mut verdict = Verdict::NotSigned;
    for signature in signatures.iter().filter(|line| line.name() == key.name() && line.id() == key.id()) {
        if !key.0.accepts(text.as_bytes(), signature.bytes()) {
            return Verdict::Forged;
        }
        verdict = Verdict::Signed;
    }
    verdict
}

/// Writes a text with its signature lines; just the text when there are none.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, text: &str, signatures: &[Signature]) -> fmt::Result {
    f.write_str(text)?;
    if !signatures.is_empty() {
        f.write_str("\n")?;
    }
    signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
}

fn check_text(text: &str) -> Result<(), NoteError> {
    if text.len() > MAX_NOTE {
        return Err(NoteError::TooLong);
    }
    let control = |line: &str| line.contains(|c: char| c < ' ');
    if let Some(line) = text.split('\n').position(control) {
        return Err(NoteError::ControlCharacter { line: line + 1 });
    }
    if text.ends_with('\n') { Ok(()) } else { Err(NoteError::NoFinalNewline) }
}

impl FromStr for Note {
    type Err = NoteError;

    fn from_str(note: &str) -> Result<Note, NoteError> {
        check_text(note)?;
        // The text may hold blank lines too: the last one counts.
        let end = note.rfind("\n\n").ok_or(NoteError::NoSignatures)? + 1;
        let (text, lines) = (&note[..end], &note[end + 1..]);
        if lines.is_empty() {
            return Err(NoteError::NoSignatures);
        }
        Ok(Note { text: text.to_string(), signatures: Signature::parse_lines(lines)? })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.text, &self.signatures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keys and note of the example in Go's package `golang.org/x/mod/sumdb/note`.
    const SECRET: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                        then you don't know what your problem is.\n";
    const LINE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    fn secret() -> SigningKey {
        SECRET.parse().unwrap()
    }

    fn public() -> VerifyingKey {
        PUBLIC.parse().unwrap()
    }

    #[test]
    fn the_published_note_comes_out_byte_for_byte() {
        let note = Note::sign(TEXT, &secret()).unwrap();
        let published = format!("{TEXT}\n{LINE}");
        assert_eq!(note.to_string(), published);
        let read: Note = published.parse().unwrap();
        assert_eq!(read, note);
        assert_eq!((read.text(), read.signatures().len()), (TEXT, 1));
        assert_eq!(read.verdict(&public()), Verdict::Signed);
    }

    #[test]
    fn the_example_of_the_specification_is_read() {
        let text =
            "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n";
        let line = "— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";
        let note: Note = format!("{text}\n{line}").parse().unwrap();
        assert_eq!(note.text(), text);
        assert_eq!(note.verdict(&public()), Verdict::NotSigned);
    }

    #[test]
    fn every_other_byte_at_every_place_is_refused() {
        let good = format!("{TEXT}\n{LINE}");
        for place in 0..good.len() {
            for byte in 0..=u8::MAX {
                let mut bytes = good.as_bytes().to_vec();
                bytes[place] = byte;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let Ok(note) = text.parse::<Note>() else { continue };
                assert_eq!(note.to_string(), text, "one spelling each");
                assert_eq!(note.verdict(&public()) == Verdict::Signed, text == good, "{text}");
            }
        }
    }

    #[test]
    fn foreign_lines_say_nothing_and_wrong_ones_spoil_the_note() {
        let mut note = Note::sign(TEXT, &secret()).unwrap();
        let other = SigningKey::from_seed("EnochRoot", [1; 32]).unwrap();
        let namesake = SigningKey::from_seed("PeterNeumann", [2; 32]).unwrap();
        note.add(other.sign(TEXT)).unwrap();
        note.add(namesake.sign("something else\n")).unwrap();
        assert_eq!(note.verdict(&public()), Verdict::Signed);
        assert_eq!(note.verdict(other.verifying_key()), Verdict::Signed);
        assert_eq!(note.verdict(namesake.verifying_key()), Verdict::Forged);
        let third = SigningKey::from_seed("EnochRoot", [3; 32]).unwrap();
        assert_eq!(note.verdict(third.verifying_key()), Verdict::NotSigned);

        let wrong = secret().sign("another text\n");
        let both: Note = format!("{TEXT}\n{LINE}{wrong}\n").parse().unwrap();
        assert_eq!(both.verdict(&public()), Verdict::Forged);
        let twice: Note = format!("{TEXT}\n{LINE}{LINE}").parse().unwrap();
        assert_eq!(twice.verdict(&public()), Verdict::Signed);
    }

    #[test]
    fn a_second_signature_of_a_key_takes_the_place_of_the_first() {
        let mut note = Note::sign(TEXT, &secret()).unwrap();
        note.add(secret().sign("another text\n")).unwrap();
        assert_eq!((note.signatures().len(), note.verdict(&public())), (1, Verdict::Forged));
        for seed in 0..MAX_SIGNATURES as u8 - 1 {
            note.add(SigningKey::from_seed("n", [seed; 32]).unwrap().sign(TEXT)).unwrap();
        }
        let last = SigningKey::from_seed("n", [200; 32]).unwrap().sign(TEXT);
        assert_eq!(note.add(last.clone()), Err(NoteError::TooManySignatures));
        assert_eq!(note.to_string().parse(), Ok(note.clone()));
        assert_eq!(format!("{note}{last}\n").parse::<Note>(), Err(NoteError::TooManySignatures));
    }

    #[track_caller]
    fn refused(note: &str, expected: NoteError) {
        assert_eq!(note.parse::<Note>(), Err(expected), "{note:?}");
    }

    #[test]
    fn what_is_no_note_is_refused_with_a_reason() {
        refused("", NoteError::NoFinalNewline);
        refused("\n", NoteError::NoSignatures);
        refused("\n\n", NoteError::NoSignatures);
        refused(TEXT, NoteError::NoSignatures);
        refused(&format!("{TEXT}\n"), NoteError::NoSignatures);
        refused(&format!("{TEXT}{LINE}"), NoteError::NoSignatures);
        refused(LINE, NoteError::NoSignatures);
        refused(&format!("\n{LINE}"), NoteError::NoSignatures);
        refused(format!("{TEXT}\n{LINE}").trim_end(), NoteError::NoFinalNewline);
        refused(&format!("{TEXT}\n{LINE}\n"), NoteError::NoSignatures);
        refused(&format!("{TEXT}\n{LINE}more\n"), NoteError::SignatureLine("more".into()));
        refused(&format!("a\tb\n\n{LINE}"), NoteError::ControlCharacter { line: 1 });
        refused(&format!("{TEXT}\r\n{LINE}"), NoteError::ControlCharacter { line: 3 });
        refused(&format!("a\n\n{}", LINE.replace("mann", "man\0n")), NoteError::ControlCharacter { line: 3 });
        refused(&format!("{}\n\n{LINE}", "a".repeat(MAX_NOTE)), NoteError::TooLong);
        assert_eq!(Note::sign("no newline", &secret()), Err(NoteError::NoFinalNewline));
        assert_eq!(Note::sign("a\u{1b}[2J\n", &secret()), Err(NoteError::ControlCharacter { line: 1 }));
    }
}
