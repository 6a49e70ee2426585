//! Which entries belong to a part of a log.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Record};

use super::Selection;
use crate::check::named_bodies;
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
    audit.chain(of, &mut |stored| {
        found += 1;
        if stored.seq < size {
            chosen.insert(stored.seq);
            if let Ok(Record { entry: Entry::Thought(thought), .. }) = stored.record {
                contexts.extend(thought.context_id);
            }
        }
        ControlFlow::Continue(())
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
    let reviews = audit.review_places()?.into_iter();
    let of_chosen: Vec<u64> =
        reviews.filter(|(seq, target)| *seq < size && chosen.contains(target)).map(|(seq, _)| seq).collect();
    chosen.extend(of_chosen);
    let (mut about, mut taken) = (Vec::new(), Vec::new());
    audit.statements(EntryKind::Redaction, &mut |seq, leaf| {
        if let Some(Entry::Redaction(entry)) = Entry::parse(leaf)
            && seq < size
        {
            if chosen.contains(&entry.target_seq) {
                about.push(seq);
            } else if !entry.bodies.is_empty() {
                taken.push((seq, entry.bodies));
            }
        }
    })?;
    if !taken.is_empty() {
        let named = named(audit, &chosen)?;
        about.extend(
            taken.iter().filter(|(_, bodies)| bodies.iter().any(|one| named.contains(one))).map(|of| of.0),
        );
    }
    audit.statements(EntryKind::Key, &mut |seq, _| {
        if seq < size {
            about.push(seq);
        }
    })?;
    chosen.extend(about);
    Ok(Some(chosen))
}

/// The contents that events at these positions name.
fn named(audit: &dyn Audit, places: &BTreeSet<u64>) -> Result<BTreeSet<Sha>> {
    let mut named = BTreeSet::new();
    for seq in places {
        audit.records(*seq, seq + 1, &mut |stored| {
            if let Ok(Record { entry: Entry::Event(event), parts }) = stored.record {
                let bodies = named_bodies(&event, parts.text.as_deref().unwrap_or_default());
                named.extend(bodies.into_iter().map(|body| body.sha256));
            }
            ControlFlow::Continue(())
        })?;
    }
    Ok(named)
}
