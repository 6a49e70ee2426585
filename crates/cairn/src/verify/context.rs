//! Checking snapshots: content against hash, row against log entry.

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::entry::{SnapshotEntry, metadata_commitment};

use super::chain::check_entry;
use super::record::{first_difference, leaf_number, leaf_text};
use super::{Finding, Reason};
use crate::context::ContextVerdict;
use crate::error::{Error, Result};
use crate::store::{Audit, Store, StoreError, StoredContext};

/// How much is remembered of snapshots and their contents.
const REMEMBERED: usize = 1 << 14;

/// Checks snapshots one after the other. Content that many of them share is hashed once.
#[derive(Default)]
pub struct Contexts {
    /// Recomputed hashes and lengths of contents, by their number.
    hashes: HashMap<i64, (Sha, u64)>,
    /// Where in the log a snapshot is, by its id.
    places: HashMap<i64, Option<u64>>,
    leaf: Vec<u8>,
    /// Snapshots seen.
    pub seen: u64,
}

impl Contexts {
    /// Whether there is a snapshot of this id before `seq`.
    pub fn is_before(
        &mut self,
        audit: &dyn Audit,
        id: i64,
        seq: u64,
    ) -> std::result::Result<bool, StoreError> {
        if self.places.len() > REMEMBERED {
            self.places.clear();
        }
        let place = match (self.places.get(&id), u64::try_from(id)) {
            (Some(place), _) => *place,
            (None, Ok(number)) => audit.context_seq(number)?,
            (None, Err(_)) => None,
        };
        self.places.insert(id, place);
        Ok(place.is_some_and(|place| place < seq))
    }

    /// Checks the snapshot of an entry; returns the first thing wrong.
    pub fn check(
        &mut self,
        audit: &dyn Audit,
        seq: u64,
        leaf: &[u8],
    ) -> std::result::Result<Option<Finding>, StoreError> {
        let mut wrong = None;
        let found = audit.context(seq, &mut |stored| wrong = self.wrong(seq, &stored, leaf))?;
        if found {
            self.seen += 1;
            return Ok(wrong);
        }
        let roadmap = leaf_text(leaf, "roadmap_id").unwrap_or_default();
        let message = format!("the snapshot of roadmap `{roadmap}` at log entry {seq} is gone");
        let id = leaf_number(leaf, "context_id").map(|id| id.to_string());
        Ok(Some(Finding { id, ..Finding::new(Reason::MissingRecord, "context", message).at(seq) }))
    }

    fn wrong(&mut self, seq: u64, stored: &StoredContext<'_>, leaf: &[u8]) -> Option<Finding> {
        let id = stored.id;
        let finding = |reason, table, field: &str, expected: &str, actual: &str| {
            let finding =
                Finding::differs(reason, table, &format!("context {id}"), field, expected, actual).at(seq);
            Some(Finding { id: Some(id.to_string()), ..finding })
        };
        if let Some(column) = stored.malformed {
            let expected = "a value of its type";
            return finding(Reason::LeafMismatch, "context", column, expected, "a value of another type");
        }
        let Some(data) = stored.data else {
            return finding(Reason::MissingRecord, "snapshot", "data", "its content", "nothing");
        };
        if self.hashes.len() > REMEMBERED {
            self.hashes.clear();
        }
        let (hash, length) = *self
            .hashes
            .entry(stored.snapshot_no)
            .or_insert_with(|| (Sha::of(data.as_bytes()), data.len() as u64));
        let content_hash = stored.content_hash.and_then(|bytes| bytes.try_into().ok()).map(Sha);
        if content_hash != Some(hash) {
            // The log says which of the two is wrong.
            let expected = leaf_text(leaf, "content_hash").unwrap_or_else(|| "nothing".to_string());
            let stored = content_hash.map_or("not a hash".to_string(), |hash| hash.to_string());
            let (field, actual) = if expected == hash.to_string() {
                ("content_hash", stored)
            } else {
                ("data", hash.to_string())
            };
            return finding(Reason::ContentHashMismatch, "snapshot", field, &expected, &actual);
        }
        let Some(roadmap_id) = stored.roadmap_id else {
            return finding(
                Reason::MissingRecord,
                "roadmap",
                "roadmap_id",
                "the label of its roadmap",
                "missing",
            );
        };
        let salt = stored.salt.map(|salt| <[u8; 32]>::try_from(salt).unwrap_or_default());
        self.leaf.clear();
        let number = |number: i64| number.unsigned_abs();
        SnapshotEntry {
            content_hash: hash,
            content_length: length,
            context_id: number(stored.id),
            created_at: stored.created_at.into(),
            metadata_commitment: stored
                .metadata
                .zip(salt)
                .map(|(metadata, salt)| metadata_commitment(&salt, metadata.as_bytes())),
            node_count: number(stored.node_count),
            position: number(stored.position),
            roadmap_id: roadmap_id.into(),
            seq,
        }
        .write(&mut self.leaf);
        let negative = [stored.id, stored.node_count, stored.position].iter().any(|number| *number < 0);
        if self.leaf != leaf || negative {
            let (field, in_log, in_row) = first_difference(leaf, &self.leaf);
            return finding(Reason::LeafMismatch, "context", &field, &in_log, &in_row);
        }
        if stored.metadata.is_some() != stored.salt.is_some() {
            let expected = "there exactly if there is metadata";
            return finding(Reason::LeafMismatch, "context", "salt", expected, "otherwise");
        }
        None
    }
}

/// Verifies one snapshot: its content, its row, its entry, and that the entry stands in the log.
pub fn verify(store: &dyn Store, context_id: u64) -> Result<ContextVerdict> {
    let not_found = || Error::NotFound { what: "context", id: context_id.to_string() };
    let audit = store.audit()?;
    let seq = audit.context_seq(context_id)?.ok_or_else(not_found)?;
    let mut verdict = ContextVerdict {
        valid: false,
        context_id,
        stored_hash: None,
        recalculated_hash: None,
        created_at: String::new(),
        message: String::new(),
    };
    audit.context(seq, &mut |stored| {
        verdict.stored_hash = stored.content_hash.and_then(|bytes| bytes.try_into().ok()).map(Sha);
        verdict.recalculated_hash = stored.data.map(|data| Sha::of(data.as_bytes()));
        verdict.created_at = stored.created_at.to_string();
    })?;
    let wrong = check_entry(&*audit, seq, "a snapshot", |checker| checker.contexts.seen)?;
    verdict.valid = wrong.is_none();
    verdict.message = match wrong {
        None => format!("context {context_id} is what was captured: content, row and log entry agree"),
        Some(finding) => finding.message,
    };
    Ok(verdict)
}
