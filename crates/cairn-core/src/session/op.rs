//! Operations on entities, as they are recorded, and what came of them.

use serde::{Deserialize, Serialize};

use super::wire::FlatOp;
use crate::hash::Sha;

/// Content that is kept apart, once, by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// SHA-256 of its canonical JSON.
    pub sha256: Sha,
    /// Bytes of that.
    pub bytes: u64,
}

/// How much a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Everything.
    Full,
    /// Less.
    Summary,
}

/// What the user did outside the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserAction {
    /// Made it.
    Created,
    /// Changed it.
    Updated,
    /// Deleted it.
    Deleted,
    /// Named it.
    Mentioned,
}

/// Something in storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its id in storage.
    pub id: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// A row that was read or changed, with what it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// The row.
    #[serde(flatten)]
    pub row: Row,
    /// How much of it there was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
    /// Its content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Other things it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Row>,
    /// Rows inside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<Row>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", try_from = "FlatOp")]
pub enum EntityOp {
    /// It came from storage.
    Read(Stored),
    /// It was changed in storage.
    Update(Stored),
    /// It was drafted.
    Generate {
        /// What kind of thing it is.
        #[serde(rename = "type")]
        kind: String,
        /// What people call it.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Its content.
        #[serde(skip_serializing_if = "Option::is_none")]
        body: Option<Body>,
    },
    /// It was saved.
    Create {
        /// What kind of thing it is.
        #[serde(rename = "type")]
        kind: String,
        /// Its id in storage.
        id: String,
        /// What people call it.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// The draft it was.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// The user did something to it.
    User {
        /// What kind of thing it is.
        #[serde(rename = "type")]
        kind: String,
        /// Its id in storage.
        id: String,
        /// What people call it.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// What.
        action: UserAction,
    },
    /// It was deleted from storage.
    Delete {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
    },
    /// It was referenced.
    Touch {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
    },
    /// Whatever the text names was referenced.
    TouchText {
        /// The text.
        text: String,
    },
    /// It is to be kept when it grows old.
    Retain {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
        /// Why.
        reason: String,
    },
    /// It need not be kept.
    Demote {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
    },
    /// A draft has other content.
    Edit {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
        /// The content.
        body: Body,
        /// What people call it now.
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// It has a label at last.
    Label {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
        /// The label.
        label: String,
    },
    /// It is to be forgotten.
    Drop {
        /// Which.
        #[serde(rename = "ref")]
        entity_ref: String,
    },
    /// Everything is to be forgotten.
    Clear {},
}

/// What an operation did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpResult {
    /// The entity it concerned.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub entity_ref: Option<String>,
    /// Whether it was done.
    pub applied: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it saved a draft under its ref.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub promoted: bool,
    /// The refs of its links, then of its nested rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<String>,
}

impl OpResult {
    pub(super) fn done(entity_ref: &str) -> OpResult {
        OpResult {
            entity_ref: Some(entity_ref.to_string()),
            applied: true,
            reason: None,
            promoted: false,
            linked: Vec::new(),
        }
    }

    pub(super) fn not(entity_ref: &str, reason: impl Into<String>) -> OpResult {
        OpResult { applied: false, reason: Some(reason.into()), ..OpResult::done(entity_ref) }
    }
}

/// Two drafts could be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambiguous {
    /// The label.
    pub label: String,
    /// The drafts that have it.
    pub candidates: Vec<String>,
}
