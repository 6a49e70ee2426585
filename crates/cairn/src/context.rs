//! Context snapshots: what a roadmap looked like, and what has changed since.

mod capture;
mod drift;
mod page;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::id::RoadmapId;
use cairn_core::roadmap::Snapshot;
use cairn_core::roadmap::diff::Diff;
use cairn_core::roadmap::flaws::{Flaw, flaws};
use cairn_core::time::Timestamp;
use serde::Serialize;

pub(crate) use capture::Readings;
pub use drift::{CurrentPlan, Drift, DriftedDecision, DriftedNode, FileState, NodeChange};
pub use page::{ContextThought, ContextsPage, ThoughtsOnContext};

use crate::checked;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::read::Listing;
use crate::search;
pub use crate::store::{ContextHead, NodeHit};
use crate::store::{Contexts, Damage, Visit};
use crate::verify::verify_context;

/// A snapshot with its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Context {
    /// What there is to say about it.
    #[serde(flatten)]
    pub head: ContextHead,
    /// What the roadmap looked like; none if that was redacted.
    pub snapshot: Option<CapturedSnapshot>,
    /// What was wrong with the plan then.
    pub warnings: Vec<Flaw>,
}

/// The frozen content, and when it was captured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CapturedSnapshot {
    /// When.
    pub captured_at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub content: Snapshot,
}

/// The answer to [`Cairn::context_create`] and [`Cairn::context_ensure`].
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// The snapshot.
    pub context: ContextHead,
    /// Whether it was there already, since the roadmap has not changed.
    pub is_existing: bool,
    /// What is wrong with the plan.
    pub warnings: Vec<Flaw>,
}

/// Whether a stored snapshot is what was captured.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextVerdict {
    /// Whether nothing is wrong; none if the content was redacted and nothing else is wrong.
    pub valid: Option<bool>,
    /// Which snapshot.
    pub context_id: u64,
    /// The hash that is stored; none if what is stored is not even a hash.
    pub stored_hash: Option<Sha>,
    /// The hash of the content that is stored; none if the content is gone.
    pub recalculated_hash: Option<Sha>,
    /// When it was made, as stored.
    pub created_at: String,
    /// What is wrong, or that nothing is.
    pub message: String,
}

/// What changed from one snapshot to another of the same roadmap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The roadmap.
    pub roadmap_id: RoadmapId,
    /// The older side.
    pub context_id1: u64,
    /// The newer side.
    pub context_id2: u64,
    /// When the one was made.
    pub created_at1: Timestamp,
    /// When the other was made.
    pub created_at2: Timestamp,
    /// The changes.
    #[serde(flatten)]
    pub diff: Diff,
}

/// What to look for in the nodes of the current snapshots.
#[derive(Debug, Clone, Default)]
pub struct NodeQuery {
    /// Words (all must match), `"a phrase"`, `prefix*`, `-not`, `OR`.
    pub query: String,
    /// Only in this roadmap.
    pub roadmap_id: Option<String>,
    /// At most so many: 1 to 100, 20 if not given.
    pub limit: Option<u64>,
}

impl Cairn {
    /// Returns one snapshot, or none.
    pub fn context(&self, context_id: u64) -> Result<Option<Context>> {
        self.context_head(context_id)?.map(|head| self.with_content(head)).transpose()
    }

    /// Returns the head of one snapshot, or none.
    pub fn context_head(&self, context_id: u64) -> Result<Option<ContextHead>> {
        let read = |visit: Visit<'_>| self.inner.store.contexts(&Contexts::Id(context_id), visit);
        match checked::one(read, checked::context)? {
            Some(head) if head.context_id != context_id => {
                Err(Damage::at(head.seq, format!("it is not context {context_id}")).into())
            }
            head => Ok(head),
        }
    }

    /// Returns the newest snapshot of a roadmap, or none.
    pub fn context_latest(&self, roadmap_id: &str) -> Result<Option<Context>> {
        let newest = self.newest(&roadmap_id_of(roadmap_id)?)?;
        newest.map(|head| self.with_content(head)).transpose()
    }

    /// Lists the snapshots of a roadmap, newest first: 1 to 100, 10 if no limit is given.
    pub fn context_history(&self, roadmap_id: &str, limit: Option<u64>) -> Result<Listing<ContextHead>> {
        let roadmap_id = roadmap_id_of(roadmap_id)?;
        let limit = within("limit", limit, 10, 100)?;
        let history = Contexts::History { roadmap_id: roadmap_id.as_str(), before: None, limit };
        self.heads(&history, Some(&roadmap_id))
    }

    /// Recomputes the hash of a stored snapshot and compares it with what the log says of it.
    pub fn context_verify(&self, context_id: u64) -> Result<ContextVerdict> {
        verify_context(&*self.inner.store, context_id)
    }

    /// Compares two snapshots of one roadmap; without a second one, with its newest.
    pub fn context_compare(&self, context_id1: u64, context_id2: Option<u64>) -> Result<Comparison> {
        let head = |id: u64| {
            self.context_head(id)?.ok_or_else(|| Error::NotFound { what: "context", id: id.to_string() })
        };
        let first = head(context_id1)?;
        let second = match context_id2 {
            Some(id) => head(id)?,
            None => self.newest(&first.roadmap_id)?.unwrap_or_else(|| first.clone()),
        };
        if first.roadmap_id != second.roadmap_id {
            let message = format!(
                "context {} is of roadmap `{}`, and context {} of `{}`; only snapshots of one roadmap can be compared",
                first.context_id, first.roadmap_id, second.context_id, second.roadmap_id
            );
            return Err(Error::invalid("context_id2", message));
        }
        let content = |head: &ContextHead| self.content(head)?.ok_or_else(|| redacted(head));
        let diff = Diff::between(&content(&first)?, &content(&second)?);
        Ok(Comparison {
            roadmap_id: first.roadmap_id,
            context_id1: first.context_id,
            context_id2: second.context_id,
            created_at1: first.created_at,
            created_at2: second.created_at,
            diff,
        })
    }

    /// Searches the nodes of the newest snapshot of each roadmap, best match first.
    pub fn context_search(&self, query: &NodeQuery) -> Result<Vec<NodeHit>> {
        let terms = search::parse(&query.query)?;
        let limit = within("limit", query.limit, 20, 100)?;
        let roadmap_id = query.roadmap_id.as_deref().map(roadmap_id_of).transpose()?;
        let roadmap_id = roadmap_id.as_ref().map(RoadmapId::as_str);
        if self.catch_up_if_possible()? > 0 {
            // A plan that is not in the index would be missing without a word.
            let through = self.inner.store.derived_through()?;
            let plans = self.heads(&Contexts::Current(roadmap_id), None)?;
            if plans.records.iter().any(|plan| plan.seq > through) {
                self.catch_up()?;
            }
        }
        let hits = self.inner.store.search_nodes(&terms, roadmap_id, limit as usize)?;
        self.check_nodes(&hits)?;
        Ok(hits)
    }

    /// Compares nodes that a search found with the snapshots they are said to be of.
    fn check_nodes(&self, hits: &[NodeHit]) -> Result<()> {
        let mut plans: HashMap<u64, Snapshot> = HashMap::new();
        for hit in hits {
            let found = match plans.entry(hit.context_id) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(place) => {
                    let head = self.context_head(hit.context_id)?;
                    let head = head.filter(|head| head.roadmap_id == hit.roadmap_id).ok_or_else(|| {
                        Damage::new(format!(
                            "the index of nodes names context {}, which is not of roadmap `{}`",
                            hit.context_id, hit.roadmap_id
                        ))
                    })?;
                    place.insert(self.content(&head)?.ok_or_else(|| redacted(&head))?)
                }
            };
            if !found.nodes.contains(&hit.node) {
                let message =
                    format!("the index of nodes holds a node that is not in context {}", hit.context_id);
                return Err(Damage::new(message).into());
            }
        }
        Ok(())
    }

    /// The newest snapshot of a roadmap, without its content.
    fn newest(&self, roadmap_id: &RoadmapId) -> Result<Option<ContextHead>> {
        let newest = Contexts::History { roadmap_id: roadmap_id.as_str(), before: None, limit: 1 };
        let Listing { mut records, mut damaged } = self.heads(&newest, Some(roadmap_id))?;
        match damaged.pop() {
            Some(damage) => Err(damage.into()),
            None => Ok(records.pop()),
        }
    }

    /// Snapshots without their contents, each checked, and of the roadmap that was asked for.
    fn heads(&self, which: &Contexts<'_>, roadmap_id: Option<&RoadmapId>) -> Result<Listing<ContextHead>> {
        let mut listing = Listing::default();
        let mut buffer = Vec::new();
        self.inner.store.contexts(which, &mut |stored| {
            let head = checked::context(stored, &mut buffer);
            listing.add(head.and_then(|head| match roadmap_id {
                Some(id) if *id != head.roadmap_id => {
                    Err(Damage::at(head.seq, format!("it is not a snapshot of roadmap `{id}`")))
                }
                _ => Ok(head),
            }));
            ControlFlow::Continue(())
        })?;
        Ok(listing)
    }

    fn with_content(&self, head: ContextHead) -> Result<Context> {
        let Some(content) = self.content(&head)? else {
            return Ok(Context { head, snapshot: None, warnings: Vec::new() });
        };
        let warnings = flaws(content.nodes.iter(), &content.connections, &content.phases);
        let snapshot = Some(CapturedSnapshot { captured_at: head.created_at.clone(), content });
        Ok(Context { head, snapshot, warnings })
    }

    /// The content of a snapshot; none if it was redacted.
    fn content(&self, head: &ContextHead) -> Result<Option<Snapshot>> {
        if head.redacted.is_some() {
            return Ok(None);
        }
        let damaged =
            |what: &str| Damage::at(head.seq, format!("the content of context {} {what}", head.context_id));
        let data = self.inner.store.snapshot(head.context_id)?.ok_or_else(|| damaged("is gone"))?;
        if Sha::of(data.as_bytes()) != head.content_hash {
            return Err(damaged("does not match its hash in the log").into());
        }
        Ok(Some(Snapshot::parse(&data).map_err(|_| damaged("cannot be read"))?))
    }
}

/// The content of a snapshot is needed, and was redacted.
fn redacted(head: &ContextHead) -> Error {
    let by = head.redacted.as_ref().map(|said| format!(" by {} on {}", said.by, said.at)).unwrap_or_default();
    Error::Conflict(format!(
        "the content of context {} was redacted{by}, so that nothing can be compared with it",
        head.context_id
    ))
}

fn roadmap_id_of(text: &str) -> Result<RoadmapId> {
    RoadmapId::new(text).map_err(|error| Error::invalid("roadmap_id", error))
}

/// A number that was given, or the usual one.
fn within(name: &str, given: Option<u64>, usual: u64, most: u64) -> Result<u64> {
    match given {
        None => Ok(usual),
        Some(number) if (1..=most).contains(&number) => Ok(number),
        Some(number) => Err(Error::invalid(name, format!("must be between 1 and {most}, found {number}"))),
    }
}
