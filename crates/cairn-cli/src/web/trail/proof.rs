//! The proof that a record is in the log, as the browser is given it to check for itself.

use cairn::core::entry::KeyOp;
use cairn::{Cairn, Proof};
use maud::{Markup, html};
use serde::Serialize;

use super::thought::Data;
use crate::error::CliError;
use crate::term::count;
use crate::web::link;
use crate::web::text::text;

/// A key that the log itself names. Whoever could change the log could have named another, so it proves nothing until
/// it is compared with what the signer shows.
#[derive(Serialize)]
pub(in crate::web) struct SigningKey {
    pub(in crate::web) vkey: String,
    /// The eight digits that stand for it in signatures.
    pub(in crate::web) id: String,
    /// Set if it was retired or revoked: up to which size of the log its signatures count.
    pub(in crate::web) last_trusted_size: Option<u64>,
}

/// Why there is no proof yet.
#[derive(Serialize)]
pub(in crate::web) struct Unproven {
    /// Entries that the newest checkpoint covers, if there is one.
    pub(in crate::web) stated: Option<u64>,
}

/// The proof of an entry, if a checkpoint covers it. To make one is to write, which no reader does.
pub(in crate::web) fn of(
    cairn: &Cairn,
    seq: u64,
) -> Result<Result<(Proof, Vec<SigningKey>), Unproven>, CliError> {
    match cairn.newest_checkpoint()? {
        Some(newest) if newest.size > seq => {}
        newest => return Ok(Err(Unproven { stated: newest.map(|newest| newest.size) })),
    }
    let proof = cairn.prove(seq)?;
    let changes = cairn.key_changes()?;
    let signed = |vkey: &str| proof.checkpoint.signed_by.iter().any(|by| vkey.starts_with(&format!("{by}+")));
    let mut keys: Vec<SigningKey> = Vec::new();
    for change in changes.iter().filter(|change| change.op == KeyOp::Add && signed(&change.vkey)) {
        let ended = changes.iter().rfind(|later| later.op != KeyOp::Add && later.vkey == change.vkey);
        keys.push(SigningKey {
            id: change.vkey.split('+').nth(1).unwrap_or_default().to_string(),
            vkey: change.vkey.clone(),
            last_trusted_size: ended.and_then(|ended| ended.last_trusted_size),
        });
    }
    Ok(Ok((proof, keys)))
}

/// The section that the script fills. Without scripts it says what there is to check, and how else.
pub(super) fn show(data: &Data) -> Markup {
    let id = data.thought.id.as_str();
    html! {
        @match (&data.proof, &data.unproven) {
            (Some(proof), _) => section.card.proof #proof data-proof={ (link::thought(id)) ".json" } {
                h2 { "Proof" }
                p {
                    "This record is entry " a href=(link::entry(proof.seq)) { (proof.seq) } " of the log, and the checkpoint of "
                    (count(proof.checkpoint.size, "entry")) " covers it"
                    @if proof.checkpoint.signed_by.is_empty() { ". Nobody has signed that checkpoint." }
                    @else { ", signed by " code { (text(&proof.checkpoint.signed_by.join(", "))) } "." }
                }
                p.without-script {
                    "The browser can check this proof itself, if scripts are allowed: it recomputes every hash and the signature. Elsewhere, run "
                    code { "cairn prove " (text(id)) } "."
                }
                ol.checks aria-live="polite" {}
                (limits(data))
                details #proof-data {
                    summary { "The proof itself" }
                    h3 { "Entry" span.faint.small { ": the exact bytes that are hashed" } }
                    pre tabindex="0" { (text(&proof.leaf)) }
                    h3 { "Path" span.faint.small { ": the hashes beside its way to the root, lowest first" } }
                    @if proof.proof.is_empty() { p.faint { "None: the log has one entry." } }
                    ol.path { @for hash in &proof.proof { li.hash { (hash.to_string()) } } }
                    h3 { "Checkpoint" span.faint.small { ": name of the log, size, root, signatures" } }
                    pre tabindex="0" { (text(&proof.checkpoint.note)) }
                    @for key in &data.keys {
                        h3 { "Key " (text(&key.id)) }
                        p.hash { (text(&key.vkey)) }
                    }
                }
            },
            (None, unproven) => section.card.proof #proof {
                h2 { "Proof" }
                p {
                    "No checkpoint covers this record yet"
                    @match unproven.as_ref().and_then(|unproven| unproven.stated) {
                        Some(size) => { ": the newest is of " (count(size, "entry")) ", and this is entry " (data.thought.seq) "." }
                        None => ": none was made so far.",
                    }
                    " One is made every now and then; look again in a minute, or run " code { "cairn prove " (text(id)) } ", which makes one."
                }
            },
        }
    }
}

/// What the proof does not show.
fn limits(data: &Data) -> Markup {
    let thought = &data.thought;
    html! {
        ul.limits {
            @if thought.redacted.is_some() {
                li { "The text was redacted, so it cannot be held against its hash. That a record stood here, by whom, when and with which links, can still be proven; should the text turn up, its hash tells whether it was this one." }
            } @else if thought.sealed {
                li { "The text is sealed: its hashes are those of the encrypted text, which is not shown. " code { "cairn verify" } ", which has the key, checks that it opens." }
            }
            @if thought.metadata.is_some() {
                li { "Metadata is in the entry as a salted commitment; the salt stays in the database, where " code { "cairn verify" } " checks it." }
            }
            @for key in &data.keys {
                li {
                    "The key " code { (text(&key.id)) } " comes from this server too. Compare it with what " code { "cairn key show" }
                    " prints where the log is signed, or with what a witness keeps."
                    @if let Some(size) = key.last_trusted_size { " It is no longer in use: its signatures count for the first " (count(size, "entry")) "." }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
