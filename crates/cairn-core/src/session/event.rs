//! What can happen in a session, as it is recorded.
//!
//! An event is kept as its kind, a version, and a body of canonical JSON. A version fixes the meaning of a body for
//! ever: a change of meaning is a new number, and the old one stays readable.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::op::EntityOp;

/// The version of the events that are written today.
pub const VERSION: u64 = 1;

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The session was opened, or its settings were changed.
    Opened(Opened),
    /// The user said something: a turn began.
    TurnBegan(TurnBegan),
    /// Things were read, drafted, saved …
    EntitiesApplied(EntitiesApplied),
    /// A step of the turn's plan was taken.
    StepTaken(Step),
    /// Something about the turn was noted.
    TurnNoted(Note),
    /// The agent answered: the turn ended.
    TurnEnded(TurnEnded),
    /// Older turns were put into a few sentences by the caller.
    SummaryApplied(SummaryApplied),
}

/// See [`Event::Opened`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The types of entities that the session knows; none if any will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub types: Option<Vec<String>>,
    /// How the session is kept.
    #[serde(default)]
    pub settings: Settings,
}

/// How a session is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Turns before the current one in which a reference keeps an entity active.
    #[serde(default = "two")]
    pub window: u64,
}

fn two() -> u64 {
    2
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { window: two() }
    }
}

/// See [`Event::TurnBegan`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnBegan {
    /// What the user said.
    pub message: String,
}

/// See [`Event::EntitiesApplied`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntitiesApplied {
    /// What was done, in order.
    pub ops: Vec<EntityOp>,
}

/// One step of a turn. See [`Event::StepTaken`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its number in the plan.
    pub step_num: u64,
    /// What kind of step.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The part of the domain it worked on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subdomain: String,
    /// What was planned.
    pub description: String,
    /// What came of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// The refs it worked on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities_involved: Vec<String>,
    /// What the next step should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub status: StepStatus,
}

/// What kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Something was fetched.
    Read,
    /// Something was found out.
    Analyze,
    /// Something was drafted.
    Generate,
    /// Something was saved.
    Write,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// Well.
    #[default]
    Done,
    /// It could not go on.
    Blocked,
    /// It went wrong.
    Failed,
}

/// What was noted about a turn. See [`Event::TurnNoted`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// What was decided to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// Where the conversation stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// What the user let know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_expressed: Option<String>,
    /// Facts that the user stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<StatedConstraint>,
    /// What the whole conversation is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engagement: Option<String>,
    /// What the user is asked; `Some(None)` if nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub pending: Option<Option<Pending>>,
    /// Where the message was routed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Map<String, Value>>,
}

/// Tells null from absent.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Pending>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// What Think decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// To do it.
    PlanDirect,
    /// To propose it.
    Propose,
    /// To ask.
    Clarify,
}

impl Decision {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::PlanDirect => "plan_direct",
            Decision::Propose => "propose",
            Decision::Clarify => "clarify",
        }
    }
}

/// Where a conversation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Looking around.
    Exploring,
    /// Choosing.
    Narrowing,
    /// About to settle.
    Confirming,
    /// Doing it.
    Executing,
}

impl Phase {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Exploring => "exploring",
            Phase::Narrowing => "narrowing",
            Phase::Confirming => "confirming",
            Phase::Executing => "executing",
        }
    }
}

/// What the user is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// Who waits.
    #[serde(rename = "type")]
    pub kind: PendingKind,
    /// What was proposed or asked.
    pub context: String,
    /// The questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
}

/// Who waits for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingKind {
    /// A proposal.
    Propose,
    /// A question about what is meant.
    Clarify,
    /// A question that came up on the way.
    AskUser,
    /// A question before anything was planned.
    Understand,
}

impl PendingKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            PendingKind::Propose => "propose",
            PendingKind::Clarify => "clarify",
            PendingKind::AskUser => "ask_user",
            PendingKind::Understand => "understand",
        }
    }
}

/// A fact that the user stated; without a value it is taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedConstraint {
    /// What it is about.
    pub key: String,
    /// The fact.
    #[serde(default)]
    pub value: Value,
    /// The last turn it holds in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// See [`Event::TurnEnded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TurnEnded {
    /// What the agent answered.
    pub reply: String,
    /// The same in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_summary: Option<String>,
    /// Why the turn did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
}

/// See [`Event::SummaryApplied`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryApplied {
    /// Of what.
    #[serde(rename = "kind")]
    pub of: SummaryKind,
    /// The first turn it covers.
    pub from_turn: u64,
    /// The last turn it covers.
    pub to_turn: u64,
    /// The text.
    pub text: String,
}

/// What a summary is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryKind {
    /// What was said.
    History,
    /// What was done.
    Reasoning,
}

/// Why a stored event cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// Nobody writes such events.
    #[error("there is no event of kind `{0}`")]
    UnknownKind(String),
    /// A later version wrote it.
    #[error("an event of kind `{kind}` has version {found}; this program knows {VERSION}")]
    UnknownVersion {
        /// Its kind.
        kind: String,
        /// Its version.
        found: u64,
    },
    /// It is not what its kind says.
    #[error("the body of an event of kind `{kind}` cannot be read: {message}")]
    Body {
        /// Its kind.
        kind: String,
        /// What is wrong.
        message: String,
    },
}

impl Event {
    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::Opened(_) => "opened",
            Event::TurnBegan(_) => "turn_began",
            Event::EntitiesApplied(_) => "entities_applied",
            Event::StepTaken(_) => "step_taken",
            Event::TurnNoted(_) => "turn_noted",
            Event::TurnEnded(_) => "turn_ended",
            Event::SummaryApplied(_) => "summary_applied",
        }
    }

    /// The body as JSON.
    pub fn body(&self) -> Value {
        let value = match self {
            Event::Opened(body) => serde_json::to_value(body),
            Event::TurnBegan(body) => serde_json::to_value(body),
            Event::EntitiesApplied(body) => serde_json::to_value(body),
            Event::StepTaken(body) => serde_json::to_value(body),
            Event::TurnNoted(body) => serde_json::to_value(body),
            Event::TurnEnded(body) => serde_json::to_value(body),
            Event::SummaryApplied(body) => serde_json::to_value(body),
        };
        value.expect("texts, numbers and lists can always be written as JSON")
    }

    /// Reads what was recorded.
    pub fn parse(kind: &str, version: u64, body: &str) -> Result<Event, EventError> {
        if version != VERSION {
            return Err(EventError::UnknownVersion { kind: kind.to_string(), found: version });
        }
        Ok(match kind {
            "opened" => Event::Opened(read(kind, body)?),
            "turn_began" => Event::TurnBegan(read(kind, body)?),
            "entities_applied" => Event::EntitiesApplied(read(kind, body)?),
            "step_taken" => Event::StepTaken(read(kind, body)?),
            "turn_noted" => Event::TurnNoted(read(kind, body)?),
            "turn_ended" => Event::TurnEnded(read(kind, body)?),
            "summary_applied" => Event::SummaryApplied(read(kind, body)?),
            other => return Err(EventError::UnknownKind(other.to_string())),
        })
    }
}

fn read<T: DeserializeOwned>(kind: &str, body: &str) -> Result<T, EventError> {
    serde_json::from_str(body)
        .map_err(|error| EventError::Body { kind: kind.to_string(), message: error.to_string() })
}
