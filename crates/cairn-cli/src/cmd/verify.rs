//! `cairn verify`: recompute everything, and name what does not fit.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use cairn::core::note::VerifyingKey;
use cairn::{
    Cairn, CopyComparison, CopyDifference, Coverage, Finding, Options, Outside, OutsideKey, RedactedRecord,
    Report, Scope, Sha, THIS_MACHINE,
};
use serde::Serialize;

use super::Outcome;
use crate::args::App;
use crate::data::Verdict;
use crate::error::CliError;
use crate::term::{Bar, Palette, count, visible, wrap};
use crate::witness;

/// Recompute every hash and name what was changed
///
/// Nothing that is stored is believed: chains, log and search index are derived again from the records. Ends with exit code 1 if anything is wrong. Nothing is written, so it works on a backup, on a read-only disk and on somebody else's log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Verify only this session
    #[arg(long, short, conflicts_with = "task")]
    session: Option<String>,
    /// Verify only this task
    #[arg(long, short)]
    task: Option<String>,
    /// Count only signatures of this public key, as `cairn key show` prints it; may be given again
    #[arg(long, value_name = "VKEY", conflicts_with_all = ["session", "task"])]
    key: Vec<VerifyingKey>,
    /// Compare every field with this copy of the log too: a backup, a clone or a bundle
    #[arg(long, value_name = "FILE", conflicts_with_all = ["session", "task"])]
    against: Option<PathBuf>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let scope = match (args.session, args.task) {
        (Some(session), _) => Scope::Session(session),
        (None, Some(task)) => Scope::Task(task),
        (None, None) => Scope::All,
    };
    let cairn = app.read()?;
    let given = |key| OutsideKey { key, source: "given".to_string(), must_have_signed: true };
    let (heads, remarks) = match scope {
        Scope::All => witness::seen_by_witnesses(&cairn),
        _ => Default::default(),
    };
    let outside = Outside { keys: args.key.into_iter().map(given).collect(), heads, ..Outside::default() };
    let mut report = check_against(&cairn, &scope, outside)?;
    report.notes.extend(remarks);
    let compared = args.against.as_deref().map(|path| compare(&cairn, path)).transpose()?;
    let same = compared.as_ref().is_none_or(CopyComparison::is_same);
    let printed = match (&compared, app.ui.json) {
        (Some(against), true) => app.ui.print_json(&Beside { data: Data::of(&report), against }),
        (Some(against), false) => {
            print(&report, app).and_then(|()| app.ui.print(&beside(against, app.ui.width, app.ui.palette)))
        }
        (None, _) => print(&report, app),
    };
    match (report.valid() && same, printed) {
        (true, printed) => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        (false, _) => Ok(Outcome::FoundSomething),
    }
}

/// The report with a comparison, as a program reads it.
#[derive(Serialize)]
struct Beside<'a> {
    #[serde(flatten)]
    data: Data<'a>,
    against: &'a CopyComparison,
}

/// Compares the log with a copy: an SQLite file, or else a bundle.
fn compare(cairn: &Cairn, path: &Path) -> Result<CopyComparison, CliError> {
    let unread =
        |error: std::io::Error| CliError::usage(format!("`{}` cannot be read: {error}", path.display()));
    let mut file = File::open(path).map_err(unread)?;
    let mut begin = [0; 16];
    let length = file.read(&mut begin).map_err(unread)?;
    if begin[..length] == *b"SQLite format 3\0" {
        let other = Options::new().read_only(true).open(path)?;
        let bar = Bar::new();
        return Ok(cairn.compare_with(&other, &|progress| bar.show(progress))?);
    }
    file.rewind().map_err(unread)?;
    Ok(cairn.compare_with_bundle(BufReader::new(file))?)
}

/// A comparison as a person reads it.
fn beside(against: &CopyComparison, width: usize, palette: Palette) -> String {
    let compared = count(against.compared, "entry");
    let mut page = match against.differences_total {
        0 => format!("\nagainst the copy: {compared} compared, no field differs\n"),
        1 => format!("\nagainst the copy: {compared} compared, 1 field differs\n"),
        some => format!("\nagainst the copy: {compared} compared, {} differ\n", count(some, "field")),
    };
    for (entries, place) in [(against.only_here, "here"), (against.only_there, "in the copy")] {
        if entries > 0 {
            page.push_str(&format!("{} {place} alone\n", count(entries, "entry")));
        }
    }
    for difference in &against.differences {
        let CopyDifference { seq, record, field, here, there } = difference;
        page.push_str(&format!("\n   {} (log entry {seq})\n", palette.strong(&visible(record))));
        for (name, value) in [("field", field), ("here", here), ("there", there)] {
            for (index, line) in wrap(&visible(value), width.saturating_sub(13).max(66)).iter().enumerate() {
                let name = if index == 0 { name } else { "" };
                page.push_str(&format!("   {} {line}\n", palette.faint(&format!("{name:<8}"))));
            }
        }
    }
    let hidden = against.differences_total.saturating_sub(against.differences.len() as u64);
    if hidden > 0 {
        page.push_str(&format!("\n… and {} more\n", count(hidden, "field").replace(" fields", "")));
    }
    page
}

/// Shows what was found.
pub(super) fn print(report: &Report, app: &App) -> Result<(), CliError> {
    if app.ui.json {
        return app.ui.print_json(&Data::of(report));
    }
    let width = app.ui.width;
    app.ui.print(&(page(report, width, app.ui.palette) + &reach(report, width) + &notes(report, width)))
}

/// Verifies with a progress bar.
pub(super) fn check(cairn: &Cairn, scope: &Scope) -> Result<Report, CliError> {
    check_against(cairn, scope, Outside::default())
}

fn check_against(cairn: &Cairn, scope: &Scope, outside: Outside) -> Result<Report, CliError> {
    let bar = Bar::new();
    Ok(cairn.verify_against(scope, outside, &|progress| bar.show(progress))?)
}

/// How far signatures and heads seen outside reach.
pub(super) fn reach(report: &Report, width: usize) -> String {
    let Some(coverage) = &report.coverage else { return String::new() };
    let mut lines = Vec::new();
    if let Some(by) = &coverage.signed_by {
        let whole = coverage.signed == report.log_size;
        // The first entry is entry 0, so a number would be taken for one more than is signed.
        let up_to = if whole {
            "whole log".to_string()
        } else {
            format!("first {}", count(coverage.signed, "entry"))
        };
        lines.push(format!("signed: the {up_to}, by {by}"));
    }
    if let Some(seen) = &coverage.outside {
        let entries = count(seen.size, "entry");
        lines.push(match &seen.witness[..] {
            THIS_MACHINE => format!("remembered on this machine: {entries} on {}", seen.at),
            witness => format!("seen outside: {witness}, {entries} on {}", seen.at),
        });
    }
    lines.extend(coverage.copies.iter().map(|copy| format!("note: {}", copy.words())));
    let wrapped = lines.iter().flat_map(|line| wrap(&visible(line), width));
    wrapped.map(|line| line + "\n").collect()
}

/// The report as a program reads it: the verdict, and everything it rests on.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    #[serde(flatten)]
    verdict: Verdict<'a>,
    log_size: u64,
    root: Option<Sha>,
    coverage: Option<&'a Coverage>,
    findings: &'a [Finding],
    redacted: &'a [RedactedRecord],
    redacted_total: u64,
}

impl<'a> Data<'a> {
    pub(super) fn of(report: &'a Report) -> Data<'a> {
        let Report { log_size, root, findings, redacted, redacted_total, .. } = report;
        Data {
            verdict: Verdict::of(report),
            log_size: *log_size,
            root: *root,
            coverage: report.coverage.as_ref(),
            findings,
            redacted,
            redacted_total: *redacted_total,
        }
    }
}

/// The verdict as a person reads it.
pub(super) fn page(report: &Report, width: usize, palette: Palette) -> String {
    let mut page = if report.valid() {
        palette.good(&visible(&report.message()))
    } else {
        let found = count(report.findings_total, "finding");
        palette.bad(&format!("{found}: what is stored is not what was recorded"))
    };
    page.push('\n');
    for (index, finding) in report.findings.iter().enumerate() {
        page.push_str(&format!("\n{}", block(index + 1, finding, width, palette)));
    }
    let hidden = report.findings_total.saturating_sub(report.findings.len() as u64);
    if hidden > 0 {
        page.push_str(&format!("\n… and {} more\n", count(hidden, "finding").replace(" findings", "")));
    }
    page
}

/// What was not verified, so that nobody takes it for granted.
pub(super) fn notes(report: &Report, width: usize) -> String {
    let mut notes = String::new();
    if !report.notes.is_empty() {
        notes.push_str("\nnot verified:\n");
    }
    for note in &report.notes {
        for (index, line) in wrap(&visible(note), width - 4).iter().enumerate() {
            notes.push_str(if index == 0 { "  - " } else { "    " });
            notes.push_str(&format!("{line}\n"));
        }
    }
    notes
}

/// One finding as a person reads it.
pub(super) fn block(number: usize, finding: &Finding, width: usize, palette: Palette) -> String {
    let mut block = format!("{number}. {}\n", palette.strong(finding.reason.as_str()));
    let place = match (finding.step_index, finding.seq) {
        (Some(step), Some(seq)) => format!(" (step {step}, log entry {seq})"),
        (Some(step), None) => format!(" (step {step})"),
        (None, Some(seq)) => format!(" (log entry {seq})"),
        (None, None) => String::new(),
    };
    let record = match (&finding.id, finding.seq) {
        (Some(id), _) => Some(format!("{id}{place}")),
        (None, Some(seq)) => Some(format!("log entry {seq}")),
        (None, None) => None,
    };
    let lines = [
        ("table", Some(finding.table.to_string())),
        ("record", record),
        ("field", finding.field.clone()),
        ("expected", finding.expected.clone()),
        ("found", finding.actual.clone()),
        // Where there is no value to compare, the sentence says what is wrong.
        // So it does for a finding about the log as a whole.
        // Of a record as a whole it says which fields other hashes tell apart.
        (
            "what",
            (finding.field.as_deref().is_none_or(|field| field == "leaf_hash") || finding.table == "log")
                .then(|| finding.message.clone()),
        ),
    ];
    for (name, value) in lines {
        let Some(value) = value else { continue };
        for (index, line) in wrap(&visible(&value), width.saturating_sub(13).max(66)).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            block.push_str(&format!("   {} {line}\n", palette.faint(&format!("{name:<8}"))));
        }
    }
    block
}
