//! Snapshots of roadmaps, and the nodes in them.

use cairn_core::Sha;

use super::{ContextRow, NodeHit, Read, ReadContext, Result, RoadmapHead, StoredContext, Terms};

/// Reads snapshots of roadmaps.
pub trait PlanReader {
    /// A snapshot's head.
    fn context(&self, id: u64) -> Result<Option<Read<ReadContext>>>;
    /// The newest `limit` snapshots of a roadmap, of all or of those before one, newest first.
    fn context_history(
        &self,
        roadmap_id: &str,
        before: Option<u64>,
        limit: u64,
    ) -> Result<Vec<Read<ReadContext>>>;
    /// How many snapshots of a roadmap there are.
    fn context_count(&self, roadmap_id: &str) -> Result<u64>;
    /// How many thoughts name a snapshot.
    fn count_on(&self, context_id: u64) -> Result<u64>;
    /// The newest snapshot of every roadmap, or of one.
    fn current_plans(&self, roadmap_id: Option<&str>) -> Result<Vec<Read<ReadContext>>>;
    /// The content of a snapshot.
    fn snapshot(&self, context_id: u64) -> Result<Option<String>>;
    /// The best `limit` matches among the nodes of current snapshots. Only as current as the derived tables.
    fn search_nodes(&self, terms: &Terms, roadmap_id: Option<&str>, limit: usize) -> Result<Vec<NodeHit>>;
    /// How many decisions name a snapshot of any roadmap or of one, and how many of those one whose content is
    /// not that of the newest.
    fn count_decisions(&self, roadmap_id: Option<&str>) -> Result<(u64, u64)>;
}

/// Adds snapshots of roadmaps.
pub trait PlanAppend {
    /// How many snapshots there are: their numbers run from 1 to this.
    fn contexts(&mut self) -> Result<u64>;
    /// A roadmap's head; none if there is no snapshot of it.
    fn roadmap(&mut self, name: &str) -> Result<Option<RoadmapHead>>;
    /// The newest snapshot of a roadmap.
    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<Read<ReadContext>>>;
    /// The number of the content stored under this hash, and whether it is `data`.
    fn snapshot(&mut self, hash: &Sha, data: &str) -> Result<Option<(i64, bool)>>;
    /// Adds a roadmap without snapshots and returns its number.
    fn add_roadmap(&mut self, name: &str) -> Result<i64>;
    /// Adds content and returns its number.
    fn add_snapshot(&mut self, hash: &Sha, data: &str) -> Result<i64>;
    /// Adds a snapshot.
    fn insert_context(&mut self, row: &ContextRow<'_>) -> Result<()>;
    /// Moves a roadmap's head.
    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()>;
}

/// Reads snapshots as they are stored.
pub trait PlanAudit {
    /// The snapshot of an entry, as stored; false if there is none.
    fn context(&self, seq: u64, visit: &mut dyn FnMut(StoredContext<'_>)) -> Result<bool>;
    /// Where in the log the snapshot of that number is.
    fn context_seq(&self, id: u64) -> Result<Option<u64>>;
}
