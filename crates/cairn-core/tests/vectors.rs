use std::collections::HashMap;

use cairn_core::hash::Sha;
use cairn_core::log::{
    Checkpoint, CheckpointNote, Edge, consistency, inclusion, leaf_hash, verify_consistency, verify_inclusion,
};
use cairn_core::note::{Cosigned, KeyId, SigningKey, VerifyingKey, WitnessKey};
use ed25519_dalek::Signer;
use serde::{Deserialize, Serialize};

use crate::seeded::Seeded;

/// Something that a verifier accepts or refuses, in words that each of them can be asked in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Claim {
    Leaf { entry: String, index: u64, size: u64, proof: Vec<Sha>, root: Sha },
    Growth { old: u64, new: u64, old_root: Sha, new_root: Sha, proof: Vec<Sha> },
    Checkpoint { note: String, vkey: String, origin: String, size: u64, root: Sha },
    Cosignature { note: String, vkey: String, time: u64 },
}

/// A claim, and whether it holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Vector {
    #[serde(flatten)]
    pub claim: Claim,
    pub holds: bool,
}

impl Claim {
    pub fn kind(&self) -> &'static str {
        match self {
            Claim::Leaf { .. } => "leaf",
            Claim::Growth { .. } => "growth",
            Claim::Checkpoint { .. } => "checkpoint",
            Claim::Cosignature { .. } => "cosignature",
        }
    }

    /// What this crate says.
    pub fn holds_for_us(&self) -> bool {
        match self {
            Claim::Leaf { entry, index, size, proof, root } => {
                verify_inclusion(&leaf_hash(entry.as_bytes()), *index, *size, proof, root)
            }
            Claim::Growth { old, new, old_root, new_root, proof } => {
                verify_consistency(*old, *new, old_root, new_root, proof)
            }
            Claim::Checkpoint { note, vkey, origin, size, root } => {
                let (Ok(note), Ok(key)) = (note.parse::<CheckpointNote>(), vkey.parse::<VerifyingKey>())
                else {
                    return false;
                };
                note.verify(&key) == Ok(&Checkpoint::new(origin, *size, *root).unwrap())
            }
            Claim::Cosignature { note, vkey, time } => {
                let (Ok(note), Ok(key)) = (note.parse::<CheckpointNote>(), vkey.parse::<WitnessKey>()) else {
                    return false;
                };
                note.cosigned(&key) == Cosigned::At(*time)
            }
        }
    }

    /// The claim with one thing about it changed, chosen by `random`.
    fn changed(&self, random: &mut Seeded) -> Claim {
        let mut claim = self.clone();
        match &mut claim {
            Claim::Leaf { entry, index, size, proof, root } => match random.below(5) {
                0 => entry.push('!'),
                1 => *index += 1,
                2 => *size += 1,
                3 => flip(root, random),
                _ => change_proof(proof, random),
            },
            Claim::Growth { old, new, old_root, new_root, proof } => match random.below(5) {
                0 => *old += 1,
                1 => *new += 1,
                2 => flip(old_root, random),
                3 => flip(new_root, random),
                _ => change_proof(proof, random),
            },
            Claim::Checkpoint { note, .. } | Claim::Cosignature { note, .. } => {
                *note = changed_note(note, random)
            }
        }
        claim
    }
}

fn flip(hash: &mut Sha, random: &mut Seeded) {
    hash.0[random.below(32) as usize] ^= 1 << random.below(8);
}

fn change_proof(proof: &mut Vec<Sha>, random: &mut Seeded) {
    let place = random.below(proof.len() as u64 + 1) as usize;
    match random.below(4) {
        0 if place < proof.len() => flip(&mut proof[place], random),
        1 if place < proof.len() => proof.truncate(place),
        2 if place > 0 && place < proof.len() => proof.swap(place - 1, place),
        _ => proof.insert(place, Sha::of(&[place as u8])),
    }
}

/// Changes one letter of the text or of the last line; the lines between are of other keys and say nothing about
/// the claim. The end of the signature is left alone: bits of its last letter stand for nothing, which we refuse
/// and others overlook.
fn changed_note(note: &str, random: &mut Seeded) -> String {
    let (text, last) = (note.find("\n\n").unwrap(), note.rfind('—').unwrap());
    let end = note.rfind(' ').unwrap() + 60;
    loop {
        let place = random.below(end as u64) as usize;
        let mut bytes = note.as_bytes().to_vec();
        if (place < text || place > last) && bytes[place].is_ascii_alphanumeric() {
            bytes[place] = if bytes[place] == b'x' { b'y' } else { b'x' };
            return String::from_utf8(bytes).unwrap();
        }
    }
}

/// A log in memory.
pub struct Log {
    nodes: HashMap<(u8, u64), Sha>,
    roots: Vec<Sha>,
}

fn entry(index: u64) -> String {
    format!("entry {index} é")
}

impl Log {
    pub fn new(size: u64) -> Log {
        let (mut edge, mut nodes, mut roots) = (Edge::empty(), HashMap::new(), Vec::new());
        for index in 0..size {
            roots.push(edge.root());
            let leaf = leaf_hash(entry(index).as_bytes());
            nodes.insert((0, index), leaf);
            edge.push(leaf, &mut |node| nodes.extend([((node.level, node.index), node.hash)]));
        }
        roots.push(edge.root());
        Log { nodes, roots }
    }

    pub fn root(&self, size: u64) -> Sha {
        self.roots[size as usize]
    }

    fn node(&self, level: u8, index: u64) -> Result<Sha, ()> {
        self.nodes.get(&(level, index)).copied().ok_or(())
    }

    fn leaf(&self, index: u64, size: u64) -> Claim {
        let proof = inclusion(index, size, &mut |level, index| self.node(level, index)).unwrap();
        Claim::Leaf { entry: entry(index), index, size, proof, root: self.root(size) }
    }

    pub fn consistency(&self, old: u64, new: u64) -> Vec<Sha> {
        consistency(old, new, &mut |level, index| self.node(level, index)).unwrap()
    }

    fn growth(&self, old: u64, new: u64) -> Claim {
        let proof = self.consistency(old, new);
        Claim::Growth { old, new, old_root: self.root(old), new_root: self.root(new), proof }
    }
}

/// The note of a checkpoint, signed by the log and cosigned by a witness with the key of the log's seed.
fn notes(origin: &str, size: u64, root: Sha) -> [Claim; 2] {
    let seed = Sha::of(origin.as_bytes()).0;
    let key = SigningKey::from_seed(origin, seed).unwrap();
    let checkpoint = Checkpoint::new(origin, size, root).unwrap();
    let note = checkpoint.signed(&[&key]).unwrap();
    let (vkey, origin) = (key.verifying_key().to_string(), origin.to_string());
    let signed = Claim::Checkpoint { note: note.to_string(), vkey, origin, size, root };

    let (witness, name) = (ed25519_dalek::SigningKey::from_bytes(&seed), "witness.example/w1");
    let typed = [&[4], witness.verifying_key().as_bytes().as_slice()].concat();
    let id = Sha::of_parts(&[name.as_bytes(), b"\n", &typed]).0;
    let id = KeyId([id[0], id[1], id[2], id[3]]);
    let time = 1_700_000_000 + size;
    let message = format!("cosignature/v1\ntime {time}\n{}", checkpoint.body());
    let signature = witness.sign(message.as_bytes()).to_bytes();
    let line = [&id.0, time.to_be_bytes().as_slice(), &signature].concat();
    let note = format!("{note}— {name} {}\n", base64(&line));
    let vkey = format!("{name}+{id}+{}", base64(&typed));
    [signed, Claim::Cosignature { note, vkey, time }]
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Proofs and notes of ours for all sizes to 300 and some larger ones, each also with something changed.
pub fn ours() -> Vec<Vector> {
    let (log, mut random) = (Log::new(5_000), Seeded(300));
    let mut claims = Vec::new();
    let larger: Vec<u64> = (0..200).map(|_| 301 + random.below(4_700)).collect();
    for size in (1..=300).chain(larger) {
        for index in [0, size - 1, random.below(size), random.below(size)] {
            claims.extend([log.leaf(index, size), log.growth(index + 1, size)]);
        }
        claims.extend(notes(&format!("cairn/{}", size % 7), size, log.root(size)));
    }
    claims.into_iter().flat_map(|claim| with_changed(claim, &mut random)).collect()
}

/// A claim that holds, and one that differs from it.
pub fn with_changed(claim: Claim, random: &mut Seeded) -> [Vector; 2] {
    let changed = claim.changed(random);
    // A proof may fit a neighbouring size or index too, when the way to the root is the same. All else must fail.
    let holds = changed.holds_for_us();
    assert!(!holds || same_but_for_sizes(&claim, &changed), "{changed:?}");
    [Vector { claim, holds: true }, Vector { claim: changed, holds }]
}

fn same_but_for_sizes(one: &Claim, other: &Claim) -> bool {
    match (one, other) {
        (Claim::Leaf { entry, proof, root, .. }, Claim::Leaf { entry: e, proof: p, root: r, .. }) => {
            (entry, proof, root) == (e, p, r)
        }
        (
            Claim::Growth { old_root, new_root, proof, .. },
            Claim::Growth { old_root: o, new_root: n, proof: p, .. },
        ) => (old_root, new_root, proof) == (o, n, p),
        _ => false,
    }
}
