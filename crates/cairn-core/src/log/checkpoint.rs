//! Checkpoints: what a log commits to at one size, signed by the log and by those who watch it.

use std::fmt;
use std::str::FromStr;

use super::MAX_SIZE;
use crate::hash::Sha;
use crate::note::encoding::{base64, decimal, hash_from_base64};
use crate::note::{
    self, Cosigned, KeyId, Note, NoteError, Signature, SigningKey, Verdict, VerifyingKey, WitnessKey,
};

/// The longest origin, in bytes; witnesses take no longer ones.
pub const MAX_ORIGIN: usize = 255;

/// The head of a log: which log, how many leaves, and the root over them. Its text is the body of a C2SP
/// tlog-checkpoint, three lines without extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Sha,
}

/// Why a text is not a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Too few lines, or the last one is cut off.
    #[error("a checkpoint is three lines: origin, size, root")]
    NotThreeLines,
    /// No name of a log.
    #[error("an origin has 1 to {MAX_ORIGIN} bytes and no control character")]
    Origin,
    /// Not a number as it is written here.
    #[error("the size is not a number from 0 to {MAX_SIZE} without leading zeros")]
    Size,
    /// Not a hash as it is written here.
    #[error("the root is not the base64 of 32 bytes")]
    Root,
    /// The format allows further lines, but nothing checks them, so Cairn's logs have none.
    #[error("extension lines after the root are not supported, and no log of Cairn has any")]
    Extension,
    /// The signatures cannot be read.
    #[error(transparent)]
    Note(#[from] NoteError),
}

/// Why a checkpoint is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untrusted {
    /// No line of the key.
    #[error("the checkpoint is not signed by {name}+{id}")]
    NotSigned {
        /// Name of the key.
        name: String,
        /// Id of the key.
        id: KeyId,
    },
    /// A line of the key that it did not make.
    #[error("the signature of {name}+{id} is not over this checkpoint: it was forged or changed")]
    Forged {
        /// Name of the key.
        name: String,
        /// Id of the key.
        id: KeyId,
    },
    /// The key of one log under the checkpoint of another.
    #[error("the checkpoint is of the log {origin}, the key is that of {name}")]
    OtherLog {
        /// The log that the checkpoint names.
        origin: String,
        /// The log that the key belongs to.
        name: String,
    },
}

impl Checkpoint {
    /// Checks that the checkpoint can be written.
    pub fn new(origin: &str, size: u64, root: Sha) -> Result<Checkpoint, CheckpointError> {
        if origin.is_empty() || origin.len() > MAX_ORIGIN || origin.contains(|c: char| c < ' ') {
            return Err(CheckpointError::Origin);
        }
        if size > MAX_SIZE {
            return Err(CheckpointError::Size);
        }
        Ok(Checkpoint { origin: origin.to_string(), size, root })
    }

    /// The name of the log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many leaves it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root over them.
    pub fn root(&self) -> Sha {
        self.root
    }

    /// The text that signatures are over.
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, base64(&self.root.0))
    }

    /// Signs it with each of `keys`; with none of them it stays unsigned.
    pub fn signed(&self, keys: &[&SigningKey]) -> Result<CheckpointNote, NoteError> {
        let (body, mut note) = (self.body(), CheckpointNote::from(self.clone()));
        keys.iter().try_for_each(|key| note.add(key.sign(&body)))?;
        Ok(note)
    }
}

/// Reads a body.
impl FromStr for Checkpoint {
    type Err = CheckpointError;

    fn from_str(body: &str) -> Result<Checkpoint, CheckpointError> {
        let lines = body.strip_suffix('\n').ok_or(CheckpointError::NotThreeLines)?;
        let mut lines = lines.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(CheckpointError::NotThreeLines);
        };
        let size = decimal(size).ok_or(CheckpointError::Size)?;
        let root = hash_from_base64(root).ok_or(CheckpointError::Root)?;
        let checkpoint = Checkpoint::new(origin, size, root)?;
        if lines.next().is_some() { Err(CheckpointError::Extension) } else { Ok(checkpoint) }
    }
}

/// Writes the body.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.body())
    }
}

/// A checkpoint as it is kept and handed on: with the signatures of the log and of witnesses, or without any, when
/// the log has no key. Its text is a signed note in the first case, the bare body in the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointNote {
    checkpoint: Checkpoint,
    signatures: Vec<Signature>,
}

impl CheckpointNote {
    /// What it says. Only [`verify`](CheckpointNote::verify) tells whether that can be believed.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// All signatures, in the order of their lines.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Tells whether there is any signature, right or wrong.
    pub fn is_signed(&self) -> bool {
        !self.signatures.is_empty()
    }

    /// Adds a signature; one by the same key makes way for it.
    pub fn add(&mut self, signature: Signature) -> Result<(), NoteError> {
        note::add_signature(&mut self.signatures, signature)
    }

    /// Looks for a signature of `key`.
    pub fn verdict(&self, key: &VerifyingKey) -> Verdict {
        note::verdict(&self.checkpoint.body(), &self.signatures, key)
    }

    /// Looks for a cosignature of a witness.
    pub fn cosigned(&self, witness: &WitnessKey) -> Cosigned {
        witness.verdict(&self.checkpoint.body(), &self.signatures)
    }

    /// Returns the checkpoint if the log that `key` belongs to signed it.
    pub fn verify(&self, key: &VerifyingKey) -> Result<&Checkpoint, Untrusted> {
        let (name, id) = (key.name().to_string(), key.id());
        match self.verdict(key) {
            Verdict::NotSigned => Err(Untrusted::NotSigned { name, id }),
            Verdict::Forged => Err(Untrusted::Forged { name, id }),
            Verdict::Signed if name != self.checkpoint.origin => {
                Err(Untrusted::OtherLog { origin: self.checkpoint.origin.clone(), name })
            }
            Verdict::Signed => Ok(&self.checkpoint),
        }
    }
}

/// Without signatures.
impl From<Checkpoint> for CheckpointNote {
    fn from(checkpoint: Checkpoint) -> CheckpointNote {
        CheckpointNote { checkpoint, signatures: Vec::new() }
    }
}

impl FromStr for CheckpointNote {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<CheckpointNote, CheckpointError> {
        // A body has no blank line, a signed note always has one.
        if !text.contains("\n\n") {
            return Ok(text.parse::<Checkpoint>()?.into());
        }
        let note: Note = text.parse()?;
        Ok(CheckpointNote { checkpoint: note.text().parse()?, signatures: note.signatures().to_vec() })
    }
}

impl fmt::Display for CheckpointNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        note::write(f, &self.checkpoint.body(), &self.signatures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFA: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    const SOFA_LINE: &str = "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

    fn key(name: &str) -> SigningKey {
        SigningKey::from_seed(name, [7; 32]).unwrap()
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint::new("cairn/test", 12, Sha::of(b"root")).unwrap()
    }

    #[test]
    fn the_example_of_the_specification_is_read_and_written() {
        for text in [SOFA.to_string(), format!("{SOFA}\n{SOFA_LINE}")] {
            let note: CheckpointNote = text.parse().unwrap();
            assert_eq!(note.checkpoint().origin(), "example.com/behind-the-sofa");
            assert_eq!(note.checkpoint().size(), 20_852_163);
            assert_eq!(note.is_signed(), text.len() > SOFA.len());
            assert_eq!(note.to_string(), text);
        }
    }

    #[test]
    fn a_signed_checkpoint_is_believed_with_the_key_of_its_log_only() {
        let (log, other) = (key("cairn/test"), key("cairn/other"));
        let note = checkpoint().signed(&[&log, &other]).unwrap();
        let read: CheckpointNote = note.to_string().parse().unwrap();
        assert_eq!(read, note);
        assert_eq!(read.verify(log.verifying_key()), Ok(&checkpoint()));
        assert_eq!(read.verdict(other.verifying_key()), Verdict::Signed);
        assert!(matches!(read.verify(other.verifying_key()), Err(Untrusted::OtherLog { .. })));
        let unsigned = checkpoint().signed(&[]).unwrap();
        assert!(!unsigned.is_signed());
        assert_eq!(unsigned.to_string(), checkpoint().body());
        assert!(matches!(unsigned.verify(log.verifying_key()), Err(Untrusted::NotSigned { .. })));
    }

    #[test]
    fn every_other_byte_at_every_place_is_noticed() {
        let log = key("cairn/test");
        let good = checkpoint().signed(&[&log]).unwrap().to_string();
        for place in 0..good.len() {
            for byte in 0..=u8::MAX {
                let mut bytes = good.as_bytes().to_vec();
                bytes[place] = byte;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let Ok(note) = text.parse::<CheckpointNote>() else { continue };
                assert_eq!(note.to_string(), text, "one spelling each");
                assert_eq!(note.verify(log.verifying_key()).is_ok(), text == good, "{text}");
            }
        }
    }

    #[track_caller]
    fn refused(text: &str, expected: CheckpointError) {
        assert_eq!(text.parse::<CheckpointNote>(), Err(expected), "{text:?}");
    }

    #[test]
    fn what_is_no_checkpoint_is_refused_with_a_reason() {
        let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
        for text in ["", "o", "o\n", "o\n1\n", SOFA.trim_end(), "\n"] {
            refused(text, CheckpointError::NotThreeLines);
        }
        refused(&format!("\n1\n{root}\n"), CheckpointError::Origin);
        refused(&format!("a\tb\n1\n{root}\n"), CheckpointError::Origin);
        refused(&format!("{}\n1\n{root}\n", "o".repeat(256)), CheckpointError::Origin);
        for size in ["01", "-1", "+1", "1 ", "1e3", "9007199254740992", "99999999999999999999"] {
            refused(&format!("o\n{size}\n{root}\n"), CheckpointError::Size);
        }
        for root in
            [&root[1..], &root[4..], &root.replace("2I=", "2J="), &format!("{root} "), &root.repeat(2)]
        {
            refused(&format!("o\n1\n{root}\n"), CheckpointError::Root);
        }
        refused(&format!("o\n1\n{root}\nmore\n"), CheckpointError::Extension);
        refused(&format!("o\n1\n{root}\nmore\n\n{SOFA_LINE}"), CheckpointError::Extension);
        refused("o\n1\n\n", NoteError::NoSignatures.into());
        refused(&format!("{SOFA}\n"), NoteError::NoSignatures.into());
        refused(&format!("{SOFA}\n{SOFA_LINE}\n"), NoteError::NoSignatures.into());
        refused(
            &format!("{SOFA}\n{SOFA}"),
            NoteError::SignatureLine("example.com/behind-the-sofa".into()).into(),
        );
        assert_eq!(Checkpoint::new("o", MAX_SIZE + 1, Sha::ZERO), Err(CheckpointError::Size));
        assert_eq!(Checkpoint::new("o\n1", 1, Sha::ZERO), Err(CheckpointError::Origin));
    }
}
