//! What this crate computes by hand, held against other people's implementations of the same standards.

/// Canonical JSON: equal bytes to `serde_json_canonicalizer` and `serde_jcs`, or a documented refusal.
mod canonical_oracles;
/// The Merkle tree: equal roots and proofs to `tlog_tiles` and `ct-merkle`, each accepting the other's.
mod merkle_oracles;
/// Reproducible pseudo-random numbers for both.
mod seeded;
