//! Checking what a bundle says about the log itself: its keys and its checkpoints.

use cairn_core::Sha;
use cairn_core::entry::{KeyEntry, KeyOp};
use cairn_core::log::{CheckpointNote, Edge};
use cairn_core::note::VerifyingKey;

use super::read::Header;
use crate::verify::{Finding, Reason, Trust, source};

/// The checkpoints of a bundle, and whose signatures they carry.
pub struct Checkpoints<'k> {
    keys: &'k [VerifyingKey],
    /// What the log says about its keys.
    changes: Vec<KeyEntry<'static>>,
    /// The tree as far as checkpoints have asked for it.
    edge: Edge,
    /// The size and the note of each.
    pub notes: Vec<(u64, String)>,
    /// Those that state what the log is.
    sound: Vec<CheckpointNote>,
    /// Whether the last one does.
    stands: bool,
    /// Those that a key signed that counts.
    pub signed: u64,
    /// The keys that signed the last one, and count.
    pub signers: Vec<String>,
}

impl<'k> Checkpoints<'k> {
    /// None has been seen yet.
    pub fn new(keys: &'k [VerifyingKey]) -> Checkpoints<'k> {
        Checkpoints {
            keys,
            changes: Vec::new(),
            edge: Edge::empty(),
            notes: Vec::new(),
            sound: Vec::new(),
            stands: false,
            signed: 0,
            signers: Vec::new(),
        }
    }

    /// How many keys were given.
    pub fn keys_given(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Takes in a change of keys.
    pub fn change_of_keys(&mut self, entry: KeyEntry<'static>) {
        self.changes.push(entry);
    }

    /// The keys that the log says it had.
    pub fn named(&self) -> impl Iterator<Item = VerifyingKey> {
        self.changes
            .iter()
            .filter(|change| change.op == KeyOp::Add)
            .filter_map(|change| change.vkey.parse().ok())
    }

    /// Checks a checkpoint against the entries before it, as far as there are.
    pub fn add(&mut self, note: String, header: &Header, leaves: Option<&[Sha]>) -> Vec<Finding> {
        let number = self.notes.len() + 1;
        self.stands = false;
        let parsed: CheckpointNote = match note.parse() {
            Ok(parsed) => parsed,
            Err(error) => {
                self.notes.push((0, note));
                let message = format!("checkpoint {number} cannot be read: {error}");
                return vec![Finding::new(Reason::CheckpointMismatch, "checkpoint", message)];
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
        } else if !header.full && size != header.size {
            findings.push(differs("size", header.size.to_string(), size.to_string()));
        }
        self.notes.push((size, note));
        if findings.is_empty() {
            self.sound.push(parsed);
            self.stands = true;
        }
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

    /// Whether the last checkpoint is the one that the bundle stands on, and who signed which.
    pub fn close(&mut self, header: &Header) -> Vec<Finding> {
        let mut findings = Vec::new();
        let last = self.notes.last().map_or(0, |(size, _)| *size);
        if last != header.size {
            let what = "the last checkpoint";
            let reason = Reason::CheckpointMismatch;
            findings.push(Finding::differs(reason, "checkpoint", what, "size", header.size, last));
        }
        if self.keys.is_empty() {
            return findings;
        }
        let mut trust = Trust::new(&header.origin, self.keys.iter().cloned(), &self.changes);
        findings.append(&mut trust.findings);
        for (number, note) in self.sound.iter().enumerate() {
            let judged = trust.judge(note);
            self.signed += u64::from(!judged.signed_by.is_empty());
            let is_last = self.stands && number + 1 == self.sound.len();
            if is_last {
                let shown = judged.signed_by.iter().map(|by| match &source(by)[..] {
                    "" => format!("{}+{}", by.key.name(), by.key.id()),
                    source => format!("{}+{} ({source})", by.key.name(), by.key.id()),
                });
                self.signers = shown.collect();
            }
            // Somebody else's checkpoint is a finding of its own.
            if is_last && self.signers.is_empty() && judged.findings.is_empty() {
                let message = "the checkpoint that the bundle stands on is not signed by any key that counts";
                findings.push(Finding::new(Reason::CheckpointMismatch, "checkpoint", message).field(
                    "signature",
                    "one of a given key, or of one that such a key introduced",
                    "none that counts",
                ));
            }
            findings.extend(judged.findings);
        }
        findings
    }
}
