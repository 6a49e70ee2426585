//! `/log`: the log, what was stated about it, and its newest entries.

use std::collections::HashMap;

use cairn::core::entry::{EntryKind, KeyOp};
use cairn::{EntryHead, LogHead, RecordedKeyChange, SeenHead};
use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use super::about::about;
use super::stated::{self, Checkpoint, WitnessState};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::piece::{entry, hash, short_hash, time_text};
use crate::web::text::text;

const PAGE: u64 = 100;
const CHECKPOINTS: u64 = 20;

pub(super) struct Overview;

#[derive(Serialize)]
pub(super) struct Data {
    #[serde(flatten)]
    head: LogHead,
    /// Entries after the newest checkpoint.
    uncovered: u64,
    checkpoints: Vec<Checkpoint>,
    /// Why the last checkpoint was not made or not signed, if so.
    checkpoint_failure: Option<String>,
    key_changes: Vec<RecordedKeyChange>,
    standing: String,
    #[serde(skip)]
    stands_well: bool,
    remembered: Option<Remembered>,
    /// Copies of the log, seen elsewhere when the server started, that it does not extend.
    copies: Vec<String>,
    witnesses: Vec<WitnessState>,
    /// Newest first.
    entries: Vec<EntryHead>,
    next: Option<u64>,
    #[serde(skip)]
    older: bool,
    /// What the bytes of an entry say, where its head does not say enough.
    #[serde(skip)]
    leaves: HashMap<u64, Value>,
}

#[derive(Serialize)]
struct Remembered {
    size: u64,
    at: String,
}

impl Page for Overview {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let head = cairn.log_head()?;
        let before = asked.query_number("before")?;
        let end = before.unwrap_or(head.size).min(head.size);
        let first = end.saturating_sub(PAGE);
        let mut entries = cairn.entries_since(first, end - first)?;
        entries.reverse();
        let mut leaves = HashMap::new();
        for one in entries.iter().filter(|one| matches!(one.kind, EntryKind::Event | EntryKind::Redaction)) {
            let leaf = cairn.entry(one.seq)?.and_then(|entry| serde_json::from_str(&entry.leaf).ok());
            leaves.extend(leaf.map(|leaf| (one.seq, leaf)));
        }
        let checkpoints = stated::checkpoints(cairn, &head.origin, CHECKPOINTS)?;
        let remembered = |seen: &SeenHead| Remembered { size: seen.size, at: seen.at.clone() };
        Ok(Data {
            uncovered: head.size.saturating_sub(checkpoints.first().map_or(0, |newest| newest.size)),
            checkpoints,
            checkpoint_failure: cairn.checkpoint_failure(),
            key_changes: cairn.key_changes()?,
            stands_well: cairn.standing().is_sound(),
            standing: cairn.standing().words(),
            remembered: cairn.standing().head().map(remembered),
            copies: cairn.copies().iter().map(|copy| copy.words()).collect(),
            witnesses: stated::witnesses(&head.origin),
            entries,
            next: (first > 0).then_some(first),
            older: end < head.size,
            leaves,
            head,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let main = html! {
            h1 { "Log" }
            p.faint {
                "Everything recorded, in one order that nothing can be put into later. "
                a href="/integrity" { "Integrity" } " tells whether what is stored still is what was recorded."
            }
            div data-part="log" {
                @if !data.older { (head(data)) (checkpoints(data)) (keys(data)) (witnesses(data)) }
                h2 #entries { "Entries" }
                (entries(data))
            }
        };
        Shown { title: "Log".to_string(), main, live: if data.older { Live::Nothing } else { Live::Log } }
    }
}

fn head(data: &Data) -> Markup {
    html! {
        ul.figures {
            li { b { (data.head.size) } "entries" }
            li { b { (data.uncovered) } "after the newest checkpoint" }
        }
        dl.facts {
            dt { "Name" } dd { code { (text(&data.head.origin)) } }
            dt { "Root" } dd { (hash(&data.head.root)) span.small.faint { " as stored, over all " (data.head.size) } }
            dt { "Remembered" }
            dd {
                @if data.stands_well { (text(&data.standing)) } @else { strong.bad { "✗ " (text(&data.standing)) } }
                @if let Some(seen) = &data.remembered { " (" (count(seen.size, "entry")) " on " (time_text(&seen.at)) ")" }
                @for copy in &data.copies { p.hint { (text(copy)) } }
            }
        }
        @if let Some(failure) = &data.checkpoint_failure { p.wrong { "The last checkpoint: " (text(failure)) } }
    }
}

fn checkpoints(data: &Data) -> Markup {
    html! {
        h2 { "Checkpoints" }
        @if data.checkpoints.is_empty() {
            p.faint { "None yet. One is made every now and then while something is recorded; " code { "cairn checkpoint" } " makes one now." }
        } @else {
            p.faint { "Each states size and root of the log. A signature shows here as the checkpoint bears it; whether it holds, " a href="/integrity" { "Integrity" } " tells." }
            div.scroll tabindex="0" role="region" aria-label="Checkpoints" {
                table.checkpoints {
                    thead { tr { th.number { "Entries" } th { "Remembered" } th { "Root" } th { "Signature of key" } th { "Cosigned by" } } }
                    tbody {
                        @for one in &data.checkpoints {
                            tr {
                                td.number data-label="entries" { (one.size) }
                                td data-label="remembered" { @match &one.at { Some(at) => (time_text(at)), None => span.faint { "–" } } }
                                td data-label="root" { (short_hash(&one.root)) }
                                td data-label="signature of key" { @if one.keys.is_empty() { span.faint { "nobody" } } @else { code { (text(&one.keys.join(", "))) } } }
                                td data-label="cosigned by" { @if one.cosigned_by.is_empty() { span.faint { "–" } } @else { (text(&one.cosigned_by.join(", "))) } }
                            }
                        }
                    }
                }
            }
            @if data.checkpoints.len() as u64 == CHECKPOINTS {
                p.small.faint { "The newest " (CHECKPOINTS) "; " code { "cairn log -n 1000" } " lists more." }
            }
        }
    }
}

fn keys(data: &Data) -> Markup {
    html! {
        h2 { "Keys" }
        @if data.key_changes.is_empty() { p.faint { "The log names no key: its checkpoints are not signed." } }
        ul.bare.keys {
            @for change in &data.key_changes {
                li {
                    (entry(change.seq)) " "
                    strong {
                        @match change.op { KeyOp::Add => "added", KeyOp::Retire => "retired", KeyOp::Revoke => "revoked" }
                    }
                    " " (time_text(&change.created_at))
                    @if let Some(size) = change.last_trusted_size { ", its signatures count up to " (count(size, "entry")) }
                    @if let Some(reason) = &change.reason { ": " (text(reason)) }
                    div { code.hash { (text(&change.vkey)) } }
                }
            }
        }
    }
}

fn witnesses(data: &Data) -> Markup {
    html! {
        h2 { "Witnesses" }
        @if data.witnesses.is_empty() {
            p.faint { "None: nobody outside would notice if the whole log were replaced by a shorter one. " code { "cairn witness add --help" } " shows what can be one." }
        }
        ul.bare.keys {
            @for witness in &data.witnesses {
                li {
                    strong { (text(&witness.name)) } " " span.faint { (witness.kind) } " "
                    @match (&witness.size, &witness.at) {
                        (Some(size), Some(at)) => { "took the head of " (count(*size, "entry")) " on " (time_text(at)) }
                        _ => span.faint { "has taken no head yet" },
                    }
                    @if witness.contradicts { " " span.state.removed { "✗ has seen another past of this log" } }
                    @if witness.failures > 0 {
                        " " span.state.modified { "! failed " (count(witness.failures.into(), "time")) " in a row" }
                        " " code.small { "cairn witness check" }
                    }
                }
            }
        }
    }
}

fn entries(data: &Data) -> Markup {
    html! {
        @if data.older { p { a.button.quiet href="/log#entries" { "Newest entries" } } }
        div.scroll tabindex="0" role="region" aria-label="Entries" {
            table.entries {
                thead { tr { th.number { "Entry" } th { "Kind" } th { "What it carries" } th { "Recorded" } th { "Leaf hash" } } }
                tbody {
                    @for one in &data.entries {
                        tr {
                            td.number { (entry(one.seq)) }
                            td { span.chip { (text(one.kind.as_str())) } }
                            td.what { (about(one, data.leaves.get(&one.seq))) }
                            td { @if let Some(at) = &one.timestamp { (time_text(at)) } }
                            td { (short_hash(&one.leaf_hash)) }
                        }
                    }
                }
            }
        }
        @if let Some(next) = data.next {
            p.more { a.button.quiet rel="next" href=(format!("/log?before={next}#entries")) { "Older entries" } }
        }
    }
}
