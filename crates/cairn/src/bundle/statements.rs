//! Checking what a bundle says about the log itself: its keys and its checkpoints.

use cairn_core::Sha;
use cairn_core::log::{CheckpointNote, Edge, Untrusted};
use cairn_core::note::VerifyingKey;

use super::leaf::KeyLeaf;
use super::read::Header;
use crate::verify::{Finding, Reason};

/// The checkpoints of a bundle, and whose signatures they carry.
pub struct Checkpoints<'k> {
    keys: &'k [VerifyingKey],
    /// From which size on the signatures of a given key count for nothing.
    revoked: Vec<Option<u64>>,
    /// The tree as far as checkpoints have asked for it.
    edge: Edge,
    /// The size and the note of each.
    pub notes: Vec<(u64, String)>,
    /// Those that a given key signed.
    pub signed: u64,
    /// The given keys that signed the last one.
    pub signers: Vec<String>,
}

impl<'k> Checkpoints<'k> {
    /// None has been seen yet.
    pub fn new(keys: &'k [VerifyingKey]) -> Checkpoints<'k> {
        Checkpoints {
            keys,
            revoked: vec![None; keys.len()],
            edge: Edge::empty(),
            notes: Vec::new(),
            signed: 0,
            signers: Vec::new(),
        }
    }

    /// How many keys were given.
    pub fn keys_given(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Takes in a change of keys.
    pub fn change_of_keys(&mut self, leaf: &KeyLeaf) {
        if leaf.op != "revoke" {
            return;
        }
        for (key, revoked) in self.keys.iter().zip(&mut self.revoked) {
            if key.to_string() == leaf.vkey {
                let size = leaf.last_trusted_size.map_or(0, |size| size.0);
                *revoked = Some(revoked.map_or(size, |other| other.min(size)));
            }
        }
    }

    /// Checks a checkpoint against the entries before it, as far as there are `leaves` to do so, and looks for the
    /// signatures of the given keys.
    pub fn add(&mut self, note: String, header: &Header, leaves: Option<&[Sha]>) -> Vec<Finding> {
        let number = self.notes.len() + 1;
        let finding = |message: String| Finding::new(Reason::CheckpointMismatch, "checkpoint", message);
        let parsed: CheckpointNote = match note.parse() {
            Ok(parsed) => parsed,
            Err(error) => {
                self.notes.push((0, note));
                self.signers.clear();
                return vec![finding(format!("checkpoint {number} cannot be read: {error}"))];
            }
        };
        let checkpoint = parsed.checkpoint().clone();
        let (size, what) = (checkpoint.size(), format!("the checkpoint of size {}", checkpoint.size()));
        let mut findings = Vec::new();
        let differs = |field, expected: String, actual: String| {
            Finding::differs(Reason::CheckpointMismatch, "checkpoint", &what, field, expected, actual)
        };
        if checkpoint.origin() != header.origin {
            findings.push(differs("origin", header.origin.clone(), checkpoint.origin().to_string()));
        }
        if self.notes.last().is_some_and(|(last, _)| *last >= size) {
            findings.push(differs("size", "larger than that before it".into(), size.to_string()));
        } else if let Some(root) =
            leaves.and_then(|leaves| self.root(size, leaves)).filter(|_| size < header.size)
            && root != checkpoint.root()
        {
            findings.push(differs("root", root.to_string(), checkpoint.root().to_string()));
        }
        if size == header.size && checkpoint.root() != header.root {
            findings.push(differs("root", header.root.to_string(), checkpoint.root().to_string()));
        }
        self.signers.clear();
        for (key, revoked) in self.keys.iter().zip(&self.revoked) {
            match parsed.verify(key) {
                Ok(_) if revoked.is_some_and(|trusted| size > trusted) => {}
                Ok(_) => self.signers.push(format!("{}+{}", key.name(), key.id())),
                Err(Untrusted::Forged { .. }) => {
                    let message =
                        format!("{what}: the signature of {}+{} is not over it", key.name(), key.id());
                    findings.push(finding(message));
                }
                Err(_) => {}
            }
        }
        self.signed += u64::from(!self.signers.is_empty());
        self.notes.push((size, note));
        findings
    }

    /// The root of the first `size` leaves, if there are as many. Sizes only grow, so each leaf is taken in once.
    fn root(&mut self, size: u64, leaves: &[Sha]) -> Option<Sha> {
        let next = usize::try_from(self.edge.size()).ok()?;
        for leaf in leaves.get(next..usize::try_from(size).ok()?)? {
            self.edge.push(*leaf, &mut |_| {});
        }
        Some(self.edge.root())
    }

    /// Whether the last checkpoint is the one that the bundle stands on, and a given key signed it.
    pub fn close(&self, header: &Header) -> Vec<Finding> {
        let mut findings = Vec::new();
        let last = self.notes.last().map_or(0, |(size, _)| *size);
        if last != header.size {
            let what = "the last checkpoint";
            let reason = Reason::CheckpointMismatch;
            findings.push(Finding::differs(reason, "checkpoint", what, "size", header.size, last));
        }
        if !self.keys.is_empty() && self.signers.is_empty() {
            let message = "the checkpoint that the bundle stands on is not signed by any of the given keys";
            findings.push(Finding::new(Reason::CheckpointMismatch, "checkpoint", message).field(
                "signature",
                "one of a given key",
                "none",
            ));
        }
        findings
    }
}
