//! Which entries belong to a part of a log.

use std::collections::BTreeSet;

use cairn_core::entry::{Entry, EntryKind};

use super::Selection;
use crate::error::{Error, Result};
use crate::proof::uncovered;
use crate::store::{Audit, ChainOf, Damage};

/// The positions of what `selection` names, and of what it takes to check it, below `size`; none for everything.
pub fn select(audit: &dyn Audit, selection: &Selection, size: u64) -> Result<Option<BTreeSet<u64>>> {
    let (of, what, name) = match selection {
        Selection::All => return Ok(None),
        Selection::Session(name) => (ChainOf::Session(name), "session", name),
        Selection::Task(name) => (ChainOf::Task(name), "task", name),
    };
    let length = audit.chain_length(of)?.ok_or_else(|| Error::NotFound { what, id: name.clone() })?;
    let mut found = 0;
    let mut chosen = BTreeSet::new();
    let mut contexts = BTreeSet::new();
    audit.scan_chain(of, &mut |scanned| {
        found += 1;
        if scanned.seq < size {
            chosen.insert(scanned.seq);
            contexts.extend(scanned.thought.and_then(|thought| thought.context_id).map(i64::unsigned_abs));
        }
    })?;
    if found != length {
        return Err(
            Damage::new(format!("{what} `{name}` has {length} thoughts, and {found} are found")).into()
        );
    }
    if let Selection::Session(name) = selection {
        audit.memory_of(name, &mut |seq| {
            if seq < size {
                chosen.insert(seq);
            }
        })?;
    }
    if chosen.is_empty() {
        return Err(uncovered(&format!("{what} `{name}`")));
    }
    for id in contexts {
        chosen.extend(audit.context_seq(id)?);
    }
    let mut about = Vec::new();
    audit.about_log(EntryKind::Redaction, &mut |seq, leaf| {
        if let Some(Entry::Redaction(entry)) = Entry::parse(leaf)
            && seq < size
            && chosen.contains(&entry.target_seq)
        {
            about.push(seq);
        }
    })?;
    let of_chosen = |(seq, target): &(u64, u64)| *seq < size && chosen.contains(target);
    about.extend(audit.review_places()?.into_iter().filter(of_chosen).map(|(seq, _)| seq));
    audit.about_log(EntryKind::Key, &mut |seq, _| {
        if seq < size {
            about.push(seq);
        }
    })?;
    chosen.extend(about);
    Ok(Some(chosen))
}
