//! Receipts: that one entry is in the log, checkable by anybody who has the key of the log and nothing else.

use std::fmt;
use std::str::FromStr;

use super::checkpoint::{Checkpoint, CheckpointNote, Untrusted};
use super::lines::{self, LinesError};
use super::{leaf_hash, verify_inclusion};
use crate::hash::Sha;
use crate::note::VerifyingKey;
use crate::note::encoding::{base64, decimal, from_base64};

const HEADER: &str = "c2sp.org/tlog-proof@v1";

/// The proof that an entry is in the log, with the signed checkpoint it refers to. Its text is a C2SP tlog-proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    index: u64,
    proof: Vec<Sha>,
    checkpoint: CheckpointNote,
    extra: Option<Vec<u8>>,
}

/// Why a receipt cannot be read, or proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// Another format, or another version of it.
    #[error("the first line is not {HEADER}")]
    Header,
    /// The line `extra` cannot be read.
    #[error("the line `extra` is not base64")]
    Extra,
    /// The line `index` is missing or cannot be read.
    #[error("there is no line `index` with a number without leading zeros")]
    Index,
    /// The rest cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// Nobody signed the checkpoint.
    #[error("the checkpoint of a receipt is signed, this one is not")]
    Unsigned,
    /// The checkpoint does not reach as far as the entry.
    #[error("the checkpoint covers {size} entries, from 0: entry {index} is not among them")]
    NotCovered {
        /// The entry.
        index: u64,
        /// The size of the checkpoint.
        size: u64,
    },
    /// The checkpoint is not believed.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The proof does not lead from the entry to the root.
    #[error(
        "the proof does not lead from this entry at {index} to the signed root: it is not what was recorded there"
    )]
    NotIncluded {
        /// The entry.
        index: u64,
    },
}

impl Receipt {
    /// Puts a receipt together. `extra` is the application's, and nothing proves it.
    pub fn new(
        index: u64,
        proof: Vec<Sha>,
        checkpoint: CheckpointNote,
        extra: Option<Vec<u8>>,
    ) -> Result<Receipt, ReceiptError> {
        lines::check(&proof)?;
        let size = checkpoint.checkpoint().size();
        if !checkpoint.is_signed() {
            return Err(ReceiptError::Unsigned);
        }
        if index >= size {
            return Err(ReceiptError::NotCovered { index, size });
        }
        Ok(Receipt { index, proof, checkpoint, extra })
    }

    /// The position of the entry in the log: its `seq`.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The siblings on the way from the entry to the root, lowest first.
    pub fn proof(&self) -> &[Sha] {
        &self.proof
    }

    /// The checkpoint it refers to, believed or not.
    pub fn checkpoint(&self) -> &CheckpointNote {
        &self.checkpoint
    }

    /// What the application added; unproven.
    pub fn extra(&self) -> Option<&[u8]> {
        self.extra.as_deref()
    }

    /// Checks that the log of `key` recorded the entry with exactly these bytes, and returns the checkpoint that
    /// says so. Size and root are taken from there only once the signature has been checked.
    pub fn verify(&self, entry: &[u8], key: &VerifyingKey) -> Result<&Checkpoint, ReceiptError> {
        let checkpoint = self.checkpoint.verify(key)?;
        let (size, root) = (checkpoint.size(), checkpoint.root());
        if verify_inclusion(&leaf_hash(entry), self.index, size, &self.proof, &root) {
            Ok(checkpoint)
        } else {
            Err(ReceiptError::NotIncluded { index: self.index })
        }
    }
}

impl FromStr for Receipt {
    type Err = ReceiptError;

    fn from_str(text: &str) -> Result<Receipt, ReceiptError> {
        let (header, mut rest) = text.split_once('\n').ok_or(ReceiptError::Header)?;
        if header != HEADER {
            return Err(ReceiptError::Header);
        }
        let mut extra = None;
        if let Some(line) = rest.strip_prefix("extra ") {
            let (line, after) = line.split_once('\n').ok_or(ReceiptError::Extra)?;
            extra = Some(from_base64(line).ok_or(ReceiptError::Extra)?);
            rest = after;
        }
        let (index, rest) = rest
            .strip_prefix("index ")
            .and_then(|line| line.split_once('\n'))
            .and_then(|(index, rest)| Some((decimal(index)?, rest)))
            .ok_or(ReceiptError::Index)?;
        let (proof, checkpoint) = lines::parse(rest)?;
        Receipt::new(index, proof, checkpoint, extra)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        if let Some(extra) = &self.extra {
            writeln!(f, "extra {}", base64(extra))?;
        }
        writeln!(f, "index {}", self.index)?;
        lines::write(f, &self.proof, &self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::CheckpointError;
    use super::super::{Edge, inclusion, node_hash};
    use super::*;
    use crate::note::{NoteError, SigningKey};

    fn key() -> SigningKey {
        SigningKey::from_seed("cairn/test", [7; 32]).unwrap()
    }

    fn leaf(index: u64) -> Vec<u8> {
        format!("leaf {index}").into_bytes()
    }

    fn receipt(index: u64, size: u64, extra: Option<&[u8]>) -> Receipt {
        let (mut edge, mut nodes) = (Edge::empty(), Vec::new());
        for index in 0..size {
            edge.push(leaf_hash(&leaf(index)), &mut |node| nodes.push(node));
        }
        let mut source = |level: u8, index: u64| -> Result<Sha, ()> {
            let stored = nodes.iter().find(|node| (node.level, node.index) == (level, index));
            Ok(stored.map_or_else(|| leaf_hash(&leaf(index)), |node| node.hash))
        };
        let proof = inclusion(index, size, &mut source).unwrap();
        let checkpoint = Checkpoint::new("cairn/test", size, edge.root()).unwrap();
        Receipt::new(index, proof, checkpoint.signed(&[&key()]).unwrap(), extra.map(<[u8]>::to_vec)).unwrap()
    }

    #[test]
    fn a_receipt_survives_being_written_and_proves_its_entry_alone() {
        for (index, size, extra) in
            [(0, 1, None), (0, 2, None), (4, 5, Some(&b""[..])), (6, 11, Some(b"seven"))]
        {
            let receipt: Receipt = receipt(index, size, extra).to_string().parse().unwrap();
            assert_eq!((receipt.index(), receipt.extra()), (index, extra));
            let checkpoint = receipt.verify(&leaf(index), key().verifying_key()).unwrap();
            assert_eq!((checkpoint.size(), checkpoint.origin()), (size, "cairn/test"));
            let other = receipt.verify(&leaf(index + 1), key().verifying_key());
            assert_eq!(other, Err(ReceiptError::NotIncluded { index }));
        }
    }

    #[test]
    fn the_layout_is_that_of_the_specification() {
        let text = receipt(1, 3, Some(b"x")).to_string();
        let sibling = base64(&leaf_hash(b"leaf 0").0);
        let right = base64(&leaf_hash(b"leaf 2").0);
        let root = node_hash(&node_hash(&leaf_hash(b"leaf 0"), &leaf_hash(b"leaf 1")), &leaf_hash(b"leaf 2"));
        let expected = format!(
            "c2sp.org/tlog-proof@v1\nextra eA==\nindex 1\n{sibling}\n{right}\n\ncairn/test\n3\n{}\n\n— cairn/test ",
            base64(&root.0)
        );
        assert!(text.starts_with(&expected), "{text}");
    }

    #[test]
    fn every_other_byte_at_every_place_is_noticed() {
        let good = receipt(2, 5, None).to_string();
        for place in 0..good.len() {
            for byte in 0..=u8::MAX {
                let mut bytes = good.as_bytes().to_vec();
                bytes[place] = byte;
                let Ok(text) = String::from_utf8(bytes) else { continue };
                let Ok(receipt) = text.parse::<Receipt>() else { continue };
                assert_eq!(receipt.to_string(), text, "one spelling each");
                assert_eq!(receipt.verify(&leaf(2), key().verifying_key()).is_ok(), text == good, "{text}");
            }
        }
    }

    #[test]
    fn the_root_comes_from_a_checkpoint_that_is_believed() {
        let good = receipt(2, 5, None);
        let other = SigningKey::from_seed("cairn/test", [8; 32]).unwrap();
        let verdict = good.verify(&leaf(2), other.verifying_key());
        assert!(matches!(verdict, Err(ReceiptError::Untrusted(Untrusted::NotSigned { .. }))), "{verdict:?}");
        // Somebody without the key makes a log of his own, and signs it with his own key.
        let forged = Checkpoint::new("cairn/test", 1, leaf_hash(b"forged")).unwrap();
        let forged = Receipt::new(0, vec![], forged.signed(&[&other]).unwrap(), None).unwrap();
        assert!(forged.verify(b"forged", other.verifying_key()).is_ok());
        assert!(forged.verify(b"forged", key().verifying_key()).is_err());
    }

    #[track_caller]
    fn refused(text: &str, expected: impl Into<ReceiptError>) {
        assert_eq!(text.parse::<Receipt>(), Err(expected.into()), "{text}");
    }

    #[test]
    fn what_is_no_receipt_is_refused_with_a_reason() {
        let good = receipt(1, 3, None).to_string();
        let (head, checkpoint) = good.split_once("\n\n").unwrap();
        refused("", ReceiptError::Header);
        refused(HEADER, ReceiptError::Header);
        refused(&good.replace("@v1", "@v2"), ReceiptError::Header);
        refused(&good.replace("index", "extra"), ReceiptError::Extra);
        refused(&format!("{HEADER}\nextra AA"), ReceiptError::Extra);
        refused(&format!("{HEADER}\nindex 1"), ReceiptError::Index);
        refused(&good.replace("index 1", "index 01"), ReceiptError::Index);
        refused(&good.replace("index 1", "extra AA==\nextra AA==\nindex 1"), ReceiptError::Index);
        refused(&good.replace("index 1", "index 1\nextra AA=="), LinesError::Hash { number: 1 });
        refused(&good.replace("index 1", "index 3"), ReceiptError::NotCovered { index: 3, size: 3 });
        refused(&good.replace("\n\ncairn", "\r\n\ncairn"), LinesError::Hash { number: 2 });
        refused(&good.replacen("=\n", "=\r\n", 1), LinesError::Hash { number: 1 });
        refused(head, LinesError::NoCheckpoint);
        refused(&format!("{head}\n\n"), LinesError::Checkpoint(CheckpointError::NotThreeLines));
        refused(&format!("{head}\n\n\n{checkpoint}"), LinesError::Checkpoint(CheckpointError::Size));
        refused(good.trim_end(), LinesError::Checkpoint(NoteError::NoFinalNewline.into()));
        let (body, _) = checkpoint.split_once("\n\n").unwrap();
        refused(&format!("{head}\n\n{body}\n"), ReceiptError::Unsigned);
        let hash = base64(&Sha::ZERO.0);
        let many = format!("{HEADER}\nindex 0\n{}\n{checkpoint}", format!("{hash}\n").repeat(64));
        refused(&many, LinesError::TooManyHashes);
    }
}
