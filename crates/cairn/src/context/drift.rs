//! Decisions that rest on a plan that is no longer the current one.

use std::collections::HashMap;

use cairn_core::id::{RoadmapId, SessionId};
use cairn_core::preview::TRAIL_CHARS;
use cairn_core::roadmap::Snapshot;
use cairn_core::roadmap::diff::Diff;
use cairn_core::roadmap::mentions::Mentions;
use cairn_core::thought::{Thought, ThoughtType};
use cairn_core::time::Timestamp;
use cairn_core::tree::Summary;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{ContextHead, roadmap_id_of, within};
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::read::Listing;
use crate::store::{Contexts, Damage, Thoughts};

/// What the nodes of all decisions together may take up, in bytes of JSON, and what each decision has at least.
const MOST_BYTES: usize = 8 << 20;
const LEAST_BYTES: usize = 16 << 10;

/// Decisions that rest on a plan that is no longer the current one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The current plan of each roadmap that was looked at.
    pub plans: Vec<CurrentPlan>,
    /// Decisions in all that name a snapshot of these roadmaps.
    pub decisions: u64,
    /// How many of them rest on another plan.
    pub drifted: u64,
    /// These, newest first; at most as many as were asked for.
    pub results: Vec<DriftedDecision>,
    /// Plans and decisions that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
}

/// The newest snapshot of a roadmap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurrentPlan {
    /// The roadmap.
    pub roadmap_id: RoadmapId,
    /// Its newest snapshot.
    pub context_id: u64,
    /// When that was made.
    pub created_at: Timestamp,
    /// Whether the file still says the same.
    pub file: FileState,
}

/// A roadmap's file beside its newest snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// It says the same.
    Unchanged,
    /// It says something else: `context_ensure` makes a new snapshot.
    Changed,
    /// There is none.
    Missing,
    /// It cannot be read as a roadmap.
    Unreadable,
}

/// A decision that rests on an older plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftedDecision {
    /// The decision, its content cut to 150 characters.
    #[serde(flatten)]
    pub thought: Summary,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The roadmap it was based on.
    pub roadmap_id: RoadmapId,
    /// The newest snapshot of that roadmap.
    pub current_context_id: u64,
    /// How much has changed since, as [`Diff::total_changes`] counts; none if one of the two plans was redacted.
    pub total_changes: Option<u64>,
    /// The nodes it names that have changed or gone.
    pub nodes: Vec<DriftedNode>,
    /// The nodes it names that are as they were.
    pub unchanged_nodes: Vec<String>,
    /// How many more nodes it names, which would make the answer too large.
    #[serde(skip_serializing_if = "is_zero")]
    pub nodes_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A node that a decision names and that is no longer what it was.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DriftedNode {
    /// Its id.
    pub id: String,
    /// What people called it when the decision was made.
    pub label: String,
    /// What happened to it.
    pub change: NodeChange,
    /// The fields that changed, each with its old and new value; empty if it is gone.
    pub fields: Map<String, Value>,
}

/// What happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeChange {
    /// It is no longer in the plan.
    Removed,
    /// It is, with other fields.
    Modified,
}

impl Cairn {
    /// Finds the decisions that rest on a plan that is no longer the current one: at most `limit` of them (1 to
    /// 1,000, 100 if not given), newest first.
    ///
    /// The current plan of a roadmap is its newest snapshot. A decision that names another snapshot with the same
    /// content has not drifted.
    pub fn drift(&self, roadmap_id: Option<&str>, limit: Option<u64>) -> Result<Drift> {
        let roadmap_id = roadmap_id.map(roadmap_id_of).transpose()?;
        let limit = within("limit", limit, 100, 1000)?;
        let wanted = roadmap_id.as_ref().map(RoadmapId::as_str);
        let Listing { records: current, mut damaged } =
            self.heads(&Contexts::Current(wanted), roadmap_id.as_ref())?;
        if let (Some(id), [], []) = (&roadmap_id, &current[..], &damaged[..]) {
            // A misspelt name must not pass for a plan without drift.
            self.roadmaps().source(id)?;
        }
        let (decisions, drifted) = self.inner.store.count_decisions(wanted)?;
        let asked = |thought: &Thought| thought.kind == ThoughtType::Decision && thought.context_id.is_some();
        let found = Thoughts::Drifted { roadmap_id: wanted, limit };
        let found = self.thoughts(&found, || "a decision that names a snapshot".to_string(), asked)?;
        damaged.extend(found.damaged);
        let results = self.since(found.records, &current)?;
        let plans = current.into_iter().map(|head| self.current_plan(head)).collect::<Result<_>>()?;
        Ok(Drift { plans, decisions, drifted, results, damaged })
    }

    fn current_plan(&self, head: ContextHead) -> Result<CurrentPlan> {
        let file = match self.read_roadmap(&head.roadmap_id) {
            Ok(reading) if reading.content_hash == head.content_hash => FileState::Unchanged,
            Ok(_) => FileState::Changed,
            Err(Error::NotFound { .. }) => FileState::Missing,
            Err(error @ (Error::Busy { .. } | Error::Damaged(_) | Error::Store(_))) => return Err(error),
            Err(_) => FileState::Unreadable,
        };
        Ok(CurrentPlan {
            roadmap_id: head.roadmap_id,
            context_id: head.context_id,
            created_at: head.created_at,
            file,
        })
    }

    /// What has changed for each of these decisions. Plans are large and decisions share them, so each is read
    /// once, and only one older one is held at a time.
    fn since(&self, thoughts: Vec<Thought>, current: &[ContextHead]) -> Result<Vec<DriftedDecision>> {
        let room = (MOST_BYTES / thoughts.len().max(1)).max(LEAST_BYTES);
        let mut by_context: HashMap<u64, Vec<Thought>> = HashMap::new();
        for thought in thoughts {
            by_context.entry(thought.context_id.unwrap_or_default()).or_default().push(thought);
        }
        let mut plans: HashMap<&RoadmapId, (u64, Option<Snapshot>)> = HashMap::new();
        let mut results: Vec<(u64, DriftedDecision)> = Vec::new();
        for (context_id, thoughts) in by_context {
            let Some(old) = self.context_head(context_id)? else { continue };
            // A snapshot that was made after the heads were read: the next call will see it.
            let Some(head) = current.iter().find(|head| head.roadmap_id == old.roadmap_id) else { continue };
            if !plans.contains_key(&head.roadmap_id) {
                plans.insert(&head.roadmap_id, (head.context_id, self.content(head)?));
            }
            let (current_id, plan) = &plans[&head.roadmap_id];
            let before = self.content(&old)?;
            let (Some(before), Some(plan)) = (&before, plan) else {
                let unknown =
                    |thought: Thought| (thought.seq, DriftedDecision::new(thought, &old, *current_id));
                results.extend(thoughts.into_iter().map(unknown));
                continue;
            };
            let diff = Diff::between(before, plan);
            let changes = changes(before, &diff);
            let mentions = Mentions::new(before.nodes.iter().map(|node| node.id.as_str()));
            for thought in thoughts {
                let named = mentions.named(&thought.content, thought.metadata.as_ref());
                let names = named.len();
                let (changed, unchanged): (Vec<&str>, Vec<&str>) =
                    named.into_iter().partition(|id| changes.contains_key(id));
                // A decision can name every node of a large plan, and many decisions can do so.
                let mut room = room;
                let mut fits = |size: usize| room.checked_sub(size).map(|left| room = left).is_some();
                let nodes: Vec<DriftedNode> = changed
                    .iter()
                    .map(|id| &changes[id])
                    .filter(|(_, size)| fits(*size))
                    .map(|(node, _)| node.clone())
                    .collect();
                let unchanged_nodes: Vec<String> =
                    unchanged.iter().filter(|id| fits(id.len())).map(ToString::to_string).collect();
                results.push((
                    thought.seq,
                    DriftedDecision {
                        total_changes: Some(diff.total_changes() as u64),
                        nodes_left_out: (names - nodes.len() - unchanged_nodes.len()) as u64,
                        nodes,
                        unchanged_nodes,
                        ..DriftedDecision::new(thought, &old, *current_id)
                    },
                ));
            }
        }
        results.sort_by_key(|(seq, _)| std::cmp::Reverse(*seq));
        Ok(results.into_iter().map(|(_, decision)| decision).collect())
    }
}

impl DriftedDecision {
    /// A decision that rests on `old`, without what has changed since.
    fn new(thought: Thought, old: &ContextHead, current_context_id: u64) -> DriftedDecision {
        DriftedDecision {
            session_id: thought.session_id.clone(),
            roadmap_id: old.roadmap_id.clone(),
            current_context_id,
            total_changes: None,
            nodes: Vec::new(),
            unchanged_nodes: Vec::new(),
            nodes_left_out: 0,
            thought: Summary::of(thought, TRAIL_CHARS),
        }
    }
}

/// What happened to the nodes of a plan, by id, each with the room it takes.
fn changes<'a>(before: &'a Snapshot, diff: &Diff) -> HashMap<&'a str, (DriftedNode, usize)> {
    let labels: HashMap<&str, &str> =
        before.nodes.iter().map(|node| (node.id.as_str(), node.label.as_str())).collect();
    let removed = diff.nodes.removed.iter().map(|node| (&node.id, NodeChange::Removed, Map::new()));
    let modified =
        diff.nodes.modified.iter().map(|node| (&node.id, NodeChange::Modified, node.fields.clone()));
    removed
        .chain(modified)
        .filter_map(|(id, change, fields)| {
            let (id, label) = labels.get_key_value(id.as_str())?;
            let node = DriftedNode { id: id.to_string(), label: label.to_string(), change, fields };
            let size = serde_json::to_string(&node).map_or(0, |text| text.len());
            Some((*id, (node, size)))
        })
        .collect()
}
