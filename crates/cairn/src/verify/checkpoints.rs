//! Checking what was stated about the log: its checkpoints, the keys that signed them, and the heads that others
//! remember.

use std::collections::HashSet;

use cairn_core::Sha;
use cairn_core::entry::KEY;
use cairn_core::log::{CheckpointNote, root};
use cairn_core::note::VerifyingKey;
use serde::Serialize;

use super::chain::Nodes;
use super::trust::{KeyChange, Trust, TrustedKey};
use super::{Finding, Findings, Reason};
use crate::error::Result;
use crate::store::{Audit, LogHead, StoreError};

/// What the verifier brings along. Nothing of it comes from the database.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Keys whose signatures count.
    pub keys: Vec<OutsideKey>,
    /// Heads that were seen elsewhere.
    pub heads: Vec<OutsideHead>,
    /// Sizes at which this machine has seen checkpoints: they must be there.
    pub stated: Vec<u64>,
}

/// A key that the verifier trusts.
#[derive(Debug, Clone)]
pub struct OutsideKey {
    /// The key.
    pub key: VerifyingKey,
    /// Where it is known from.
    pub source: String,
    /// Whether it is wrong if it has signed nothing here.
    pub must_have_signed: bool,
}

/// A head of the log that somebody outside has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutsideHead {
    /// Who saw it.
    pub witness: String,
    /// Entries in the log.
    pub size: u64,
    /// Root of the tree over them.
    pub root: Sha,
    /// When, as text.
    pub at: String,
    /// Whether a shorter log is only an older copy, not one that lost its end.
    #[serde(skip)]
    pub copies_are_fine: bool,
}

/// What checkpoints say about a log, as far as they were found to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Checkpoints there are.
    pub checkpoints: u64,
    /// Entries that the newest of them covers.
    pub stated: u64,
    /// Entries that the newest one covers that is signed by a key that counts.
    pub signed: u64,
    /// That key, and where it is known from.
    pub signed_by: Option<String>,
    /// The newest head that somebody outside has seen and that holds.
    pub outside: Option<OutsideHead>,
}

/// Checks all of it against a tree whose nodes were found to be right.
pub fn check(
    audit: &dyn Audit,
    head: &LogHead,
    outside: &Outside,
    findings: &mut Findings,
) -> Result<Coverage> {
    let mut coverage = Coverage::default();
    let mut nodes = Nodes::new(audit);
    let mut notes = Vec::new();
    let mut sizes = HashSet::new();
    let mut failed: Result<()> = Ok(());
    audit.checkpoints(&mut |size, text| {
        if failed.is_err() {
            return;
        }
        coverage.checkpoints += 1;
        sizes.insert(size);
        match check_one(head, size, text, &mut nodes) {
            Ok(Ok(note)) => notes.push(note),
            Ok(Err(finding)) => findings.add(finding),
            Err(error) => failed = Err(error),
        }
    })?;
    failed?;
    coverage.stated = notes.last().map_or(0, |note| note.checkpoint().size());
    check_signatures(audit, outside, &notes, &mut coverage, findings)?;
    let mut another_log = false;
    for seen in &outside.heads {
        match check_head(head, seen, &mut nodes)? {
            Some(finding) if seen.size > head.size && seen.copies_are_fine => drop(finding),
            Some(finding) => {
                another_log = true;
                findings.add(finding);
            }
            None if coverage.outside.as_ref().is_none_or(|known| known.size < seen.size) => {
                coverage.outside = Some(seen.clone());
            }
            None => {}
        }
    }
    // Of another log, other checkpoints are missing: that is said already.
    let seen = outside.stated.iter().filter(|size| **size <= head.size && !another_log);
    for size in seen.filter(|size| !sizes.contains(&(**size as i64))) {
        let message = format!("the checkpoint at {size}, which this machine has seen, is gone");
        findings.add(Finding::new(Reason::MissingRecord, "checkpoint", message));
    }
    Ok(coverage)
}

/// Whether a checkpoint states what the log is.
fn check_one(
    head: &LogHead,
    size: i64,
    text: &str,
    nodes: &mut Nodes<'_>,
) -> Result<std::result::Result<CheckpointNote, Finding>> {
    let wrong = |field: &str, expected: &dyn std::fmt::Display, actual: &dyn std::fmt::Display| {
        let what = format!("the checkpoint at {size}");
        Ok(Err(Finding::differs(Reason::CheckpointMismatch, "checkpoint", &what, field, expected, actual)))
    };
    let note: CheckpointNote = match text.parse() {
        Ok(note) => note,
        Err(error) => return wrong("note", &"a checkpoint", &format!("none: {error}")),
    };
    let checkpoint = note.checkpoint();
    if i64::try_from(checkpoint.size()) != Ok(size) {
        return wrong("size", &checkpoint.size(), &size);
    }
    if checkpoint.origin() != head.origin {
        return wrong("origin", &head.origin, &checkpoint.origin());
    }
    if checkpoint.size() > head.size {
        let message = format!(
            "the log was stated to have {size} entries and has {}: its newest part is gone",
            head.size
        );
        let finding = Finding::new(Reason::CheckpointMismatch, "checkpoint", message);
        return Ok(Err(finding.field("size", format!("at most {}", head.size), size)));
    }
    let recomputed = root(checkpoint.size(), nodes)?;
    if recomputed != checkpoint.root() {
        let message =
            format!("the first {size} entries of the log are not those that were stated and signed");
        let finding = Finding::new(Reason::CheckpointMismatch, "checkpoint", message);
        return Ok(Err(finding.field("root", checkpoint.root(), recomputed)));
    }
    Ok(Ok(note))
}

/// Which checkpoints are signed by keys that count.
fn check_signatures(
    audit: &dyn Audit,
    outside: &Outside,
    notes: &[CheckpointNote],
    coverage: &mut Coverage,
    findings: &mut Findings,
) -> Result<()> {
    let changes = key_changes(audit)?;
    let mut given: Vec<(VerifyingKey, String)> =
        outside.keys.iter().map(|known| (known.key.clone(), known.source.clone())).collect();
    // Nobody knows a key from elsewhere: the log's own word is better than not looking, and is said to be just that.
    if given.is_empty()
        && let Some(first) = changes.iter().find(|change| change.op == "add")
        && let Ok(key) = first.vkey.parse()
    {
        given.push((key, format!("as log entry {} says; compare it with the one you were given", first.seq)));
    }
    let mut trust = Trust::new(given, &changes, notes);
    for (number, note) in notes.iter().enumerate() {
        let judged = trust.judge(number);
        if let Some(TrustedKey { key, source, .. }) = judged.signed_by.last() {
            coverage.signed = note.checkpoint().size();
            coverage.signed_by = Some(format!("{key} ({source})"));
        }
        judged.findings.into_iter().for_each(|finding| findings.add(finding));
    }
    if coverage.signed == 0
        && let Some(OutsideKey { key, source, .. }) = outside.keys.iter().find(|known| known.must_have_signed)
    {
        let message = format!("no checkpoint is signed with the key `{key}` ({source})");
        findings.add(Finding::new(Reason::CheckpointMismatch, "checkpoint", message));
    }
    Ok(())
}

fn key_changes(audit: &dyn Audit) -> std::result::Result<Vec<KeyChange>, StoreError> {
    let mut changes = Vec::new();
    audit.about_log(KEY, &mut |seq, leaf| {
        // Where it stands counts, not where it says it does.
        changes.extend(serde_json::from_slice(leaf).map(|change| KeyChange { seq, ..change }));
    })?;
    Ok(changes)
}

/// Whether the log is the one that somebody outside has seen.
fn check_head(head: &LogHead, seen: &OutsideHead, nodes: &mut Nodes<'_>) -> Result<Option<Finding>> {
    let OutsideHead { witness, size, at, .. } = seen;
    if *size > head.size {
        let message = format!(
            "{witness} saw {size} entries on {at}, and there are {}: the newest part of the log is gone, or an older \
             copy of it was put back",
            head.size
        );
        let finding = Finding::new(Reason::CheckpointMismatch, "log", message);
        return Ok(Some(finding.field("size", format!("at least {size}"), head.size)));
    }
    let recomputed = root(*size, nodes)?;
    Ok((recomputed != seen.root).then(|| {
        let message = format!(
            "the first {size} entries are not those that {witness} saw on {at}: the log was rewritten, or this is \
             another branch of it"
        );
        Finding::new(Reason::CheckpointMismatch, "log", message).field("root", seen.root, recomputed)
    }))
}

impl Coverage {
    /// What the checkpoints leave open, in words.
    pub fn notes(&self, size: u64) -> Vec<String> {
        let some = |count: u64| match count {
            1 => "the newest entry is".to_string(),
            count => format!("the newest {count} entries are"),
        };
        let mut notes = Vec::new();
        match (self.signed, size.saturating_sub(self.signed)) {
            (0, _) if self.checkpoints == 0 => notes.push("no checkpoint was made yet: nothing is signed".to_string()),
            (0, _) => notes.push(
                "no checkpoint is signed with a key that is known here: whoever can write the file could have made all of it"
                    .to_string(),
            ),
            (_, 0) => {}
            (_, tail) => notes.push(format!("{} not covered by a signed checkpoint yet", some(tail))),
        }
        match &self.outside {
            None => notes.push(
                "no head is kept outside this database: a log cut short, or rewritten as a whole, would look intact"
                    .to_string(),
            ),
            Some(seen) if seen.size < size => notes.push(format!(
                "{} newer than the last head seen outside ({}, {})",
                some(size - seen.size),
                seen.witness,
                seen.at
            )),
            Some(_) => {}
        }
        notes
    }
}
