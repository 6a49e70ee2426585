//! Checking what was stated about the log: its checkpoints, the keys that signed them, and the heads that others
//! remember.

use std::collections::HashSet;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, KeyEntry, KeyOp};
use cairn_core::log::{CheckpointNote, TrustedKey, root};
use cairn_core::note::{KeyId, Signature, VerifyingKey};
use serde::Serialize;

use super::trust::{Trust, source};
use super::witnesses::judge;
use super::{Finding, Findings, Reason};
use crate::error::Result;
use crate::proof::{Remembered, SeenCopy, SeenHead, Standing, compare};
use crate::store::{Audit, LogHead, StoreError};
use crate::tree::Nodes;

/// What the verifier brings along. Nothing of it comes from the database.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// Keys whose signatures count.
    pub keys: Vec<OutsideKey>,
    /// Heads that witnesses have seen.
    pub heads: Vec<OutsideHead>,
    /// The heads that this machine remembers of the log. Filled in where [`crate::Options::heads`] says, unless `here` is set.
    pub remembered: Remembered,
    /// The place of the database, as remembered heads name it.
    pub here: Option<String>,
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
}

/// The witness that stands for the heads remembered on this machine.
pub const THIS_MACHINE: &str = "this machine";

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
    /// Copies of the log that it does not extend: newer ones, and forks. They are no findings.
    pub copies: Vec<SeenCopy>,
    /// Whether it contradicts a head that was seen in its place, which is a finding.
    #[serde(skip)]
    pub(crate) contradicted: bool,
}

/// Checks all of it against a tree whose nodes were found to be right.
pub fn check(
    audit: &dyn Audit,
    nodes: &mut Nodes<'_>,
    head: &LogHead,
    outside: &Outside,
    findings: &mut Findings,
) -> Result<Coverage> {
    let mut coverage = Coverage::default();
    let mut notes = Vec::new();
    let mut sizes = HashSet::new();
    let mut failed: Result<()> = Ok(());
    audit.checkpoints(&mut |size, text| {
        if failed.is_err() {
            return;
        }
        coverage.checkpoints += 1;
        sizes.insert(size);
        match check_one(head, size, text, nodes) {
            Ok(Ok(note)) => notes.push(note),
            Ok(Err(finding)) => findings.add(finding),
            Err(error) => failed = Err(error),
        }
    })?;
    failed?;
    coverage.stated = notes.last().map_or(0, |note| note.checkpoint().size());
    check_signatures(audit, head, outside, &notes, &mut coverage, findings)?;
    check_remembered(head, outside, &sizes, nodes, &mut coverage, findings)?;
    check_witnesses(head, outside, nodes, &mut coverage, findings)?;
    Ok(coverage)
}

/// Compares the log with the heads that this machine has seen, and expects the checkpoints that it has seen in this
/// place.
fn check_remembered(
    head: &LogHead,
    outside: &Outside,
    sizes: &HashSet<i64>,
    nodes: &mut Nodes<'_>,
    coverage: &mut Coverage,
    findings: &mut Findings,
) -> Result<()> {
    let Some(here) = &outside.here else { return Ok(()) };
    let compared = compare(&outside.remembered, here, head.size, |size| root(size, nodes))?;
    let as_outside = |seen: &SeenHead| OutsideHead {
        witness: THIS_MACHINE.to_string(),
        size: seen.size,
        root: seen.root,
        at: seen.at.clone(),
    };
    let wrong = match &compared.standing {
        Standing::Behind { newest } => Some(newest),
        Standing::Diverged { head, .. } => Some(head),
        Standing::Extends(seen) => {
            coverage.outside = Some(as_outside(seen));
            None
        }
        _ => None,
    };
    coverage.copies = compared.copies;
    if let Some(seen) = wrong {
        coverage.contradicted = true;
        // Other checkpoints of another log are missing as well: that is said already.
        let found = check_head(head, &as_outside(seen), &mut |size| Ok(root(size, nodes)?))?;
        found.into_iter().for_each(|finding| findings.add(finding));
        return Ok(());
    }
    let own = outside.remembered.places.get(here).map_or(&[][..], |own| &own.heads);
    let expected = own.iter().filter(|seen| seen.stated && seen.size <= head.size);
    for size in expected.map(|seen| seen.size).filter(|size| !sizes.contains(&(*size as i64))) {
        let message = format!("the checkpoint at {size}, which was seen in this database, is gone");
        findings.add(Finding::new(Reason::MissingRecord, "checkpoint", message));
    }
    Ok(())
}

/// Compares the log with the heads that witnesses have seen.
fn check_witnesses(
    head: &LogHead,
    outside: &Outside,
    nodes: &mut Nodes<'_>,
    coverage: &mut Coverage,
    findings: &mut Findings,
) -> Result<()> {
    for said in judge(head, outside, &mut |size| Ok(root(size, nodes)?))? {
        // A witness says more than this machine does about the same size.
        if let Some(seen) = said.newest
            && coverage.outside.as_ref().is_none_or(|known| known.size <= seen.size)
        {
            coverage.outside = Some(seen);
        }
        said.findings.into_iter().for_each(|finding| findings.add(finding));
    }
    Ok(())
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
        return Ok(Err(finding.field("size", format!("at least {size}"), head.size)));
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
    head: &LogHead,
    outside: &Outside,
    notes: &[CheckpointNote],
    coverage: &mut Coverage,
    findings: &mut Findings,
) -> Result<()> {
    let changes = key_changes(audit)?;
    // A key that only other copies of the log know says nothing about this one.
    let counts = |known: &&OutsideKey| {
        known.must_have_signed || changes.iter().any(|change| change.vkey == known.key.to_string())
    };
    let mut given: Vec<(VerifyingKey, String)> =
        outside.keys.iter().filter(counts).map(|known| (known.key.clone(), known.source.clone())).collect();
    // Nobody knows a key from elsewhere: the log's own word is better than not looking, and is said to be just that.
    if given.is_empty()
        && let Some(first) = changes.iter().find(|change| change.op == KeyOp::Add)
        && let Ok(key) = first.vkey.parse()
    {
        given.push((key, format!("as log entry {} says; compare it with the one you were given", first.seq)));
    }
    let named: Vec<VerifyingKey> = changes.iter().filter_map(|change| change.vkey.parse().ok()).collect();
    let known: HashSet<KeyId> =
        named.iter().chain(given.iter().map(|(key, _)| key)).map(VerifyingKey::id).collect();
    let trust = Trust::new(&head.origin, given.iter().map(|(key, _)| key.clone()), &changes);
    for note in notes {
        let judged = trust.judge(note);
        if judged.findings.is_empty() && !named.is_empty() {
            unknown_signature(note, &known).into_iter().for_each(|finding| findings.add(finding));
        }
        if let Some(trusted @ TrustedKey { key, .. }) = judged.signed_by.last() {
            let given = given.iter().find(|(given, _)| given == key);
            let source = given.map_or_else(|| source(trusted), |(_, source)| source.clone());
            coverage.signed = note.checkpoint().size();
            coverage.signed_by = Some(format!("{key} ({source})"));
        }
        judged.findings.into_iter().for_each(|finding| findings.add(finding));
    }
    trust.findings.into_iter().for_each(|finding| findings.add(finding));
    if coverage.signed == 0
        && let Some(OutsideKey { key, source, .. }) = outside.keys.iter().find(|known| known.must_have_signed)
    {
        let message = format!("no checkpoint is signed with the key `{key}` ({source})");
        findings.add(Finding::new(Reason::CheckpointMismatch, "checkpoint", message));
    }
    Ok(())
}

/// Finds a signature in the name of the log by a key that the log does not name, or by a key of the log in another name:
/// nobody makes one, and beside a signature that counts it would be passed over.
fn unknown_signature(note: &CheckpointNote, known: &HashSet<KeyId>) -> Option<Finding> {
    let checkpoint = note.checkpoint();
    let lines = note.signatures();
    let repeated = |line: &Signature| lines.iter().filter(|other| other.is_of_same_key(line)).count() > 1;
    let strange = |line: &&Signature| {
        (line.name() == checkpoint.origin()) != known.contains(&line.id()) || repeated(line)
    };
    let line = lines.iter().find(strange)?;
    let message = format!(
        "the checkpoint at {} carries a signature twice, or one of no key of the log: {}+{}",
        checkpoint.size(),
        line.name(),
        line.id()
    );
    let finding = Finding::new(Reason::CheckpointMismatch, "checkpoint", message);
    Some(finding.field(
        "note",
        "signatures of keys that the log names",
        format!("{}+{}", line.name(), line.id()),
    ))
}

fn key_changes(audit: &dyn Audit) -> std::result::Result<Vec<KeyEntry<'static>>, StoreError> {
    let mut changes = Vec::new();
    audit.statements(EntryKind::Key, &mut |seq, leaf| {
        if let Some(Entry::Key(change)) = Entry::parse(leaf) {
            // Where it stands counts, not where it says it does.
            changes.push(KeyEntry { seq, ..change.into_owned() });
        }
    })?;
    Ok(changes)
}

/// Whether the log is the one that somebody outside has seen.
pub(super) fn check_head(
    head: &LogHead,
    seen: &OutsideHead,
    root_at: &mut dyn FnMut(u64) -> Result<Sha>,
) -> Result<Option<Finding>> {
    let OutsideHead { witness, size, at, .. } = seen;
    let (witness, cause) = match &witness[..] {
        THIS_MACHINE => ("this machine, in this place,", "the log was rewritten"),
        witness => (witness, "the log was rewritten, or this is another branch of it"),
    };
    if *size > head.size {
        let message = format!(
            "{witness} saw {size} entries on {at}, and there are {}: the newest part of the log is gone, or an older \
             copy was put back",
            head.size
        );
        let finding = Finding::new(Reason::CheckpointMismatch, "log", message);
        return Ok(Some(finding.field("size", format!("at least {size}"), head.size)));
    }
    let recomputed = root_at(*size)?;
    Ok((recomputed != seen.root).then(|| {
        let message = format!("the first {size} entries are not those that {witness} saw on {at}: {cause}");
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
            None if self.contradicted => {}
            None => notes.push(
                "no head is kept outside this database: a log cut short, or rewritten as a whole, would look intact"
                    .to_string(),
            ),
            Some(seen) if seen.size < size => notes.push(match &seen.witness[..] {
                THIS_MACHINE => {
                    format!("{} newer than the last head remembered on this machine ({})", some(size - seen.size), seen.at)
                }
                witness => {
                    format!("{} newer than the last head that {witness} saw ({})", some(size - seen.size), seen.at)
                }
            }),
            Some(_) => {}
        }
        notes
    }
}
