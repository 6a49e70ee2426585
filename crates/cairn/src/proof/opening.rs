//! Compares a database with the remembered heads of its log, when it is opened and when it is verified.

use std::path::Path;

use cairn_core::Sha;

use super::heads::{HeadFolder, Remembered, SeenHead, place_name, place_path};
use super::standing::{Comparison, Relation, SeenCopy, Standing, compare};
use crate::error::{OpenError, Result as Outcome};
use crate::handle::Cairn;
use crate::options::Durability;
use crate::store::sqlite::SqliteStore;
use crate::store::{LogHead, LogReader, Opening, Store, StoreError};
use crate::tree;
use crate::verify::{
    Finding, MAX_FINDINGS, Outside, OutsideHead, OutsideKey, Reason, Report, Testimony, judge,
};

impl Cairn {
    /// How the log stood to what was seen in its place, when it was opened.
    pub fn standing(&self) -> &Standing {
        &self.inner.comparison.standing
    }

    /// The copies of the log, seen elsewhere, that it did not extend when it was opened.
    pub fn copies(&self) -> &[SeenCopy] {
        &self.inner.comparison.copies
    }

    /// Compares the log with the heads that witnesses have seen.
    pub fn testimonies(&self, heads: Vec<OutsideHead>) -> Outcome<Vec<Testimony>> {
        let mut outside = Outside { heads, ..Outside::default() };
        // Heads that this machine cannot read are for `verify` to name.
        self.add_remembered(&mut outside)?;
        let store = &*self.inner.store;
        judge(&store.head()?, &outside, &mut |size| Ok(root_at(store, size)?))
    }

    /// Adds what this program remembers of the log to what a verifier brings along; returns why that cannot be read.
    pub(crate) fn add_remembered(&self, outside: &mut Outside) -> Outcome<Option<String>> {
        let LogHead { origin, .. } = self.inner.store.head()?;
        let mut unread = None;
        if let (Some(heads), Some(place)) = (&self.inner.heads, self.inner.store.place()) {
            if outside.here.is_none() {
                outside.here = Some(place_name(place));
                outside.remembered = heads.read(&origin).unwrap_or_else(|error| {
                    unread = Some(unreadable(error));
                    Remembered::default()
                });
            }
            let own = outside.here.as_ref().and_then(|here| outside.remembered.places.get(here));
            let own = own.map(|own| own.keys.clone()).unwrap_or_default();
            // A verifier who names keys asks for those alone.
            if outside.keys.is_empty() {
                for key in outside.remembered.keys() {
                    // A copy may be from before the key signed anything.
                    let must_have_signed = own.contains(&key);
                    let source = "remembered on this machine".to_string();
                    outside.keys.push(OutsideKey { key, source, must_have_signed });
                }
            }
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

    /// Adds what is wrong about the place: why the remembered heads cannot be read, or which other log was seen here.
    pub(crate) fn add_place(&self, unread: Option<String>, report: &mut Report) {
        if let Some(why) = unread {
            let message = format!("the log cannot be compared with what was seen of it: {why}");
            put_first(report, Finding::new(Reason::Malformed, "heads", message));
        }
        let (Some(heads), Some(here), Ok(head)) =
            (&self.inner.heads, self.inner.store.place(), self.inner.store.head())
        else {
            return;
        };
        // A file of heads that cannot be read is a finding of its own.
        if let Ok(Some((other, newest))) = other_log(heads, &head.origin, here) {
            let seen = newest.map(|head| format!(", with {} entries on {}", head.size, head.at));
            let message = format!(
                "this is not the log that was seen in this place: `{other}`{}; `cairn doctor` shows the way out",
                seen.unwrap_or_default()
            );
            put_first(report, Finding::new(Reason::CheckpointMismatch, "log", message));
        }
    }
}

fn put_first(report: &mut Report, finding: Finding) {
    report.findings.insert(0, finding);
    report.findings.truncate(MAX_FINDINGS);
    report.findings_total += 1;
}

/// The other log that was last seen in a place, and its newest head. One that was closed there is not missed.
fn other_log(
    heads: &HeadFolder,
    origin: &str,
    place: &Path,
) -> Result<Option<(String, Option<SeenHead>)>, String> {
    let Some(other) = heads.log_at(place).filter(|other| other != origin) else { return Ok(None) };
    let known = heads.read(&other).map_err(unreadable)?;
    let closed = known.places.get(&place_name(place)).is_some_and(|seen| seen.closed.is_some());
    Ok((!closed).then(|| (other, newest_at(&known, place))))
}

/// The newest head of a log that was seen in a place, or else anywhere.
fn newest_at(known: &Remembered, place: &Path) -> Option<SeenHead> {
    let here = known.places.get(&place_name(place)).and_then(|seen| seen.heads.last());
    here.or_else(|| known.newest()).cloned()
}

/// Compares a log with what is remembered of it. A database that is too damaged for that can still be opened, to be
/// verified and read.
pub(crate) fn comparison_of(heads: Option<&HeadFolder>, store: &dyn Store, path: &Path) -> Comparison {
    let Some(heads) = heads else { return Standing::Unknown.into() };
    look(heads, store, path).unwrap_or_else(|why| Standing::Unreadable { why }.into())
}

fn unreadable(error: String) -> String {
    format!("what is remembered of it cannot be read: {error}")
}

fn look(heads: &HeadFolder, store: &dyn Store, path: &Path) -> Result<Comparison, String> {
    let failed = |error: StoreError| error.to_string();
    // The name of a log never changes. What is remembered is read before its length, which only grows.
    let origin = store.head().map_err(failed)?.origin;
    let remembered = heads.read(&origin).map_err(unreadable)?;
    let head = store.head().map_err(failed)?;
    if let Some((origin, newest)) = other_log(heads, &origin, path)? {
        return Ok(Standing::OtherLog { origin, newest }.into());
    }
    let mut compared =
        compare(&remembered, &place_name(path), head.size, |size| root_at(store, size)).map_err(failed)?;
    refine(store, &mut compared.copies);
    Ok(compared)
}

fn root_at(store: &dyn Store, size: u64) -> Result<Sha, StoreError> {
    cairn_core::log::root(size, &mut tree::nodes(store))
}

/// Looks into copies that are files on this machine, to tell a fork from an older state, and to say exactly where a fork
/// begins. What was seen of a copy says this only for some sizes.
pub(crate) fn refine(store: &dyn Store, copies: &mut [SeenCopy]) {
    for copy in copies {
        if let Ok(Some(same)) = split(store, &place_path(&copy.place)) {
            copy.relation = Relation::Fork { same: Some(same), differs: same + 1 };
        }
    }
}

/// How many first entries the log and a copy share, if both go on after that and differ.
fn split(store: &dyn Store, place: &Path) -> Result<Option<u64>, StoreError> {
    let unknown = |_| StoreError::ReadOnly;
    if !place.is_file() {
        return Ok(None);
    }
    let other =
        SqliteStore::open(place.to_path_buf(), Durability::Normal, &Opening::Read).map_err(unknown)?;
    let (here, there) = (store.head()?, other.head()?);
    let size = here.size.min(there.size);
    if here.origin != there.origin || root_at(store, size)? == root_at(&other, size)? {
        return Ok(None);
    }
    let (mut same, mut differs) = (0, size);
    while differs - same > 1 {
        let middle = same + (differs - same) / 2;
        match root_at(store, middle)? == root_at(&other, middle)? {
            true => same = middle,
            false => differs = middle,
        }
    }
    Ok(Some(same))
}

/// The log that was seen at a place where there is none now.
pub(crate) fn gone(heads: Option<&HeadFolder>, path: &Path) -> Option<OpenError> {
    let heads = heads?;
    let origin = heads.log_at(path)?;
    let newest = newest_at(&heads.read(&origin).ok()?, path)?;
    Some(OpenError::Gone { path: path.to_path_buf(), origin, entries: newest.size, seen: newest.at })
}

/// Why nothing is recorded in a database in that state, and the ways out.
pub(crate) fn refusal(standing: &Standing) -> Option<String> {
    let ways = "`cairn doctor` shows the ways out";
    Some(match standing {
        Standing::Unknown | Standing::Extends(_) => return None,
        Standing::Behind { newest } => format!(
            "an older state of this database was put back: it had {} entries on {}, and has fewer now. Nothing is \
             recorded, because it would fork the log; {ways}",
            newest.size, newest.at
        ),
        Standing::Diverged { head, .. } => format!(
            "this log was rewritten: its first {} entries are not those that were seen in this place on {}. Nothing is \
             recorded; {ways}",
            head.size, head.at
        ),
        Standing::Closed { at } => format!(
            "this log was closed by `cairn log new` on {at}, and is kept to be read. Nothing is recorded in it; record \
             in the log that replaced it"
        ),
        Standing::Unreadable { why } => {
            format!(
                "the log cannot be compared with what is remembered of it: {why}. Nothing is recorded; {ways}"
            )
        }
        Standing::OtherLog { origin, newest } => format!(
            "another log was seen in this place: `{origin}`{}. Nothing is recorded; {ways}",
            newest.as_ref().map(|head| format!(", {} entries on {}", head.size, head.at)).unwrap_or_default()
        ),
    })
}
