//! A session's state as the library tells it, in the parts that a page shows.

use serde::Deserialize;
use serde_json::Value;

use cairn::Timestamp;
use cairn::core::session::event::{Pending, Settings, Step, SummaryApplied};

#[derive(Deserialize)]
pub(super) struct State {
    pub(super) turn: u64,
    pub(super) open: bool,
    pub(super) seq: u64,
    pub(super) types: Option<Vec<String>>,
    pub(super) settings: Settings,
    pub(super) entities: Entities,
    pub(super) conversation: Conversation,
    pub(super) reasoning: Reasoning,
}

#[derive(Deserialize)]
pub(super) struct Entities {
    pub(super) entities: Vec<Entity>,
}

#[derive(Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "ref")]
    pub(super) entity_ref: String,
    pub(super) label: String,
    pub(super) status: String,
    pub(super) saved_id: Option<String>,
    pub(super) turn_created: u64,
    pub(super) turn_last_ref: u64,
    pub(super) retention_reason: Option<String>,
    pub(super) demoted: bool,
    pub(super) tier: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Conversation {
    pub(super) recent_turns: Vec<Said>,
    pub(super) history_summary: Vec<SummaryApplied>,
    pub(super) engagement_summary: Option<String>,
    pub(super) pending: Option<Pending>,
    pub(super) constraints: Vec<Constraint>,
}

/// What was said in a turn.
#[derive(Deserialize)]
pub(super) struct Said {
    pub(super) turn: u64,
    pub(super) user: String,
    pub(super) assistant: Option<String>,
    pub(super) assistant_summary: Option<String>,
    pub(super) timestamp: Timestamp,
}

#[derive(Deserialize)]
pub(super) struct Constraint {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) since_turn: u64,
    pub(super) expires: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Reasoning {
    pub(super) turn_summaries: Vec<Done>,
    pub(super) reasoning_summary: Vec<SummaryApplied>,
}

/// What was decided and done in a turn.
#[derive(Deserialize)]
pub(super) struct Done {
    pub(super) turn_num: u64,
    pub(super) think_decision: Option<String>,
    pub(super) think_goal: Option<String>,
    pub(super) steps: Vec<Step>,
    pub(super) entity_curation: Curation,
    pub(super) conversation_phase: Option<String>,
    pub(super) user_expressed: Option<String>,
    pub(super) blocked_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Curation {
    pub(super) retained: Vec<String>,
    pub(super) demoted: Vec<String>,
}
