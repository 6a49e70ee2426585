//! Snapshots of roadmaps, and the nodes in them.

use cairn_core::Sha;

use super::{Contexts, NodeHit, Result, RoadmapHead, Terms, Visit};

/// Reads snapshots of roadmaps.
pub trait PlanReader {
    /// Visits snapshots without their contents.
    fn contexts(&self, which: &Contexts<'_>, visit: Visit<'_>) -> Result<()>;
    /// How many snapshots of a roadmap there are.
    fn context_count(&self, roadmap_id: &str) -> Result<u64>;
    /// How many thoughts name a snapshot.
    fn count_on(&self, context_id: u64) -> Result<u64>;
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
    /// Visits the newest snapshot of a roadmap, without its content.
    fn newest_context(&mut self, roadmap_id: &str, visit: Visit<'_>) -> Result<()>;
    /// The number of the content stored under this hash, and whether it is `data`.
    fn snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<Option<(i64, bool)>>;
    /// The numbers of the snapshots that share a content, and their positions in the log, in order.
    fn sharing(&mut self, hash: &Sha) -> Result<Vec<(u64, u64)>>;
    /// Adds a roadmap without snapshots and returns its number.
    fn add_roadmap(&mut self, name: &str) -> Result<i64>;
    /// Adds content, or the place of a content that was redacted, and returns its number.
    fn add_snapshot(&mut self, hash: &Sha, data: Option<&str>) -> Result<i64>;
    /// Moves a roadmap's head.
    fn set_roadmap(&mut self, head: &RoadmapHead) -> Result<()>;
}

/// Reads snapshots as they are stored.
pub trait PlanAudit {
    /// Where in the log the snapshot of that number is.
    fn context_seq(&self, id: u64) -> Result<Option<u64>>;
    /// The positions in the log of the snapshots that share a content, in order.
    fn sharing(&self, hash: &Sha) -> Result<Vec<u64>>;
}
