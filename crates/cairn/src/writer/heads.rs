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
    /// Thoughts never change, so these are true of every log that begins as this one does.
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
            match need {
                // Forgotten only with the whole log.
                Need::Parent(_) if is_remembered => {}
                need if is_remembered => needs.remembered.push(need),
                need => needs.unknown.push(need),
            }
        }
        needs
    }

    /// The remembered heads if they still are those of the log. If it has grown since, its edge is read and what may have
    /// moved is forgotten; if it is not the log that was left, everything is.
    pub fn current<'h>(
        remembered: &'h mut Option<Heads>,
        tx: &mut dyn Append,
    ) -> Result<&'h mut Heads, StoreError> {
        let (size, root) = tx.head()?;
        let left = remembered.take();
        let heads = match left {
            Some(left) if left.edge.size() == size && left.edge.root() == root => left,
            left => Heads::read(size, left, tx)?,
        };
        Ok(remembered.insert(heads))
    }

    fn read(size: u64, left: Option<Heads>, tx: &mut dyn Append) -> Result<Heads, StoreError> {
        let left = left.filter(|left| left.edge.size() <= size);
        let mut places = Edge::nodes_needed(size);
        let nodes = places.len();
        places.extend(left.iter().flat_map(|left| Edge::nodes_needed(left.edge.size())));
        let mut hashes = tx.nodes(&places)?;
        // If the tree over the first entries is still the one that was left, this is that log, and more.
        let before = hashes.split_off(nodes);
        let goes_on = |left: &Heads| {
            let before = Edge::load(left.edge.size(), before);
            before.is_some_and(|before| before.root() == left.edge.root())
        };
        let parents = left.filter(goes_on).map(|left| left.parents);
        Ok(Heads {
            edge: Edge::load(size, hashes)
                .ok_or_else(|| StoreError::Damaged(format!("the log cannot have {size} entries")))?,
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            parents: parents.unwrap_or_default(),
            memories: HashMap::new(),
            contexts: None,
        })
    }
}

/// Overwrites without allocating the key again.
pub(super) fn remember<T>(heads: &mut HashMap<String, T>, name: &str, head: T) {
    match heads.get_mut(name) {
        Some(slot) => *slot = head,
        None => drop(heads.insert(name.to_string(), head)),
    }
}
