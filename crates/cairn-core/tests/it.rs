//! What this crate computes by hand, held against other implementations of the same standards, or against its own
//! inverse; and the rules of sessions and briefs, one test each.

/// Budgets, determinism, the shared beginning of successive briefs, and the bytes of one brief for ever.
mod brief_budget;
/// Sentences that would mislead.
mod brief_shortfalls;
/// What each node sees.
mod brief_views;
/// In which words.
mod brief_words;
/// Canonical JSON: equal bytes to `serde_json_canonicalizer` and `serde_jcs`, or a documented refusal.
mod canonical_oracles;
/// Proofs, notes, checkpoints and cosignatures: implementations in Rust, Python and Go agree with us.
mod foreign_oracles;
/// Work that grows no faster than it should.
mod growth;
/// The Merkle tree: equal roots and proofs to `tlog_tiles` and `ct-merkle`, each accepting the other's.
mod merkle_oracles;
/// Diffs of roadmaps: applied to the first, they give the second.
mod roadmap_diff;
/// Which nodes a text names, quickly.
mod roadmap_mentions;
/// Reproducible pseudo-random numbers for the oracles.
#[allow(dead_code, reason = "shared with the tests of other crates, which use other parts of it")]
mod seeded;
/// Events without their texts.
mod session_blank;
/// The rules of entities.
mod session_entities;
/// Recorded events stay readable.
mod session_events;
/// Folding random events.
mod session_fold;
/// States that were written down.
mod session_kept;
/// The rules of turns and summaries.
mod session_rules;
/// Sessions for tests.
mod session_script;
/// Claims that every implementation can be asked about.
mod vectors;
/// A witness of others cosigns our checkpoints, and refuses what it must.
mod witness_oracle;
