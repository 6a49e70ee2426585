//! How the log stands, in words: what was verified and when, how far signatures reach, and what was not verified.

use cairn::{THIS_MACHINE, Timestamp};
use maud::{Markup, html};
use serde::Serialize;

use super::parts::when;
use crate::serve::{Asked, Badge};
use crate::term::count;
use crate::web::link;
use crate::web::text::text;

#[derive(Serialize)]
pub(super) struct Standing {
    #[serde(flatten)]
    badge: Badge,
    /// What the newest verification found; none before the first.
    found: Option<Found>,
}

/// The parts of a report that belong on the first page.
#[derive(Serialize)]
struct Found {
    message: String,
    /// What is wrong: the first of it.
    findings: Vec<Wrong>,
    /// Entries that the newest checkpoint covers.
    stated: Option<u64>,
    /// Entries that are signed for, and by whom.
    signed: Option<u64>,
    signed_by: Option<String>,
    /// Entries that somebody outside has seen, and who.
    seen: Option<u64>,
    seen_by: Option<String>,
    seen_at: Option<Timestamp>,
    not_verified: Vec<String>,
}

/// Something that is not as it was recorded.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Wrong {
    /// The thought that it is about.
    id: Option<String>,
    pub(super) message: String,
}

/// Findings on the first page.
const FINDINGS: usize = 5;

/// What the newest verification found wrong, as far as it names thoughts.
pub(super) struct Changed {
    named: Vec<Wrong>,
    /// Whether it found more than it names.
    pub(super) more: bool,
}

impl Changed {
    pub(super) fn of(asked: &Asked) -> Changed {
        let checked = asked.site.integrity.newest().checked;
        let report = checked.as_ref().and_then(|checked| checked.outcome.as_ref().ok());
        Changed {
            named: report.map(|report| wrong(report, usize::MAX)).unwrap_or_default(),
            more: report.is_some_and(|report| report.findings_total > report.findings.len() as u64),
        }
    }

    /// What is wrong with a thought.
    pub(super) fn with(&self, id: &str) -> Vec<Wrong> {
        self.named.iter().filter(|wrong| wrong.id.as_deref() == Some(id)).cloned().collect()
    }
}

/// What must be said beside records that bear no mark, if more is wrong than is named.
pub(super) fn more_changed() -> Markup {
    html! {
        p.wrong { "The last verification found more than it names, so what bears no mark may have been changed too. " a href="/integrity" { "What was found" } }
    }
}

fn wrong(report: &cairn::Report, most: usize) -> Vec<Wrong> {
    let first = report.findings.iter().take(most);
    first.map(|finding| Wrong { id: finding.id.clone(), message: finding.message.clone() }).collect()
}

impl Standing {
    pub(super) fn of(asked: &Asked) -> Standing {
        let integrity = &asked.site.integrity;
        let report = |report: &cairn::Report| {
            let coverage = report.coverage.as_ref();
            let outside = coverage.and_then(|coverage| coverage.outside.as_ref());
            Found {
                message: report.message(),
                findings: wrong(report, FINDINGS),
                stated: coverage.map(|coverage| coverage.stated),
                signed: coverage.map(|coverage| coverage.signed),
                signed_by: coverage.and_then(|coverage| coverage.signed_by.clone()),
                seen: outside.map(|outside| outside.size),
                seen_by: outside.map(|outside| outside.witness.to_string()),
                seen_at: outside.and_then(|outside| Timestamp::parse(outside.at.clone()).ok()),
                not_verified: report.notes.clone(),
            }
        };
        let found = integrity.newest().checked.and_then(|checked| checked.outcome.as_ref().ok().map(report));
        Standing { badge: integrity.badge(), found }
    }

    fn headline(&self) -> String {
        match (self.badge.class(), self.badge.entries) {
            ("verified", Some(entries)) => {
                format!("Nothing was changed: {} verified", count(entries, "entry"))
            }
            ("changed", _) => "What is stored is not what was recorded".to_string(),
            ("failed", _) => "The log could not be verified".to_string(),
            _ => "The log is being verified".to_string(),
        }
    }

    pub(super) fn show(&self) -> Markup {
        html! {
            section.standing.(self.badge.class()) aria-label="Integrity" {
                span.sign aria-hidden="true" { (self.badge.sign()) }
                div {
                    p.lead { (self.headline()) }
                    @match &self.found {
                        Some(found) => (found.show(&self.badge)),
                        None => p { (text(&self.badge.explained)) },
                    }
                    p.small {
                        a href="/integrity" { "What was verified, and how" }
                        @if self.badge.running { span.faint { " · a verification is running" } }
                    }
                }
            }
        }
    }
}

impl Found {
    fn show(&self, badge: &Badge) -> Markup {
        let entries = badge.entries.unwrap_or_default();
        let up_to = |size: u64| match size {
            0 => "nothing".to_string(),
            size if size >= entries => format!("all {}", count(size, "entry")),
            size => format!("the first {}", count(size, "entry")),
        };
        html! {
            @if !self.findings.is_empty() {
                ul {
                    @for Wrong { id, message } in &self.findings {
                        li {
                            (text(message))
                            @if let Some(id) = id { " " a href=(link::thought(id)) { "Look at it" } }
                        }
                    }
                }
            }
            dl.facts {
                dt { "Recomputed" }
                dd {
                    @if self.findings.is_empty() {
                        (text(self.message.trim_end_matches(" recomputed, nothing was changed"))) ", "
                    }
                    @if let Some(at) = &badge.verified_at { (when(at)) " UTC" }
                }
                @if let Some(stated) = self.stated { dt { "Checkpoint" } dd { "covers " (up_to(stated)) } }
                @if let Some(signed) = self.signed {
                    dt { "Signed" }
                    dd {
                        (up_to(signed))
                        @if let Some(by) = &self.signed_by { " " span title=(text(by)) { "by " (text(&shortened(by))) } }
                    }
                }
                dt { "Seen outside" }
                dd {
                    @match (self.seen, &self.seen_by) {
                        (Some(size), Some(by)) if by == THIS_MACHINE => {
                            "remembered on this machine: " (up_to(size)) @if let Some(at) = &self.seen_at { ", " (when(at)) " UTC" }
                        }
                        (Some(size), Some(by)) => {
                            (up_to(size)) " by " (text(by)) @if let Some(at) = &self.seen_at { ", " (when(at)) " UTC" }
                        }
                        _ => "by nobody",
                    }
                }
            }
            @if !self.not_verified.is_empty() {
                details #not-verified {
                    summary { "Not verified: " (count(self.not_verified.len() as u64, "thing")) }
                    ul { @for note in &self.not_verified { li { (text(note)) } } }
                }
            }
        }
    }
}

/// `name+id+key (where it is known from)` as `key id (where it is known from)`.
fn shortened(by: &str) -> String {
    let (key, from) =
        by.split_once(" (").map_or((by, String::new()), |(key, from)| (key, format!(" ({from}")));
    match key.split('+').nth(1) {
        Some(id) => format!("key {id}{from}"),
        None => by.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_its_id() {
        assert_eq!(
            shortened("cairn/x+15f7a01f+AUdr+c1r/ (remembered here)"),
            "key 15f7a01f (remembered here)"
        );
        assert_eq!(shortened("somebody"), "somebody");
    }
}
