//! Small pieces that many pages show in the same way.

use cairn::{ContextHead, Damage, Redaction, Sha, Summary, Timestamp};
use maud::{Markup, html};

use super::link;
use super::text::text;
use crate::term::{first_line, minute};

/// Characters of a hash that are enough to recognise it by.
const SHORT: usize = 12;

/// When something was recorded, to the minute; the whole of it to whoever points at it.
pub(crate) fn time(at: &Timestamp) -> Markup {
    html! { time datetime=(at.as_str()) title=(at.as_str()) { (minute(at)) } }
}

/// The same of a time that is only text, and may be anything.
pub(crate) fn time_text(at: &str) -> Markup {
    match Timestamp::parse(at) {
        Ok(at) => time(&at),
        Err(_) => html! { (text(at)) },
    }
}

/// A hash, whole.
pub(crate) fn hash(hash: &Sha) -> Markup {
    html! { code.hash { (hash.to_string()) } }
}

/// The beginning of a hash, to recognise it by; whole to whoever points at it.
pub(crate) fn short_hash(hash: &Sha) -> Markup {
    let whole = hash.to_string();
    html! { code.hash title=(whole) { (whole[..SHORT]) "…" } }
}

/// Where an entry stands in the log.
pub(crate) fn entry(seq: u64) -> Markup {
    html! { a.entry href=(link::entry(seq)) { "#" (seq) } }
}

/// One thought in a list: what kind it is, its first line, who and when.
pub(crate) fn thought(thought: &Summary, session: &str) -> Markup {
    let kind = thought.kind.as_str();
    html! {
        span.kind.(kind) { (kind) } " "
        a href=(link::thought(thought.id.as_str())) {
            @match &thought.redacted {
                Some(_) => "(redacted)",
                None => (text(&first_line_or(&thought.content, "(empty)"))),
            }
        }
        div.small.faint {
            (text(thought.agent_id.as_str())) " · " (time(&thought.timestamp)) " · session "
            a href=(link::session(session)) { (text(session)) }
        }
    }
}

fn first_line_or(content: &str, empty: &str) -> String {
    let line = first_line(content);
    if line.is_empty() { empty.to_string() } else { line }
}

/// What stands in the place of a plan that was redacted.
pub(crate) fn redacted_plan(head: &ContextHead) -> Markup {
    html! { @if let Some(redaction) = &head.redacted { p.faint { "The plan was " (redacted(redaction)) "." } } }
}

/// That something was redacted: by whom, when and why.
pub(crate) fn redacted(redaction: &Redaction) -> Markup {
    let Redaction { by, at, reason } = redaction;
    html! { "redacted by " (text(by)) " on " (time(at)) ": " (text(reason)) }
}

/// Names records that belong on a page and are not shown, because they do not match the log.
pub(super) fn damaged_records(damaged: &[Damage]) -> Markup {
    html! {
        @if !damaged.is_empty() {
            div.wrong role="alert" {
                p { b { "Damaged records are not shown." } " " code { "cairn verify" } " names what was changed." }
                @for damage in damaged { p.small { (text(&damage.message)) } }
            }
        }
    }
}
