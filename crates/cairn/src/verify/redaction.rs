//! Checking what was blanked against the entries that say so, and the keys of sealed contents.

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::entry::{EntryKind, Record, RedactionEntry};
use cairn_core::redaction::Redaction;
use cairn_core::session::op::Body;
use serde::Serialize;

use crate::check::{Known, Result, Sharing};
use crate::checked::read_redaction;
use crate::store::Audit;

/// How many a report names; it counts the rest.
pub const MAX_REDACTED: usize = 100;

/// A record that was blanked, as the log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactedRecord {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Its position in the log.
    pub seq: u64,
    /// By whom, when and why.
    #[serde(flatten)]
    pub redaction: Redaction,
    /// Whether its encrypted text is still there, so that every one of its hashes could be recomputed.
    pub sealed: bool,
}

/// What is known of redactions and seals while entries are checked one after the other.
#[derive(Default)]
pub struct Redactions {
    /// The first redaction of each record, by the record's position. Read when first asked for.
    by_target: Option<HashMap<u64, RedactionEntry<'static>>>,
    /// For each content that was blanked: the redaction, and its target. Read with the others.
    by_digest: HashMap<Sha, (u64, u64)>,
    /// The first redaction of each content that snapshots share. Read with the others.
    by_content: HashMap<Sha, u64>,
    /// The events that shared blanked contents.
    pub sharing: Sharing,
    /// Keys seen.
    pub keys: u64,
    /// The size of the log when its rows are counted, if they are: a key that a later redaction took was there then.
    pub counted_at: Option<u64>,
    /// Records seen that were blanked: the first [`MAX_REDACTED`].
    pub list: Vec<RedactedRecord>,
    /// How many in all.
    pub total: u64,
}

impl Redactions {
    fn by_target(&mut self, audit: &dyn Audit) -> Result<&HashMap<u64, RedactionEntry<'static>>> {
        if self.by_target.is_none() {
            let (mut by_target, mut by_digest) = (HashMap::new(), HashMap::new());
            let mut by_content = HashMap::new();
            audit.statements(EntryKind::Redaction, &mut |seq, leaf| {
                if let Some(said) = read_redaction(leaf).filter(|said| said.seq == seq) {
                    for digest in &said.bodies {
                        by_digest.entry(*digest).or_insert((seq, said.target_seq));
                    }
                    if said.target_kind == EntryKind::Snapshot {
                        by_content.entry(said.content_hash).or_insert(seq);
                    }
                    by_target.entry(said.target_seq).or_insert(said);
                }
            })?;
            (self.by_digest, self.by_content) = (by_digest, by_content);
            self.by_target = Some(by_target);
        }
        Ok(self.by_target.get_or_insert_default())
    }

    /// All of them: where in the log, and of what.
    pub fn places(&mut self, audit: &dyn Audit) -> Result<Vec<(u64, u64)>> {
        let mut places: Vec<(u64, u64)> =
            self.by_target(audit)?.iter().map(|(target, said)| (said.seq, *target)).collect();
        places.sort_unstable();
        Ok(places)
    }

    /// The position of the first redaction of a record.
    pub fn first(&mut self, audit: &dyn Audit, target_seq: u64) -> Result<Option<u64>> {
        Ok(self.by_target(audit)?.get(&target_seq).map(|said| said.seq))
    }

    /// Whether a redaction is the first of a content that snapshots share. It names them; those of the others follow.
    pub fn is_first_of_content(&mut self, audit: &dyn Audit, said: &RedactionEntry<'_>) -> Result<bool> {
        self.by_target(audit)?;
        Ok(self.by_content.get(&said.content_hash) == Some(&said.seq))
    }

    /// The later entry that redacted the record at a position.
    pub fn of(
        &mut self,
        audit: &dyn Audit,
        seq: u64,
        record: &Record<'_>,
    ) -> Result<Option<RedactionEntry<'static>>> {
        if record.entry.text_mark().is_none() {
            return Ok(None);
        }
        Ok(self.by_target(audit)?.get(&seq).filter(|said| said.seq > seq).cloned())
    }

    /// Notes which blanked contents an event names.
    pub fn see_names(&mut self, audit: &dyn Audit, seq: u64, named: &[Body]) -> Result<()> {
        self.by_target(audit)?;
        for body in named {
            if let Some((redaction, target)) = self.by_digest.get(&body.sha256).copied()
                && (seq < redaction && seq != target)
            {
                self.sharing.seen.entry(redaction).or_default().insert(seq);
            }
        }
        Ok(())
    }

    /// Counts a blanked record.
    pub fn count(&mut self, seq: u64, said: RedactionEntry<'static>, sealed: bool) {
        self.total += 1;
        if self.list.len() < MAX_REDACTED {
            let (id, kind) = (said.target_id.to_string(), said.target_kind);
            self.list.push(RedactedRecord { id, kind, seq, redaction: said.redaction(), sealed });
        }
    }

    /// The key of the sealed content at a position; outside of what can be checked if a redaction took it.
    pub fn seal_key(&mut self, audit: &dyn Audit, seq: u64) -> Result<Known<Vec<u8>>> {
        if let Some(key) = audit.seal_key(seq)? {
            self.keys += 1;
            return Ok(Known::Is(key));
        }
        let size = self.counted_at;
        let Some(said) = self.by_target(audit)?.get(&seq).filter(|said| said.blanks("seal_key")) else {
            return Ok(Known::Missing);
        };
        if size.is_some_and(|size| said.seq >= size) {
            self.keys += 1;
        }
        Ok(Known::Outside)
    }
}

/// What a report says of blanked records; none if there are none.
pub fn note(list: &[RedactedRecord], total: u64) -> Option<String> {
    let (records, texts) = match total {
        0 => return None,
        1 => ("1 record is redacted".to_string(), "its text is gone"),
        some => (format!("{some} records are redacted"), "their texts are gone"),
    };
    let first = list.first().map(|record| {
        let RedactedRecord { id, redaction: Redaction { by, at, .. }, .. } = record;
        let others = if total > 1 { ", and others" } else { "" };
        format!(" ({id} by {by} on {at}{others})")
    });
    Some(format!(
        "{records}{}: {texts}; the task hash of what was not sealed cannot be recomputed, the log entry and the \
         successor's prev_hash vouch for it",
        first.unwrap_or_default()
    ))
}
