//! What the writer remembers of the log between transactions.

use std::collections::{HashMap, HashSet};

use cairn_core::id::ThoughtId;
use cairn_core::log::Edge;

use crate::store::{Append, MemoryHead, Need, Needs, ParentLink, SessionHead, StoreError, TaskHead};

/// How many labels and possible parents are remembered at most.
const MAX_REMEMBERED: usize = 1 << 14;

/// The log as the writer left it.
pub struct Heads {
    pub(super) edge: Edge,
    pub(super) tasks: HashMap<String, TaskHead>,
    pub(super) sessions: HashMap<String, SessionHead>,
    pub(super) parents: HashMap<ThoughtId, ParentLink>,
    pub(super) memories: HashMap<String, MemoryHead>,
    /// How many snapshots there are, once somebody has asked.
    pub(super) contexts: Option<u64>,
}

impl Heads {
    /// Makes room, if more is remembered than should be.
    pub fn forget_most(&mut self) {
        if self.tasks.len().max(self.sessions.len()) > MAX_REMEMBERED {
            self.tasks.clear();
            self.sessions.clear();
        }
        if self.parents.len() > MAX_REMEMBERED {
            self.parents.clear();
        }
        if self.memories.len() > MAX_REMEMBERED {
            self.memories.clear();
        }
    }

    /// What a transaction should have read when it begins, of all that its writes will ask for.
    pub fn needs(heads: Option<&Heads>, asked: impl Iterator<Item = Need>) -> Needs {
        let known = heads.map(|heads| (heads.edge.size(), heads.edge.root()));
        let mut needs = Needs { known, ..Needs::default() };
        let asked: HashSet<Need> = asked.collect();
        for need in asked {
            let is_remembered = heads.is_some_and(|heads| match &need {
                Need::Task(name) => heads.tasks.contains_key(name),
                Need::Session(name) => heads.sessions.contains_key(name),
                Need::Memory(name) => heads.memories.contains_key(name),
                Need::Parent(id) => heads.parents.contains_key(id),
                Need::Key(_) | Need::EventKey(_) | Need::Body(_) | Need::Brief(_) => false,
            });
            match is_remembered {
                true => needs.remembered.push(need),
                false => needs.unknown.push(need),
            }
        }
        needs
    }

    /// The remembered heads if they still are those of the log; otherwise its edge is all that is known of it.
    pub fn current<'h>(
        remembered: &'h mut Option<Heads>,
        tx: &mut dyn Append,
    ) -> Result<&'h mut Heads, StoreError> {
        let edge = tx.edge()?;
        let heads = remembered.take().filter(|left| left.edge == edge).unwrap_or_else(|| Heads {
            edge,
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            parents: HashMap::new(),
            memories: HashMap::new(),
            contexts: None,
        });
        Ok(remembered.insert(heads))
    }
}

/// Overwrites without allocating the key again.
pub(super) fn remember<T>(heads: &mut HashMap<String, T>, name: &str, head: T) {
    match heads.get_mut(name) {
        Some(slot) => *slot = head,
        None => drop(heads.insert(name.to_string(), head)),
    }
}
