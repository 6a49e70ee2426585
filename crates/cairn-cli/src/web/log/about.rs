//! What an entry of the log carries, and where that is shown.

use cairn::EntryHead;
use cairn::core::entry::EntryKind;
use maud::{Markup, html};
use serde_json::Value;

use crate::web::link;
use crate::web::text::text;

/// What an entry carries, in a few words that lead there. The bytes of the entry tell more of some kinds than its head.
pub(super) fn about(entry: &EntryHead, leaf: Option<&Value>) -> Markup {
    let told = |name: &str| leaf.map(|leaf| &leaf[name]);
    let word = |name: &str| told(name).and_then(Value::as_str);
    let session = |session: &Option<String>| {
        html! { @if let Some(session) = session { " in " a href=(link::session(session)) { (text(session)) } } }
    };
    let id = entry.id.as_deref().unwrap_or_default();
    let session_id = entry.session_id.as_deref().unwrap_or_default();
    match entry.kind {
        EntryKind::Thought => html! {
            a href=(link::thought(id)) { "thought " code { (text(id)) } } (session(&entry.session_id))
            @if let Some(context) = entry.context_id { ", on " a href=(link::context(context)) { "snapshot " (context) } }
        },
        EntryKind::Brief => html! {
            a href=(link::brief(id)) { "brief " code { (text(id)) } } (session(&entry.session_id))
        },
        EntryKind::Snapshot => html! {
            @if let Some(context) = entry.context_id { a href=(link::context(context)) { "snapshot " (context) } }
            @if let Some(roadmap) = &entry.roadmap_id { " of " a href=(link::roadmap(roadmap)) { (text(roadmap)) } }
        },
        EntryKind::Event => html! {
            @if let Some(event) = word("event") { (text(&event.replace('_', " "))) " " }
            @match told("turn").and_then(Value::as_u64).filter(|turn| *turn > 0) {
                Some(turn) => { "in " a href=(link::turn(session_id, turn)) { "turn " (turn) } " of " }
                None => "in ",
            }
            a href=(link::turns(session_id)) { (text(session_id)) }
        },
        EntryKind::Redaction => html! {
            "blanked "
            @match (word("target_kind"), told("target_seq").and_then(Value::as_u64)) {
                (Some("thought"), _) => a href=(link::thought(id)) { "thought " code { (text(id)) } },
                (Some("brief"), _) => a href=(link::brief(id)) { "brief " code { (text(id)) } },
                (_, Some(target)) => a href=(link::entry(target)) { "entry " (target) },
                _ => code { (text(id)) },
            }
        },
        EntryKind::Review => html! {
            "a review of "
            @match (word("target_kind"), word("target_id")) {
                (Some("thought"), Some(target)) => a href=(link::thought(target)) { "thought " code { (text(target)) } },
                (Some("brief"), Some(target)) => a href=(link::brief(target)) { "brief " code { (text(target)) } },
                _ => "another record",
            }
        },
        EntryKind::Key => html! { "a change of the keys that sign this log" },
        EntryKind::Genesis => html! { "the log begins" },
        EntryKind::Continuation => html! { "it continues another log" },
    }
}
