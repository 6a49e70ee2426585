//! Trees of large sessions, one branch at a time.

use std::collections::HashMap;

use cairn_core::preview::TREE_CHARS;
use cairn_core::tree::Summary;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{Damage, Thoughts};
use crate::thoughts::MAX_PAGE_RECORDS;

/// What follows directly from one thought, or the roots of a session: part of it, in the order of recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Branch {
    /// The thoughts.
    pub thoughts: Vec<BranchThought>,
    /// Thoughts that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// What to ask for `after` to get those that follow, if there are any.
    pub next: Option<u64>,
}

/// A thought of a branch, and how much hangs on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BranchThought {
    /// The thought, its content cut to 100 characters.
    #[serde(flatten)]
    pub thought: Summary,
    /// Position in the log.
    pub seq: u64,
    /// Thoughts that follow from it directly.
    pub children: u64,
    /// Thoughts that follow from it directly or by others.
    pub descendants: Option<u64>,
}

/// The shape of a session: for each thought, in order, where it is and which of those before it is its parent.
#[derive(Default)]
struct Shape {
    seqs: Vec<u64>,
    parents: Vec<Option<usize>>,
    places: HashMap<u64, usize>,
}

impl Shape {
    fn add(&mut self, seq: u64, parent_seq: Option<u64>) {
        // One whose parent is not among those before it stands as a root, as in the whole tree.
        self.parents.push(parent_seq.and_then(|parent| self.places.get(&parent).copied()));
        self.places.insert(seq, self.seqs.len());
        self.seqs.push(seq);
    }

    /// For each thought, how many follow from it directly, and how many in all.
    fn counts(&self) -> Vec<(u64, u64)> {
        let mut counts = vec![(0, 0); self.seqs.len()];
        // From the newest to the oldest: when a thought's turn comes, all that follows from it was counted.
        for (index, parent) in self.parents.iter().enumerate().rev() {
            if let Some(parent) = *parent {
                let below: (u64, u64) = counts[index];
                counts[parent].0 += 1;
                counts[parent].1 += below.1 + 1;
            }
        }
        counts
    }
}

impl Cairn {
    /// Returns what follows directly from a thought of a session, or its roots: those after a position of the log, at
    /// most `limit` of them and at most 10,000.
    pub fn branch(
        &self,
        session_id: &str,
        of: Option<&str>,
        after: Option<u64>,
        limit: u64,
    ) -> Result<Branch> {
        if limit == 0 {
            return Err(Error::invalid("limit", "must be at least 1, found 0"));
        }
        let store = &self.inner.store;
        let (parent_id, of) = (of, of.map(|id| self.seq_in(session_id, id)).transpose()?);
        let mut shape = Shape::default();
        store.shape(session_id, &mut |seq, parent_seq| shape.add(seq, parent_seq))?;
        let counts = shape.counts();
        let parent = match of {
            None => None,
            Some(seq) => match shape.places.get(&seq) {
                Some(place) => Some(*place),
                None => return Ok(Branch { thoughts: Vec::new(), damaged: Vec::new(), next: None }),
            },
        };
        let limit = limit.min(MAX_PAGE_RECORDS) as usize;
        let mut seqs: Vec<u64> = (0..shape.seqs.len())
            .filter(|index| shape.parents[*index] == parent)
            .map(|index| shape.seqs[index])
            .filter(|seq| after.is_none_or(|after| *seq > after))
            .take(limit + 1)
            .collect();
        let more = seqs.len() > limit;
        seqs.truncate(limit);
        let wanted = || format!("a thought of session `{session_id}` in this branch");
        let found = self.thoughts(&Thoughts::At(&seqs), wanted, |thought| {
            thought.session_id.as_str() == session_id
                && thought.parent_id.as_ref().map(|id| id.as_str()) == parent_id
        })?;
        let found = found.map(|thought| {
            let (seq, (children, descendants)) = (thought.seq, counts[shape.places[&thought.seq]]);
            BranchThought {
                thought: Summary::of(thought, TREE_CHARS),
                seq,
                children,
                descendants: Some(descendants),
            }
        });
        Ok(Branch {
            thoughts: found.records,
            damaged: found.damaged,
            next: seqs.last().copied().filter(|_| more),
        })
    }

    /// Where a thought is in the log, if it is of that session.
    fn seq_in(&self, session_id: &str, id: &str) -> Result<u64> {
        let thought = self.get(id)?.ok_or_else(|| Error::NotFound { what: "thought", id: id.to_string() })?;
        if thought.session_id.as_str() == session_id {
            return Ok(thought.seq);
        }
        let message =
            format!("thought `{id}` belongs to session `{}`, not to `{session_id}`", thought.session_id);
        Err(Error::invalid("session_id", message))
    }
}
