//! The data of the answers about roadmaps and their snapshots, as programs read it: the same from a tool and from
//! a command with `--json`. [`cairn::Validation`], [`cairn::Registered`] and [`cairn::Drift`] are data as they are.

use cairn::core::id::RoadmapId;
use cairn::core::redaction::Redaction;
use cairn::core::roadmap::diff::Counts;
use cairn::core::roadmap::flaws::Flaw;
use cairn::core::roadmap::{Node, Roadmap};
use cairn::{
    Captured, Comparison, Context, ContextHead, ContextVerdict, Damage, ListedRoadmap, Listing, MATCH_END,
    MATCH_START, NodeHit, Sha, Timestamp,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Characters of a hash that a summary or a history shows.
const SHORT_HASH: usize = 16;

/// The beginning of a hash, to be recognised by and not to be checked with.
pub(crate) fn short_hash(hash: &Sha) -> String {
    format!("{}…", &hash.hex().as_str()[..SHORT_HASH])
}

/// The roadmaps in the folder.
#[derive(Serialize)]
pub(crate) struct RoadmapList {
    count: usize,
    roadmaps: Vec<ListedRoadmap>,
}

impl From<Vec<ListedRoadmap>> for RoadmapList {
    fn from(roadmaps: Vec<ListedRoadmap>) -> RoadmapList {
        RoadmapList { count: roadmaps.len(), roadmaps }
    }
}

/// One roadmap, whole.
#[derive(Serialize)]
pub(crate) struct RoadmapData {
    id: String,
    #[serde(flatten)]
    roadmap: Roadmap,
}

impl RoadmapData {
    pub(crate) fn new(id: impl Into<String>, roadmap: Roadmap) -> RoadmapData {
        RoadmapData { id: id.into(), roadmap }
    }
}

/// A snapshot that was made, or found to be there already.
#[derive(Serialize)]
pub(crate) struct CapturedData {
    context: ContextHead,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_existing: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<CapturedSummary>,
    warnings: Vec<Flaw>,
}

#[derive(Serialize)]
struct CapturedSummary {
    roadmap_id: RoadmapId,
    node_count: u64,
    content_hash: String,
}

impl CapturedData {
    /// The answer to `context_create`.
    pub(crate) fn created(captured: Captured) -> CapturedData {
        let summary = Some(CapturedSummary::of(&captured.context));
        CapturedData { context: captured.context, is_existing: None, summary, warnings: captured.warnings }
    }

    /// The answer to `context_ensure`.
    pub(crate) fn ensured(captured: Captured) -> CapturedData {
        let Captured { context, is_existing, warnings } = captured;
        let summary = (!is_existing).then(|| CapturedSummary::of(&context));
        CapturedData { context, is_existing: Some(is_existing), summary, warnings }
    }
}

impl CapturedSummary {
    fn of(context: &ContextHead) -> CapturedSummary {
        CapturedSummary {
            roadmap_id: context.roadmap_id.clone(),
            node_count: context.node_count,
            content_hash: short_hash(&context.content_hash),
        }
    }
}

/// One snapshot, whole.
#[derive(Serialize)]
pub(crate) struct ContextData {
    pub(crate) context: Context,
}

/// The newest snapshot of a roadmap; if there is none, that is said.
#[derive(Serialize)]
pub(crate) struct LatestData {
    context: Option<Context>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl LatestData {
    pub(crate) fn new(roadmap_id: &str, context: Option<Context>) -> LatestData {
        let message =
            context.is_none().then(|| format!("there is no snapshot of roadmap `{roadmap_id}` yet"));
        LatestData { context, message }
    }
}

/// The snapshots of a roadmap, newest first.
#[derive(Serialize)]
pub(crate) struct HistoryData {
    roadmap_id: String,
    count: usize,
    contexts: Vec<PastContext>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
}

#[derive(Serialize)]
struct PastContext {
    context_id: u64,
    content_hash: String,
    created_at: Timestamp,
    metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<Redaction>,
}

impl HistoryData {
    pub(crate) fn new(roadmap_id: impl Into<String>, listing: Listing<ContextHead>) -> HistoryData {
        let past = |context: ContextHead| PastContext {
            context_id: context.context_id,
            content_hash: short_hash(&context.content_hash),
            created_at: context.created_at,
            metadata: context.metadata,
            redacted: context.redacted,
        };
        let Listing { records: contexts, damaged } = listing.map(past);
        HistoryData { roadmap_id: roadmap_id.into(), count: contexts.len(), contexts, damaged }
    }
}

/// Whether a stored snapshot is what was captured.
#[derive(Serialize)]
pub(crate) struct VerdictData {
    valid: Option<bool>,
    context_id: u64,
    stored_hash: Option<String>,
    recalculated_hash: Option<String>,
    created_at: String,
    message: String,
}

impl From<ContextVerdict> for VerdictData {
    fn from(verdict: ContextVerdict) -> VerdictData {
        VerdictData {
            valid: verdict.valid,
            context_id: verdict.context_id,
            stored_hash: verdict.stored_hash.as_ref().map(short_hash),
            recalculated_hash: verdict.recalculated_hash.as_ref().map(short_hash),
            created_at: verdict.created_at,
            message: verdict.message,
        }
    }
}

/// What changed from one snapshot to another.
#[derive(Serialize)]
pub(crate) struct ComparisonData {
    total_changes: usize,
    identical: bool,
    counts: Counts,
    differences: Comparison,
}

impl From<Comparison> for ComparisonData {
    fn from(differences: Comparison) -> ComparisonData {
        let diff = &differences.diff;
        let (total_changes, identical, counts) = (diff.total_changes(), diff.identical(), diff.counts());
        ComparisonData { total_changes, identical, counts, differences }
    }
}

/// The nodes that a search found.
#[derive(Serialize)]
pub(crate) struct NodesFound {
    count: usize,
    results: Vec<FoundNode>,
}

#[derive(Serialize)]
struct FoundNode {
    roadmap_id: RoadmapId,
    context_id: u64,
    #[serde(flatten)]
    node: Node,
    rank: f64,
    snippet: String,
}

impl From<Vec<NodeHit>> for NodesFound {
    fn from(hits: Vec<NodeHit>) -> NodesFound {
        let found = |hit: NodeHit| FoundNode {
            roadmap_id: hit.roadmap_id,
            context_id: hit.context_id,
            node: hit.node,
            rank: hit.rank,
            snippet: hit.snippet.replace([MATCH_START, MATCH_END], "**"),
        };
        let results: Vec<FoundNode> = hits.into_iter().map(found).collect();
        NodesFound { count: results.len(), results }
    }
}
