//! The behaviour of the library over a real SQLite file, or over a PostgreSQL server: see `harness`.

#[path = "it/harness.rs"]
mod harness;

/// What the writer did, and whether it could write now.
#[path = "it/activity.rs"]
mod activity;
/// A log beside a copy of it.
#[path = "it/against.rs"]
mod against;
/// Twenty attacks, and which layer notices.
#[path = "it/attacks.rs"]
mod attacks;
/// No work grows with the log.
#[path = "it/background.rs"]
mod background;
/// Trees of large sessions, one branch at a time.
#[path = "it/branch.rs"]
mod branch;
/// Bundles: exported, verified by two programs, tampered with, imported.
#[path = "it/bundle/mod.rs"]
mod bundle;
/// The lists of each task's and session's thoughts.
#[path = "it/chains.rs"]
mod chains;
/// Clocks that cannot be right.
#[path = "it/clock.rs"]
mod clock;
/// Several handles and many threads on one file.
#[path = "it/concurrent.rs"]
mod concurrent;
/// Snapshots of roadmaps, and what drifted.
#[path = "it/context.rs"]
mod context;
/// Records that do not match the log are not shown.
#[path = "it/damaged.rs"]
mod damaged;
/// Edits of indexes, schema and search index that leave every table as it was.
#[path = "it/deceive_indexes.rs"]
mod deceive_indexes;
/// What the program is built from.
#[path = "it/dependencies.rs"]
mod dependencies;
/// Entries of the log.
#[path = "it/entries.rs"]
mod entries;
/// PostgreSQL far away.
#[path = "it/far.rs"]
mod far;
/// States of sessions that the file keeps.
#[path = "it/fold.rs"]
mod fold;
#[path = "../../cairn-core/tests/growth.rs"]
mod growth;
/// Honest histories, about which verification says nothing.
#[path = "it/honest.rs"]
mod honest;
/// The script that guards who may use what.
#[path = "it/layers.rs"]
mod layers;
/// What thoughts say about others, and about what.
#[path = "it/links.rs"]
mod links;
/// Working memory and briefs.
#[path = "it/memory.rs"]
mod memory;
/// Files that cannot be opened, and what is said about them.
#[path = "it/open.rs"]
mod open;
/// Checkpoints, proofs, heads remembered outside.
#[path = "it/proof.rs"]
mod proof;
/// Reading: records, listings, trees, trails.
#[path = "it/read.rs"]
mod read;
/// Writing: hashes, chains, refusals, repeated calls.
#[path = "it/record.rs"]
mod record;
/// Redaction: what stays, what goes, and that it is gone from the files.
#[path = "it/redact.rs"]
mod redact;
/// Redaction of events: what stays of them, and the contents that go with them.
#[path = "it/redact_events.rs"]
mod redact_events;
#[path = "it/redact_plans.rs"]
mod redact_plans;
/// Reviews of thoughts and briefs.
#[path = "it/review.rs"]
mod review;
/// Roadmaps on disk: every form, every flaw, every trick.
#[path = "it/roadmap.rs"]
mod roadmap;
/// Sealed contents.
#[path = "it/seal.rs"]
mod seal;
/// Searching.
#[path = "it/search.rs"]
mod search;
#[path = "../../cairn-core/tests/seeded.rs"]
#[allow(dead_code, reason = "shared with the tests of other crates, which use other parts of it")]
mod seeded;
/// What a server must be like.
#[path = "it/server.rs"]
mod server;
/// The list of sessions, page by page.
#[path = "it/sessions.rs"]
mod sessions;
/// Random changes on PostgreSQL: found, or without effect on readers.
#[path = "it/silence_postgres.rs"]
mod silence_postgres;
/// Indexes that do not agree with their tables, on PostgreSQL.
#[path = "it/structures_postgres.rs"]
mod structures_postgres;
/// Changing what is stored behind Cairn's back: `verify` must name it.
#[path = "it/tamper.rs"]
mod tamper;
/// The same on PostgreSQL, where it is another language.
#[path = "it/tamper_postgres.rs"]
mod tamper_postgres;
/// Access tokens.
#[path = "it/token.rs"]
mod token;
/// Whom `verify` believes.
#[path = "it/trust.rs"]
mod trust;
/// What `verify` says, and that it never cries wolf.
#[path = "it/verify.rs"]
mod verify;
