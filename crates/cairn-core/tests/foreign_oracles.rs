//! Every implementation is asked about the same claims, and makes claims of its own that we are asked about.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use cairn_core::Sha;
use cairn_core::log::Checkpoint;
use cairn_core::note::SigningKey;
use signed_note::{Note, StandardSigner, StandardVerifier, VerifierList};
use tlog_tiles::Hash;

use crate::seeded::Seeded;
use crate::vectors::{Claim, Vector, ours, with_changed};

pub const INSTALL: &str = "implementations by others are needed: run scripts/test, which installs them";

/// A program that `scripts/test` installs or builds.
pub fn program(variable: &str) -> Command {
    Command::new(std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set; {INSTALL}")))
}

fn python() -> Command {
    let mut python = program("CAIRN_TEST_ORACLES_PYTHON");
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/oracle.py"));
    python
}

/// Runs an oracle and returns its lines.
#[track_caller]
fn lines(mut oracle: Command, mode: &str, input: Option<&Path>) -> Vec<String> {
    oracle.arg(mode);
    if let Some(input) = input {
        oracle.stdin(File::open(input).unwrap());
    }
    let output = oracle.output().unwrap_or_else(|error| panic!("cannot run {oracle:?}: {error}; {INSTALL}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

/// Asks an oracle about all our claims. It answers one line each: `{"name of implementation": true or false}`.
#[track_caller]
fn agrees(oracle: Command, name: &str, offered: &[(&str, &[&str])]) {
    let vectors = ours();
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("claims-{name}.jsonl"));
    let text: String = vectors.iter().map(|vector| serde_json::to_string(vector).unwrap() + "\n").collect();
    std::fs::write(&input, text).unwrap();
    let answers = lines(oracle, "check", Some(&input));
    assert_eq!(answers.len(), vectors.len());
    let mut asked: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for (vector, answer) in vectors.iter().zip(answers) {
        let answers: BTreeMap<String, bool> = serde_json::from_str(&answer).unwrap();
        for (implementation, accepted) in answers {
            assert_eq!(accepted, vector.holds, "{implementation} disagrees about {vector:?}");
            *asked.entry((implementation, vector.claim.kind())).or_default() += 1;
        }
    }
    // An oracle that stays silent is none.
    for (implementation, kinds) in offered {
        for kind in *kinds {
            let all = vectors.iter().filter(|vector| vector.claim.kind() == *kind).count();
            assert_eq!(
                asked.get(&(implementation.to_string(), *kind)),
                Some(&all),
                "{implementation} {kind}"
            );
        }
    }
}

/// What an oracle claims of trees and notes of its own, we accept, and refuse once it is changed.
#[track_caller]
fn is_accepted(oracle: Command, kinds: &[&str]) {
    let mut random = Seeded(7);
    let claims: Vec<Vector> =
        lines(oracle, "make", None).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for kind in kinds {
        let count = claims.iter().filter(|vector| vector.claim.kind() == *kind).count();
        assert!(count >= 100, "only {count} claims of kind {kind}");
    }
    for Vector { claim, holds } in claims {
        assert!(holds && claim.holds_for_us(), "{claim:?}");
        with_changed(claim, &mut random);
    }
}

const PROOFS_AND_NOTES: &[&str] = &["leaf", "growth", "checkpoint"];
const EVERYTHING: &[&str] = &["leaf", "growth", "checkpoint", "cosignature"];

#[test]
fn two_python_implementations_agree_with_us() {
    agrees(python(), "python", &[("aics-tlog", EVERYTHING), ("rekor-verifier", &["leaf", "growth"])]);
}

#[test]
fn what_a_python_implementation_makes_is_accepted() {
    is_accepted(python(), EVERYTHING);
}

/// `None` where it cannot be built, which `scripts/test` says.
fn go() -> Option<Command> {
    Some(program("CAIRN_TEST_ORACLE_GO")).filter(|go| go.get_program() != "none")
}

#[test]
fn the_go_implementation_agrees_with_us() {
    let Some(go) = go() else { return };
    agrees(go, "go", &[("x/mod/sumdb", PROOFS_AND_NOTES)]);
}

#[test]
fn what_the_go_implementation_makes_is_accepted() {
    let Some(go) = go() else { return };
    is_accepted(go, PROOFS_AND_NOTES);
}

#[test]
fn two_rust_implementations_agree_with_us() {
    let hash = |hash: &Sha| Hash(hash.0);
    let hashes = |proof: &[Sha]| proof.iter().map(hash).collect::<Vec<_>>();
    let mut asked = 0;
    for Vector { claim, holds } in ours() {
        let accepted = match &claim {
            Claim::Leaf { entry, index, size, proof, root } => {
                let leaf = tlog_tiles::record_hash(entry.as_bytes());
                tlog_tiles::check_record(&hashes(proof), *size, hash(root), *index, leaf).is_ok()
            }
            Claim::Growth { old, new, old_root, new_root, proof } => {
                tlog_tiles::check_tree(&hashes(proof), *new, hash(new_root), *old, hash(old_root)).is_ok()
            }
            Claim::Checkpoint { note, vkey, origin, size, root } => signed_note_accepts(note, vkey)
                .and_then(|text| tlog_tiles::Checkpoint::from_bytes(&text).ok())
                .is_some_and(|checkpoint| {
                    checkpoint.origin() == origin
                        && checkpoint.size() == *size
                        && checkpoint.hash().0 == root.0
                        && checkpoint.extension().is_empty()
                }),
            // It has no cosignatures.
            Claim::Cosignature { .. } => continue,
        };
        assert_eq!(accepted, holds, "{claim:?}");
        asked += 1;
    }
    assert!(asked > 8_000, "{asked}");
}

/// Returns the text if the key signed it.
fn signed_note_accepts(note: &str, vkey: &str) -> Option<Vec<u8>> {
    let verifier = StandardVerifier::new(vkey).ok()?;
    let note = Note::from_bytes(note.as_bytes()).ok()?;
    note.verify(&VerifierList::new(vec![Box::new(verifier)])).ok()?;
    Some(note.text().to_vec())
}

#[test]
fn a_rust_implementation_makes_the_same_notes() {
    for size in (1..=300).chain([1 << 32, (1 << 53) - 1]) {
        let (origin, root) = (format!("cairn/{}", size % 5), Sha::of(&[size as u8]));
        let key = SigningKey::from_seed(&origin, root.0).unwrap();
        let ours = Checkpoint::new(&origin, size, root).unwrap();
        let theirs = tlog_tiles::Checkpoint::new(&origin, size, Hash(root.0), "").unwrap();
        assert_eq!(ours.body().as_bytes(), theirs.to_bytes());
        let mut note = Note::new(&theirs.to_bytes(), &[]).unwrap();
        note.add_sigs(&[&StandardSigner::new(&key.to_secret_string()).unwrap()]).unwrap();
        assert_eq!(ours.signed(&[&key]).unwrap().to_string().as_bytes(), note.to_bytes());
    }
}
