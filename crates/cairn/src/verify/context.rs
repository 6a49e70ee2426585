//! Verifying one snapshot.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Record};

use super::chain::check_entry;
use crate::context::ContextVerdict;
use crate::error::{Error, Result};
use crate::store::Store;

/// Verifies one snapshot: its content, its row, its entry, and that the entry stands in the log.
pub fn verify(store: &dyn Store, context_id: u64) -> Result<ContextVerdict> {
    let not_found = || Error::NotFound { what: "context", id: context_id.to_string() };
    let audit = store.audit()?;
    let seq = audit.context_seq(context_id)?.ok_or_else(not_found)?;
    let mut verdict = ContextVerdict {
        valid: Some(false),
        context_id,
        stored_hash: None,
        recalculated_hash: None,
        created_at: String::new(),
        message: String::new(),
    };
    audit.records(seq, seq.saturating_add(1), &mut |stored| {
        if let Ok(Record { entry: Entry::Snapshot(entry), parts }) = stored.record {
            verdict.stored_hash = Some(entry.content_hash);
            verdict.recalculated_hash = parts.text.map(|data| Sha::of(data.as_bytes()));
            verdict.created_at = entry.created_at.into_owned();
        }
        ControlFlow::Continue(())
    })?;
    let wrong = check_entry(&*audit, seq, EntryKind::Snapshot)?;
    let content = verdict.recalculated_hash.is_some();
    verdict.valid = if wrong.is_some() { Some(false) } else { content.then_some(true) };
    verdict.message = match wrong {
        None if !content => format!(
            "the content of context {context_id} was redacted and cannot be recomputed; its row and its log entry agree"
        ),
        None => format!("context {context_id} is what was captured: content, row and log entry agree"),
        Some(finding) => finding.message,
    };
    Ok(verdict)
}
