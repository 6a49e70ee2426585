//! Checking the kept states of sessions: each is folded anew from the events, and must be what is kept.

use std::io::{self, Write};
use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Entry, Record};
use cairn_core::session::{SessionState, kept};

use super::{Cause, Finding, Findings, Reason};
use crate::memory::{advance, digest};
use crate::store::{Audit, FoldRow, StoreError, StoredFold};

/// Checks all of them, one after the other.
pub fn check(audit: &dyn Audit) -> Result<Findings, StoreError> {
    let mut findings = Findings::default();
    audit.folds(&mut |stored| {
        if let Some(finding) = differs(audit, &stored)? {
            findings.add(finding);
        }
        Ok(())
    })?;
    Ok(findings)
}

/// The first thing wrong with one.
fn differs(audit: &dyn Audit, stored: &StoredFold<'_>) -> Result<Option<Finding>, StoreError> {
    let finding = |field: &str, expected: &str, actual: &str| {
        let name =
            stored.session_id.map_or(format!("number {}", stored.session_no), |name| format!("`{name}`"));
        let what = format!("the kept state of session {name}, which `cairn doctor --rebuild` removes,");
        let finding = Finding::differs(Reason::IndexMismatch, "fold", &what, field, expected, actual);
        // It is made of the events, which are checked themselves.
        let of_session = Cause::Of("session", stored.session_id.unwrap_or_default().to_string());
        Ok(Some(finding.unless(of_session).unless(Cause::Index("event")).unless(Cause::Index("session"))))
    };
    let Some(session_id) = stored.session_id else {
        return finding("session_no", "a session", "none");
    };
    let (Some(seq), Some(v)) = (number(stored.seq), number(stored.v)) else {
        let field = if number(stored.seq).is_none() { "seq" } else { "v" };
        return finding(field, "a number", "none");
    };
    if v != kept::VERSION {
        return finding("v", &kept::VERSION.to_string(), &v.to_string());
    }
    let Some(state) = stored.state else {
        return finding("state", "a text", "none");
    };
    let mut folded = SessionState::default();
    let mut failed = Ok(());
    audit.events(session_id, seq, &mut |stored| {
        failed = match stored.record {
            Ok(Record { entry: Entry::Event(event), parts }) => {
                advance(&mut folded, &event, parts.text.as_deref().unwrap_or_default())
            }
            _ => Err(StoreError::Damaged(format!("event {} cannot be read", stored.seq))),
        };
        if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    match failed {
        Ok(()) => {}
        // What is wrong with the events is found where they are checked. Without them there is no such state.
        Err(StoreError::Damaged(why)) => return finding("state", "what the events give", &why),
        Err(error) => return Err(error),
    }
    if folded.seq != seq {
        return finding("seq", "an event of the session", &seq.to_string());
    }
    let mut rest = Expected(state.as_bytes());
    let same = serde_json::to_writer(&mut rest, &kept::text(&folded)).is_ok() && rest.0.is_empty();
    if !same {
        return finding("state", "what the events give", "something else");
    }
    let actual = digest(session_id, FoldRow { seq, v, sha256: stored.sha256, state });
    if actual.0 != stored.sha256 {
        let stored = stored.sha256.try_into().map_or("not a hash".to_string(), |hash| Sha(hash).to_string());
        return finding("sha256", &actual.to_string(), &stored);
    }
    Ok(None)
}

fn number(stored: Option<i64>) -> Option<u64> {
    stored.and_then(|number| number.try_into().ok())
}

/// Takes bytes as long as they are the expected ones, so that the state is not written a second time to be compared.
struct Expected<'a>(&'a [u8]);

impl Write for Expected<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
