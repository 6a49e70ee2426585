//! What is remembered of a log, held against the database when it is opened.

use std::path::Path;

use super::heads::{HeadFolder, Standing, standing};
use crate::error::{OpenError, Result as Outcome};
use crate::handle::Cairn;
use crate::store::{Store, StoreError};
use crate::verify::{Outside, OutsideHead, OutsideKey};

impl Cairn {
    /// How the log stood to what is remembered of it, when it was opened.
    pub fn standing(&self) -> &Standing {
        &self.inner.standing
    }

    /// Adds what this program remembers of the log to what a verifier brings along.
    pub(crate) fn add_remembered(&self, outside: &mut Outside) -> Outcome<()> {
        let origin = self.inner.store.head()?.origin;
        let unreadable =
            |error| StoreError::Other(format!("what is remembered of the log cannot be read: {error}"));
        if let Some(heads) = &self.inner.heads {
            let remembered = heads.read(&origin).map_err(unreadable)?;
            let here = self.inner.store.place();
            let copies_are_fine = match (&remembered.database, here) {
                (Some(seen), Some(here)) => *seen != super::heads::canonical(here),
                _ => false,
            };
            let known =
                |key| OutsideKey { key, source: "remembered here".to_string(), must_have_signed: true };
            outside.keys.extend(remembered.keys.into_iter().map(known));
            outside.stated.extend(remembered.heads.iter().map(|head| head.size));
            outside.heads.extend(remembered.heads.last().map(|head| OutsideHead {
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
        Ok(())
    }
}

/// How a log stands to what is remembered of it. A database that is too damaged to tell can still be opened, to be
/// verified and read.
pub(crate) fn standing_of(heads: Option<&HeadFolder>, store: &dyn Store, path: &Path) -> Standing {
    match heads.map_or(Ok(Standing::Unknown), |heads| compare(heads, store, path)) {
        Ok(standing) => standing,
        Err(error) => Standing::Unreadable { why: error.to_string() },
    }
}

fn compare(heads: &HeadFolder, store: &dyn Store, path: &Path) -> Result<Standing, StoreError> {
    let unreadable =
        |error| StoreError::Other(format!("what is remembered of the log cannot be read: {error}"));
    // The name of a log never changes. What is remembered is read before its length, which only grows.
    let origin = store.head()?.origin;
    let remembered = heads.read(&origin).map_err(unreadable)?;
    let head = store.head()?;
    if remembered.heads.is_empty()
        && let Some(other) = heads.log_at(path).filter(|other| *other != origin)
    {
        let newest = heads.read(&other).map_err(unreadable)?.heads.pop();
        return Ok(Standing::OtherLog { origin: other, newest });
    }
    standing(&remembered, path, head.size, |size| {
        cairn_core::log::root(size, &mut |level, index| store.node(level, index))
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
