//! Checking what a bundle says about the log itself: its redactions, its keys and its checkpoints.

use std::collections::BTreeMap;

use cairn_core::Sha;
use cairn_core::entry::THOUGHT;
use cairn_core::log::{CheckpointNote, Edge, Untrusted};
use cairn_core::note::VerifyingKey;
use cairn_core::preview::preview;

use super::entry::ThoughtParts;
use super::leaf::{KeyLeaf, RedactionLeaf, ThoughtLeaf};
use super::links::Links;
use super::read::Header;
use super::report::RedactedRecord;
use crate::verify::{Finding, Reason};

/// How much of the reason for a redaction a report shows, in characters.
const MAX_REASON: usize = 400;

/// A thought that something is missing from.
struct Blank {
    id: String,
    content_hash: Sha,
    field: &'static str,
}

/// What is blanked, and what the log says about that.
#[derive(Default)]
pub struct Redactions {
    blank: BTreeMap<u64, Blank>,
    /// Sealed contents without their keys.
    closed: BTreeMap<u64, ()>,
    said: BTreeMap<u64, RedactionLeaf>,
}

impl Redactions {
    /// Notes what is missing from a thought, and whether it is sealed.
    pub fn look_at(&mut self, leaf: &ThoughtLeaf, parts: &ThoughtParts) {
        let field = match (&parts.content, &parts.metadata, leaf.metadata_commitment) {
            (None, ..) => Some("content"),
            (_, None, Some(_)) => Some("metadata"),
            _ => None,
        };
        if let Some(field) = field {
            let blank = Blank { id: leaf.id.clone(), content_hash: leaf.content_hash, field };
            self.blank.insert(leaf.seq.0, blank);
        }
        if parts.is_sealed() && parts.seal_key.is_none() {
            self.closed.insert(leaf.seq.0, ());
        }
    }

    /// Takes in a redaction; returns the first thing wrong with it.
    pub fn add(&mut self, links: &Links, leaf: RedactionLeaf) -> Option<Finding> {
        let (seq, target) = (leaf.seq.0, leaf.target_seq.0);
        let differs = |reason, field, expected: String, actual: String| {
            let what = format!("redaction {seq}");
            Some(Finding::differs(reason, "redaction", &what, field, expected, actual).at(seq))
        };
        let found = match links.thought(&leaf.target_id).filter(|_| leaf.target_kind == THOUGHT) {
            None => differs(
                Reason::MissingRecord,
                "target_id",
                "an earlier thought".into(),
                leaf.target_id.clone(),
            ),
            Some(parent) if parent.seq != target => {
                differs(Reason::LeafMismatch, "target_seq", parent.seq.to_string(), target.to_string())
            }
            Some(_) if self.said.contains_key(&target) => differs(
                Reason::LeafMismatch,
                "target_seq",
                "one that is not redacted yet".into(),
                target.to_string(),
            ),
            Some(_) => match self.blank.get(&target) {
                Some(blank) if blank.content_hash != leaf.content_hash => differs(
                    Reason::LeafMismatch,
                    "content_hash",
                    blank.content_hash.to_string(),
                    leaf.content_hash.to_string(),
                ),
                _ => None,
            },
        };
        self.said.entry(target).or_insert(leaf);
        found
    }

    /// How many redactions there are.
    pub fn count(&self) -> u64 {
        self.said.len() as u64
    }

    /// What is missing although nothing says that it was blanked.
    pub fn unexplained(&self) -> impl Iterator<Item = Finding> {
        let explained = |seq: &u64, blank: &Blank| {
            self.said.get(seq).is_some_and(|said| {
                blank.field != "content" || said.fields.iter().any(|field| field == "content")
            })
        };
        self.blank.iter().filter(move |(seq, blank)| !explained(seq, blank)).map(|(seq, blank)| {
            let what = format!("thought `{}`", blank.id);
            let expected = "there, or blanked by a redaction";
            Finding {
                id: Some(blank.id.clone()),
                ..Finding::differs(Reason::MissingRecord, "thought", &what, blank.field, expected, "nothing")
                    .at(*seq)
            }
        })
    }

    /// What was redacted.
    pub fn list(&self) -> impl Iterator<Item = RedactedRecord> {
        self.said.iter().map(|(seq, said)| RedactedRecord {
            id: said.target_id.clone(),
            seq: *seq,
            actor: said.actor.clone(),
            created_at: said.created_at.clone(),
            reason: preview(&said.reason, MAX_REASON).into_owned(),
        })
    }

    /// Sealed contents that could be opened, had the bundle their keys.
    pub fn sealed(&self) -> u64 {
        self.closed.keys().filter(|seq| !self.said.contains_key(seq)).count() as u64
    }
}

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
