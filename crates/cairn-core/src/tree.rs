//! Session trees: the thoughts of one session, each below the thought it follows from.

use std::collections::HashMap;

use serde::Serialize;

use crate::id::{ActionId, AgentId, BriefId, TaskId, ThoughtId};
use crate::preview::preview;
use crate::redaction::Redaction;
use crate::thought::{Thought, ThoughtType};
use crate::time::Timestamp;

/// How many levels a nested answer has at most.
///
/// A long session is often one long line, and JSON parsers in common clients give up at 64 to 100 nested
/// objects. A deeper branch is cut into pieces of this many levels; see [`Forest`].
pub const MAX_NESTING: usize = 40;

/// A thought without its hashes, its content perhaps cut to a preview.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The thought's id.
    pub id: ThoughtId,
    /// Which of the four kinds.
    #[serde(rename = "type")]
    pub kind: ThoughtType,
    /// The text, or its beginning.
    pub content: String,
    /// Position in the session.
    pub step_index: u64,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// Who thought it.
    pub agent_id: AgentId,
    /// The thought it follows from.
    pub parent_id: Option<ThoughtId>,
    /// The action it led to.
    pub action_id: Option<ActionId>,
    /// The plan snapshot it was based on.
    pub context_id: Option<u64>,
    /// The brief it was based on.
    pub brief_id: Option<BriefId>,
    /// When it was recorded.
    pub timestamp: Timestamp,
    /// Whether the content is stored encrypted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// That it was blanked: there is no content any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
}

impl Summary {
    /// A thought in short: its content cut to so many characters.
    pub fn of(thought: Thought, chars: usize) -> Summary {
        Summary {
            content: preview(&thought.content, chars).into_owned(),
            id: thought.id,
            kind: thought.kind,
            step_index: thought.step_index,
            task_id: thought.task_id,
            agent_id: thought.agent_id,
            parent_id: thought.parent_id,
            action_id: thought.action_id,
            context_id: thought.context_id,
            brief_id: thought.brief_id,
            timestamp: thought.timestamp,
            sealed: thought.sealed,
            redacted: thought.redacted,
        }
    }
}

/// A thought with what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Branch {
    /// The thought itself.
    #[serde(flatten)]
    pub thought: Summary,
    /// What follows from it, in the order it was recorded.
    pub children: Vec<Branch>,
    /// Whether some of what follows stands in [`Forest::continued`] instead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
}

/// All thoughts of a session, nested.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forest {
    /// The roots.
    pub tree: Vec<Branch>,
    /// Branches that go on below level [`MAX_NESTING`], each to be read below its `parent_id`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub continued: Vec<Branch>,
}

/// For each thought, the index of its parent: none for a root, and for one whose parent is not among them.
///
/// Expects the thoughts in the order in which they were recorded, so that a parent comes before its children.
pub fn parents(thoughts: &[Summary]) -> Vec<Option<usize>> {
    let mut seen: HashMap<&ThoughtId, usize> = HashMap::with_capacity(thoughts.len());
    let mut parents = Vec::with_capacity(thoughts.len());
    for (index, thought) in thoughts.iter().enumerate() {
        parents.push(thought.parent_id.as_ref().and_then(|id| seen.get(id).copied()));
        seen.insert(&thought.id, index);
    }
    parents
}

/// Nests the thoughts of one session, given in the order in which they were recorded.
pub fn nest(thoughts: Vec<Summary>) -> Forest {
    let parents = parents(&thoughts);
    let mut level = vec![0usize; thoughts.len()];
    for (index, parent) in parents.iter().enumerate() {
        level[index] = parent.map_or(0, |parent| level[parent] + 1);
    }
    let mut branches: Vec<Option<Branch>> = thoughts
        .into_iter()
        .map(|thought| Some(Branch { thought, children: Vec::new(), continues: false }))
        .collect();
    let mut forest = Forest { tree: Vec::new(), continued: Vec::new() };
    // From the newest to the oldest: when a thought's turn comes, all that follows from it is in place.
    for index in (0..branches.len()).rev() {
        let mut branch = branches[index].take().expect("each index is taken once");
        branch.children.reverse();
        match parents[index] {
            None => forest.tree.push(branch),
            Some(parent) => {
                let parent = branches[parent].as_mut().expect("a parent comes before its children");
                if level[index].is_multiple_of(MAX_NESTING) {
                    parent.continues = true;
                    forest.continued.push(branch);
                } else {
                    parent.children.push(branch);
                }
            }
        }
    }
    forest.tree.reverse();
    forest.continued.reverse();
    forest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thought(id: usize, parent: Option<usize>) -> Summary {
        let id_of = |n: usize| ThoughtId::new(n.to_string()).unwrap();
        Summary {
            id: id_of(id),
            kind: ThoughtType::Plan,
            content: String::new(),
            step_index: id as u64,
            task_id: TaskId::new("t").unwrap(),
            agent_id: AgentId::new("a").unwrap(),
            parent_id: parent.map(id_of),
            action_id: None,
            context_id: None,
            brief_id: None,
            timestamp: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
            sealed: false,
            redacted: None,
        }
    }

    fn shape(branches: &[Branch]) -> String {
        branches
            .iter()
            .map(|b| {
                let below =
                    if b.children.is_empty() { String::new() } else { format!("({})", shape(&b.children)) };
                format!("{}{below}", b.thought.id)
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn branches_keep_the_order_of_recording() {
        let edges = [None, Some(0), Some(1), Some(1), Some(0), None];
        let forest = nest(edges.iter().enumerate().map(|(i, p)| thought(i, *p)).collect());
        assert_eq!(shape(&forest.tree), "0(1(2 3) 4) 5");
        assert!(forest.continued.is_empty());
    }

    #[test]
    fn a_parent_outside_the_session_makes_a_root() {
        assert_eq!(shape(&nest(vec![thought(0, Some(99)), thought(1, Some(0))]).tree), "0(1)");
    }

    #[test]
    fn a_line_of_ten_thousand_is_nested_in_pieces_and_complete() {
        let line = (0..10_000).map(|i| thought(i, i.checked_sub(1))).collect();
        let forest = nest(line);
        fn count(branch: &Branch, depth: usize) -> usize {
            assert!(depth < MAX_NESTING);
            1 + branch.children.iter().map(|child| count(child, depth + 1)).sum::<usize>()
        }
        let pieces: Vec<&Branch> = forest.tree.iter().chain(&forest.continued).collect();
        assert_eq!(pieces.iter().map(|piece| count(piece, 0)).sum::<usize>(), 10_000);
        assert_eq!(pieces.len(), 10_000 / MAX_NESTING);
        assert_eq!(forest.continued[0].thought.parent_id.as_ref().unwrap().as_str(), "39");
    }
}
