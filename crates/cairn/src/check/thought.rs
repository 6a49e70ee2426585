//! Checking a thought: its positions, its links, and the records that it names.

use cairn_core::entry::{Parts, ThoughtEntry};
use cairn_core::thought::{TaskLink, ThoughtType, WrongLink, chain_hash, task_hash, wrong_links};

use super::{Before, Known, Other, Result, Wrong, misplaced, wrong};
use crate::seal;
use crate::store::{Cause, Reason};

const T: &str = "thought";

/// The first thing wrong with a thought.
pub(super) fn check(
    before: &mut dyn Before,
    entry: &ThoughtEntry<'_>,
    parts: &Parts<'_>,
    buffer: &mut Vec<u8>,
) -> Result<Option<Wrong>> {
    let task = || [Cause::Of("task", entry.task_id.to_string()), Cause::Index(T)];
    let session = || [Cause::Of("session", entry.session_id.to_string()), Cause::Index(T)];
    let place =
        misplaced(T, "position", before.in_task(entry)?, entry.position).map(|wrong| wrong.unless(task()));
    if place.is_some() {
        return Ok(place);
    }
    let place = misplaced(T, "step_index", before.in_session(entry)?, entry.step_index);
    if place.is_some() {
        return Ok(place.map(|wrong| wrong.unless(session())));
    }
    if let Some(content) = parts.text.as_deref().filter(|content| seal::is_sealed(content))
        && let Some(wrong) = wrong_key(before, entry, content)?
    {
        return Ok(Some(wrong));
    }
    let parent = match &entry.parent_id {
        None => Some(None),
        Some(_) => match before.parent(entry)? {
            Known::Is(Other { same_session: false, .. }) => {
                let expected = "a thought of the same session";
                return Ok(Some(wrong(
                    Reason::ChainHashMismatch,
                    T,
                    "parent_id",
                    expected,
                    "one of another",
                )));
            }
            Known::Is(parent) => Some(Some(parent.chain_hash)),
            Known::Missing => {
                let missing = wrong(Reason::MissingRecord, T, "parent_id", "an earlier thought", "missing");
                return Ok(Some(missing.unless(session())));
            }
            Known::Outside => None,
        },
    };
    if let Some(parent) = parent {
        let link = chain_hash(&entry.content_hash, parent.as_ref());
        if link != entry.chain_hash {
            let other = wrong(Reason::ChainHashMismatch, T, "chain_hash", link, entry.chain_hash);
            return Ok(Some(if parent.is_some() { other.unless(session()) } else { other }));
        }
    }
    match before.task_hash(entry)? {
        Known::Is(hash) if hash != entry.prev_hash => {
            let other = wrong(Reason::PrevHashMismatch, T, "prev_hash", hash, entry.prev_hash);
            return Ok(Some(other.unless(task())));
        }
        Known::Missing => {
            let expected = format!("a thought at position {} of its task", entry.position.saturating_sub(1));
            let missing = wrong(Reason::MissingRecord, T, "position", expected, "none");
            return Ok(Some(missing.unless(task())));
        }
        Known::Is(_) | Known::Outside => {}
    }
    // Of a blanked content it cannot be recomputed: the entry and the successor's `prev_hash` vouch for it.
    if let Some(content) = &parts.text {
        let link = TaskLink {
            content,
            id: &entry.id,
            prev_hash: entry.prev_hash,
            task_id: &entry.task_id,
            timestamp: &entry.timestamp,
            kind: entry.kind.as_str(),
        };
        let hash = task_hash(&link, buffer);
        if hash != entry.hash {
            return Ok(Some(wrong(Reason::HashMismatch, T, "hash", hash, entry.hash)));
        }
    }
    names(before, entry)
}

/// A key that does not open a sealed content, or that is missing without a redaction.
fn wrong_key(before: &mut dyn Before, entry: &ThoughtEntry<'_>, content: &str) -> Result<Option<Wrong>> {
    let (reason, expected, actual) = match before.seal_key(entry)? {
        Known::Outside => return Ok(None),
        Known::Is(key) if seal::open(&entry.id, content, &key).is_some() => return Ok(None),
        Known::Is(_) => (Reason::ContentHashMismatch, "the key that opens its content", "another"),
        Known::Missing => {
            (Reason::MissingRecord, "the key of its content, or a redaction in the log", "neither")
        }
    };
    Ok(Some(wrong(reason, "seal", "key", expected, actual)))
}

/// A record that a thought names and that was not there before it, or that it may not name.
fn names(before: &mut dyn Before, entry: &ThoughtEntry<'_>) -> Result<Option<Wrong>> {
    if let Some(id) = entry.context_id
        && let Known::Missing = before.context(entry, id)?
    {
        let expected = format!("an earlier snapshot of the number {id}");
        let missing = wrong(Reason::MissingRecord, T, "context_id", expected, "none");
        return Ok(Some(missing.unless([
            Cause::Table("context"),
            Cause::Index("context"),
            Cause::MissingEntries,
        ])));
    }
    if let Some(id) = &entry.brief_id
        && let Known::Missing = before.brief(entry, id)?
    {
        let expected = "an earlier brief of the same session";
        let missing = wrong(Reason::MissingRecord, T, "brief_id", expected, "none");
        let session = Cause::Of("session", entry.session_id.to_string());
        return Ok(Some(missing.unless([Cause::Index("brief"), Cause::Index(T), session])));
    }
    if entry.supersedes.is_empty() && entry.rejects.is_empty() && entry.applies_to.is_empty() {
        return Ok(None);
    }
    let wrong_list = wrong_links(entry.kind, &entry.supersedes, &entry.rejects, &entry.applies_to);
    if let Some(WrongLink { field, why, .. }) = wrong_list.into_iter().next() {
        return Ok(Some(wrong(Reason::LeafMismatch, T, field, "what can be recorded there", why)));
    }
    let supersedes = entry.supersedes.iter().map(|id| ("supersedes", id));
    for (field, id) in supersedes.chain(entry.rejects.iter().map(|id| ("rejects", id))) {
        let other = match before.named(entry, field, id)? {
            Known::Is(other) => other,
            Known::Outside => continue,
            Known::Missing => {
                let expected = format!("an earlier thought `{id}`");
                let missing = wrong(Reason::MissingRecord, T, field, expected, "none");
                // Its own row may be missing.
                let causes = [Cause::Table(T), Cause::Index(T), Cause::MissingEntries];
                return Ok(Some(missing.unless(causes)));
            }
        };
        if field == "supersedes" && other.kind != ThoughtType::Decision {
            let actual = format!("`{id}` of type {}", other.kind);
            return Ok(Some(wrong(Reason::LeafMismatch, T, field, "decisions", actual)));
        }
        if field == "rejects" && !other.same_session {
            let actual = format!("`{id}` of another session");
            return Ok(Some(wrong(Reason::LeafMismatch, T, field, "thoughts of the same session", actual)));
        }
    }
    Ok(None)
}
