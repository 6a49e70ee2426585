//! What a verification found, each finding with its place.

use cairn::core::entry::EntryKind;
use cairn::{Finding, Report};
use maud::{Markup, html};

use crate::term::count;
use crate::web::link;
use crate::web::piece::{entry, redacted};
use crate::web::text::text;

/// Every finding that the report names, and how many more there are.
pub(super) fn findings(report: &Report) -> Markup {
    let more = report.findings_total.saturating_sub(report.findings.len() as u64);
    html! {
        ol.findings { @for finding in &report.findings { li.card { (one(finding)) } } }
        @if more > 0 { p { "… and " (count(more, "more finding")) "; " code { "cairn verify" } " names the first ones too." } }
    }
}

fn one(finding: &Finding) -> Markup {
    html! {
        h3 { (finding.reason.as_str()) }
        @if finding.field.is_none() { p { (text(&finding.message)) } }
        dl.facts {
            dt { "Table" } dd { (text(finding.table)) }
            @if finding.id.is_some() || finding.seq.is_some() { dt { "Record" } dd { (record(finding)) } }
            @if let Some(field) = &finding.field { dt { "Field" } dd { code { (text(field)) } } }
            @if let Some(expected) = &finding.expected { dt { "Expected" } dd.hash { (text(expected)) } }
            @if let Some(actual) = &finding.actual { dt { "Found" } dd.hash.bad { (text(actual)) } }
        }
    }
}

/// Which record it is in, as a link where there is such a page.
fn record(finding: &Finding) -> Markup {
    html! {
        @if let Some(id) = &finding.id {
            @match (finding.table, id.parse()) {
                ("thought", _) => a href=(link::thought(id)) { code { (text(id)) } },
                ("brief", _) => a href=(link::brief(id)) { code { (text(id)) } },
                ("snapshot" | "context", Ok(number)) => a href=(link::context(number)) { "snapshot " (number) },
                _ => code { (text(id)) },
            }
            " "
        }
        @if let Some(step) = finding.step_index { "step " (step) " " }
        @if let Some(seq) = finding.seq { "log entry " (entry(seq)) }
    }
}

/// What was blanked, and said to be: no finding, and not hidden either.
pub(super) fn redactions(report: &Report) -> Markup {
    html! {
        @if report.redacted_total > 0 {
            h2 { "Redacted" }
            p.faint { "Their text is gone, with an entry of the log that says so. Places, links and hashes still verify; the text cannot be held against its hash any more, unless it was sealed." }
            ul.bare.keys {
                @for one in &report.redacted {
                    li {
                        (text(one.kind.as_str())) " "
                        @match one.kind {
                            EntryKind::Brief => a href=(link::brief(&one.id)) { code { (text(&one.id)) } },
                            _ => a href=(link::thought(&one.id)) { code { (text(&one.id)) } },
                        }
                        " " (entry(one.seq)) ": " (redacted(&one.redaction))
                        @if one.sealed { span.faint { " (sealed: every hash was recomputed)" } }
                    }
                }
            }
            @if report.redacted_total > report.redacted.len() as u64 {
                p.faint { "The first " (report.redacted.len()) " of " (report.redacted_total) "." }
            }
        }
    }
}
