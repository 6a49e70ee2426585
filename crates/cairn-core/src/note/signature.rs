//! One signature line of a note.

use std::fmt;
use std::str::FromStr;

use super::NoteError;
use super::encoding::{base64, from_base64};
use super::key::{KeyId, is_key_name};

/// A signature of anybody, as it stands in a note: whose, and the bytes. That it is read says nothing of whether
/// it is right.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    name: String,
    id: KeyId,
    bytes: Vec<u8>,
}

impl Signature {
    pub(super) fn new(name: &str, id: KeyId, bytes: Vec<u8>) -> Signature {
        Signature { name: name.to_string(), id, bytes }
    }

    /// The name of the key that is said to have made it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the key that is said to have made it.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// What follows the id; the length depends on the type of the key.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells whether both say the same key made them.
    pub fn is_of_same_key(&self, other: &Signature) -> bool {
        self.id == other.id && self.name == other.name
    }

    /// Reads signature lines by themselves, each ended by a newline: what a witness answers.
    pub fn parse_lines(text: &str) -> Result<Vec<Signature>, NoteError> {
        let lines = text.strip_suffix('\n').ok_or(NoteError::NoFinalNewline)?;
        if lines.split('\n').count() > super::MAX_SIGNATURES {
            return Err(NoteError::TooManySignatures);
        }
        lines.split('\n').map(str::parse).collect()
    }
}

/// Reads one line, without its newline.
impl FromStr for Signature {
    type Err = NoteError;

    fn from_str(line: &str) -> Result<Signature, NoteError> {
        let malformed = || NoteError::SignatureLine(line.chars().take(120).collect());
        let (name, encoded) =
            line.strip_prefix("— ").and_then(|rest| rest.split_once(' ')).ok_or_else(malformed)?;
        let bytes = from_base64(encoded).filter(|_| is_key_name(name)).ok_or_else(malformed)?;
        match bytes.split_first_chunk::<4>() {
            Some((&id, rest)) if !rest.is_empty() => Ok(Signature::new(name, KeyId(id), rest.to_vec())),
            _ => Err(malformed()),
        }
    }
}

/// The line, without its newline.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "— {} {}", self.name, base64(&[&self.id.0, self.bytes.as_slice()].concat()))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_written() {
        let line = "— witness.example/w1 AAAAAQI=";
        let signature: Signature = line.parse().unwrap();
        assert_eq!((signature.name(), signature.id()), ("witness.example/w1", KeyId([0, 0, 0, 1])));
        assert_eq!(signature.bytes(), [2]);
        assert_eq!(signature.to_string(), line);
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "—",
            "— ",
            "— name",
            "— name ",
            "— name AAAAAQ==",
            "— name AAAAAQI",
            "— name AAAAAQJ=",
            "— name AAAAAQI= ",
            "— name AAAAAQI=\r",
            "—  name AAAAAQI=",
            "— name  AAAAAQI=",
            "—\u{a0}name AAAAAQI=",
            "— na+me AAAAAQI=",
            "— na\u{2003}me AAAAAQI=",
            "- name AAAAAQI=",
            "name AAAAAQI=",
        ] {
            assert!(matches!(line.parse::<Signature>(), Err(NoteError::SignatureLine(_))), "{line}");
        }
    }

    #[test]
    fn an_answer_of_lines_is_read() {
        let line = "— w AAAAAQI=\n";
        assert_eq!(Signature::parse_lines(&line.repeat(2)).unwrap().len(), 2);
        assert_eq!(Signature::parse_lines(line.trim_end()), Err(NoteError::NoFinalNewline));
        assert_eq!(Signature::parse_lines(&line.repeat(101)), Err(NoteError::TooManySignatures));
        for text in ["", "\n", &format!("{line}\n"), &format!("\n{line}")] {
            assert!(Signature::parse_lines(text).is_err(), "{text:?}");
        }
    }
}
