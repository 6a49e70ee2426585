//! What is remembered of a log, held against the database when it is opened.

use std::path::Path;

use super::heads::{HeadFolder, Remembered, SeenHead, Standing, standing};
use crate::error::{OpenError, Result as Outcome};
use crate::handle::Cairn;
use crate::store::{LogHead, Store, StoreError};
use crate::verify::{Finding, MAX_FINDINGS, Outside, OutsideHead, OutsideKey, Reason, Report};

impl Cairn {
    /// How the log stood to what is remembered of it, when it was opened.
    pub fn standing(&self) -> &Standing {
        &self.inner.standing
    }

    /// Adds what this program remembers of the log to what a verifier brings along; returns why that cannot be read.
    pub(crate) fn add_remembered(&self, outside: &mut Outside) -> Outcome<Option<String>> {
        let LogHead { origin, size, .. } = self.inner.store.head()?;
        let mut unread = None;
        if let Some(heads) = &self.inner.heads {
            let remembered = heads.read(&origin).unwrap_or_else(|error| {
                unread = Some(unreadable(error));
                Remembered::default()
            });
            let here = self.inner.store.place();
            let copies_are_fine = here.is_some_and(|here| remembered.is_copy(here, size));
            let known =
                |key| OutsideKey { key, source: "remembered here".to_string(), must_have_signed: true };
            // Who names keys asks for theirs alone.
            if outside.keys.is_empty() {
                outside.keys.extend(remembered.keys.into_iter().map(known));
            }
            outside.stated.extend(remembered.heads.iter().map(|head| head.size));
            // The newest; and if that is beyond the end of the log, the newest that is not: a log that is too short may
            // have another past as well.
            let beyond = remembered.heads.iter().rev().skip(1).find(|head| head.size <= size);
            let beyond = beyond.filter(|_| remembered.heads.last().is_some_and(|head| head.size > size));
            outside.heads.extend(remembered.heads.last().into_iter().chain(beyond).map(|head| OutsideHead {
                witness: "this machine".to_string(),
                size: head.size,
                root: head.root,
                at: head.at.clone(),
                copies_are_fine,
            }));
        }
        if outside.keys.is_empty()
            && let Some(signer) = &self.inner.signer
            && let Ok(keys) = signer.keys(&origin)
        {
            let own = |key| OutsideKey {
                key,
                source: "the key that signs here".to_string(),
                must_have_signed: false,
            };
            outside.keys.extend(keys.into_iter().map(own));
        }
        Ok(unread)
    }

    /// Adds what is wrong with what is remembered: why it cannot be read, or which other log was seen here. One of which
    /// nothing is remembered may be a rewritten past under a new name; one that is known was moved here.
    pub(crate) fn add_place(&self, unread: Option<String>, report: &mut Report) {
        let seen = |head: &SeenHead| format!(", with {} entries on {}", head.size, head.at);
        if let Some(why) = unread {
            let message = format!("the log cannot be held against what was seen of it: {why}");
            report.findings.insert(0, Finding::new(Reason::Malformed, "heads", message));
            report.findings.truncate(MAX_FINDINGS);
            report.findings_total += 1;
        }
        if let Standing::OtherLog { origin, newest } = &self.inner.standing {
            let newest = newest.as_ref().map(seen).unwrap_or_default();
            let message = format!(
                "this is another log than the one that was seen in this place: `{origin}`{newest}; `cairn doctor` names \
                 the ways out"
            );
            report.findings.insert(0, Finding::new(Reason::CheckpointMismatch, "log", message));
            report.findings.truncate(MAX_FINDINGS);
            report.findings_total += 1;
            return;
        }
        let (Some(heads), Some(here), Ok(head)) =
            (&self.inner.heads, self.inner.store.place(), self.inner.store.head())
        else {
            return;
        };
        let other = heads.log_at(here).filter(|other| *other != head.origin);
        if let Some((other, newest)) =
            other.and_then(|other| heads.read(&other).ok()?.heads.pop().map(|newest| (other, newest)))
        {
            let newest = seen(&newest);
            report.notes.push(format!(
                "whether this log should be here: another was seen in this place last, `{other}`{newest}"
            ));
        }
    }
}

/// How a log stands to what is remembered of it. A database that is too damaged to tell can still be opened, to be
/// verified and read.
pub(crate) fn standing_of(heads: Option<&HeadFolder>, store: &dyn Store, path: &Path) -> Standing {
    match heads.map_or(Ok(Standing::Unknown), |heads| compare(heads, store, path)) {
        Ok(standing) => standing,
        Err(why) => Standing::Unreadable { why },
    }
}

fn unreadable(error: String) -> String {
    format!("what is remembered of it cannot be read: {error}")
}

fn compare(heads: &HeadFolder, store: &dyn Store, path: &Path) -> Result<Standing, String> {
    let failed = |error: StoreError| error.to_string();
    // The name of a log never changes. What is remembered is read before its length, which only grows.
    let origin = store.head().map_err(failed)?.origin;
    let remembered = heads.read(&origin).map_err(unreadable)?;
    let head = store.head().map_err(failed)?;
    if remembered.heads.is_empty()
        && let Some(other) = heads.log_at(path).filter(|other| *other != origin)
    {
        let newest = heads.read(&other).map_err(unreadable)?.heads.pop();
        return Ok(Standing::OtherLog { origin: other, newest });
    }
    standing(&remembered, path, head.size, |size| {
        cairn_core::log::root(size, &mut |level, index| store.node(level, index)).map_err(failed)
    })
}

/// A log that was seen at a place where there is no file now.
pub(crate) fn gone(heads: Option<&HeadFolder>, path: &Path) -> Option<OpenError> {
    let heads = heads?;
    let origin = heads.log_at(path)?;
    let newest = heads.read(&origin).ok()?.heads.pop()?;
    Some(OpenError::Gone { path: path.to_path_buf(), origin, entries: newest.size, seen: newest.at })
}

/// Why a database in that state is not written to, and the ways out.
pub(crate) fn refusal(standing: &Standing) -> Option<String> {
    let ways = "`cairn doctor` names the ways out";
    Some(match standing {
        Standing::Unknown | Standing::Extends(_) => return None,
        Standing::Behind { newest, same_place: true } => format!(
            "an older state of this database was put back: {} entries were seen on {}, and there are fewer now. \
             Nothing is recorded, since that would make a second past; {ways}",
            newest.size, newest.at
        ),
        Standing::Behind { newest, same_place: false } => format!(
            "this is an older copy of a log that had {} entries on {}. Nothing is recorded, since that would make a \
             second past; {ways}",
            newest.size, newest.at
        ),
        Standing::Diverged { head, .. } => format!(
            "this log is not the one that was seen: its first {} entries are others than on {}. Nothing is recorded; \
             {ways}",
            head.size, head.at
        ),
        Standing::Unreadable { why } => {
            format!("the log cannot be held against what is remembered of it: {why}; {ways}")
        }
        Standing::OtherLog { origin, newest } => format!(
            "another log was seen in this place: `{origin}`{}. Nothing is recorded; {ways}",
            newest.as_ref().map(|head| format!(", {} entries on {}", head.size, head.at)).unwrap_or_default()
        ),
    })
}
