//! Verifying a bundle without any database.

use std::io::BufRead;

use cairn_core::entry::Record;
use cairn_core::note::VerifyingKey;

use super::Selection;
use super::check::Checker;
use super::entry::Entry;
use super::read::{Line, Lines, Stop};
use super::report::BundleReport;
use super::statements::Checkpoints;
use crate::error::{Error, Result};
use crate::store::StoreError;
use crate::verify::{Finding, Findings, MAX_FINDINGS, Progress, Reason};

/// What every verification of a partial bundle says.
pub const PARTIAL: &str = "a partial bundle proves inclusion, never completeness: what is in it was recorded, and what \
                           else was recorded it does not say";

/// After so many entries, whoever waits is told how far it has come.
const TELL_AFTER: u64 = 1024;

/// Recomputes everything in a bundle, and checks its checkpoints with `keys` alone: those in the bundle are for
/// information.
///
/// It is read once, line by line; what is kept of it is about 150 bytes an entry.
pub fn verify(
    bundle: impl BufRead,
    keys: &[VerifyingKey],
    progress: &mut dyn FnMut(Progress),
) -> Result<BundleReport> {
    Ok(walk(bundle, keys, progress, &mut |_, _| Ok(()))?.report)
}

/// Visits the records of a bundle, without checking them; returns the name of the log.
pub fn each_entry(
    bundle: impl BufRead,
    visit: &mut dyn FnMut(Record<'static>) -> Result<()>,
) -> Result<String> {
    let refused = |stop: Stop| match finding_of(stop) {
        Ok(finding) => Error::invalid("against", finding.message),
        Err(error) => error,
    };
    let mut lines = Lines::new(bundle);
    let origin = match lines.header() {
        Ok(header) => header.origin,
        Err(Stop::Malformed(_, what)) => {
            let message = format!("it is neither a database nor a bundle: its first line {what}");
            return Err(Error::invalid("against", message));
        }
        Err(stop) => return Err(refused(stop)),
    };
    while let Some(line) = lines.next().map_err(refused)? {
        let Line::Entry(fields) = line else { continue };
        let entry = Entry::read(fields).map_err(|what| refused(lines.malformed(what)))?;
        match entry.record {
            Some(record) => visit(record)?,
            None => return Err(refused(lines.malformed("holds no entry"))),
        }
    }
    Ok(origin)
}

/// What was learned on the way.
pub struct Walked {
    /// What was found.
    pub report: BundleReport,
    /// The hash of each entry, if the bundle holds the whole log and they stood where they belong.
    pub leaves: Vec<cairn_core::Sha>,
    /// Sizes and notes of the checkpoints.
    pub checkpoints: Vec<(u64, String)>,
    /// The keys that the log says it had.
    pub named: Vec<VerifyingKey>,
    /// Where sealed contents are whose keys are missing, and were not redacted.
    pub closed: Vec<u64>,
}

/// Verifies a bundle, and shows each entry to `visit` once it was checked, as long as nothing is wrong.
pub fn walk(
    bundle: impl BufRead,
    keys: &[VerifyingKey],
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(u64, Entry) -> Result<()>,
) -> Result<Walked> {
    let mut lines = Lines::new(bundle);
    let mut findings = Findings::default();
    let header = match lines.header() {
        Ok(header) => header,
        Err(stop) => {
            findings.add(finding_of(stop)?);
            let report = unread(findings);
            let (leaves, checkpoints, named, closed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            return Ok(Walked { report, leaves, checkpoints, named, closed });
        }
    };
    let mut checker = Checker::new(header);
    let mut checkpoints = Checkpoints::new(keys);
    let stopped = follow(&mut lines, &mut checker, &mut checkpoints, &mut findings, progress, visit)?;
    let mut notes = Vec::new();
    match stopped {
        Some(stop) => {
            findings.add(finding_of(stop)?);
            notes.push(format!("verification stopped at line {}: what follows is unverified", lines.number));
        }
        None => {
            checker.redactions.unexplained(&checker.links).for_each(|finding| findings.add(finding));
            checkpoints.close(&checker.header).into_iter().for_each(|finding| findings.add(finding));
        }
    }
    let leaves = checker.all_leaves().map(<[_]>::to_vec).unwrap_or_default();
    let closed = checker.redactions.closed().collect();
    let report = report(checker, &checkpoints, findings, notes);
    let named = checkpoints.named().collect();
    Ok(Walked { report, leaves, checkpoints: checkpoints.notes, named, closed })
}

/// Goes through the lines after the first; returns what stopped it, if not the end.
fn follow<R: BufRead>(
    lines: &mut Lines<R>,
    checker: &mut Checker,
    checkpoints: &mut Checkpoints<'_>,
    findings: &mut Findings,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(u64, Entry) -> Result<()>,
) -> Result<Option<Stop>> {
    let (mut in_entries, mut keys_seen, mut ended) = (true, false, false);
    loop {
        let line = match lines.next() {
            Ok(line) => line,
            Err(stop) => return Ok(Some(stop)),
        };
        match line {
            None if ended => return Ok(None),
            None => return Ok(Some(lines.malformed("is missing: the bundle ends before its manifest"))),
            Some(_) if ended => return Ok(Some(lines.malformed("stands after the manifest"))),
            Some(Line::Entry(fields)) if in_entries => {
                let entry = match Entry::read(fields) {
                    Ok(entry) if entry.proof.is_some() != checker.header.full => entry,
                    Ok(_) if checker.header.full => {
                        return Ok(Some(lines.malformed("has a proof, in a bundle of the whole log")));
                    }
                    Ok(_) => return Ok(Some(lines.malformed("has no proof, in a partial bundle"))),
                    Err(what) => return Ok(Some(lines.malformed(what))),
                };
                let seq = checker.check(&entry, checkpoints, findings);
                if let (Some(seq), 0) = (seq, findings.total) {
                    visit(seq, entry)?;
                }
                let done = checker.counts.lines;
                if done.is_multiple_of(TELL_AFTER) {
                    let total = if checker.header.full { checker.header.size } else { done };
                    progress(Progress { done, total: total.max(done), what: "entries" });
                }
            }
            Some(Line::Checkpoint(note)) if !keys_seen => {
                if in_entries {
                    in_entries = false;
                    checker.close(findings);
                }
                let found = checkpoints.add(note, &checker.header, checker.all_leaves());
                found.into_iter().for_each(|finding| findings.add(finding));
            }
            Some(Line::Keys) if !in_entries && !keys_seen => keys_seen = true,
            Some(Line::Manifest(manifest, sha256)) if keys_seen => {
                ended = true;
                let differs = |reason, field, expected: String, actual: String| {
                    Finding::differs(reason, "manifest", "the manifest", field, expected, actual)
                };
                let (lines, redacted) = (checker.counts.lines, checker.redactions.entries);
                if manifest.entries != lines {
                    let actual = manifest.entries.to_string();
                    findings.add(differs(Reason::MissingRecord, "entries", lines.to_string(), actual));
                }
                if manifest.redacted != redacted {
                    let actual = manifest.redacted.to_string();
                    findings.add(differs(Reason::MissingRecord, "redacted", redacted.to_string(), actual));
                }
                if manifest.sha256 != sha256 {
                    let actual = manifest.sha256.to_string();
                    findings.add(differs(Reason::ContentHashMismatch, "sha256", sha256.to_string(), actual));
                }
            }
            Some(_) => return Ok(Some(lines.malformed("stands where no line of its kind belongs"))),
        }
    }
}

fn finding_of(stop: Stop) -> Result<Finding> {
    match stop {
        Stop::Malformed(line, what) => {
            let message = cairn_core::preview::preview(&format!("line {line} {what}"), 400).into_owned();
            let field = Some(format!("line {line}"));
            Ok(Finding { field, ..Finding::new(Reason::Malformed, "bundle", message) })
        }
        Stop::Io(error) => {
            Err(Error::Store(StoreError::Other(format!("the bundle could not be read ({})", error.kind()))))
        }
    }
}

/// For a file whose first line is not that of a bundle.
fn unread(findings: Findings) -> BundleReport {
    let (findings, findings_total) = findings.sorted();
    BundleReport {
        origin: String::new(),
        size: 0,
        root: cairn_core::Sha::ZERO,
        full: false,
        selection: Selection::All,
        entries: 0,
        records: 0,
        contexts: 0,
        events: 0,
        briefs: 0,
        checkpoints: 0,
        signed_by: Vec::new(),
        keys_given: 0,
        redacted: Vec::new(),
        redacted_total: 0,
        sealed: 0,
        links_outside: 0,
        findings,
        findings_total,
        notes: vec!["verification stopped at line 1: what follows is unverified".to_string()],
    }
}

fn report(
    checker: Checker,
    checkpoints: &Checkpoints<'_>,
    findings: Findings,
    mut notes: Vec<String>,
) -> BundleReport {
    let Checker { header, links, redactions, counts, .. } = checker;
    let keys_given = checkpoints.keys_given();
    let some = |count: u64, one: &str, more: &str| match count {
        1 => one.to_string(),
        count => more.replace("{}", &count.to_string()),
    };
    if !header.full {
        notes.push(PARTIAL.to_string());
    }
    if keys_given == 0 {
        notes.push(
            "no key was given, so nobody's signature was checked: anyone could have made this bundle. Ask whoever keeps \
             the log for its public key; those in the bundle prove nothing"
                .to_string(),
        );
    }
    if links.outside > 0 {
        let one = "1 link leads to a record outside this bundle and was not followed";
        notes.push(some(
            links.outside,
            one,
            "{} links lead to records outside this bundle and were not followed",
        ));
    }
    let sealed = redactions.closed().count() as u64;
    if sealed > 0 {
        let one = "1 content is sealed and was not opened: its key is not in the bundle";
        notes.push(some(
            sealed,
            one,
            "{} contents are sealed and were not opened: their keys are not in the bundle",
        ));
    }
    let unsigned = checkpoints.notes.len() as u64 - checkpoints.signed;
    if keys_given > 0 && unsigned > 0 && !checkpoints.signers.is_empty() {
        let one = "1 older checkpoint carries no signature that counts";
        notes.push(some(unsigned, one, "{} older checkpoints carry no signature that counts"));
    }
    let (findings, findings_total) = findings.sorted();
    let selection = header.selection();
    BundleReport {
        origin: header.origin,
        size: header.size,
        root: header.root,
        full: header.full,
        selection,
        entries: counts.lines,
        records: counts.records,
        contexts: counts.contexts,
        events: counts.events,
        briefs: counts.briefs,
        checkpoints: checkpoints.notes.len() as u64,
        signed_by: checkpoints.signers.clone(),
        keys_given,
        redacted: redactions.list().take(MAX_FINDINGS).collect(),
        redacted_total: redactions.count(),
        sealed,
        links_outside: links.outside,
        findings,
        findings_total,
        notes,
    }
}
