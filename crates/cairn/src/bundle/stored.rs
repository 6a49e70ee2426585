//! Entries read from a store with everything that a line of a bundle holds. Exports and copies share this.

use std::collections::BTreeMap;

use cairn_core::Sha;
use cairn_core::entry::{Entry as Logged, Record};

use super::entry::{Entry, is_sealed};
use crate::check::named_bodies;
use crate::checked::{self, Checked};
use crate::error::Result;
use crate::store::{Audit, StoreError, Stored};

/// Which contents come with an event.
pub enum Bodies<'b> {
    /// Those that it is the first in the log to name.
    First,
    /// Those that no event before it in the bundle names; it is noted which those are.
    New(&'b mut std::collections::HashSet<Sha>),
}

/// Reads an entry; fails if its row does not match its hash.
pub fn entry(audit: &dyn Audit, stored: Stored<'_>, mut bodies: Bodies<'_>) -> Result<Entry> {
    let mut bytes = Vec::new();
    let Checked { seq, record, .. } = checked::record(stored, &mut bytes)?;
    let record = record.into_owned();
    let seal_key = if is_sealed(&record) { audit.seal_key(seq)? } else { None };
    let mut contents = BTreeMap::new();
    if let Record { entry: Logged::Event(event), parts } = &record {
        for body in named_bodies(event, parts.text.as_deref().unwrap_or_default()) {
            let wanted = match &mut bodies {
                Bodies::First => None,
                Bodies::New(seen) => Some(seen.insert(body.sha256)),
            };
            contents.extend(content(audit, seq, body.sha256, wanted)?.map(|data| (body.sha256, data)));
        }
    }
    let bytes = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Entry { bytes, record: Some(record), bodies: contents, seal_key, proof: None })
}

/// The content of a digest, if it is wanted with the event at `seq`: as said, or if that is the first to name it. None if it
/// was redacted.
fn content(audit: &dyn Audit, seq: u64, digest: Sha, wanted: Option<bool>) -> Result<Option<String>> {
    let mut found = None;
    audit.body(&digest, &mut |body| {
        let wanted = wanted.unwrap_or(u64::try_from(body.first) == Ok(seq));
        if wanted && body.redaction.is_none() {
            found = Some(body.data.map(str::to_string));
        }
    })?;
    match found {
        Some(None) => Err(StoreError::Damaged(format!("content {digest} is gone")).into()),
        found => Ok(found.flatten()),
    }
}
