//! `/integrity`: what was verified, how far that reaches, what was found, and what was not verified.

use cairn::{Report, THIS_MACHINE, Timestamp};
use maud::{Markup, html};
use serde::Serialize;

use super::findings::{findings, redactions};
use crate::error::CliError;
use crate::serve::{Asked, Badge, Live, Page, Shown, State};
use crate::term::count;
use crate::web::piece::{hash, time, time_text};
use crate::web::text::text;

pub(super) struct IntegrityPage;

#[derive(Serialize)]
pub(super) struct Data {
    badge: Badge,
    /// Entries in the log now.
    size: u64,
    /// Entries recorded after the last verification had begun: it did not see them.
    recorded_since: Option<u64>,
    running_since: Option<Timestamp>,
    verified: Option<Verified>,
}

/// The last verification that came to an end.
#[derive(Serialize)]
struct Verified {
    at: Timestamp,
    took_ms: u64,
    /// Why it could not.
    error: Option<String>,
    report: Option<Report>,
}

impl Page for IntegrityPage {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let integrity = &asked.site.integrity;
        let newest = integrity.newest();
        let verified = newest.checked.map(|checked| Verified {
            at: checked.at.clone(),
            took_ms: u64::try_from(checked.took.as_millis()).unwrap_or(u64::MAX),
            error: checked.outcome.as_ref().err().cloned(),
            report: checked.outcome.as_ref().ok().cloned(),
        });
        let size = asked.cairn().log_size()?;
        let seen =
            verified.as_ref().and_then(|verified| verified.report.as_ref()).map(|report| report.log_size);
        Ok(Data {
            badge: integrity.badge(),
            size,
            recorded_since: seen.map(|seen| size.saturating_sub(seen)),
            running_since: newest.running,
            verified,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let report = data.verified.as_ref().and_then(|verified| verified.report.as_ref());
        let main = html! {
            h1 { "Integrity" }
            div data-part="integrity" {
                (verdict(data))
                (again(data))
                @if let Some(report) = report {
                    div.reaches {
                        section.card { h2 { "What was verified" } (verified(data, report)) }
                        section.card { h2 { "How far it reaches" } (reach(report)) }
                        section.card.not-verified { h2 { "What was not verified" } (not_verified(data, report)) }
                    }
                    @if !report.findings.is_empty() { h2 #findings { "Findings" } (findings(report)) }
                    (redactions(report))
                }
            }
        };
        Shown { title: "Integrity".to_string(), main, live: Live::Log }
    }
}

/// The verdict, and nothing beyond what was recomputed.
fn verdict(data: &Data) -> Markup {
    let Badge { state, .. } = data.badge;
    let report = data.verified.as_ref().and_then(|verified| verified.report.as_ref());
    let words = match (state, report) {
        (State::Unknown, _) => {
            "Nothing is known yet: no verification has come to its end since the server started".to_string()
        }
        (State::Verified, Some(report)) => {
            format!("{} recomputed: nothing was found to have changed", count(report.log_size, "entry"))
        }
        (State::Changed, Some(report)) => {
            format!("{}: what is stored is not what was recorded", count(report.findings_total, "finding"))
        }
        _ => "It could not be verified".to_string(),
    };
    html! {
        section.standing.(data.badge.class()) {
            span.sign aria-hidden="true" { (data.badge.sign()) }
            div {
                p.lead { (words) "." }
                @if let Some(verified) = &data.verified {
                    @if let Some(error) = &verified.error { p { (text(error)) "." } }
                    @if let Some(report) = verified.report.as_ref().filter(|report| !report.valid()) { p { (text(&report.message())) "." } }
                    p.small.faint { "Begun " (time(&verified.at)) ", took " (took(verified.took_ms)) "." }
                }
                @if let Some(since) = data.recorded_since.filter(|since| *since > 0) {
                    p.since { strong { (count(since, "entry")) " recorded after this verification" } ": " (if since == 1 { "it is" } else { "they are" }) " not part of it." }
                }
            }
        }
    }
}

fn took(milliseconds: u64) -> String {
    match milliseconds {
        0 => "less than a millisecond".to_string(),
        1..=999 => format!("{milliseconds} ms"),
        _ => format!("{:.1} s", milliseconds as f64 / 1000.0),
    }
}

fn again(data: &Data) -> Markup {
    html! {
        form.again method="post" action="/verify" {
            button { "Verify now" }
            @if let Some(since) = &data.running_since {
                span.running role="status" { "A verification is running since " (time_text(since.as_str())) ". " a href="/integrity" { "Look again" } }
            } @else {
                span.small.faint { "Also verified automatically: at start, a minute after new records, every 10 minutes." }
            }
        }
    }
}

fn verified(data: &Data, report: &Report) -> Markup {
    let parts = [
        (report.records, "thought"),
        (report.contexts, "snapshot"),
        (report.events, "event"),
        (report.briefs, "brief"),
    ];
    html! {
        dl.facts {
            dt { "Entries" } dd { (report.log_size) @if data.size > report.log_size { " of " (data.size) " now" } }
            dt { "Recomputed" }
            dd {
                @if parts.iter().all(|(number, _)| *number == 0) { "nothing but the log itself" }
                @for (at, (number, noun)) in parts.iter().filter(|(number, _)| *number > 0).enumerate() {
                    @if at > 0 { ", " } (count(*number, noun))
                }
            }
            @if let Some(coverage) = &report.coverage { dt { "Checkpoints" } dd { (coverage.checkpoints) ", up to " (count(coverage.stated, "entry")) } }
            dt { "Root" } dd { @match &report.root { Some(root) => (hash(root)), None => "could not be recomputed" } }
        }
    }
}

/// Who vouches for it, and up to where.
fn reach(report: &Report) -> Markup {
    html! {
        @match &report.coverage {
            None => p { "Neither signatures nor witnesses were held against it." },
            Some(coverage) => {
                p.small.faint { "As far as checkpoints and heads were found to hold." }
                dl.facts {
                dt { "Signed" }
                dd {
                    @match &coverage.signed_by {
                        Some(by) => { (up_to(coverage.signed, report.log_size)) ", by " code.hash { (text(by)) } }
                        None => "by nobody whose key is known here",
                    }
                }
                dt { "Seen outside the database" }
                dd {
                    @match &coverage.outside {
                        Some(seen) if seen.witness == THIS_MACHINE => {
                            "remembered on this machine: " (up_to(seen.size, report.log_size)) " on " (time_text(&seen.at)) "; no outside witness yet"
                        }
                        Some(seen) => { (up_to(seen.size, report.log_size)) ", by " (text(&seen.witness)) " on " (time_text(&seen.at)) }
                        None => "by nobody: whoever can write the database could have replaced all of it",
                    }
                }
                @if !coverage.copies.is_empty() {
                    dt { "Copies" }
                    dd { @for copy in &coverage.copies { p { (text(&copy.words())) } } }
                }
            }
            },
        }
    }
}

fn up_to(size: u64, of: u64) -> String {
    if size == of {
        format!("all {}", count(size, "entry"))
    } else {
        format!("the first {size} of {}", count(of, "entry"))
    }
}

/// As prominent as the rest: what nobody should take for granted.
fn not_verified(data: &Data, report: &Report) -> Markup {
    html! {
        ul {
            @for note in &report.notes { li { (text(note)) } }
            @if let Some(since) = data.recorded_since.filter(|since| *since > 0) {
                li { (count(since, "entry")) " recorded after this verification" }
            }
            li.faint { "whether what was recorded is true, and whether everything was recorded: no verification can tell" }
        }
    }
}
