//! Verifying one session or task: its own records and links, and that each stands in the log.

use std::ops::Range;

use cairn_core::entry::EntryKind;
use cairn_core::log::{ProofError, inclusion, root, verify_inclusion};
use serde_json::Value;

use super::record::{Checker, gone};
use super::redaction::{self, Redactions};
use super::{Cause, Finding, Findings, Progress, Reason, Report, Watch};
use crate::error::{Error, Result};
use crate::store::{Audit, ChainOf, LogHead, Store, StoreError};
use crate::tree::{Nodes, audited};

/// Verifies the thoughts of one session or task.
pub fn verify(store: &dyn Store, of: ChainOf<'_>, watch: Watch<'_>) -> Result<Report> {
    let audit = store.audit()?;
    let head = audit.head()?;
    let (derived_through, _) = audit.derived()?;
    let (table, name, counter) = match of {
        ChainOf::Task(name) => ("task", name, "position"),
        ChainOf::Session(name) => ("session", name, "step_index"),
    };
    let Some(length) = audit.chain_length(of)? else {
        // A misspelt name must not pass for something that was verified.
        return Err(Error::NotFound { what: table, id: name.to_string() });
    };
    let mut findings = Findings::default();
    let mut checker = Checker::new(&*audit, &head, derived_through);
    let mut nodes = audited(&*audit, head.size);

    let recomputed = root(head.size, &mut nodes)?;
    if recomputed != head.root {
        let message = "the stored root of the log is not the root of its tree";
        findings.add(Finding::new(Reason::LeafMismatch, "log", message).field("root", recomputed, head.root));
    }
    let mut failed = Ok(());
    let (mut seen, mut next): (u64, u64) = (0, 0);
    let mut newest = None;
    let mut missing = Vec::new();
    let mut owner = None;
    audit.scan_chain(of, &mut |scanned| {
        if failed.is_err() {
            return;
        }
        // An index leads from the label to its records; the rows say whose they are.
        let number = scanned.thought.map(|thought| match of {
            ChainOf::Task(_) => thought.task_no,
            ChainOf::Session(_) => thought.session_no,
        });
        if number.is_some() && number != owner {
            owner = number;
            let label = number.map_or(Ok(None), |number| match of {
                ChainOf::Task(_) => audit.task_name(number),
                ChainOf::Session(_) => audit.session_name(number),
            });
            match label {
                Ok(label) if label.as_deref() != Some(name) => {
                    let message =
                        format!("the index of {table} labels leads from `{name}` to another {table}");
                    findings.add(Finding::new(Reason::IndexMismatch, table, message).field(
                        "name",
                        name,
                        label.unwrap_or_else(|| "none".to_string()),
                    ));
                }
                Ok(_) => {}
                Err(error) => failed = Err(error),
            }
        }
        let place = scanned.thought.map_or(-1, |thought| match of {
            ChainOf::Task(_) => thought.position,
            ChainOf::Session(_) => thought.step_index,
        });
        match u64::try_from(place) {
            Ok(place) if place > next => missing.push(next..place),
            Ok(place) if place == next && newest.is_none_or(|newest| newest < scanned.seq) => {}
            _ => {
                let message = format!("thought {next} of {table} `{name}` is out of order");
                let finding = Finding::new(Reason::Order, "thought", message).at(scanned.seq);
                findings.add(finding.field(counter, next, place));
            }
        }
        newest = Some(scanned.seq);
        seen += 1;
        next = u64::try_from(place).map_or(next, |place| place.max(next)).saturating_add(1);
        failed = check_one(&mut checker, &mut nodes, &scanned, head.size, &head.root, &mut findings);
        let far = Progress { done: seen, total: length.max(seen), what: "thoughts" };
        if failed.is_ok() && watch(far).is_break() {
            failed = Err(StoreError::GivenUp);
        }
    })?;
    failed?;
    checker.causes.drain(..).for_each(|cause| findings.explain(cause));
    if next < length {
        missing.push(next..length);
    } else if next > length {
        let message = format!("{table} `{name}` has {next} thoughts, and {length} are noted");
        findings.add(Finding::new(Reason::IndexMismatch, table, message).field("length", next, length));
    }
    name_missing(&*audit, &head, (table, name, counter), missing, &mut findings)?;
    check_redactions(&*audit, &mut checker, &mut nodes, of, &head, &mut findings)?;
    let Redactions { list: redacted, total: redacted_total, .. } = checker.redactions;
    let mut notes =
        vec![format!("only {table} `{name}` was checked; `cairn verify` without it checks everything")];
    notes.extend(redaction::note(&redacted, redacted_total));
    let (findings, findings_total) = findings.sorted();
    Ok(Report {
        records: seen,
        contexts: 0,
        events: 0,
        briefs: 0,
        redacted,
        redacted_total,
        chain_length: length,
        log_size: head.size,
        root: None,
        findings,
        findings_total,
        coverage: None,
        notes,
    })
}

/// Names the thoughts of a chain that are missing from it, as the log records them.
fn name_missing(
    audit: &dyn Audit,
    head: &LogHead,
    (table, name, counter): (&'static str, &str, &str),
    missing: Vec<Range<u64>>,
    findings: &mut Findings,
) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    findings.explain(Cause::Of(table, name.to_string()));
    let label = format!("{table}_id");
    let mut left = missing.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
    audit.scan(0, head.size, &mut |scanned| {
        let Some(entry) = scanned.entry.filter(|entry| entry.kind == EntryKind::Thought.as_str()) else {
            return;
        };
        let Ok(leaf) = serde_json::from_slice::<Value>(entry.leaf) else { return };
        let place = leaf[counter].as_u64().filter(|_| leaf[&label].as_str() == Some(name));
        if place.is_some_and(|place| missing.iter().any(|range| range.contains(&place))) {
            left = left.saturating_sub(1);
            findings.add(gone(scanned.seq, entry.leaf));
        }
    })?;
    if left > 0 {
        let message = format!("{left} thoughts of {table} `{name}` are gone, and so are their log entries");
        let first = missing[0].start;
        findings.add(Finding::new(Reason::MissingRecord, table, message).field(counter, first, "nothing"));
    }
    Ok(())
}

/// Checks the redactions of thoughts of this chain: they stand elsewhere in the log.
fn check_redactions(
    audit: &dyn Audit,
    checker: &mut Checker<'_>,
    nodes: &mut Nodes<'_>,
    of: ChainOf<'_>,
    head: &LogHead,
    findings: &mut Findings,
) -> Result<()> {
    for (seq, target) in checker.redactions.places(audit)? {
        let mut place = None;
        audit.scan(target, target + 1, &mut |scanned| {
            place = scanned.thought.map(|thought| (thought.task_no, thought.session_no));
        })?;
        let label = match (of, place) {
            (_, None) => None,
            (ChainOf::Task(_), Some((task, _))) => audit.task_name(task)?,
            (ChainOf::Session(_), Some((_, session))) => audit.session_name(session)?,
        };
        let (ChainOf::Task(name) | ChainOf::Session(name)) = of;
        if label.as_deref() == Some(name) {
            let mut checked = Ok(());
            audit.scan(seq, seq + 1, &mut |scanned| {
                checked = check_one(checker, nodes, &scanned, head.size, &head.root, findings);
            })?;
            checked?;
        }
    }
    Ok(())
}

/// Checks one entry, and that it stands in the tree under the log's root.
pub(super) fn check_one(
    checker: &mut Checker<'_>,
    nodes: &mut Nodes<'_>,
    scanned: &crate::store::Scanned<'_>,
    size: u64,
    log_root: &cairn_core::Sha,
    findings: &mut Findings,
) -> std::result::Result<(), StoreError> {
    let (leaf, finding) = checker.check(scanned)?;
    let intact = finding.is_none();
    finding.into_iter().for_each(|finding| findings.add(finding));
    let Some(leaf) = leaf.filter(|_| intact) else { return Ok(()) };
    let proof = match inclusion(scanned.seq, size, nodes) {
        Ok(proof) => Some(proof),
        Err(ProofError::Source(error)) => return Err(error),
        Err(_) => None,
    };
    if !proof.is_some_and(|proof| verify_inclusion(&leaf, scanned.seq, size, &proof, log_root)) {
        let message = format!("log entry {} is not in the tree under the log's root", scanned.seq);
        findings.add(Finding {
            id: scanned.thought.map(|thought| thought.id.to_string()),
            ..Finding::new(Reason::LeafMismatch, "node", message).at(scanned.seq)
        });
    }
    Ok(())
}

/// Checks one entry by itself, and that `recorded` counts what it is said to record; returns the first thing wrong.
pub(super) fn check_entry(
    audit: &dyn Audit,
    seq: u64,
    what: &str,
    recorded: impl Fn(&Checker<'_>) -> u64,
) -> Result<Option<Finding>> {
    let head = audit.head()?;
    let mut findings = Findings::default();
    let mut checker = Checker::new(audit, &head, -1);
    let mut nodes = audited(audit, head.size);
    let mut checked = Ok(());
    let mut entries = 0;
    audit.scan(seq, seq + 1, &mut |scanned| {
        entries += 1;
        checked = check_one(&mut checker, &mut nodes, &scanned, head.size, &head.root, &mut findings);
    })?;
    checked?;
    if entries == 0 {
        let message = format!("log entry {seq}, which records {what}, is missing");
        findings.add(Finding::new(Reason::MissingRecord, "entry", message).at(seq));
    } else if recorded(&checker) == 0 && findings.total == 0 {
        let message = format!("log entry {seq} does not record {what}");
        findings.add(Finding::new(Reason::LeafMismatch, "entry", message).at(seq));
    }
    Ok(findings.sorted().0.into_iter().next())
}
