//! `cairn verify`: recompute everything, and name what does not fit.

use cairn::core::note::VerifyingKey;
use cairn::{
    Cairn, Coverage, Finding, Outside, OutsideKey, RedactedRecord, Report, Scope, Sha, THIS_MACHINE,
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
    match (report.valid(), print(&report, app)) {
        (true, printed) => printed.map(|()| Outcome::Fine),
        // The exit code must tell, even to a caller that reads nothing else.
        (false, _) => Ok(Outcome::FoundSomething),
    }
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
        ("what", (finding.field.is_none() || finding.table == "log").then(|| finding.message.clone())),
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
