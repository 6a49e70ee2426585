//! Layer 1: one thing a session knows of, and where it stands.

use serde::{Deserialize, Serialize};

pub use super::entities::{Entities, Moment};
pub use super::op::{Ambiguous, OpResult};
use super::op::{Body, Detail};

/// The status of an entity: what last happened to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It came from storage.
    #[serde(rename = "read")]
    Read,
    /// It was saved.
    #[serde(rename = "created")]
    Created,
    /// It was changed in storage.
    #[serde(rename = "updated")]
    Updated,
    /// It was deleted from storage.
    #[serde(rename = "deleted")]
    Deleted,
    /// It was drafted.
    #[serde(rename = "generated")]
    Generated,
    /// Something else names it.
    #[serde(rename = "linked")]
    Linked,
    /// The user made it.
    #[serde(rename = "created:user")]
    UserCreated,
    /// The user changed it.
    #[serde(rename = "updated:user")]
    UserUpdated,
    /// The user deleted it.
    #[serde(rename = "deleted:user")]
    UserDeleted,
    /// The user named it.
    #[serde(rename = "mentioned:user")]
    UserMentioned,
}

impl Status {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Read => "read",
            Status::Created => "created",
            Status::Updated => "updated",
            Status::Deleted => "deleted",
            Status::Generated => "generated",
            Status::Linked => "linked",
            Status::UserCreated => "created:user",
            Status::UserUpdated => "updated:user",
            Status::UserDeleted => "deleted:user",
            Status::UserMentioned => "mentioned:user",
        }
    }
}

/// Which of the three lists an entity is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Referenced within the window.
    Active,
    /// An unsaved draft with a body, at any age.
    Generated,
    /// Older, with a reason to be kept.
    Retained,
}

/// One thing.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entity {
    /// What it is called in the session.
    pub entity_ref: String,
    /// Whether it began as a draft. Its ref does not tell: a type may itself be called `gen_…`.
    pub(super) draft: bool,
    /// What kind of thing it is.
    pub kind: String,
    /// What people call it; its ref if nobody said.
    pub label: String,
    /// What last happened to it.
    pub status: Status,
    /// Its id in storage; none for a draft that was not saved.
    pub saved_id: Option<String>,
    /// Its content, if the caller handed it over.
    pub body: Option<Body>,
    /// How much the last read gave.
    pub detail: Option<Detail>,
    /// The turn of the last full read.
    pub last_full: Option<u64>,
    /// The turn it was first seen in.
    pub turn_created: u64,
    /// The turn it was last referenced in.
    pub turn_last_ref: u64,
    /// The turn it was saved in, if it began as a draft.
    pub turn_promoted: Option<u64>,
    /// Why it is kept.
    pub retention_reason: Option<String>,
    /// The turn it was demoted in, until it is referenced or retained again.
    pub demoted: Option<u64>,
    /// The events that made it what it is, oldest first: positions in the log.
    pub events: Vec<u64>,
    /// Whether it was dropped. Then it is listed no more, and goes with the next others.
    #[serde(skip)]
    pub(super) dropped: bool,
}

impl Entity {
    /// Whether it began as a draft.
    pub fn is_draft(&self) -> bool {
        self.draft
    }

    /// Whether it is a draft that was never saved.
    pub fn is_unsaved(&self) -> bool {
        self.saved_id.is_none()
    }

    /// Whether it is gone from storage.
    pub fn is_deleted(&self) -> bool {
        matches!(self.status, Status::Deleted | Status::UserDeleted)
    }

    /// Whether its whole content is known, not a summary.
    pub fn is_whole(&self) -> bool {
        self.body.is_some() && self.detail != Some(Detail::Summary)
    }

    /// Where it stands in a turn; none if it is forgotten.
    pub fn tier(&self, turn: u64, window: u64) -> Option<Tier> {
        if self.is_unsaved() && self.body.is_some() {
            Some(Tier::Generated)
        } else if turn.saturating_sub(self.turn_last_ref) <= window {
            Some(Tier::Active)
        } else {
            self.retention_reason.as_ref().map(|_| Tier::Retained)
        }
    }
}
