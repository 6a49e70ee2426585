//! Thoughts: what an agent planned, found, decided or learned, and the hashes that link them.
//!
//! Each thought hangs in two structures at once. The *task chain* is linear: `hash` covers `prev_hash`, the
//! hash of the thought recorded before it for the same task; it proves order. The *session tree* branches:
//! `chain_hash` covers the parent's `chain_hash`; it shows reasons. Neither covers every field (the author,
//! for one): the log entry does, see [`crate::entry`].

mod links;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical::ObjectWriter;
use crate::hash::Sha;
use crate::id::{
    ActionId, AgentId, BriefId, IdempotencyKey, LabelError, SessionId, Subject, TaskId, ThoughtId,
};
use crate::metadata;
use crate::redaction::Redaction;
use crate::time::Timestamp;

pub use links::{LinkError, MAX_LINKS, MAX_SUBJECTS, WrongLink, wrong_links};

/// The four kinds of thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThoughtType {
    /// What is about to be done, before it is done.
    Plan,
    /// Facts found and options weighed on the way.
    Analysis,
    /// A choice, with its reason.
    Decision,
    /// What came of it: outcomes, lessons, corrections.
    Reflection,
}

impl ThoughtType {
    /// All four, in the order in which work usually goes.
    pub const ALL: [ThoughtType; 4] =
        [ThoughtType::Plan, ThoughtType::Analysis, ThoughtType::Decision, ThoughtType::Reflection];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ThoughtType::Plan => "plan",
            ThoughtType::Analysis => "analysis",
            ThoughtType::Decision => "decision",
            ThoughtType::Reflection => "reflection",
        }
    }
}

impl fmt::Display for ThoughtType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that is none of the four.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of plan, analysis, decision, reflection; found `{0}`")]
pub struct UnknownType(pub String);

impl FromStr for ThoughtType {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<ThoughtType, UnknownType> {
        ThoughtType::ALL
            .into_iter()
            .find(|t| t.as_str() == text)
            .ok_or_else(|| UnknownType(crate::preview::preview(text, 40).into_owned()))
    }
}

/// How a thought came to be recorded. Cairn sets it, not the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// An agent recorded it through a tool.
    #[default]
    Agent,
    /// Cairn took it from what an agent did, without any action by the agent.
    Captured,
    /// A person recorded it.
    Person,
}

impl Source {
    /// All three.
    pub const ALL: [Source; 3] = [Source::Agent, Source::Captured, Source::Person];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Agent => "agent",
            Source::Captured => "captured",
            Source::Person => "person",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of agent, captured, person; found `{0}`")]
pub struct UnknownSource(pub String);

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Source, UnknownSource> {
        Source::ALL
            .into_iter()
            .find(|source| source.as_str() == text)
            .ok_or_else(|| UnknownSource(crate::preview::preview(text, 40).into_owned()))
    }
}

/// One immutable record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thought {
    /// Unique in the whole log.
    pub id: ThoughtId,
    /// Which of the four kinds.
    #[serde(rename = "type")]
    pub kind: ThoughtType,
    /// The chain it belongs to.
    pub task_id: TaskId,
    /// The tree it belongs to.
    pub session_id: SessionId,
    /// Who thought it.
    pub agent_id: AgentId,
    /// The text.
    pub content: String,
    /// The thought it follows from, or none for a root.
    pub parent_id: Option<ThoughtId>,
    /// The action it led to.
    pub action_id: Option<ActionId>,
    /// The plan snapshot it was based on.
    pub context_id: Option<u64>,
    /// The brief it was based on.
    pub brief_id: Option<BriefId>,
    /// The decisions that it replaces (a decision) or withdraws (a reflection).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ThoughtId>,
    /// The thoughts of its session that it turned down.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejects: Vec<ThoughtId>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applies_to: Vec<Subject>,
    /// How it came to be recorded.
    pub source: Source,
    /// Whatever else the caller wanted to keep.
    pub metadata: Option<Map<String, Value>>,
    /// Position in the session, from 0.
    pub step_index: u64,
    /// When it was recorded, by the recorder's clock.
    pub timestamp: Timestamp,
    /// The `hash` of the thought before it in its task, or zeros.
    pub prev_hash: Sha,
    /// The link of the task chain.
    pub hash: Sha,
    /// SHA-256 of the content.
    pub content_hash: Sha,
    /// The link of the session tree.
    pub chain_hash: Sha,
    /// Position in the log.
    pub seq: u64,
    /// Whether the content is stored encrypted. The hashes are those of the encrypted text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// That it was blanked: content and metadata are then empty here, and gone from the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
}

/// How the stored text of a sealed content begins; no other content may begin so.
pub const SEALED: &str = "sealed:v1:";

/// `SHA256(canonical({content, id, prev_hash, task_id, timestamp, type}))`, the link of a task chain.
///
/// `buffer` is scratch space: one buffer serves a million calls.
pub fn task_hash(link: &TaskLink<'_>, buffer: &mut Vec<u8>) -> Sha {
    buffer.clear();
    let mut object = ObjectWriter::new(buffer);
    object
        .text("content", link.content)
        .text("id", link.id)
        .sha("prev_hash", &link.prev_hash)
        .text("task_id", link.task_id)
        .text("timestamp", link.timestamp)
        .text("type", link.kind);
    object.end();
    Sha::of(buffer)
}

/// What [`task_hash`] covers.
pub struct TaskLink<'a> {
    /// The text of the thought.
    pub content: &'a str,
    /// Its id.
    pub id: &'a str,
    /// The `hash` before it.
    pub prev_hash: Sha,
    /// Its task.
    pub task_id: &'a str,
    /// Its timestamp, as text.
    pub timestamp: &'a str,
    /// The word for its type.
    pub kind: &'a str,
}

/// `SHA256(hex(content_hash) ++ hex(parent's chain_hash or zeros))`, the link of a session tree.
pub fn chain_hash(content_hash: &Sha, parent: Option<&Sha>) -> Sha {
    Sha::of_parts(&[content_hash.hex().as_bytes(), parent.unwrap_or(&Sha::ZERO).hex().as_bytes()])
}

/// One thing wrong with what a caller sent, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// The argument, or the path inside it (`metadata.tool_calls[2]`).
    pub path: String,
    /// What was wrong and what was expected.
    pub message: String,
}

impl Issue {
    /// Names a problem at a path.
    pub fn new(path: impl Into<String>, message: impl fmt::Display) -> Issue {
        Issue { path: path.into(), message: message.to_string() }
    }
}

/// Sizes beyond which a thought is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of content.
    pub content: usize,
    /// Bytes of metadata in canonical form.
    pub metadata: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { content: 1 << 20, metadata: 64 << 10 }
    }
}

/// A thought that a caller wants recorded, not yet checked.
///
/// ```
/// use cairn_core::thought::{NewThought, ThoughtType};
///
/// let thought = NewThought::new(ThoughtType::Decision, "Use SQLite: one file, no server")
///     .session("storage")
///     .agent("claude")
///     .action("commit-4f2a");
/// assert!(thought.check(&Default::default()).is_ok());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NewThought {
    /// See [`Thought::kind`].
    pub kind: ThoughtType,
    /// See [`Thought::content`].
    pub content: String,
    /// The task; the session's label if none is given.
    pub task_id: Option<String>,
    /// The session; the task's label if none is given.
    pub session_id: Option<String>,
    /// The author; `metadata.agent_id` if none is given.
    pub agent_id: Option<String>,
    /// See [`Thought::parent_id`].
    pub parent_id: Option<String>,
    /// See [`Thought::action_id`].
    pub action_id: Option<String>,
    /// See [`Thought::context_id`].
    pub context_id: Option<u64>,
    /// See [`Thought::brief_id`].
    pub brief_id: Option<String>,
    /// See [`Thought::supersedes`].
    pub supersedes: Vec<String>,
    /// See [`Thought::rejects`].
    pub rejects: Vec<String>,
    /// See [`Thought::applies_to`].
    pub applies_to: Vec<String>,
    /// See [`Thought::metadata`].
    pub metadata: Option<Map<String, Value>>,
    /// The same key with the same arguments returns the first record again.
    pub idempotency_key: Option<String>,
    /// Whether the content is to be encrypted before it is hashed, so that deleting its key erases it.
    pub seal: bool,
}

impl NewThought {
    /// Starts a draft; at least a task or a session, and an author, must follow.
    pub fn new(kind: ThoughtType, content: impl Into<String>) -> NewThought {
        NewThought {
            kind,
            content: content.into(),
            task_id: None,
            session_id: None,
            agent_id: None,
            parent_id: None,
            action_id: None,
            context_id: None,
            brief_id: None,
            supersedes: Vec::new(),
            rejects: Vec::new(),
            applies_to: Vec::new(),
            metadata: None,
            idempotency_key: None,
            seal: false,
        }
    }

    /// Sets the task.
    pub fn task(mut self, id: impl Into<String>) -> NewThought {
        self.task_id = Some(id.into());
        self
    }

    /// Sets the session.
    pub fn session(mut self, id: impl Into<String>) -> NewThought {
        self.session_id = Some(id.into());
        self
    }

    /// Sets the author.
    pub fn agent(mut self, id: impl Into<String>) -> NewThought {
        self.agent_id = Some(id.into());
        self
    }

    /// Sets the parent.
    pub fn parent(mut self, id: impl fmt::Display) -> NewThought {
        self.parent_id = Some(id.to_string());
        self
    }

    /// Sets the action it led to.
    pub fn action(mut self, id: impl Into<String>) -> NewThought {
        self.action_id = Some(id.into());
        self
    }

    /// Adds a decision that it replaces or withdraws.
    pub fn supersedes(mut self, id: impl fmt::Display) -> NewThought {
        self.supersedes.push(id.to_string());
        self
    }

    /// Adds a thought that it turned down.
    pub fn rejects(mut self, id: impl fmt::Display) -> NewThought {
        self.rejects.push(id.to_string());
        self
    }

    /// Adds a path, a glob or a label that it is about.
    pub fn applies_to(mut self, subject: impl Into<String>) -> NewThought {
        self.applies_to.push(subject.into());
        self
    }

    /// Sets the metadata.
    pub fn metadata(mut self, metadata: Map<String, Value>) -> NewThought {
        self.metadata = Some(metadata);
        self
    }

    /// Sets the idempotency key.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> NewThought {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Has the content encrypted before it is hashed.
    pub fn seal(mut self) -> NewThought {
        self.seal = true;
        self
    }

    /// Checks everything that can be checked without the database, and reports every problem at once.
    ///
    /// The source is that of an agent, until [`CheckedThought::from_source`] names another.
    pub fn check(self, limits: &Limits) -> Result<CheckedThought, Refusal> {
        let mut issues = Vec::new();
        if self.task_id.is_none() && self.session_id.is_none() {
            issues.push(Issue::new("task_id", "one of task_id and session_id must be given"));
        }
        let from_metadata = || match self.metadata.as_ref()?.get("agent_id")? {
            Value::String(agent) => Some(agent.clone()),
            _ => None,
        };
        let agent = self.agent_id.or_else(from_metadata);
        if agent.is_none() {
            issues.push(Issue::new("agent_id", "who is thinking? give agent_id or metadata.agent_id"));
        }

        let task_id = label(&mut issues, "task_id", self.task_id, TaskId::new);
        let session_id = label(&mut issues, "session_id", self.session_id, SessionId::new);
        // One label serves for both. If the other was given and is wrong, that is among the issues by now.
        let (task_id, session_id) = match (task_id, session_id) {
            (Some(task), None) => {
                let session = SessionId::new(task.as_str()).ok();
                (Some(task), session)
            }
            (None, Some(session)) => (TaskId::new(session.as_str()).ok(), Some(session)),
            both => both,
        };
        let agent_id = label(&mut issues, "agent_id", agent, AgentId::new);
        let parent_id = label(&mut issues, "parent_id", self.parent_id, ThoughtId::new);
        let action_id = label(&mut issues, "action_id", self.action_id, ActionId::new);
        let brief_id = label(&mut issues, "brief_id", self.brief_id, BriefId::new);
        let wrong = wrong_links(self.kind, &self.supersedes, &self.rejects, &self.applies_to);
        issues.extend(wrong.into_iter().map(Issue::from));
        let key = label(&mut issues, "idempotency_key", self.idempotency_key, IdempotencyKey::new);
        if self.content.as_bytes().contains(&0) {
            issues.push(Issue::new("content", NUL));
        }
        if self.content.starts_with(SEALED) {
            let message =
                format!("must not begin with `{SEALED}`, which marks encrypted texts; put a space before it");
            issues.push(Issue::new("content", message));
        }
        let metadata = self.metadata.and_then(|map| metadata::canonical(map, &mut issues));

        let (Some(task_id), Some(session_id), Some(agent_id), []) =
            (task_id, session_id, agent_id, &issues[..])
        else {
            return Err(Refusal::Invalid(issues));
        };
        for (field, actual, limit) in [
            ("content", self.content.len(), limits.content),
            ("metadata", metadata.as_ref().map_or(0, String::len), limits.metadata),
        ] {
            if actual > limit {
                return Err(Refusal::TooLarge { field, actual, limit });
            }
        }
        Ok(CheckedThought {
            kind: self.kind,
            content_hash: Sha::of(self.content.as_bytes()),
            content: self.content,
            task_id,
            session_id,
            agent_id,
            parent_id,
            action_id,
            context_id: self.context_id,
            brief_id,
            supersedes: typed(self.supersedes, ThoughtId::new),
            rejects: typed(self.rejects, ThoughtId::new),
            applies_to: typed(self.applies_to, Subject::new),
            source: Source::Agent,
            metadata,
            idempotency_key: key,
            seal: self.seal,
        })
    }
}

pub(crate) const NUL: &str = "must not contain a NUL character or an unpaired surrogate";

fn label<T>(
    issues: &mut Vec<Issue>,
    path: &str,
    text: Option<String>,
    make: impl FnOnce(String) -> Result<T, LabelError>,
) -> Option<T> {
    match make(text?) {
        Ok(label) => Some(label),
        Err(error) => {
            issues.push(Issue::new(path, error));
            None
        }
    }
}

/// The texts of a list, each of which is known to be right by now.
fn typed<T>(texts: Vec<String>, make: impl Fn(String) -> Result<T, LabelError>) -> Vec<T> {
    texts.into_iter().filter_map(|text| make(text).ok()).collect()
}

/// Why a draft is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Every problem found.
    Invalid(Vec<Issue>),
    /// Well-formed, and too much of it.
    TooLarge {
        /// Which argument.
        field: &'static str,
        /// Its size in bytes.
        actual: usize,
        /// The most it may have.
        limit: usize,
    },
}

/// A draft whose every field is known to be fit to record.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedThought {
    /// See [`Thought::kind`].
    pub kind: ThoughtType,
    /// See [`Thought::content`].
    pub content: String,
    /// See [`Thought::content_hash`].
    pub content_hash: Sha,
    /// See [`Thought::task_id`].
    pub task_id: TaskId,
    /// See [`Thought::session_id`].
    pub session_id: SessionId,
    /// See [`Thought::agent_id`].
    pub agent_id: AgentId,
    /// See [`Thought::parent_id`].
    pub parent_id: Option<ThoughtId>,
    /// See [`Thought::action_id`].
    pub action_id: Option<ActionId>,
    /// See [`Thought::context_id`].
    pub context_id: Option<u64>,
    /// See [`Thought::brief_id`].
    pub brief_id: Option<BriefId>,
    /// See [`Thought::supersedes`].
    pub supersedes: Vec<ThoughtId>,
    /// See [`Thought::rejects`].
    pub rejects: Vec<ThoughtId>,
    /// See [`Thought::applies_to`].
    pub applies_to: Vec<Subject>,
    /// See [`Thought::source`].
    pub source: Source,
    /// See [`Thought::metadata`]; canonical JSON.
    pub metadata: Option<String>,
    /// See [`NewThought::idempotency_key`].
    pub idempotency_key: Option<IdempotencyKey>,
    /// See [`NewThought::seal`].
    pub seal: bool,
}

impl CheckedThought {
    /// Sets how it came to be recorded.
    pub fn from_source(self, source: Source) -> CheckedThought {
        CheckedThought { source, ..self }
    }
}

#[cfg(test)]
mod tests;
