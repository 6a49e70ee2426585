//! Verifying one session or task: its own records and links, and that each stands in the log.

use std::ops::{ControlFlow, Range};

use cairn_core::entry::{Entry, EntryKind, Record};
use cairn_core::log::{ProofError, inclusion, root, verify_inclusion};

use super::record::Checker;
use super::redaction::{self, Redactions};
use super::{Cause, Finding, Findings, Progress, Reason, Report, Watch};
use crate::error::{Error, Result};
use crate::store::{Audit, ChainOf, LogHead, Store, StoreError, Stored};
use crate::tree::{Nodes, audited};

/// Verifies the thoughts of one session or task.
pub fn verify(store: &dyn Store, of: ChainOf<'_>, watch: Watch<'_>) -> Result<Report> {
    let audit = store.audit()?;
    let head = audit.head()?;
    let derived_through = audit.derived()?.through;
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

    let mut unproven = None;
    match root(head.size, &mut nodes) {
        Ok(recomputed) if recomputed == head.root => {}
        Ok(recomputed) => {
            let message = "the stored root of the log is not the root of its tree";
            let finding = Finding::new(Reason::LeafMismatch, "log", message);
            findings.add(finding.field("root", recomputed, head.root));
        }
        Err(StoreError::Damaged(what)) => unproven = Some(what),
        Err(error) => return Err(error.into()),
    }
    let mut failed = Ok(());
    let (mut seen, mut next): (u64, u64) = (0, 0);
    let mut newest = None;
    let mut missing = Vec::new();
    let mut led_to: Option<String> = None;
    audit.chain(of, &mut |stored| {
        let seq = stored.seq;
        // An index leads from the label to its records; the rows say whose they are.
        let (label, place) = match (&stored.record, of) {
            (Ok(Record { entry: Entry::Thought(thought), .. }), ChainOf::Task(_)) => {
                (Some(thought.task_id.to_string()), Some(thought.position))
            }
            (Ok(Record { entry: Entry::Thought(thought), .. }), ChainOf::Session(_)) => {
                (Some(thought.session_id.to_string()), Some(thought.step_index))
            }
            _ => (None, None),
        };
        if let Some(label) = label.filter(|label| label != name && led_to.as_ref() != Some(label)) {
            let message = format!("the index of {table} labels leads from `{name}` to another {table}");
            findings.add(Finding::new(Reason::IndexMismatch, table, message).field("name", name, &label));
            led_to = Some(label);
        }
        match place {
            Some(place) if place > next => missing.push(next..place),
            Some(place) if place == next && newest.is_none_or(|newest| newest < seq) => {}
            Some(place) => {
                let message = format!("thought {next} of {table} `{name}` is out of order");
                let finding = Finding::new(Reason::Order, "thought", message).at(seq);
                findings.add(finding.field(counter, next, place));
            }
            // It cannot be read, and has a finding of its own.
            None => {}
        }
        newest = Some(seq);
        seen += 1;
        next = place.map_or(next, |place| place.max(next)).saturating_add(1);
        failed = check_one(&mut checker, &mut nodes, stored, &head, &mut findings, &mut unproven);
        let far = Progress { done: seen, total: length.max(seen), what: "thoughts" };
        if failed.is_ok() && watch(far).is_break() {
            failed = Err(StoreError::GivenUp);
        }
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    failed?;
    checker.causes.drain(..).for_each(|cause| findings.explain(cause));
    if next < length {
        missing.push(next..length);
    } else if next > length {
        let message = format!("{table} `{name}` has {next} thoughts, and {length} are noted");
        findings.add(Finding::new(Reason::IndexMismatch, table, message).field("length", next, length));
    }
    name_missing((table, name, counter), missing, &mut findings);
    check_redactions(&*audit, &mut checker, &mut nodes, of, &head, &mut findings, &mut unproven)?;
    if let Some(what) = unproven {
        let message = format!("{what}, so that these thoughts cannot be shown to stand in the log");
        let finding = Finding::new(Reason::MissingRecord, "entry", message);
        findings.add(finding.unless(Cause::Of(table, name.to_string())));
    }
    let Redactions { list: redacted, total: redacted_total, .. } = checker.before.redactions;
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

/// Names the thoughts of a chain that are missing from it.
fn name_missing(
    (table, name, counter): (&'static str, &str, &str),
    missing: Vec<Range<u64>>,
    findings: &mut Findings,
) {
    if !missing.is_empty() {
        findings.explain(Cause::Of(table, name.to_string()));
    }
    let place = if table == "task" { "position" } else { "step" };
    for Range { start, end } in missing {
        let message = match end - start {
            1 => format!("the thought at {place} {start} of {table} `{name}` is gone"),
            _ => format!("the thoughts at {place}s {start} to {} of {table} `{name}` are gone", end - 1),
        };
        findings
            .add(Finding::new(Reason::MissingRecord, "thought", message).field(counter, start, "nothing"));
    }
}

/// Checks the redactions of thoughts of this chain: they stand elsewhere in the log.
fn check_redactions(
    audit: &dyn Audit,
    checker: &mut Checker<'_>,
    nodes: &mut Nodes<'_>,
    of: ChainOf<'_>,
    head: &LogHead,
    findings: &mut Findings,
    unproven: &mut Option<String>,
) -> Result<()> {
    for (seq, target) in checker.before.redactions.places(audit)? {
        let mut is_in_chain = false;
        audit.records(target, target + 1, &mut |stored| {
            if let Ok(Record { entry: Entry::Thought(thought), .. }) = stored.record {
                is_in_chain = match of {
                    ChainOf::Task(name) => thought.task_id == name,
                    ChainOf::Session(name) => thought.session_id == name,
                };
            }
            ControlFlow::Continue(())
        })?;
        if is_in_chain {
            let mut checked = Ok(());
            audit.records(seq, seq + 1, &mut |stored| {
                checked = check_one(checker, nodes, stored, head, findings, unproven);
                ControlFlow::Continue(())
            })?;
            checked?;
        }
    }
    Ok(())
}

/// Checks one record, and that its entry stands in the tree under the log's root. `unproven` says why that cannot be told.
fn check_one(
    checker: &mut Checker<'_>,
    nodes: &mut Nodes<'_>,
    stored: Stored<'_>,
    head: &LogHead,
    findings: &mut Findings,
    unproven: &mut Option<String>,
) -> std::result::Result<(), StoreError> {
    let (seq, id) = (stored.seq, stored.record.as_ref().ok().map(|record| record.entry.id()));
    let is_thought = stored.kind == Some(EntryKind::Thought);
    let (leaf, finding) = checker.check(stored)?;
    let intact = finding.is_none();
    finding.into_iter().for_each(|finding| findings.add(finding));
    let Some(leaf) = leaf.filter(|_| intact) else { return Ok(()) };
    let proof = match inclusion(seq, head.size, nodes) {
        Ok(proof) => Some(proof),
        Err(ProofError::Source(StoreError::Damaged(what))) => {
            unproven.get_or_insert(what);
            return Ok(());
        }
        Err(ProofError::Source(error)) => return Err(error),
        Err(_) => None,
    };
    if !proof.is_some_and(|proof| verify_inclusion(&leaf, seq, head.size, &proof, &head.root)) {
        let message = format!("log entry {seq} is not in the tree under the log's root");
        let finding = Finding::new(Reason::LeafMismatch, "node", message).at(seq);
        findings.add(Finding { id: id.filter(|_| is_thought), ..finding });
    }
    Ok(())
}

/// Checks one entry of this kind by itself; returns the first thing wrong.
pub(super) fn check_entry(audit: &dyn Audit, seq: u64, kind: EntryKind) -> Result<Option<Finding>> {
    let head = audit.head()?;
    let mut findings = Findings::default();
    let mut checker = Checker::new(audit, &head, -1);
    let mut nodes = audited(audit, head.size);
    let mut checked = Ok(());
    let (mut found, mut unproven) = (None, None);
    audit.records(seq, seq.saturating_add(1), &mut |stored| {
        found = stored.kind;
        checked = check_one(&mut checker, &mut nodes, stored, &head, &mut findings, &mut unproven);
        ControlFlow::Continue(())
    })?;
    checked?;
    if let Some(what) = unproven {
        findings.add(Finding::new(Reason::MissingRecord, "entry", what).at(seq));
    }
    if found != Some(kind) && findings.total == 0 {
        let message = format!("log entry {seq} does not record a {kind}");
        findings.add(Finding::new(Reason::MissingRecord, "entry", message).at(seq));
    }
    Ok(findings.sorted().0.into_iter().next())
}

/// Checks the record of a brief, and that its entry stands in the log; says what is wrong.
pub fn verify_brief(store: &dyn Store, seq: u64) -> Result<Option<String>> {
    let wrong = check_entry(&*store.audit()?, seq, EntryKind::Brief)?;
    Ok(wrong.map(|finding| finding.message))
}
