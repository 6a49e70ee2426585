//! `/log/{seq}`: one entry of the log, byte for byte, and its proof.

use cairn::{EntryView, Proof};
use maud::{Markup, html};
use serde::Serialize;
use serde_json::Value;

use super::about::about;
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::link;
use crate::web::piece::{hash, time_text};
use crate::web::text::text;
use crate::web::trail::proof::{self, SigningKey, Unproven};

pub(super) struct Entry;

#[derive(Serialize)]
pub(super) struct Data {
    entry: EntryView,
    /// Entries in the log.
    size: u64,
    /// What `proof.js` checks.
    proof: Option<Proof>,
    keys: Vec<SigningKey>,
    unproven: Option<Unproven>,
}

impl Page for Entry {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, seq) = (asked.cairn(), asked.param_number("seq")?);
        let size = cairn.log_size()?;
        let entry = cairn.entry(seq)?.ok_or_else(|| {
            CliError::not_found(format!("there is no entry {seq}: the log has {}", count(size, "entry")))
                .hint("`/log` lists its entries; the first is entry 0")
        })?;
        let (proof, keys, unproven) = match proof::of(cairn, seq)? {
            Ok((proof, keys)) => (Some(proof), keys, None),
            Err(unproven) => (None, Vec::new(), Some(unproven)),
        };
        Ok(Data { entry, size, proof, keys, unproven })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let (head, leaf) = (&data.entry.head, &data.entry.leaf);
        let fields: Option<Value> = serde_json::from_str(leaf).ok();
        let seq = head.seq;
        let main = html! {
            p.crumbs { a href="/log" { "Log" } " › entry " (seq) }
            h1 { "Entry " (seq) span.faint { " of " (data.size) } }
            p.lead { (about(head, fields.as_ref())) }
            dl.facts {
                dt { "Kind" } dd { span.chip { (text(head.kind.as_str())) } }
                @if let Some(at) = &head.timestamp { dt { "Recorded" } dd { (time_text(at)) } }
                dt { "Leaf hash" } dd { (hash(&head.leaf_hash)) }
            }
            nav.neighbours aria-label="Entries beside this one" {
                @if seq > 0 { a.button.quiet rel="prev" href=(link::entry(seq - 1)) { "← Entry " (seq - 1) } }
                @if seq + 1 < data.size { a.button.quiet rel="next" href=(link::entry(seq + 1)) { "Entry " (seq + 1) " →" } }
            }
            h2 { "What is hashed" }
            p.faint { "The exact bytes of the entry, " (leaf.len()) " of them. Hashes stand for texts, so that a text can be redacted and the proof stays." }
            pre.leaf tabindex="0" { (text(leaf)) }
            (proven(data))
        };
        Shown { title: format!("Entry {seq}"), main, live: Live::Nothing }
    }
}

/// The proof, where the script finds it. Without scripts it says what there is to check, and how else.
fn proven(data: &Data) -> Markup {
    let seq = data.entry.head.seq;
    match &data.proof {
        Some(proof) => html! {
            section.card.proof #proof data-proof={ (link::entry(seq)) ".json" } {
                h2 { "Proof" }
                p {
                    "The checkpoint of " (count(proof.checkpoint.size, "entry")) " covers it"
                    @if proof.checkpoint.signed_by.is_empty() { ". Nobody has signed that checkpoint." }
                    @else { ", with a signature of " code { (text(&proof.checkpoint.signed_by.join(", "))) } "." }
                    " From the leaf hash, " (count(proof.proof.len() as u64, "hash").replace("hashs", "hashes")) " lead to its root."
                }
                p.without-script {
                    "The browser can check this itself, if scripts are allowed. Elsewhere, run " code { "cairn prove " (seq) } "."
                }
                ol.checks aria-live="polite" {}
                details #proof-data {
                    summary { "The proof itself" }
                    h3 { "Path" span.faint.small { ": the hashes beside its way to the root, lowest first" } }
                    @if proof.proof.is_empty() { p.faint { "None: the log has one entry." } }
                    ol.path { @for one in &proof.proof { li.hash { (one.to_string()) } } }
                    h3 { "Checkpoint" span.faint.small { ": name of the log, size, root, signatures" } }
                    pre tabindex="0" { (text(&proof.checkpoint.note)) }
                    @for key in &data.keys {
                        h3 { "Key " (text(&key.id)) }
                        p.hash { (text(&key.vkey)) }
                        p.small.faint {
                            "The log itself names it, so compare it with what " code { "cairn key show" } " prints where the log is signed."
                            @if let Some(size) = key.last_trusted_size { " It is no longer in use: its signatures count up to " (count(size, "entry")) "." }
                        }
                    }
                }
            }
        },
        None => html! {
            section.card.proof #proof {
                h2 { "Proof" }
                p {
                    "No checkpoint covers this entry yet"
                    @match data.unproven.as_ref().and_then(|unproven| unproven.stated) {
                        Some(size) => { ": the newest is of " (count(size, "entry")) "." }
                        None => ": none was made so far.",
                    }
                    " One is made every now and then; " code { "cairn prove " (seq) } " makes one now."
                }
            }
        },
    }
}
