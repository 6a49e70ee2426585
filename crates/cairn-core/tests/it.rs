//! What this crate computes by hand, held against other implementations of the same standards, or against its own
//! inverse.

/// Canonical JSON: equal bytes to `serde_json_canonicalizer` and `serde_jcs`, or a documented refusal.
mod canonical_oracles;
/// The Merkle tree: equal roots and proofs to `tlog_tiles` and `ct-merkle`, each accepting the other's.
mod merkle_oracles;
/// Diffs of roadmaps: applied to the first, they give the second.
mod roadmap_diff;
/// Reproducible pseudo-random numbers for the oracles.
mod seeded;
